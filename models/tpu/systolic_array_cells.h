// A weight-stationary systolic array cell by cell: every processing element is a module with ports, one
// clock. Slow, small, and the yardstick for MatrixUnit, which must give the same cycles and the same bits.
// With the operands exchanged (a tile of activations stays, weights stream) it is an input-stationary array.
//
// Activations enter from the west, row r delayed by r cycles; they go one cell east per cycle. Partial sums
// go one cell south per cycle and reach the result columns below the array. Weights enter from the north,
// column c delayed by c cycles, one or more rows at a time, the weight of row r with r hops to go; they wait
// in shadow registers until a `swap` mark that travels with the first activation row makes them the present
// ones. Every cell checks what it is given: a weight that would overwrite one not yet taken, a swap without a
// weight, or a partial sum out of step is a fault of the schedule.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <systemc>
#include <vector>

#include "models/tpu/cell_grid.h"

namespace heddle::models::cells {

/// Which part of the present weight a cell multiplies by.
enum class WeightSlice : std::uint8_t { whole, low, high };

/// One activation on its way east.
struct Activation {
    bool valid = false;                      ///< false: a bubble
    bool swap = false;                       ///< the shadow weights become the present ones
    WeightSlice slice = WeightSlice::whole;  ///< see WeightSlice
    Word value = 0;                          ///< see Arithmetic
    bool operator==(const Activation&) const = default;
};
/// Weights of different rows travel side by side where the array takes several rows in a cycle.
inline constexpr unsigned kWeightLanes = 4;
struct Weight {
    /// One of the weights that travel side by side.
    struct Lane {
        bool valid = false;  ///< false: no weight
        unsigned hops = 0;   ///< rows that it still has to go
        Word value = 0;      ///< see Arithmetic
        bool operator==(const Lane&) const = default;
    };
    std::array<Lane, kWeightLanes> lanes{};  ///< by position among the rows that enter together
    bool operator==(const Weight&) const = default;
};
struct PartialSum {
    bool valid = false;       ///< false: a bubble
    unsigned result_row = 0;  ///< of the result column where it ends
    bool accumulate = false;  ///< added to what the result column holds, else it replaces that
    unsigned shift = 0;       ///< of the result columns' adders: what the slices are worth
    Word value = 0;           ///< as fp32 or int32 bits
    bool operator==(const PartialSum&) const = default;
};
std::ostream& operator<<(std::ostream& stream, const Activation& value);
std::ostream& operator<<(std::ostream& stream, const Weight& value);
std::ostream& operator<<(std::ostream& stream, const PartialSum& value);
// What sc_signal asks of its type; nothing is traced.
inline void sc_trace(sc_core::sc_trace_file*, const Activation&, const std::string&) {}
inline void sc_trace(sc_core::sc_trace_file*, const Weight&, const std::string&) {}
inline void sc_trace(sc_core::sc_trace_file*, const PartialSum&, const std::string&) {}

/// One multiply-accumulate cell.
class ProcessingElement : public sc_core::sc_module {
  public:
    sc_core::sc_in<bool> clock;  ///< rising edges
    /// Ports to the neighbours: activations go east, weights and sums go south, each one cell per cycle.
    sc_core::sc_in<Activation> activation_in;
    sc_core::sc_out<Activation> activation_out;
    sc_core::sc_in<Weight> weight_in;
    sc_core::sc_out<Weight> weight_out;
    sc_core::sc_in<PartialSum> sum_in;
    sc_core::sc_out<PartialSum> sum_out;

    SC_HAS_PROCESS(ProcessingElement);
    ProcessingElement(const sc_core::sc_module_name& name, Arithmetic arithmetic, bool shadow_weights);
    /// No weight and no fault.
    void reset();
    /// A message about a value that arrived in the wrong cycle; empty when none did.
    const std::string& fault() const { return fault_; }

  private:
    void step();

    Arithmetic arithmetic_;
    bool shadow_weights_;
    Word weight_ = 0, shadow_ = 0;
    bool shadow_full_ = false;
    std::string fault_;
};

/// The result column below an array column.
class ResultColumn : public sc_core::sc_module {
  public:
    sc_core::sc_in<bool> clock;         ///< rising edges
    sc_core::sc_in<PartialSum> sum_in;  ///< from the lowest cell of the array column

    SC_HAS_PROCESS(ResultColumn);
    ResultColumn(const sc_core::sc_module_name& name, Arithmetic arithmetic, unsigned rows);
    /// All results are zero and no sums have been received.
    void reset();
    /// The results and the number of sums received, by row, as they stand in this cycle.
    Word value(unsigned row) const { return values_[row].read(); }
    unsigned sums_received(unsigned row) const { return received_[row].read(); }

  private:
    void step();

    Arithmetic arithmetic_;
    sc_core::sc_vector<sc_core::sc_signal<Word>> values_;
    sc_core::sc_vector<sc_core::sc_signal<unsigned>> received_;
};

/// One command to the array; commands are carried out in program order. Values are row-major.
struct Command {
    /// What the array does: take weights, stream activations, give results.
    enum class Kind : std::uint8_t { push, matmul, pop } kind = Kind::push;
    std::uint64_t visible = 0;  ///< first cycle in which the array may see it
    unsigned rows = 0;          ///< push: contraction length; matmul: streamed rows; pop: result rows
    unsigned columns = 0;       ///< push and pop: outputs; matmul: contraction length
    std::vector<Word> values;   ///< push: weights, matmul: activations
    bool next_weights = true;   ///< matmul
    bool accumulate = false;    ///< matmul
    unsigned result_row = 0;    ///< matmul, pop: first row of the result columns
    unsigned activation_slices = 1, weight_slices = 1;  ///< matmul: 2 for integers of 16 bits
    /// Cycles that a row of a matmul occupies the edge.
    unsigned slices() const { return activation_slices * weight_slices; }
};

/// The cycles and results of a command.
struct Outcome {
    std::uint64_t begin = 0, end = 0;  ///< first and last cycle (a pop's begin is that of its first row)
    std::vector<Word> results;         ///< pop
};

/// The whole array with its result columns and the registers that delay operands at its edges.
class SystolicArrayCells : public CellGrid<ProcessingElement, Activation, Weight, PartialSum> {
  public:
    SC_HAS_PROCESS(SystolicArrayCells);
    SystolicArrayCells(const sc_core::sc_module_name& name, unsigned rows, unsigned columns,
                       unsigned result_rows, Arithmetic arithmetic, bool shadow_weights,
                       unsigned weight_rows_per_cycle = 1);

    /// Runs the commands from cycle 0 until all are done. Throws heddle::Error when a value reached a cell in
    /// the wrong cycle, or when nothing moves any more.
    std::vector<Outcome> run(const std::vector<Command>& commands);
    /// The last cycle of the last run in which a processing element multiplied.
    std::uint64_t last_array_cycle() const { return last_array_cycle_; }

  private:
    void step();
    void read_results();
    void begin_matmul();
    void begin_push();
    void drive_edges();
    bool done() const;
    std::size_t next_of(Command::Kind kind, std::size_t from) const;
    bool overlapping(const Command& a, const Command& b) const;
    /// Cycles for which a command's stream occupies its edge.
    std::uint64_t length_of(const Command& command) const;
    Activation activation_at(const Command& matmul, std::uint64_t step, unsigned row) const;
    Weight weight_at(const Command& push, std::uint64_t step, unsigned column) const;

    unsigned result_rows_;
    bool shadow_weights_;
    unsigned weight_rows_per_cycle_;
    std::uint64_t push_cycles_;
    std::vector<std::unique_ptr<ResultColumn>> result_columns_;

    // The control at the array's edges: one step per cycle.
    bool running_ = false;
    std::uint64_t cycle_ = 0;
    bool draining_ = false;  ///< a cell other than the last works, so one will work in the next cycle
    std::vector<Command> commands_;
    std::vector<Outcome> outcomes_;
    std::vector<bool> finished_;
    std::size_t next_push_ = 0, next_matmul_ = 0, next_pop_ = 0;
    bool shadow_taken_ = false;  ///< a tile is in, or on its way into, the shadow registers
    unsigned pop_row_ = 0;
    std::vector<unsigned> sums_expected_;  ///< per result row, by the commands before the present pop
    /// Streams under way: command and cycle in which it began. Kept until the skewed edges are through with
    /// them.
    struct Stream {
        std::size_t command = 0;
        std::uint64_t begin = 0;
    };
    std::vector<Stream> pushes_, matmuls_;
};

}  // namespace heddle::models::cells
