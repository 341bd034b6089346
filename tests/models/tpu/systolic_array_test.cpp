// The matrix unit, modelled per tile, against an array in which every processing element is a module: the
// same cycles for every push, matmul and pop, and the same bits.
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <random>

#include "isa/numerics/systolic.h"
#include "models/tpu/output_stationary_cells.h"
#include "models/tpu/systolic_array_cells.h"
#include "models/tpu/systolic_gemm.h"
#include "scale_sim_formula.h"

using namespace heddle;
using namespace heddle::models;

namespace {

constexpr unsigned kResultRows = 24;

struct Times : UnitObserver {
    void finished(const Block&, const IssuedInstruction& issued, Cycle begin, Cycle end) override {
        at.resize(std::max<std::size_t>(at.size(), issued.sequence + 1));
        at[issued.sequence] = {begin, end};
    }
    std::vector<std::pair<Cycle, Cycle>> at;
};

using tpu::ElementType;

/// What operands of a case lie in VMEM as.
struct Format {
    std::vector<ElementType> activations, weights;
    bool integer = false;
};
const Format kBf16{{ElementType::bf16}, {ElementType::bf16}, false};
const Format kInt8{{ElementType::int8}, {ElementType::int8}, true};
/// 8 x 8, 8 x 16, 16 x 8 and 16 x 16 bits, mixed.
const Format kInt16{{ElementType::int8, ElementType::int16}, {ElementType::int8, ElementType::int16}, true};
const Format kFp8{
    {ElementType::fp8_e4m3, ElementType::fp8_e5m2}, {ElementType::fp8_e4m3, ElementType::fp8_e5m2}, false};
/// Passes over the three bf16 parts of fp32 numbers, in any order.
const Format kFp32{{ElementType::fp32}, {ElementType::fp32}, false};

class Case {
  public:
    Case(std::mt19937& random, unsigned rows, unsigned columns, const Format& format)
        : random_(random), rows_(rows), columns_(columns), format_(format) {
        const bool delays = pick(0, 1) == 1;
        const unsigned tiles = pick(1, 5);
        Cycle visible = 0;
        for (unsigned tile = 0; tile < tiles; ++tile) {
            push(visible);
            const unsigned matmuls = pick(1, 3);
            for (unsigned i = 0; i < matmuls; ++i) {
                if (delays) visible += pick(0, 3) == 0 ? pick(0, 3 * rows) : 0;
                matmul(visible, i == 0);
                if (pick(0, 2) == 0) pop(visible);
            }
        }
        pop(visible);
        program.instructions.push_back({tpu::Halt{}, {}, {}, 0});
    }

    tpu::CoreProgram program;
    std::vector<cells::Command> commands;
    std::vector<Cycle> visible;
    std::vector<std::byte> vmem;
    struct Popped {
        std::size_t command, address;
        unsigned words;
    };
    std::vector<Popped> popped;

  private:
    unsigned pick(unsigned low, unsigned high) {
        return std::uniform_int_distribution<unsigned>(low, high)(random_);
    }

    ElementType one_of(const std::vector<ElementType>& types) {
        return types[pick(0, static_cast<unsigned>(types.size()) - 1)];
    }
    tpu::Bf16Part part(ElementType type) {
        return type == ElementType::fp32 ? static_cast<tpu::Bf16Part>(pick(0, 2)) : tpu::Bf16Part::high;
    }

    /// An element as it lies in memory.
    cells::Word element(ElementType type) {
        if (type == ElementType::int8 || type == ElementType::int16)
            return pick(0, type == ElementType::int8 ? 0xFF : 0xFFFF);
        if (type == ElementType::fp8_e4m3 || type == ElementType::fp8_e5m2) {
            // No NaN and no infinity: e5m2 has them from 0x7C on.
            return (pick(0, 1) << 7) | pick(0, type == ElementType::fp8_e4m3 ? 0x7E : 0x7B);
        }
        const unsigned kind = pick(0, 19);
        if (kind == 0) return 0;
        // Mostly near one, sometimes so small that products underflow and are flushed.
        const unsigned exponent = kind == 1 ? pick(0, 254) : pick(118, 134);
        const cells::Word number = (pick(0, 1) << 31) | (exponent << 23) | pick(0, 0x7FFFFF);
        return type == ElementType::bf16 ? number >> 16 : number;
    }

    /// What the cells are given of it. fp8 by its definition: 2^(e - bias) (1 + f), subnormals 2^(1 - bias)
    /// f.
    static cells::Word operand(cells::Word bits, ElementType type, tpu::Bf16Part part) {
        switch (type) {
            case ElementType::int8:
                return static_cast<cells::Word>(static_cast<std::int32_t>(static_cast<std::int8_t>(bits)));
            case ElementType::int16:
                return static_cast<cells::Word>(static_cast<std::int32_t>(static_cast<std::int16_t>(bits)));
            case ElementType::bf16:
                return bits << 16;
            case ElementType::fp8_e4m3:
            case ElementType::fp8_e5m2: {
                const int fraction_bits = type == ElementType::fp8_e4m3 ? 3 : 2;
                const int bias = type == ElementType::fp8_e4m3 ? 7 : 15;
                const int exponent = static_cast<int>((bits & 0x7F) >> fraction_bits);
                const float fraction =
                    std::ldexp(static_cast<float>(bits & ((1u << fraction_bits) - 1)), -fraction_bits);
                const float number =
                    std::ldexp(exponent == 0 ? fraction : 1 + fraction, std::max(exponent, 1) - bias);
                return std::bit_cast<cells::Word>((bits & 0x80) != 0 ? -number : number);
            }
            default: {
                const numerics::Bf16Parts parts = numerics::split_into_bf16(std::bit_cast<float>(bits));
                const std::uint16_t half = part == tpu::Bf16Part::high     ? parts.high
                                           : part == tpu::Bf16Part::middle ? parts.middle
                                                                           : parts.low;
                return cells::Word{half} << 16;
            }
        }
    }

    /// Puts `count` new elements into VMEM; the address, and what the cells are given.
    std::uint64_t store(unsigned count, ElementType type, tpu::Bf16Part part,
                        std::vector<cells::Word>& values) {
        const std::uint64_t address = vmem.size();
        for (unsigned i = 0; i < count; ++i) {
            const cells::Word bits = element(type);
            for (unsigned byte = 0; byte < bytes_of(type); ++byte)
                vmem.push_back(static_cast<std::byte>((bits >> (8 * byte)) & 0xFF));
            values.push_back(operand(bits, type, part));
        }
        vmem.resize((vmem.size() + 3) / 4 * 4);
        return address;
    }

    void add(cells::Command command, tpu::Operation operation, Cycle at) {
        command.visible = at;
        commands.push_back(std::move(command));
        visible.push_back(at);
        program.instructions.push_back({std::move(operation), {}, {}, 0});
    }

    void push(Cycle at) {
        depth_ = pick(1, rows_);
        width_ = pick(1, columns_);
        cells::Command command;
        command.rows = depth_;
        command.columns = width_;
        tpu::PushWeights push;
        push.type = weight_type_ = one_of(format_.weights);
        push.part = part(push.type);
        push.vmem = static_cast<std::int64_t>(store(depth_ * width_, push.type, push.part, command.values));
        push.rows = depth_;
        push.columns = width_;
        push.stride = std::uint64_t{width_} * bytes_of(push.type);
        add(std::move(command), push, at);
    }

    void matmul(Cycle at, bool next_weights) {
        const unsigned rows = pick(1, kResultRows);
        cells::Command command;
        command.kind = cells::Command::Kind::matmul;
        command.rows = rows;
        command.columns = depth_;
        command.next_weights = next_weights;
        command.accumulate = pick(0, 1) == 1;
        command.result_row = pick(0, kResultRows - rows);
        tpu::Matmul matmul;
        matmul.type = one_of(format_.activations);
        matmul.part = part(matmul.type);
        matmul.vmem =
            static_cast<std::int64_t>(store(rows * depth_, matmul.type, matmul.part, command.values));
        command.activation_slices = matmul.type == ElementType::int16 ? 2 : 1;
        command.weight_slices = weight_type_ == ElementType::int16 ? 2 : 1;
        matmul.rows = rows;
        matmul.depth = depth_;
        matmul.columns = width_;
        matmul.stride = std::uint64_t{depth_} * bytes_of(matmul.type);
        matmul.next_weights = next_weights;
        matmul.accumulator = command.result_row;
        matmul.accumulate = command.accumulate;
        if (first_) {
            // Every result row is written once before rows are added to, so that int8 and bf16 results never
            // mix.
            first_ = false;
            command.accumulate = matmul.accumulate = false;
        }
        add(std::move(command), matmul, at);
    }

    void pop(Cycle at) {
        const unsigned rows = pick(1, kResultRows);
        cells::Command command;
        command.kind = cells::Command::Kind::pop;
        command.rows = rows;
        command.columns = pick(1, columns_);
        command.result_row = pick(0, kResultRows - rows);
        tpu::Pop pop;
        pop.vmem = static_cast<std::int64_t>(vmem.size());
        pop.rows = rows;
        pop.columns = command.columns;
        pop.stride = std::uint64_t{command.columns} * 4;
        pop.type = format_.integer ? ElementType::int32 : ElementType::fp32;
        pop.accumulator = command.result_row;
        popped.push_back({commands.size(), vmem.size(), rows * command.columns});
        vmem.resize(vmem.size() + std::size_t{rows} * command.columns * 4);
        add(std::move(command), pop, at);
    }

    std::mt19937& random_;
    unsigned rows_, columns_;
    const Format& format_;
    ElementType weight_type_ = ElementType::bf16;
    unsigned depth_ = 0, width_ = 0;
    bool first_ = true;
};

void compare(unsigned rows, unsigned columns, const Format& format, WeightBuffering buffering, unsigned cases,
             unsigned weight_rows_per_cycle = 1) {
    MatrixUnitConfig config;
    config.rows = rows;
    config.columns = columns;
    config.weight_buffering = buffering;
    config.accumulator_rows = kResultRows;
    config.weight_rows_per_cycle = weight_rows_per_cycle;
    ClockDomain clock("clock", 1e9);
    MatrixUnitBench bench("bench", clock, config);
    cells::SystolicArrayCells array("array", rows, columns, kResultRows,
                                    format.integer ? cells::Arithmetic::integer : cells::Arithmetic::bf16,
                                    buffering == WeightBuffering::dual, weight_rows_per_cycle);
    tpu::Limits limits;
    limits.matrix_units = 1;
    limits.array_rows = rows;
    limits.array_columns = columns;
    limits.accumulator_rows = kResultRows;
    limits.vmem_bytes = 1 << 20;
    std::mt19937 random(rows * 1000 + columns * 10 + static_cast<unsigned>(format.activations[0]));
    tpu::Memory hbm;
    for (unsigned number = 0; number < cases; ++number) {
        Case one(random, rows, columns, format);
        INFO("case " << number);
        const std::vector<cells::Outcome> expected = array.run(one.commands);

        tpu::CoreState state(limits);
        if (format.integer) {
            // Rows start as int32 zeros: write them through a first matmul of the state alone.
            tpu::PushWeights push;
            push.rows = push.columns = 1;
            push.type = tpu::ElementType::int8;
            tpu::Matmul matmul;
            matmul.rows = kResultRows;
            matmul.depth = matmul.columns = 1;
            matmul.type = tpu::ElementType::int8;
            state.perform({push, {}, {}, 0}, {}, hbm);
            state.perform({matmul, {}, {}, 0}, {}, hbm);
        }
        std::copy(one.vmem.begin(), one.vmem.end(), state.vmem().begin());
        Times times;
        bench.unit().set_values(&state, &hbm);
        bench.unit().set_observer(&times);
        clock.set_tick_every_cycle(number % 4 == 3);
        const Cycle last = bench.run(one.program, one.visible);

        REQUIRE(last == array.last_array_cycle());
        REQUIRE(times.at.size() == expected.size());
        for (std::size_t i = 0; i < expected.size(); ++i) {
            INFO("command " << i);
            if (one.commands[i].kind != cells::Command::Kind::pop)
                REQUIRE(times.at[i].first == expected[i].begin);
            REQUIRE(times.at[i].second == expected[i].end);
        }
        for (const Case::Popped& pop : one.popped) {
            INFO("pop, command " << pop.command);
            std::vector<cells::Word> words(pop.words);
            std::memcpy(words.data(), state.vmem().data() + pop.address, std::size_t{pop.words} * 4);
            REQUIRE(words == expected[pop.command].results);
        }
    }
}

}  // namespace

TEST_CASE("matrix unit = array of cells: 4 x 4, bf16, shadow weights") {
    compare(4, 4, kBf16, WeightBuffering::dual, 3000);
}
TEST_CASE("matrix unit = array of cells: 4 x 4, int8, shadow weights") {
    compare(4, 4, kInt8, WeightBuffering::dual, 3000);
}
TEST_CASE("matrix unit = array of cells: 4 x 4, bf16, no shadow weights") {
    compare(4, 4, kBf16, WeightBuffering::single, 3000);
}
TEST_CASE("matrix unit = array of cells: 5 x 3, bf16, shadow weights") {
    compare(5, 3, kBf16, WeightBuffering::dual, 2000);
}
TEST_CASE("matrix unit = array of cells: 3 x 7, int8, no shadow weights") {
    compare(3, 7, kInt8, WeightBuffering::single, 2000);
}
TEST_CASE("matrix unit = array of cells: 8 x 8, bf16, shadow weights") {
    compare(8, 8, kBf16, WeightBuffering::dual, 500);
}
TEST_CASE("matrix unit = array of cells: 8 x 8, int8, no shadow weights") {
    compare(8, 8, kInt8, WeightBuffering::single, 500);
}
TEST_CASE("matrix unit = array of cells: 16 x 16, bf16, shadow weights") {
    compare(16, 16, kBf16, WeightBuffering::dual, 120);
}
TEST_CASE("matrix unit = array of cells: 16 x 16, int8, no shadow weights") {
    compare(16, 16, kInt8, WeightBuffering::single, 120);
}
TEST_CASE("matrix unit = array of cells: one cell") {
    compare(1, 1, kBf16, WeightBuffering::dual, 1000);
}
TEST_CASE("matrix unit = array of cells: 4 x 5, 8 and 16 bits, shadow weights") {
    compare(4, 5, kInt16, WeightBuffering::dual, 2000);
}
TEST_CASE("matrix unit = array of cells: 5 x 4, 8 and 16 bits, no shadow weights") {
    compare(5, 4, kInt16, WeightBuffering::single, 1000);
}
TEST_CASE("matrix unit = array of cells: 4 x 4, fp8, shadow weights") {
    compare(4, 4, kFp8, WeightBuffering::dual, 1000);
}
TEST_CASE("matrix unit = array of cells: 3 x 5, fp8, no shadow weights") {
    compare(3, 5, kFp8, WeightBuffering::single, 500);
}
TEST_CASE("matrix unit = array of cells: 4 x 4, passes over parts of fp32, shadow weights") {
    compare(4, 4, kFp32, WeightBuffering::dual, 1000);
}
TEST_CASE("matrix unit = array of cells: 5 x 3, passes over parts of fp32, no shadow weights") {
    compare(5, 3, kFp32, WeightBuffering::single, 500);
}
TEST_CASE("matrix unit = array of cells: two rows of weights per cycle, shadow weights") {
    compare(6, 4, kBf16, WeightBuffering::dual, 1000, 2);
}
TEST_CASE("matrix unit = array of cells: two rows of weights per cycle, no shadow weights") {
    compare(7, 3, kInt8, WeightBuffering::single, 500, 2);
}
TEST_CASE("matrix unit = array of cells: four rows of weights per cycle") {
    compare(7, 4, kInt8, WeightBuffering::dual, 500, 4);
}

namespace {

/// Whole products: the stationary operand is that of the dataflow, the bits are those of the columns'
/// arithmetic.
void compare_output_stationary(unsigned rows, unsigned columns, const Format& format,
                               WeightBuffering buffering, unsigned cases) {
    const std::string name = std::string(buffering == WeightBuffering::dual ? "dual" : "single") +
                             (format.integer ? "_int" : "_bf16");
    cells::OutputStationaryCells array(name.c_str(), rows, columns,
                                       format.integer ? cells::Arithmetic::integer : cells::Arithmetic::bf16,
                                       buffering == WeightBuffering::dual);
    MatrixUnitConfig config;
    config.rows = rows;
    config.columns = columns;
    config.weight_buffering = buffering;
    std::mt19937 random(rows + 100 * columns);
    const auto pick = [&](unsigned low, unsigned high) {
        return std::uniform_int_distribution<unsigned>(low, high)(random);
    };
    const auto number = [&] {
        if (format.integer) return static_cast<cells::Word>(static_cast<int>(pick(0, 255)) - 128);
        return (pick(0, 1) << 31) | (pick(110, 134) << 23) | (pick(0, 127) << 16);
    };
    for (unsigned i = 0; i < cases; ++i) {
        INFO("case " << i);
        std::vector<cells::Fold> folds(pick(1, 6));
        std::vector<OutputStationaryFold> tiles;
        Cycle visible = 0;
        for (cells::Fold& fold : folds) {
            if (pick(0, 3) == 0) visible += pick(0, 40);
            fold = {visible, pick(1, rows), pick(1, columns), pick(1, 20), {}, {}};
            for (unsigned e = 0; e < fold.rows * fold.depth; ++e) fold.activations.push_back(number());
            for (unsigned e = 0; e < fold.depth * fold.columns; ++e) fold.weights.push_back(number());
            tiles.push_back({fold.rows, fold.columns, fold.depth, visible});
        }
        const std::vector<cells::FoldOutcome> expected = array.run(folds);
        const OutputStationaryTimes times = time_output_stationary(config, tiles);
        REQUIRE(times.last_array_cycle == array.last_array_cycle());
        for (std::size_t f = 0; f < folds.size(); ++f) {
            INFO("fold " << f);
            REQUIRE(times.begin[f] == expected[f].begin);
            REQUIRE(times.last_result[f] == expected[f].last_result);
            const cells::Fold& fold = folds[f];
            for (unsigned m = 0; m < fold.rows; ++m) {
                for (unsigned n = 0; n < fold.columns; ++n) {
                    cells::Word sum = 0;
                    if (format.integer) {
                        for (unsigned k = 0; k < fold.depth; ++k)
                            sum += fold.activations[m * fold.depth + k] * fold.weights[k * fold.columns + n];
                    } else {
                        std::vector<std::uint16_t> a, b;
                        for (unsigned k = 0; k < fold.depth; ++k) {
                            a.push_back(
                                static_cast<std::uint16_t>(fold.activations[m * fold.depth + k] >> 16));
                            b.push_back(static_cast<std::uint16_t>(fold.weights[k * fold.columns + n] >> 16));
                        }
                        sum = std::bit_cast<cells::Word>(numerics::matrix_unit_column(
                            {0, true}, fold.depth, a.data(), 1, b.data(), 1, 0.0f));
                    }
                    REQUIRE(expected[f].results[m * fold.columns + n] == sum);
                }
            }
        }
    }
}

}  // namespace

TEST_CASE("output-stationary tiles = array of cells, bf16, folds overlapping") {
    compare_output_stationary(4, 4, kBf16, WeightBuffering::dual, 1500);
}
TEST_CASE("output-stationary tiles = array of cells, int8, folds overlapping") {
    compare_output_stationary(5, 3, kInt8, WeightBuffering::dual, 1000);
}
TEST_CASE("output-stationary tiles = array of cells, bf16, one fold after the other") {
    compare_output_stationary(4, 4, kBf16, WeightBuffering::single, 1500);
}
TEST_CASE("output-stationary tiles = array of cells, int8, one fold after the other") {
    compare_output_stationary(3, 6, kInt8, WeightBuffering::single, 1000);
}

TEST_CASE("input-stationary = the same array with a tile of activations in it") {
    // y^T = w^T x^T: inputs stay, weights stream. The same cells give the bits of the weight-stationary
    // product.
    constexpr unsigned size = 4, m = 4, n = 11, k = 4;
    cells::SystolicArrayCells stays("stays", size, size, 16, cells::Arithmetic::bf16, true);
    std::mt19937 random(5);
    for (unsigned number = 0; number < 300; ++number) {
        std::vector<cells::Word> x(m * k), w(k * n), x_turned(k * m), w_turned(n * k);
        for (cells::Word& word : x) word = (random() & 0x807F0000u) | ((118 + random() % 16) << 23);
        for (cells::Word& word : w) word = (random() & 0x807F0000u) | ((118 + random() % 16) << 23);
        for (unsigned i = 0; i < m; ++i)
            for (unsigned j = 0; j < k; ++j) x_turned[j * m + i] = x[i * k + j];
        for (unsigned i = 0; i < k; ++i)
            for (unsigned j = 0; j < n; ++j) w_turned[j * k + i] = w[i * n + j];
        cells::Command push, matmul, pop;
        push.rows = k;
        push.columns = m;
        push.values = x_turned;
        matmul.kind = cells::Command::Kind::matmul;
        matmul.rows = n;
        matmul.columns = k;
        matmul.values = w_turned;
        pop.kind = cells::Command::Kind::pop;
        pop.rows = n;
        pop.columns = m;
        const std::vector<cells::Outcome> outcomes = stays.run({push, matmul, pop});
        REQUIRE(stays.last_array_cycle() ==
                test::scale_sim_formula(Dataflow::input_stationary, size, size, m, n, k));
        for (unsigned i = 0; i < m; ++i) {
            for (unsigned j = 0; j < n; ++j) {
                std::vector<std::uint16_t> a, b;
                for (unsigned l = 0; l < k; ++l) {
                    a.push_back(static_cast<std::uint16_t>(x[i * k + l] >> 16));
                    b.push_back(static_cast<std::uint16_t>(w[l * n + j] >> 16));
                }
                const float expected = numerics::matrix_unit_column({}, k, a.data(), 1, b.data(), 1, 0.0f);
                REQUIRE(outcomes[2].results[j * m + i] == std::bit_cast<cells::Word>(expected));
            }
        }
    }
}
