// Records the execution of PTX launches while they are simulated, as files in the format of Accel-Sim.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "models/gpu/instruction_source.h"
#include "sim/sass/machine_code.h"
#include "sim/sass/packed_warp.h"

namespace heddle::sass {

/// A folder with kernelslist.g and one kernel-N.traceg for each launch. All files are written under temporary
/// names and renamed.
class TraceFolder {
  public:
    /// Creates the folder. Throws heddle::Error when that fails or the folder already contains a list.
    explicit TraceFolder(std::string path);
    /// Starts a kernel. Returns the path of its trace.
    std::string begin_kernel();
    std::uint64_t kernels() const { return kernels_; }
    /// Writes the list after the last kernel.
    void finish();

  private:
    std::string path_, list_;
    std::uint64_t kernels_ = 0;
};

/// A launch that is run and recorded. The steps of a thread block are kept until it and all blocks before it
/// have ended.
class RecordingSource final : public models::gpu::LaunchSource {
  public:
    /// `inner` must be a launch of PTX (otherwise heddle::Error is thrown) and must outlive this object. `id`
    /// is the number of the kernel, counted from 1.
    RecordingSource(models::gpu::LaunchSource& inner, std::string path, std::uint64_t id);
    ~RecordingSource() override;

    const std::string& name() const override { return inner_.name(); }
    const ptx::LaunchContext& launch() const override { return inner_.launch(); }
    unsigned registers_per_thread() const override { return inner_.registers_per_thread(); }
    std::uint64_t shared_bytes() const override { return inner_.shared_bytes(); }
    std::size_t instruction_count() const override { return inner_.instruction_count(); }
    const ptx::InstructionInfo& instruction(std::size_t index) const override {
        return inner_.instruction(index);
    }
    std::uint64_t code_position(std::size_t index) const override { return inner_.code_position(index); }
    std::vector<models::gpu::RegisterReads> register_reads(const models::gpu::RegisterBanksConfig& config,
                                                           std::size_t first) const override {
        return inner_.register_reads(config, first);
    }
    bool is_complete() const override { return inner_.is_complete(); }
    std::size_t scoreboard_size() const override { return inner_.scoreboard_size(); }
    bool reads_clock() const override { return inner_.reads_clock(); }
    SourceLocation place_of(const ptx::InstructionInfo& info) const override { return inner_.place_of(info); }
    std::unique_ptr<models::gpu::BlockSource> make_block(ptx::CtaObserver& observer, std::uint32_t tag,
                                                         std::uint32_t group) override;

    /// Completes the file after the run. Without this call no file is left.
    void finish();

    /// Number of machine instructions written so far.
    std::uint64_t instructions() const { return instructions_; }

  private:
    friend class RecordingBlock;
    friend class RecordingWarp;
    /// An instruction with its own immediate, which the rows of a PackedWarp name here.
    struct Variant {
        std::uint32_t instruction;
        std::int64_t immediate;
    };
    std::uint32_t variant(std::uint32_t instruction, std::int64_t immediate);
    std::int64_t number_of_copy(const std::string& text);
    void block_ended(std::uint64_t index, std::vector<PackedWarp> warps);
    void write_block(std::uint64_t index, const std::vector<PackedWarp>& warps);
    void write_step(const ReplayStep& step, std::string& text);
    std::string header() const;
    std::string scoreboard_lines() const;

    models::gpu::LaunchSource& inner_;
    const std::string path_;
    const std::uint64_t id_;
    std::vector<std::vector<MachineLine>> code_;  // by instruction
    std::vector<Variant> variants_;
    std::map<std::pair<std::uint32_t, std::int64_t>, std::uint32_t> numbers_;
    std::vector<std::string> copies_;
    std::map<std::string, std::int64_t> copy_numbers_;
    std::map<std::uint64_t, std::vector<PackedWarp>> ended_;  // blocks that wait for earlier ones
    std::uint64_t next_ = 0;                                  // block to be written
    struct File;
    std::unique_ptr<File> body_;
    std::uint64_t instructions_ = 0;
};

}  // namespace heddle::sass
