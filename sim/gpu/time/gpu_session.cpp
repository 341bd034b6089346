#include "sim/gpu/time/gpu_session.h"

#include <algorithm>

#include "isa/common/error.h"
#include "isa/ptx/parser.h"
#include "isa/ptx/tensor_map.h"
#include "models/gpu/line_fetch.h"
#include "sim/gpu/time/launch_result.h"

namespace heddle::sim {

GpuSession::GpuSession(const models::gpu::GpuConfig& config, bool tick_every_cycle, bool sample,
                       models::gpu::SeriesSettings series)
    : gpu_("gpu", config, sample), tick_every_cycle_(tick_every_cycle), sample_(sample), series_(series) {}

const ptx::LoadedKernel& GpuSession::load(const program::KernelText& text, ptx::Assembly assembly) {
    std::shared_ptr<ptx::LoadedKernel>& kernel = kernels_[{text.entry + "\n" + text.text, assembly}];
    if (!kernel) {
        auto module = std::make_shared<const ptx::Module>(ptx::parse(text.text, text.entry + ".ptx"));
        kernel = std::make_shared<ptx::LoadedKernel>(module, text.entry, 0, assembly);
    }
    return *kernel;
}

namespace {

/// The tail was used last; unless somebody says otherwise, what previous kernels wrote is taken as written
/// back by then.
void add_residents(models::gpu::RunOptions& options, const PlannedBuffer& planned, std::uint64_t base,
                   std::uint64_t bytes) {
    if (planned.resident_bytes == 0) return;
    constexpr std::uint64_t kLine = 128;
    const std::uint64_t pitch = bytes / planned.parts / kLine * kLine;
    const std::uint64_t resident = planned.resident_bytes / planned.parts / kLine * kLine;
    for (unsigned part = 0; part + 1 < planned.parts; ++part)
        options.resident.push_back({base + (part + 1) * pitch - resident, resident, planned.dirty});
    const std::uint64_t last = planned.resident_bytes - (planned.parts - 1) * resident;
    options.resident.push_back({base + bytes - last, last, planned.dirty});
}

/// Fills L2 with work of others, results still to be written to memory among what was read. The launch's own
/// buffers come after it, and so in the place of a part.
void add_others(models::gpu::RunOptions& options, double dirty, const models::L2Config& l2) {
    constexpr std::uint64_t kChunks = 64;
    const std::uint64_t all_lines = l2.bytes / models::kLineBytes;
    const double chunk = static_cast<double>(all_lines) / kChunks;  // lines
    std::uint64_t line = models::gpu::kOtherLines;
    for (std::uint64_t i = 0; i < kChunks; ++i) {
        const auto add = [&](double lines, bool to_be_written) {
            const auto whole = static_cast<std::uint64_t>(lines);
            if (whole == 0) return;
            options.resident.push_back(
                {line * models::kLineBytes, whole * models::kLineBytes, to_be_written});
            line += whole;
        };
        add(chunk * (1 - dirty) / l2.partitions, false);  // what was read lies in every partition
        add(chunk * dirty, true);
    }
}

/// Arguments as bytes, buffers at their addresses.
std::vector<std::vector<std::byte>> argument_values(const program::KernelLaunch& launch,
                                                    const PlannedLaunch& planned,
                                                    const std::vector<std::uint64_t>& bases) {
    std::vector<std::vector<std::byte>> arguments;
    for (const program::Argument& argument : launch.arguments) {
        std::uint64_t address = 0;
        if (const std::optional<program::BufferId> buffer = program::buffer_of(argument)) {
            const auto position = std::find_if(planned.buffers.begin(), planned.buffers.end(),
                                               [&](const PlannedBuffer& b) { return b.buffer == *buffer; });
            address = bases[static_cast<std::size_t>(position - planned.buffers.begin())];
        }
        if (const auto* tensor = std::get_if<program::TensorMapArgument>(&argument)) {
            const auto bytes = ptx::make_tensor_map(tensor->map, address + tensor->offset).encode();
            arguments.emplace_back(bytes.begin(), bytes.end());
        } else {
            arguments.push_back(program::argument_bytes(argument, address));
        }
    }
    return arguments;
}

/// Device memory of one launch, in the canonical layout. Values lie in it while this lives.
class LaunchMemory {
  public:
    LaunchMemory(const program::GpuProgram& program, const PlannedLaunch& planned, BufferValues* values) {
        for (const PlannedBuffer& planned_buffer : planned.buffers) {
            const program::Buffer& buffer = program.buffers[planned_buffer.buffer];
            const bool backed = values != nullptr || buffer.steering.has_value();
            const std::uint64_t base = memory.allocate(buffer.name, buffer.bytes, backed);
            bases.push_back(base);
            if (values == nullptr && buffer.steering)
                memory.write(base, steering_values(*buffer.steering, buffer.bytes));
        }
        if (values == nullptr) return;
        for (std::size_t i = 0; i < bases.size(); ++i) {
            std::vector<std::byte>& bytes = (*values)[planned.buffers[i].buffer];
            memory.find(bases[i], 1)->data.borrow(bytes.data(), bytes.size());
        }
    }
    LaunchMemory(const LaunchMemory&) = delete;
    LaunchMemory& operator=(const LaunchMemory&) = delete;

    ptx::GlobalMemory memory;
    std::vector<std::uint64_t> bases;
};

ptx::LaunchContext context_of(const PlannedLaunch& planned, const ptx::LoadedKernel& kernel,
                              LaunchMemory& memory, bool functional, unsigned compute_capability) {
    const program::KernelLaunch& launch = *planned.launch;
    ptx::LaunchContext context;
    context.kernel = &kernel;
    context.grid = launch.grid;
    context.block = launch.block;
    context.cluster = launch.cluster;
    context.dynamic_shared_bytes = launch.dynamic_shared_bytes;
    context.parameters = ptx::pack_parameters(kernel, argument_values(launch, planned, memory.bases));
    context.memory = &memory.memory;
    context.mode = functional ? ptx::Mode::functional : ptx::Mode::timing;
    context.compute_capability = compute_capability;
    return context;
}

}  // namespace

void GpuSession::compute(const program::GpuProgram& program, const PlannedLaunch& planned,
                         BufferValues& values) {
    const ptx::LoadedKernel& kernel = load(*planned.launch->kernel, planned.assembly);
    LaunchMemory memory(program, planned, &values);
    ptx::run_functionally(context_of(planned, kernel, memory, true, gpu_.config().compute_capability));
}

bool GpuSession::spills(const PlannedLaunch& planned) {
    return load(*planned.launch->kernel, planned.assembly).spills().stack_bytes != 0;
}

LaunchOutcome GpuSession::run(const program::GpuProgram& program, const PlannedLaunch& planned,
                              BufferValues* values) {
    const program::KernelLaunch& launch = *planned.launch;
    const ptx::LoadedKernel& kernel = load(*launch.kernel, planned.assembly);
    models::gpu::RunOptions options;
    options.tick_every_cycle = tick_every_cycle_;
    options.threads = threads_;
    options.threads_in_full = threads_in_full_;
    options.sample = sample_ && values == nullptr;
    options.dependency_release = planned.dependency_release;
    options.series = series_;
    options.signals = signals_;
    LaunchMemory memory(program, planned, values);
    if (planned.others_dirty) add_others(options, *planned.others_dirty, gpu_.config().l2);
    for (std::size_t i = 0; i < planned.buffers.size(); ++i)
        add_residents(options, planned.buffers[i], memory.bases[i],
                      program.buffers[planned.buffers[i].buffer].bytes);
    const ptx::LaunchContext context =
        context_of(planned, kernel, memory, values != nullptr, gpu_.config().compute_capability);
    return outcome_of(gpu_.run(context, options), kernel.static_shared_bytes() + launch.dynamic_shared_bytes);
}

}  // namespace heddle::sim
