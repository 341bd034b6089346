// The instructions of a TPU core.
//
// A core has a sequencer that issues in order into the queues of its units: DMA loads, DMA stores, matrix
// units (each with a push, a matmul and a pop queue), the vector unit, and the transpose unit. Every unit starts
// its instructions in order. What must not overtake what between units is said with sync flags: counting semaphores, one set
// per core. An instruction may wait for flags (it starts when each holds at least the number asked for, which
// is then taken away) and signal one (1 is added when it is done). Inside a matrix unit no flags are needed:
// a matmul waits for its weights, a pop for the results of earlier matmuls, and a matmul for earlier pops of
// the rows that it writes.
//
// TPU v1's instructions map onto this set: Read_Host_Memory and Write_Host_Memory are DMA, Read_Weights is a
// DMA load with a push, MatrixMultiply is a matmul, Activate is a pop followed by a vector instruction (ISCA
// 2017, section 2).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "isa/tpu/element_type.h"
#include "isa/tpu/vector_kernel.h"

namespace heddle::tpu {

/// Repeats may be nested this deep.
inline constexpr std::size_t kRepeatLevels = 3;
/// Iteration of each enclosing repeat, outermost first.
using LoopCounters = std::array<std::uint32_t, kRepeatLevels>;

/// A number that may depend on the iteration of the enclosing repeats: base + step[0] * i + step[1] * j +
/// step[2] * k.
struct Affine {
    std::int64_t base = 0;                           ///< value in the first iteration of every repeat
    std::array<std::int64_t, kRepeatLevels> step{};  ///< by level, outermost first

    Affine() = default;
    Affine(std::int64_t value) : base(value) {}  // NOLINT: a plain number is an address
    /// The value in one iteration.
    std::int64_t at(const LoopCounters& counters) const {
        return base + step[0] * counters[0] + step[1] * counters[1] + step[2] * counters[2];
    }
    bool operator==(const Affine&) const = default;
};

/// Addresses from here on lie in the cores' common on-chip memory (CMEM), below it in HBM.
inline constexpr std::uint64_t kCommonMemoryBase = 1ull << 44;

/// Direction of a DMA transfer, and whether rows are chosen by index.
enum class DmaKind : std::uint8_t {
    load,         ///< HBM -> VMEM
    store,        ///< VMEM -> HBM
    gather,       ///< HBM -> VMEM; HBM row of row r is index[r]
    scatter,      ///< VMEM -> HBM; HBM row of row r is index[r]; rows are written in order
    scatter_add,  ///< VMEM -> HBM, fp32 added to what is there, rows in order
};

/// Copies `rows` pieces of `row_bytes` bytes. Gather and scatter read int32 row numbers at `indices` in VMEM;
/// each must lie in [0, table_rows).
struct Dma {
    DmaKind kind = DmaKind::load;   ///< direction
    Affine vmem, hbm;               ///< byte addresses of the first row; `hbm` may lie in CMEM
    std::uint32_t rows = 1;         ///< pieces
    std::uint32_t row_bytes = 0;    ///< bytes of a piece
    std::uint64_t vmem_stride = 0;  ///< bytes from row to row
    std::uint64_t hbm_stride = 0;   ///< bytes from row to row
    Affine indices;                 ///< address in VMEM of the row numbers, for gather and scatter
    std::uint32_t table_rows = 0;   ///< rows of the table in HBM that the numbers index
    bool host = false;  ///< load or store: the other side is the host's memory, over its link
    bool operator==(const Dma&) const = default;
};

/// Whether rows are chosen by index: gather and scatter.
constexpr bool is_indexed(const Dma& dma) {
    return dma.kind != DmaKind::load && dma.kind != DmaKind::store;
}

/// The way of a transfer: the memory at its other end, and whether it moves rows by index, which SparseCores
/// do where there are any. Transfers of one direction are done in the order of their starts only where they
/// go the same way: one from CMEM overtakes one from HBM.
enum class DmaPath : std::uint8_t { device, common, host, rows, common_rows };
inline constexpr std::size_t kDmaPaths = 5;
constexpr DmaPath path_of(const Dma& dma) {
    if (dma.host) return DmaPath::host;
    const bool common = dma.hbm.base >= static_cast<std::int64_t>(kCommonMemoryBase);
    if (is_indexed(dma)) return common ? DmaPath::common_rows : DmaPath::rows;
    return common ? DmaPath::common : DmaPath::device;
}

/// Cycles for which one activation row occupies the array's edge. Its cells multiply 8 x 8 bits (or one bf16
/// pair): 8 x 16 bits go at half speed, 16 x 16 at a quarter (ISCA 2017, section 2).
constexpr unsigned cycles_per_row(ElementType activations, ElementType weights) {
    return (activations == ElementType::int16 ? 2u : 1u) * (weights == ElementType::int16 ? 2u : 1u);
}

/// The bf16 part of an fp32 operand that a matrix unit multiplies. A number is nearly the sum of its three
/// parts, so that products of parts give fp32 matmuls in 3 or 6 passes.
enum class Bf16Part : std::uint8_t { high, middle, low };

/// Shifts a weight tile of rows x columns (contraction x output) into the unit's shadow weights.
struct PushWeights {
    std::uint8_t unit = 0;                ///< matrix unit
    Affine vmem;                          ///< byte address of the tile
    std::uint32_t rows = 0, columns = 0;  ///< contraction, output
    std::uint64_t stride = 0;  ///< bytes from row to row of the tile in VMEM
    ElementType type = ElementType::bf16;  ///< of the weights in VMEM
    Bf16Part part = Bf16Part::high;        ///< of an fp32 tile
    bool transposed = false;  ///< the tile lies in VMEM as columns x rows
    bool operator==(const PushWeights&) const = default;
};

/// Streams `rows` activation rows of `depth` elements through the array. depth and columns are those of the
/// weights.
struct Matmul {
    std::uint8_t unit = 0;                 ///< matrix unit
    Affine vmem;                           ///< byte address of the first activation
    std::uint32_t rows = 0;                ///< activation rows
    std::uint32_t depth = 0;               ///< contraction
    std::uint32_t columns = 0;             ///< outputs
    std::uint64_t stride = 0;              ///< bytes from row to row in VMEM
    ElementType type = ElementType::bf16;  ///< of the activations in VMEM
    Bf16Part part = Bf16Part::high;        ///< of fp32 activations
    bool next_weights = true;       ///< take the next pushed tile; false: keep the present one
    std::uint32_t accumulator = 0;  ///< first row of the result buffer
    bool accumulate = false;        ///< add to the result buffer; false: overwrite
    bool operator==(const Matmul&) const = default;
};

/// Takes `rows` x `columns` results to VMEM as fp32, rounded to bf16, or int32.
struct Pop {
    std::uint8_t unit = 0;                 ///< matrix unit
    Affine vmem;                           ///< byte address of the first result
    std::uint32_t rows = 0, columns = 0;   ///< results
    std::uint64_t stride = 0;              ///< bytes from row to row in VMEM
    ElementType type = ElementType::fp32;  ///< fp32, bf16 or int32, in VMEM
    std::uint32_t accumulator = 0;         ///< first row of the result buffer
    bool operator==(const Pop&) const = default;
};

/// A tile in VMEM as the vector unit sees it. row_stride 0 repeats one row; broadcast_columns repeats the
/// first element of each row.
struct VectorOperand {
    ElementType type = ElementType::fp32;  ///< in VMEM
    Affine vmem;                           ///< byte address of the first element
    std::uint64_t row_stride = 0;          ///< bytes
    bool broadcast_columns = false;        ///< one element for all columns
    bool operator==(const VectorOperand&) const = default;
};

/// Applies a kernel to every element of a tile.
struct Vector {
    std::shared_ptr<const VectorKernel> kernel;  ///< shared by instructions
    std::uint32_t rows = 0, columns = 0;         ///< of the tile
    std::vector<VectorOperand> inputs, outputs;  ///< one for each input and output of the kernel
    std::vector<float> scalars;                  ///< values of the kernel's scalars
    Affine row_origin, column_origin;  ///< what row_index and column_index count from
    std::uint64_t element_stride =
        0;  ///< random: the element's index is row index * element_stride + column index
    bool operator==(const Vector& other) const;
};

/// Writes the transpose of a rows x columns tile: the transpose unit's (cross-lane) work.
struct Transpose {
    Affine source, destination;           ///< byte addresses
    std::uint32_t rows = 0, columns = 0;  ///< of the source
    std::uint64_t source_stride = 0, destination_stride = 0;  ///< bytes from row to row
    ElementType type = ElementType::fp32;                     ///< of both tiles
    bool operator==(const Transpose&) const = default;
};

/// The sequencer itself adds 1 to the instruction's flags.
struct Signal {
    bool operator==(const Signal&) const = default;
};

/// The sequencer itself waits for the instruction's flags before it goes on.
struct Wait {
    bool operator==(const Wait&) const = default;
};

/// The instructions up to the matching EndRepeat run `count` times.
struct Repeat {
    std::uint32_t count = 1;  ///< iterations
    bool operator==(const Repeat&) const = default;
};
struct EndRepeat {
    bool operator==(const EndRepeat&) const = default;
};

/// Ends the program. The core is done when its units are.
struct Halt {
    bool operator==(const Halt&) const = default;
};

/// What an instruction does; see the structs above.
using Operation =
    std::variant<Dma, PushWeights, Matmul, Pop, Vector, Transpose, Signal, Wait, Repeat, EndRepeat, Halt>;

/// A unit does not begin before the flag holds `count`, which it then takes from it.
struct FlagWait {
    std::uint16_t flag = 0;   ///< of this core
    std::uint32_t count = 1;  ///< taken from the flag
    bool operator==(const FlagWait&) const = default;
};

/// A unit adds 1 to the flag when it has finished.
struct FlagSignal {
    std::uint16_t flag = 0;  ///< of the core `core`
    std::int16_t core = -1;  ///< -1: this core
    bool operator==(const FlagSignal&) const = default;
};

/// One instruction of a core: operation, flags it waits for, flags it signals.
struct Instruction {
    Operation operation;              ///< what is done
    std::vector<FlagWait> waits;      ///< before it begins
    std::vector<FlagSignal> signals;  ///< when it has ended
    std::int32_t line = 0;  ///< of the assembly text, 0 when it has none; not part of what the instruction is
    bool operator==(const Instruction& other) const;
};

/// The queue that an instruction goes to. Matrix unit u has queues first_matrix + 3 u + {0 push, 1 matmul, 2
/// pop}.
enum class UnitKind : std::uint8_t { sequencer, dma_load, dma_store, push, matmul, pop, vector, transpose };
UnitKind unit_of(const Operation& operation);
/// The name in assembly text, such as "dma.load" or "matmul".
const char* mnemonic(const Operation& operation);

}  // namespace heddle::tpu
