// The value of a plan: panels of outputs, each walked through the plan.
#include <bit>
#include <cmath>
#include <cstring>
#include <map>
#include <numeric>
#include <stdexcept>

#include "isa/numerics/reduction_plan.h"
#include "isa/numerics/reduction_walk.h"
#include "isa/numerics/scalar_chain.h"

namespace heddle::numerics {
namespace {

constexpr std::size_t kPanel = 128;  // rows and columns of D at once

std::uint64_t load_bits(const std::byte* from, unsigned bytes) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, from, bytes);  // little endian
    return bits;
}

template <typename T>
T load(const std::byte* from) {
    T value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

/// Every element in use is exact in double. (NaNs lose their payload where they are stored again.)
double number_of(Element element, const std::byte* from) {
    switch (element) {  // the frequent ones, fast
        case Element::fp64:
            return load<double>(from);
        case Element::fp32:
        case Element::tf32:  // is stored as fp32
            return load<float>(from);
        case Element::bf16:
            return bf16_to_fp32(load<std::uint16_t>(from));
        case Element::fp16:
            return fp16_to_fp32(load<std::uint16_t>(from));
        default:
            break;
    }
    if (element == Element::int8) return static_cast<std::int8_t>(*from);
    const std::uint64_t bits = load_bits(from, bytes_of(element));
    if (element == Element::int32) return static_cast<std::int32_t>(bits);
    return to_double(format_of(element), bits);
}

void store_number(Element element, double value, bool saturate, std::byte* to) {
    std::uint64_t bits;
    if (element == Element::int32) {
        bits = static_cast<std::uint32_t>(static_cast<std::int64_t>(value));
    } else if (element == Element::int8) {
        const double bounded = std::min(127.0, std::max(-128.0, std::nearbyint(value)));
        bits = static_cast<std::uint8_t>(static_cast<std::int8_t>(bounded));
    } else {
        const Format format = element == Element::tf32 ? Format::fp32 : format_of(element);
        bits = convert(format, Format::fp64, std::bit_cast<std::uint64_t>(value),
                       {.overflow = saturate ? Overflow::saturate : Overflow::ieee});
    }
    std::memcpy(to, &bits, bytes_of(element));
}

/// Modulo 2^32, for sums of few int32.
double wrapped(double value) {
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(static_cast<std::int64_t>(value)));
}

/// Some rows and columns of D.
struct Panel {
    const ReductionPlan& plan;
    const PlanOperands& operands;
    std::vector<std::size_t> rows, columns;
    std::size_t size() const { return rows.size() * columns.size(); }
};

/// The k of `ranges` of some rows of a matrix [..][k], side by side.
std::vector<std::byte> pack(const std::byte* matrix, std::size_t k, unsigned bytes,
                            const std::vector<std::size_t>& rows, std::span<const KRange> ranges) {
    std::size_t length = 0;
    for (const KRange& range : ranges) length += range.size();
    std::vector<std::byte> packed(rows.size() * length * bytes);
    std::byte* to = packed.data();
    for (const std::size_t row : rows) {
        for (const KRange& range : ranges) {
            std::memcpy(to, matrix + (row * k + range.begin) * bytes, range.size() * bytes);
            to += range.size() * bytes;
        }
    }
    return packed;
}

class Values {
  public:
    using Value = std::vector<double>;

    explicit Values(const Panel& panel) : panel_(panel), plan_(panel.plan) {}

    Value chain(const std::vector<KRange>& ranges) {
        switch (plan_.arithmetic) {
            case Arithmetic::tensor_core:
                return plan_.accumulator == Element::fp16 ? chain_on_tensor_core<std::uint16_t>(ranges)
                                                          : chain_on_tensor_core<float>(ranges);
            case Arithmetic::integer:
                return chain_of_integers(ranges);
            default:
                return plan_.accumulator == Element::fp64 ? chain_of_numbers<double>(ranges)
                                                          : chain_of_numbers<float>(ranges);
        }
    }

    Value add(Value a, Value b) {
        for (std::size_t i = 0; i < a.size(); ++i) a[i] = sum_of(plan_.accumulator, a[i], b[i]);
        return a;
    }

    Value from_zero(Value value) {
        for (double& x : value) x += 0.0;
        return value;
    }

    /// D's format may hold less: what is left is summed in fp32.
    Value rounded_partial(Value value) {
        std::byte bytes[8];
        for (double& x : value) {
            store_number(plan_.d, x, plan_.epilogue.saturate, bytes);
            x = number_of(plan_.d, bytes);
        }
        return value;
    }

    Value chain_output(Value* before, Value value, bool last) {
        PlanEpilogue epilogue = plan_.epilogue;
        if (!last) {
            epilogue.bias = false;
            epilogue.activation = Activation::none;
        }
        if (before != nullptr) epilogue.beta = 1;
        return apply(epilogue, std::move(value), before);
    }

    /// `before`: what stands in for C.
    Value apply(const PlanEpilogue& epilogue, Value value, const Value* before) {
        std::byte bytes[8];
        for (std::size_t place = 0; place < value.size(); ++place) {
            const std::size_t row = panel_.rows[place / panel_.columns.size()];
            const std::size_t column = panel_.columns[place % panel_.columns.size()];
            double c = 0, bias = 0;
            if (before != nullptr)
                c = (*before)[place];
            else if (epilogue.beta != 0)
                c = number_of(plan_.c, panel_.operands.c.data() +
                                           (row * panel_.operands.n + column) * bytes_of(plan_.c));
            if (epilogue.bias)
                bias = number_of(plan_.bias, panel_.operands.bias.data() + column * bytes_of(plan_.bias));
            double result;
            if (plan_.d == Element::int32)
                result = wrapped(epilogue.alpha * value[place] + epilogue.beta * c + bias);
            else if (plan_.accumulator == Element::fp64)
                result = one_output<double>(epilogue, value[place], c, bias);
            else
                result = one_output<float>(epilogue, static_cast<float>(value[place]), static_cast<float>(c),
                                           static_cast<float>(bias));
            store_number(plan_.d, result, epilogue.saturate, bytes);
            value[place] = number_of(plan_.d, bytes);
        }
        return value;
    }

  private:
    template <typename T>
    static T one_output(const PlanEpilogue& epilogue, T sum, T c, T bias) {
        const T alpha = static_cast<T>(epilogue.alpha), beta = static_cast<T>(epilogue.beta);
        T value = alpha * sum;
        if (epilogue.beta != 0) value = epilogue.fused ? std::fma(alpha, sum, beta * c) : value + beta * c;
        if (epilogue.bias) value += bias;
        if (epilogue.activation == Activation::relu && value < 0) value = 0;
        if (epilogue.activation == Activation::gelu) {
            constexpr T kRoot = static_cast<T>(0.7978845608028654), kCubic = static_cast<T>(0.044715);
            value = T{0.5} * value * (1 + std::tanh(kRoot * (value + kCubic * value * value * value)));
        }
        return value;
    }

    double sum_of(Element element, double a, double b) const {
        if (element == Element::int32) return wrapped(a + b);
        if (element == Element::fp64) return a + b;
        if (element == Element::fp32) {
            const float sum = static_cast<float>(a) + static_cast<float>(b);
            return plan_.flush_subnormals && std::fabs(sum) < 0x1p-126f ? std::copysign(0.0f, sum) : sum;
        }
        // The sum of two numbers of fp16 is exact in double.
        return to_double(Format::fp16,
                         convert(Format::fp16, Format::fp64, std::bit_cast<std::uint64_t>(a + b)));
    }

    /// Calls `multiply` with parts of the chain that lie side by side without a short block between.
    template <typename Multiply>
    void in_runs(const std::vector<KRange>& ranges, const Multiply& multiply) const {
        const std::size_t length = block_length(plan_);
        for (std::size_t first = 0; first < ranges.size();) {
            std::size_t last = first;
            while (last + 1 < ranges.size() && ranges[last].size() % length == 0) ++last;
            const std::span<const KRange> run(ranges.data() + first, last + 1 - first);
            std::size_t depth = 0;
            for (const KRange& range : run) depth += range.size();
            const PlanOperands& x = panel_.operands;
            multiply(pack(x.a.data(), x.k, bytes_of(plan_.a), panel_.rows, run),
                     pack(x.b.data(), x.k, bytes_of(plan_.b), panel_.columns, run), depth);
            first = last + 1;
        }
    }

    void round_to_tf32(std::vector<std::byte>& operand) const {
        for (std::size_t at = 0; at < operand.size(); at += 4) {
            const std::uint64_t bits = convert(Format::tf32, Format::fp32, load_bits(operand.data() + at, 4),
                                               {.rounding = plan_.tf32_input});
            std::memcpy(operand.data() + at, &bits, 4);
        }
    }

    template <typename Output>
    Value chain_on_tensor_core(const std::vector<KRange>& ranges) {
        std::vector<Output> sums(panel_.size(), Output{});
        DotProductParameters parameters = plan_.tensor_core;
        if (!parameters.unpacks_to_fp16) parameters.block_length = static_cast<unsigned>(block_length(plan_));
        in_runs(ranges, [&](std::vector<std::byte> a, std::vector<std::byte> b, std::size_t depth) {
            if (plan_.a == Element::tf32 && plan_.tf32_input != Rounding::toward_zero) {
                round_to_tf32(a);
                round_to_tf32(b);
            }
            const auto multiply = [&]<typename Input>(const Input* from) {
                matrix_multiply_accumulate(parameters, panel_.rows.size(), panel_.columns.size(), depth, from,
                                           reinterpret_cast<const Input*>(b.data()), sums.data(),
                                           sums.data());
            };
            if (bytes_of(plan_.a) == 1) multiply(reinterpret_cast<const std::uint8_t*>(a.data()));
            if (bytes_of(plan_.a) == 2) multiply(reinterpret_cast<const std::uint16_t*>(a.data()));
            if (bytes_of(plan_.a) == 4) multiply(reinterpret_cast<const std::uint32_t*>(a.data()));
        });
        Value values;
        values.reserve(sums.size());
        for (const Output sum : sums) {
            if constexpr (sizeof(Output) == 2)
                values.push_back(to_double(Format::fp16, sum));
            else
                values.push_back(sum);
        }
        return values;
    }

    template <typename T>
    Value chain_of_numbers(const std::vector<KRange>& ranges) {
        std::vector<T> sums(panel_.size(), T{0});
        const ScalarChain chain{plan_.arithmetic == Arithmetic::fused_multiply_add, plan_.flush_subnormals};
        const std::size_t m = panel_.rows.size(), n = panel_.columns.size();
        in_runs(ranges, [&](const std::vector<std::byte>& a, const std::vector<std::byte>& b,
                            std::size_t depth) {
            std::vector<T> left(m * depth), right(depth * n);
            for (std::size_t i = 0; i < m * depth; ++i)
                left[i] = static_cast<T>(number_of(plan_.a, a.data() + i * bytes_of(plan_.a)));
            for (std::size_t j = 0; j < n; ++j)
                for (std::size_t l = 0; l < depth; ++l)
                    right[l * n + j] =
                        static_cast<T>(number_of(plan_.b, b.data() + (j * depth + l) * bytes_of(plan_.b)));
            add_products(chain, m, n, depth, left.data(), right.data(), sums.data());
        });
        Value values(sums.begin(), sums.end());
        std::size_t total = 0;
        for (const KRange& range : ranges) total += range.size();
        return plan_.zero_fill && total % plan_.block_k != 0 ? from_zero(std::move(values)) : values;
    }

    Value chain_of_integers(const std::vector<KRange>& ranges) {
        std::vector<std::int32_t> sums(panel_.size(), 0);
        in_runs(ranges,
                [&](const std::vector<std::byte>& a, const std::vector<std::byte>& b, std::size_t depth) {
                    matrix_multiply_accumulate_int8(panel_.rows.size(), panel_.columns.size(), depth,
                                                    reinterpret_cast<const std::int8_t*>(a.data()),
                                                    reinterpret_cast<const std::int8_t*>(b.data()),
                                                    sums.data(), sums.data());
                });
        return {sums.begin(), sums.end()};
    }

    const Panel& panel_;
    const ReductionPlan& plan_;
};

void check_operands(const ReductionPlan& plan, const PlanOperands& x) {
    check_plan(plan);
    const auto require = [](bool condition, const char* otherwise) {
        if (!condition) throw std::invalid_argument(std::string("reduction plan: ") + otherwise);
    };
    require(x.a.size() == x.m * x.k * bytes_of(plan.a), "A is not m x k elements");
    require(x.b.size() == x.n * x.k * bytes_of(plan.b), "B is not n x k elements");
    require(plan.epilogue.beta == 0 || x.c.size() == x.m * x.n * bytes_of(plan.c), "C is not m x n elements");
    require(!plan.epilogue.bias || x.bias.size() == x.n * bytes_of(plan.bias), "the bias is not n elements");
}

std::vector<double> outputs_of(const Panel& panel) {
    Values backend(panel);
    std::vector<double> sums = walk(panel.plan, panel.operands.k, backend);
    const bool done =
        panel.plan.merge == SliceMerge::output_chain && !slices_of(panel.plan, panel.operands.k).empty();
    return done ? sums : backend.apply(panel.plan.epilogue, std::move(sums), nullptr);
}

std::vector<std::size_t> numbers_from(std::size_t begin, std::size_t end) {
    std::vector<std::size_t> numbers(end - begin);
    std::iota(numbers.begin(), numbers.end(), begin);
    return numbers;
}

}  // namespace

std::vector<std::byte> evaluate(const ReductionPlan& plan, const PlanOperands& operands) {
    check_operands(plan, operands);
    const unsigned bytes = bytes_of(plan.d);
    std::vector<std::byte> d(operands.m * operands.n * bytes);
    for (std::size_t i = 0; i < operands.m; i += kPanel) {
        for (std::size_t j = 0; j < operands.n; j += kPanel) {
            const Panel panel{plan, operands, numbers_from(i, std::min(operands.m, i + kPanel)),
                              numbers_from(j, std::min(operands.n, j + kPanel))};
            const std::vector<double> outputs = outputs_of(panel);
            for (std::size_t place = 0; place < outputs.size(); ++place) {
                const std::size_t row = panel.rows[place / panel.columns.size()];
                const std::size_t column = panel.columns[place % panel.columns.size()];
                store_number(plan.d, outputs[place], false, d.data() + (row * operands.n + column) * bytes);
            }
        }
    }
    return d;
}

std::vector<std::byte> evaluate_elements(const ReductionPlan& plan, const PlanOperands& operands,
                                         std::span<const OutputPlace> places) {
    check_operands(plan, operands);
    const unsigned bytes = bytes_of(plan.d);
    std::vector<std::byte> d(places.size() * bytes);
    std::map<std::size_t, std::vector<std::size_t>> by_row;  // row -> indices into `places`
    for (std::size_t p = 0; p < places.size(); ++p) {
        if (places[p].first >= operands.m || places[p].second >= operands.n)
            throw std::invalid_argument("reduction plan: a place outside of D");
        by_row[places[p].first].push_back(p);
    }
    for (const auto& [row, indices] : by_row) {
        Panel panel{plan, operands, {row}, {}};
        for (const std::size_t index : indices) panel.columns.push_back(places[index].second);
        const std::vector<double> outputs = outputs_of(panel);
        for (std::size_t i = 0; i < indices.size(); ++i)
            store_number(plan.d, outputs[i], false, d.data() + indices[i] * bytes);
    }
    return d;
}

}  // namespace heddle::numerics
