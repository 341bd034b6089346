// Timing mode: evaluates only what steers, and reports the same as functional mode.
#include <catch2/catch.hpp>

#include "compare_modes.h"
#include "isa/common/error.h"
#include "launch.h"

using namespace heddle;
using namespace heddle::ptx;
using namespace heddle::ptx::test;

namespace {

const std::string& kernels() {
    static const std::string text =
        read_text(std::string(HEDDLE_SOURCE_DIR) + "/tests/isa/ptx/cuda/kernels.ptx");
    return text;
}

struct Pair {
    Device functional, timing;
    /// `steers`: values in timing mode too.
    template <class T>
    std::uint64_t upload(const std::string& name, const std::vector<T>& values, bool steers) {
        const std::uint64_t address = functional.upload(name, values);
        REQUIRE(timing.upload(name, values, steers) == address);
        return address;
    }
};

ModeComparison compare(const Program& program, Pair& pair, Dim3 grid, Dim3 block,
                       const std::vector<std::vector<std::byte>>& arguments) {
    return compare_modes(program.launch(pair.functional, grid, block, arguments, Mode::functional),
                         program.launch(pair.timing, grid, block, arguments, Mode::timing));
}

std::vector<int> numbers(std::size_t count, int modulus) {
    std::vector<int> values(count);
    for (std::size_t i = 0; i < count; ++i)
        values[i] = static_cast<int>(i * 7919 % static_cast<std::size_t>(modulus));
    return values;
}

std::string error_of(const std::function<void()>& run) {
    try {
        run();
    } catch (const Error& error) {
        return error.what();
    }
    return "";
}

}  // namespace

TEST_CASE("Both modes take the same steps and accesses", "[ptx][modes]") {
    SECTION("saxpy") {
        const Program program(kernels(), "saxpy");
        Pair pair;
        const auto x = pair.upload("x", std::vector<float>(1000), false),
                   y = pair.upload("y", std::vector<float>(1000), false);
        const ModeComparison result =
            compare(program, pair, {8}, {128}, {argument(1000), argument(2.0f), argument(x), argument(y)});
        CHECK(result.differences == 0);
        CHECK(result.accesses == 3 * 32);  // two loads and a store of the 32 warps below 1000
        CHECK(program.kernel.steering_instructions() < program.kernel.instructions().size());
    }
    SECTION("tiled SGEMM") {
        const Program program(kernels(), "sgemm_tiled");
        Pair pair;
        const int m = 33, n = 20, k = 50;
        const auto a = pair.upload("a", std::vector<float>(m * k), false),
                   b = pair.upload("b", std::vector<float>(k * n), false);
        const auto c = pair.upload("c", std::vector<float>(m * n), false);
        const ModeComparison result =
            compare(program, pair, {2, 3}, {16, 16},
                    {argument(m), argument(n), argument(k), argument(a), argument(b), argument(c)});
        CHECK(result.differences == 0);
        CHECK(result.accesses > 1000);
    }
    SECTION("transpose") {
        const Program program(kernels(), "transpose");
        Pair pair;
        const auto x = pair.upload("x", std::vector<float>(45 * 70), false),
                   y = pair.upload("y", std::vector<float>(45 * 70), false);
        CHECK(compare(program, pair, {3, 2}, {32, 8}, {argument(45), argument(70), argument(x), argument(y)})
                  .differences == 0);
    }
    SECTION("reduction with an atomic whose result nobody reads") {
        const Program program(kernels(), "reduce_sum");
        Pair pair;
        const auto x = pair.upload("x", numbers(5000, 100), false),
                   result = pair.upload("result", std::vector<int>(1), false);
        CHECK(
            compare(program, pair, {3}, {256}, {argument(5000), argument(x), argument(result)}).differences ==
            0);
    }
    SECTION("softmax") {
        const Program program(kernels(), "softmax_rows");
        Pair pair;
        const auto x = pair.upload("x", std::vector<float>(9 * 77), false),
                   y = pair.upload("y", std::vector<float>(9 * 77), false);
        CHECK(compare(program, pair, {3}, {32, 4}, {argument(9), argument(77), argument(x), argument(y)})
                  .differences == 0);
    }
}

TEST_CASE("Values that steer are followed through memory", "[ptx][modes]") {
    SECTION("bytes of a histogram become shared addresses, counts decide the final atomics") {
        const Program program(kernels(), "histogram");
        Pair pair;
        std::vector<unsigned char> x(3000);
        for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<unsigned char>(i * i % 61);
        const auto px = pair.upload("x", x, true),
                   bins = pair.upload("bins", std::vector<unsigned>(256), false);
        CHECK(
            compare(program, pair, {2}, {192}, {argument(3000), argument(px), argument(bins)}).differences ==
            0);
    }
    SECTION("a loop on loaded data") {
        const Program program(kernels(), "collatz");
        Pair pair;
        std::vector<unsigned long long> x(200);
        for (std::size_t i = 0; i < x.size(); ++i) x[i] = 1 + i * 37;
        const auto px = pair.upload("x", x, true), steps = pair.upload("steps", std::vector<int>(200), false);
        CHECK(
            compare(program, pair, {2}, {128}, {argument(200), argument(px), argument(steps)}).differences ==
            0);
    }
    SECTION("an atomic whose result is an address") {
        const Program program(kernels(), "compact");
        Pair pair;
        const auto x = pair.upload("x", numbers(500, 100), true),
                   y = pair.upload("y", std::vector<int>(500), false);
        const auto count = pair.upload("count", std::vector<int>(1), true);
        CHECK(compare(program, pair, {4}, {128},
                      {argument(500), argument(x), argument(60), argument(y), argument(count)})
                  .differences == 0);
    }
    SECTION("indices in local memory") {
        const Program program(kernels(), "mixed");
        Pair pair;
        const auto x = pair.upload("x", numbers(200, 100000), true),
                   d = pair.upload("divisor", std::vector<int>(200, 3), true);
        const auto y = pair.upload("y", std::vector<double>(200), false);
        CHECK(compare(program, pair, {2}, {128}, {argument(200), argument(x), argument(d), argument(y)})
                  .differences == 0);
    }
}

TEST_CASE("A steering buffer without values is named", "[ptx][modes]") {
    const Program program(kernels(), "histogram");
    Device device;
    const auto x = device.upload("token_ids", std::vector<unsigned char>(100), false),
               bins = device.upload("bins", std::vector<unsigned>(256), false);
    const std::string message = error_of([&] {
        run_functionally(
            program.launch(device, {1}, {64}, {argument(100), argument(x), argument(bins)}, Mode::timing));
    });
    CHECK(message.find("token_ids holds no values") != std::string::npos);
    CHECK(message.find("steering buffer") != std::string::npos);
}

TEST_CASE("Two names of one steering buffer are noticed", "[ptx][modes]") {
    // Reads through x steer; the store through y is not evaluated. If both are the same buffer the slice is
    // not sound.
    const std::string body =
        ".reg .b32 %t, %v, %w; .reg .b64 %x, %y, %z, %o;\n"
        "ld.param.u64 %x, [x]; ld.param.u64 %y, [y]; ld.param.u64 %z, [z]; mov.u32 %t, %tid.x; mul.wide.u32 "
        "%o, %t, 4;\n"
        "add.u64 %y, %y, %o; mov.u32 %w, 9; st.global.u32 [%y], %w; add.u64 %x, %x, %o; ld.global.u32 %v, "
        "[%x];\n"
        "mul.wide.u32 %o, %v, 4; add.u64 %z, %z, %o; st.global.u32 [%z], %t; ret;";
    const Program program(module_text(".param .u64 x, .param .u64 y, .param .u64 z", body), "test");
    Device device;
    const auto a = device.upload("a", std::vector<int>(32)), b = device.upload("b", std::vector<int>(32)),
               c = device.upload("c", std::vector<int>(32), false);
    const auto run = [&](std::uint64_t x, std::uint64_t y) {
        return error_of([&] {
            run_functionally(
                program.launch(device, {1}, {32}, {argument(x), argument(y), argument(c)}, Mode::timing));
        });
    };
    CHECK(run(a, b).empty());
    CHECK(run(a, a).find("buffer a is read for values that steer") != std::string::npos);
}

TEST_CASE("What the slice keeps", "[ptx][modes]") {
    // mul, add and the final store's value do not steer; the address, the loop counter and the branch do.
    const std::string body =
        ".reg .b32 %i, %t; .reg .f32 %f, %g; .reg .b64 %x, %o; .reg .pred %p;\n"
        "ld.param.u64 %x, [x];\n"    // steers
        "mov.u32 %t, %tid.x;\n"      // steers
        "mul.wide.u32 %o, %t, 4;\n"  // steers
        "add.u64 %x, %x, %o;\n"      // steers
        "mov.u32 %i, 0;\n"           // steers
        "mov.f32 %f, 1.0;\n"
        "loop: ld.global.f32 %g, [%x];\n"  // only its address
        "fma.rn.f32 %f, %f, %g, %g;\n"
        "add.u32 %i, %i, 1;\n"       // steers
        "setp.lt.u32 %p, %i, 5;\n"   // steers
        "@%p bra loop;\n"            // control
        "st.global.f32 [%x], %f;\n"  // only its address
        "ret;";                      // control
    const Program program(module_text(".param .u64 x", body), "test");
    CHECK(program.kernel.steering_instructions() == 9);
    CHECK(program.kernel.instructions().size() == 13);
}
