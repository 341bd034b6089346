#include "models/tpu/output_stationary_cells.h"

#include <algorithm>

#include "isa/common/error.h"

namespace heddle::models::cells {
std::ostream& operator<<(std::ostream& stream, const Operand& value) {
    return stream << value.valid << value.value;
}
std::ostream& operator<<(std::ostream& stream, const Sum& value) {
    return stream << value.valid << value.value;
}

AccumulatingElement::AccumulatingElement(const sc_core::sc_module_name& name, Arithmetic arithmetic)
    : sc_module(name), arithmetic_(arithmetic) {
    SC_METHOD(step);
    sensitive << clock.pos();
    dont_initialize();
}

void AccumulatingElement::step() {
    const Operand activation = activation_in.read(), weight = weight_in.read();
    Sum leaving = sum_in.read();
    if (activation.valid != weight.valid || activation.last != weight.last)
        fault_ = "an activation came without its weight";
    worked_ = activation.valid && weight.valid;
    if (worked_) {
        sum_ = multiply_add(arithmetic_, activation.first ? 0 : sum_, activation.value, weight.value);
        if (activation.last) {
            if (leaving.valid) fault_ = "two results met";
            leaving = {true, sum_};
        }
    }
    activation_out.write(activation);
    weight_out.write(weight);
    sum_out.write(leaving);
}

OutputStationaryCells::OutputStationaryCells(const sc_core::sc_module_name& name, unsigned rows,
                                             unsigned columns, Arithmetic arithmetic, bool overlapped)
    : CellGrid(name, rows, columns, SumsGo::north,
               [&](const char* cell) { return std::make_unique<AccumulatingElement>(cell, arithmetic); }),
      overlapped_(overlapped) {
    SC_METHOD(step);
    sensitive << clock_.posedge_event();
    dont_initialize();
}

std::vector<FoldOutcome> OutputStationaryCells::run(const std::vector<Fold>& folds) {
    running_ = false;
    for (unsigned i = 0; i < 2 * (rows_ + columns_) + 4; ++i) tick();
    folds_ = folds;
    outcomes_.assign(folds.size(), {});
    results_seen_.assign(columns_, 0);
    next_ = 0;
    cycle_ = last_array_cycle_ = 0;
    working_ = false;
    std::uint64_t work = 0;
    for (const Fold& fold : folds) work += fold.visible + fold.depth + 4 * (rows_ + columns_) + 4;
    running_ = true;
    while (!done()) {
        if (cycle_ > work) throw Error("internal: the output-stationary array does not get on");
        tick();
    }
    check_faults();
    return outcomes_;
}

bool OutputStationaryCells::done() const {
    return std::all_of(results_seen_.begin(), results_seen_.end(),
                       [&](unsigned seen) { return seen == folds_.size() * rows_; });
}

/// At the edge that begins cycle cycle_: the wires show the cycle before.
void OutputStationaryCells::step() {
    if (running_) {
        if (cycle_ > 0) collect();
        begin_fold();
    }
    drive_edges();
    if (running_) ++cycle_;
}

/// What left the array at its north edge, and whether anything is still under way within.
void OutputStationaryCells::collect() {
    for (unsigned column = 0; column < columns_; ++column) {
        const Sum sum = sums_[at(0, column, columns_)].read();
        if (!sum.valid) continue;
        const unsigned seen = results_seen_[column]++;
        FoldOutcome& outcome = outcomes_[seen / rows_];
        const Fold& fold = folds_[seen / rows_];
        const unsigned row = seen % rows_;
        outcome.results.resize(std::size_t{fold.rows} * fold.columns);
        if (row >= fold.rows || column >= fold.columns) continue;
        outcome.results[at(row, column, fold.columns)] = sum.value;
        outcome.last_result = std::max(outcome.last_result, cycle_ - 1);
    }
    working_ = watch_cells(cycle_);
}

void OutputStationaryCells::begin_fold() {
    if (next_ >= folds_.size() || cycle_ < folds_[next_].visible) return;
    if (next_ > 0) {
        const Fold& before = folds_[next_ - 1];
        const std::uint64_t begun = outcomes_[next_ - 1].begin;
        if (cycle_ < begun + before.depth) return;
        if (!overlapped_ && (working_ || cycle_ == begun + before.depth)) {
            // The last pair has only just gone in: an array of one cell alone is through with it.
            if (rows_ > 1 || columns_ > 1 || working_) return;
        }
        // This fold's first result is ready when the last of those before has passed the first row.
        if (cycle_ + folds_[next_].depth < begun + before.depth + 2 * rows_ - 1) return;
    }
    outcomes_[next_].begin = cycle_;
    ++next_;
}

void OutputStationaryCells::drive_edges() {
    const std::size_t oldest = next_ > 2 + rows_ + columns_ ? next_ - 2 - rows_ - columns_ : 0;
    const auto operand = [&](std::uint64_t delay, auto value) {
        Operand result;
        if (!running_) return result;
        for (std::size_t i = oldest; i < next_; ++i) {
            const std::uint64_t begin = outcomes_[i].begin + delay;
            if (cycle_ < begin || cycle_ >= begin + folds_[i].depth) continue;
            const auto k = static_cast<unsigned>(cycle_ - begin);
            result = {true, k == 0, k + 1 == folds_[i].depth, value(folds_[i], k)};
        }
        return result;
    };
    for (unsigned row = 0; row < rows_; ++row) {
        activations_[at(row, 0, columns_ + 1)].write(operand(row, [&](const Fold& fold, unsigned k) {
            return row < fold.rows ? fold.activations[at(row, k, fold.depth)] : 0;
        }));
    }
    for (unsigned column = 0; column < columns_; ++column) {
        weights_[at(0, column, columns_)].write(operand(column, [&](const Fold& fold, unsigned k) {
            return column < fold.columns ? fold.weights[at(k, column, fold.columns)] : 0;
        }));
    }
}

}  // namespace heddle::models::cells
