// Instructions of PTX by way of machine code: what ptxas makes of each, translated, equals the PTX machine in every bit.
#include <bit>
#include <catch2/catch.hpp>
#include <cstring>
#include <random>
#include <set>
#include <sstream>

#include "isa/common/error.h"
#include "through_ptxas.h"

namespace heddle::sass::test {
namespace {

/// An instruction: %x, %y, %z are .b32, %u, %v .b64, %h, %i .b16 sources, %p a predicate; %r (32 bits), %w (64) or %o (16) the result.
struct Case {
    const char* lines;
    char result;         ///< 'r', 'w' or 'o'
    bool nan = true;     ///< false: NaN operands are left out, since the machine's instructions and the PTX machine keep other payloads
};

std::string module_of_cases(std::span<const Case> cases, const std::string& target) {
    std::ostringstream text;
    text << ".version 8.4\n.target " << target << "\n.address_size 64\n.visible .entry cases(.param .u64 input, .param .u64 output)\n{\n"
         << ".reg .b64 %in, %out, %wide, %u, %v, %w;\n.reg .b32 %lane, %x, %y, %z, %r, %s;\n.reg .b16 %h, %i, %o;\n.reg .pred %p, %q;\n"
         << "ld.param.u64 %in, [input];\nld.param.u64 %out, [output];\nmov.u32 %lane, %tid.x;\n"
         << "mul.wide.u32 %wide, %lane, 32;\nadd.u64 %in, %in, %wide;\nmul.wide.u32 %wide, %lane, 8;\nadd.u64 %out, %out, %wide;\n";
    std::size_t number = 0;
    for (const Case& one : cases) {
        text << "ld.volatile.global.v4.b32 {%x, %y, %z, %s}, [%in];\nld.volatile.global.v2.b64 {%u, %v}, [%in+16];\n"
             << "cvt.u16.u32 %h, %x;\ncvt.u16.u32 %i, %y;\nsetp.lt.s32 %p, %s, 0;\nmov.b32 %r, 0; mov.b64 %w, 0; mov.b16 %o, 0;\n"
             << "{\n" << one.lines << "\n}\n";
        if (one.result == 'r') text << "cvt.u64.u32 %w, %r;\n";
        if (one.result == 'o') text << "cvt.u64.u16 %w, %o;\n";
        text << "st.volatile.global.b64 [%out+" << 512 * number++ << "], %w;\n";
    }
    text << "ret;\n}\n";
    return text.str();
}

std::vector<std::uint64_t> run(const ptx::LoadedKernel& kernel, std::span<const std::byte> input, std::size_t cases) {
    ptx::GlobalMemory memory;
    const std::uint64_t in = memory.allocate("input", input.size(), true), out = memory.allocate("output", cases * 512, true);
    memory.write(in, input);
    ptx::LaunchContext launch;
    launch.kernel = &kernel;
    launch.grid = {1, 1, 1};
    launch.block = {64, 1, 1};
    launch.parameters.resize(kernel.parameter_bytes());
    std::memcpy(launch.parameters.data(), &in, 8);
    std::memcpy(launch.parameters.data() + 8, &out, 8);
    launch.memory = &memory;
    ptx::run_functionally(launch);
    std::vector<std::uint64_t> result(cases * 64);
    memory.read(out, std::as_writable_bytes(std::span(result)));
    return result;
}

bool has_nan(const std::uint32_t* words) {
    for (unsigned i = 0; i < 4; ++i) {
        const std::uint32_t w = words[i];
        if ((w & 0x7FFFFFFFu) > 0x7F800000u || (w & 0x7FFFu) > 0x7C00u || (w >> 16 & 0x7FFFu) > 0x7C00u) return true;
    }
    return false;
}

/// 64 lanes of eight words: corner cases and random numbers of all magnitudes.
std::vector<std::uint32_t> operands(unsigned seed, bool nan) {
    static constexpr std::uint32_t kCorners[] = {0, 0x80000000, 1, 0xFFFFFFFF, 0x7FFFFFFF, 0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC00001, 0x80000001, 0x007FFFFF, 0x00800000,
                                                 0x3F800000, 0xBF800000, 0x4F000000, 0xCF000000, 0x5F000000, 0x477FE000, 0x33000000, 0x38800000, 0x7C007C00, 0xFC00FC00, 0x00010001,
                                                 0x80008000, 0x3C003C00, 0x3FFF0001, 0x7FEFFFFF, 0x7FF00000, 0xFFF00000, 0x3FF00000, 31, 32, 33, 63, 64, 255};
    std::mt19937 engine(seed);
    std::vector<std::uint32_t> words(64 * 8);
    for (std::size_t i = 0; i < words.size(); i += 4) {
        do {
            for (std::size_t k = i; k < i + 4; ++k) {
                const unsigned kind = engine() % 4;
                std::uint32_t value = kind == 0 ? kCorners[engine() % std::size(kCorners)] : kind == 1 ? engine() % 100 : static_cast<std::uint32_t>(engine());
                if (kind == 2) value = (value & 0x807FFFFFu) | static_cast<std::uint32_t>(100 + engine() % 56) << 23;
                words[k] = value;
            }
        } while (!nan && has_nan(&words[i]));
    }
    return words;
}

void compare(std::span<const Case> cases, const std::string& target) {
    if (const std::string missing = missing_tools(); !missing.empty()) {
        WARN("SKIPPED: " << missing);
        return;
    }
    for (const bool nan : {true, false}) {
        std::vector<Case> chosen;
        std::copy_if(cases.begin(), cases.end(), std::back_inserter(chosen), [&](const Case& one) { return one.nan == nan; });
        if (chosen.empty()) continue;
        const std::string text = module_of_cases(chosen, target);
        const ptx::LoadedKernel written(ptx::parse_shared(text, "cases.ptx"), "cases"), machine = load_machine_code(assemble(text, target), "cases");
        for (unsigned seed = 1; seed <= 12; ++seed) {
            const std::vector<std::uint32_t> input = operands(seed, nan);
            const auto expected = run(written, std::as_bytes(std::span(input)), chosen.size()), found = run(machine, std::as_bytes(std::span(input)), chosen.size());
            for (std::size_t i = 0; i < expected.size(); ++i) {
                if (expected[i] == found[i]) continue;
                const std::uint32_t* lane = &input[i % 64 * 8];
                INFO(target << ": " << chosen[i / 64].lines << std::hex << " of " << lane[0] << ' ' << lane[1] << ' ' << lane[2] << ' ' << lane[3] << ", " << lane[5] << lane[4] << ' '
                            << lane[7] << lane[6] << " is " << expected[i] << " in PTX, " << found[i] << " in machine code");
                CHECK(false);
                return;
            }
        }
        CHECK(true);
    }
}

void compare_everywhere(std::span<const Case> cases) {
    for (const char* target : {"sm_80", "sm_86", "sm_90a"}) compare(cases, target);
}

}  // namespace

TEST_CASE("Machine code of integer instructions computes what PTX does", "[sass][translate]") {
    static constexpr Case kCases[] = {
        {"add.u32 %r, %x, %y;", 'r'}, {"sub.u32 %r, %x, %y;", 'r'}, {"add.u64 %w, %u, %v;", 'w'}, {"sub.u64 %w, %u, %v;", 'w'}, {"neg.s32 %r, %x;", 'r'}, {"neg.s64 %w, %u;", 'w'},
        {"mad.lo.u32 %r, %x, %y, %z;", 'r'}, {"mul.hi.u32 %r, %x, %y;", 'r'}, {"mul.hi.s32 %r, %x, %y;", 'r'}, {"mad.hi.s32 %r, %x, %y, %z;", 'r'}, {"mul.wide.u32 %w, %x, %y;", 'w'},
        {"mul.wide.s32 %w, %x, %y;", 'w'}, {"mad.wide.s32 %w, %x, %y, %u;", 'w'}, {"mul.lo.u64 %w, %u, %v;", 'w'}, {"mul.hi.u64 %w, %u, %v;", 'w'}, {"mul.hi.s64 %w, %u, %v;", 'w'},
        {"add.cc.u32 %r, %x, %y; addc.u32 %r, %z, %r;", 'r'}, {"sub.cc.u32 %r, %x, %y; subc.u32 %r, %z, %r;", 'r'}, {"mad.lo.cc.u32 %r, %x, %y, %z; madc.hi.u32 %r, %x, %y, %r;", 'r'},
        {"min.s32 %r, %x, %y;", 'r'}, {"max.u32 %r, %x, %y;", 'r'}, {"min.s64 %w, %u, %v;", 'w'}, {"max.u64 %w, %u, %v;", 'w'}, {"abs.s32 %r, %x;", 'r'}, {"sad.u32 %r, %x, %y, %z;", 'r'},
        {"div.u32 %r, %x, %y;", 'r'}, {"div.s32 %r, %x, %y;", 'r'}, {"or.b32 %y, %y, 1; rem.u32 %r, %x, %y;", 'r'}, {"or.b32 %y, %y, 1; rem.s32 %r, %x, %y;", 'r'}, {"div.u64 %w, %u, %v;", 'w'}, {"or.b64 %v, %v, 1; rem.s64 %w, %u, %v;", 'w'},
        {"dp4a.s32.u32 %r, %x, %y, %z;", 'r'}, {"dp2a.lo.u32.u32 %r, %x, %y, %z;", 'r'}, {"dp2a.hi.s32.s32 %r, %x, %y, %z;", 'r'},
    };
    compare_everywhere(kCases);
}

TEST_CASE("Machine code of logic and shifts computes what PTX does", "[sass][translate]") {
    static constexpr Case kCases[] = {
        {"lop3.b32 %r, %x, %y, %z, 0x96;", 'r'}, {"lop3.b32 %r, %x, %y, %z, 0xE8;", 'r'}, {"and.b64 %w, %u, %v;", 'w'}, {"not.b32 %r, %x;", 'r'}, {"shl.b32 %r, %x, %y;", 'r'},
        {"shr.u32 %r, %x, %y;", 'r'}, {"shr.s32 %r, %x, %y;", 'r'}, {"shl.b64 %w, %u, %y;", 'w'}, {"shr.u64 %w, %u, %y;", 'w'}, {"shr.s64 %w, %u, %y;", 'w'},
        {"shf.l.wrap.b32 %r, %x, %y, %z;", 'r'}, {"shf.l.clamp.b32 %r, %x, %y, %z;", 'r'}, {"shf.r.wrap.b32 %r, %x, %y, %z;", 'r'}, {"shf.r.clamp.b32 %r, %x, %y, %z;", 'r'},
        {"prmt.b32 %r, %x, %y, %z;", 'r'}, {"prmt.b32.f4e %r, %x, %y, %z;", 'r'}, {"prmt.b32.rc16 %r, %x, %y, %z;", 'r'}, {"bfe.u32 %r, %x, %y, %z;", 'r'}, {"bfe.s32 %r, %x, %y, %z;", 'r'},
        {"bfi.b32 %r, %x, %y, %z, %s;", 'r'}, {"bmsk.clamp.b32 %r, %x, %y;", 'r'}, {"szext.clamp.s32 %r, %x, %y;", 'r'}, {"szext.wrap.u32 %r, %x, %y;", 'r'}, {"popc.b32 %r, %x;", 'r'},
        {"popc.b64 %r, %u;", 'r'}, {"clz.b32 %r, %x;", 'r'}, {"clz.b64 %r, %u;", 'r'}, {"brev.b32 %r, %x;", 'r'}, {"bfind.s32 %r, %x;", 'r'}, {"bfind.shiftamt.u32 %r, %x;", 'r'},
        {"bfind.u64 %r, %u;", 'r'}, {"selp.b32 %r, %x, %y, %p;", 'r'}, {"selp.b64 %w, %u, %v, %p;", 'w'}, {"slct.b32.s32 %r, %x, %y, %z;", 'r'}, {"cnot.b32 %r, %x;", 'r'},
    };
    compare_everywhere(kCases);
}

TEST_CASE("Machine code of comparisons computes what PTX does", "[sass][translate]") {
    static constexpr Case kCases[] = {
        {"setp.lt.s32 %q, %x, %y; selp.b32 %r, 1, 0, %q;", 'r'}, {"setp.hi.and.u32 %q, %x, %y, %p; selp.b32 %r, 1, 0, %q;", 'r'},
        {"setp.ge.or.s32 %q, %x, %y, !%p; selp.b32 %r, 1, 0, %q;", 'r'}, {"setp.eq.xor.u32 %q, %x, %y, %p; selp.b32 %r, 1, 0, %q;", 'r'},
        {"setp.lt.s64 %q, %u, %v; selp.b32 %r, 1, 0, %q;", 'r'}, {"setp.le.u64 %q, %u, %v; selp.b32 %r, 1, 0, %q;", 'r'}, {"setp.eq.b64 %q, %u, %v; selp.b32 %r, 1, 0, %q;", 'r'},
        {"setp.ne.s64 %q, %u, %v; selp.b32 %r, 1, 0, %q;", 'r'}, {"setp.ge.and.s64 %q, %u, %v, %p; selp.b32 %r, 1, 0, %q;", 'r'},
        {"setp.lt.f32 %q, %x, %y; selp.b32 %r, 1, 0, %q;", 'r'}, {"setp.geu.f32 %q, %x, %y; selp.b32 %r, 1, 0, %q;", 'r'}, {"setp.num.f32 %q, %x, %y; selp.b32 %r, 1, 0, %q;", 'r'},
        {"setp.gt.and.ftz.f32 %q, %x, %y, %p; selp.b32 %r, 1, 0, %q;", 'r'}, {"setp.neu.f64 %q, %u, %v; selp.b32 %r, 1, 0, %q;", 'r'}, {"setp.le.f64 %q, %u, %v; selp.b32 %r, 1, 0, %q;", 'r'},
        {"set.lt.u32.f32 %r, %x, %y;", 'r'}, {"set.ge.f32.f32 %r, %x, %y;", 'r'}, {"testp.normal.f32 %q, %x; selp.b32 %r, 1, 0, %q;", 'r'},
        {"testp.subnormal.f32 %q, %x; selp.b32 %r, 1, 0, %q;", 'r'}, {"testp.finite.f64 %q, %u; selp.b32 %r, 1, 0, %q;", 'r'},
    };
    compare_everywhere(kCases);
}

TEST_CASE("Machine code of floating-point instructions computes what PTX does", "[sass][translate]") {
    static constexpr Case kCases[] = {
        {"add.f32 %r, %x, %y;", 'r'}, {"sub.f32 %r, %x, %y;", 'r'}, {"mul.f32 %r, %x, %y;", 'r'}, {"fma.rn.f32 %r, %x, %y, %z;", 'r'}, {"add.ftz.f32 %r, %x, %y;", 'r'},
        {"mul.sat.f32 %r, %x, %y;", 'r'}, {"fma.rz.f32 %r, %x, %y, %z;", 'r'}, {"add.rm.f32 %r, %x, %y;", 'r'}, {"mul.rp.f32 %r, %x, %y;", 'r'}, {"fma.rn.ftz.sat.f32 %r, %x, %y, %z;", 'r'},
        {".reg .b32 %n; neg.f32 %n, %x; fma.rn.f32 %r, %n, %y, %z;", 'r'}, {".reg .b32 %n; neg.f32 %n, %z; fma.rn.f32 %r, %x, %y, %n;", 'r'},
        {".reg .b32 %n; abs.f32 %n, %x; mul.f32 %r, %n, %y;", 'r'}, {"min.f32 %r, %x, %y;", 'r'}, {"max.ftz.f32 %r, %x, %y;", 'r'}, {"max.NaN.f32 %r, %x, %y;", 'r'},
        {"div.rn.f32 %r, %x, %y;", 'r'}, {"rcp.rn.f32 %r, %x;", 'r'}, {"sqrt.rn.f32 %r, %x;", 'r'}, {"div.rz.f32 %r, %x, %y;", 'r'},
        {"rcp.approx.ftz.f32 %r, %x;", 'r'}, {"rsqrt.approx.ftz.f32 %r, %x;", 'r'}, {"ex2.approx.ftz.f32 %r, %x;", 'r'}, {"lg2.approx.ftz.f32 %r, %x;", 'r'}, {"tanh.approx.f32 %r, %x;", 'r'},
        {"add.f64 %w, %u, %v;", 'w', false}, {"mul.f64 %w, %u, %v;", 'w', false}, {"fma.rn.f64 %w, %u, %v, %u;", 'w', false}, {"add.rp.f64 %w, %u, %v;", 'w', false},
        {"div.rn.f64 %w, %u, %v;", 'w', false}, {"sqrt.rn.f64 %w, %u;", 'w', false}, {"rcp.rn.f64 %w, %u;", 'w', false}, {"max.f64 %w, %u, %v;", 'w', false}, {"neg.f64 %w, %u;", 'w', false},
    };
    compare_everywhere(kCases);
}

TEST_CASE("Machine code of pairs of halves computes what PTX does", "[sass][translate]") {
    static constexpr Case kCases[] = {
        {"add.f16x2 %r, %x, %y;", 'r'}, {"sub.f16x2 %r, %x, %y;", 'r'}, {"mul.f16x2 %r, %x, %y;", 'r'}, {"fma.rn.f16x2 %r, %x, %y, %z;", 'r'}, {"fma.rn.relu.f16x2 %r, %x, %y, %z;", 'r'},
        {"fma.rn.sat.f16x2 %r, %x, %y, %z;", 'r'}, {"mul.ftz.f16x2 %r, %x, %y;", 'r'}, {"min.f16x2 %r, %x, %y;", 'r'}, {"max.NaN.f16x2 %r, %x, %y;", 'r'}, {"fma.rn.bf16x2 %r, %x, %y, %z;", 'r'},
        {"max.bf16x2 %r, %x, %y;", 'r'}, {"add.f16 %o, %h, %i;", 'o'}, {"fma.rn.f16 %o, %h, %i, %h;", 'o'}, {"fma.rn.bf16 %o, %h, %i, %i;", 'o'}, {"min.f16 %o, %h, %i;", 'o'},
        {"setp.lt.f16x2 %q|%p, %x, %y; selp.b32 %r, 1, 0, %q; @%p add.u32 %r, %r, 2;", 'r'}, {"set.ge.f16x2.f16x2 %r, %x, %y;", 'r'}, {"neg.f16x2 %r, %x;", 'r', false}, {"abs.f16x2 %r, %x;", 'r', false},
    };
    compare_everywhere(kCases);
}

TEST_CASE("Machine code of conversions computes what PTX does", "[sass][translate]") {
    static constexpr Case kCases[] = {
        {"cvt.rzi.s32.f32 %r, %x;", 'r'}, {"cvt.rni.u32.f32 %r, %x;", 'r'}, {"cvt.rmi.s64.f32 %w, %x;", 'w'}, {"cvt.rzi.u64.f64 %w, %u;", 'w'}, {"cvt.rpi.s32.f64 %r, %u;", 'r'},
        {"cvt.rzi.s32.f16 %r, %h;", 'r'}, {"cvt.rn.f32.s32 %r, %x;", 'r'}, {"cvt.rz.f32.u32 %r, %x;", 'r'}, {"cvt.rn.f32.u64 %r, %u;", 'r'}, {"cvt.rn.f64.s64 %w, %u;", 'w'},
        {"cvt.rn.f64.u32 %w, %x;", 'w'}, {"cvt.rn.f16.s32 %o, %x;", 'o'}, {"cvt.rn.f16.f32 %o, %x;", 'o'}, {"cvt.rn.bf16.f32 %o, %x;", 'o'}, {"cvt.rz.f16.f32 %o, %x;", 'o'},
        {"cvt.f32.f16 %r, %h;", 'r'}, {"cvt.f64.f32 %w, %x;", 'w', false}, {"cvt.rn.f32.f64 %r, %u;", 'r'}, {"cvt.rm.f32.f64 %r, %u;", 'r'}, {"cvt.f64.f16 %w, %h;", 'w', false},
        {"cvt.rni.f32.f32 %r, %x;", 'r'}, {"cvt.rmi.f64.f64 %w, %u;", 'w', false}, {"cvt.rzi.f16.f16 %o, %h;", 'o'}, {"cvt.rn.f16x2.f32 %r, %x, %y;", 'r'}, {"cvt.rn.bf16x2.f32 %r, %x, %y;", 'r'},
        {"cvt.rn.relu.f16x2.f32 %r, %x, %y;", 'r'}, {"cvt.rna.tf32.f32 %r, %x;", 'r', false}, {"cvt.pack.sat.s8.s32.b32 %r, %x, %y, %z;", 'r'}, {"cvt.pack.sat.u16.s32 %r, %x, %y;", 'r'},
        {"cvt.sat.u16.s32 %o, %x;", 'o'}, {"cvt.s32.s16 %r, %h;", 'r'}, {"cvt.u64.u32 %w, %x;", 'w'}, {"cvt.s64.s32 %w, %x;", 'w'},
    };
    compare_everywhere(kCases);
}

TEST_CASE("Machine code of warps computes what PTX does", "[sass][translate]") {
    static constexpr Case kCases[] = {
        {"shfl.sync.idx.b32 %r|%q, %x, %y, 0x1f, -1; @%q add.u32 %r, %r, 1;", 'r'}, {"shfl.sync.down.b32 %r|%q, %x, 3, 0x181f, -1; @%q add.u32 %r, %r, 1;", 'r'},
        {"shfl.sync.up.b32 %r, %x, 5, 0x0, -1;", 'r'}, {"shfl.sync.bfly.b32 %r, %x, 16, 0x1f, -1;", 'r'}, {"vote.sync.ballot.b32 %r, %p, -1;", 'r'},
        {"vote.sync.any.pred %q, %p, -1; selp.b32 %r, 1, 0, %q;", 'r'}, {"vote.sync.uni.pred %q, %p, -1; selp.b32 %r, 1, 0, %q;", 'r'}, {"match.any.sync.b32 %r, %x, -1;", 'r'},
        {"match.all.sync.b64 %r|%q, %u, -1; @%q add.u32 %r, %r, 1;", 'r'}, {"redux.sync.add.s32 %r, %x, -1;", 'r'}, {"redux.sync.min.u32 %r, %x, -1;", 'r'}, {"redux.sync.xor.b32 %r, %x, -1;", 'r'},
        {"activemask.b32 %r;", 'r'}, {"mov.u32 %r, %laneid;", 'r'}, {"mov.u32 %r, %lanemask_lt;", 'r'}, {"mov.u32 %r, %ntid.x;", 'r'}, {"mov.u32 %r, %nctaid.y;", 'r'},
    };
    compare_everywhere(kCases);
}

TEST_CASE("Machine code asks for as much shared memory as PTX does", "[sass][translate]") {
    if (const std::string missing = missing_tools(); !missing.empty()) {
        WARN("skipped: " + missing);
        return;
    }
    // What the system takes of each thread block's is counted by the device, and not by the kernel as well.
    const std::string text = R"(
.version 8.4
.target sm_80
.address_size 64
.visible .entry reversed(.param .u64 output)
{
.shared .align 16 .b8 tile[2048];
.reg .b64 %out, %wide;
.reg .b32 %lane, %at, %r;
ld.param.u64 %out, [output];
mov.u32 %lane, %tid.x;
mov.u32 %at, tile;
mad.lo.u32 %at, %lane, 4, %at;
st.shared.u32 [%at], %lane;
bar.sync 0;
mov.u32 %at, tile;
xor.b32 %r, %lane, 63;
mad.lo.u32 %at, %r, 4, %at;
ld.shared.u32 %r, [%at];
mul.wide.u32 %wide, %lane, 4;
add.u64 %out, %out, %wide;
st.global.u32 [%out], %r;
ret;
}
)";
    for (const char* const target : {"sm_80", "sm_90a"}) {
        INFO(target);
        const ptx::LoadedKernel kernel = load_machine_code(assemble(text, target), "reversed");
        CHECK(kernel.static_shared_bytes() == 2048);
    }
}

TEST_CASE("An array of parameters that is counted from above zero is read", "[sass][translate]") {
    if (const std::string missing = missing_tools(); !missing.empty()) {
        WARN("skipped: " + missing);
        return;
    }
    // Word 9 + n of what begins 36 bytes before the table is its word n; n comes from memory, so that ptxas keeps the offset, which
    // lies before the first parameter.
    const std::string text = R"(
.version 8.4
.target sm_80
.address_size 64
.visible .entry table_read(.param .u64 input, .param .u64 output, .param .align 4 .b8 table[64])
{
.reg .b64 %in, %out, %wide, %place;
.reg .b32 %lane, %n, %r;
ld.param.u64 %in, [input];
ld.param.u64 %out, [output];
mov.u32 %lane, %tid.x;
mul.wide.u32 %wide, %lane, 4;
add.u64 %in, %in, %wide;
add.u64 %out, %out, %wide;
ld.global.u32 %n, [%in];
mov.b64 %place, table;
mul.wide.u32 %wide, %n, 4;
add.u64 %place, %place, %wide;
ld.param.u32 %r, [%place+-36];
st.global.u32 [%out], %r;
ret;
}
)";
    for (const char* const target : {"sm_80", "sm_90a"}) {
        INFO(target);
        const ptx::LoadedKernel kernel = load_machine_code(assemble(text, target), "table_read");
        ptx::GlobalMemory memory;
        std::array<std::uint32_t, 32> numbers{}, result{};
        for (unsigned i = 0; i < 32; ++i) numbers[i] = 9 + i * 7 % 16;
        const std::uint64_t in = memory.allocate("input", 128, true), out = memory.allocate("output", 128, true);
        memory.write(in, std::as_bytes(std::span(numbers)));
        ptx::LaunchContext launch;
        launch.kernel = &kernel;
        launch.grid = {1, 1, 1};
        launch.block = {32, 1, 1};
        launch.parameters.resize(kernel.parameter_bytes());
        REQUIRE(launch.parameters.size() >= 80);
        std::memcpy(launch.parameters.data(), &in, 8);
        std::memcpy(launch.parameters.data() + 8, &out, 8);
        for (std::uint32_t i = 0; i < 16; ++i) {
            const std::uint32_t value = 1000 + i;
            std::memcpy(launch.parameters.data() + 16 + 4 * i, &value, 4);
        }
        launch.memory = &memory;
        ptx::run_functionally(launch);
        memory.read(out, std::as_writable_bytes(std::span(result)));
        for (unsigned i = 0; i < 32; ++i) CHECK(result[i] == 1000 + i * 7 % 16);
    }
}

TEST_CASE("Users' PTX cannot name machine forms", "[sass][translate]") {
    const std::string text = ".version 8.4\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\n$nop;\nret;\n}\n";
    CHECK_THROWS_WITH(ptx::parse(text, "k.ptx"), Catch::Matchers::Contains("unknown or unsupported instruction"));
    CHECK_NOTHROW(ptx::parse(text, "k.ptx", ptx::Dialect::machine_code));
}

TEST_CASE("What has no translation is refused by name", "[sass][translate]") {
    CHECK(why_untranslatable(parse_instruction("FFMA R1, R2, R3, R4"), 80).empty());
    CHECK(why_untranslatable(parse_instruction("@!P0 IADD3 R1, P1, P2, R2, -R3, 0x10"), 80).empty());
    CHECK_THAT(why_untranslatable(parse_instruction("FROBNICATE R1, R2"), 80), Catch::Matchers::Contains("this instruction is not known"));
    CHECK_THAT(why_untranslatable(parse_instruction("FFMA.WRONG R1, R2, R3, R4"), 80), Catch::Matchers::Contains("modifier .WRONG is not known"));
    CHECK_THAT(why_untranslatable(parse_instruction("FFMA R1, R2, R3"), 80), Catch::Matchers::Contains("operands"));
}

}  // namespace heddle::sass::test
