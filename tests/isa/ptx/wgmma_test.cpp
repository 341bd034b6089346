// wgmma.mma_async of one warpgroup, element by element against the scalar definition of the tensor core
// (isa/numerics) or exact integers. Operands are placed in shared memory by the manual's canonical layouts
// (matrix_layouts.h), fragments by the formulas of its section "Register Fragments".
#include <array>
#include <bit>
#include <catch2/catch.hpp>
#include <functional>

#include "compare_modes.h"
#include "isa/common/error.h"
#include "isa/numerics/dot_product_unit.h"
#include "launch.h"
#include "matrix_layouts.h"

using namespace heddle;
using namespace heddle::ptx;
using namespace heddle::ptx::test;
using numerics::Format;

namespace {

constexpr unsigned kThreads = 128;
constexpr std::uint32_t kSharedBytes = 64 * 1024;

std::string registers(const std::string& prefix, unsigned count) {
    std::string text = "{";
    for (unsigned i = 0; i < count; ++i) text += (i == 0 ? "" : ", ") + prefix + std::to_string(i);
    return text + "}";
}

// What a warpgroup is given and gives back. Vectors of registers are [thread][register].
struct Warpgroup {
    unsigned d_registers = 0;
    std::vector<std::uint32_t> d, a = std::vector<std::uint32_t>(kThreads * 4),
                                  metadata = std::vector<std::uint32_t>(kThreads);
    std::vector<std::uint8_t> shared = std::vector<std::uint8_t>(kSharedBytes);
    std::uint64_t a_descriptor = 0, b_descriptor = 0;
    std::uint32_t scale_d = 1;

    // All registers are loaded, `instruction` is executed on %d, %a, %da, %db, %m and %p, D is stored.
    std::string text(const std::string& instruction) const {
        const std::string count = std::to_string(d_registers);
        std::string body =
            ".extern .shared .align 1024 .b8 tile[];\n.reg .b32 %d<" + count +
            ">, %a<4>, %m, %t, %v, %s, %z; .reg .b64 %da, %db, %x, %o, %pd; .reg .pred %p, %q;\n"
            "mov.u32 %t, %tid.x; ld.param.u64 %da, [da]; ld.param.u64 %db, [db];\n"
            "ld.param.u32 %z, [scale]; setp.ne.u32 %p, %z, 0;\n"
            // shared memory
            "ld.param.u64 %x, [image]; mul.wide.u32 %o, %t, 4; add.u64 %x, %x, %o; mov.u32 %s, tile;\n"
            "mad.lo.u32 %s, %t, 4, %s; mov.u32 %z, 0;\n"
            "copy: ld.global.u32 %v, [%x]; st.shared.u32 [%s], %v; add.u64 %x, %x, 512;\n"
            "add.u32 %s, %s, 512; add.u32 %z, %z, 512; setp.lt.u32 %q, %z, " +
            std::to_string(kSharedBytes) + "; @%q bra copy;\n" +
            "ld.param.u64 %x, [a]; mul.wide.u32 %o, %t, 16; add.u64 %x, %x, %o;\n"
            "ld.global.v4.b32 " +
            registers("%a", 4) +
            ", [%x]; ld.param.u64 %x, [metadata]; mul.wide.u32 %o, %t, 4; add.u64 %x, %x, %o;\n"
            "ld.global.b32 %m, [%x]; ld.param.u64 %pd, [d]; mul.wide.u32 %o, %t, " +
            std::to_string(4 * d_registers) + "; add.u64 %pd, %pd, %o;\n";
        for (unsigned r = 0; r < d_registers; ++r) {
            body += "ld.global.b32 %d" + std::to_string(r) + ", [%pd+" + std::to_string(4 * r) + "];\n";
        }
        body += "bar.sync 0; wgmma.fence.sync.aligned;\n" + instruction +
                "\nwgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;\n";
        for (unsigned r = 0; r < d_registers; ++r) {
            body += "st.global.b32 [%pd+" + std::to_string(4 * r) + "], %d" + std::to_string(r) + ";\n";
        }
        return ".version 8.4\n.target sm_90a\n.address_size 64\n.visible .entry test(.param .u64 d, .param "
               ".u64 "
               "a, .param .u64 metadata, .param .u64 image, .param .u64 da, .param .u64 db, .param .u32 "
               "scale)\n"
               "{\n" +
               body + "ret;\n}\n";
    }

    LaunchContext launch(const Program& program, Device& device, std::uint64_t& d_address, Mode mode,
                         unsigned threads) const {
        d_address = device.upload("d", d);
        const auto a_address = device.upload("a", a), metadata_address = device.upload("metadata", metadata),
                   image = device.upload("image", shared);
        return program.launch(
            device, {1}, {threads},
            {argument(d_address), argument(a_address), argument(metadata_address), argument(image),
             argument(a_descriptor), argument(b_descriptor), argument(scale_d)},
            mode, kSharedBytes);
    }

    std::vector<std::uint32_t> run(const std::string& instruction, unsigned threads = kThreads) const {
        const Program program(text(instruction), "test");
        Device device;
        std::uint64_t d_address = 0;
        run_functionally(launch(program, device, d_address, Mode::functional, threads));
        return device.download<std::uint32_t>(d_address, d.size());
    }
};

struct Place {
    unsigned row, column;
};

// Element i of D that a thread holds (the figures "register fragment layout for accumulator matrix D").
Place d_place(unsigned thread, unsigned i) {
    const unsigned lane = thread % 32;
    return {thread / 32 * 16 + lane / 4 + i / 2 % 2 * 8, i / 4 * 8 + lane % 4 * 2 + i % 2};
}
// Element i of A: four registers of 32 / bits elements each; registers 1 and 3 are eight rows down, 2 and 3
// half of k further.
Place a_place(unsigned thread, unsigned i, unsigned bits) {
    const unsigned lane = thread % 32, packed = 32 / bits, reg = i / packed;
    return {thread / 32 * 16 + lane / 4 + reg % 2 * 8, lane % 4 * packed + i % packed + reg / 2 * 4 * packed};
}

// Where an operand lies and how its descriptor says so.
struct Placement {
    Majorness majorness = Majorness::k;
    unsigned swizzle_bits = 3;
    std::uint32_t start = 0, leading = 16, stride = 1024;

    std::uint64_t descriptor() const { return encode_descriptor(start, leading, stride, swizzle_bits); }
    std::uint32_t address(unsigned bytes, unsigned row, unsigned k) const {
        return canonical_address(majorness, swizzle_bits, bytes, start, leading, stride, row, k);
    }
};

// Tiles that hold up to 256 rows of 32 or 64 bytes without overlap.
Placement placement(Majorness majorness, unsigned swizzle_bits, std::uint32_t start) {
    const std::uint32_t wide = 16u << swizzle_bits;
    if (majorness == Majorness::k) {
        if (swizzle_bits == 0) return {majorness, 0, start, 128, 512};
        return {majorness, swizzle_bits, start, 16, 8 * wide};
    }
    if (swizzle_bits == 0) return {majorness, 0, start, 128, 512};  // leading: next 8 k
    return {majorness, swizzle_bits, start, 32 * wide, 8 * wide};   // leading: next columns, stride: next 8 k
}

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

using Matrix = std::vector<std::vector<std::uint32_t>>;  // raw bits

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

void store(std::vector<std::uint8_t>& shared, const Placement& place, const Matrix& matrix, unsigned bits) {
    for (unsigned row = 0; row < matrix.size(); ++row) {
        for (unsigned k = 0; k < matrix[row].size(); ++k) {
            std::memcpy(&shared.at(place.address(bits / 8, row, k)), &matrix[row][k], bits / 8);
        }
    }
}

void put_into_registers(Warpgroup& group, const Matrix& a, unsigned bits) {
    for (unsigned thread = 0; thread < kThreads; ++thread) {
        for (unsigned i = 0; i < 128 / bits; ++i) {
            const Place place = a_place(thread, i, bits);
            group.a[thread * 4 + i * bits / 32] |= a[place.row][place.column] << i * bits % 32;
        }
    }
}

// Which k the elements of the stored A have, and their metadata. PTX manual, figures "Sparse WGMMA metadata
// layout": 16-bit and 32-bit types: of the pair of threads that the selector names, the first holds the
// lower half of the columns, the second the upper; bits 0 to 15 row g, 16 to 31 row g + 8. 8-bit types: T0
// row g, T1 row g + 8 of columns 0 to 31, T2 and T3 of columns 32 to 63.
std::vector<std::vector<unsigned>> choose_kept(Warpgroup& group, unsigned bits, unsigned kept,
                                               unsigned selector, std::mt19937& generator) {
    std::vector<std::vector<unsigned>> indices(64, std::vector<unsigned>(kept));
    for (unsigned row = 0; row < 64; ++row) {
        const unsigned per_chunk = bits == 32 ? 1 : 2, chunks = kept / per_chunk;
        for (unsigned chunk = 0; chunk < chunks; ++chunk) {
            unsigned nibble;
            if (bits == 32) {
                const unsigned index = generator() % 2;
                nibble = index == 0 ? 0b0100 : 0b1110;
                indices[row][chunk] = 2 * chunk + index;
            } else {
                const unsigned first = generator() % 4, second = (first + 1 + generator() % 3) % 4;
                nibble = first | second << 2;
                indices[row][2 * chunk] = 4 * chunk + first;
                indices[row][2 * chunk + 1] = 4 * chunk + second;
            }
            const unsigned g = row % 8, upper_row = row / 8 % 2, half = chunk / (chunks / 2);
            const unsigned member = bits == 8 ? upper_row + 2 * half : 2 * selector + half;
            const unsigned shift = chunk % (chunks / 2) * 4 + (bits == 8 ? 0 : 16 * upper_row);
            group.metadata[row / 16 * 32 + g * 4 + member] |= nibble << shift;
        }
    }
    return indices;
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
