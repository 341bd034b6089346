#include "isa/ptx/machine/tensor_values.h"

#include <cstring>

#include "isa/ptx/handlers/matrix_descriptor.h"

namespace heddle::ptx {
namespace {

constexpr unsigned kChunkBytes = 16;

unsigned bits_at(const std::byte* bytes, unsigned first, unsigned count) {
    unsigned value = 0;
    for (unsigned b = 0; b < count; ++b) value |= (std::to_integer<unsigned>(bytes[(first + b) / 8]) >> (first + b) % 8 & 1u) << b;
    return value;
}

// The elements of a chunk of 16 bytes.
void unpack_chunk(const std::byte* chunk, const ElementLayout& layout, std::uint32_t* to, unsigned stride) {
    switch (layout.bits) {
        case 32:
            for (unsigned e = 0; e < 4; ++e) std::memcpy(to + e * stride, chunk + 4 * e, 4);
            return;
        case 16:
            for (unsigned e = 0; e < 8; ++e) {
                std::uint16_t value;
                std::memcpy(&value, chunk + 2 * e, 2);
                to[e * stride] = value;
            }
            return;
        case 8:
            for (unsigned e = 0; e < 16; ++e) to[e * stride] = std::to_integer<std::uint32_t>(chunk[e]);
            return;
        default:
            for (unsigned e = 0; e < (layout.packed ? 128 / layout.bits : 16u); ++e) to[e * stride] = bits_at(chunk, e * layout.bits, layout.bits);
            return;
    }
}

MatrixDescriptor descriptor_of(const Warp::State& warp, unsigned lane, std::uint64_t bits) {
    try {
        return decode_tensor_descriptor(bits);
    } catch (const Error& error) {
        fail_running(warp, lane, error.problem(), error.remedy());
    }
}

const std::byte* chunk_at(const Warp::State& warp, unsigned lane, const Cta::Implementation& cta, std::uint32_t address) {
    if (address + kChunkBytes <= cta.shared.size()) return cta.shared.data() + address;
    fail_running(warp, lane, "tcgen05.mma reads shared memory at " + std::to_string(address) + ", the CTA has " + std::to_string(cta.shared_bytes) + " bytes",
                 "check start address and offsets of the matrix descriptor", Error::Kind::out_of_bounds);
}

}  // namespace

ProductLayout product_layout(unsigned rows, const TensorDetails& details) {
    if (rows == 128) return ProductLayout::full;
    if (rows == 32) return ProductLayout::quarters;
    if (details.stationary || (details.group == 2 && !details.sparse)) return ProductLayout::halves;
    return ProductLayout::scattered;
}

ProductShape product_shape(const Warp::State& warp, unsigned lane, const TensorDetails& details, std::uint32_t bits) {
    ProductShape shape;
    shape.details = details;
    shape.descriptor = decode_product_descriptor(bits, details.kind);
    const auto fail = [&](const std::string& problem, const std::string& remedy) {
        fail_running(warp, lane, "instruction descriptor of tcgen05.mma: " + problem, remedy);
    };
    if (const char* const problem = check_product_size(shape.descriptor, details))
        fail("M = " + std::to_string(shape.descriptor.rows) + ", N = " + std::to_string(shape.descriptor.columns), problem);
    if (shape.descriptor.sparse != details.sparse)
        fail(std::string("bit 2 says that A is ") + (shape.descriptor.sparse ? "sparse" : "dense") + ", the instruction says otherwise", "set it with .sp alone");
    if (shape.descriptor.depth_96) fail("K = 96", "only compute capability 10.3 has it, which is not simulated");
    if (details.kind >= ProductKind::mxf4 && (shape.descriptor.a_mn_major || shape.descriptor.b_mn_major))
        fail("a transposed matrix of packed 4-bit elements", "they are K-major");
    shape.rows = shape.descriptor.rows / details.group;
    shape.columns = shape.descriptor.columns;
    shape.stored = stored_depth(details.kind);
    shape.depth = shape.stored * (details.sparse ? 2 : 1);
    shape.layout = product_layout(shape.rows, details);
    return shape;
}

numerics::Format product_format(const Warp::State& warp, unsigned lane, ProductKind kind, unsigned code) {
    using numerics::Format;
    switch (kind) {
        case ProductKind::f16:
            if (code < 2) return code == 0 ? Format::fp16 : Format::bf16;
            break;
        case ProductKind::tf32:
            if (code == 2) return Format::tf32;
            break;
        case ProductKind::f8f6f4:
        case ProductKind::mxf8f6f4: {
            constexpr std::array<int, 8> kFormats{static_cast<int>(Format::e4m3), static_cast<int>(Format::e5m2), -1, static_cast<int>(Format::e2m3),
                                                  static_cast<int>(Format::e3m2), static_cast<int>(Format::e2m1), -1, -1};
            if (kFormats[code] >= 0) return static_cast<Format>(kFormats[code]);
            break;
        }
        default:
            if (code == 1) return Format::e2m1;
            break;
    }
    fail_running(warp, lane, "instruction descriptor of tcgen05.mma: type " + std::to_string(code) + " is none of this kind", "see the PTX manual, \"Instruction descriptor\"");
}

TensorPlace d_place(const ProductShape& shape, unsigned row, unsigned column) {
    switch (shape.layout) {
        case ProductLayout::halves: {
            const unsigned half = shape.columns / 2;
            return {row + 64 * (column / half), column % half};
        }
        case ProductLayout::quarters: {
            const unsigned quarter = shape.columns / 4;
            return {row + 32 * (column / quarter), column % quarter};
        }
        case ProductLayout::scattered:
            return {row % 16 + 32 * (row / 16), column};
        case ProductLayout::full:
            break;
    }
    return {row, column};
}

void gather_from_shared(const Warp::State& warp, unsigned lane, const Cta::Implementation& cta, std::uint64_t bits, const ElementLayout& layout,
                        unsigned rows, unsigned depth, std::uint32_t* to) {
    const MatrixDescriptor matrix = descriptor_of(warp, lane, bits);
    const unsigned elements = layout.packed ? 128 / layout.bits : layout.bits < 8 ? 16 : 128 / layout.bits;
    const unsigned bytes = kChunkBytes / std::min(elements, 16u);  // what element_address() counts in
    if (!layout.mn_major) {
        for (unsigned row = 0; row < rows; ++row) {
            for (unsigned chunk = 0; chunk < depth / elements; ++chunk) {
                const std::uint32_t from = element_address(matrix, Majorness::k, 1, row, chunk * kChunkBytes);
                unpack_chunk(chunk_at(warp, lane, cta, from), layout, to + row * depth + chunk * elements, 1);
            }
        }
        return;
    }
    for (unsigned row = 0; row < rows; row += elements) {
        for (unsigned k = 0; k < depth; ++k) {
            const std::uint32_t from = element_address(matrix, Majorness::mn, bytes, row, k);
            std::array<std::uint32_t, 16> values;
            unpack_chunk(chunk_at(warp, lane, cta, from), layout, values.data(), 1);
            for (unsigned e = 0; e < std::min(elements, rows - row); ++e) to[(row + e) * depth + k] = values[e];
        }
    }
}

void gather_a_from_tensor_memory(Cta::Implementation& cta, const ProductShape& shape, unsigned bits, unsigned first_lane, unsigned column, std::uint32_t* to) {
    const bool packed = shape.details.kind >= ProductKind::mxf4;
    const unsigned container = packed ? 4 : std::max(bits, 8u), per_word = 32 / container;
    for (unsigned row = 0; row < shape.rows; ++row) {
        unsigned from = first_lane + (shape.layout == ProductLayout::scattered ? row % 16 + 32 * (row / 16) : row);
        if (shape.details.shifts_a && from % 32 != 31) ++from;
        for (unsigned k = 0; k < shape.stored; ++k) {
            const std::uint32_t word = cta.tensor_memory->words(column + k / per_word)[from % kTensorLanes];
            std::uint32_t value = container == 32 ? word : word >> k % per_word * container & ((1u << container) - 1);
            // Bits 2 to 5 of a byte: see tcgen05.cp.
            if (!packed && bits < 8) value = bits == 4 ? value >> 2 & 15u : value & 63u;
            to[row * shape.stored + k] = value;
        }
    }
}

// Metadata have 4 bits for each chunk of 4 elements along K (of tf32 2, of packed 4-bit elements 8 in pairs). Of 16-bit and 32-bit elements one
// column holds a product's: row r in lane r % 8 + 16 (r / 16), plus 8 for the upper half of K, in its lower half for rows with r / 8 even.
// Of others row r lies in lane r, two columns of it. The sparsity selector says which column of those that follow.
void gather_kept(const Warp::State& warp, unsigned lane, Cta::Implementation& cta, const ProductShape& shape, unsigned column, std::uint16_t* to) {
    const ProductKind kind = shape.details.kind;
    const bool interleaved = kind == ProductKind::f16 || kind == ProductKind::tf32, pairs = kind >= ProductKind::mxf4;
    const unsigned chunk = kind == ProductKind::tf32 ? 2 : pairs ? 8 : 4, chunks = shape.depth / chunk;
    for (unsigned row = 0; row < shape.rows; ++row) {
        for (unsigned c = 0; c < chunks; ++c) {
            unsigned from = row, word = c / 8, bit = c % 8 * 4;
            if (interleaved) {
                from = row % 8 + 16 * (row / 16) + 8 * (c / (chunks / 2));
                word = shape.descriptor.sparsity_selector;
                bit = row / 8 % 2 * 16 + c % (chunks / 2) * 4;
            }
            const unsigned code = cta.tensor_memory->words(column + word)[from % kTensorLanes] >> bit & 15u;
            std::uint16_t* const kept = to + row * shape.stored + c * (chunk / 2);
            const bool valid = kind == ProductKind::tf32 ? code == 0b0100 || code == 0b1110 : code % 4 != code / 4;
            if (!valid) {
                fail_running(warp, lane, "sparsity metadata with the invalid value " + std::to_string(code),
                             kind == ProductKind::tf32 ? "4 and 14 are valid for .kind::tf32" : "the two indices of a chunk must differ");
            }
            if (kind == ProductKind::tf32) {
                kept[0] = static_cast<std::uint16_t>(2 * c + (code == 0b1110 ? 1 : 0));
            } else if (pairs) {
                for (unsigned e = 0; e < 4; ++e)
                    kept[e] = static_cast<std::uint16_t>(8 * c + 2 * (e < 2 ? code % 4 : code / 4) + e % 2);
            } else {
                kept[0] = static_cast<std::uint16_t>(4 * c + code % 4);
                kept[1] = static_cast<std::uint16_t>(4 * c + code / 4);
            }
        }
    }
}

void gather_scales(Cta::Implementation& cta, unsigned column, unsigned rows, unsigned count, unsigned id, std::uint8_t* to) {
    for (unsigned row = 0; row < rows; ++row) {
        for (unsigned s = 0; s < count; ++s) {
            const unsigned byte = id + s;
            to[row * count + s] = static_cast<std::uint8_t>(cta.tensor_memory->words(column + row / 32 + byte / 4 * ((rows + 31) / 32))[row % 32] >> byte % 4 * 8);
        }
    }
}

}  // namespace heddle::ptx
