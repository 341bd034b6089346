// wgmma.mma_async of one warpgroup, element by element against the scalar definition of the tensor core
// (isa/numerics).
#include <bit>
#include <catch2/catch.hpp>

#include "isa/numerics/dot_product_unit.h"
#include "wgmma_harness.h"

using namespace heddle;
using namespace heddle::ptx;
using namespace heddle::ptx::test;
using numerics::Format;

namespace {

struct Case {
    std::string types;  // ".f32.f16.f16"
    Format a_format, b_format, output;
    unsigned bits;  // of an element of A and B
    unsigned columns;
    Placement a, b;
    bool a_in_registers = false;
    int scale_a = 1, scale_b = 1;
    bool adds = true;
    bool sparse = false;
    unsigned selector = 0;
    unsigned seed = 1;

    unsigned kept() const { return 256 / bits; }  // along k in A
    unsigned depth() const { return kept() * (sparse ? 2 : 1); }
    bool transposes() const { return bits == 16; }

    std::string instruction() const {
        const unsigned registers_of_d = output == Format::fp16 ? columns / 4 : columns / 2;
        std::string text = std::string("wgmma.mma_async") + (sparse ? ".sp" : "") + ".sync.aligned.m64n" +
                           std::to_string(columns) + "k" + std::to_string(depth()) + types + " " +
                           registers("%d", registers_of_d) + ", " +
                           (a_in_registers ? registers("%a", 4) : std::string("%da")) + ", %db, ";
        if (sparse) text += "%m, " + std::to_string(selector) + ", ";
        text += "%p, " + std::to_string(scale_a) + ", " + std::to_string(scale_b);
        if (transposes() && !a_in_registers) text += a.majorness == Majorness::mn ? ", 1" : ", 0";
        if (transposes()) text += b.majorness == Majorness::mn ? ", 1" : ", 0";
        return text + ";";
    }
};

Matrix random_matrix(Format format, unsigned rows, unsigned columns, std::mt19937& generator) {
    Matrix matrix(rows, std::vector<std::uint32_t>(columns));
    std::uniform_real_distribution<float> real(-4, 4);
    for (auto& row : matrix) {
        for (auto& element : row) {
            const float scale = generator() % 8 != 0 ? 0 : static_cast<float>(generator() % 25) - 18;
            element = numerics::from_float(format, std::ldexp(real(generator), static_cast<int>(scale)));
            // tf32: "will truncate lower 13 bits"
            if (format == Format::tf32) element |= generator() & 0x1FFF;
        }
    }
    return matrix;
}

std::uint32_t element_of_d(const Warpgroup& group, const std::vector<std::uint32_t>& d, unsigned thread,
                           unsigned i, bool half) {
    if (!half) return d[thread * group.d_registers + i];
    return d[thread * group.d_registers + i / 2] >> 16 * (i % 2) & 0xFFFF;
}

void check(const Case& x) {
    std::mt19937 generator(x.seed);
    const bool half = x.output == Format::fp16;
    Warpgroup group;
    group.d_registers = half ? x.columns / 4 : x.columns / 2;
    group.a_descriptor = x.a.descriptor();
    group.b_descriptor = x.b.descriptor();
    group.scale_d = x.adds ? 1 : 0;
    for (auto& byte : group.shared) byte = static_cast<std::uint8_t>(generator() % 7);
    const Matrix a = random_matrix(x.a_format, 64, x.kept(), generator),
                 b = random_matrix(x.b_format, x.columns, x.depth(), generator),
                 c = random_matrix(x.output, 64, x.columns, generator);
    store(group.shared, x.b, b, x.bits);
    if (x.a_in_registers)
        put_into_registers(group, a, x.bits);
    else
        store(group.shared, x.a, a, x.bits);
    std::vector<std::vector<unsigned>> kept;
    if (x.sparse) {
        kept = choose_kept(group, x.bits, x.kept(), x.selector, generator);
        for (unsigned lane = 0; lane < kThreads && x.bits != 8; ++lane) {  // the others give none
            if (lane % 4 / 2 != x.selector) group.metadata[lane] = generator();
        }
    }
    group.d.resize(kThreads * group.d_registers);
    for (unsigned thread = 0; thread < kThreads; ++thread) {
        for (unsigned i = 0; i < x.columns / 2; ++i) {
            const Place place = d_place(thread, i);
            if (half)
                group.d[thread * group.d_registers + i / 2] |= c[place.row][place.column] << 16 * (i % 2);
            else
                group.d[thread * group.d_registers + i] = c[place.row][place.column];
        }
    }
    INFO(x.instruction() << " seed " << x.seed << " swizzles " << x.a.swizzle_bits << " "
                         << x.b.swizzle_bits);
    const std::vector<std::uint32_t> d = group.run(x.instruction());
    const auto parameters = numerics::parameters_for(numerics::Generation::hopper, x.a_format, x.b_format,
                                                     x.output, numerics::Instruction::wgmma);
    const std::uint32_t sign = x.scale_a * x.scale_b < 0 ? 1u << (x.bits - 1) : 0;
    for (unsigned thread = 0; thread < kThreads; ++thread) {
        for (unsigned i = 0; i < x.columns / 2; ++i) {
            const Place place = d_place(thread, i);
            std::vector<std::uint32_t> row = a[place.row], column = b[place.column];
            for (auto& element : row) element ^= sign;
            if (x.sparse) {
                column.clear();
                for (const unsigned k : kept[place.row]) column.push_back(b[place.column][k]);
            }
            const std::uint32_t addend = x.adds ? c[place.row][place.column] : 0;
            REQUIRE(element_of_d(group, d, thread, i, half) ==
                    numerics::dot_product(parameters, row, column, addend));
        }
    }
}

struct Kind {
    std::string types;
    Format a, b, output;
    unsigned bits;
};
const std::vector<Kind> kKinds = {
    {".f32.f16.f16", Format::fp16, Format::fp16, Format::fp32, 16},
    {".f16.f16.f16", Format::fp16, Format::fp16, Format::fp16, 16},
    {".f32.bf16.bf16", Format::bf16, Format::bf16, Format::fp32, 16},
    {".f32.tf32.tf32", Format::tf32, Format::tf32, Format::fp32, 32},
    {".f32.e4m3.e4m3", Format::e4m3, Format::e4m3, Format::fp32, 8},
    {".f32.e4m3.e5m2", Format::e4m3, Format::e5m2, Format::fp32, 8},
    {".f32.e5m2.e4m3", Format::e5m2, Format::e4m3, Format::fp32, 8},
    {".f32.e5m2.e5m2", Format::e5m2, Format::e5m2, Format::fp32, 8},
    {".f16.e4m3.e4m3", Format::e4m3, Format::e4m3, Format::fp16, 8},
    {".f16.e4m3.e5m2", Format::e4m3, Format::e5m2, Format::fp16, 8},
    {".f16.e5m2.e4m3", Format::e5m2, Format::e4m3, Format::fp16, 8},
    {".f16.e5m2.e5m2", Format::e5m2, Format::e5m2, Format::fp16, 8},
};

Case case_of(const Kind& kind, unsigned columns, const Placement& a, const Placement& b) {
    return {kind.types, kind.a, kind.b, kind.output, kind.bits, columns, a, b};
}

}  // namespace

TEST_CASE("wgmma: every type, swizzle and majorness", "[ptx][wgmma]") {
    unsigned seed = 10;
    for (const Kind& kind : kKinds) {
        for (const Majorness of_a : {Majorness::k, Majorness::mn}) {
            for (const Majorness of_b : {Majorness::k, Majorness::mn}) {
                if (kind.bits != 16 && (of_a != Majorness::k || of_b != Majorness::k)) continue;
                for (unsigned swizzle = 0; swizzle < 4; ++swizzle) {
                    Case x = case_of(kind, 24, placement(of_a, swizzle, 0),
                                     placement(of_b, (swizzle + ++seed) % 4, 16384));
                    x.seed = seed;
                    check(x);
                }
            }
        }
    }
}

TEST_CASE("wgmma: numbers of columns", "[ptx][wgmma]") {
    for (const unsigned columns : {8u, 40u, 64u, 128u, 256u}) {
        for (const std::size_t kind : {0u, 1u, 3u}) {
            Case x = case_of(kKinds[kind], columns, placement(Majorness::k, 3, 0),
                             placement(kind == 3 ? Majorness::k : Majorness::mn, 3, 8192));
            x.seed = columns;
            check(x);
        }
    }
}

TEST_CASE("wgmma: A from registers", "[ptx][wgmma]") {
    for (const Kind& kind : kKinds) {
        Case x = case_of(kind, 16, {}, placement(Majorness::k, 2, 1024));
        x.a_in_registers = true;
        check(x);
    }
}

TEST_CASE("wgmma: signs, and D = A B without D", "[ptx][wgmma]") {
    for (const Kind& kind : kKinds) {
        for (const int scale_a : {1, -1}) {
            for (const int scale_b : {1, -1}) {
                Case x = case_of(kind, 8, placement(Majorness::k, 1, 0), placement(Majorness::k, 3, 4096));
                x.scale_a = scale_a;
                x.scale_b = scale_b;
                x.adds = scale_a == scale_b;
                check(x);
            }
        }
    }
}

TEST_CASE("wgmma.sp: kept elements and their metadata", "[ptx][wgmma]") {
    unsigned seed = 100;
    for (const Kind& kind : kKinds) {
        for (const bool in_registers : {false, true}) {
            for (const unsigned selector : {0u, 1u}) {
                if (kind.bits == 8 && selector == 1) continue;
                for (const Majorness of_b : {Majorness::k, Majorness::mn}) {
                    if (kind.bits != 16 && of_b == Majorness::mn) continue;
                    // B has 64 bytes along k: rows of its K-major tile are that wide.
                    Case x = case_of(kind, 24, placement(Majorness::k, 2, 0),
                                     placement(of_b, of_b == Majorness::k ? 3 - seed % 2 : seed % 4, 16384));
                    x.sparse = true;
                    x.a_in_registers = in_registers;
                    x.selector = selector;
                    x.seed = ++seed;
                    check(x);
                }
            }
        }
    }
}
