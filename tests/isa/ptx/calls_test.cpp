// Calls of cuda/calls.cu against the same functions on the host, and calls written in PTX.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <functional>

#include "compare_modes.h"
#include "isa/common/error.h"
#include "launch.h"

using namespace heddle::ptx;
using namespace heddle::ptx::test;

namespace {

const std::string& kernels() {
    static const std::string text =
        read_text(std::string(HEDDLE_SOURCE_DIR) + "/tests/isa/ptx/cuda/calls.ptx");
    return text;
}

using Arguments = std::vector<std::vector<std::byte>>;

// Runs a kernel with an output array as first argument, in both modes.
template <class T>
std::vector<T> results(const std::string& kernel, Dim3 grid, Dim3 block, const Arguments& others = {}) {
    const Program program(kernels(), kernel);
    const std::size_t count = grid.count() * block.count();
    Device device, a, b;
    std::vector<std::uint64_t> out;
    for (Device* d : {&device, &a, &b}) out.push_back(d->upload("out", std::vector<T>(count)));
    Arguments arguments = {argument(out[0])};
    arguments.insert(arguments.end(), others.begin(), others.end());
    program.run(device, grid, block, arguments);
    const ModeComparison comparison = compare_modes(program.launch(a, grid, block, arguments),
                                                    program.launch(b, grid, block, arguments, Mode::timing));
    CHECK(comparison.differences == 0);
    CHECK(comparison.steps > 0);
    return device.download<T>(out[0], count);
}

template <class T, class Reference>
void require_results(const std::vector<T>& got, Reference reference) {
    for (std::size_t i = 0; i < got.size(); ++i) {
        INFO("thread " << i);
        REQUIRE(got[i] == reference(static_cast<int>(i)));
    }
}

std::string problem_of(const std::function<void()>& body) {
    try {
        body();
    } catch (const heddle::Error& error) {
        return error.what();
    }
    return "";
}

// --- the functions of calls.cu

unsigned fibonacci(unsigned n) {
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}
unsigned ackermann(unsigned m, unsigned n) {
    if (m == 0) return n + 1;
    return n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}
int permutations(int depth, int used, int sum) {
    if (depth == 6) return sum % 7 == 0;
    int count = 0;
    for (int k = 0; k < 6; ++k) {
        const int next = (k + depth) % 6;
        if ((used >> next & 1) == 0) count += permutations(depth + 1, used | 1 << next, sum * 3 + next);
    }
    return count;
}
struct Polynomial {
    std::array<int, 5> coefficients;
    double scale;
    signed char tag;
};
Polynomial derive(Polynomial p, int times) {
    if (times == 0) return p;
    for (int k = 0; k < 4; ++k) p.coefficients[k] = p.coefficients[k + 1] * (k + 1);
    p.coefficients[4] = 0;
    p.scale *= 1.5;
    ++p.tag;
    Polynomial rest = derive(p, times - 1);
    rest.coefficients[4] += p.coefficients[0];
    return rest;
}
Polynomial polynomial_of(int i) {
    Polynomial p{};
    for (int k = 0; k < 5; ++k) p.coefficients[k] = i + k;
    p.scale = i;
    p.tag = static_cast<signed char>(i);
    return derive(p, i % 5);
}
int operation(int which, int a, int b) {
    int power = 1;
    switch (which) {
        case 0:
            return a + b;
        case 1:
            return a - b;
        case 2:
            return static_cast<int>(static_cast<unsigned>(a) * static_cast<unsigned>(b));
        default:
            for (int k = 0; k < b; ++k)
                power = static_cast<int>(static_cast<unsigned>(power) * static_cast<unsigned>(a));
            return power;
    }
}
struct Area {
    int area, corners;
};
Area shape(int kind, int size) {
    if (kind % 3 == 0) return {3 * size * size, 0};
    if (kind % 3 == 1) return {size * size, 4};
    const Area a = shape(kind / 3, size), b = shape(kind / 9 + 1, size + 1);
    return {a.area + b.area, a.corners + b.corners};
}

}  // namespace

TEST_CASE("Recursion to a depth that differs from lane to lane", "[ptx][calls]") {
    require_results(results<unsigned>("fibonacci_of_thread", {2}, {48}, {argument(11u)}),
                    [](int i) { return fibonacci(static_cast<unsigned>(i) % 11); });
    require_results(results<unsigned>("ackermann_of_thread", {1}, {40}), [](int i) {
        return ackermann(static_cast<unsigned>(i) % 3, static_cast<unsigned>(i) / 3 % 5);
    });
}

TEST_CASE("Functions that call one another, in diverged code and loops", "[ptx][calls]") {
    require_results(results<int>("parity", {1}, {64}, {argument(6)}), [](int i) {
        int count = 0;
        for (int r = 0; r < 6; ++r) {
            if ((i + r) % 3 == 0) {
                // is_odd looks at the calls of the innermost is_even only: 1 when it was called once
                count += (i + r) % 2 != 0 ? 1 : 100;
            } else if (i % 5 != 0) {
                count += (r + i % 7) % 2 == 0 ? 10000 : 0;
            }
        }
        return count;
    });
}

TEST_CASE("Recursive quicksort of arrays in local memory", "[ptx][calls]") {
    const Program program(kernels(), "sort_local");
    Device device;
    std::vector<int> values(24 * 70);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int>(i * 7919 % 1009) - 300;
    const auto pv = device.upload("values", values);
    program.run(device, {1}, {70}, {argument(pv)});
    for (std::size_t t = 0; t < 70; ++t)
        std::sort(values.begin() + static_cast<std::ptrdiff_t>(24 * t),
                  values.begin() + static_cast<std::ptrdiff_t>(24 * (t + 1)));
    CHECK(device.download<int>(pv, values.size()) == values);
}

TEST_CASE("Each call has local variables of its own", "[ptx][calls]") {
    require_results(results<int>("permute", {1}, {64}), [](int i) { return permutations(2, i, i); });
}

TEST_CASE("Structures by value through recursion", "[ptx][calls]") {
    const Program program(kernels(), "derivatives");
    Device device;
    const auto out = device.upload("out", std::vector<int>(64));
    const auto scales = device.upload("scales", std::vector<double>(64));
    program.run(device, {1}, {64}, {argument(out), argument(scales)});
    const auto got = device.download<int>(out, 64);
    const auto got_scales = device.download<double>(scales, 64);
    for (int i = 0; i < 64; ++i) {
        const Polynomial p = polynomial_of(i);
        int sum = p.tag;
        for (const int c : p.coefficients)
            sum = static_cast<int>(static_cast<unsigned>(sum) * 31u + static_cast<unsigned>(c));
        REQUIRE(got[static_cast<std::size_t>(i)] == sum);
        REQUIRE(got_scales[static_cast<std::size_t>(i)] == p.scale);
    }
}

TEST_CASE("Pointers to functions, the same in all lanes or not", "[ptx][calls]") {
    for (const int uniform : {-1, 0, 1, 2, 3}) {
        require_results(results<int>("operate", {1}, {50}, {argument(uniform)}), [&](int i) {
            const int which = uniform >= 0 ? uniform : i % 4;
            int result = operation(which, i, i % 5);
            if (i % 3 != 1) result += operation(3 - which, result, i % 3);
            return result;
        });
    }
    require_results(results<int>("apply_repeatedly", {1}, {64}), [](int i) {
        int value = i;
        for (int n = i % 6; n > 0; --n) value = i % 2 == 0 ? value + n : value * n;
        return value;
    });
}

TEST_CASE("Addresses of functions are values that other kernels can call", "[ptx][calls]") {
    Device device;
    const auto addresses = device.upload("addresses", std::vector<std::uint64_t>(3));
    const Program take(kernels(), "take_address");
    take.run(device, {1}, {1}, {argument(addresses)});
    const auto got = device.download<std::uint64_t>(addresses, 3);
    CHECK(got[0] == got[1]);
    CHECK(got[0] != got[2]);
    const Program call(kernels(), "call_address");
    const auto out = device.upload("out", std::vector<int>(32));
    call.run(device, {1}, {32}, {argument(out), argument(got[2])});
    require_results(device.download<int>(out, 32), [](int i) { return 7 - i; });
    const std::string problem = problem_of([&] {
        call.run(device, {1}, {32}, {argument(out), argument(got[2] + 8)});
    });
    CHECK(problem.find("points to no function") != std::string::npos);
}

TEST_CASE("Virtual methods of objects in the heap", "[ptx][calls]") {
    require_results(results<int>("shapes", {1}, {64}), [](int i) {
        const Area s = shape(i, i % 10);
        return s.area * 100 + s.corners;
    });
}

TEST_CASE("Threads that end within a function", "[ptx][calls]") {
    const Program program(kernels(), "end_inside");
    Device device;
    std::vector<int> values(80);
    for (int i = 0; i < 80; ++i)
        values[static_cast<std::size_t>(i)] = i >= 64 ? (i % 2 != 0 ? 0 : -1) : 1 + i * 5 % 4;
    const auto pv = device.upload("values", values);
    const auto found = device.upload("found", std::vector<int>(64, -5));
    const auto out = device.upload("out", std::vector<int>(64, -7));
    program.run(device, {1}, {64}, {argument(pv), argument(found), argument(out)});
    const auto got_found = device.download<int>(found, 64), got_out = device.download<int>(out, 64);
    for (int i = 0; i < 64; ++i) {
        std::size_t at = static_cast<std::size_t>(i);
        while (values[at] > 0) at += static_cast<std::size_t>(values[at]);
        const bool ended = values[at] < 0;
        REQUIRE(got_found[static_cast<std::size_t>(i)] == (ended ? static_cast<int>(at) : -5));
        REQUIRE(got_out[static_cast<std::size_t>(i)] == (ended ? -7 : static_cast<int>(at)));
    }
}

TEST_CASE("Barriers and shuffles within a called function", "[ptx][calls]") {
    std::vector<int> values(128);
    for (int i = 0; i < 128; ++i) values[static_cast<std::size_t>(i)] = i * i % 77;
    const Program program(kernels(), "reduce");
    Device device;
    const auto pv = device.upload("values", values);
    const auto out = device.upload("out", std::vector<int>(128));
    program.run(device, {1}, {128}, {argument(pv), argument(out)});
    require_results(device.download<int>(out, 128), [&](int i) {
        const int warp = (i / 32 + 1) % 4;
        int sum = 0;
        for (int k = 0; k < 32; ++k) sum += values[static_cast<std::size_t>(32 * warp + k)];
        return sum;
    });
}

TEST_CASE("A lane that has the lock returns while others of its warp wait for it", "[ptx][calls]") {
    const Program program(kernels(), "locks");
    Device device;
    const auto lock = device.upload("lock", std::vector<int>(1));
    const auto value = device.upload("value", std::vector<int>(1));
    program.run(device, {2}, {40}, {argument(lock), argument(value), argument(3)});
    int expected = 0;
    for (int i = 0; i < 2 * 40 * 3; ++i) expected = expected * 3 % 1009 + 1;
    CHECK(device.download<int>(value, 1)[0] == expected);
    CHECK(device.download<int>(lock, 1)[0] == 0);
}

TEST_CASE("Frames are aligned as their variables", "[ptx][calls]") {
    require_results(results<float>("aligned", {1}, {64}), [](int i) {
        std::array<float, 20> x{};
        for (int k = 0; k < 20; ++k) x[static_cast<std::size_t>(k)] = static_cast<float>(k * i);
        std::vector<float> terms;
        int n = i % 9;
        for (; n > 0; --n) {
            x[static_cast<std::size_t>(n)] += static_cast<float>(n);
            terms.push_back(x[static_cast<std::size_t>(n % 7)]);
        }
        float sum = x[3];
        for (std::size_t t = terms.size(); t-- > 0;) sum += terms[t];
        return sum;
    });
}

TEST_CASE("A recursion without end overflows the stack", "[ptx][calls]") {
    const Program program(kernels(), "overflow");
    Device device;
    const auto out = device.upload("out", std::vector<int>(1));
    const std::string problem = problem_of([&] { program.run(device, {1}, {32}, {argument(out)}); });
    INFO(problem);
    CHECK(problem.find("stack overflow in function endless(int)") != std::string::npos);
}

TEST_CASE("Calls are branches that are not removed, and ret of a function is no exit", "[ptx][calls]") {
    const Program program(kernels(), "fibonacci_of_thread");
    const auto instructions = program.kernel.instructions();
    unsigned exits = 0, branches = 0;
    for (const InstructionInfo& info : instructions) {
        exits += info.synchronisation == Synchronisation::exit ? 1 : 0;
        branches += info.pipeline == Pipeline::branch && info.machine_operations > 1 ? 1 : 0;
    }
    CHECK(exits == 1);
    CHECK(branches >= 2);
    CHECK(program.kernel.registers_per_thread() >= 16);
}

TEST_CASE("Calls under a guard, through a list of targets, and their mistakes", "[ptx][calls]") {
    const std::string head = R"(.version 8.0
.target sm_80
.address_size 64
.func (.param .b32 r) twice(.param .b32 x) {
  .reg .b32 %a; ld.param.b32 %a, [x]; add.s32 %a, %a, %a; st.param.b32 [r], %a; ret; }
.func (.param .b32 r) negate(.param .b32 x) {
  .reg .b32 %a; ld.param.b32 %a, [x]; neg.s32 %a, %a; st.param.b32 [r], %a; ret; }
.visible .entry test(.param .u64 out) {
  .reg .pred %p, %q; .reg .b32 %r<6>; .reg .b64 %rd<6>;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x;
  and.b32 %r2, %r1, 1;
  setp.ne.u32 %p, %r2, 0;
  setp.lt.u32 %q, %r1, 20;
  mov.u64 %rd2, twice;
  mov.u64 %rd3, negate;
  selp.b64 %rd2, %rd2, %rd3, %p;
  mov.u32 %r3, 1000;
  { .param .b32 a0; .param .b32 r0;
  targets: .calltargets twice, negate;
  st.param.b32 [a0], %r1;
  st.param.b32 [r0], %r3;
  @%q call (r0), %rd2, (a0), targets;
  ld.param.b32 %r3, [r0]; }
  mul.wide.u32 %rd4, %r1, 4;
  add.u64 %rd4, %rd1, %rd4;
  st.global.u32 [%rd4], %r3;
  ret; }
)";
    const Program program(head, "test");
    Device device;
    const auto out = device.upload("out", std::vector<int>(32));
    program.run(device, {1}, {32}, {argument(out)});
    require_results(device.download<int>(out, 32), [](int i) {
        return i >= 20 ? 1000 : i % 2 != 0 ? 2 * i : -i;
    });
    std::string no_list = head;
    no_list.replace(no_list.find(", targets;"), 10, ", nothing;");
    CHECK(problem_of([&] { Program(no_list, "test"); }).find("no .callprototype") != std::string::npos);
    std::string narrow = head;
    narrow.replace(narrow.find(".reg .b64 %rd<6>"), 16, ".reg .b64 %rd<6>; .reg .b32 %n");
    narrow.replace(narrow.find("%rd2, (a0)"), 4, "%n");
    CHECK(problem_of([&] { Program(narrow, "test"); }).find("64-bit") != std::string::npos);
}
