// Writes the instruction list of one core and determines which instructions must wait for which.
//
// The caller states only what each instruction reads and writes ("this tile"). When a unit depends on another
// one, this pair of units gets a sync flag: the earlier instruction signals it, and the later one waits for
// it. Since every unit starts its instructions in order, one token per dependency is enough, and dependencies
// that an earlier wait already covers cost nothing. Instructions wait only for earlier ones, so programs
// cannot deadlock.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "isa/target/target.h"
#include "isa/tpu/program.h"

namespace heddle::lowering::on_tpu {

/// Thrown when no program can be made for an op; the op is then marked unsupported with this reason.
struct Unsupported {
    std::string reason;
};

/// A piece of VMEM (or of a workspace in HBM) that is synchronised as a whole.
class Region {
  private:
    friend class CoreBuilder;
    struct Stamp {
        std::size_t unit = 0;
        std::size_t position = 0;
    };
    std::vector<Stamp> writers, readers;  ///< the latest of each unit, since the region was last written
    std::vector<Stamp> before;            ///< readers of the time before the present writers
    bool partial = false;                 ///< the present writers each wrote a part
};

/// How an instruction accesses a region.
enum class AccessKind : std::uint8_t {
    read,
    write,
    write_part,  ///< of a region that several instructions fill side by side: they need not wait for each
                 ///< other
};

/// One access of an instruction to a region.
struct Access {
    Region* region = nullptr;
    AccessKind kind = AccessKind::read;
};

/// A tile of rows x columns in VMEM.
struct Tile {
    tpu::ElementType type = tpu::ElementType::fp32;
    std::uint64_t address = 0;
    std::uint64_t row_stride = 0;    ///< bytes; 0: one row stands for all
    bool broadcast_columns = false;  ///< the first element of each row stands for all
    Region* region = nullptr;

    /// Returns the part of the tile that begins at another row or column.
    Tile at(std::uint64_t row, std::uint64_t column) const;
};

/// Collects the instructions of one core.
class CoreBuilder {
  public:
    CoreBuilder(const target::TpuTarget& target, unsigned core);

    const target::TpuTarget& target() const { return target_; }
    unsigned core() const { return core_; }

    /// Allocates bytes of VMEM, aligned to 512 bytes, and returns their address. Throws Unsupported when VMEM
    /// is exhausted.
    std::uint64_t allocate(std::uint64_t bytes);
    std::uint64_t free_bytes() const { return target_.vmem_bytes - next_address_; }
    Region* new_region();
    /// Allocates a dense tile.
    Tile new_tile(tpu::ElementType type, std::uint64_t rows, std::uint64_t columns);

    void emit(tpu::Operation operation, const std::vector<Access>& accesses);
    /// The sequencer waits until everything emitted so far is done; dependencies start afresh.
    void wait_for_all();

    // Shorthands of emit().
    void vector(const std::shared_ptr<const tpu::VectorKernel>& kernel, std::uint64_t rows,
                std::uint64_t columns, const std::vector<Tile>& inputs, const std::vector<Tile>& outputs,
                const std::vector<float>& scalars = {}, std::int64_t row_origin = 0,
                std::int64_t column_origin = 0, std::uint64_t element_stride = 0);
    void transpose(const Tile& source, const Tile& destination, std::uint64_t rows, std::uint64_t columns,
                   bool part = false);
    void dma(tpu::Dma dma, Region* vmem, Region* hbm = nullptr, bool part = false);
    void push(unsigned unit, const Tile& weights, std::uint64_t rows, std::uint64_t columns, bool transposed,
              tpu::Bf16Part part = tpu::Bf16Part::high);
    void matmul(unsigned unit, const Tile& activations, std::uint64_t rows, std::uint64_t depth,
                std::uint64_t columns, std::uint64_t accumulator, bool accumulate,
                tpu::Bf16Part part = tpu::Bf16Part::high, bool same_weights = false);
    void pop(unsigned unit, const Tile& result, std::uint64_t rows, std::uint64_t columns,
             std::uint64_t accumulator, bool part = false);

    /// Waits for everything and releases all of VMEM.
    void start_over();

    /// Appends an instruction without dependencies, such as a signal between cores.
    void append(tpu::Instruction instruction) { program_.instructions.push_back(std::move(instruction)); }
    std::uint16_t new_flag();
    std::size_t size() const { return program_.instructions.size(); }
    tpu::CoreProgram finish();

  private:
    static std::size_t unit_index(const tpu::Operation& operation);
    void depend(std::vector<Region::Stamp>& on, const std::vector<Region::Stamp>& stamps) const;
    void wait_for(std::size_t unit, std::size_t position, const Region::Stamp& earlier);
    static void stamp(std::vector<Region::Stamp>& list, const Region::Stamp& present);

    struct Channel {
        std::uint16_t flag = 0;
        std::size_t covered = 0;  ///< one past the position that the waiting unit has already waited for
    };

    target::TpuTarget target_;
    unsigned core_;
    tpu::CoreProgram program_;
    std::uint64_t next_address_ = 0;
    std::uint16_t next_flag_ = 0;
    std::deque<Region> regions_;
    std::map<std::pair<std::size_t, std::size_t>, Channel> channels_;  ///< (from unit, to unit)
    std::map<std::size_t, std::size_t> last_of_unit_;
    std::size_t fence_ = 0;  ///< what lies before this position is done
};

}  // namespace heddle::lowering::on_tpu
