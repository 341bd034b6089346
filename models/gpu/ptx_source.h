// A launch of a PTX kernel as a source of instructions: isa/ptx executes them when they issue.
#pragma once

#include <vector>

#include "models/gpu/instruction_source.h"

namespace heddle::models::gpu {

/// Wraps a launch context of isa/ptx; `launch` must outlive it.
class PtxSource final : public LaunchSource {
  public:
    /// `launch` and its kernel must outlive this.
    explicit PtxSource(const ptx::LaunchContext& launch);

    const std::string& name() const override { return launch_.kernel->name(); }
    const ptx::LaunchContext& launch() const override { return launch_; }
    unsigned registers_per_thread() const override { return launch_.kernel->registers_per_thread(); }
    std::uint64_t shared_bytes() const override;
    std::size_t instruction_count() const override { return launch_.kernel->instructions().size(); }
    const ptx::InstructionInfo& instruction(std::size_t index) const override {
        return launch_.kernel->instructions()[index];
    }
    std::uint64_t code_position(std::size_t index) const override { return positions_[index]; }
    std::vector<RegisterReads> register_reads(const RegisterBanksConfig& config,
                                              std::size_t first) const override;
    bool is_complete() const override { return true; }
    std::size_t scoreboard_size() const override { return launch_.kernel->scoreboard_size(); }
    bool reads_clock() const override { return launch_.kernel->reads_clock(); }
    bool has_control_words() const override { return launch_.kernel->machine_code() != nullptr; }
    SourceLocation place_of(const ptx::InstructionInfo& info) const override;
    bool divide(std::uint32_t groups) override;
    std::unique_ptr<BlockSource> make_block(ptx::CtaObserver& observer, std::uint32_t tag,
                                            std::uint32_t group) override;

  private:
    const ptx::LaunchContext& launch_;
    struct alignas(64) Scratch {
        ptx::StepScratch of_steps;
    };
    std::vector<Scratch> scratches_{1};     // by group
    std::vector<std::uint64_t> positions_;  // of instructions, in machine instructions
};

}  // namespace heddle::models::gpu
