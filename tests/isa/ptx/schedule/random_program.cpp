#include "random_program.h"

#include <array>
#include <vector>

#include "../launch.h"

namespace heddle::ptx::test {
namespace {

constexpr int kWords = 10, kWide = 5, kFloats = 6, kPredicates = 4, kHalves = 4, kCounters = 6;

class Writer {
  public:
    explicit Writer(std::uint32_t seed) : random_(seed) {}

    std::string run() {
        write_start();
        const int statements = 6 + below(20);
        for (int s = 0; s < statements; ++s) statement(0);
        write_end();
        return ".version 8.0\n.target sm_90\n.address_size 64\n\n.visible .entry test(.param .u64 data, "
               ".param .u64 results)\n{\n" +
               text_ + "}\n";
    }

  private:
    int below(int limit) { return static_cast<int>(random_() % static_cast<std::uint32_t>(limit)); }
    bool chance(int percent) { return below(100) < percent; }
    template <std::size_t N>
    const char* one_of(const std::array<const char*, N>& choices) {
        return choices[static_cast<std::size_t>(below(static_cast<int>(N)))];
    }
    void line(const std::string& text) { text_ += "    " + text + "\n"; }

    std::string word() { return "%r" + std::to_string(below(kWords)); }
    std::string wide() { return "%rd" + std::to_string(below(kWide)); }
    std::string number() { return "%f" + std::to_string(below(kFloats)); }
    std::string predicate() { return "%p" + std::to_string(below(kPredicates)); }
    std::string half() { return "%h" + std::to_string(below(kHalves)); }
    std::string constant() {
        switch (below(4)) {
            case 0:
                return std::to_string(below(33));
            case 1:
                return std::to_string(1 << below(12));
            case 2:
                return "-" + std::to_string(1 + below(200));
            default:
                return std::to_string(random_() & 0x7FFFFFFFu);
        }
    }
    std::string word_or_constant() { return chance(30) ? constant() : word(); }
    std::string guard() {
        if (!chance(15)) return "";
        return std::string("@") + (chance(50) ? "!" : "") + predicate() + " ";
    }

    void write_start() {
        line(".reg .b32 %r<10>, %x<8>, %c<6>, %base, %lane;");
        line(".reg .b64 %rd<5>, %data, %own, %out, %t<4>;");
        line(".reg .f32 %f<6>;");
        line(".reg .b16 %h<4>;");
        line(".reg .pred %p<4>, %q;");
        line(".shared .align 16 .b8 memory[" + std::to_string(kRandomThreads * kRandomSliceBytes) + "];");
        line("ld.param.u64 %data, [data];");
        line("cvta.to.global.u64 %data, %data;");
        line("mov.u32 %x0, %tid.x;");
        line("mul.wide.u32 %own, %x0, " + std::to_string(kRandomSliceBytes) + ";");
        line("add.s64 %data, %data, %own;");
        line("mov.u32 %base, memory;");
        line("mad.lo.u32 %base, %x0, " + std::to_string(kRandomSliceBytes) + ", %base;");
        for (int r = 0; r < kWords; ++r)
            line("ld.global.b32 %r" + std::to_string(r) + ", [%data+" + std::to_string(4 * r) + "];");
        for (int r = 0; r < kWide; ++r)
            line("ld.global.b64 %rd" + std::to_string(r) + ", [%data+" + std::to_string(64 + 8 * r) + "];");
        for (int r = 0; r < kFloats; ++r)
            line("cvt.rn.f32.s32 %f" + std::to_string(r) + ", %r" + std::to_string(r) + ";");
        for (int r = 0; r < kHalves; ++r)
            line("cvt.rn.f16.f32 %h" + std::to_string(r) + ", %f" + std::to_string(r) + ";");
        for (int r = 0; r < kPredicates; ++r)
            line("setp.gt.s32 %p" + std::to_string(r) + ", %r" + std::to_string(r) + ", 0;");
        for (int w = 0; w < 128; w += 4)
            line("st.shared.v4.b32 [%base+" + std::to_string(4 * w) + "], {%r0, %r1, %r2, %r3};");
    }

    void write_end() {
        line("ld.param.u64 %out, [results];");
        line("mov.u32 %x0, %tid.x;");
        line("mad.wide.u32 %out, %x0, " + std::to_string(kRandomResultBytes) + ", %out;");
        for (int r = 0; r < kWords; ++r)
            line("st.global.b32 [%out+" + std::to_string(4 * r) + "], %r" + std::to_string(r) + ";");
        for (int r = 0; r < kWide; ++r)
            line("st.global.b64 [%out+" + std::to_string(64 + 8 * r) + "], %rd" + std::to_string(r) + ";");
        for (int r = 0; r < kFloats; ++r)
            line("st.global.f32 [%out+" + std::to_string(128 + 4 * r) + "], %f" + std::to_string(r) + ";");
        for (int r = 0; r < kHalves; ++r)
            line("st.global.b16 [%out+" + std::to_string(160 + 2 * r) + "], %h" + std::to_string(r) + ";");
        for (int r = 0; r < kPredicates; ++r) {
            line("selp.u32 %x1, 1, 2, %p" + std::to_string(r) + ";");
            line("st.global.b32 [%out+" + std::to_string(176 + 4 * r) + "], %x1;");
        }
        line("ret;");
    }

    void statement(int depth) {
        const int kind = below(100);
        if (kind < 62 || depth >= 3) return arithmetic();
        if (kind < 74) return memory();
        if (kind < 84) return branch(depth);
        if (kind < 92) return loop(depth);
        if (depth == 0) return exchange();
        arithmetic();
    }

    void body(int depth) {
        const int statements = 1 + below(5);
        for (int s = 0; s < statements; ++s) statement(depth + 1);
    }

    void branch(int depth) {
        const std::string name = std::to_string(labels_++);
        const bool has_else = chance(50);
        line(std::string("@") + (chance(50) ? "!" : "") + predicate() + " bra $else_" + name + ";");
        body(depth);
        if (has_else) line("bra $end_" + name + ";");
        text_ += "$else_" + name + ":\n";
        if (!has_else) return;
        body(depth);
        text_ += "$end_" + name + ":\n";
    }

    // The test first, or last.
    void loop(int depth) {
        if (counter_ == kCounters) return arithmetic();
        const std::string name = std::to_string(labels_++), count = "%c" + std::to_string(counter_++);
        const std::string turns = std::to_string(1 + below(4));
        const bool test_first = chance(50);
        line("mov.u32 " + count + ", 0;");
        text_ += "$loop_" + name + ":\n";
        if (test_first) {
            line("setp.ge.u32 %q, " + count + ", " + turns + ";");
            line("@%q bra $done_" + name + ";");
        }
        body(depth);
        line("add.u32 " + count + ", " + count + ", 1;");
        if (test_first) {
            line("bra.uni $loop_" + name + ";");
        } else {
            line("setp.lt.u32 %q, " + count + ", " + turns + ";");
            line("@%q bra $loop_" + name + ";");
        }
        text_ += "$done_" + name + ":\n";
        --counter_;
    }

    // Lanes meet at depth 0 only.
    void exchange() {
        switch (below(4)) {
            case 0:
                return line("bar.sync 0;");
            case 1:
                return line("shfl.sync.bfly.b32 " + word() + ", " + word() + ", " +
                            std::to_string(1 << below(5)) + ", 31, 0xffffffff;");
            case 2:
                return line("vote.sync.ballot.b32 " + word() + ", " + predicate() + ", 0xffffffff;");
            default:
                return line("bar.warp.sync 0xffffffff;");
        }
    }

    // Within the thread's own slice: [base + 0..31 words + constant].
    void memory() {
        const bool shared = chance(50);
        const std::string space = shared ? "shared" : "global";
        const int offset = 4 * below(32) * 4 % 128;
        std::string address =
            "[" + std::string(shared ? "%base" : "%data") + "+" + std::to_string(128 + offset) + "]";
        if (chance(60)) {
            line("and.b32 %x2, " + word() + ", 15;");
            line(chance(50) ? "shl.b32 %x3, %x2, 4;" : "mul.lo.u32 %x3, %x2, 16;");
            if (shared) {
                line("add.u32 %x4, %base, %x3;");
                if (chance(50)) line("add.u32 %x4, %x4, 64;");
                address = "[%x4+" + std::to_string(offset) + "]";
            } else {
                line("cvt.u64.u32 %t0, %x3;");
                line("add.s64 %t1, %data, %t0;");
                if (chance(50)) line("add.s64 %t1, %t1, 64;");
                address = "[%t1+" + std::to_string(offset) + "]";
            }
        }
        switch (below(5)) {
            case 0:
                return line(guard() + "ld." + space + ".b32 " + word() + ", " + address + ";");
            case 1:
                return line(guard() + "ld." + space + ".v2.b32 {%r" + std::to_string(2 * below(kWords / 2)) +
                            ", %x5}, " + address + ";");
            case 2:
                return line(guard() + "st." + space + ".b32 " + address + ", " + word() + ";");
            case 3:
                return line(guard() + "st." + space + ".v2.f32 " + address + ", {" + number() + ", " +
                            number() + "};");
            default:
                return line("ld." + space + ".f32 " + number() + ", " + address + ";");
        }
    }

    void arithmetic() {
        switch (below(17)) {
            case 0:
                return line(
                    guard() +
                    one_of<6>({"add.u32 ", "sub.s32 ", "mul.lo.s32 ", "min.u32 ", "max.s32 ", "add.s32 "}) +
                    word() + ", " + word() + ", " + word_or_constant() + ";");
            case 1:
            case 2:
                return line(guard() + one_of<3>({"and.b32 ", "or.b32 ", "xor.b32 "}) + word() + ", " +
                            word() + ", " + word_or_constant() + ";");
            case 3:
                return line(guard() + one_of<3>({"shl.b32 ", "shr.u32 ", "shr.s32 "}) + word() + ", " +
                            word() + ", " + std::to_string(below(34)) + ";");
            case 4:
                return line("mad.lo.u32 " + word() + ", " + word() + ", " + word_or_constant() + ", " +
                            word_or_constant() + ";");
            case 5:
                return line(one_of<2>({"mul.wide.u32 ", "mul.wide.s32 "}) + wide() + ", " + word() + ", " +
                            word_or_constant() + ";");
            case 6:
                return line(guard() + one_of<4>({"add.s64 ", "sub.u64 ", "and.b64 ", "mul.lo.u64 "}) +
                            wide() + ", " + wide() + ", " + wide() + ";");
            case 7:
                return line(chance(50)
                                ? "shl.b64 " + wide() + ", " + wide() + ", " + std::to_string(below(8)) + ";"
                                : one_of<2>({"cvt.u64.u32 ", "cvt.s64.s32 "}) + wide() + ", " + word() + ";");
            case 8:
                return line(chance(50) ? "mov.b64 {" + word() + ", %x6}, " + wide() + ";"
                                       : "mov.b64 " + wide() + ", {" + word() + ", " + word() + "};");
            case 9:
                return line(guard() + one_of<4>({"add.f32 ", "sub.f32 ", "mul.rn.f32 ", "min.f32 "}) +
                            number() + ", " + number() + ", " + number() + ";");
            case 10:
                return line("fma.rn.f32 " + number() + ", " + number() + ", " + number() + ", " + number() +
                            ";");
            case 11:
                return line(one_of<3>({"neg.f32 ", "abs.f32 ", "mov.f32 "}) + number() + ", " + number() +
                            ";");
            case 12:
                return line(chance(70) ? std::string("setp.") +
                                             one_of<4>({"lt.s32 ", "eq.s32 ", "ge.u32 ", "ne.s32 "}) +
                                             predicate() + ", " + word() + ", " + word_or_constant() + ";"
                                       : one_of<3>({"and.pred ", "or.pred ", "xor.pred "}) + predicate() +
                                             ", " + predicate() + ", " + predicate() + ";");
            case 13:
                return line("selp.b32 " + word() + ", " + word() + ", " + word_or_constant() + ", " +
                            predicate() + ";");
            case 14:
                return line(chance(50) ? guard() + "mov.u32 " + word() + ", " + word_or_constant() + ";"
                                       : "mov.b32 " + word() + ", " + number() + ";");
            case 15:
                return halves();
            default:
                return line(chance(50)
                                ? "bfe.u32 " + word() + ", " + word() + ", " + std::to_string(below(32)) +
                                      ", " + std::to_string(below(32)) + ";"
                                : "not.b32 " + word() + ", " + word() + ";");
        }
    }

    void halves() {
        switch (below(4)) {
            case 0:
                return line("mov.b32 " + word() + ", {" + half() + ", " + half() + "};");
            case 1:
                return line("cvt.rn.f16.f32 " + half() + ", " + number() + ";");
            case 2:
                return line("cvt.f32.f16 " + number() + ", " + half() + ";");
            default:
                line("cvt.rn.bf16.f32 %h0, " + number() + ";");
                line("cvt.rn.bf16.f32 %h1, " + number() + ";");
                return line("mov.b32 " + word() + ", {%h0, %h1};");
        }
    }

    std::mt19937 random_;
    std::string text_;
    int labels_ = 0, counter_ = 0;
};

}  // namespace

std::string random_module(std::uint32_t seed) {
    return Writer(seed).run();
}

RandomRun run_random(const LoadedKernel& kernel, std::uint32_t seed) {
    Device device;
    std::vector<std::uint32_t> data(kRandomThreads * kRandomSliceBytes / 4);
    std::mt19937 random(seed ^ 0x9e3779b9u);
    for (std::uint32_t& value : data) value = random() >> (random() % 24);
    const std::uint64_t at = device.upload("data", data);
    const std::uint64_t results =
        device.upload("results", std::vector<std::uint32_t>(kRandomThreads * kRandomResultBytes / 4));
    LaunchContext launch;
    launch.kernel = &kernel;
    launch.grid = {1};
    launch.block = {kRandomThreads};
    launch.parameters = pack_parameters(kernel, std::vector{argument(at), argument(results)});
    launch.memory = &device.memory;
    run_functionally(launch);
    return {device.download<std::uint32_t>(at, data.size()),
            device.download<std::uint32_t>(results, kRandomThreads * kRandomResultBytes / 4)};
}

}  // namespace heddle::ptx::test
