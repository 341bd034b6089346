// The seam between what a launch is and when it happens: all that SMs ask of the instructions that they run.
//
// A launch is a table of static instructions and a grid of thread blocks. A warp says which of them it
// performs next, and what performing it did: the lanes that took part, their addresses, who may go on. PTX
// that is executed as it issues (ptx_source.h) and recorded traces of machine code are two such launches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "isa/common/error.h"
#include "isa/ptx/execution.h"
#include "models/gpu/register_banks.h"

namespace heddle::models::gpu {

/// One warp. What a scheduler asks in every cycle is plain data; the one virtual call is that of an
/// instruction.
class WarpSource {
  public:
    explicit WarpSource(const ptx::WarpStatus* status) : status_(status) {}
    virtual ~WarpSource() = default;
    /// State of the warp after its last step, which step() updates in place; valid as long as the warp.
    const ptx::WarpStatus* status() const { return status_; }
    bool finished() const { return status_->finished; }  ///< it has executed its last instruction
    bool blocked() const { return status_->blocked; }    ///< waits for others, or for asynchronous work
    /// Index in LaunchSource's table of what step() would perform. Undefined when finished.
    std::uint32_t next() const { return status_->pc; }
    unsigned index() const { return status_->index; }  ///< in its thread block
    /// Performs the next instruction, in cycle `clock`.
    virtual ptx::StepResult step(std::uint64_t clock) = 0;
    /// The PTX warp behind this object, or nullptr. It stays the same; sampling leaps with it, and SMs step
    /// it directly.
    virtual ptx::Warp* ptx_warp() { return nullptr; }

  protected:
    const ptx::WarpStatus* status_;
};

/// A place for one thread block after another. The functions are those of ptx::Cta.
class BlockSource {
  public:
    virtual ~BlockSource() = default;
    /// `index` counts blocks x fastest. `cluster`: that it belongs to; nullptr without clusters.
    virtual void start(std::uint64_t index, std::uint32_t sm, ptx::Cluster* cluster) = 0;
    virtual unsigned warp_count() const = 0;  ///< of the block that was started
    virtual WarpSource& warp(unsigned index) = 0;
    virtual std::uint64_t linear_index() const = 0;
    virtual std::span<ptx::AsyncOperation> started() = 0;
    virtual void complete(const ptx::AsyncOperation& operation) = 0;
    virtual std::uint32_t resume_stalled() = 0;
    virtual std::uint64_t changes() const = 0;
    virtual ptx::WarpFingerprint fingerprint(unsigned warp) const = 0;
    virtual std::string describe_waiting() const = 0;
    /// The PTX thread block behind this object, or nullptr.
    virtual const ptx::Cta* ptx_cta() const { return nullptr; }
};

/// A launch: its extents, its table of instructions, and the making of its thread blocks.
class LaunchSource {
  public:
    virtual ~LaunchSource() = default;
    virtual const std::string& name() const = 0;  ///< of the kernel
    /// Grid, thread block and cluster, and what the host asked of the caches. Its kernel may be missing.
    virtual const ptx::LaunchContext& launch() const = 0;
    virtual unsigned registers_per_thread() const = 0;
    virtual std::uint64_t shared_bytes() const = 0;  ///< per thread block, static and dynamic

    /// The table of instructions. It may grow when a thread block starts, never in between, and what is in it
    /// stays where it is.
    virtual std::size_t instruction_count() const = 0;
    virtual const ptx::InstructionInfo& instruction(std::size_t index) const = 0;
    /// Position of an instruction's code, in machine instructions from the kernel's first.
    virtual std::uint64_t code_position(std::size_t index) const = 0;
    /// The reads of the register banks, for each instruction from `first` on.
    virtual std::vector<RegisterReads> register_reads(const RegisterBanksConfig& config,
                                                      std::size_t first) const = 0;
    /// Sets a function that is called when the table has grown.
    void set_observer(std::function<void()> grown) { grown_ = std::move(grown); }
    /// Whether the table will not grow any more.
    virtual bool is_complete() const { return false; }
    virtual std::size_t scoreboard_size() const = 0;  ///< identifiers of registers lie below it
    virtual bool reads_clock() const = 0;             ///< values may depend on time
    /// Instructions say themselves when the next one may issue and what they wait for (InstructionInfo::stall).
    virtual bool has_control_words() const { return false; }
    /// The place of an instruction in the user's file, for messages.
    virtual SourceLocation place_of(const ptx::InstructionInfo& info) const = 0;

    /// Called before a run whose blocks will be made for `groups` groups. Returns true when blocks of
    /// different groups share nothing that changes, so that several threads of the host may perform them at a
    /// time.
    virtual bool divide(std::uint32_t groups) { return groups == 1; }
    /// `observer`, `tag`: see ptx::Cta::set_observer(). Both outlive the block.
    virtual std::unique_ptr<BlockSource> make_block(ptx::CtaObserver& observer, std::uint32_t tag,
                                                    std::uint32_t group) = 0;

  protected:
    void table_has_grown() const {
        if (grown_) grown_();
    }

  private:
    std::function<void()> grown_;
};

}  // namespace heddle::models::gpu
