// The device runtime: kernels of cuda/device_runtime.cu against the host's own printf, and what they do
// wrong.
#include <catch2/catch.hpp>
#include <cinttypes>
#include <cstdio>

#include "compare_modes.h"
#include "isa/common/error.h"
#include "isa/ptx/machine/printf_format.h"
#include "launch.h"

using namespace heddle::ptx;
using namespace heddle::ptx::test;

namespace {

const std::string& kernels() {
    static const std::string text =
        read_text(std::string(HEDDLE_SOURCE_DIR) + "/tests/isa/ptx/cuda/device_runtime.ptx");
    return text;
}

template <class... Values>
std::string host(const char* format, Values... values) {
    char text[4096];
    std::snprintf(text, sizeof(text), format, values...);
    return text;
}

std::string output(const Program& program, Device& device, Dim3 grid, Dim3 block,
                   const std::vector<std::vector<std::byte>>& arguments) {
    std::string text;
    LaunchContext launch = program.launch(device, grid, block, arguments);
    launch.print = [&](std::string_view piece) { text += piece; };
    run_functionally(launch);
    return text;
}

std::string expected_formats(int n, double x, long long w, const char* text) {
    const char* constant = "constant";
    std::string all;
    all += host("%d|%5d|%-5d|%05d|%+d|% d\n", n, n, n, n, n, n);
    all += host("%i|%u|%o|%x|%X|%#x|%#o\n", n, n, n, n, n, n, n);
    all += host("%hd|%hu|%hhd|%hhu|%c%c\n", n, n, n, n, 'A', 'z');
    all += host("%lld|%llu|%lld|%llu|%llx|%zu|%lld|%lld\n", w, w, w, w, w, static_cast<std::size_t>(w), w, w);
    all += host("%f|%F|%e|%E|%g|%G|%a|%A\n", x, x, x, x, x, x, x, x);
    all += host("%.2f|%10.3f|%-10.3f|%+.0e|%#.3g|%010.2f\n", x, x, x, x, x, x);
    all += host("%s|%12s|%-12s|%.3s|100%%\n", text, constant, constant, constant);
    all += host("%d %f %d %lld %c %s\n", n, x, n, w, 'q', text);
    all += host("%*d|%-*d|%.*f\n", 8, n, 6, n, 3, x);
    all += "no arguments\n";
    all += host("%p\n", reinterpret_cast<void*>(0x7f1234));
    all += host("%f\n", static_cast<double>(static_cast<float>(n)));
    return all;
}

std::string problem_of(const LaunchContext& launch) {
    try {
        run_functionally(launch);
    } catch (const heddle::Error& error) {
        return error.what();
    }
    return "";
}

}  // namespace

TEST_CASE("printf prints what the host prints", "[ptx][runtime]") {
    const Program program(kernels(), "print_formats");
    Device device;
    const std::string word = "some words";
    const auto text = device.upload("text", std::vector<char>(word.c_str(), word.c_str() + word.size() + 1));
    struct Case {
        int n;
        double x;
        long long wide;
    };
    for (const Case& c : {Case{42, 3.14159, 1234567890123}, Case{-7, -0.000123456, -1}, Case{0, 0.0, 0},
                          Case{-2147483647 - 1, 1.7976931348623157e308, 0x7fffffffffffffff}}) {
        REQUIRE(output(program, device, {1}, {1},
                       {argument(c.n), argument(c.x), argument(c.wide), argument(text)}) ==
                expected_formats(c.n, c.x, c.wide, word.c_str()));
    }
}

TEST_CASE("printf returns the number of its arguments", "[ptx][runtime]") {
    const Program program(kernels(), "print_results");
    Device device;
    const auto results = device.upload("results", std::vector<int>(2, -9));
    output(program, device, {1}, {1}, {argument(results)});
    CHECK(device.download<int>(results, 2) == std::vector<int>{3, 0});
}

TEST_CASE("Each thread that prints prints once", "[ptx][runtime]") {
    const Program program(kernels(), "print_threads");
    Device device;
    std::string expected;
    for (int i = 0; i < 80; ++i) {
        if (i % 3 == 0 && i < 70) expected += host("thread %d of block %d\n", i % 40, i / 40);
    }
    CHECK(output(program, device, {2}, {40}, {argument(70)}) == expected);
}

TEST_CASE("Timing mode prints nothing and takes the same path", "[ptx][runtime]") {
    const Program program(kernels(), "print_formats");
    Device a, b;
    const auto text = [](Device& device) { return device.upload("text", std::vector<char>{'x', 0}); };
    const std::vector<std::vector<std::byte>> arguments = {argument(1), argument(2.0), argument(3LL),
                                                           argument(text(a))};
    text(b);
    LaunchContext functional = program.launch(a, {1}, {32}, arguments);
    LaunchContext timing = program.launch(b, {1}, {32}, arguments, Mode::timing);
    std::size_t functional_bytes = 0, timing_bytes = 0;
    functional.print = [&](std::string_view piece) { functional_bytes += piece.size(); };
    timing.print = [&](std::string_view piece) { timing_bytes += piece.size(); };
    const ModeComparison comparison = compare_modes(functional, timing);
    CHECK(comparison.differences == 0);
    CHECK(functional_bytes > 1000);
    CHECK(timing_bytes == 0);
}

TEST_CASE("Only 32 arguments are printed", "[ptx][runtime]") {
    std::string format;
    for (int i = 0; i < 34; ++i) format += "%d,";
    std::uint64_t next = 0;
    const PrintfSource source{[&](unsigned) { return next++; },
                              [](std::uint64_t, std::size_t) { return std::string(); }};
    const Printed printed = format_printf(format, source);
    std::string expected;
    for (int i = 0; i < 32; ++i) expected += std::to_string(i) + ",";
    CHECK(printed.text == expected + "%d,%d,");
    CHECK(printed.arguments == 32);
    CHECK(format_printf("a %y", source).problem == "%y");
    CHECK(format_printf("50%", source).problem == "%");
}

TEST_CASE("A failed assertion names expression, place and thread", "[ptx][runtime]") {
    const Program program(kernels(), "check");
    Device device;
    std::vector<int> values(64, 3);
    const auto pv = device.upload("values", values);
    CHECK(problem_of(program.launch(device, {1}, {16, 4}, {argument(pv), argument(4)})).empty());
    values[37] = 4;
    device.memory.write(pv, std::as_bytes(std::span(values)));
    for (const Mode mode : {Mode::functional, Mode::timing}) {
        const std::string problem =
            problem_of(program.launch(device, {3}, {64}, {argument(pv), argument(4)}, mode));
        for (const char* part :
             {"kernel check", "CTA (0, 0, 0)", "device_runtime.cu:", "thread (37, 0, 0)",
              "value < limit && \"values must be small\"", "void check(const int *, int)"}) {
            INFO(problem);
            CHECK(problem.find(part) != std::string::npos);
        }
    }
}

TEST_CASE("Lists in the heap", "[ptx][runtime]") {
    const Program program(kernels(), "lists");
    Device device;
    const auto sums = device.upload("sums", std::vector<int>(100));
    const std::vector<std::vector<std::byte>> arguments = {argument(sums), argument(9)};
    program.run(device, {2}, {50}, arguments);
    const auto got = device.download<int>(sums, 100);
    for (int i = 0; i < 100; ++i) {
        int expected = 0;
        for (int k = 9 + i % 4 - 1; k >= 0; --k) expected = expected * 3 + i * k;
        REQUIRE(got[static_cast<std::size_t>(i)] == expected);
    }
    CHECK(device.memory.heap_bytes() == 0);
    Device a, b;
    for (Device* d : {&a, &b}) d->upload("sums", std::vector<int>(100));
    const ModeComparison comparison = compare_modes(program.launch(a, {2}, {50}, arguments),
                                                    program.launch(b, {2}, {50}, arguments, Mode::timing));
    CHECK(comparison.differences == 0);
    CHECK(comparison.accesses > 200);
}

TEST_CASE("malloc returns nullptr when the heap is full", "[ptx][runtime]") {
    const Program program(kernels(), "exhaust");
    Device device;
    const auto count = device.upload("count", std::vector<int>(1));
    const auto addresses = device.upload("addresses", std::vector<std::uint64_t>(100));
    program.run(device, {1}, {1}, {argument(std::uint64_t{1} << 20), argument(count), argument(addresses)});
    const int blocks = device.download<int>(count, 1)[0];
    CHECK(blocks == 7);  // of 8 MiB, with what each block costs
    const auto list = device.download<std::uint64_t>(addresses, 7);
    for (std::size_t i = 0; i < list.size(); ++i) {
        CHECK(list[i] % 16 == 0);
        if (i > 0) CHECK(list[i] >= list[i - 1] + (std::uint64_t{1} << 20));
    }
    Device small;
    const auto n = small.upload("count", std::vector<int>(1));
    const auto where = small.upload("addresses", std::vector<std::uint64_t>(100));
    LaunchContext launch =
        program.launch(small, {1}, {1}, {argument(std::uint64_t{84}), argument(n), argument(where)});
    launch.heap_bytes = 1000;
    run_functionally(launch);
    CHECK(small.download<int>(n, 1)[0] == 10);
}

TEST_CASE("Wrong uses of the heap are found", "[ptx][runtime]") {
    const Program program(kernels(), "misuse");
    const char* problems[] = {"out of bounds", "freed already", "malloc did not return", "out of bounds"};
    for (int what = 0; what < 4; ++what) {
        Device device;
        const auto out = device.upload("out", std::vector<int>(1));
        const std::string problem =
            problem_of(program.launch(device, {1}, {1}, {argument(what), argument(out)}));
        INFO(problem);
        CHECK(problem.find(problems[what]) != std::string::npos);
        if (what == 0) CHECK(problem.find("freed") != std::string::npos);
    }
}

TEST_CASE("Functions without a body are refused by name", "[ptx][runtime]") {
    const std::string text =
        ".version 8.0\n.target sm_80\n.address_size 64\n"
        ".extern .func (.param .b32 r) cudaDeviceSynchronize;\n"
        ".visible .entry test()\n{\n.reg .b32 %r<2>;\n{ .param .b32 retval0;\n"
        "call.uni (retval0), cudaDeviceSynchronize;\nld.param.b32 %r1, [retval0+0]; }\nret;\n}\n";
    try {
        Program(text, "test");
        FAIL("it was accepted");
    } catch (const heddle::Error& error) {
        CHECK(std::string(error.what()).find("cudaDeviceSynchronize") != std::string::npos);
    }
}
