// Kernels of twenty thousand branches. They load in about a second; with analyses that look at all of a
// kernel for each of its branches, or loops, that took from half a minute to hours.
#include <catch2/catch.hpp>
#include <functional>

#include "../launch.h"

namespace heddle::ptx::test {
namespace {

constexpr unsigned kBranches = 20000, kThreads = 32;

/// `part(i)` of each branch, between what sets %t to the thread, %k to 600 times that, %m to it modulo 3 and
/// %v to 0, and what stores %v.
std::string text_of(const std::function<std::string(unsigned)>& part, const std::string& before = "",
                    const std::function<std::string(unsigned)>& backwards = {}) {
    std::string body =
        ".reg .pred %p; .reg .b32 %t, %k, %m, %v, %c, %x; .reg .b64 %out;\n"
        "ld.param.u64 %out, [out]; mov.u32 %t, %tid.x; mad.wide.u32 %out, %t, 4, %out;\n"
        "mul.lo.u32 %k, %t, 600; rem.u32 %m, %t, 3; mov.u32 %v, 0;\n" +
        before;
    for (unsigned i = 0; i < kBranches; ++i) body += part(i);
    for (unsigned i = kBranches; backwards && i-- > 0;) body += backwards(i);
    return module_text(".param .u64 out", body + "END: st.global.u32 [%out], %v; ret;");
}

/// Both as it is written and as it is assembled, thread t stores expected(t).
void check(const std::string& text, const std::function<std::uint32_t(std::uint32_t)>& expected) {
    const auto module = parse_shared(text, "branches.ptx");
    for (const Assembly assembly : {Assembly::as_written, Assembly::scheduled}) {
        const LoadedKernel kernel(module, "test", 90, assembly);
        Device device;
        const std::uint64_t out = device.upload("out", std::vector<std::uint32_t>(kThreads, 0));
        LaunchContext launch;
        launch.kernel = &kernel;
        launch.block.x = kThreads;
        const std::vector<std::vector<std::byte>> arguments{argument(out)};
        launch.parameters = pack_parameters(kernel, arguments);
        launch.memory = &device.memory;
        run_functionally(launch);
        const std::vector<std::uint32_t> values = device.download<std::uint32_t>(out, kThreads);
        for (std::uint32_t t = 0; t < kThreads; ++t) {
            CAPTURE(t, assembly == Assembly::scheduled);
            CHECK(values[t] == expected(t));
        }
    }
}

std::string with(std::string text, unsigned i) {
    for (std::size_t at; (at = text.find('#')) != std::string::npos;) text.replace(at, 1, std::to_string(i));
    return text;
}

}  // namespace

TEST_CASE("Twenty thousand branches, one behind another", "[ptx][branches]") {
    check(text_of([](unsigned i) {
              return with(
                  "setp.lt.u32 %p, %t, " + std::to_string(i % 64) + "; @%p bra L#; add.u32 %v, %v, #; L#:\n",
                  i);
          }),
          [](std::uint32_t t) {
              std::uint32_t sum = 0;
              for (std::uint32_t i = 0; i < kBranches; ++i) sum += t >= i % 64 ? i : 0;
              return sum;
          });
}

TEST_CASE("Twenty thousand branches, one within another", "[ptx][branches]") {
    check(
        text_of([](unsigned i) { return with("setp.eq.u32 %p, %k, #; @%p bra L#; add.u32 %v, %v, 1;\n", i); },
                "", [](unsigned i) { return with("add.u32 %v, %v, 3; L#:\n", i); }),
        [](std::uint32_t t) { return 4 * std::min(600 * t, kBranches); });
}

TEST_CASE("Twenty thousand branches to one place", "[ptx][branches]") {
    check(text_of(
              [](unsigned i) { return with("setp.eq.u32 %p, %k, #; @%p bra END; add.u32 %v, %v, 1;\n", i); }),
          [](std::uint32_t t) { return std::min(600 * t, kBranches); });
}

TEST_CASE("Twenty thousand ways out", "[ptx][branches]") {
    check(text_of([](unsigned i) {
              return with(
                  "setp.ne.u32 %p, %k, #; @%p bra L#; st.global.u32 [%out], %v; ret;\n"
                  "L#: add.u32 %v, %v, 1;\n",
                  i);
          }),
          [](std::uint32_t t) { return std::min(600 * t, kBranches); });
}

TEST_CASE("Twenty thousand loops with the test at their beginning", "[ptx][branches]") {
    check(text_of([](unsigned i) {
              return with(
                  "mov.u32 %c, 0; H#: setp.ge.u32 %p, %c, %m; @%p bra L#; add.u32 %v, %v, #;\n"
                  "add.u32 %c, %c, 1; bra H#; L#:\n",
                  i);
          }),
          [](std::uint32_t t) { return t % 3 * (kBranches * (kBranches - 1) / 2); });
}

TEST_CASE("Twenty thousand loops with the test before their end", "[ptx][branches]") {
    check(text_of([](unsigned i) {
              return with(
                  "mov.u32 %c, 0; H#: add.u32 %v, %v, #; setp.ge.u32 %p, %c, %m; @%p bra L#;\n"
                  "add.u32 %c, %c, 1; bra H#; L#:\n",
                  i);
          }),
          [](std::uint32_t t) { return (t % 3 + 1) * (kBranches * (kBranches - 1) / 2); });
}

TEST_CASE("Twenty thousand loops, one within another", "[ptx][branches]") {
    // Each thread goes round one of them once more.
    const auto ends = [](unsigned i) {
        return with("setp.eq.u32 %p, %k, #; @%p add.u32 %k, %k, 40000; @%p bra H#;\n", i);
    };
    check(text_of([](unsigned i) { return with("H#: add.u32 %v, %v, 1;\n", i); }, "", ends),
          [](std::uint32_t t) { return 600 * t < kBranches ? 2 * kBranches - 600 * t : kBranches; });
}

TEST_CASE("Twenty thousand loops that end with a way out", "[ptx][branches]") {
    check(text_of([](unsigned i) {
              return with(
                  "setp.ne.u32 %p, %k, #; @%p bra L#; mov.u32 %c, 0;\n"
                  "H#: add.u32 %v, %v, #; add.u32 %c, %c, 1; setp.le.u32 %p, %c, %m; @%p bra H#;\n"
                  "st.global.u32 [%out], %v; ret; L#:\n",
                  i);
          }),
          [](std::uint32_t t) { return 600 * t < kBranches ? (t % 3 + 1) * 600 * t : 0; });
}

TEST_CASE("Twenty thousand branches around the same value", "[ptx][branches]") {
    check(text_of([](unsigned i) {
              return with("setp.eq.u32 %p, %k, #; @%p bra L#; mov.u32 %x, %ntid.x; add.u32 %v, %v, %x; L#:\n",
                          i);
          }),
          [](std::uint32_t t) { return kThreads * (600 * t < kBranches ? kBranches - 1 : kBranches); });
}

TEST_CASE("A branch to twenty thousand places", "[ptx][branches]") {
    std::string table = "T: .branchtargets L0";
    for (unsigned i = 1; i < kBranches; ++i) table += ", L" + std::to_string(i);
    check(text_of([](unsigned i) { return with("L#: mul.lo.u32 %v, %k, #; bra END;\n", i); },
                  table + ";\nbrx.idx %k, T;\n"),
          [](std::uint32_t t) { return 360000 * t * t; });
}

TEST_CASE("A kernel with more values than the assembler numbers stays as it is written", "[ptx][branches]") {
    // Each comparison is a value of its own: more than the 65,534 registers that scoreboards tell apart,
    // although the text names two.
    std::string body = ".reg .pred %p; .reg .b32 %t;\nmov.u32 %t, %tid.x;\n";
    for (unsigned i = 0; i < 66000; ++i) body += "setp.eq.u32 %p, %t, 7; @%p bar.sync 0;\n";
    const auto module = parse_shared(module_text("", body + "ret;"), "values.ptx");
    const LoadedKernel kernel(module, "test", 90, Assembly::scheduled);
    CHECK(kernel.instructions().size() == 2 * 66000 + 2);
    CHECK(kernel.scoreboard_size() == 3);
}

}  // namespace heddle::ptx::test
