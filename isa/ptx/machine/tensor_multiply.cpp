// tcgen05.mma: D = A B + D of one CTA, or of a pair of which each computes its rows. The product is computed transposed: a column of tensor
// memory, 128 lanes one behind another, is then a row of the result, and most products work on it in place.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <type_traits>

#include "isa/numerics/block_scaled.h"
#include "isa/numerics/dot_product_unit.h"
#include "isa/ptx/machine/tensor_values.h"
#include "isa/target/generation.h"

namespace heddle::ptx {
namespace {

using numerics::Format;

constexpr unsigned kMostRows = 128, kMostColumns = 256;

struct ProductOperands {
    TensorOperand d, a, b, metadata, descriptor, a_scales, b_scales, enable, lanes, mask;
};

ProductOperands operands_of(const Warp::State& warp, const DecodedInstruction& i, const TensorDetails& details) {
    ProductOperands operands;
    unsigned next = 0;
    const auto take = [&] { return tensor_operand(warp, i, next++); };
    operands.d = take();
    operands.a = take();
    operands.b = take();
    if (details.sparse) operands.metadata = take();
    operands.descriptor = take();
    if (details.scale_block != 0) {
        operands.a_scales = take();
        operands.b_scales = take();
    }
    if (details.lane_mask) operands.lanes = take();
    operands.enable = take();
    if (details.zero_mask) operands.mask = take();
    return operands;
}

// What one lane asks for.
struct Product {
    const Warp::State& warp;
    unsigned lane;
    ProductShape shape;
    std::uint64_t a = 0, b = 0;
    std::uint32_t d = 0, metadata = 0, a_scales = 0, b_scales = 0;
    bool adds = true;
    unsigned scale = 0;  // of D, as a power of two
    std::array<std::uint32_t, 8> disabled{};
};

unsigned element_bits(const Product& p, Format format) {
    if (p.shape.details.kind == ProductKind::i8) return 8;
    return numerics::traits(format).storage_bits - 0u == 8 ? (format == Format::e2m1 ? 4 : format == Format::e2m3 || format == Format::e3m2 ? 6 : 8)
                                                           : numerics::traits(format).storage_bits;
}

std::uint32_t sign_bit(unsigned bits) {
    return 1u << (bits - 1);
}

// A of a CTA and B of all, raw elements in 32 bits each.
std::vector<std::uint32_t> read_a(const Product& p, Cta::Implementation& cta, unsigned bits) {
    const ProductShape& shape = p.shape;
    std::vector<std::uint32_t> values(std::size_t{shape.rows} * shape.stored);
    if (shape.details.a_in_tensor_memory) {
        const unsigned column = static_cast<unsigned>(p.a & 0xFFFFu);
        require_columns(p.warp, p.lane, cta, column, 8, shape.details.group, "A of tcgen05.mma");
        gather_a_from_tensor_memory(cta, shape, bits, static_cast<unsigned>(p.a >> 16 & 127u), column, values.data());
    } else {
        gather_from_shared(p.warp, p.lane, cta, p.a, {bits, shape.details.kind >= ProductKind::mxf4, shape.descriptor.a_mn_major}, shape.rows, shape.stored, values.data());
    }
    if (shape.descriptor.negative_a)
        for (std::uint32_t& value : values) value ^= sign_bit(bits);
    return values;
}

std::vector<std::uint32_t> read_b(const Product& p, unsigned bits) {
    const ProductShape& shape = p.shape;
    std::vector<std::uint32_t> values(std::size_t{shape.columns} * shape.depth);
    const unsigned rows = shape.columns / shape.details.group;
    for (unsigned index = 0; index < shape.details.group; ++index) {
        const Cta::Implementation& cta = cta_of_group(p.warp, p.lane, shape.details.group, index);
        gather_from_shared(p.warp, p.lane, cta, p.b, {bits, shape.details.kind >= ProductKind::mxf4, shape.descriptor.b_mn_major}, rows, shape.depth,
                           values.data() + std::size_t{index} * rows * shape.depth);
    }
    if (shape.descriptor.negative_b)
        for (std::uint32_t& value : values) value ^= sign_bit(bits);
    return values;
}

template <class T>
std::vector<T> narrowed(const std::vector<std::uint32_t>& values) {
    return {values.begin(), values.end()};
}

// D of a CTA, transposed: [column][row]. Words hold one element each, of f16 in the lower half.
template <class T>
void read_d(const Product& p, Cta::Implementation& cta, T* to) {
    for (unsigned column = 0; column < p.shape.columns; ++column) {
        for (unsigned row = 0; row < p.shape.rows; ++row) {
            const TensorPlace place = d_place(p.shape, row, column);
            const std::uint32_t word = cta.tensor_memory->words((p.d & 0xFFFFu) + place.column)[place.lane + (p.d >> 16)];
            if constexpr (sizeof(T) == 2)
                to[column * p.shape.rows + row] = static_cast<T>(word);
            else
                to[column * p.shape.rows + row] = std::bit_cast<T>(word);
        }
    }
}

template <class T>
void write_d(const Product& p, Cta::Implementation& cta, unsigned index, const T* from) {
    for (unsigned column = 0; column < p.shape.columns; ++column) {
        for (unsigned row = 0; row < p.shape.rows; ++row) {
            const TensorPlace place = d_place(p.shape, row, column);
            const unsigned lane = place.lane + (p.d >> 16);
            if ((p.disabled[index * 4 + lane / 32] >> lane % 32 & 1u) != 0) continue;
            const T value = from[column * p.shape.rows + row];
            std::uint32_t word;
            if constexpr (sizeof(T) == 2)
                word = value;
            else
                word = std::bit_cast<std::uint32_t>(value);
            cta.tensor_memory->words((p.d & 0xFFFFu) + place.column)[lane] = word;
        }
    }
}

template <class T>
void scale_d(const Product& p, std::vector<T>& d) {
    if (p.scale == 0) return;
    for (T& value : d) {
        if constexpr (std::is_same_v<T, float>)
            value = std::ldexp(value, -static_cast<int>(p.scale));
        else if constexpr (sizeof(T) == 2)
            value = numerics::fp32_to_fp16(std::ldexp(numerics::fp16_to_fp32(static_cast<std::uint16_t>(value)), -static_cast<int>(p.scale)));
    }
}

// Computes D of one CTA by `multiply(c, d)`, both [column][row].
template <class T, class Multiply>
void update_d(const Product& p, Cta::Implementation& cta, unsigned index, Multiply multiply) {
    const bool in_place = sizeof(T) == 4 && p.shape.layout == ProductLayout::full && p.d >> 16 == 0 && p.scale == 0 &&
                          std::all_of(p.disabled.begin(), p.disabled.end(), [](std::uint32_t mask) { return mask == 0; });
    static const std::vector<T> zeros(std::size_t{kMostRows} * kMostColumns);
    if (in_place) {
        auto* const d = reinterpret_cast<T*>(cta.tensor_memory->words(p.d & 0xFFFFu));
        multiply(p.adds ? d : zeros.data(), d);
    } else {
        std::vector<T> d(std::size_t{p.shape.rows} * p.shape.columns);
        if (p.adds) {
            read_d(p, cta, d.data());
            scale_d(p, d);
        }
        multiply(d.data(), d.data());
        write_d(p, cta, index, d.data());
    }
    ++cta.changes;
}

// Sparse A: a row at a time, with the elements of B that its metadata select. Those are what the tensor core multiplies, so that they make one
// block of the dot product (inferred, not measured). `body(row, selected B [column][stored], c, d)`, c and d one element for each column.
template <class Element, class T, class Body>
void for_each_sparse_row(const Product& p, Cta::Implementation& cta, const std::vector<Element>& b, const T* c, T* d, Body body) {
    const ProductShape& shape = p.shape;
    const unsigned column = p.metadata & 0xFFFFu;
    require_columns(p.warp, p.lane, cta, column, shape.details.kind == ProductKind::f16 || shape.details.kind == ProductKind::tf32 ? shape.descriptor.sparsity_selector + 1u : 2u,
                    shape.details.group, "the metadata of tcgen05.mma");
    std::vector<std::uint16_t> kept(std::size_t{shape.rows} * shape.stored);
    gather_kept(p.warp, p.lane, cta, shape, column, kept.data());
    std::vector<Element> selected(std::size_t{shape.columns} * shape.stored);
    std::vector<T> own(shape.columns);
    for (unsigned row = 0; row < shape.rows; ++row) {
        for (unsigned n = 0; n < shape.columns; ++n) {
            own[n] = c[n * shape.rows + row];
            for (unsigned k = 0; k < shape.stored; ++k) selected[n * shape.stored + k] = b[n * shape.depth + kept[row * shape.stored + k]];
        }
        body(row, selected.data(), own.data());
        for (unsigned n = 0; n < shape.columns; ++n) d[n * shape.rows + row] = own[n];
    }
}

template <class Element, class T>
void multiply_float_values(const Product& p, Format a_format, Format b_format) {
    const ProductShape& shape = p.shape;
    const auto& generation = target::generation_of(p.warp.cta->launch.compute_capability);
    numerics::DotProductParameters parameters;
    try {  // A and B change places, as D is transposed
        parameters = numerics::parameters_for(generation, b_format, a_format, sizeof(T) == 2 ? Format::fp16 : Format::fp32, numerics::Instruction::tcgen05);
    } catch (const std::invalid_argument& problem) {
        fail_running(p.warp, p.lane, std::string("tcgen05.mma: ") + problem.what());
    }
    const std::vector<Element> b = narrowed<Element>(read_b(p, element_bits(p, b_format)));
    for (unsigned index = 0; index < shape.details.group; ++index) {
        Cta::Implementation& cta = cta_of_group(p.warp, p.lane, shape.details.group, index);
        const std::vector<Element> a = narrowed<Element>(read_a(p, cta, element_bits(p, a_format)));
        update_d<T>(p, cta, index, [&](const T* c, T* d) {
            if (!shape.details.sparse) return numerics::matrix_multiply_accumulate(parameters, shape.columns, shape.rows, shape.stored, b.data(), a.data(), c, d);
            for_each_sparse_row(p, cta, b, c, d, [&](unsigned row, const Element* selected, T* own) {
                numerics::matrix_multiply_accumulate(parameters, shape.columns, 1, shape.stored, selected, a.data() + std::size_t{row} * shape.stored, own, own);
            });
        });
    }
}

template <class A, class B>
void multiply_integer_values(const Product& p) {
    const ProductShape& shape = p.shape;
    const std::vector<B> b = narrowed<B>(read_b(p, 8));
    for (unsigned index = 0; index < shape.details.group; ++index) {
        Cta::Implementation& cta = cta_of_group(p.warp, p.lane, shape.details.group, index);
        const std::vector<A> a = narrowed<A>(read_a(p, cta, 8));
        const bool saturates = shape.descriptor.saturates;
        update_d<std::int32_t>(p, cta, index, [&](const std::int32_t* c, std::int32_t* d) {
            if (!shape.details.sparse) return numerics::matrix_multiply_accumulate_int8(shape.columns, shape.rows, shape.stored, b.data(), a.data(), c, d, saturates);
            for_each_sparse_row(p, cta, b, c, d, [&](unsigned row, const B* selected, std::int32_t* own) {
                numerics::matrix_multiply_accumulate_int8(shape.columns, 1, shape.stored, selected, a.data() + std::size_t{row} * shape.stored, own, own, saturates);
            });
        });
    }
}

void multiply_scaled_values(const Product& p, Format a_format, Format b_format) {
    const ProductShape& shape = p.shape;
    const unsigned block = shape.details.scale_block, count = shape.depth / block;
    const auto scale = shape.descriptor.scales_are_ue8m0 ? numerics::ScaleFormat::ue8m0 : numerics::ScaleFormat::ue4m3;
    numerics::BlockScaledParameters parameters = shape.details.kind == ProductKind::mxf8f6f4 ? numerics::mxf8f6f4_parameters(b_format, a_format)
                                                                                             : numerics::mxf4nvf4_parameters(scale, block);
    if (shape.details.sparse) parameters.scale_block /= 2;  // of the elements that are kept
    const std::vector<std::uint8_t> b = narrowed<std::uint8_t>(read_b(p, element_bits(p, b_format)));
    for (unsigned index = 0; index < shape.details.group; ++index) {
        Cta::Implementation& cta = cta_of_group(p.warp, p.lane, shape.details.group, index);
        const std::vector<std::uint8_t> a = narrowed<std::uint8_t>(read_a(p, cta, element_bits(p, a_format)));
        std::vector<std::uint8_t> a_scales(std::size_t{shape.rows} * count), b_scales(std::size_t{shape.columns} * count);
        const unsigned a_column = p.a_scales & 0xFFFFu, b_column = p.b_scales & 0xFFFFu;
        require_columns(p.warp, p.lane, cta, a_column, (shape.rows + 31) / 32, shape.details.group, "the scales of A of tcgen05.mma");
        require_columns(p.warp, p.lane, cta, b_column, (shape.columns + 31) / 32, shape.details.group, "the scales of B of tcgen05.mma");
        gather_scales(cta, a_column, shape.rows, count, shape.descriptor.a_scale_id, a_scales.data());
        gather_scales(cta, b_column, shape.columns, count, shape.descriptor.b_scale_id, b_scales.data());
        update_d<float>(p, cta, index, [&](const float* c, float* d) {
            if (!shape.details.sparse) {
                return numerics::matrix_multiply_accumulate_block_scaled(parameters, shape.columns, shape.rows, shape.stored, b.data(), a.data(), b_scales.data(),
                                                                         a_scales.data(), c, d);
            }
            for_each_sparse_row(p, cta, b, c, d, [&](unsigned row, const std::uint8_t* selected, float* own) {
                numerics::matrix_multiply_accumulate_block_scaled(parameters, shape.columns, 1, shape.stored, selected, a.data() + std::size_t{row} * shape.stored,
                                                                  b_scales.data(), a_scales.data() + std::size_t{row} * count, own, own);
            });
        });
    }
}

void multiply_values(const Product& p) {
    const ProductDescriptor& d = p.shape.descriptor;
    const ProductKind kind = p.shape.details.kind;
    const auto fail_type = [&] {
        fail_running(p.warp, p.lane, "instruction descriptor of tcgen05.mma: D of type " + std::to_string(d.d_type), "it is 0 for f16, 1 for f32 and 2 for s32, by the kind");
    };
    if (kind == ProductKind::i8) {
        if (d.d_type != 2) fail_type();
        if (d.a_type > 1 || d.b_type > 1) fail_running(p.warp, p.lane, "instruction descriptor of tcgen05.mma: a type of .kind::i8 is neither u8 (0) nor s8 (1)");
        if (d.a_type == 1) return d.b_type == 1 ? multiply_integer_values<std::int8_t, std::int8_t>(p) : multiply_integer_values<std::int8_t, std::uint8_t>(p);
        return d.b_type == 1 ? multiply_integer_values<std::uint8_t, std::int8_t>(p) : multiply_integer_values<std::uint8_t, std::uint8_t>(p);
    }
    const Format a = product_format(p.warp, p.lane, kind, d.a_type), b = product_format(p.warp, p.lane, kind, d.b_type);
    if (kind >= ProductKind::mxf8f6f4) return multiply_scaled_values(p, a, b);
    if (d.d_type > 1 || (kind == ProductKind::tf32 && d.d_type != 1)) fail_type();
    const bool half = d.d_type == 0;
    if (kind == ProductKind::f16 && a != b) fail_running(p.warp, p.lane, "tcgen05.mma of .kind::f16 with an A and a B of different types");
    switch (kind) {
        case ProductKind::tf32:
            return multiply_float_values<std::uint32_t, float>(p, a, b);
        case ProductKind::f16:
            return half ? multiply_float_values<std::uint16_t, std::uint16_t>(p, a, b) : multiply_float_values<std::uint16_t, float>(p, a, b);
        default:
            return half ? multiply_float_values<std::uint8_t, std::uint16_t>(p, a, b) : multiply_float_values<std::uint8_t, float>(p, a, b);
    }
}

AsyncOperation describe_product(const Warp::State& warp, const ProductShape& shape) {
    AsyncOperation operation;
    operation.kind = AsyncOperation::Kind::tensor_product;
    operation.warp = warp.index;
    AsyncOperation::TensorProduct& t = operation.tensor;
    t.macs = std::uint64_t{shape.rows} * shape.columns * shape.stored;
    t.slots = shape.layout == ProductLayout::scattered ? 2 * t.macs : t.macs;
    const unsigned b_bytes = shape.details.sparse ? 64 : 32;
    t.fetched = (shape.details.a_in_tensor_memory ? 0 : shape.rows * 32) + shape.columns / shape.details.group * b_bytes;
    t.ctas = shape.details.group;
    t.integer = shape.details.kind == ProductKind::i8;
    t.element_bits = static_cast<std::uint8_t>(256 / shape.stored);
    return operation;
}

template <bool kEvaluate>
void multiply(Warp::State& warp, const DecodedInstruction& i, std::uint32_t mask) {
    const auto details = std::bit_cast<TensorDetails>(i.offset);
    const ProductOperands operands = operands_of(warp, i, details);
    for_each_lane(mask, [&](unsigned lane) {
        Product p{.warp = warp, .lane = lane, .shape = product_shape(warp, lane, details, static_cast<std::uint32_t>(tensor_value(warp, operands.descriptor, lane)))};
        for (unsigned index = 0; index < details.group; ++index) {
            const Cta::Implementation& cta = cta_of_group(warp, lane, details.group, index);
            if constexpr (kEvaluate) {
                p.d = static_cast<std::uint32_t>(tensor_value(warp, operands.d, lane));
                require_columns(warp, lane, cta, p.d & 0xFFFFu, p.shape.d_columns(), details.group, "D of tcgen05.mma");
            }
        }
        if constexpr (kEvaluate) {
            p.a = tensor_value(warp, operands.a, lane);
            p.b = tensor_value(warp, operands.b, lane);
            if (details.sparse) p.metadata = static_cast<std::uint32_t>(tensor_value(warp, operands.metadata, lane));
            if (details.scale_block != 0) {
                p.a_scales = static_cast<std::uint32_t>(tensor_value(warp, operands.a_scales, lane)) & 0x3FFFFFFFu;
                p.b_scales = static_cast<std::uint32_t>(tensor_value(warp, operands.b_scales, lane)) & 0x3FFFFFFFu;
            }
            p.adds = ((narrow_lane(warp, operands.enable.row, 0) >> lane & 1u) != 0) != i.negated;
            p.scale = i.immediate;
            if (details.lane_mask)
                for (unsigned w = 0; w < operands.lanes.wide; ++w) p.disabled[w] = narrow_lane(warp, warp.elements[operands.lanes.row + w], lane);
            if (details.zero_mask && tensor_value(warp, operands.mask, lane) != 0)
                fail_running(warp, lane, "tcgen05.mma.ws with a zero-column mask that is not 0", "masks of columns are not simulated");
            const unsigned last = p.shape.layout == ProductLayout::full ? 1 : p.shape.layout == ProductLayout::scattered ? 17 : 1;
            if (p.d >> 16 >= last)
                fail_running(warp, lane, "D of tcgen05.mma at lane " + std::to_string(p.d >> 16) + " of tensor memory", "it begins at lane 0", Error::Kind::misaligned);
            multiply_values(p);
        }
        warp.cta->started.push_back(describe_product(warp, p.shape));
    });
}

}  // namespace

Handler select_tensor_multiply(bool evaluate) {
    return evaluate ? multiply<true> : multiply<false>;
}

}  // namespace heddle::ptx
