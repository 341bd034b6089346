#include "sim/sass/trace_launch.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "isa/common/error.h"
#include "models/gpu/instruction_fetch.h"
#include "sim/sass/copy_text.h"
#include "sim/sass/trace_block.h"
#include "workloads/sass_traces/values.h"

namespace heddle::sass {
namespace {

ptx::Dim3 extent(const Dimensions& d) {
    return {d.x, d.y, d.z};
}

/// Code beyond this shares instruction lines with what stands before: no kernel is that long, and a damaged
/// program counter must not cost memory.
constexpr std::uint64_t kCodeBytes = 4 << 20;

}  // namespace

TraceLaunch::TraceLaunch(TraceReader reader, std::string path, std::optional<ptx::Operation> unknown_as)
    : reader_(std::move(reader)), path_(std::move(path)), table_(unknown_as, reader_.header().registers_of) {
    for (const std::string& copy : reader_.header().copies) copies_.push_back(operations_from_text(copy));
    launch_.grid = extent(reader_.header().grid);
    launch_.block = extent(reader_.header().block);
    launch_.cluster = extent(reader_.header().cluster);
    launch_.dynamic_shared_bytes = reader_.header().shared_bytes;
    launch_.mode = ptx::Mode::timing;
    says_groups_ = reader_.header().tracer_version >= kFirstVersionWithValues;
    read_block();  // mostly all of the code
}

TraceLaunch::~TraceLaunch() = default;

unsigned TraceLaunch::registers_per_thread() const {
    return std::max(1u, reader_.header().registers);
}

std::uint64_t TraceLaunch::code_position(std::size_t index) const {
    return table_[index].program_counter % kCodeBytes / models::gpu::kInstructionBytes;
}

// Bank of a register: its number, modulo two. Which operands the compiler told the reuse cache to hold is not
// in the trace: it is taken to hold what the instruction before read at the same place.
std::vector<models::gpu::RegisterReads> TraceLaunch::register_reads(
    const models::gpu::RegisterBanksConfig& config, std::size_t first) const {
    std::vector<models::gpu::RegisterReads> result(table_.size() - first);
    if (!config.enabled) return result;
    for (std::size_t i = first; i < table_.size(); ++i) {
        const auto& operands = table_[i].machine.operands;
        for (std::size_t p = 0; p < operands.size(); ++p) {
            const std::uint8_t r = operands[p];
            if (r == kNoGeneralRegister) continue;
            const unsigned bank = r % models::gpu::kRegisterBanks;
            ++result[i - first].all[bank];
            if (i == 0 || table_[i - 1].machine.operands[p] != r) ++result[i - first].after_own[bank];
        }
    }
    return result;
}

SourceLocation TraceLaunch::place_of(const ptx::InstructionInfo& info) const {
    return {path_, 0, "program counter " + std::to_string(info.line)};
}

std::unique_ptr<models::gpu::BlockSource> TraceLaunch::make_block(ptx::CtaObserver& observer,
                                                                  std::uint32_t tag, std::uint32_t) {
    return std::make_unique<TraceBlock>(*this, observer, tag);
}

void TraceLaunch::describe_copies(const TraceReader& reader) {
    for (; described_ < reader.copies().size(); ++described_)
        copies_.push_back({operation_of(reader.copies()[described_])});
}

void TraceLaunch::know(const TraceReader& ahead) {
    table_.extend(ahead.instructions());
    table_.complete();
    describe_copies(ahead);
    complete_ = true;
    table_has_grown();
}

PackedBlock TraceLaunch::take_block(std::uint64_t index) {
    const std::lock_guard lock(mutex_);
    while (waiting_.count(index) == 0) read_block();
    const auto found = waiting_.find(index);
    PackedBlock block = std::move(found->second);
    waiting_.erase(found);
    return block;
}

unsigned TraceLaunch::rank_of(std::uint64_t index) const {
    const ptx::Dim3 &grid = launch_.grid, &shape = launch_.cluster;
    const std::uint64_t x = index % grid.x, y = index / grid.x % grid.y, z = index / grid.x / grid.y;
    return static_cast<unsigned>((z % shape.z * shape.y + y % shape.y) * shape.x + x % shape.x);
}

void TraceLaunch::read_all() {
    while (reader_.thread_blocks() < reader_.header().grid.count()) read_block();
    know(reader_);
}

void TraceLaunch::read_block() {
    const std::uint64_t number = reader_.thread_blocks();
    const std::optional<ThreadBlock> block = reader_.next();
    const Dimensions& grid = reader_.header().grid;
    if (!block)
        throw Error("the grid has " + std::to_string(grid.count()) + " thread blocks, the file holds " +
                        std::to_string(number),
                    {path_, 0, "-grid dim"}, "the file is cut off, or the kernel was recorded in part");
    const bool grew = table_.extend(reader_.instructions());
    if (grew && complete_) throw Error("the file has changed while it was read", {path_, 0, ""}, "run again");
    describe_copies(reader_);
    const Dimensions& at = block->position;
    const std::uint64_t index =
        launch_.cluster.count() == 1 ? number : (std::uint64_t{at.z} * grid.y + at.y) * grid.x + at.x;
    const std::size_t rows = table_.size();
    if (!waiting_.emplace(index, pack(*block)).second)
        throw Error("two thread blocks have the same position", {path_, 0, "thread block"}, {});
    most_held_ = std::max(most_held_, ++held_);
    if (grew || table_.size() != rows) table_has_grown();
}

PackedBlock TraceLaunch::pack(const ThreadBlock& block) {
    PackedBlock result;
    for (const WarpTrace& warp : block.warps) {
        if (warp.steps.empty()) continue;  // it did not run
        result.numbers.push_back(static_cast<std::uint8_t>(warp.warp));
        result.warps.emplace_back();
        pack_warp(warp, static_cast<unsigned>(result.warps.size() - 1), result);
    }
    if (result.warps.empty())
        throw Error("no warp of the thread block performs an instruction",
                    {path_, 0,
                     "thread block = " + std::to_string(block.position.x) + "," +
                         std::to_string(block.position.y) + "," + std::to_string(block.position.z)},
                    "record the kernel again");
    if (!unknown_.empty()) report_all_unknown();
    return result;
}

void TraceLaunch::pack_warp(const WarpTrace& warp, unsigned index, PackedBlock& block) {
    PackedWarp& packed = block.warps[index];
    const auto ends_group = [&](std::size_t step) {
        if (says_groups_) return reader_.instructions()[warp.steps[step].instruction].ends_group;
        for (++step; step < warp.steps.size(); ++step) {
            const Behaviour next = table_[table_.row_of(warp.steps[step].instruction)].machine.behaviour;
            if (next == Behaviour::warpgroup) return true;
            if (next == Behaviour::warpgroup_matrix) return false;
        }
        return true;
    };
    for (std::size_t i = 0; i < warp.steps.size(); ++i) {
        const Step& step = warp.steps[i];
        std::uint32_t row = table_.row_of(step.instruction);
        if (table_.is_unknown(step.instruction)) ++unknown_[table_[row].opcode];
        const MachineInstruction& machine = table_[row].machine;
        if (machine.behaviour == Behaviour::warpgroup_matrix && ends_group(i)) row = table_.ending_group(row);
        if (machine.barrier != BarrierUse::none && step.lanes != 0)
            block.barriers.expect(machine.barrier_number, index);
        const std::size_t end =
            i + 1 < warp.steps.size() ? warp.steps[i + 1].addresses : warp.addresses.size();
        packed.add(row, step.lanes, {warp.addresses.data() + step.addresses, end - step.addresses});
    }
    packed.finish();
    warp_instructions_ += warp.steps.size();
}

// One error for all of them: the rest of the file is read for their names.
void TraceLaunch::report_all_unknown() {
    while (const auto block = reader_.next()) {
        table_.extend(reader_.instructions());
        for (const WarpTrace& warp : block->warps)
            for (const Step& step : warp.steps)
                if (table_.is_unknown(step.instruction))
                    ++unknown_[table_[table_.row_of(step.instruction)].opcode];
    }
    report_unknown(unknown_, path_);
    throw Error("internal: no opcode is unknown after all");
}

void TraceLaunch::block_ended() {
    const std::lock_guard lock(mutex_);
    --held_;
}

ClusterRendezvous& TraceLaunch::rendezvous(ptx::Cluster* cluster) {
    const std::lock_guard lock(mutex_);
    std::unique_ptr<ClusterRendezvous>& shared = clusters_[cluster];
    if (!shared) shared = std::make_unique<ClusterRendezvous>(ptx::cluster_size(launch_));
    return *shared;
}

void TraceLaunch::forget(ptx::Cluster* cluster) {
    const std::lock_guard lock(mutex_);
    clusters_.erase(cluster);
}

void TraceLaunch::finish() {
    if (!waiting_.empty() || reader_.next())
        throw Error("the file holds more than the grid's " + std::to_string(reader_.header().grid.count()) +
                        " thread blocks",
                    {path_, 0, "-grid dim"}, "is the file damaged?");
}

}  // namespace heddle::sass
