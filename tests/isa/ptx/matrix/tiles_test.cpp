// wmma: load, multiply, store. The fragments' layout is nobody's business; what counts is matrices in memory.
#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>

#include "../compare_modes.h"
#include "../launch.h"
#include "bench.h"
#include "isa/common/error.h"
#include "isa/numerics/dot_product_unit.h"
#include "isa/target/generation.h"

using namespace heddle;
using namespace heddle::ptx;
using namespace heddle::ptx::test;
using numerics::Format;

namespace {

struct Operation {
    unsigned m, n, k;
    std::string input;  // type suffix of A and B
    unsigned input_bits;
    std::string c, d;            // types of C and D
    std::string types;           // suffixes of wmma.mma after the shape
    std::string before = "";     // .xor.popc
    bool fixed_layouts = false;  // A by row, B by column
};

unsigned bits_of(const std::string& type) {
    return static_cast<unsigned>(std::stoul(type.substr(1)));
}

// Registers of a fragment: f16 A and B have eight whatever their size.
std::string fragment(const std::string& type, char name, unsigned elements, unsigned bits, bool sum) {
    if (type == "f64") return list(std::string("%q") + name, 0, elements);
    if (type == "f32") return list(std::string("%f") + name, 0, elements);
    const unsigned words = type == "f16" && !sum ? 8 : elements * bits / 32;
    return list(std::string("%r") + name, 0, words);
}

// A matrix in memory: element (row, column) of `bits` each, by row or by column.
struct Image {
    unsigned rows, columns, bits;
    bool by_row;
    unsigned stride;
    unsigned lines() const { return by_row ? rows : columns; }
    unsigned line() const { return by_row ? columns : rows; }
    std::size_t bytes() const { return std::size_t{lines()} * stride * bits / 8; }
    std::size_t bit(unsigned row, unsigned column) const {
        return (std::size_t{by_row ? row : column} * stride + (by_row ? column : row)) * bits;
    }
    void put(std::vector<std::uint8_t>& memory, unsigned row, unsigned column, std::uint64_t value) const {
        const std::size_t at = bit(row, column);
        if (bits < 8) {
            memory[at / 8] = static_cast<std::uint8_t>(memory[at / 8] | value << at % 8);
        } else {
            std::memcpy(&memory[at / 8], &value, bits / 8);
        }
    }
    std::uint64_t get(const std::vector<std::uint8_t>& memory, unsigned row, unsigned column) const {
        std::uint64_t value = 0;
        std::memcpy(&value, &memory[bit(row, column) / 8], bits / 8);
        return value;
    }
};

enum class Where { global, generic, shared };

std::string stride_text(const Image& image, Where where, const std::string& name) {
    if (where == Where::generic) return "";  // the default
    if (where == Where::shared) return ", " + std::to_string(image.stride);
    return ", %s" + name;
}

// Copies between the parameter's buffer and shared memory at `offset`, 4 bytes per lane and step.
std::string copy(const std::string& name, std::size_t bytes, std::size_t offset, bool out) {
    std::string text = "mul.wide.u32 %o, %t, 4; add.u64 %o, %o, %" + name + "; mad.lo.u32 %u, %t, 4, " +
                       std::to_string(offset) + "; add.u32 %u, %u, %base;\n";
    for (std::size_t at = 0; at < bytes; at += 128) {
        const std::string place = "+" + std::to_string(at) + "]";
        const std::string guard = "setp.lt.u32 %p, %t, " + std::to_string((bytes - at) / 4) + ";\n@%p ";
        text += out ? guard + "ld.shared.b32 %v, [%u" + place + "; @%p st.global.b32 [%o" + place + ", %v;\n"
                    : guard + "ld.global.b32 %v, [%o" + place + "; @%p st.shared.b32 [%u" + place + ", %v;\n";
    }
    return text + "bar.warp.sync -1;\n";
}

struct Images {
    Image a, b, c, d;
};

std::string kernel_text(const Operation& o, const Images& images, Where where) {
    const unsigned a_elements = o.m * o.k / 32, b_elements = o.n * o.k / 32, sums = o.m * o.n / 32;
    const std::string shape =
        ".m" + std::to_string(o.m) + "n" + std::to_string(o.n) + "k" + std::to_string(o.k);
    const std::string space = where == Where::global ? ".global" : where == Where::shared ? ".shared" : "";
    const auto layout = [](const Image& image) { return std::string(image.by_row ? ".row" : ".col"); };
    std::string body =
        ".reg .b32 %ra<8>, %rb<8>, %rc<8>, %rd<8>, %t, %u, %v, %base, %sa, %sb, %sc, %sd; .reg .f32 %fc<8>, "
        "%fd<8>; .reg .f64 %qa<2>, %qb<2>, %qc<2>, %qd<2>; .reg .b64 %a, %b, %c, %d, %o; .reg .pred %p; "
        ".shared .align 32 .b8 buffer[16384];\nmov.u32 %t, %tid.x; mov.u32 %base, buffer;\n";
    std::string parameters;
    for (const std::string name : {"a", "b", "c", "d"}) {
        parameters +=
            (parameters.empty() ? "" : ", ") + std::string(".param .u64 ") + name + ", .param .u32 s" + name;
        body += "ld.param.u64 %" + name + ", [" + name + "]; ld.param.u32 %s" + name + ", [s" + name + "];\n";
    }
    std::string pa = "%a", pb = "%b", pc = "%c", pd = "%d";
    if (where == Where::shared) {
        body += copy("a", images.a.bytes(), 0, false) + copy("b", images.b.bytes(), 4096, false) +
                copy("c", images.c.bytes(), 8192, false);
        pa = "%base";
        pb = "%base+4096";
        pc = "%base+8192";
        pd = "%base+12288";
    }
    const std::string fa = fragment(o.input, 'a', a_elements, o.input_bits, false),
                      fb = fragment(o.input, 'b', b_elements, o.input_bits, false),
                      fc = fragment(o.c, 'c', sums, bits_of(o.c), true),
                      fd = fragment(o.d, 'd', sums, bits_of(o.d), true);
    body += "wmma.load.a.sync.aligned" + layout(images.a) + shape + space + "." + o.input + " " + fa + ", [" +
            pa + "]" + stride_text(images.a, where, "a") + ";\n";
    body += "wmma.load.b.sync.aligned" + layout(images.b) + shape + space + "." + o.input + " " + fb + ", [" +
            pb + "]" + stride_text(images.b, where, "b") + ";\n";
    body += "wmma.load.c.sync.aligned" + layout(images.c) + shape + space + "." + o.c + " " + fc + ", [" +
            pc + "]" + stride_text(images.c, where, "c") + ";\n";
    body += "wmma.mma" + o.before + ".sync.aligned" + layout(images.a) + layout(images.b) + shape + o.types +
            " " + fd + ", " + fa + ", " + fb + ", " + fc + ";\n";
    body += "wmma.store.d.sync.aligned" + layout(images.d) + shape + space + "." + o.d + " [" + pd + "], " +
            fd + stride_text(images.d, where, "d") + ";\n";
    if (where == Where::shared) body += "bar.warp.sync -1;\n" + copy("d", images.d.bytes(), 12288, true);
    return module_text(parameters, body + "ret;");
}

using Element = std::function<std::uint64_t()>;
using Sum = std::function<std::uint64_t(const std::vector<std::uint64_t>& a,
                                        const std::vector<std::uint64_t>& b, std::uint64_t c)>;

// Lines start at multiples of 32 bytes where the stride is not the default one.
Image image_of(unsigned rows, unsigned columns, unsigned bits, bool by_row, Where where) {
    Image image{rows, columns, bits, by_row, by_row ? columns : rows};
    if (where != Where::generic) image.stride = (image.stride * bits + 255) / 256 * 256 / bits + 256 / bits;
    return image;
}

void check(const Operation& o, const Element& draw, const Element& draw_c, const Sum& expected,
           unsigned capability = 90) {
    unsigned turn = 0;
    for (const Where where : {Where::global, Where::generic, Where::shared}) {
        for (const bool a_row : {true, false}) {
            for (const bool b_row : {true, false}) {
                if (o.fixed_layouts && (!a_row || b_row)) continue;
                ++turn;
                const Images images{image_of(o.m, o.k, o.input_bits, a_row, where),
                                    image_of(o.k, o.n, o.input_bits, b_row, where),
                                    image_of(o.m, o.n, bits_of(o.c), turn % 2 == 0, where),
                                    image_of(o.m, o.n, bits_of(o.d), turn / 2 % 2 == 0, where)};
                const Matrix a = make_matrix(o.m, o.k, draw), b = make_matrix(o.n, o.k, draw),
                             c = make_matrix(o.m, o.n, draw_c);
                std::vector<std::uint8_t> ma(images.a.bytes() + 8), mb(images.b.bytes() + 8),
                    mc(images.c.bytes() + 8), md(images.d.bytes() + 8);
                for (unsigned i = 0; i < o.m; ++i)
                    for (unsigned l = 0; l < o.k; ++l) images.a.put(ma, i, l, a[i][l]);
                for (unsigned j = 0; j < o.n; ++j)
                    for (unsigned l = 0; l < o.k; ++l) images.b.put(mb, l, j, b[j][l]);
                for (unsigned i = 0; i < o.m; ++i)
                    for (unsigned j = 0; j < o.n; ++j) images.c.put(mc, i, j, c[i][j]);
                const Program program(kernel_text(o, images, where), "test");
                Device device, timing;
                std::vector<std::vector<std::byte>> arguments;
                std::uint64_t result = 0;
                for (const auto& [image, memory] :
                     {std::pair{&images.a, &ma}, {&images.b, &mb}, {&images.c, &mc}, {&images.d, &md}}) {
                    result = device.upload("x", *memory);
                    REQUIRE(timing.upload("x", *memory, false) == result);
                    arguments.push_back(argument(result));
                    arguments.push_back(argument(std::uint32_t{image->stride}));
                }
                LaunchContext launch = program.launch(device, {1}, {32}, arguments),
                              timed = program.launch(timing, {1}, {32}, arguments, Mode::timing);
                launch.compute_capability = timed.compute_capability = capability;
                const ModeComparison modes = compare_modes(launch, timed);
                CHECK(modes.differences == 0);
                const auto output = device.download<std::uint8_t>(result, md.size());
                INFO(o.types << " " << o.m << "x" << o.n << "x" << o.k << " place " << static_cast<int>(where)
                             << " A by row " << a_row << " B by row " << b_row);
                for (unsigned i = 0; i < o.m; ++i)
                    for (unsigned j = 0; j < o.n; ++j)
                        REQUIRE(images.d.get(output, i, j) == expected(a[i], b[j], c[i][j]));
            }
        }
    }
}

struct Size {
    unsigned m, n;
};
constexpr Size kSizes[] = {{16, 16}, {8, 32}, {32, 8}};

Element floats(Format format, std::mt19937& generator) {
    return [format, &generator] {
        const float value = static_cast<float>(static_cast<int>(generator() % 20001) - 10000) / 1237;
        return std::uint64_t{numerics::from_float(format, value)};
    };
}

Sum tensor_core(Format input, Format output, unsigned capability) {
    const auto parameters = numerics::parameters_for(target::generation_of(capability), input, output);
    return [parameters](const auto& a, const auto& b, std::uint64_t c) -> std::uint64_t {
        const std::vector<std::uint32_t> x(a.begin(), a.end()), y(b.begin(), b.end());
        return numerics::dot_product(parameters, x, y, static_cast<std::uint32_t>(c));
    };
}

Format format_of(const std::string& type) {
    return type == "f16" ? Format::fp16 : Format::fp32;
}

}  // namespace

TEST_CASE("wmma in f16: every layout, place and type of sums", "[ptx][matrix][wmma]") {
    std::mt19937 generator(1);
    for (const Size size : kSizes) {
        for (const std::string c : {"f16", "f32"}) {
            for (const std::string d : {"f16", "f32"}) {
                for (const unsigned capability : {70u, 80u, 90u}) {
                    // Mixed sums are computed in f32.
                    const Format sum = c == "f16" && d == "f16" ? Format::fp16 : Format::fp32;
                    const Sum core = tensor_core(Format::fp16, sum, capability);
                    const Format c_format = format_of(c), d_format = format_of(d);
                    check(
                        {size.m, size.n, 16, "f16", 16, c, d, "." + d + "." + c},
                        floats(Format::fp16, generator), floats(c_format, generator),
                        [&](const auto& a, const auto& b, std::uint64_t x) {
                            return numerics::convert(d_format, sum,
                                                     core(a, b, numerics::convert(sum, c_format, x)));
                        },
                        capability);
                }
            }
        }
    }
}

TEST_CASE("wmma in bf16, tf32 and f64", "[ptx][matrix][wmma]") {
    std::mt19937 generator(2);
    for (const Size size : kSizes) {
        check({size.m, size.n, 16, "bf16", 16, "f32", "f32", ".f32.bf16.bf16.f32"},
              floats(Format::bf16, generator), floats(Format::fp32, generator),
              tensor_core(Format::bf16, Format::fp32, 90));
    }
    check({16, 16, 8, "tf32", 32, "f32", "f32", ".f32.tf32.tf32.f32"}, floats(Format::tf32, generator),
          floats(Format::fp32, generator), tensor_core(Format::tf32, Format::fp32, 90));
    check(
        {8, 8, 4, "f64", 64, "f64", "f64", ".f64.f64.f64.f64"},
        [&] { return std::bit_cast<std::uint64_t>(static_cast<double>(generator()) / 3e9 - 0.5); },
        [&] { return std::bit_cast<std::uint64_t>(static_cast<double>(generator()) / 7e9 - 0.5); },
        [](const auto& a, const auto& b, std::uint64_t c) {
            double sum = std::bit_cast<double>(c);
            for (unsigned k = 0; k < 4; ++k)
                sum = std::fma(std::bit_cast<double>(a[k]), std::bit_cast<double>(b[k]), sum);
            return std::bit_cast<std::uint64_t>(sum);
        });
}

TEST_CASE("wmma in integers and bits", "[ptx][matrix][wmma]") {
    std::mt19937 generator(3);
    const Element any = [&]() -> std::uint64_t { return generator(); };
    const auto exact = [](bool is_signed, unsigned bits, bool saturates) -> Sum {
        return [=](const auto& a, const auto& b, std::uint64_t c) -> std::uint64_t {
            const auto value = [&](std::uint64_t x) {
                const auto v = static_cast<std::int64_t>(x);
                return is_signed && v >> (bits - 1) != 0 ? v - (std::int64_t{1} << bits) : v;
            };
            std::int64_t sum = static_cast<std::int32_t>(c);
            for (std::size_t k = 0; k < a.size(); ++k) sum += value(a[k]) * value(b[k]);
            if (saturates) sum = std::clamp<std::int64_t>(sum, INT32_MIN, INT32_MAX);
            return static_cast<std::uint32_t>(sum);
        };
    };
    const Element near_the_end = [&]() -> std::uint64_t { return 0x7FFFFFFFu - generator() % 1000; };
    for (const bool is_signed : {false, true}) {
        for (const bool saturates : {false, true}) {
            const std::string end = saturates ? ".s32.satfinite" : ".s32";
            const std::string byte = is_signed ? "s8" : "u8", nibble = is_signed ? "s4" : "u4";
            for (const Size size : kSizes) {
                check(
                    {size.m, size.n, 16, byte, 8, "s32", "s32", ".s32." + byte + "." + byte + end},
                    [&] { return generator() & 0xFFu; }, saturates ? near_the_end : any,
                    exact(is_signed, 8, saturates));
            }
            check(
                {8, 8, 32, nibble, 4, "s32", "s32", ".s32." + nibble + "." + nibble + end, "", true},
                [&] { return generator() & 0xFu; }, saturates ? near_the_end : any,
                exact(is_signed, 4, saturates));
        }
    }
    for (const bool exclusive : {true, false}) {
        check(
            {8, 8, 128, "b1", 1, "s32", "s32", ".s32.b1.b1.s32", exclusive ? ".xor.popc" : ".and.popc", true},
            [&] { return generator() >> 7 & 1u; }, any,
            [=](const auto& a, const auto& b, std::uint64_t c) -> std::uint64_t {
                auto sum = static_cast<std::uint32_t>(c);
                for (unsigned k = 0; k < 128; ++k)
                    sum += static_cast<std::uint32_t>(exclusive ? a[k] ^ b[k] : a[k] & b[k]);
                return sum;
            });
    }
}

TEST_CASE("Misplaced wmma accesses are errors", "[ptx][matrix][wmma]") {
    const auto attempt = [](const std::string& load) {
        const Program program(module_text(".param .u64 x",
                                          ".reg .b32 %r<8>; .reg .b64 %x; .local .b8 here[512]; "
                                          "ld.param.u64 %x, [x];\n" +
                                              load + " ret;"),
                              "test");
        Device device;
        const auto x = device.upload("x", std::vector<std::uint8_t>(512));
        program.run(device, {1}, {32}, {argument(x)});
    };
    const std::string load =
        "wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {%r0,%r1,%r2,%r3,%r4,%r5,%r6,%r7}, ";
    CHECK_NOTHROW(attempt(load + "[%x], 16;"));
    CHECK_THROWS_AS(attempt(load + "[%x+8], 16;"), Error);  // misaligned
    CHECK_THROWS_AS(attempt(load + "[%x], 24;"), Error);    // the last rows lie behind the buffer
    CHECK_THROWS_AS(
        attempt("mov.u64 %x, here; cvta.local.u64 %x, %x; wmma.load.a.sync.aligned.row.m16n16k16.f16 "
                "{%r0,%r1,%r2,%r3,%r4,%r5,%r6,%r7}, [%x], 16;"),
        Error);
}
