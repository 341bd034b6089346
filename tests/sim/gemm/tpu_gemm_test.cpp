// Products on TPUs as `heddle gemm` asks for them: every number format, its values and its rate.
#include "sim/gemm/tpu_gemm.h"

#include <catch2/catch.hpp>
#include <functional>
#include <tuple>

#include "isa/common/error.h"
#include "sim/hardware/load_hardware.h"
#include "sim/tpu/tpu_machine.h"

using namespace heddle;
using sim::TpuGemmQuestion;
using trace::ElementType;

namespace {

TpuGemmQuestion question(std::uint32_t m, std::uint32_t n, std::uint32_t k, const std::string& types) {
    TpuGemmQuestion q{m, n, k};
    std::tie(q.a, q.b) = sim::tpu_gemm_types_from_name(types);
    return q;
}

sim::TpuGemmAnswer ask(const TpuGemmQuestion& q, const std::string& hardware,
                       const std::vector<std::string>& overrides = {}, bool numerics = false) {
    const models::TpuConfig config = sim::tpu_config(sim::load_hardware(hardware, overrides));
    sim::check(q, config);
    return time_tpu_gemm(q, config, numerics);
}

double cycles(const TpuGemmQuestion& q, const std::string& hardware,
              const std::vector<std::string>& overrides = {}) {
    return static_cast<double>(ask(q, hardware, overrides).cycles);
}

std::string problem(const std::function<void()>& work) {
    try {
        work();
    } catch (const Error& error) {
        return error.what();
    }
    return "";
}

}  // namespace

TEST_CASE("every number format computes on every TPU that multiplies it") {
    const std::vector<std::string> floats{"bf16", "fp8", "e5m2", "f32", "e4m3xbf16", "bf16xf32"};
    const std::vector<std::string> integers{"i8", "i16", "8x16", "i16xi8"};
    for (const std::string hardware :
         {"tpu-v1", "tpu-v2", "tpu-v3", "tpu-v4", "tpu-v5e", "tpu-v5p", "tpu-v6e"}) {
        const models::TpuConfig config = sim::tpu_config(sim::load_hardware(hardware));
        for (const bool whole : {false, true}) {
            for (const std::string& type : whole ? integers : floats) {
                CAPTURE(hardware, type);
                TpuGemmQuestion q = question(72, 150, 300, type);
                q.transpose_b = type != "i8";
                const auto refused = whole ? models::MatrixNumbers::floats : models::MatrixNumbers::integers;
                if (config.matrix.numbers == refused) {
                    CHECK(problem([&] { sim::check(q, config); }).find("only") != std::string::npos);
                    continue;
                }
                const sim::TpuGemmAnswer answer = ask(q, hardware, {}, true);
                REQUIRE(answer.numerics);
                CHECK(answer.numerics->compared == 72 * 150);
                CHECK(answer.numerics->worst <= answer.numerics->bound);
                // An error of a bit in the last place of a bf16 operand would show.
                CHECK((whole || answer.numerics->bound < 0x1p-6));
                CHECK(answer.passed(true));
            }
        }
    }
}

TEST_CASE("fp32 in one, three and six passes: ever closer to doubles, at a third and a sixth of the rate") {
    const TpuGemmQuestion q = question(1024, 512, 1024, "f32");
    double last_error = 1;
    std::vector<double> times;
    for (const std::string passes : {"1", "3", "6"}) {
        const sim::TpuGemmAnswer answer = ask(q, "tpu-v4", {"compiler.fp32_passes=" + passes}, true);
        CAPTURE(passes, answer.numerics->worst, answer.numerics->bound);
        CHECK(answer.passed(true));
        CHECK(answer.numerics->worst < last_error / 8);
        last_error = answer.numerics->worst;
        double active = 0;
        for (const auto& [reason, share] : answer.where)
            if (reason == "useful") active = share * static_cast<double>(answer.cycles);
        times.push_back(active);
    }
    CHECK(last_error < 1e-6);
    // Cycles in which cells work.
    CHECK(times[1] == Approx(3 * times[0]).epsilon(0.01));
    CHECK(times[2] == Approx(6 * times[0]).epsilon(0.01));
}

TEST_CASE(
    "rates of integers: twice bf16's where that is published, half for 8 x 16 bits, a quarter for 16 x 16") {
    // Large enough that the arrays are the limit.
    const auto of = [](const std::string& type) { return question(4096, 4096, 4096, type); };
    const double bytes = cycles(of("i8"), "tpu-v5e"), floats = cycles(of("bf16"), "tpu-v5e");
    CHECK(floats / bytes == Approx(2).epsilon(0.1));
    CHECK(cycles(of("fp8"), "tpu-v5e") / floats == Approx(1).epsilon(0.05));
    // v1's array, fed as fast as it takes rows ("half speed 8x16 bit, quarter 16x16", ISCA 2017).
    const std::vector<std::string> fast{"hbm.bandwidth=10 TB/s"};
    const double one = cycles(of("i8"), "tpu-v1", fast);
    CHECK(cycles(of("8x16"), "tpu-v1", fast) / one == Approx(2).epsilon(0.1));
    CHECK(cycles(of("i16"), "tpu-v1", fast) / one == Approx(4).epsilon(0.1));
}

TEST_CASE("questions that no TPU can answer say why") {
    CHECK(problem([] { sim::tpu_gemm_types_from_name("f16"); }).find("does not multiply `f16`") !=
          std::string::npos);
    CHECK(problem([] { sim::tpu_gemm_types_from_name("i8xbf16"); }).find("integers by floats") !=
          std::string::npos);
    const models::TpuConfig v1 = sim::tpu_config(sim::load_hardware("tpu-v1"));
    CHECK(problem([&] { sim::check(question(8, 8, 8, "bf16"), v1); }).find("multiply integers only") !=
          std::string::npos);
    CHECK(problem([&] { sim::check(question(0, 8, 8, "i8"), v1); }).find("out of range") !=
          std::string::npos);
}
