#include "models/tpu/systolic_array_cells.h"

#include <algorithm>
#include <bit>

#include "isa/common/error.h"
#include "isa/numerics/systolic.h"

namespace heddle::models::cells {

Word multiply_add(Arithmetic arithmetic, Word sum, Word a, Word b) {
    if (arithmetic == Arithmetic::integer) return sum + a * b;
    const auto bf16 = [](Word word) { return static_cast<std::uint16_t>(word >> 16); };
    return std::bit_cast<Word>(numerics::matrix_unit_accumulate(std::bit_cast<float>(sum), bf16(a), bf16(b)));
}

namespace {

using numerics::flush_subnormal;

/// Low slices have no sign.
Word slice_of(Word value, WeightSlice slice) {
    if (slice == WeightSlice::whole) return value;
    if (slice == WeightSlice::low) return value & 0xFFu;
    return static_cast<Word>(static_cast<std::int32_t>(value) >> 8);
}

Word multiply_add(Arithmetic arithmetic, Word sum, Word a, Word b, WeightSlice slice) {
    return cells::multiply_add(arithmetic, sum, a, arithmetic == Arithmetic::integer ? slice_of(b, slice) : b);
}

Word add(Arithmetic arithmetic, Word a, Word b) {
    if (arithmetic == Arithmetic::integer) return a + b;
    return std::bit_cast<Word>(flush_subnormal(std::bit_cast<float>(a) + std::bit_cast<float>(b)));
}

}  // namespace

std::ostream& operator<<(std::ostream& stream, const Activation& value) {
    return stream << value.valid << value.value;
}
std::ostream& operator<<(std::ostream& stream, const Weight& value) {
    for (const Weight::Lane& lane : value.lanes) stream << lane.valid << lane.value;
    return stream;
}
std::ostream& operator<<(std::ostream& stream, const PartialSum& value) {
    return stream << value.valid << value.value;
}

ProcessingElement::ProcessingElement(const sc_core::sc_module_name& name, Arithmetic arithmetic,
                                     bool shadow_weights)
    : sc_module(name), arithmetic_(arithmetic), shadow_weights_(shadow_weights) {
    SC_METHOD(step);
    sensitive << clock.pos();
    dont_initialize();
}

void ProcessingElement::reset() {
    weight_ = shadow_ = 0;
    shadow_full_ = false;
    fault_.clear();
}

void ProcessingElement::step() {
    const Activation activation = activation_in.read();
    const PartialSum sum = sum_in.read();
    const Weight weight = weight_in.read();
    PartialSum result;
    if (activation.valid != sum.valid) fault_ = "a partial sum is out of step with its activation";
    if (activation.valid) {
        if (activation.swap && shadow_weights_) {
            if (!shadow_full_) fault_ = "a swap came before its weight";
            weight_ = shadow_;
            shadow_full_ = false;
        }
        result = sum;
        result.value = multiply_add(arithmetic_, sum.value, activation.value, weight_, activation.slice);
    }
    Weight passed;
    for (unsigned lane = 0; lane < kWeightLanes; ++lane) {
        const Weight::Lane& given = weight.lanes[lane];
        if (!given.valid) continue;
        if (given.hops > 0) {
            passed.lanes[lane] = {true, given.hops - 1, given.value};
        } else if (!shadow_weights_) {
            if (activation.valid) fault_ = "a weight came while the cell computed";
            weight_ = given.value;
        } else {
            if (shadow_full_) fault_ = "a weight overwrote one that was not taken";
            shadow_ = given.value;
            shadow_full_ = true;
        }
    }
    activation_out.write(activation);
    weight_out.write(passed);
    sum_out.write(result);
}

ResultColumn::ResultColumn(const sc_core::sc_module_name& name, Arithmetic arithmetic, unsigned rows)
    : sc_module(name), arithmetic_(arithmetic), values_("values", rows), received_("received", rows) {
    SC_METHOD(step);
    sensitive << clock.pos();
    dont_initialize();
}

void ResultColumn::reset() {
    for (auto& value : values_) value.write(0);
    for (auto& count : received_) count.write(0);
}

void ResultColumn::step() {
    const PartialSum sum = sum_in.read();
    if (!sum.valid) return;
    auto& value = values_[sum.result_row];
    value.write(add(arithmetic_, sum.accumulate ? value.read() : 0, sum.value << sum.shift));
    received_[sum.result_row].write(received_[sum.result_row].read() + 1);
}

SystolicArrayCells::SystolicArrayCells(const sc_core::sc_module_name& name, unsigned rows, unsigned columns,
                                       unsigned result_rows, Arithmetic arithmetic, bool shadow_weights,
                                       unsigned weight_rows_per_cycle)
    : CellGrid(name, rows, columns, SumsGo::south,
               [&](const char* cell) {
                   return std::make_unique<ProcessingElement>(cell, arithmetic, shadow_weights);
               }),
      result_rows_(result_rows),
      shadow_weights_(shadow_weights),
      weight_rows_per_cycle_(weight_rows_per_cycle),
      push_cycles_((rows + weight_rows_per_cycle - 1) / weight_rows_per_cycle) {
    for (unsigned column = 0; column < columns; ++column) {
        const std::string below = "results_" + std::to_string(column);
        auto results = std::make_unique<ResultColumn>(below.c_str(), arithmetic, result_rows);
        results->clock(clock_);
        results->sum_in(sums_[at(rows, column, columns)]);
        result_columns_.push_back(std::move(results));
    }
    SC_METHOD(step);
    sensitive << clock_.posedge_event();
    dont_initialize();
}

std::vector<Outcome> SystolicArrayCells::run(const std::vector<Command>& commands) {
    // Let what was on the wires run out, then start counting.
    running_ = false;
    pushes_.clear();
    matmuls_.clear();
    for (unsigned i = 0; i < 2 * (rows_ + columns_) + 4; ++i) tick();
    for (const auto& element : elements_) element->reset();
    for (const auto& results : result_columns_) results->reset();
    sc_core::sc_start(1, sc_core::SC_NS);
    commands_ = commands;
    outcomes_.assign(commands.size(), {});
    finished_.assign(commands.size(), false);
    next_push_ = next_of(Command::Kind::push, 0);
    next_matmul_ = next_of(Command::Kind::matmul, 0);
    next_pop_ = next_of(Command::Kind::pop, 0);
    shadow_taken_ = false;
    draining_ = false;
    pop_row_ = 0;
    cycle_ = last_array_cycle_ = 0;
    std::uint64_t work = 0;
    for (const Command& command : commands) work = std::max(work, command.visible);
    for (const Command& command : commands) work += length_of(command) + 2 * (rows_ + columns_) + 4;
    running_ = true;
    while (!done()) {
        if (cycle_ > work) throw Error("internal: the array of cells does not get on");
        tick();
    }
    check_faults();
    return outcomes_;
}

bool SystolicArrayCells::done() const {
    return !draining_ && std::all_of(finished_.begin(), finished_.end(), [](bool value) { return value; });
}

std::size_t SystolicArrayCells::next_of(Command::Kind kind, std::size_t from) const {
    while (from < commands_.size() && commands_[from].kind != kind) ++from;
    return from;
}

bool SystolicArrayCells::overlapping(const Command& a, const Command& b) const {
    return a.result_row < b.result_row + b.rows && b.result_row < a.result_row + a.rows;
}

/// At the edge that begins cycle cycle_: what the wires show is that of the cycle before.
void SystolicArrayCells::step() {
    if (!running_) return drive_edges();
    if (cycle_ > 0) {
        draining_ = watch_cells(cycle_);
        read_results();
    }
    begin_matmul();
    begin_push();
    drive_edges();
    ++cycle_;
}

/// Takes one result row in the cycle before, when it was complete.
void SystolicArrayCells::read_results() {
    if (next_pop_ >= commands_.size()) return;
    const std::uint64_t cycle = cycle_ - 1;
    const Command& pop = commands_[next_pop_];
    if (cycle < pop.visible) return;
    const unsigned row = pop.result_row + pop_row_;
    unsigned expected = 0;
    for (std::size_t i = 0; i < next_pop_; ++i) {
        const Command& matmul = commands_[i];
        if (matmul.kind != Command::Kind::matmul) continue;
        if (row >= matmul.result_row && row < matmul.result_row + matmul.rows) expected += matmul.slices();
    }
    for (const auto& results : result_columns_) {
        if (results->sums_received(row) < expected) return;
    }
    Outcome& outcome = outcomes_[next_pop_];
    if (pop_row_ == 0) outcome.begin = cycle;
    for (unsigned column = 0; column < pop.columns; ++column) {
        outcome.results.push_back(result_columns_[column]->value(row));
    }
    if (++pop_row_ < pop.rows) return;
    outcome.end = cycle;
    finished_[next_pop_] = true;
    pop_row_ = 0;
    next_pop_ = next_of(Command::Kind::pop, next_pop_ + 1);
}

void SystolicArrayCells::begin_matmul() {
    if (next_matmul_ >= commands_.size() || cycle_ < commands_[next_matmul_].visible) return;
    const Command& matmul = commands_[next_matmul_];
    if (!matmuls_.empty() && cycle_ < matmuls_.back().begin + length_of(commands_[matmuls_.back().command]))
        return;
    if (matmul.next_weights) {
        // The tile is the last pushed one, and its last row has entered at the north edge.
        if (!shadow_taken_ || cycle_ < pushes_.back().begin + push_cycles_) return;
    }
    for (std::size_t i = 0; i < next_matmul_; ++i) {
        if (commands_[i].kind == Command::Kind::pop && !finished_[i] && overlapping(commands_[i], matmul))
            return;
    }
    matmuls_.push_back({next_matmul_, cycle_});
    outcomes_[next_matmul_] = {cycle_, cycle_ + length_of(matmul) - 1, {}};
    if (matmul.next_weights) shadow_taken_ = false;
    next_matmul_ = next_of(Command::Kind::matmul, next_matmul_ + 1);
}

void SystolicArrayCells::begin_push() {
    if (next_push_ >= commands_.size() || cycle_ < commands_[next_push_].visible) return;
    if (shadow_taken_ || (!pushes_.empty() && cycle_ < pushes_.back().begin + push_cycles_)) return;
    if (!shadow_weights_) {
        const bool entering = !matmuls_.empty() &&
                              cycle_ < matmuls_.back().begin + length_of(commands_[matmuls_.back().command]);
        if (next_matmul_ < next_push_ || entering || draining_) return;
    }
    pushes_.push_back({next_push_, cycle_});
    outcomes_[next_push_] = {cycle_, cycle_ + push_cycles_ - 1, {}};
    shadow_taken_ = true;
    next_push_ = next_of(Command::Kind::push, next_push_ + 1);
}

std::uint64_t SystolicArrayCells::length_of(const Command& command) const {
    if (command.kind == Command::Kind::push) return push_cycles_;
    return std::uint64_t{command.rows} * (command.kind == Command::Kind::matmul ? command.slices() : 1);
}

/// What enters array row `row` in the step-th cycle of its stream: all slices of an activation row, the low
/// ones first.
Activation SystolicArrayCells::activation_at(const Command& matmul, std::uint64_t step, unsigned row) const {
    const std::uint64_t m = step / matmul.slices(), slice = step % matmul.slices();
    Activation activation;
    activation.valid = true;
    activation.swap = matmul.next_weights && step == 0;
    activation.value = row < matmul.columns ? matmul.values[m * matmul.columns + row] : 0;
    if (matmul.activation_slices == 2) {
        const bool high = slice % 2 == 1;
        activation.value = slice_of(activation.value, high ? WeightSlice::high : WeightSlice::low);
    }
    if (matmul.weight_slices == 2) {
        const bool high = slice / matmul.activation_slices == 1;
        activation.slice = high ? WeightSlice::high : WeightSlice::low;
    }
    return activation;
}

Weight SystolicArrayCells::weight_at(const Command& push, std::uint64_t step, unsigned column) const {
    Weight weight;
    for (unsigned lane = 0; lane < weight_rows_per_cycle_; ++lane) {
        const auto row = static_cast<unsigned>(step) * weight_rows_per_cycle_ + lane;
        if (row >= rows_) break;
        const bool inside = row < push.rows && column < push.columns;
        weight.lanes[lane] = {true, row, inside ? push.values[std::size_t{row} * push.columns + column] : 0};
    }
    return weight;
}

/// What stands at the edges in cycle cycle_.
void SystolicArrayCells::drive_edges() {
    for (unsigned row = 0; row < rows_; ++row) {
        Activation activation;
        for (const Stream& stream : matmuls_) {
            const Command& matmul = commands_[stream.command];
            const std::uint64_t begin = stream.begin + row;
            if (cycle_ >= begin && cycle_ < begin + length_of(matmul))
                activation = activation_at(matmul, cycle_ - begin, row);
        }
        activations_[at(row, 0, columns_ + 1)].write(activation);
    }
    for (unsigned column = 0; column < columns_; ++column) {
        PartialSum sum;
        for (const Stream& stream : matmuls_) {
            const Command& matmul = commands_[stream.command];
            const std::uint64_t begin = stream.begin + column;
            if (cycle_ < begin || cycle_ >= begin + length_of(matmul)) continue;
            const auto step = static_cast<unsigned>(cycle_ - begin);
            const unsigned slice = step % matmul.slices();
            const unsigned shift = 8 * (slice % matmul.activation_slices + slice / matmul.activation_slices);
            sum = {true, matmul.result_row + step / matmul.slices(), matmul.accumulate || slice > 0, shift,
                   0};
        }
        sums_[at(0, column, columns_)].write(sum);
        Weight weight;
        for (const Stream& stream : pushes_) {
            const std::uint64_t begin = stream.begin + column;
            if (cycle_ >= begin && cycle_ < begin + push_cycles_)
                weight = weight_at(commands_[stream.command], cycle_ - begin, column);
        }
        weights_[at(0, column, columns_)].write(weight);
    }
    const auto over = [&](const std::vector<Stream>& streams, std::size_t index) {
        const Stream& stream = streams[index];
        return cycle_ >= stream.begin + length_of(commands_[stream.command]) + rows_ + columns_;
    };
    for (std::vector<Stream>* const streams : {&pushes_, &matmuls_}) {
        while (streams->size() > 1 && over(*streams, 0)) streams->erase(streams->begin());
        for (const Stream& stream : *streams) {
            if (cycle_ >= outcomes_[stream.command].end) finished_[stream.command] = true;
        }
    }
    if (!matmuls_.empty())
        draining_ =
            draining_ || cycle_ <= matmuls_.back().begin + length_of(commands_[matmuls_.back().command]);
}

}  // namespace heddle::models::cells
