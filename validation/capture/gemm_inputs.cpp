#include "validation/capture/gemm_inputs.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace heddle::capture {
namespace {

using numerics::Distribution;
using numerics::Format;

template <typename Storage>
std::span<Storage> as(std::span<std::byte> bytes) {
    return {reinterpret_cast<Storage*>(bytes.data()), bytes.size() / sizeof(Storage)};
}

void fill_type(Type type, bool tf32_numbers, Distribution distribution, std::uint64_t seed,
               std::uint64_t first, std::span<std::byte> to) {
    using numerics::fill_random;
    switch (type) {
        case Type::f64:
            return fill_random(Format::fp64, distribution, seed, first, as<std::uint64_t>(to));
        case Type::f32:
            return fill_random(tf32_numbers ? Format::tf32 : Format::fp32, distribution, seed, first,
                               as<std::uint32_t>(to));
        case Type::f16:
            return fill_random(Format::fp16, distribution, seed, first, as<std::uint16_t>(to));
        case Type::bf16:
            return fill_random(Format::bf16, distribution, seed, first, as<std::uint16_t>(to));
        case Type::e4m3:
            return fill_random(Format::e4m3, distribution, seed, first, as<std::uint8_t>(to));
        case Type::e5m2:
            return fill_random(Format::e5m2, distribution, seed, first, as<std::uint8_t>(to));
        case Type::i8:
            return numerics::fill_random_int8(distribution, seed, first, as<std::int8_t>(to));
        case Type::i32:
            return numerics::fill_random_int32(distribution, seed, first, as<std::int32_t>(to));
    }
    throw std::invalid_argument("unknown type");
}

/// An operand in memory: `rows` of `columns` elements, `pitch` apart; its stream is [outer][inner] with
/// element (r, c) at r * columns + c, or, when `transposed`, at c * rows + r.
struct Storage {
    Type type;
    std::uint64_t rows, columns, pitch;
    bool transposed;
};

Storage storage_of(const GemmProblem& p, Operand operand) {
    switch (operand) {
        case Operand::a:
            return p.transpose_a ? Storage{p.a, p.k, p.m, p.row_a(), true}
                                 : Storage{p.a, p.m, p.k, p.row_a(), false};
        case Operand::b:
            return p.transpose_b ? Storage{p.b, p.n, p.k, p.row_b(), false}
                                 : Storage{p.b, p.k, p.n, p.row_b(), true};
        case Operand::c:
            return {p.c, p.m, p.n, p.row_c(), false};
        case Operand::bias:
            return {p.bias, 1, p.n, p.n, false};
    }
    throw std::invalid_argument("unknown operand");
}

/// Blocks of 32 x 32, so that neither side strides through memory.
template <typename Element>
void transpose(const Element* from, Element* to, std::uint64_t rows, std::uint64_t columns,
               std::uint64_t pitch) {
    constexpr std::uint64_t kBlock = 32;
    for (std::uint64_t r0 = 0; r0 < rows; r0 += kBlock)
        for (std::uint64_t c0 = 0; c0 < columns; c0 += kBlock)
            for (std::uint64_t r = r0; r < std::min(rows, r0 + kBlock); ++r)
                for (std::uint64_t c = c0; c < std::min(columns, c0 + kBlock); ++c)
                    to[r * pitch + c] = from[c * rows + r];
}

/// One batch entry: from its stream, dense, to its place.
void place(const Storage& storage, std::span<const std::byte> stream, std::byte* to) {
    const unsigned size = bytes_of(storage.type);
    if (!storage.transposed) {
        for (std::uint64_t r = 0; r < storage.rows; ++r)
            std::memcpy(to + r * storage.pitch * size, stream.data() + r * storage.columns * size,
                        storage.columns * size);
        return;
    }
    const auto with = [&]<typename Element>(Element) {
        transpose(reinterpret_cast<const Element*>(stream.data()), reinterpret_cast<Element*>(to),
                  storage.rows, storage.columns, storage.pitch);
    };
    switch (size) {
        case 1:
            return with(std::uint8_t{});
        case 2:
            return with(std::uint16_t{});
        case 4:
            return with(std::uint32_t{});
        default:
            return with(std::uint64_t{});
    }
}

}  // namespace

void fill_elements(const GemmProblem& problem, const GemmInputs& inputs, Operand operand, std::uint64_t first,
                   std::span<std::byte> to) {
    const Type types[] = {problem.a, problem.b, problem.c, problem.bias};
    const Distribution distributions[] = {inputs.a, inputs.b, inputs.c, inputs.c};
    const auto index = static_cast<std::size_t>(operand);
    fill_type(types[index], inputs.tf32_numbers && index < 2, distributions[index],
              numerics::stream_seed(inputs.seed, index), first, to);
}

std::vector<std::byte> stored_operand(const GemmProblem& problem, const GemmInputs& inputs, Operand operand) {
    const Storage storage = storage_of(problem, operand);
    const std::uint64_t batches = operand == Operand::bias ? 1 : problem.batch;
    const unsigned size = bytes_of(storage.type);
    const std::uint64_t elements = storage.rows * storage.columns;
    std::vector<std::byte> stored(storage.pitch * storage.rows * batches * size, std::byte{0xFF});
    if (!storage.transposed && storage.pitch == storage.columns) {
        fill_elements(problem, inputs, operand, 0, stored);
        return stored;
    }
    std::vector<std::byte> stream(elements * size);
    for (std::uint64_t batch = 0; batch < batches; ++batch) {
        fill_elements(problem, inputs, operand, batch * elements, stream);
        place(storage, stream, stored.data() + batch * storage.pitch * storage.rows * size);
    }
    return stored;
}

std::vector<OutputPlace> sample_places(const GemmProblem& problem, std::uint64_t seed, std::size_t count) {
    const std::uint64_t b = problem.batch - 1, m = problem.m - 1, n = problem.n - 1;
    std::vector<OutputPlace> places = {{0, 0, 0}, {0, 0, n}, {b, m, 0}, {b, m, n}};
    places.resize(std::min<std::size_t>(count, places.size()));
    const std::uint64_t stream = numerics::stream_seed(seed, 16);
    for (std::uint64_t i = 0; places.size() < count; ++i) {
        const std::uint64_t element =
            numerics::random_bits(stream, i) % (problem.batch * problem.m * problem.n);
        places.push_back(
            {element / (problem.m * problem.n), element / problem.n % problem.m, element % problem.n});
    }
    return places;
}

std::vector<std::byte> dense_output(const GemmProblem& problem, std::vector<std::byte> stored) {
    const std::uint64_t size = bytes_of(problem.d), row = problem.n * size, pitch = problem.row_d() * size;
    if (row != pitch)
        for (std::uint64_t r = 1; r < problem.m * problem.batch; ++r)
            std::memmove(stored.data() + r * row, stored.data() + r * pitch, row);
    stored.resize(problem.batch * problem.m * row);
    return stored;
}

std::vector<std::byte> sample_of(const GemmProblem& problem, std::span<const std::byte> dense,
                                 std::span<const OutputPlace> places) {
    const unsigned size = bytes_of(problem.d);
    std::vector<std::byte> sample;
    sample.reserve(places.size() * size);
    for (const OutputPlace& at : places) {
        const auto element =
            dense.begin() +
            static_cast<std::ptrdiff_t>(((at.batch * problem.m + at.row) * problem.n + at.column) * size);
        sample.insert(sample.end(), element, element + size);
    }
    return sample;
}

}  // namespace heddle::capture
