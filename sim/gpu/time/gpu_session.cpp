#include "sim/gpu/time/gpu_session.h"

#include <algorithm>
#include <deque>
#include <set>

#include "isa/common/error.h"
#include "isa/ptx/parser.h"
#include "isa/ptx/tensor_map.h"
#include "models/gpu/line_fetch.h"
#include "models/gpu/ptx_source.h"
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

/// Device memory of launches, in the canonical layout. Values lie in it while this lives.
class LaunchMemory {
  public:
    LaunchMemory() = default;
    LaunchMemory(const LaunchMemory&) = delete;
    LaunchMemory& operator=(const LaunchMemory&) = delete;

    /// Gives the launch's buffers places, those that have none.
    void add(const program::GpuProgram& program, const PlannedLaunch& planned, BufferValues* values) {
        for (const PlannedBuffer& planned_buffer : planned.buffers) {
            if (bases_.count(planned_buffer.buffer) != 0) continue;
            const program::Buffer& buffer = program.buffers[planned_buffer.buffer];
            const bool backed = values != nullptr || buffer.steering.has_value();
            const std::uint64_t base = memory.allocate(buffer.name, buffer.bytes, backed);
            bases_[planned_buffer.buffer] = base;
            if (values != nullptr) {
                std::vector<std::byte>& bytes = (*values)[planned_buffer.buffer];
                memory.find(base, 1)->data.borrow(bytes.data(), bytes.size());
            } else if (buffer.steering) {
                memory.write(base, steering_values(*buffer.steering, buffer.bytes));
            }
        }
    }
    std::uint64_t base(program::BufferId buffer) const { return bases_.at(buffer); }

    ptx::GlobalMemory memory;

  private:
    std::map<program::BufferId, std::uint64_t> bases_;
};

/// Arguments as bytes, buffers at their addresses.
std::vector<std::vector<std::byte>> argument_values(const program::KernelLaunch& launch, const LaunchMemory& memory) {
    std::vector<std::vector<std::byte>> arguments;
    for (const program::Argument& argument : launch.arguments) {
        std::uint64_t address = 0;
        if (const std::optional<program::BufferId> buffer = program::buffer_of(argument)) address = memory.base(*buffer);
        if (const auto* tensor = std::get_if<program::TensorMapArgument>(&argument)) {
            const auto bytes = ptx::make_tensor_map(tensor->map, address + tensor->offset).encode();
            arguments.emplace_back(bytes.begin(), bytes.end());
        } else {
            arguments.push_back(program::argument_bytes(argument, address));
        }
    }
    return arguments;
}

ptx::LaunchContext context_of(const PlannedLaunch& planned, const ptx::LoadedKernel& kernel,
                              LaunchMemory& memory, bool functional, unsigned compute_capability) {
    const program::KernelLaunch& launch = *planned.launch;
    ptx::LaunchContext context;
    context.kernel = &kernel;
    context.grid = launch.grid;
    context.block = launch.block;
    context.cluster = launch.cluster;
    context.dynamic_shared_bytes = launch.dynamic_shared_bytes;
    context.parameters = ptx::pack_parameters(kernel, argument_values(launch, memory));
    context.memory = &memory.memory;
    context.mode = functional ? ptx::Mode::functional : ptx::Mode::timing;
    context.compute_capability = compute_capability;
    return context;
}

}  // namespace

void GpuSession::compute(const program::GpuProgram& program, const PlannedLaunch& planned,
                         BufferValues& values) {
    const ptx::LoadedKernel& kernel = load(*planned.launch->kernel, planned.assembly);
    LaunchMemory memory;
    memory.add(program, planned, &values);
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
    LaunchMemory memory;
    memory.add(program, planned, values);
    if (planned.others_dirty) add_others(options, *planned.others_dirty, gpu_.config().l2);
    for (const PlannedBuffer& buffer : planned.buffers)
        add_residents(options, buffer, memory.base(buffer.buffer), program.buffers[buffer.buffer].bytes);
    const ptx::LaunchContext context =
        context_of(planned, kernel, memory, values != nullptr, gpu_.config().compute_capability);
    return outcome_of(gpu_.run(context, options), kernel.static_shared_bytes() + launch.dynamic_shared_bytes);
}

LaunchOutcome GpuSession::run_together(const program::GpuProgram& program, const std::vector<Member>& members) {
    models::gpu::RunOptions options;
    options.tick_every_cycle = tick_every_cycle_;
    options.threads = std::max(threads_, threads_in_full_);
    LaunchMemory memory;
    std::set<program::BufferId> known;
    for (const Member& member : members) {
        memory.add(program, *member.planned, nullptr);
        if (known.empty() && member.planned->others_dirty)
            add_others(options, *member.planned->others_dirty, gpu_.config().l2);
        for (const PlannedBuffer& buffer : member.planned->buffers)
            if (known.insert(buffer.buffer).second)
                add_residents(options, buffer, memory.base(buffer.buffer), program.buffers[buffer.buffer].bytes);
    }
    std::deque<ptx::LaunchContext> contexts;
    std::deque<models::gpu::PtxSource> sources;
    std::vector<models::gpu::JointLaunch> launches;
    for (const Member& member : members) {
        const ptx::LoadedKernel& kernel = load(*member.planned->launch->kernel, member.planned->assembly);
        contexts.push_back(context_of(*member.planned, kernel, memory, false, gpu_.config().compute_capability));
        sources.emplace_back(contexts.back());
        launches.push_back({&sources.back(), member.order});
    }
    models::gpu::JointResult joint = gpu_.whole().run_together(launches, options);
    LaunchOutcome outcome = outcome_of(std::move(joint.all), 0);
    for (const models::gpu::LaunchSpan& span : joint.launches) outcome.together.push_back({span.ready, span.begin, span.end});
    return outcome;
}

}  // namespace heddle::sim
