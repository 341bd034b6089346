// The grid of a systolic array that is modelled cell by cell, whatever stays in its cells: wires, modules,
// one clock. Activations go one cell east per cycle, weights one cell south, sums south or north.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <systemc>
#include <vector>

#include "isa/common/error.h"

namespace heddle::models::cells {

/// Cells multiply bf16 numbers, or integers of 8 bits: those of 16 bits come in two slices, the low one
/// without a sign, in successive cycles.
enum class Arithmetic : std::uint8_t { bf16, integer };

/// A bf16 number as fp32 bits, or an integer as int32 bits.
using Word = std::uint32_t;

/// sum + a b as a matrix unit computes it.
Word multiply_add(Arithmetic arithmetic, Word sum, Word a, Word b);

/// The direction in which partial or finished sums leave the array.
enum class SumsGo : std::uint8_t { south, north };

/// `Element` has the ports clock, activation_in and _out, weight_in and _out, sum_in and _out, and fault(),
/// which says which value arrived in the wrong cycle.
template <class Element, class Activation, class Weight, class Sum>
class CellGrid : public sc_core::sc_module {
  protected:
    /// `make` builds the cell of a name.
    template <class Make>
    CellGrid(const sc_core::sc_module_name& name, unsigned rows, unsigned columns, SumsGo direction,
             Make make)
        : sc_module(name),
          rows_(rows),
          columns_(columns),
          clock_("clock"),
          activations_("activations", std::size_t{rows} * (columns + 1)),
          weights_("weights", (std::size_t{rows} + 1) * columns),
          sums_("sums", (std::size_t{rows} + 1) * columns) {
        for (unsigned row = 0; row < rows; ++row) {
            for (unsigned column = 0; column < columns; ++column) {
                const std::string cell = "cell_" + std::to_string(row) + "_" + std::to_string(column);
                std::unique_ptr<Element> element = make(cell.c_str());
                const bool south = direction == SumsGo::south;
                element->clock(clock_);
                element->activation_in(activations_[at(row, column, columns + 1)]);
                element->activation_out(activations_[at(row, column + 1, columns + 1)]);
                element->weight_in(weights_[at(row, column, columns)]);
                element->weight_out(weights_[at(row + 1, column, columns)]);
                element->sum_in(sums_[at(south ? row : row + 1, column, columns)]);
                element->sum_out(sums_[at(south ? row + 1 : row, column, columns)]);
                elements_.push_back(std::move(element));
            }
        }
    }

    /// A wire [row][column] in a grid that is `width` wide.
    static std::size_t at(std::size_t row, std::size_t column, std::size_t width) {
        return row * width + column;
    }

    void tick() {
        clock_.write(true);
        sc_core::sc_start(500, sc_core::SC_PS);
        clock_.write(false);
        sc_core::sc_start(500, sc_core::SC_PS);
    }

    /// Looks at the wires of the cycle before `cycle`: notes when a cell worked, and says whether a cell
    /// other than the last did, so that one will work in the next cycle.
    bool watch_cells(std::uint64_t cycle) {
        bool draining = false;
        for (unsigned row = 0; row < rows_; ++row) {
            for (unsigned column = 0; column < columns_; ++column) {
                if (!activations_[at(row, column, columns_ + 1)].read().valid) continue;
                last_array_cycle_ = cycle - 1;
                if (row + 1 < rows_ || column + 1 < columns_) draining = true;
            }
        }
        return draining;
    }

    /// Throws heddle::Error when a value reached a cell in the wrong cycle.
    void check_faults() const {
        for (const auto& element : elements_) {
            if (!element->fault().empty())
                throw Error("internal: " + std::string(element->name()) + ": " + element->fault());
        }
    }

    template <class Type>
    using Wires = sc_core::sc_vector<sc_core::sc_signal<Type>>;

    unsigned rows_, columns_;
    sc_core::sc_signal<bool>
        clock_;                      // toggled by tick(): an sc_clock would never let the kernel come to rest
    Wires<Activation> activations_;  // [rows][columns + 1]
    Wires<Weight> weights_;          // [rows + 1][columns]
    Wires<Sum> sums_;                // [rows + 1][columns]
    std::vector<std::unique_ptr<Element>> elements_;
    std::uint64_t last_array_cycle_ = 0;
};

}  // namespace heddle::models::cells
