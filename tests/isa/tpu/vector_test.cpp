// Vector instructions against plain loops in double precision.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "isa/numerics/formats.h"
#include "isa/tpu/assembler.h"
#include "isa/tpu/vector_execution.h"

using namespace heddle;
using namespace heddle::tpu;

namespace {

struct Vmem {
    std::vector<std::byte> bytes = std::vector<std::byte>(1 << 20);
    float real(std::size_t address) const {
        float value;
        std::memcpy(&value, &bytes[address], 4);
        return value;
    }
    void real(std::size_t address, float value) { std::memcpy(&bytes[address], &value, 4); }
    std::int32_t integer(std::size_t address) const {
        std::int32_t value;
        std::memcpy(&value, &bytes[address], 4);
        return value;
    }
    void integer(std::size_t address, std::int32_t value) { std::memcpy(&bytes[address], &value, 4); }
    std::uint16_t half(std::size_t address) const {
        std::uint16_t value;
        std::memcpy(&value, &bytes[address], 2);
        return value;
    }
};

Vector instruction(const std::string& kernel, const std::string& text) {
    const Program program = assemble("kernel k " + kernel + "core {\nvector k " + text + "\nhalt\n}");
    validate(program, Limits{});
    return std::get<Vector>(program.cores[0].instructions[0].operation);
}

void fill(Vmem& vmem, std::size_t address, std::size_t count, unsigned seed, float low = -2, float high = 2) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> uniform(low, high);
    for (std::size_t i = 0; i < count; ++i) vmem.real(address + 4 * i, uniform(random));
}

}  // namespace

TEST_CASE("operations on elements, at odd sizes, with strides") {
    struct Operation {
        const char* name;
        unsigned operands;
        double (*exact)(double, double);
        float low;
    };
    const std::vector<Operation> operations{
        {"add", 2, [](double a, double b) { return a + b; }, -2},
        {"subtract", 2, [](double a, double b) { return a - b; }, -2},
        {"multiply", 2, [](double a, double b) { return a * b; }, -2},
        {"divide", 2, [](double a, double b) { return a / b; }, 0.1f},
        {"minimum", 2, [](double a, double b) { return std::min(a, b); }, -2},
        {"maximum", 2, [](double a, double b) { return std::max(a, b); }, -2},
        {"negate", 1, [](double a, double) { return -a; }, -2},
        {"absolute", 1, [](double a, double) { return std::fabs(a); }, -2},
        {"exponential", 1, [](double a, double) { return std::exp(a); }, -2},
        {"logarithm", 1, [](double a, double) { return std::log(a); }, 0.1f},
        {"square_root", 1, [](double a, double) { return std::sqrt(a); }, 0},
        {"reciprocal_square_root", 1, [](double a, double) { return 1 / std::sqrt(a); }, 0.1f},
        {"reciprocal", 1, [](double a, double) { return 1 / a; }, 0.1f},
        {"hyperbolic_tangent", 1, [](double a, double) { return std::tanh(a); }, -2},
        {"sigmoid", 1, [](double a, double) { return 1 / (1 + std::exp(-a)); }, -2},
        {"error_function", 1, [](double a, double) { return std::erf(a); }, -2},
        {"floor", 1, [](double a, double) { return std::floor(a); }, -2},
        {"greater", 2, [](double a, double b) { return a > b ? 1.0 : 0.0; }, -2},
        {"greater_equal", 2, [](double a, double b) { return a >= b ? 1.0 : 0.0; }, -2},
        {"less", 2, [](double a, double b) { return a < b ? 1.0 : 0.0; }, -2},
        {"less_equal", 2, [](double a, double b) { return a <= b ? 1.0 : 0.0; }, -2},
        {"not_equal", 2, [](double a, double b) { return a != b ? 1.0 : 0.0; }, -2},
    };
    constexpr unsigned rows = 11, columns = 1037;
    for (const Operation& operation : operations) {
        INFO(operation.name);
        Vmem vmem;
        fill(vmem, 0, rows * 1040, 1, operation.low);
        fill(vmem, 0x20000, rows * columns, 2, operation.low);
        const Vector vector =
            instruction("inputs 2 scalars 0 {\n0 = input 0\n1 = input 1\n2 = " + std::string(operation.name) +
                            (operation.operands == 2 ? " 0 1" : " 0") + "\noutput 2\n}\n",
                        "rows 11 columns 1037 in fp32@0:4160 in fp32@0x20000:4148 out fp32@0x40000:4148");
        execute(vector, {}, vmem.bytes);
        for (unsigned row = 0; row < rows; ++row) {
            for (unsigned column = 0; column < columns; ++column) {
                const double a = vmem.real(4160 * row + 4 * column),
                             b = vmem.real(0x20000 + 4148 * row + 4 * column);
                const double exact = operation.exact(a, b);
                const float y = vmem.real(0x40000 + 4148 * row + 4 * column);
                // Correct rounding, give or take double's own error.
                REQUIRE(std::fabs(y - exact) <=
                        0.50001 * std::ldexp(1.0, std::ilogb(std::max(std::fabs(exact), 1e-30)) - 23));
            }
        }
    }
}

TEST_CASE("broadcasts, scalars, integers and indices") {
    Vmem vmem;
    fill(vmem, 0, 7, 1);         // one number per row
    fill(vmem, 0x1000, 130, 2);  // one row
    for (int i = 0; i < 7; ++i) vmem.integer(0x2000 + 4 * i, 3 * i);
    const Vector vector =
        instruction(R"(inputs 3 scalars 1 {
0 = input 0
1 = input 1
2 = input 2
3 = scalar 0
4 = column_index
5 = integer_equal 4 2
6 = multiply 0 1
7 = select 5 3 6
8 = row_index
9 = integer_multiply 8 2
10 = integer_subtract 9 4
output 7
output 10
}
)",
                    "rows 7 columns 130 in fp32@0:4:broadcast in fp32@0x1000:0 in int32@0x2000:4:broadcast "
                    "out fp32@0x3000:520 out int32@0x8000:520 scalar 9.5 row_origin 100 column_origin 2");
    execute(vector, {}, vmem.bytes);
    for (int row = 0; row < 7; ++row) {
        for (int column = 0; column < 130; ++column) {
            const float expected =
                column + 2 == 3 * row ? 9.5f : vmem.real(4 * row) * vmem.real(0x1000 + 4 * column);
            REQUIRE(vmem.real(0x3000 + 520 * row + 4 * column) == expected);
            REQUIRE(vmem.integer(0x8000 + 520 * row + 4 * column) == (100 + row) * 3 * row - (column + 2));
        }
    }
}

TEST_CASE("reductions over lanes and sublanes, in the order that the header states") {
    constexpr int rows = 21, columns = 300;
    Vmem vmem;
    fill(vmem, 0, rows * columns, 3);
    for (int i = 0; i < columns; ++i) vmem.real(0x20000 + 4 * i, 100.0f);
    const Vector vector =
        instruction(R"(inputs 1 scalars 0 {
0 = input 0
output 0 lanes_sum
output 0 lanes_maximum
output 0 sublanes_sum accumulate
output 0 sublanes_maximum
}
)",
                    "rows 21 columns 300 in fp32@0:1200 out fp32@0x10000:4 out fp32@0x11000:8 "
                    "out fp32@0x20000:0 out fp32@0x21000:0");
    execute(vector, {}, vmem.bytes);
    const auto x = [&](int row, int column) {
        return vmem.real(static_cast<std::size_t>(1200 * row + 4 * column));
    };
    for (int row = 0; row < rows; ++row) {
        float lanes[128] = {}, most = x(row, 0);
        double exact = 0;
        for (int column = 0; column < columns; ++column) {
            lanes[column % 128] += x(row, column);
            most = std::max(most, x(row, column));
            exact += x(row, column);
        }
        for (int distance = 64; distance > 0; distance /= 2) {
            for (int lane = 0; lane < distance; ++lane) lanes[lane] += lanes[lane + distance];
        }
        REQUIRE(vmem.real(0x10000 + 4 * row) == lanes[0]);
        REQUIRE(std::fabs(lanes[0] - exact) < 1e-4);
        REQUIRE(vmem.real(0x11000 + 8 * row) == most);
    }
    for (int column = 0; column < columns; ++column) {
        float sublanes[8] = {}, most = x(0, column);
        for (int row = 0; row < rows; ++row) {
            sublanes[row % 8] += x(row, column);
            most = std::max(most, x(row, column));
        }
        const float sum = ((sublanes[0] + sublanes[4]) + (sublanes[2] + sublanes[6])) +
                          ((sublanes[1] + sublanes[5]) + (sublanes[3] + sublanes[7]));
        REQUIRE(vmem.real(0x20000 + 4 * column) == 100.0f + sum);
        REQUIRE(vmem.real(0x21000 + 4 * column) == most);
    }
}

TEST_CASE("bf16 tiles round to nearest even and lose subnormals") {
    Vmem vmem;
    const std::vector<std::pair<float, std::uint16_t>> cases{
        {1.0f, 0x3F80},    {1.00390625f, 0x3F80}, {1.01171875f, 0x3F82}, {1.0078125f + 0.00390626f, 0x3F82},
        {3.4e38f, 0x7F80}, {1e-39f, 0x0000},      {-1e-39f, 0x8000},     {-0.1f, 0xBDCD}};
    for (std::size_t i = 0; i < cases.size(); ++i) vmem.real(4 * i, cases[i].first);
    execute(instruction("inputs 1 scalars 0 {\n0 = input 0\noutput 0\n}\n",
                        "rows 1 columns 8 in fp32@0:0 out bf16@0x100:0"),
            {}, vmem.bytes);
    for (std::size_t i = 0; i < cases.size(); ++i) {
        INFO(cases[i].first);
        CHECK(vmem.half(0x100 + 2 * i) == cases[i].second);
    }
    execute(instruction("inputs 1 scalars 0 {\n0 = input 0\noutput 0\n}\n",
                        "rows 1 columns 8 in bf16@0x100:0 out fp32@0x200:0"),
            {}, vmem.bytes);
    for (std::size_t i = 0; i < cases.size(); ++i)
        CHECK(vmem.real(0x200 + 4 * i) == numerics::bf16_to_fp32(cases[i].second));
}

TEST_CASE("integers of 8 and 16 bits keep their sign, bytes have none, and stores keep the low bits") {
    Vmem vmem;
    for (unsigned i = 0; i < 256; ++i) vmem.bytes[i] = static_cast<std::byte>(i);
    const std::string kernel = R"(inputs 3 scalars 0 {
0 = input 0
1 = input 1
2 = input 2
3 = integer_to_float 0
4 = integer_to_float 1
5 = integer_add 0 2
6 = integer_less 0 2
output 3
output 4
output 5
output 5
output 6
}
)";
    // The 16-bit numbers are pairs of the same bytes.
    execute(instruction(kernel,
                        "rows 1 columns 128 in int8@64:0 in word8@64:0 in int16@0:0 out fp32@0x1000:0 "
                        "out fp32@0x2000:0 out int8@0x3000:0 out int16@0x4000:0 out fp32@0x5000:0"),
            {}, vmem.bytes);
    for (int i = 0; i < 128; ++i) {
        INFO(i);
        const int byte = 64 + i, narrow = byte < 128 ? byte : byte - 256;
        const int pair = 2 * i + 256 * (2 * i + 1), wide = pair < 32768 ? pair : pair - 65536;
        CHECK(vmem.real(0x1000 + 4 * i) == static_cast<float>(narrow));
        CHECK(vmem.real(0x2000 + 4 * i) == static_cast<float>(byte));
        CHECK(static_cast<int>(vmem.bytes[0x3000 + i]) == ((narrow + wide) & 0xFF));
        CHECK(vmem.half(0x4000 + 2 * i) == ((narrow + wide) & 0xFFFF));
        CHECK(vmem.real(0x5000 + 4 * i) == (narrow < wide ? 1.0f : 0.0f));
    }
}

TEST_CASE("numbers become integers towards zero, and those that do not fit the nearest that does") {
    Vmem vmem;
    constexpr std::int32_t most = std::numeric_limits<std::int32_t>::max(), least = -most - 1;
    const std::vector<std::pair<float, std::int32_t>> cases{
        {2.9f, 2},          {-2.9f, -2},    {2147483520.0f, 2147483520}, {2147483648.0f, most},
        {3e9f, most},       {-3e9f, least}, {-2147483648.0f, least},     {INFINITY, most},
        {-INFINITY, least}, {NAN, 0}};
    for (std::size_t i = 0; i < cases.size(); ++i) vmem.real(4 * i, cases[i].first);
    execute(instruction("inputs 1 scalars 0 {\n0 = input 0\n1 = float_to_integer 0\noutput 1\n}\n",
                        "rows 1 columns 10 in fp32@0:0 out int32@0x100:0"),
            {}, vmem.bytes);
    for (std::size_t i = 0; i < cases.size(); ++i) {
        INFO(cases[i].first);
        CHECK(vmem.integer(0x100 + 4 * i) == cases[i].second);
    }
}

TEST_CASE("every number of 8-bit floats is what OCP's tables say, and is stored as it was read") {
    struct Kind {
        const char* name;
        int mantissa_bits, bias, infinity, first_nan;  ///< codes without their sign; no infinity: 256
    };
    for (const Kind& kind : {Kind{"fp8_e4m3", 3, 7, 256, 0x7F}, Kind{"fp8_e5m2", 2, 15, 0x7C, 0x7D}}) {
        Vmem vmem;
        for (unsigned i = 0; i < 256; ++i) vmem.bytes[i] = static_cast<std::byte>(i);
        const std::string type = kind.name;
        execute(
            instruction("inputs 1 scalars 0 {\n0 = input 0\noutput 0\noutput 0\n}\n",
                        "rows 1 columns 256 in " + type + "@0:0 out fp32@0x1000:0 out " + type + "@0x2000:0"),
            {}, vmem.bytes);
        for (int code = 0; code < 256; ++code) {
            INFO(type << " " << code);
            const int magnitude = code & 0x7F, exponent = magnitude >> kind.mantissa_bits;
            const int mantissa = magnitude - (exponent << kind.mantissa_bits), one = 1 << kind.mantissa_bits;
            const float read = vmem.real(0x1000 + 4 * code);
            if (magnitude >= kind.first_nan) {
                CHECK(std::isnan(read));
                continue;
            }
            double value = exponent == 0 ? mantissa : one + mantissa;
            value = std::ldexp(value, std::max(exponent, 1) - kind.bias - kind.mantissa_bits);
            if (magnitude == kind.infinity) value = INFINITY;
            CHECK(read == static_cast<float>(code < 128 ? value : -value));
            CHECK(std::signbit(read) == (code >= 128));
            CHECK(static_cast<int>(vmem.bytes[0x2000 + code]) == code);
        }
    }
}

TEST_CASE("transpose") {
    for (const ElementType type : {ElementType::fp32, ElementType::bf16, ElementType::word8}) {
        const unsigned size = bytes_of(type);
        Vmem vmem;
        for (unsigned i = 0; i < 37 * 19 * size; ++i) vmem.bytes[i] = static_cast<std::byte>(i * 7 + i / 256);
        Transpose transpose;
        transpose.destination = 0x10000;
        transpose.rows = 37;
        transpose.columns = 19;
        transpose.source_stride = 19ull * size;
        transpose.destination_stride = 40ull * size;
        transpose.type = type;
        execute(transpose, {}, vmem.bytes);
        for (unsigned row = 0; row < 37; ++row) {
            for (unsigned column = 0; column < 19; ++column) {
                for (unsigned byte = 0; byte < size; ++byte) {
                    REQUIRE(vmem.bytes[0x10000 + (column * 40 + row) * size + byte] ==
                            vmem.bytes[(row * 19 + column) * size + byte]);
                }
            }
        }
    }
}
