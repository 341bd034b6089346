// The matrix unit, modelled per tile, against an array in which every processing element is a module: the
// same cycles for every push, matmul and pop, and the same bits.
#include <bit>
#include <catch2/catch.hpp>
#include <cstring>
#include <random>

#include "isa/numerics/systolic.h"
#include "models/tpu/systolic_array_cells.h"
#include "models/tpu/weight_stationary_gemm.h"

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

class Case {
  public:
    Case(std::mt19937& random, unsigned rows, unsigned columns, cells::Arithmetic arithmetic)
        : random_(random), rows_(rows), columns_(columns), arithmetic_(arithmetic) {
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

    cells::Word word() {
        if (arithmetic_ == cells::Arithmetic::int8)
            return static_cast<cells::Word>(static_cast<int>(pick(0, 255)) - 128);
        const unsigned kind = pick(0, 19);
        if (kind == 0) return 0;
        // Mostly near one, sometimes so small that products underflow and are flushed.
        const unsigned exponent = kind == 1 ? pick(0, 254) : pick(118, 134);
        return (pick(0, 1) << 31) | (exponent << 23) | (pick(0, 127) << 16);
    }

    std::uint64_t store(const std::vector<cells::Word>& words) {
        const std::uint64_t address = vmem.size();
        for (const cells::Word value : words) {
            if (arithmetic_ == cells::Arithmetic::int8) {
                vmem.push_back(static_cast<std::byte>(value & 0xFF));
            } else {
                vmem.push_back(static_cast<std::byte>((value >> 16) & 0xFF));
                vmem.push_back(static_cast<std::byte>(value >> 24));
            }
        }
        vmem.resize((vmem.size() + 3) / 4 * 4);
        return address;
    }

    tpu::ElementType type() const {
        return arithmetic_ == cells::Arithmetic::int8 ? tpu::ElementType::int8 : tpu::ElementType::bf16;
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
        for (unsigned i = 0; i < depth_ * width_; ++i) command.values.push_back(word());
        tpu::PushWeights push;
        push.vmem = static_cast<std::int64_t>(store(command.values));
        push.rows = depth_;
        push.columns = width_;
        push.type = type();
        push.stride = std::uint64_t{width_} * bytes_of(type());
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
        for (unsigned i = 0; i < rows * depth_; ++i) command.values.push_back(word());
        tpu::Matmul matmul;
        matmul.vmem = static_cast<std::int64_t>(store(command.values));
        matmul.rows = rows;
        matmul.depth = depth_;
        matmul.columns = width_;
        matmul.type = type();
        matmul.stride = std::uint64_t{depth_} * bytes_of(type());
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
        pop.type = arithmetic_ == cells::Arithmetic::int8 ? tpu::ElementType::int32 : tpu::ElementType::fp32;
        pop.accumulator = command.result_row;
        popped.push_back({commands.size(), vmem.size(), rows * command.columns});
        vmem.resize(vmem.size() + std::size_t{rows} * command.columns * 4);
        add(std::move(command), pop, at);
    }

    std::mt19937& random_;
    unsigned rows_, columns_;
    cells::Arithmetic arithmetic_;
    unsigned depth_ = 0, width_ = 0;
    bool first_ = true;
};

void compare(unsigned rows, unsigned columns, cells::Arithmetic arithmetic, WeightBuffering buffering,
             unsigned cases) {
    MatrixUnitConfig config;
    config.rows = rows;
    config.columns = columns;
    config.weight_buffering = buffering;
    config.accumulator_rows = kResultRows;
    ClockDomain clock("clock", 1e9);
    MatrixUnitBench bench("bench", clock, config);
    cells::SystolicArrayCells array("array", rows, columns, kResultRows, arithmetic,
                                    buffering == WeightBuffering::dual);
    tpu::Limits limits;
    limits.matrix_units = 1;
    limits.array_rows = rows;
    limits.array_columns = columns;
    limits.accumulator_rows = kResultRows;
    limits.vmem_bytes = 1 << 20;
    std::mt19937 random(rows * 1000 + columns * 10 + static_cast<unsigned>(arithmetic));
    tpu::Memory hbm;
    for (unsigned number = 0; number < cases; ++number) {
        Case one(random, rows, columns, arithmetic);
        INFO("case " << number);
        const std::vector<cells::Outcome> expected = array.run(one.commands);

        tpu::CoreState state(limits);
        if (arithmetic == cells::Arithmetic::int8) {
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
    compare(4, 4, cells::Arithmetic::bf16, WeightBuffering::dual, 3000);
}
TEST_CASE("matrix unit = array of cells: 4 x 4, int8, shadow weights") {
    compare(4, 4, cells::Arithmetic::int8, WeightBuffering::dual, 3000);
}
TEST_CASE("matrix unit = array of cells: 4 x 4, bf16, no shadow weights") {
    compare(4, 4, cells::Arithmetic::bf16, WeightBuffering::single, 3000);
}
TEST_CASE("matrix unit = array of cells: 5 x 3, bf16, shadow weights") {
    compare(5, 3, cells::Arithmetic::bf16, WeightBuffering::dual, 2000);
}
TEST_CASE("matrix unit = array of cells: 3 x 7, int8, no shadow weights") {
    compare(3, 7, cells::Arithmetic::int8, WeightBuffering::single, 2000);
}
TEST_CASE("matrix unit = array of cells: 8 x 8, bf16, shadow weights") {
    compare(8, 8, cells::Arithmetic::bf16, WeightBuffering::dual, 500);
}
TEST_CASE("matrix unit = array of cells: 8 x 8, int8, no shadow weights") {
    compare(8, 8, cells::Arithmetic::int8, WeightBuffering::single, 500);
}
TEST_CASE("matrix unit = array of cells: 16 x 16, bf16, shadow weights") {
    compare(16, 16, cells::Arithmetic::bf16, WeightBuffering::dual, 120);
}
TEST_CASE("matrix unit = array of cells: 16 x 16, int8, no shadow weights") {
    compare(16, 16, cells::Arithmetic::int8, WeightBuffering::single, 120);
}
TEST_CASE("matrix unit = array of cells: one cell") {
    compare(1, 1, cells::Arithmetic::bf16, WeightBuffering::dual, 1000);
}
