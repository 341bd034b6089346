#include "sim/gpu/plan/canonical_l2.h"

#include <string>
#include <vector>

#include "isa/ptx/global_memory.h"
#include "models/gpu/line_fetch.h"
#include "models/memory/l2_footprint.h"

namespace heddle::sim {
namespace {

using models::LineRange;

/// All lines that the launch may touch: its buffers in the canonical layout; its code, of which no
/// instruction is shorter than a letter of its text; parameters and the bank of constants, 64 KiB each.
std::vector<LineRange> lines_of(const program::GpuProgram& program, const PlannedLaunch& planned) {
    constexpr std::uint64_t kConstantBytes = 128 * 1024;
    const auto lines = [](std::uint64_t bytes) {
        return (bytes + models::kLineBytes - 1) / models::kLineBytes;
    };
    std::vector<LineRange> result;
    ptx::GlobalMemory memory;
    for (const PlannedBuffer& planned_buffer : planned.buffers) {
        const program::Buffer& buffer = program.buffers[planned_buffer.buffer];
        const std::uint64_t base = memory.allocate(buffer.name, buffer.bytes, false);
        result.push_back({base / models::kLineBytes, lines(buffer.bytes)});
    }
    const std::uint64_t letters = planned.launch->kernel->text.size();
    result.push_back({models::gpu::kCodeLines, lines(letters * models::gpu::kInstructionBytes)});
    result.push_back({models::gpu::kConstantLines, lines(kConstantBytes)});
    return result;
}

}  // namespace

std::uint64_t canonical_l2_bytes(const models::gpu::GpuConfig& config, const program::GpuProgram& program,
                                 const PlannedLaunch& planned) {
    constexpr std::uint64_t kFewestSets = 64, kMostSets = 1 << 16;  // of a slice
    if (planned.others_dirty || config.l2.is_replaced()) return config.l2.bytes;
    // Local memory and the heap are no buffers. (Registers that the scheduling pass puts there show later.)
    const std::string& text = planned.launch->kernel->text;
    for (const char* other : {".local", "malloc"})
        if (text.find(other) != std::string::npos) return config.l2.bytes;
    const std::vector<LineRange> lines = lines_of(program, planned);
    if (!models::has_room_for(config.l2, lines)) return config.l2.bytes;
    // Half of the ways stay free, so that a part of the device with its share of L2 has room for a sample
    // too.
    models::L2Config smaller = config.l2;
    for (std::uint64_t sets = kFewestSets; sets <= kMostSets; sets *= 2) {
        smaller.bytes = sets * smaller.ways * smaller.slices * models::kLineBytes;
        if (models::has_room_for(smaller, lines, (smaller.ways + 1) / 2)) return smaller.bytes;
    }
    return config.l2.bytes;
}

}  // namespace heddle::sim
