#include "isa/tpu/vector_execution.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "isa/numerics/philox.h"
#include "isa/numerics/systolic.h"
#include "isa/tpu/elementary_functions.h"

namespace heddle::tpu {
namespace {

using Word = std::uint32_t;
/// Elements of a row computed at a time: a multiple of the lanes.
constexpr std::size_t kChunk = 4 * kLanes;

float as_float(Word word) {
    return std::bit_cast<float>(word);
}
Word as_word(float value) {
    return std::bit_cast<Word>(value);
}

/// The operand that is not NaN wins; +0 is above -0.
float maximum(float a, float b) {
    if (std::isnan(a)) return b;
    if (std::isnan(b)) return a;
    if (a == b) return std::signbit(a) ? b : a;
    return a > b ? a : b;
}
float minimum(float a, float b) {
    return -maximum(-a, -b);
}

Word load_element(const std::byte* from, ElementType type) {
    switch (type) {
        case ElementType::fp32:
        case ElementType::int32: {
            Word word;
            std::memcpy(&word, from, 4);
            return word;
        }
        case ElementType::bf16: {
            std::uint16_t half;
            std::memcpy(&half, from, 2);
            return as_word(numerics::bf16_to_fp32(half));
        }
        case ElementType::int8:
            return static_cast<Word>(static_cast<std::int32_t>(static_cast<std::int8_t>(*from)));
        case ElementType::word8:
            return static_cast<Word>(*from);
        case ElementType::int16: {
            std::int16_t half;
            std::memcpy(&half, from, 2);
            return static_cast<Word>(static_cast<std::int32_t>(half));
        }
        case ElementType::fp8_e4m3:
            return as_word(numerics::to_float(numerics::Format::e4m3, static_cast<std::uint8_t>(*from)));
        case ElementType::fp8_e5m2:
            return as_word(numerics::to_float(numerics::Format::e5m2, static_cast<std::uint8_t>(*from)));
    }
    return 0;
}

void store_element(std::byte* to, ElementType type, Word value) {
    switch (type) {
        case ElementType::fp32:
        case ElementType::int32:
            std::memcpy(to, &value, 4);
            return;
        case ElementType::bf16: {
            const std::uint16_t half = numerics::fp32_to_bf16_tpu(as_float(value));
            std::memcpy(to, &half, 2);
            return;
        }
        case ElementType::int8:
        case ElementType::word8:
            *to = static_cast<std::byte>(value & 0xFFu);
            return;
        case ElementType::int16: {
            const auto half = static_cast<std::uint16_t>(value);
            std::memcpy(to, &half, 2);
            return;
        }
        case ElementType::fp8_e4m3:
            *to = static_cast<std::byte>(numerics::from_float(numerics::Format::e4m3, as_float(value)));
            return;
        case ElementType::fp8_e5m2:
            *to = static_cast<std::byte>(numerics::from_float(numerics::Format::e5m2, as_float(value)));
            return;
    }
}

std::int32_t to_integer(float value) {
    if (std::isnan(value)) return 0;
    if (value >= 2147483648.0f) return std::numeric_limits<std::int32_t>::max();
    if (value <= -2147483648.0f) return std::numeric_limits<std::int32_t>::min();
    return static_cast<std::int32_t>(value);
}

template <class Function>
void unary(Word* y, const Word* a, std::size_t count, Function function) {
    for (std::size_t i = 0; i < count; ++i) y[i] = as_word(function(as_float(a[i])));
}
template <class Function>
void binary(Word* y, const Word* a, const Word* b, std::size_t count, Function function) {
    for (std::size_t i = 0; i < count; ++i) y[i] = as_word(function(as_float(a[i]), as_float(b[i])));
}
template <class Function>
void integer_binary(Word* y, const Word* a, const Word* b, std::size_t count, Function function) {
    for (std::size_t i = 0; i < count; ++i) y[i] = function(a[i], b[i]);
}
float truth(bool value) {
    return value ? 1.0f : 0.0f;
}

/// An operation that reads earlier nodes only.
void apply(VectorOp op, Word* y, const Word* a, const Word* b, const Word* c, std::size_t n) {
    switch (op) {
        case VectorOp::add:
            return binary(y, a, b, n, [](float p, float q) { return p + q; });
        case VectorOp::subtract:
            return binary(y, a, b, n, [](float p, float q) { return p - q; });
        case VectorOp::multiply:
            return binary(y, a, b, n, [](float p, float q) { return p * q; });
        case VectorOp::divide:
            return binary(y, a, b, n, [](float p, float q) { return p / q; });
        case VectorOp::minimum:
            return binary(y, a, b, n, minimum);
        case VectorOp::maximum:
            return binary(y, a, b, n, maximum);
        case VectorOp::negate:
            return unary(y, a, n, [](float p) { return -p; });
        case VectorOp::absolute:
            return unary(y, a, n, [](float p) { return std::fabs(p); });
        case VectorOp::exponential:
            return unary(y, a, n, exponential);
        case VectorOp::logarithm:
            return unary(y, a, n, logarithm);
        case VectorOp::square_root:
            return unary(y, a, n, [](float p) { return std::sqrt(p); });
        case VectorOp::reciprocal_square_root:
            return unary(y, a, n,
                         [](float p) { return static_cast<float>(1.0 / std::sqrt(static_cast<double>(p))); });
        case VectorOp::reciprocal:
            return unary(y, a, n, [](float p) { return 1.0f / p; });
        case VectorOp::hyperbolic_tangent:
            return unary(y, a, n, hyperbolic_tangent);
        case VectorOp::sigmoid:
            return unary(y, a, n, sigmoid);
        case VectorOp::error_function:
            return unary(y, a, n, error_function);
        case VectorOp::floor:
            return unary(y, a, n, [](float p) { return std::floor(p); });
        case VectorOp::greater:
            return binary(y, a, b, n, [](float p, float q) { return truth(p > q); });
        case VectorOp::greater_equal:
            return binary(y, a, b, n, [](float p, float q) { return truth(p >= q); });
        case VectorOp::less:
            return binary(y, a, b, n, [](float p, float q) { return truth(p < q); });
        case VectorOp::less_equal:
            return binary(y, a, b, n, [](float p, float q) { return truth(p <= q); });
        case VectorOp::equal:
            return binary(y, a, b, n, [](float p, float q) { return truth(p == q); });
        case VectorOp::not_equal:
            return binary(y, a, b, n, [](float p, float q) { return truth(p != q); });
        case VectorOp::select:
            for (std::size_t i = 0; i < n; ++i) y[i] = as_float(a[i]) != 0.0f ? b[i] : c[i];
            return;
        case VectorOp::round_to_bf16:
            return unary(y, a, n,
                         [](float p) { return numerics::bf16_to_fp32(numerics::fp32_to_bf16_tpu(p)); });
        case VectorOp::integer_add:
            return integer_binary(y, a, b, n, [](Word p, Word q) { return p + q; });
        case VectorOp::integer_subtract:
            return integer_binary(y, a, b, n, [](Word p, Word q) { return p - q; });
        case VectorOp::integer_multiply:
            return integer_binary(y, a, b, n, [](Word p, Word q) { return p * q; });
        case VectorOp::integer_equal:
            return integer_binary(y, a, b, n, [](Word p, Word q) { return as_word(truth(p == q)); });
        case VectorOp::integer_less:
            return integer_binary(y, a, b, n, [](Word p, Word q) {
                return as_word(truth(static_cast<std::int32_t>(p) < static_cast<std::int32_t>(q)));
            });
        case VectorOp::integer_to_float:
            for (std::size_t i = 0; i < n; ++i)
                y[i] = as_word(static_cast<float>(static_cast<std::int32_t>(a[i])));
            return;
        case VectorOp::float_to_integer:
            for (std::size_t i = 0; i < n; ++i) y[i] = static_cast<Word>(to_integer(as_float(a[i])));
            return;
        default:
            return;  // the leaves: see Execution::compute
    }
}

float combine(Reduction reduction, float a, float b) {
    return is_sum(reduction) ? a + b : maximum(a, b);
}
float identity(Reduction reduction) {
    return is_sum(reduction) ? 0.0f : -std::numeric_limits<float>::infinity();
}

/// One vector instruction on its way.
class Execution {
  public:
    Execution(const Vector& vector, const LoopCounters& counters, std::span<std::byte> vmem)
        : vector_(vector), kernel_(*vector.kernel), counters_(counters), vmem_(vmem) {
        values_.resize(kernel_.nodes.size() * kChunk);
        row_origin_ = vector.row_origin.at(counters);
        column_origin_ = vector.column_origin.at(counters);
        folds_.resize(kernel_.outputs.size());
        for (std::size_t i = 0; i < kernel_.outputs.size(); ++i) {
            const Reduction reduction = kernel_.outputs[i].reduction;
            const std::size_t size = over_lanes(reduction)      ? kLanes
                                     : over_sublanes(reduction) ? std::size_t{kSublanes} * vector.columns
                                                                : 0;
            folds_[i].assign(size, identity(reduction));
        }
        fill_constants();
    }

    void run() {
        for (std::uint32_t row = 0; row < vector_.rows; ++row) {
            for (std::size_t i = 0; i < folds_.size(); ++i) {
                if (over_lanes(kernel_.outputs[i].reduction)) {
                    std::fill(folds_[i].begin(), folds_[i].end(), identity(kernel_.outputs[i].reduction));
                }
            }
            for (std::uint32_t column = 0; column < vector_.columns; column += kChunk) {
                const std::size_t count = std::min<std::size_t>(kChunk, vector_.columns - column);
                compute(row, column, count);
                for (std::size_t i = 0; i < folds_.size(); ++i) output(i, row, column, count);
            }
            for (std::size_t i = 0; i < folds_.size(); ++i) {
                if (over_lanes(kernel_.outputs[i].reduction)) finish_lanes(i, row);
            }
        }
        for (std::size_t i = 0; i < folds_.size(); ++i) {
            if (over_sublanes(kernel_.outputs[i].reduction)) finish_sublanes(i);
        }
    }

  private:
    Word* value(std::size_t node) { return &values_[node * kChunk]; }

    void fill_constants() {
        for (std::size_t i = 0; i < kernel_.nodes.size(); ++i) {
            const VectorNode& node = kernel_.nodes[i];
            Word word = 0;
            if (node.op == VectorOp::constant || node.op == VectorOp::integer_constant) {
                word = node.bits;
            } else if (node.op == VectorOp::scalar) {
                word = as_word(vector_.scalars[node.index]);
            } else {
                continue;
            }
            std::fill_n(value(i), kChunk, word);
        }
    }

    void load(Word* to, const VectorOperand& operand, std::uint32_t row, std::uint32_t column,
              std::size_t count) {
        const unsigned size = bytes_of(operand.type);
        const std::byte* from = vmem_.data() + operand.vmem.at(counters_) + row * operand.row_stride;
        if (operand.broadcast_columns) {
            std::fill_n(to, count, load_element(from, operand.type));
            return;
        }
        from += std::uint64_t{column} * size;
        if (size == 4) {
            std::memcpy(to, from, count * 4);
            return;
        }
        for (std::size_t i = 0; i < count; ++i) to[i] = load_element(from + i * size, operand.type);
    }

    /// What follows from the elements' indices, from `first` on.
    static void numbers(const VectorNode& node, Word* y, std::uint64_t first, std::size_t count) {
        for (std::size_t j = 0; j < count; ++j) {
            const std::uint64_t element = first + j;
            switch (node.op) {
                case VectorOp::random:
                    y[j] = as_word(random_uniform(node.index, element));
                    break;
                case VectorOp::philox:
                    y[j] = as_word(numerics::philox_uniform(node.index, node.bits, element));
                    break;
                case VectorOp::philox_counter:
                    y[j] = as_word(numerics::philox_by_counter(node.index, element));
                    break;
                default:
                    y[j] = static_cast<Word>(element);
            }
        }
    }

    void compute(std::uint32_t row, std::uint32_t column, std::size_t count) {
        for (std::size_t i = 0; i < kernel_.nodes.size(); ++i) {
            const VectorNode& node = kernel_.nodes[i];
            Word* const y = value(i);
            const std::int64_t row_index = row_origin_ + row, column_index = column_origin_ + column;
            switch (node.op) {
                case VectorOp::input:
                    load(y, vector_.inputs[node.index], row, column, count);
                    break;
                case VectorOp::scalar:
                case VectorOp::constant:
                case VectorOp::integer_constant:
                    break;
                case VectorOp::row_index:
                    std::fill_n(y, count, static_cast<Word>(row_index));
                    break;
                case VectorOp::column_index:
                    for (std::size_t j = 0; j < count; ++j)
                        y[j] = static_cast<Word>(column_index + static_cast<std::int64_t>(j));
                    break;
                case VectorOp::random:
                case VectorOp::philox:
                case VectorOp::philox_counter:
                case VectorOp::element_index:
                    numbers(node, y,
                            static_cast<std::uint64_t>(row_index) * vector_.element_stride +
                                static_cast<std::uint64_t>(column_index),
                            count);
                    break;
                default:
                    apply(node.op, y, value(node.a), value(node.b), value(node.c), count);
            }
        }
    }

    void output(std::size_t index, std::uint32_t row, std::uint32_t column, std::size_t count) {
        const VectorOutput& output = kernel_.outputs[index];
        const Word* const from = value(output.node);
        if (over_lanes(output.reduction)) {
            for (std::size_t i = 0; i < count; ++i) {
                float& lane = folds_[index][(column + i) % kLanes];
                lane = combine(output.reduction, lane, as_float(from[i]));
            }
        } else if (over_sublanes(output.reduction)) {
            float* const sublane = &folds_[index][std::size_t{row % kSublanes} * vector_.columns + column];
            for (std::size_t i = 0; i < count; ++i) {
                sublane[i] = combine(output.reduction, sublane[i], as_float(from[i]));
            }
        } else {
            const VectorOperand& operand = vector_.outputs[index];
            const unsigned size = bytes_of(operand.type);
            std::byte* const to = vmem_.data() + operand.vmem.at(counters_) + row * operand.row_stride +
                                  std::uint64_t{column} * size;
            if (!output.accumulate && size == 4) {
                std::memcpy(to, from, count * 4);
                return;
            }
            for (std::size_t i = 0; i < count; ++i) {
                Word word = from[i];
                if (output.accumulate) {
                    word = as_word(as_float(load_element(to + i * size, operand.type)) + as_float(word));
                }
                store_element(to + i * size, operand.type, word);
            }
        }
    }

    void write_fold(std::size_t index, std::byte* to, float result) {
        const VectorOutput& output = kernel_.outputs[index];
        const ElementType type = vector_.outputs[index].type;
        if (output.accumulate) result = combine(output.reduction, as_float(load_element(to, type)), result);
        store_element(to, type, as_word(result));
    }

    void finish_lanes(std::size_t index, std::uint32_t row) {
        const VectorOperand& operand = vector_.outputs[index];
        std::vector<float>& lanes = folds_[index];
        for (std::size_t distance = kLanes / 2; distance >= 1; distance /= 2) {
            for (std::size_t lane = 0; lane < distance; ++lane) {
                lanes[lane] = combine(kernel_.outputs[index].reduction, lanes[lane], lanes[lane + distance]);
            }
        }
        write_fold(index, vmem_.data() + operand.vmem.at(counters_) + row * operand.row_stride, lanes[0]);
    }

    void finish_sublanes(std::size_t index) {
        const VectorOperand& operand = vector_.outputs[index];
        const std::size_t columns = vector_.columns;
        for (std::size_t column = 0; column < columns; ++column) {
            float* const first = &folds_[index][column];
            for (std::size_t distance = kSublanes / 2; distance >= 1; distance /= 2) {
                for (std::size_t sublane = 0; sublane < distance; ++sublane) {
                    first[sublane * columns] =
                        combine(kernel_.outputs[index].reduction, first[sublane * columns],
                                first[(sublane + distance) * columns]);
                }
            }
            write_fold(index, vmem_.data() + operand.vmem.at(counters_) + column * bytes_of(operand.type),
                       *first);
        }
    }

    const Vector& vector_;
    const VectorKernel& kernel_;
    const LoopCounters& counters_;
    std::span<std::byte> vmem_;
    std::vector<Word> values_;               // [node][chunk]
    std::vector<std::vector<float>> folds_;  // per output: [lanes] or [sublanes][columns]
    std::int64_t row_origin_ = 0, column_origin_ = 0;
};

}  // namespace

void execute(const Vector& vector, const LoopCounters& counters, std::span<std::byte> vmem) {
    Execution(vector, counters, vmem).run();
}

void execute(const Transpose& transpose, const LoopCounters& counters, std::span<std::byte> vmem) {
    const std::byte* const source = vmem.data() + transpose.source.at(counters);
    std::byte* const destination = vmem.data() + transpose.destination.at(counters);
    const unsigned size = bytes_of(transpose.type);
    for (std::uint32_t row = 0; row < transpose.rows; ++row) {
        for (std::uint32_t column = 0; column < transpose.columns; ++column) {
            std::memcpy(destination + column * transpose.destination_stride + std::uint64_t{row} * size,
                        source + row * transpose.source_stride + std::uint64_t{column} * size, size);
        }
    }
}

}  // namespace heddle::tpu
