// Loops run ahead. A timing model that has seen how long a turn of a loop takes performs many turns at once:
// values that steer are computed, and nothing that other warps could notice happens. Waits succeed; arrivals,
// copies and stores are left out. After whole turns of all warps, barriers are as they were before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "isa/ptx/execution.h"

namespace heddle::ptx {

/// How the instructions of a kernel are performed in a leap, in timing mode.
class LeapProgram {
  public:
    explicit LeapProgram(const LoadedKernel& kernel);
    /// The reason why no warp of this kernel may leap; empty when they may.
    const std::string& obstacle() const { return obstacle_; }
    /// Whether an instruction waits for the state that an arrival returned; a leap must then pass an even
    /// number of phases, which leaves the state as it was.
    bool waits_for_states() const { return waits_for_states_; }
    /// Whether the work of a thread block may depend on what other thread blocks have written.
    bool blocks_depend() const { return blocks_depend_; }

    /// What a leap does with an instruction.
    enum class Action : std::uint8_t {
        perform,
        skip,        ///< only others could notice it
        access,      ///< ... a load, a store or cp.async in global memory: skipped, or an observer is told
        copy,        ///< ... a bulk or tensor copy: the same
        await,       ///< a wait: it succeeds
        wait_state,  ///< ... for the state of an arrival
        arrive,      ///< at a barrier in shared memory: skipped, but part of the signature
        stop,        ///< not in a leap: it ends the warp, or values would pass between warps
    };
    /// The action for each instruction, by its index.
    std::span<const Action> actions() const { return actions_; }
    /// Whether the loop that begins with instruction `head` lies in another loop.
    bool in_loop(std::uint32_t head) const;

  private:
    struct BackwardBranch {
        std::uint32_t from, to;
    };
    std::vector<Action> actions_;
    std::vector<BackwardBranch> backward_;
    std::string obstacle_;
    bool waits_for_states_ = false, blocks_depend_ = false;
};

/// Is told of the global memory that warps use, or would have used while they leap.
class LeapObserver {
  public:
    virtual ~LeapObserver() = default;
    /// What a warp would have accessed, in program order. References are valid during the call.
    virtual void access(const MemoryAccess& access) = 0;
    virtual void copy(const AsyncOperation& operation) = 0;
};

/// Warp instructions of one thread block, run alone in timing mode without time. 0: not known, since it waits
/// for others or takes more than `most`. Not for kernels whose blocks depend on one another. `performed`: one
/// entry for each instruction of the kernel, to which the times are added that it is performed; may be empty.
std::uint64_t count_steps(const LaunchContext& launch, std::uint64_t linear_index, std::uint64_t most,
                          std::span<std::uint64_t> performed = {}, LeapObserver* observer = nullptr);

/// One warp that leaps. It changes the warp's registers and nothing else.
class WarpLeap {
  public:
    /// `performed`: as in count_steps(); it must live as long.
    WarpLeap(const LeapProgram& program, Warp& warp, std::span<std::uint64_t> performed = {});
    ~WarpLeap();
    WarpLeap(WarpLeap&&) noexcept;

    /// Performs `steps` instructions. Returns whether the warp is then where it was when the leap began, in
    /// the same loop, with the same lanes together; false also when it meets something that it cannot leap.
    bool turn(std::uint64_t steps, LeapObserver* observer = nullptr);
    /// A number for the branches taken and the barriers and phases used in the last turn. Two turns with the
    /// same signature do the same to all barriers.
    std::uint64_t signature() const { return signature_; }
    /// After the last turn, when all warps have made whole rings of them: registers that hold states which
    /// arrivals returned hold those of before, as the barriers do.
    void restore_states();
    /// Restores the registers of the moment when the leap began.
    void undo();

  private:
    struct Scratch;
    const LeapProgram* program_;
    Warp* warp_;
    std::unique_ptr<Scratch> scratch_;
    std::vector<std::byte> saved_;
    std::span<std::uint64_t> performed_;
    std::uint64_t signature_ = 0;
};

}  // namespace heddle::ptx
