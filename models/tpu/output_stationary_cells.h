// An output-stationary systolic array cell by cell: every processing element is a module with ports, one
// clock. The yardstick for OutputStationaryArray.
//
// Activations enter from the west, row r delayed by r cycles, and go east; weights enter from the north,
// column c delayed by c cycles, and go south; a cell adds their products to a sum of its own. With the last
// pair of a fold travels a mark: the cell then sends its sum north, one cell per cycle, and begins afresh.
// Row r's sums leave column c 2 r + c + K cycles after the fold's beginning. A sum that meets another one on
// its way out, or an activation without its weight, is a fault of the schedule.
#pragma once

#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <systemc>
#include <vector>

#include "models/tpu/cell_grid.h"

namespace heddle::models::cells {

/// One of a pair of operands on its way through the array.
struct Operand {
    bool valid = false;                ///< false: a bubble
    bool first = false, last = false;  ///< of a fold
    Word value = 0;                    ///< bf16 or integer, see Arithmetic
    bool operator==(const Operand&) const = default;
};
/// A finished sum on its way north.
struct Sum {
    bool valid = false;  ///< false: a bubble
    Word value = 0;      ///< as fp32 or int32 bits
    bool operator==(const Sum&) const = default;
};
std::ostream& operator<<(std::ostream& stream, const Operand& value);
std::ostream& operator<<(std::ostream& stream, const Sum& value);
inline void sc_trace(sc_core::sc_trace_file*, const Operand&, const std::string&) {}
inline void sc_trace(sc_core::sc_trace_file*, const Sum&, const std::string&) {}

/// A cell that multiplies the pair it receives and keeps the sum, until the last pair of a fold sends it
/// north.
class AccumulatingElement : public sc_core::sc_module {
  public:
    sc_core::sc_in<bool> clock;                           ///< rising edges
    sc_core::sc_in<Operand> activation_in, weight_in;     ///< from west and north
    sc_core::sc_out<Operand> activation_out, weight_out;  ///< to east and south, one cycle later
    sc_core::sc_in<Sum> sum_in;                           ///< from south
    sc_core::sc_out<Sum> sum_out;                         ///< to north

    SC_HAS_PROCESS(AccumulatingElement);
    AccumulatingElement(const sc_core::sc_module_name& name, Arithmetic arithmetic);
    /// A message about an operand that arrived in the wrong cycle; empty when none did.
    const std::string& fault() const { return fault_; }
    /// Whether the cell multiplied in the present cycle, as seen after its clock edge.
    bool worked() const { return worked_; }

  private:
    void step();

    Arithmetic arithmetic_;
    Word sum_ = 0;
    bool worked_ = false;
    std::string fault_;
};

/// A fold: rows x columns results over `depth` products each.
struct Fold {
    std::uint64_t visible = 0;                  ///< first cycle in which it may begin
    unsigned rows = 0, columns = 0, depth = 0;  ///< of the fold's product
    std::vector<Word> activations;              ///< [rows][depth]
    std::vector<Word> weights;                  ///< [depth][columns]
};

/// The cycles and results of a fold.
struct FoldOutcome {
    std::uint64_t begin = 0;        ///< first cycle in which an operand enters
    std::uint64_t last_result = 0;  ///< the cycle in which the last of its results has left the array
    std::vector<Word> results;      ///< [rows][columns]
};

/// The whole array with the registers that delay operands at its edges.
class OutputStationaryCells : public CellGrid<AccumulatingElement, Operand, Operand, Sum> {
  public:
    SC_HAS_PROCESS(OutputStationaryCells);
    OutputStationaryCells(const sc_core::sc_module_name& name, unsigned rows, unsigned columns,
                          Arithmetic arithmetic, bool overlapped);

    /// Runs the folds in order. Throws heddle::Error when a value reached a cell in the wrong cycle.
    std::vector<FoldOutcome> run(const std::vector<Fold>& folds);
    /// The last cycle of the last run in which a cell multiplied.
    std::uint64_t last_array_cycle() const { return last_array_cycle_; }

  private:
    void step();
    void collect();
    void begin_fold();
    void drive_edges();
    bool done() const;

    bool overlapped_;
    bool running_ = false;
    std::uint64_t cycle_ = 0;
    bool working_ = false;  ///< a cell worked in the cycle before
    std::vector<Fold> folds_;
    std::vector<FoldOutcome> outcomes_;
    std::size_t next_ = 0;
    std::vector<unsigned> results_seen_;  ///< per column
};

}  // namespace heddle::models::cells
