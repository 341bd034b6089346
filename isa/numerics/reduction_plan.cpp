// What a plan means: slices, tiles and accumulators, its tree, its description.
#include "isa/numerics/reduction_plan.h"

#include <cstring>
#include <stdexcept>

#include "isa/numerics/reduction_walk.h"

namespace heddle::numerics {
namespace {

std::size_t divide_up(std::size_t a, std::size_t b) {
    return (a + b - 1) / b;
}

void require(bool condition, const char* otherwise) {
    if (!condition) throw std::invalid_argument(std::string("reduction plan: ") + otherwise);
}

const char* name_of(Combination combination) {
    switch (combination) {
        case Combination::forward:
            return ", forward";
        case Combination::neighbours_first:
            return ", neighbours first";
        case Combination::halves_first:
            return ", halves first";
        case Combination::warps_then_forward:
            return ", warps, then forward";
        case Combination::warps_then_halves:
            return ", warps, then halves first";
    }
    return "";
}

}  // namespace

const char* name_of(Element element) {
    switch (element) {
        case Element::int8:
            return "int8";
        case Element::int32:
            return "int32";
        default:
            return traits(format_of(element)).name;
    }
}

bool is_integer(Element element) {
    return element == Element::int8 || element == Element::int32;
}

Format format_of(Element element) {
    switch (element) {
        case Element::fp64:
            return Format::fp64;
        case Element::fp32:
            return Format::fp32;
        case Element::tf32:
            return Format::tf32;
        case Element::bf16:
            return Format::bf16;
        case Element::fp16:
            return Format::fp16;
        case Element::e5m2:
            return Format::e5m2;
        case Element::e4m3:
            return Format::e4m3;
        default:
            throw std::invalid_argument("integers are no floating-point format");
    }
}

unsigned bytes_of(Element element) {
    if (element == Element::int8) return 1;
    if (element == Element::int32) return 4;
    return traits(format_of(element)).storage_bits / 8;
}

std::size_t products_read(const ReductionPlan& plan, std::size_t k) {
    if (!plan.drops_tail || plan.splits < 2) return k;
    const std::size_t tail = k % plan.block_k, tiles = k / plan.block_k;
    const bool dropped = tail != 0 && tiles != 0 && tiles % plan.splits == 0 && plan.splits > tail;
    return dropped ? k - tail : k;
}

std::vector<KRange> slices_of(const ReductionPlan& plan, std::size_t k) {
    const std::size_t read = products_read(plan, k);
    std::vector<KRange> slices;
    if (plan.splits < 2 && plan.k_per_split == 0) {
        if (read != 0) slices.push_back({0, read});
        return slices;
    }
    if (plan.k_per_split != 0 || plan.chunk_rule == ChunkRule::ceiling) {
        const std::size_t chunk =
            plan.k_per_split != 0 ? plan.k_per_split
                                  : divide_up(divide_up(k, plan.split_grain), plan.splits) * plan.split_grain;
        std::size_t end = plan.k_per_split != 0 && plan.first_slice_k != 0 ? plan.first_slice_k : chunk;
        for (std::size_t begin = 0; begin < read; begin = end, end += chunk)
            slices.push_back({begin, std::min(read, end)});
        return slices;
    }
    const std::size_t grains = divide_up(k, plan.split_grain);
    std::size_t begin = 0;
    for (std::size_t s = 0; s < plan.splits; ++s) {
        const std::size_t count = grains / plan.splits + (s < grains % plan.splits ? 1 : 0);
        const std::size_t end = std::min(read, begin + count * plan.split_grain);
        if (end > begin) slices.push_back({begin, end});
        begin = end;
    }
    return slices;
}

std::size_t block_length(const ReductionPlan& plan) {
    if (plan.arithmetic != Arithmetic::tensor_core) return 1;
    // A product of fp8 by way of fp16 takes two blocks of the inner operation at once.
    const std::size_t length = plan.tensor_core.block_length * (plan.tensor_core.unpacks_to_fp16 ? 2u : 1u);
    return std::min<std::size_t>(length, plan.instruction_k);
}

std::vector<KRange> tiles_of(const ReductionPlan& plan, const KRange& slice) {
    const std::size_t residue = slice.size() % plan.block_k;
    std::vector<KRange> tiles;
    std::size_t begin = slice.begin, end = slice.end;
    if (residue != 0 && plan.residue == ResidueTile::first) {
        tiles.push_back({begin, begin + residue});
        begin += residue;
    } else if (residue != 0 && plan.residue == ResidueTile::wrapped) {
        tiles.push_back({end - residue, end});
        end -= residue;
    }
    for (; begin < end; begin += plan.block_k)
        tiles.push_back({begin, std::min<std::size_t>(end, begin + plan.block_k)});
    return tiles;
}

std::vector<std::vector<KRange>> deal(const ReductionPlan& plan, const std::vector<KRange>& tiles) {
    std::vector<std::vector<KRange>> ranges(plan.accumulators);
    if (plan.accumulators == 1) {
        ranges[0] = tiles;
        return ranges;
    }
    // One part of K each: parts are whole tiles.
    if (plan.accumulator_group == 0) {
        const std::size_t each = divide_up(tiles.size(), plan.accumulators);
        for (std::size_t t = 0; t < tiles.size(); ++t) ranges[t / each].push_back(tiles[t]);
        return ranges;
    }
    for (const KRange& tile : tiles) {
        for (std::size_t k = tile.begin; k < tile.end;) {
            const std::size_t group = (k - tile.begin) / plan.accumulator_group;
            const std::size_t end =
                std::min<std::size_t>(tile.end, tile.begin + (group + 1) * plan.accumulator_group);
            ranges[group % plan.accumulators].push_back({k, end});
            k = end;
        }
    }
    return ranges;
}

std::vector<std::vector<KRange>> promotions(const std::vector<KRange>& ranges, std::size_t interval) {
    std::vector<std::vector<KRange>> parts;
    std::size_t left = 0;
    for (KRange range : ranges) {
        while (range.begin < range.end) {
            if (left == 0) {
                parts.emplace_back();
                left = interval;
            }
            const std::size_t take = std::min(left, range.size());
            parts.back().push_back({range.begin, range.begin + take});
            range.begin += take;
            left -= take;
        }
    }
    return parts;
}

void check_plan(const ReductionPlan& plan) {
    require(plan.block_k != 0 && plan.instruction_k != 0, "block_k and instruction_k are at least 1");
    require(plan.accumulators != 0 && plan.splits != 0 && plan.split_grain != 0,
            "accumulators, splits and split_grain are at least 1");
    require(plan.accumulator != Element::tf32 && plan.accumulator != Element::bf16 &&
                bytes_of(plan.accumulator) > 1,
            "accumulators are fp64, fp32, fp16 or int32");
    require((plan.accumulator == Element::int32) == (plan.arithmetic == Arithmetic::integer),
            "integers, and only they, are accumulated in int32");
    switch (plan.arithmetic) {
        case Arithmetic::tensor_core:
            require(!is_integer(plan.a) && !is_integer(plan.b) &&
                        format_of(plan.a) == plan.tensor_core.input &&
                        format_of(plan.b) == plan.tensor_core.input_b &&
                        format_of(plan.accumulator) == plan.tensor_core.output,
                    "the tensor core's formats are those of A, B and the accumulator");
            require(plan.promotion_interval % block_length(plan) == 0,
                    "the promotion interval is a multiple of the fused block");
            break;
        case Arithmetic::fused_multiply_add:
        case Arithmetic::multiply_then_add:
            require(plan.accumulator == Element::fp32 || plan.accumulator == Element::fp64,
                    "CUDA cores accumulate in fp32 or fp64");
            require(!is_integer(plan.a) && !is_integer(plan.b),
                    "CUDA cores multiply numbers here, not integers");
            require(plan.accumulator == Element::fp64 || (plan.a != Element::fp64 && plan.b != Element::fp64),
                    "fp64 is accumulated in fp64");
            break;
        case Arithmetic::integer:
            require(plan.a == Element::int8 && plan.b == Element::int8, "integers are int8");
            break;
    }
}

namespace {

struct TreeBackend {
    using Value = SummationTree::Node;
    const ReductionPlan& plan;
    SummationTree::Builder builder;

    /// The k of a range in the order and in the blocks of the arithmetic.
    Value extend(Value chain, const KRange& range) {
        const std::size_t length = block_length(plan);
        if (plan.arithmetic != Arithmetic::tensor_core || !plan.tensor_core.unpacks_to_fp16)
            return builder.chain(chain, range.begin, range.end, length);
        for (std::size_t k = range.begin; k < range.end; k += length) {
            Value sum = SummationTree::kNone;
            for (const std::size_t half : {0u, 1u}) {
                std::vector<Value> children{sum};
                for (std::size_t i = k; i < std::min(range.end, k + length); ++i)
                    if ((i - k) / 2 % 2 == half) children.push_back(static_cast<Value>(i));
                sum = builder.add(children);
            }
            chain = builder.add(chain, sum);
        }
        return chain;
    }
    Value chain(const std::vector<KRange>& ranges) {
        Value sum = SummationTree::kNone;
        for (const KRange& range : ranges) sum = extend(sum, range);
        return sum;
    }
    Value add(Value a, Value b) { return builder.add(a, b); }
    Value from_zero(Value value) { return value; }
    Value rounded_partial(Value value) { return value; }
    Value chain_output(Value* before, Value value, bool) {
        return before == nullptr ? value : builder.add(*before, value);
    }
};

}  // namespace

SummationTree summation_tree(const ReductionPlan& plan, std::size_t k) {
    check_plan(plan);
    TreeBackend backend{plan, SummationTree::Builder(k)};
    const SummationTree::Node root = walk(plan, k, backend);
    return backend.builder.finish(root);
}

std::vector<std::byte> transposed(std::span<const std::byte> matrix, std::size_t rows, std::size_t columns,
                                  unsigned element_bytes) {
    if (matrix.size() != rows * columns * element_bytes)
        throw std::invalid_argument("a matrix to transpose is not as large as its extents say");
    std::vector<std::byte> result(matrix.size());
    for (std::size_t i = 0; i < rows; ++i)
        for (std::size_t j = 0; j < columns; ++j)
            std::memcpy(result.data() + (j * rows + i) * element_bytes,
                        matrix.data() + (i * columns + j) * element_bytes, element_bytes);
    return result;
}

std::string describe(const ReductionPlan& plan) {
    const auto number = [](std::size_t value) { return std::to_string(value); };
    std::string text;
    switch (plan.arithmetic) {
        case Arithmetic::tensor_core:
            text = std::string("tensor core ") + name_of(plan.a) + ", L " + number(block_length(plan)) +
                   ", F " + std::to_string(plan.tensor_core.alignment_fraction_bits);
            break;
        case Arithmetic::fused_multiply_add:
            text = std::string("fused multiply-adds in ") + name_of(plan.accumulator);
            break;
        case Arithmetic::multiply_then_add:
            text = std::string("multiplications, then additions in ") + name_of(plan.accumulator);
            break;
        case Arithmetic::integer:
            return "exact integers";
    }
    if (plan.residue != ResidueTile::last)
        text += ", block_k " + number(plan.block_k) +
                (plan.residue == ResidueTile::first ? ", residue first" : ", residue wrapped");
    if (plan.promotion_interval != 0) text += ", promoted every " + number(plan.promotion_interval);
    if (plan.accumulators > 1) {
        text += ", " + number(plan.accumulators) + " accumulators " +
                (plan.accumulator_group == 0 ? std::string("of whole parts")
                                             : "in turn for " + number(plan.accumulator_group)) +
                name_of(plan.combination);
    }
    if (plan.k_per_split != 0)
        text += ", slices of " + number(plan.k_per_split) +
                (plan.first_slice_k != 0 ? ", the first of " + number(plan.first_slice_k) : std::string());
    else if (plan.splits > 1)
        text += ", split in " + number(plan.splits) + " by " + number(plan.split_grain);
    if (plan.k_per_split != 0 || plan.splits > 1) {
        text += plan.merge == SliceMerge::accumulators ? ", merged as accumulators"
                : plan.merge == SliceMerge::output_partials
                    ? std::string(", merged as ") + name_of(plan.d)
                    : std::string(", chained through ") + name_of(plan.d);
    }
    return text;
}

}  // namespace heddle::numerics
