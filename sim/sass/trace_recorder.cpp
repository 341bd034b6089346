#include "sim/sass/trace_recorder.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <deque>
#include <filesystem>
#include <optional>
#include <set>
#include <span>

#include "isa/common/error.h"
#include "isa/ptx/inspection.h"
#include "sim/sass/copy_text.h"
#include "sim/sass/recorded_windows.h"
#include "workloads/sass_traces/arrivals.h"

namespace heddle::sass {

using ptx::StateSpace;

namespace {

/// Mode 1 where the lanes are neighbours and their addresses go up evenly, else 2; 0 where a difference is
/// too large for readers that keep it in 32 bits. Of no lanes there is one address, 0, as tracers write it.
void write_addresses(const ReplayStep& step, std::string& text) {
    if (step.lanes == 0) {
        text += " 1 0x0 0";
        return;
    }
    const auto count = static_cast<std::size_t>(std::popcount(step.lanes));
    const std::span<const std::uint64_t> addresses(step.addresses.data(), count);
    const std::uint32_t run = step.lanes >> std::countr_zero(step.lanes);
    bool even = (run & (run + 1)) == 0, narrow = true;
    for (std::size_t i = 1; i < count; ++i) {
        const auto difference = static_cast<std::int64_t>(addresses[i] - addresses[i - 1]);
        even = even && addresses[i] - addresses[i - 1] == addresses[1] - addresses[0];
        narrow = narrow && difference == static_cast<std::int32_t>(difference);
    }
    const auto hexadecimal = [](std::uint64_t value) {
        char buffer[32];
        std::snprintf(buffer, sizeof buffer, " 0x%llx", static_cast<unsigned long long>(value));
        return std::string(buffer);
    };
    const auto difference = [&](std::size_t i) {
        return " " + std::to_string(static_cast<std::int64_t>(addresses[i] - addresses[i - 1]));
    };
    if (!narrow) {
        text += " 0";
        for (const std::uint64_t address : addresses) text += hexadecimal(address);
        return;
    }
    text += (even ? " 1" : " 2") + hexadecimal(addresses[0]);
    if (even) text += count > 1 ? difference(1) : " 0";
    for (std::size_t i = 1; i < count && !even; ++i) text += difference(i);
}

/// Scoreboard identifiers of instructions. What costs no issue slot is not recorded: those that read its
/// result wait for what it read.
class DependenceText {
  public:
    explicit DependenceText(const ptx::LoadedKernel& kernel)
        : kernel_(kernel), behind_(kernel.scoreboard_size()) {
        for (const ptx::InstructionInfo& info : kernel.instructions()) {
            if (info.pipeline != ptx::Pipeline::none) continue;
            for (const std::uint16_t id : info.writes)
                behind_[id].insert(behind_[id].end(), info.reads.begin(), info.reads.end());
        }
    }
    /// "written / read"; `later`: of a further machine operation of the same instruction.
    std::string of(std::size_t index, bool later) const {
        const ptx::InstructionInfo& info = kernel_.instructions()[index];
        std::set<std::uint16_t> reads;
        for (const std::uint16_t id : later ? info.writes : info.reads) add(id, reads);
        std::string text;
        for (const std::uint16_t id : info.writes) text += std::to_string(id) + " ";
        text += "/";
        for (const std::uint16_t id : reads) text += " " + std::to_string(id);
        return text;
    }

  private:
    void add(std::uint16_t id, std::set<std::uint16_t>& reads) const {
        if (!reads.insert(id).second) return;
        for (const std::uint16_t source : behind_[id]) add(source, reads);
    }
    const ptx::LoadedKernel& kernel_;
    std::vector<std::vector<std::uint16_t>> behind_;  // by identifier: sources of what costs nothing
};

}  // namespace

struct RecordingSource::File {
    explicit File(const std::string& path) : path(path), handle(std::fopen(path.c_str(), "wb+")) {
        if (handle == nullptr)
            throw Error("cannot be written", {path}, "check the folder and the permissions");
    }
    ~File() {
        std::fclose(handle);
        std::remove(path.c_str());
    }
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    void write(const std::string& text) {
        if (std::fwrite(text.data(), 1, text.size(), handle) != text.size())
            throw Error("cannot be written", {path}, "is the disk full?");
    }
    const std::string path;
    std::FILE* const handle;
};

TraceFolder::TraceFolder(std::string path) : path_(std::move(path)) {
    std::error_code error;
    std::filesystem::create_directories(path_, error);
    if (error) throw Error("the folder cannot be made: " + error.message(), {path_}, "choose another folder");
    if (!std::filesystem::is_empty(path_, error))
        throw Error("holds files already", {path_}, "choose a new folder");
}

std::string TraceFolder::begin_kernel() {
    const std::string name = "kernel-" + std::to_string(++kernels_) + ".traceg";
    list_ += name + "\n";
    return std::filesystem::path(path_) / name;
}

void TraceFolder::finish() {
    const std::string path = std::filesystem::path(path_) / "kernelslist.g", aside = path + ".part";
    std::FILE* const file = std::fopen(aside.c_str(), "wb");
    const bool written = file != nullptr && std::fwrite(list_.data(), 1, list_.size(), file) == list_.size();
    if (file == nullptr || std::fclose(file) != 0 || !written ||
        std::rename(aside.c_str(), path.c_str()) != 0)
        throw Error("cannot be written", {path}, "is the disk full?");
}

class RecordingBlock;

class RecordingWarp final : public models::gpu::WarpSource {
  public:
    RecordingWarp(RecordingBlock& block, models::gpu::WarpSource& inner)
        : WarpSource(inner.status()), block_(block), inner_(inner) {}
    ptx::StepResult step(std::uint64_t clock) override;

  private:
    RecordingBlock& block_;
    models::gpu::WarpSource& inner_;
};

class RecordingBlock final : public models::gpu::BlockSource {
  public:
    RecordingBlock(RecordingSource& source, std::unique_ptr<models::gpu::BlockSource> inner)
        : source_(source), inner_(std::move(inner)) {}
    void start(std::uint64_t index, std::uint32_t sm, ptx::Cluster* cluster) override {
        inner_->start(index, sm, cluster);
        warps_.clear();
        for (unsigned i = 0; i < inner_->warp_count(); ++i) warps_.emplace_back(*this, inner_->warp(i));
        recorded_.assign(inner_->warp_count(), {});
        running_ = inner_->warp_count();
    }
    unsigned warp_count() const override { return inner_->warp_count(); }
    models::gpu::WarpSource& warp(unsigned index) override { return warps_[index]; }
    std::uint64_t linear_index() const override { return inner_->linear_index(); }
    std::span<ptx::AsyncOperation> started() override { return inner_->started(); }
    void complete(const ptx::AsyncOperation& operation) override { inner_->complete(operation); }
    std::uint32_t resume_stalled() override { return inner_->resume_stalled(); }
    std::uint64_t changes() const override { return inner_->changes(); }
    ptx::WarpFingerprint fingerprint(unsigned warp) const override { return inner_->fingerprint(warp); }
    std::string describe_waiting() const override { return inner_->describe_waiting(); }
    const ptx::Cta* ptx_cta() const override { return inner_->ptx_cta(); }

  private:
    friend class RecordingWarp;
    void see_barriers(std::uint32_t instruction);
    void record(unsigned warp, std::uint32_t instruction, const ptx::StepResult& result);
    void record_access(PackedWarp& to, std::uint32_t row, const ptx::MemoryAccess& access);
    std::int64_t change_of_barrier(const ptx::InstructionInfo& info, const ptx::MemoryAccess& access);

    RecordingSource& source_;
    std::unique_ptr<models::gpu::BlockSource> inner_;
    std::deque<RecordingWarp> warps_;
    std::vector<PackedWarp> recorded_;
    std::map<std::uint64_t, ptx::MemoryBarrierState> barriers_;  // as last seen, before the present step
    std::array<std::uint64_t, 16> arrivals_{};                   // at barriers, before the present step
    unsigned running_ = 0;
};

ptx::StepResult RecordingWarp::step(std::uint64_t clock) {
    const std::uint32_t instruction = inner_.next();
    block_.see_barriers(instruction);
    const ptx::StepResult result = inner_.step(clock);
    // A wait that has to wait is performed again.
    if (result.info->memory_barrier == ptx::MemoryBarrierUse::none ||
        !ptx::will_perform_again(*inner_.ptx_warp(), instruction))
        block_.record(inner_.index(), instruction, result);
    return result;
}

void RecordingBlock::see_barriers(std::uint32_t instruction) {
    const std::vector<MachineLine>& code = source_.code_[instruction];
    if (!code.empty() && code.front().immediate == kInRegister)
        arrivals_ = ptx::barrier_states(*inner_->ptx_cta());
    if (barriers_.empty() || code.empty() || code.front().opcode.rfind("SYNCS", 0) != 0) return;
    for (auto& [address, state] : barriers_) {
        if (const auto now = ptx::memory_barrier_state(*inner_->ptx_cta(), address)) state = *now;
    }
}

// What the step did to the barriers that its lanes name: the same to each of them.
std::int64_t RecordingBlock::change_of_barrier(const ptx::InstructionInfo& info,
                                               const ptx::MemoryAccess& access) {
    const std::uint64_t address = access.address[static_cast<unsigned>(std::countr_zero(access.lanes))];
    const auto after = ptx::memory_barrier_state(*inner_->ptx_cta(), address);
    if (!after) return 0;
    const auto known = barriers_.find(address);
    std::int64_t change = 0;
    if (info.memory_barrier == ptx::MemoryBarrierUse::none) {
        change = after->expected;  // it was initialised
    } else if (info.memory_barrier != ptx::MemoryBarrierUse::arrive) {
        change = after->phase ? 0 : 1;  // the parity of the phase that is over
    } else if (known == barriers_.end()) {
        change = 1;
    } else {
        const ptx::MemoryBarrierState& before = known->second;
        const bool over = before.phase != after->phase;
        const std::int64_t arrivals = over ? before.pending : before.pending - after->pending;
        const std::int64_t transactions =
            (over ? 0 : after->transactions) - std::int64_t{before.transactions};
        change = encode_arrival(arrivals, transactions);
    }
    for (std::uint32_t left = access.lanes; left != 0; left &= left - 1) {
        const std::uint64_t each = access.address[static_cast<unsigned>(std::countr_zero(left))];
        if (const auto now = ptx::memory_barrier_state(*inner_->ptx_cta(), each)) barriers_[each] = *now;
    }
    return change;
}

void RecordingBlock::record(unsigned warp, std::uint32_t instruction, const ptx::StepResult& result) {
    const std::vector<MachineLine>& code = source_.code_[instruction];
    if (!code.empty()) {
        PackedWarp& to = recorded_[warp];
        const MachineLine& line = code.front();
        std::int64_t immediate = line.immediate;
        const bool barrier = line.opcode.rfind("SYNCS", 0) == 0;
        if (barrier && result.access != nullptr && result.access->lanes != 0)
            immediate = change_of_barrier(*result.info, *result.access);
        if (immediate == kInRegister) {
            const auto now = ptx::barrier_states(*inner_->ptx_cta());
            const auto changed = std::mismatch(now.begin(), now.end(), arrivals_.begin()).first;
            immediate = std::min<std::int64_t>(changed - now.begin(), 15);
        }
        if (result.started_operations != 0) {
            const auto started = inner_->started().first(result.started_operations);
            const std::uint64_t base = base_of(started);
            immediate = source_.number_of_copy(to_text(started, base));
            const std::uint64_t address = base;
            const std::uint32_t lane = 1u << std::countr_zero(result.active_lanes);
            to.add(source_.variant(instruction, immediate), lane, {&address, 1});
        } else if (result.access != nullptr && line.bytes_per_lane != 0) {
            record_access(to, source_.variant(instruction, immediate), *result.access);
        } else {
            to.add(source_.variant(instruction, immediate), result.active_lanes, {});
        }
    }
    if (!result.finished) return;
    recorded_[warp].finish();
    if (--running_ == 0) source_.block_ended(linear_index(), std::move(recorded_));
}

void RecordingBlock::record_access(PackedWarp& to, std::uint32_t row, const ptx::MemoryAccess& access) {
    std::array<std::uint64_t, 32> addresses;
    std::size_t count = 0;
    for (std::uint32_t left = access.lanes; left != 0; left &= left - 1) {
        std::uint64_t address = access.address[static_cast<unsigned>(std::countr_zero(left))];
        if (access.space == StateSpace::shared || access.space == StateSpace::shared_cluster)
            address += kRecordedShared;
        // isa/ptx interleaves the lanes' local memory; a trace holds each thread's own addresses.
        if (access.space == StateSpace::local)
            address = kRecordedLocal + (address - kRecordedLocal) /
                                           (std::uint64_t{32} * access.bytes_per_lane) *
                                           access.bytes_per_lane % (std::uint64_t{1} << 24);
        addresses[count++] = address;
    }
    to.add(row, access.lanes, {addresses.data(), count});
}

RecordingSource::RecordingSource(models::gpu::LaunchSource& inner, std::string path, std::uint64_t id)
    : inner_(inner), path_(std::move(path)), id_(id) {
    const ptx::LoadedKernel* const kernel = inner.launch().kernel;
    if (kernel == nullptr) throw Error("only launches of PTX can be recorded", {path_, 0, ""});
    for (std::size_t i = 0; i < inner.instruction_count(); ++i) {
        const ptx::Opcode opcode = ptx::instruction_of(*kernel, i).opcode;
        if (opcode >= ptx::Opcode::suld && opcode <= ptx::Opcode::txq)
            throw Error("kernel " + kernel->name() + " uses " + std::string(ptx::name_of(opcode)) +
                            ", and traces have no addresses for textures and surfaces",
                        {path_, 0, ""}, "run the kernel itself");
    }
    for (std::size_t i = 0; i < inner.instruction_count(); ++i) code_.push_back(machine_code(*kernel, i));
    body_ = std::make_unique<File>(path_ + ".body");
}

RecordingSource::~RecordingSource() = default;

std::unique_ptr<models::gpu::BlockSource> RecordingSource::make_block(ptx::CtaObserver& observer,
                                                                      std::uint32_t tag,
                                                                      std::uint32_t group) {
    return std::make_unique<RecordingBlock>(*this, inner_.make_block(observer, tag, group));
}

std::uint32_t RecordingSource::variant(std::uint32_t instruction, std::int64_t immediate) {
    const auto [place, fresh] =
        numbers_.try_emplace({instruction, immediate}, static_cast<std::uint32_t>(variants_.size()));
    if (fresh) variants_.push_back({instruction, immediate});
    return place->second;
}

std::int64_t RecordingSource::number_of_copy(const std::string& text) {
    const auto [place, fresh] = copy_numbers_.try_emplace(text, static_cast<std::int64_t>(copies_.size()));
    if (fresh) copies_.push_back(text);
    return place->second;
}

void RecordingSource::block_ended(std::uint64_t index, std::vector<PackedWarp> warps) {
    ended_.emplace(index, std::move(warps));
    for (auto first = ended_.begin(); first != ended_.end() && first->first == next_;
         first = ended_.begin()) {
        write_block(next_++, first->second);
        ended_.erase(first);
    }
}

void RecordingSource::write_block(std::uint64_t index, const std::vector<PackedWarp>& warps) {
    const ptx::Dim3& grid = launch().grid;
    std::string text = "#BEGIN_TB\n\nthread block = " + std::to_string(index % grid.x) + "," +
                       std::to_string(index / grid.x % grid.y) + "," +
                       std::to_string(index / grid.x / grid.y) + "\n\n";
    for (std::size_t warp = 0; warp < warps.size(); ++warp) {
        std::string lines;
        std::uint64_t count = 0;
        PackedWarp::Cursor cursor = warps[warp].begin();
        for (ReplayStep step; !cursor.at_end();) {
            cursor.next(step);
            write_step(step, lines);
            count += code_[variants_[step.row].instruction].size();
        }
        text += "warp = " + std::to_string(warp) + "\ninsts = " + std::to_string(count) + "\n" + lines + "\n";
        instructions_ += count;
    }
    body_->write(text + "#END_TB\n\n");
}

void RecordingSource::write_step(const ReplayStep& step, std::string& text) {
    const Variant& variant = variants_[step.row];
    const std::uint64_t position = inner_.code_position(variant.instruction);
    const std::vector<MachineLine>& code = code_[variant.instruction];
    for (std::size_t i = 0; i < code.size(); ++i) {
        const MachineLine& line = code[i];
        const unsigned long long address = (position + i) * 16;
        char buffer[64];
        std::snprintf(buffer, sizeof buffer, "%04llx %08x %d ", address, step.lanes, line.writes ? 1 : 0);
        text += buffer;
        if (line.writes) text += "R" + std::to_string(line.destination) + " ";
        text += line.opcode + " " + std::to_string(line.sources.size());
        for (const std::uint8_t source : line.sources) text += " R" + std::to_string(source);
        // What touches memory does so for no lane at all, too: readers take its width from there.
        const bool accesses = step.accesses || (step.lanes == 0 && line.bytes_per_lane != 0);
        if (i != 0 || !accesses) {
            text += " 0 " + std::to_string(i == 0 ? variant.immediate : 0) + "\n";
            continue;
        }
        text += " " + std::to_string(line.bytes_per_lane);
        write_addresses(step, text);
        text += " " + std::to_string(variant.immediate) + "\n";
    }
}

void RecordingSource::finish() {
    if (next_ != launch().grid.count()) throw Error("internal: thread blocks are missing in the recording");
    const std::string aside = path_ + ".part";
    {
        File file(aside);
        file.write(header());
        std::rewind(body_->handle);
        std::string piece(1 << 20, '\0');
        for (std::size_t count = 0; (count = std::fread(piece.data(), 1, piece.size(), body_->handle)) != 0;)
            file.write(piece.substr(0, count));
        if (std::fflush(file.handle) != 0 || std::rename(aside.c_str(), path_.c_str()) != 0)
            throw Error("cannot be written", {path_}, "is the disk full?");
    }
    body_.reset();
}

std::string RecordingSource::header() const {
    const ptx::LaunchContext& launch = inner_.launch();
    const auto extent = [](const ptx::Dim3& d) {
        return "(" + std::to_string(d.x) + "," + std::to_string(d.y) + "," + std::to_string(d.z) + ")\n";
    };
    std::string text = "-kernel name = " + name() + "\n-kernel id = " + std::to_string(id_) +
                       "\n-grid dim = " + extent(launch.grid) + "-block dim = " + extent(launch.block) +
                       "-shmem = " + std::to_string(shared_bytes()) +
                       "\n-nregs = " + std::to_string(registers_per_thread()) +
                       "\n-binary version = " + std::to_string(launch.compute_capability) +
                       "\n-cuda stream id = 0\n-shmem base_addr = 0x00007d0000000000\n"
                       "-local mem base_addr = 0x00007e0000000000\n-nvbit version = none: written by Heddle\n"
                       "-accelsim tracer version = 5\n-enable lineinfo = 0\n-heddle complete = 1\n";
    if (launch.cluster.count() > 1) text += "-cluster dim = " + extent(launch.cluster);
    for (const std::string& copy : copies_) text += "-heddle copy = " + copy + "\n";
    text += scoreboard_lines();
    return text +
           "\n#traces format = [line_num] PC mask dest_num [reg_dests] opcode src_num [reg_srcs] mem_width "
           "[adrrescompress?] [mem_addresses] immediate\n\n";
}

// What each instruction waits for and gives, in identifiers of Heddle's own: predicates, uniform registers
// and vectors that do not lie side by side are not in the format's registers.
std::string RecordingSource::scoreboard_lines() const {
    const ptx::LoadedKernel& kernel = *launch().kernel;
    const DependenceText dependences(kernel);
    std::string text;
    for (std::size_t i = 0; i < code_.size(); ++i)
        for (std::size_t k = 0; k < code_[i].size(); ++k) {
            const unsigned long long address = (inner_.code_position(i) + k) * 16;
            char place[32];
            std::snprintf(place, sizeof place, "%04llx", address);
            text += "-heddle registers = " + std::string(place) + " " + dependences.of(i, k != 0) + "\n";
        }
    return text;
}

}  // namespace heddle::sass
