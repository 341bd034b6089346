// What came of running a program on a TPU.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "models/tpu/dma_engine.h"
#include "models/tpu/matrix_unit.h"
#include "models/tpu/tpu_hbm.h"
#include "models/tpu/tpu_sequencer.h"
#include "models/tpu/vector_unit.h"

namespace heddle::models {

/// What the units of one core did.
struct TpuCoreResult {
    SequencerStatistics sequencer;             ///< instructions issued and waits
    std::vector<MatrixUnitStatistics> matrix;  ///< by matrix unit
    VectorUnitStatistics vector, transposes;   ///< of the two units
    DmaStatistics dma, sparse_cores;           ///< of the two engines
};

/// One piece of work of one unit, for timelines. Cycles are those of the run, both included.
struct TpuEvent {
    std::string unit;          ///< hierarchical name of the module
    const char* what = "";     ///< mnemonic
    std::int32_t line = 0;     ///< of the assembly text, 0 when there is none
    Cycle begin = 0, end = 0;  ///< cycles, both included
};

/// How the matrix units spent their cycles, in the terms of the TPU v1 paper (ISCA 2017, table 3), as shares:
/// active + weight_stall + weight_shift + non_matrix = 1.
struct MatrixBreakdown {
    double active = 0, useful = 0, unused = 0;  ///< useful + unused = active: cells with and without work
    double weight_stall = 0;                    ///< the next weights are not there
    double weight_shift = 0;                    ///< they are being shifted in
    double non_matrix = 0;                      ///< cycles without a stream of activations
    // Parts of non_matrix; what is left has no instruction for the array.
    double raw_stall = 0;     ///< waits for results of the vector unit or of another matrix unit
    double input_stall = 0;   ///< waits for the host
    double dma_wait = 0;      ///< waits for a transfer from or to device memory
    double result_stall = 0;  ///< waits for room in the accumulators, or for ports of on-chip memory

    /// Adds the cycles of one unit.
    void add(const MatrixUnitStatistics& unit);
    /// Turns sums of cycles into shares of `cycles`.
    void divide(double cycles);
};

struct TpuResult;
/// What the units did with their time: shares of the run by state (name_of(UnitState); for the matrix units
/// by MatrixBreakdown), over all units of a kind. The shares of each kind add up to 1.
std::map<std::string, std::map<std::string, double>> time_by_unit(const TpuResult& result);
/// The shares of the matrix units with their names, in the order in which reports show them.
std::vector<std::pair<std::string, double>> shares_of(const MatrixBreakdown& where);

/// Counters of one run of one program.
struct TpuResult {
    Cycle cycles = 0;                                  ///< from the first to the last, both included
    double seconds = 0;                                ///< cycles at the clock; without the launch
    std::uint64_t instructions = 0;                    ///< of all cores, repeats counted each time
    std::uint64_t macs = 0;                            ///< useful ones
    std::uint64_t bytes_loaded = 0, bytes_stored = 0;  ///< between HBM and cores, by DMA
    std::uint64_t host_bytes = 0;                      ///< of these bytes, those to and from the host
    HbmStatistics hbm;                                 ///< of the bus
    std::vector<TpuCoreResult> cores;                  ///< by core number
    /// Shares of the cycles, over all units of a kind: rows entering the arrays, the vector unit working, the
    /// HBM bus moving bytes.
    double matrix_busy = 0, vector_busy = 0, hbm_busy = 0;
    double mac_utilisation = 0;  ///< macs / (cycles x cells)
    std::string
        bound_by;  ///< "matrix unit", "vector unit", "HBM" or, when none is busy half the time, "latency"
    MatrixBreakdown where;         ///< the time of all matrix units
    std::vector<TpuEvent> events;  ///< when RunOptions::record_events
};

}  // namespace heddle::models
