#include "isa/ptx/machine/checker.h"

#include <algorithm>
#include <bit>

#include "isa/common/hexadecimal.h"
#include "isa/ptx/decode/steering.h"
#include "isa/ptx/machine/lane_operands.h"

namespace heddle::ptx {
namespace {

// Accesses that order others: atomic, or with a declared order.
bool orders(const Instruction& n) {
    return n.opcode == Opcode::atom || n.opcode == Opcode::red || n.has(Modifier::volatile_) ||
           n.has(Modifier::relaxed) || n.has(Modifier::acquire) || n.has(Modifier::release);
}

}  // namespace

std::string_view name_of(CheckFinding::Kind kind) {
    switch (kind) {
        case CheckFinding::Kind::uninitialised:
            return "uninitialised";
        case CheckFinding::Kind::race:
            return "race";
        default:
            return "barrier";
    }
}

bool CheckLog::count(CheckFinding::Kind kind, const std::string& kernel, std::uint32_t instruction,
                     std::uint32_t other) {
    const auto [entry, inserted] =
        index_.try_emplace(Key{kind, kernel, instruction, other}, findings_.size());
    if (!inserted) ++findings_[entry->second].count;
    return inserted;
}

void CheckLog::add(CheckFinding finding) {
    findings_.push_back(std::move(finding));
}

Checker::Checker(Cta::Implementation& cta, CheckLog& log) : cta_(cta), log_(log) {
    restart();
}

void Checker::restart() {
    cells_.assign(cta_.shared_bytes, Cell{});
    local_written_.assign(cta_.states.size() * kWarpSize * cta_.local_stride, false);
    clocks_.assign(cta_.states.size(), Clock{});
    for (std::size_t w = 0; w < clocks_.size(); ++w) clocks_[w][w] = 1;
    barrier_clocks_.fill({});
    cluster_clock_ = {};
    object_clocks_.clear();
    step_ = 0;
    together_.assign(cta_.states.size(), {});
}

void Checker::join(Clock& into, const Clock& from) {
    for (std::size_t w = 0; w < into.size(); ++w) into[w] = std::max(into[w], from[w]);
}

// What the warp has done so far comes before whatever follows the object.
void Checker::release_to(Clock& object, unsigned warp) {
    join(object, clocks_[warp]);
    ++clocks_[warp][warp];
}

void Checker::synchronize(Clock& object, unsigned warp) {
    join(clocks_[warp], object);
    release_to(object, warp);
}

void Checker::note_lanes_together(const Warp::State& warp, std::uint32_t mask) {
    auto& together = together_[warp.index];
    for_each_lane(mask,
                  [&](unsigned a) { for_each_lane(mask, [&](unsigned b) { together[a][b] = step_; }); });
}

bool Checker::ordered(const Warp::State& warp, unsigned lane, const Access& earlier) const {
    if (earlier.time == 0) return true;
    if (earlier.warp != warp.index) return earlier.time <= clocks_[warp.index][earlier.warp];
    return earlier.lane == lane || earlier.step == step_ || earlier.time < clocks_[warp.index][warp.index] ||
           together_[warp.index][lane][earlier.lane] > earlier.step;
}

void Checker::before(Warp::State& warp, std::uint32_t at, std::uint32_t mask) {
    ++step_;
    const Instruction& n = cta_.kernel->kernel.instructions[at];
    const DecodedInstruction& decoded = warp.code[at];
    const auto row = [&](std::uint32_t operand) {
        return reinterpret_cast<const std::uint32_t*>(warp.bank[operand >> 31] + (operand & ~kConstantBank));
    };
    if (n.opcode != Opcode::bar && n.opcode != Opcode::barrier) return;
    if (n.has(Modifier::warp)) {
        note_lanes_together(warp, row(decoded.operand[0])[std::countr_zero(mask)] & warp.live);
        return;
    }
    check_barrier(warp, at, mask);
    if (n.has(Modifier::cluster)) {
        if (n.has(Modifier::arrive)) release_to(cluster_clock_, warp.index);
        return;
    }
    const std::uint32_t number = row(decoded.operand[0])[std::countr_zero(mask)];
    if (number < kBarrierCount) release_to(barrier_clocks_[number], warp.index);
}

// bar.sync and everything .aligned must be executed by all threads of the warp together (PTX manual, "bar").
void Checker::check_barrier(const Warp::State& warp, std::uint32_t at, std::uint32_t mask) {
    if (!log_.options().barriers) return;
    const Instruction& n = cta_.kernel->kernel.instructions[at];
    const bool aligned = n.opcode == Opcode::bar || n.has(Modifier::aligned);
    if (!aligned || mask == warp.live) return;
    const std::uint32_t missing = warp.live & ~mask;
    report(CheckFinding::Kind::barrier, warp, at, static_cast<unsigned>(std::countr_zero(missing)), at,
           std::to_string(std::popcount(missing)) +
               " lanes of the warp, this one first, are not at a barrier that the warp must reach together");
}

void Checker::barrier_released(unsigned number, std::uint32_t warps, bool for_all_threads) {
    if (number >= kBarrierCount)
        return;  // warps of a warpgroup meet at wgmma.wait_group: no barrier to memory
    for_each_lane(warps, [&](unsigned w) { join(clocks_[w], barrier_clocks_[number]); });
    barrier_clocks_[number] = {};
    if (!log_.options().barriers || !for_all_threads || warps == 0) return;
    std::uint64_t threads = cta_.launch.block.count(), live = 0;
    for (const Warp::State& warp : cta_.states) live += static_cast<unsigned>(std::popcount(warp.live));
    if (live == threads) return;
    const Warp::State& warp = cta_.states[static_cast<std::size_t>(std::countr_zero(warps))];
    const std::uint32_t at = warp.pc - 1;
    report(
        CheckFinding::Kind::barrier, warp, at, 0, at,
        std::to_string(threads - live) + " threads of the CTA have exited before a barrier of the whole CTA");
}

void Checker::cluster_barrier_released() {
    for (Clock& clock : clocks_) join(clock, cluster_clock_);
}

void Checker::arrives_at_exited(const Warp::State& warp, unsigned lane, std::uint64_t cluster_address) {
    if (!log_.options().barriers) return;
    const std::uint32_t at = warp.pc - 1;
    report(CheckFinding::Kind::barrier, warp, at, lane, at,
           "arrives at an mbarrier at " + describe_shared(cluster_address & kClusterOffsetMask) +
               " of CTA rank " + std::to_string((cluster_address >> kClusterRankShift) - 1) +
               " of the cluster, which has exited");
}

void Checker::after(Warp::State& warp, std::uint32_t at, const MemoryAccess* access) {
    const Instruction& n = cta_.kernel->kernel.instructions[at];
    note_operations(warp, at);
    if (access == nullptr || access->lanes == 0) return;
    if (n.opcode == Opcode::mbarrier || n.has(Modifier::mbarrier)) {
        for_each_lane(access->lanes,
                      [&](unsigned lane) { synchronize(object_clocks_[access->address[lane]], warp.index); });
        return;
    }
    if (access->space == StateSpace::local) {
        access_local(warp, at, *access);
    } else if (access->space == StateSpace::shared || access->space == StateSpace::shared_cluster) {
        access_shared(warp, at, *access);
    } else if (cta_.kernel->information[at].async_copy) {
        for_each_lane(access->lanes | access->zero_filled_lanes, [&](unsigned lane) {
            access_bytes(warp, at, lane, access->shared_address[lane], access->bytes_per_lane, true, false);
        });
    }
}

void Checker::note_operations(Warp::State& warp, std::uint32_t at) {
    for (const AsyncOperation& operation : cta_.started) {
        for (unsigned rank = 0; rank < kMaximumClusterSize; ++rank) {
            if ((operation.destinations >> rank & 1u) == 0) continue;
            Cta::Implementation* target = cta_.cluster == nullptr ? &cta_ : cta_.cluster->ctas[rank];
            if (target == nullptr || target->checker == nullptr) continue;
            if (target == &cta_) {
                mark_written(warp, at, operation.shared_address, operation.bytes);
            } else {
                for (std::uint64_t b = 0; b < operation.bytes; ++b)
                    target->checker->cells_[operation.shared_address + b].written = true;
            }
        }
        for (const AsyncOperation::Signal& signal : operation.signals) {
            if (cta_.cluster == nullptr || signal.rank == cta_.cluster_rank)
                release_to(object_clocks_[signal.address], warp.index);
        }
    }
}

void Checker::access_local(Warp::State& warp, std::uint32_t at, const MemoryAccess& access) {
    if (!log_.options().initialisation) return;
    // Undoes the interleaving that the memory system sees (memory_slow_path.cpp).
    const std::uint64_t bytes = access.bytes_per_lane, thread_bytes = cta_.local_stride;
    const std::uint64_t base =
        kLocalWindow + (cta_.linear_index * cta_.warps.size() + warp.index) * thread_bytes * kWarpSize;
    for_each_lane(access.lanes, [&](unsigned lane) {
        const std::uint64_t own = ((access.address[lane] - base) / bytes - lane) / kWarpSize * bytes;
        const std::uint64_t first = (std::uint64_t{warp.index} * kWarpSize + lane) * thread_bytes + own;
        for (std::uint64_t b = first; b < first + bytes && b < local_written_.size(); ++b) {
            if (access.write && !access.atomic) {
                local_written_[b] = true;
            } else if (!local_written_[b]) {
                report(
                    CheckFinding::Kind::uninitialised, warp, at, lane, at,
                    "reads local memory at address " + hexadecimal(own) + " that the thread has not written");
                return;
            }
        }
    });
}

void Checker::access_shared(Warp::State& warp, std::uint32_t at, const MemoryAccess& access) {
    const Instruction& n = cta_.kernel->kernel.instructions[at];
    for_each_lane(access.lanes, [&](unsigned lane) {
        std::uint64_t offset = 0;
        Cta::Implementation* target = cta_of_address(cta_, access.address[lane], offset);
        if (target == nullptr) return;
        if (target != &cta_) {  // races between CTAs are not looked for
            for (unsigned b = 0; access.write && b < access.bytes_per_lane; ++b)
                target->checker->cells_[offset + b].written = true;
            return;
        }
        if (orders(n)) synchronize(object_clocks_[offset], warp.index);
        const bool reads = !access.write || access.atomic;
        if (orders(n)) {
            for (unsigned b = 0; b < access.bytes_per_lane; ++b) {
                Cell& cell = cells_[offset + b];
                if (reads && !cell.written && log_.options().initialisation) {
                    report(CheckFinding::Kind::uninitialised, warp, at, lane, at,
                           "reads " + describe_shared(offset) + " that no thread has written");
                }
                cell.written = cell.written || access.write;
            }
        } else {
            access_bytes(warp, at, lane, offset, access.bytes_per_lane, access.write, reads);
        }
    });
}

void Checker::access_bytes(Warp::State& warp, std::uint32_t at, unsigned lane, std::uint64_t address,
                           unsigned bytes, bool write, bool read) {
    const auto index = static_cast<std::uint8_t>(warp.index);
    const Access now{clocks_[index][index], step_, at, index, static_cast<std::uint8_t>(lane)};
    bool told = false;
    const auto race = [&](const Access& earlier, const char* did) {
        if (told || !log_.options().races) return;
        told = true;
        report(CheckFinding::Kind::race, warp, at, lane, earlier.instruction,
               std::string(write ? "writes " : "reads ") + describe_shared(address) + ", which warp " +
                   std::to_string(earlier.warp) + " lane " + std::to_string(earlier.lane) + " " + did + " (" +
                   place(earlier.instruction) + "), and no barrier orders the two");
    };
    for (std::uint64_t b = address; b < address + bytes && b < cells_.size(); ++b) {
        Cell& cell = cells_[b];
        if (read && !cell.written && !told && log_.options().initialisation) {
            told = true;
            report(CheckFinding::Kind::uninitialised, warp, at, lane, at,
                   "reads " + describe_shared(address) + " that no thread has written");
        }
        if (!ordered(warp, lane, cell.write)) race(cell.write, "has written");
        if (write) {
            if (!ordered(warp, lane, cell.read)) race(cell.read, "has read");
            for (unsigned w = 0; w < clocks_.size(); ++w) {
                if (w == index || cell.read_times[w] <= clocks_[index][w]) continue;
                Access reader = cell.read;
                reader.warp = static_cast<std::uint8_t>(w);
                race(reader, "has read");
            }
            cell.written = true;
            cell.write = now;
        }
        if (read) {
            cell.read = now;
            cell.read_times[index] = now.time;
        }
    }
}

// By an engine, on behalf of the warp.
void Checker::mark_written(const Warp::State& warp, std::uint32_t at, std::uint64_t address,
                           std::uint64_t bytes) {
    const auto index = static_cast<std::uint8_t>(warp.index);
    for (std::uint64_t b = address; b < address + bytes && b < cells_.size(); ++b) {
        cells_[b].written = true;
        cells_[b].write = {clocks_[index][index], step_, at, index, 0};
    }
}

void Checker::report(CheckFinding::Kind kind, const Warp::State& warp, std::uint32_t at, unsigned lane,
                     std::uint32_t other, const std::string& what) {
    const std::string& kernel = cta_.kernel->kernel.name;
    if (!log_.count(kind, kernel, at, other)) return;
    const Dim3& p = cta_.position;
    CheckFinding finding;
    finding.kind = kind;
    finding.line = cta_.kernel->information[at].line;
    finding.text = "kernel " + kernel + ", CTA (" + std::to_string(p.x) + ", " + std::to_string(p.y) + ", " +
                   std::to_string(p.z) + "), warp " + std::to_string(warp.index) + ", lane " +
                   std::to_string(lane) + ", " + place(at) + ": " + what;
    log_.add(std::move(finding));
}

std::string Checker::place(std::uint32_t instruction) const {
    const InstructionInfo& info = cta_.kernel->information[instruction];
    std::string text = cta_.kernel->file_name + ":" + std::to_string(info.line);
    const std::string source = cta_.launch.kernel->describe_source(instruction);
    if (!source.empty()) text += " (" + source + ")";
    return text;
}

std::string Checker::describe_shared(std::uint64_t address) const {
    std::string text = "shared address " + hexadecimal(address);
    for (const Variable& variable : cta_.kernel->kernel.variables) {
        if (variable.space != StateSpace::shared) continue;
        const std::uint64_t end = variable.bytes == 0 ? cta_.shared_bytes : variable.offset + variable.bytes;
        if (address >= variable.offset && address < end)
            return text + " (" + variable.name + " + " + std::to_string(address - variable.offset) + ")";
    }
    return text;
}

}  // namespace heddle::ptx
