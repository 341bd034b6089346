// What a TPU is made of: sizes, rates and latencies. Defaults are a TPU v3.
#pragma once

#include <cstdint>
#include <string>

#include "isa/target/target.h"
#include "isa/tpu/program.h"
#include "models/common/parameter.h"

namespace heddle::models {

/// Which operand stays in the array. Chips are weight-stationary; the others are for comparison.
enum class Dataflow : std::uint8_t { weight_stationary, output_stationary, input_stationary };

/// Whether weights are loaded while the array works.
enum class WeightBuffering : std::uint8_t {
    single,  ///< a weight tile is shifted in only when the array has drained, as SCALE-Sim counts
    dual,    ///< the next tile is shifted into shadow weights while the array computes
};

/// What the cells multiply: floats are bf16, and fp32 and fp8 by way of it; integers of 8 bits, and 16 in
/// slices.
enum class MatrixNumbers : std::uint8_t { floats, integers, both };

/// A weight-stationary systolic array. Sources: ISCA 2017 (v1: 256 x 256, 4,096 accumulator rows); IEEE Micro
/// 2021, "The Design Process for Google's Training Chips" (v2, v3: 128 x 128).
struct MatrixUnitConfig {
    unsigned per_core = 2;                                     ///< matrix units of a TensorCore
    unsigned rows = 128;                                       ///< contraction dimension of a weight tile
    unsigned columns = 128;                                    ///< outputs of a weight tile
    WeightBuffering weight_buffering = WeightBuffering::dual;  ///< shadow registers or none
    unsigned weight_rows_per_cycle = 1;                        ///< shifted in side by side
    unsigned int8_rows_per_cycle = 1;                          ///< activation rows of int8 by int8 weights
    MatrixNumbers numbers = MatrixNumbers::both;               ///< which number formats it multiplies
    unsigned accumulator_rows = 2048;  ///< unpublished for v2 and later; v1 has halves of 2,048
};

/// The vector unit: registers of 8 sublanes x 128 lanes; every cycle it can load, compute and store as many
/// registers as it has slots. v2 and v3 issue bundles of two vector ALU operations, one vector load and one
/// vector store (IEEE Micro 2021).
struct VectorUnitConfig {
    /// Operations on vector registers that issue per cycle, by kind.
    unsigned arithmetic_slots = 2;
    unsigned transcendental_slots = 1;
    unsigned load_slots = 1;
    unsigned store_slots = 1;
    unsigned lane_reduction_cycles = 8;     ///< per register: log2(128) rotate-and-add steps and the way out
    unsigned sublane_reduction_cycles = 4;  ///< per register: log2(8) steps and the way out
    unsigned transpose_cycles = 8;          ///< per register, through the cross-lane unit
    unsigned cycles_per_register =
        1;  ///< for each operation, load and store: more where the datapath is narrower
    unsigned startup_cycles = 16;  ///< from the start of an instruction to its first result
};

/// VMEM, the on-chip memory of a TensorCore. Rates are bytes per cycle.
struct OnChipMemoryConfig {
    std::uint64_t bytes = 16ull << 20;  ///< per core
    std::uint64_t read_bytes_per_cycle =
        12288;  ///< enough for a vector load, both matrix units and DMA at once
    std::uint64_t write_bytes_per_cycle = 8192;  ///< of all units together
};

/// How fast a core issues instructions to its units.
struct SequencerConfig {
    unsigned issue_width = 1;             ///< instructions per cycle
    unsigned queue_depth = 16;            ///< instructions that wait in front of each unit
    unsigned sync_flags = 256;            ///< per core
    unsigned remote_signal_cycles = 100;  ///< until a flag of another core shows
};

/// The DMA engine of a core.
struct DmaConfig {
    unsigned outstanding = 16;        ///< transfers under way, per direction
    unsigned issue_cycles = 32;       ///< from a descriptor's start to its first request
    unsigned bytes_per_cycle = 1024;  ///< of one direction of one core's engine
    unsigned cycles_per_strip = 1;    ///< a 2-D transfer moves at most one strip in this time
    /// Rows that lie side by side in HBM: arrays are kept there in tiles of 8 sublanes x 128 lanes.
    unsigned strip_rows = 8;
};

/// Device memory of the chip, shared by its cores.
struct HbmConfig {
    std::uint64_t bytes = 32ull << 30;   ///< of the chip
    double bandwidth = 900e9;            ///< bytes per second, peak
    double efficiency = 0.90;            ///< of peak that streaming reaches
    unsigned latency_cycles = 500;       ///< from request to data, unloaded
    unsigned access_bytes = 64;          ///< rows are fetched in whole pieces of this size
    unsigned arbitration_bytes = 16384;  ///< served to one queue before the next gets its turn
};

/// SparseCores: processors for embeddings, beside the TensorCores. Sixteen tiles each fetch rows by index
/// from memory, add, and write them back ("TPU v4", ISCA 2023, section 3.5). Where a chip has none, the DMA
/// engine moves such rows, one strip each.
struct SparseCoreConfig {
    unsigned cores = 0;            ///< of the chip, dealt out evenly to its TensorCores
    unsigned tiles = 16;           ///< of each SparseCore
    unsigned words_per_cycle = 8;  ///< that a tile moves or adds
    unsigned row_cycles = 8;       ///< of a tile for each row, beside moving it
    unsigned outstanding = 4;      ///< instructions under way

    /// Cycles for which `rows` rows occupy one TensorCore's share of the tiles; `passes` is 2 where rows are
    /// read and written.
    std::uint64_t cycles(std::uint64_t rows, std::uint64_t row_bytes, unsigned passes,
                         unsigned tensor_cores) const;
    /// Bytes per cycle of one TensorCore's share.
    unsigned rate(unsigned tensor_cores) const { return cores * tiles * words_per_cycle * 4 / tensor_cores; }
    void describe(ParameterList& list);
};

/// On-chip memory that the cores share (CMEM of v4): between HBM and VMEM, reached by DMA.
struct CommonMemoryConfig {
    std::uint64_t bytes = 0;        ///< 0: the chip has none
    double bandwidth = 5e12;        ///< bytes per second
    unsigned latency_cycles = 100;  ///< cycles of the chip's clock
};

/// Links to other chips. Nothing is sent over them yet: they are ports (Tpu::links).
struct LinkConfig {
    unsigned count = 4;             ///< of the chip
    double bandwidth = 82e9;        ///< bytes per second of one link, each direction
    double latency_seconds = 1e-6;  ///< of a hop
};

/// The link to the host's memory.
struct HostLinkConfig {
    double bandwidth = 16e9;        ///< bytes per second, either direction
    double efficiency = 0.8;        ///< of that, for payload
    double latency_seconds = 1e-6;  ///< from request to data
};

/// The choices of the chip's compiler on which a run depends; the schedules themselves are searched.
struct TpuCompilerConfig {
    /// How operands reach VMEM, and the order of the loops over tiles.
    enum class Operands : std::uint8_t { streamed, whole };
    enum class LoopOrder : std::uint8_t { searched, rows, columns };
    /// whole: a product whose operands and result fit VMEM brings its second operand there before the first
    /// multiplication (XLA's memory space assignment); streamed: operands come in tiles while it computes.
    Operands operands = Operands::streamed;
    std::uint64_t operand_window = 4ull << 20;                      ///< whole: panels of the first operand
    std::uint64_t result_window = 2ull << 20;                       ///< whole: results that leave together
    std::uint64_t tile_rows = 0, tile_columns = 0, tile_depth = 0;  ///< of a product; 0: searched
    LoopOrder loop_order = LoopOrder::searched;
    unsigned fp32_passes = 1;  ///< bf16 passes per product of fp32 matrices: 1, 3 or 6
};

/// A whole chip; the defaults are a TPU v3.
struct TpuConfig {
    std::string name = "tpu-v3";  ///< of the device, for reports
    unsigned cores = 2;           ///< TensorCores of the chip
    double clock_hertz = 0.94e9;  ///< of all units
    /// The clock in hertz at which the arrays reach the published peak, where products do not sustain it; 0:
    /// they do.
    double nominal_clock_hertz = 0;
    MatrixUnitConfig matrix;
    VectorUnitConfig vector;
    OnChipMemoryConfig vmem;
    SequencerConfig sequencer;
    DmaConfig dma;
    HbmConfig hbm;
    CommonMemoryConfig cmem;
    LinkConfig links;
    SparseCoreConfig sparse;
    HostLinkConfig host;
    TpuCompilerConfig compiler;
    double launch_seconds = 2e-6;  ///< host to first instruction, once per program that the host starts

    /// The clock in hertz for which peak rates are quoted.
    double peak_clock() const { return nominal_clock_hertz > 0 ? nominal_clock_hertz : clock_hertz; }

    /// Lists every field with unit, range and meaning.
    void describe(ParameterList& list);
    /// Throws heddle::Error when the parts do not fit each other.
    void check() const;
};

/// The parameters of CMEM in the form of an HBM, by which it is modelled.
HbmConfig common_memory_of(const TpuConfig& config);
/// The parameters of the host's memory behind its link in the form of an HBM, by which it is modelled.
HbmConfig host_memory_of(const TpuConfig& config);
/// The target description of the chip for lowering.
target::TpuTarget target_of(const TpuConfig& config);
/// The limits that programs of the chip must keep.
tpu::Limits limits_of(const TpuConfig& config);

}  // namespace heddle::models
