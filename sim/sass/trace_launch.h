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

/// A thread block that is ready to run.
struct PackedBlock {
    std::vector<PackedWarp> warps;
    std::vector<std::uint8_t> numbers;  ///< number of each warp within the recorded thread block
    BlockBarriers barriers;             ///< the warps that will arrive at each barrier
};

class ClusterRendezvous;

/// A recorded launch. Several host threads may run its blocks when divide() allows it.
class TraceLaunch final : public models::gpu::LaunchSource {
  public:
    /// Reads the header and the first thread block. Throws heddle::Error for errors in them; errors in the
    /// rest are thrown when it is read.
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
    /// Possible once all instructions are known, because then thread blocks share nothing except the file.
    bool divide(std::uint32_t groups) override { return groups == 1 || complete_; }
    std::unique_ptr<models::gpu::BlockSource> make_block(ptx::CtaObserver& observer, std::uint32_t tag,
                                                         std::uint32_t group) override;

    const KernelHeader& header() const { return reader_.header(); }
    const TraceTable& table() const { return table_; }
    /// The copies of KernelHeader::copies, or those that the reader found.
    const std::vector<std::vector<ptx::AsyncOperation>>& copies() const { return copies_; }
    /// Takes over what another reader knows that has read the file to its end. To be called before a run.
    void know(const TraceReader& ahead);
    /// Returns thread block `index` of the grid, which is its number in the file unless the grid has
    /// clusters. Reads as far as needed.
    PackedBlock take_block(std::uint64_t index);
    /// Returns the rank, within its cluster, of the thread block with this number.
    unsigned rank_of(std::uint64_t index) const;
    /// Reads the whole file ahead, with unbounded memory; for benchmarks.
    void read_all();
    /// Returns the state that the blocks of a running cluster share.
    ClusterRendezvous& rendezvous(ptx::Cluster* cluster);
    void forget(ptx::Cluster* cluster);

    /// To be called after the run. Throws heddle::Error when the file has more thread blocks than the grid.
    void finish();
    std::uint64_t warp_instructions() const { return warp_instructions_; }  ///< read from the file
    std::uint64_t text_bytes() const { return reader_.text_bytes(); }
    /// The largest number of thread blocks that had been read and had not ended.
    std::uint64_t most_held() const { return most_held_; }
    void block_ended();
    /// The number of warps released from barriers at which other warps could not arrive, and of copies for
    /// which the trace does not say what they move.
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
