// A warpgroup that executes one wgmma: its text, its launch, and where the manual puts the elements. Operands
// lie in shared memory by the canonical layouts (matrix_layouts.h), fragments by the formulas of the section
// "Register Fragments".
#pragma once

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "launch.h"
#include "matrix_layouts.h"

namespace heddle::ptx::test {

inline constexpr unsigned kThreads = 128;
inline constexpr std::uint32_t kSharedBytes = 64 * 1024;

inline std::string registers(const std::string& prefix, unsigned count) {
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
            ".reg .b32 %d<" + count +
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
        return ".version 8.4\n.target sm_90a\n.address_size 64\n.extern .shared .align 1024 .b8 "
               "tile[];\n.visible .entry test(.param .u64 d, .param "
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
inline Place d_place(unsigned thread, unsigned i) {
    const unsigned lane = thread % 32;
    return {thread / 32 * 16 + lane / 4 + i / 2 % 2 * 8, i / 4 * 8 + lane % 4 * 2 + i % 2};
}
// Element i of A: four registers of 32 / bits elements each; registers 1 and 3 are eight rows down, 2 and 3
// half of k further.
inline Place a_place(unsigned thread, unsigned i, unsigned bits) {
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
inline Placement placement(Majorness majorness, unsigned swizzle_bits, std::uint32_t start) {
    const std::uint32_t wide = 16u << swizzle_bits;
    if (majorness == Majorness::k) {
        if (swizzle_bits == 0) return {majorness, 0, start, 128, 512};
        return {majorness, swizzle_bits, start, 16, 8 * wide};
    }
    if (swizzle_bits == 0) return {majorness, 0, start, 128, 512};  // leading: next 8 k
    return {majorness, swizzle_bits, start, 32 * wide, 8 * wide};   // leading: next columns, stride: next 8 k
}

using Matrix = std::vector<std::vector<std::uint32_t>>;  // raw bits

inline void store(std::vector<std::uint8_t>& shared, const Placement& place, const Matrix& matrix,
                  unsigned bits) {
    for (unsigned row = 0; row < matrix.size(); ++row) {
        for (unsigned k = 0; k < matrix[row].size(); ++k) {
            std::memcpy(&shared.at(place.address(bits / 8, row, k)), &matrix[row][k], bits / 8);
        }
    }
}

inline void put_into_registers(Warpgroup& group, const Matrix& a, unsigned bits) {
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
inline std::vector<std::vector<unsigned>> choose_kept(Warpgroup& group, unsigned bits, unsigned kept,
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

}  // namespace heddle::ptx::test
