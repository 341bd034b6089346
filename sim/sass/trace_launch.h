// A recorded kernel as a source of instructions for the SMs of models/gpu.
//
// Thread blocks are read when they start, in the order of the file, and forgotten when they end: what is held
// is bounded by the thread blocks that run at the same time.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "models/gpu/instruction_source.h"
#include "sim/sass/block_barriers.h"
#include "sim/sass/packed_warp.h"
#include "sim/sass/trace_table.h"
#include "workloads/sass_traces/trace_reader.h"

namespace heddle::sass {

/// A thread block that is about to run.
struct PackedBlock {
    std::vector<PackedWarp> warps;
    std::vector<std::uint8_t> numbers;  ///< of the warps, in the thread block that was recorded
    BlockBarriers barriers;             ///< who will come to them
};

class ClusterRendezvous;

class TraceLaunch final : public models::gpu::LaunchSource {
  public:
    /// Reads the header and the first thread block. Throws heddle::Error for them, and for the rest when its
    /// turn comes.
    explicit TraceLaunch(TraceReader reader, std::string path,
                         std::optional<ptx::Operation> unknown_as = std::nullopt);
    ~TraceLaunch() override;

    const std::string& name() const override { return reader_.header().name; }
    const ptx::LaunchContext& launch() const override { return launch_; }
    unsigned registers_per_thread() const override;
    std::uint64_t shared_bytes() const override { return reader_.header().shared_bytes; }
    std::size_t instruction_count() const override { return table_.size(); }
    const ptx::InstructionInfo& instruction(std::size_t index) const override {
        return table_[index].machine.info;
    }
    std::uint64_t code_position(std::size_t index) const override;
    std::vector<models::gpu::RegisterReads> register_reads(const models::gpu::RegisterBanksConfig& config,
                                                           std::size_t first) const override;
    std::size_t scoreboard_size() const override { return table_.scoreboard_size(); }
    bool reads_clock() const override { return false; }
    SourceLocation place_of(const ptx::InstructionInfo& info) const override;
    /// Once all instructions are known: thread blocks have nothing in common then but the file.
    bool divide(std::uint32_t groups) override { return groups == 1 || complete_; }
    std::unique_ptr<models::gpu::BlockSource> make_block(ptx::CtaObserver& observer, std::uint32_t tag,
                                                         std::uint32_t group) override;

    const KernelHeader& header() const { return reader_.header(); }
    const TraceTable& table() const { return table_; }
    /// KernelHeader::copies, read, or those that the reader found.
    const std::vector<std::vector<ptx::AsyncOperation>>& copies() const { return copies_; }
    /// All that the file has for every thread block: what a reader knows that has read it to its end. Before
    /// a run.
    void know(const TraceReader& ahead);
    /// Number `index` of the grid; of a grid without clusters that is its number in the file. Reads on as far
    /// as needed.
    PackedBlock take_block(std::uint64_t index);
    /// In its cluster, of the thread block with this number.
    unsigned rank_of(std::uint64_t index) const;
    /// Reads the whole file ahead, which is not bounded: for benchmarks.
    void read_all();
    /// What the blocks of a running cluster share.
    ClusterRendezvous& rendezvous(ptx::Cluster* cluster);
    void forget(ptx::Cluster* cluster);

    /// After the run. Throws heddle::Error when the file holds more thread blocks than the grid.
    void finish();
    std::uint64_t warp_instructions() const { return warp_instructions_; }  ///< read from the file
    std::uint64_t text_bytes() const { return reader_.text_bytes(); }
    /// Thread blocks that were read and had not ended, at most.
    std::uint64_t most_held() const { return most_held_; }
    void block_ended();
    /// Warps that were let go from barriers at which the others could not come, and copies of which the trace
    /// does not say what they move.
    std::atomic<std::uint64_t> forced_releases = 0, undescribed_copies = 0;
    std::atomic<std::uint64_t> guessed_textures = 0;  ///< instructions whose addresses are not in the trace

  private:
    void read_block();
    void describe_copies(const TraceReader& reader);
    PackedBlock pack(const ThreadBlock& block);
    void pack_warp(const WarpTrace& warp, unsigned index, PackedBlock& block);
    [[noreturn]] void report_all_unknown();

    TraceReader reader_;
    const std::string path_;
    TraceTable table_;
    bool complete_ = false;  // so is the table
    std::mutex mutex_;       // of what blocks of different groups share: the members below, and the reader
    std::vector<std::vector<ptx::AsyncOperation>> copies_;
    std::size_t described_ = 0;  // of the reader's copies, those among copies_
    bool says_groups_ = false;   // products of warpgroups say whether they end a group
    ptx::LaunchContext launch_;
    std::map<std::uint64_t, PackedBlock> waiting_;  // read, not started
    std::map<ptx::Cluster*, std::unique_ptr<ClusterRendezvous>> clusters_;
    std::uint64_t warp_instructions_ = 0, held_ = 0, most_held_ = 0;
    UnknownOpcodes unknown_;
};

}  // namespace heddle::sass
