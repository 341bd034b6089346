// Suffixes in other orders than the manual's: ptxas takes them, and the libraries of CUDA 13 write some. ptxas
// 13.0 takes every spelling below, and refuses those that are refused here.
#include <catch2/catch.hpp>

#include "compare_modes.h"
#include "isa/common/error.h"
#include "isa/ptx/matrix_instruction.h"
#include "isa/ptx/parser.h"
#include "launch.h"

namespace heddle::ptx::test {
namespace {

std::string body_of(const std::string& line) {
    return ".reg .pred %p, %q; .reg .b16 %h; .reg .b32 %r, %s, %t, %u; .reg .b64 %a, %b;\n"
           ".reg .f32 %f, %g, %h0, %h1, %h2, %h3, %h4, %h5; .reg .f64 %d; .shared .b64 word;\n" +
           line + "\nret;";
}

Instruction parsed(const std::string& line) {
    INFO(line);
    const Module module = parse(module_text("", body_of(line)), "test.ptx");
    const std::vector<Instruction>& all = module.kernels.at(0).instructions;
    REQUIRE(module.unsupported.empty());
    REQUIRE(all.size() == 2);
    return all[0];
}

bool is_refused(const std::string& line) {
    try {
        return !parse(module_text("", body_of(line)), "test.ptx").unsupported.empty();
    } catch (const Error&) {
        return true;
    }
}

}  // namespace

TEST_CASE("Votes in the order that CUB 3 writes", "[ptx][suffixes]") {
    // Lanes 5, 9, 10 and 31 of each warp say yes. The halves of a warp vote apart as well, the lower one with
    // "any".
    const Program program(
        module_text(
            ".param .u64 out",
            ".reg .pred %p, %q, %v<4>; .reg .b32 %t, %l, %m, %r<6>; .reg .b64 %a;\n"
            "ld.param.u64 %a, [out]; mov.u32 %t, %tid.x; mov.u32 %l, %laneid; mad.wide.u32 %a, %t, 16, %a;\n"
            "mov.u32 %m, 1; shl.b32 %m, %m, %l; and.b32 %m, %m, 0x80000620; setp.ne.u32 %p, %m, 0;\n"
            "vote.ballot.sync.b32 %r0, %p, -1; vote.ballot.sync.b32 %r1, !%p, -1;\n"
            "vote.any.sync.pred %v0, %p, -1; vote.all.sync.pred %v1, %p, -1; vote.uni.sync.pred %v2, %p, "
            "-1;\n"
            "setp.lt.u32 %q, %l, 16; @%q bra low; vote.all.sync.pred %v3, %p, 0xFFFF0000; bra.uni join;\n"
            "low: vote.any.sync.pred %v3, %p, 0xFFFF; join: selp.u32 %r2, 1, 0, %v0;\n"
            "selp.u32 %r3, 2, 0, %v1; selp.u32 %r4, 4, 0, %v2; or.b32 %r2, %r2, %r3; or.b32 %r2, %r2, %r4;\n"
            "selp.u32 %r3, 1, 0, %v3; st.global.v4.b32 [%a], {%r0, %r1, %r2, %r3}; ret;"),
        "test");
    Device device, timed;
    const std::vector<std::uint32_t> zeros(4 * 64);
    const std::uint64_t out = device.upload("out", zeros), same = timed.upload("out", zeros);
    const LaunchContext functional = program.launch(device, {1}, {64}, {argument(out)});
    CHECK(compare_modes(functional, program.launch(timed, {1}, {64}, {argument(same)}, Mode::timing))
              .differences == 0);
    const auto words = device.download<std::uint32_t>(out, 4 * 64);
    for (unsigned t = 0; t < 64; ++t) {
        INFO("thread " << t);
        CHECK(words[4 * t] == 0x80000620u);
        CHECK(words[4 * t + 1] == ~0x80000620u);
        CHECK(words[4 * t + 2] == 1);  // some, not all, not all alike
        CHECK(words[4 * t + 3] == (t % 32 < 16 ? 1u : 0u));
    }
}

TEST_CASE("The order of suffixes changes nothing", "[ptx][suffixes]") {
    const std::vector<std::pair<std::string, std::string>> cases = {
        {"vote.sync.ballot.b32 %r, %p, -1;", "vote.ballot.sync.b32 %r, %p, -1;"},
        {"vote.sync.ballot.b32 %r, %p, -1;", "vote.ballot.b32.sync %r, %p, -1;"},
        {"vote.sync.any.pred %q, %p, -1;", "vote.pred.sync.any %q, %p, -1;"},
        {"match.any.sync.b32 %r, %s, -1;", "match.sync.any.b32 %r, %s, -1;"},
        {"shfl.sync.idx.b32 %r, %s, 0, 31, -1;", "shfl.idx.sync.b32 %r, %s, 0, 31, -1;"},
        {"redux.sync.add.s32 %r, %s, -1;", "redux.add.sync.s32 %r, %s, -1;"},
        {"add.sat.s32 %r, %s, %t;", "add.s32.sat %r, %s, %t;"},
        {"add.rn.ftz.f32 %f, %f, %g;", "add.f32.ftz.rn %f, %f, %g;"},
        {"setp.gt.s32 %p, %r, %s;", "setp.s32.gt %p, %r, %s;"},
        {"cvt.rn.f32.f64 %f, %d;", "cvt.f32.rn.f64 %f, %d;"},
        {"set.gt.u32.s32 %r, %s, %t;", "set.u32.s32.gt %r, %s, %t;"},
        {"atom.acquire.cta.global.add.u64 %a, [%b], %a;", "atom.add.acquire.cta.global.u64 %a, [%b], %a;"},
        {"red.relaxed.gpu.global.add.f32 [%a], %f;", "red.global.f32.gpu.add.relaxed [%a], %f;"},
        {"ld.global.v2.u32 {%r, %s}, [%a];", "ld.v2.global.u32 {%r, %s}, [%a];"},
        {"mbarrier.init.shared::cta.b64 [word], 1;", "mbarrier.init.b64.shared::cta [word], 1;"},
        {"cp.async.ca.shared.global [word], [%a], 8;", "cp.async.shared.ca.global [word], [%a], 8;"},
        {"barrier.sync.aligned 0;", "barrier.aligned.sync 0;"},
        {"mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f, %g, %h0, %h1}, {%r, %s, %t, %u}, {%r, %s}, "
         "{%f, %g, %h0, %h1};",
         "mma.aligned.row.sync.col.m16n8k8.f32.tf32.tf32.f32 {%f, %g, %h0, %h1}, {%r, %s, %t, %u}, {%r, %s}, "
         "{%f, %g, %h0, %h1};"},
    };
    for (const auto& [manual, other] : cases) {
        INFO(other);
        const Instruction a = parsed(manual), b = parsed(other);
        CHECK(a.opcode == b.opcode);
        CHECK(a.modifiers == b.modifiers);
        CHECK(a.types == b.types);
        CHECK(a.space == b.space);
        CHECK(a.second_space == b.second_space);
        CHECK(a.shape == b.shape);
        CHECK(a.form == b.form);
        CHECK(a.operands == b.operands);
    }
}

TEST_CASE("Types, state spaces and layouts keep their order", "[ptx][suffixes]") {
    CHECK(is_refused("cvt.rn.f64.f32 %d, %f;"));  // rounding is for the other direction
    CHECK(is_refused("cp.async.ca.global.shared [word], [%a], 8;"));
    CHECK(
        is_refused("mma.sync.aligned.m16n8k8.row.col.f32.tf32.f32.tf32 {%f, %g, %h0, %h1}, {%r, %s, %t, %u}, "
                   "{%r, %s}, {%f, %g, %h0, %h1};"));
    CHECK(
        is_refused("mma.sync.aligned.m16n8k8.col.row.f32.tf32.tf32.f32 {%f, %g, %h0, %h1}, {%r, %s, %t, %u}, "
                   "{%r, %s}, {%f, %g, %h0, %h1};"));
    CHECK(parsed("cvt.f64.f32 %d, %f;").types == std::vector<Type>{Type::f64, Type::f32});
    // m8n8k4 has both orders of layouts: A by columns is not B by columns.
    const std::string operands =
        " {%f, %g, %h0, %h1, %h2, %h3, %h4, %h5}, {%r, %s}, {%t, %u}, {%f, %g, %h0, %h1, %h2, %h3, %h4, "
        "%h5};";
    const auto layouts = [&](const std::string& suffixes) {
        const MatrixLayouts found = matrix_layouts(parsed("mma." + suffixes + operands));
        return std::pair(found.a_row, found.b_row);
    };
    CHECK(layouts("sync.aligned.m8n8k4.col.row.f32.f16.f16.f32") == std::pair(false, true));
    CHECK(layouts("aligned.sync.m8n8k4.col.row.f32.f16.f16.f32") == std::pair(false, true));
    CHECK(layouts("aligned.sync.m8n8k4.row.col.f32.f16.f16.f32") == std::pair(true, false));
}

}  // namespace heddle::ptx::test
