#include "sim/gpu/plan/launch_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "isa/numerics/counter_random.h"
#include "sim/run/time/kernel_cache.h"
#include "sim/gpu/plan/l2_residency.h"

namespace heddle::sim {
namespace {

std::string describe(const target::TensorMapSpec& map) {
    std::string text = fmt::format("type {} rank {} swizzle {} promotion {}", map.data_type, map.rank,
                                   map.swizzle, map.l2_promotion);
    for (unsigned i = 0; i < map.rank; ++i) {
        text += fmt::format(" size {} box {}", map.sizes[i], map.box[i]);
        if (i != 0) text += fmt::format(" stride {}", map.strides[i - 1]);
    }
    return text + "\n";
}

std::string key_of(const program::GpuProgram& program, const PlannedLaunch& planned,
                   const std::string& text_hash) {
    const program::KernelLaunch& launch = *planned.launch;
    std::string key = fmt::format(
        "{} {} grid {} {} {} block {} {} {} cluster {} {} {} shared {}\n", text_hash, launch.kernel->entry,
        launch.grid.x, launch.grid.y, launch.grid.z, launch.block.x, launch.block.y, launch.block.z,
        launch.cluster.x, launch.cluster.y, launch.cluster.z, launch.dynamic_shared_bytes);
    if (planned.assembly == ptx::Assembly::as_written) key += "as written\n";
    if (planned.others_dirty) key += fmt::format("others dirty {:.6f}\n", *planned.others_dirty);
    for (const PlannedBuffer& planned_buffer : planned.buffers) {
        const program::Buffer& buffer = program.buffers[planned_buffer.buffer];
        key += fmt::format("buffer {} resident {}", buffer.bytes, planned_buffer.resident_bytes);
        if (planned_buffer.parts != 1) key += fmt::format(" in {} parts", planned_buffer.parts);
        if (planned_buffer.dirty) key += " dirty";
        if (buffer.steering) {
            const program::SteeringFill& fill = *buffer.steering;
            key += fmt::format(" fill {} {} {} {} {}", static_cast<int>(fill.kind), fill.element_bytes,
                               fill.low, fill.high, fill.seed);
            if (fill.every != 1 || fill.modulo != 0)
                key += fmt::format(" every {} modulo {}", fill.every, fill.modulo);
        }
        key += '\n';
    }
    const auto position_of = [&planned](program::BufferId buffer) {
        return std::find_if(planned.buffers.begin(), planned.buffers.end(),
                            [&](const PlannedBuffer& b) { return b.buffer == buffer; }) -
               planned.buffers.begin();
    };
    for (const program::Argument& argument : launch.arguments) {
        if (const auto* pointer = std::get_if<program::BufferArgument>(&argument)) {
            key += fmt::format("pointer {} {}\n", position_of(pointer->buffer), pointer->offset);
        } else if (const auto* tensor = std::get_if<program::TensorMapArgument>(&argument)) {
            key += fmt::format("tensor map {} {} {}", position_of(tensor->buffer), tensor->offset,
                               describe(tensor->map));
        } else {
            const auto& scalar = std::get<program::ScalarArgument>(argument);
            key += fmt::format("scalar {} {}\n", scalar.bits, scalar.size);
        }
    }
    return key;
}

/// A counter-based generator, the same on every machine. Not numerics::random_bits(): cycles that were
/// published stand on these values.
std::uint64_t random_bits(std::uint64_t seed, std::uint64_t counter) {
    return numerics::mix_bits(seed * 0x9e3779b97f4a7c15ull + counter * 0xbf58476d1ce4e5b9ull +
                              0x94d049bb133111ebull);
}

/// Of the lines that the launch replaces, the part that it makes dirty; none where it replaces few.
std::optional<double> dirty_part(const PlannedLaunch& planned, const program::GpuProgram& program,
                                 const LaunchUse& use, const L2InUse& l2) {
    constexpr double kFew = 1.0 / 32;  // of L2
    double lines = 0, dirtied = 0;     // bytes
    for (const PlannedBuffer& planned_buffer : planned.buffers) {
        const std::uint64_t bytes = program.buffers[planned_buffer.buffer].bytes;
        const auto absent = static_cast<double>(bytes - planned_buffer.resident_bytes);
        const bool writes = use.writes.count(planned_buffer.buffer) != 0,
                   reads = !writes || use.reads.count(planned_buffer.buffer) != 0;
        lines += reads ? l2.partitions * absent : absent;  // what is read lies in every partition
        if (writes) dirtied += planned_buffer.dirty ? absent : static_cast<double>(bytes);
    }
    if (lines < kFew * static_cast<double>(l2.bytes_per_partition) * l2.partitions) return {};
    return std::min(1.0, dirtied / lines);
}

/// `l2`: in use, or nothing.
std::vector<PlannedLaunch> plan(const program::GpuProgram& program, L2Residency residency, const L2InUse* l2,
                                ptx::Assembly assembly) {
    std::map<const program::KernelText*, std::string> text_hashes;
    std::vector<PlannedLaunch> plan;
    plan.reserve(program.launches.size());
    for (const program::KernelLaunch& launch : program.launches) {
        PlannedLaunch planned;
        planned.launch = &launch;
        planned.assembly = assembly;
        for (const program::Argument& argument : launch.arguments) {
            const std::optional<program::BufferId> buffer = program::buffer_of(argument);
            if (!buffer) continue;
            const bool known = std::any_of(planned.buffers.begin(), planned.buffers.end(),
                                           [&](const PlannedBuffer& b) { return b.buffer == *buffer; });
            if (known) continue;
            const std::uint64_t bytes = program.buffers.at(*buffer).bytes,
                                resident = residency.resident_bytes(*buffer, bytes);
            planned.buffers.push_back({*buffer, resident, resident != 0 && residency.dirty(*buffer)});
        }
        if (l2 != nullptr) {
            const LaunchUse& use = l2->uses.at(plan.size());
            planned.others_dirty = dirty_part(planned, program, use, *l2);
            std::vector<BufferUse> together;
            for (const PlannedBuffer& b : planned.buffers)
                together.push_back(
                    {b.buffer, program.buffers[b.buffer].bytes, use.writes.count(b.buffer) != 0});
            residency.touch_together(together);
        } else {
            for (const PlannedBuffer& b : planned.buffers)
                residency.touch(b.buffer, program.buffers[b.buffer].bytes);
        }
        std::string& text_hash = text_hashes[launch.kernel.get()];
        if (text_hash.empty()) text_hash = hash_text(launch.kernel->text);
        planned.key = key_of(program, planned, text_hash);
        plan.push_back(std::move(planned));
    }
    return plan;
}

}  // namespace

std::vector<PlannedLaunch> plan_launches(const program::GpuProgram& program, std::uint64_t l2_bytes,
                                         ptx::Assembly assembly) {
    return plan(program, L2Residency(l2_bytes), nullptr, assembly);
}

std::vector<PlannedLaunch> plan_launches(const program::GpuProgram& program, const L2InUse& l2,
                                         ptx::Assembly assembly) {
    return plan(program, L2Residency(l2.bytes_per_partition, l2.partitions), &l2, assembly);
}

PlannedLaunch released_at(const PlannedLaunch& planned, std::uint64_t cycle) {
    PlannedLaunch result = planned;
    result.dependency_release = cycle;
    if (cycle != 0) result.key += fmt::format("released {}\n", cycle);
    return result;
}

std::vector<std::byte> steering_values(const program::SteeringFill& fill, std::uint64_t bytes) {
    std::vector<std::byte> data(bytes, std::byte{0});
    if (fill.kind == program::SteeringFill::Kind::zeros) return data;
    const std::uint64_t range = static_cast<std::uint64_t>(std::max<std::int64_t>(1, fill.high - fill.low));
    for (std::uint64_t i = 0; (i + 1) * fill.element_bytes <= bytes; ++i) {
        const std::uint64_t step = i / fill.every;
        auto value = static_cast<std::int64_t>(fill.modulo == 0 ? step : step % fill.modulo);
        if (fill.kind == program::SteeringFill::Kind::uniform_integers) {
            value = fill.low + static_cast<std::int64_t>(random_bits(fill.seed, i) % range);
        }
        std::memcpy(data.data() + i * fill.element_bytes, &value, fill.element_bytes);
    }
    return data;
}

}  // namespace heddle::sim
