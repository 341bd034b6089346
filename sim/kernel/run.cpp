#include "sim/kernel/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>

#include "isa/common/activity.h"
#include "isa/ptx/parser.h"
#include "isa/sass/load.h"
#include "models/gpu/occupancy.h"
#include "models/gpu/ptx_source.h"
#include "models/gpu/sampled_gpu.h"
#include "sim/kernel/files.h"
#include "sim/kernel/machine_code.h"
#include "sim/kernel/module_source.h"
#include "sim/kernel/ptxas_registers.h"
#include "sim/kernel/tensor_map_argument.h"
#include "sim/gpu/plan/l2_residency.h"
#include "sim/sass/trace_recorder.h"

namespace heddle::kernel {
namespace {

/// Modules and kernels by where they come from, each loaded once.
class Kernels {
  public:
    explicit Kernels(const RunOptions& options, ptx::Assembly assembly) : options_(options), assembly_(assembly) {}

    const ptx::LoadedKernel& load(const LaunchDeclaration& launch) {
        const std::string key = key_of(launch);
        const unsigned target = options_.device.compute_capability != 0 ? options_.device.compute_capability : 90;
        std::shared_ptr<const ptx::Module>& module = modules_[key];
        const bool machine_code = options_.through_ptxas || is_machine_code(launch.module);
        if (!module && machine_code) {
            cubins_[key] = machine_code_of(launch.module, launch.nvcc_flags, target);
            module = sass::declarations_of(*cubins_[key]);
        } else if (!module) {
            const std::string text = module_text(launch.module, launch.nvcc_flags, target);
            module = ptx::parse_shared(text, launch.module);
            if (options_.registers_of_ptxas) registers_[key] = ptxas_registers(text, target, launch.module);
        }
        std::unique_ptr<ptx::LoadedKernel>& kernel = kernels_[key + "\n" + launch.entry];
        if (!kernel) {
            const std::string entry = entry_of(*module, launch);
            sass::DecodeReport report;
            kernel = std::make_unique<ptx::LoadedKernel>(machine_code ? sass::load_kernel(*cubins_[key], entry, &report) : module, entry,
                                                         options_.device.compute_capability, assembly_);
            if (report.by_disassembler != 0)
                notes_.push_back(fmt::format("{} of the {} instructions of {} were read by nvdisasm, because no row of the decoder's table has them; the first is {}",
                                             report.by_disassembler, report.instructions, entry, report.first_by_disassembler));
            const auto& counts = registers_[key];
            if (const auto count = counts.find(kernel->name()); count != counts.end())
                kernel->set_registers_per_thread(count->second);
        }
        return *kernel;
    }
    const std::vector<std::string>& notes() const { return notes_; }
    unsigned capability_of(const LaunchDeclaration& launch) {
        if (options_.device.compute_capability != 0) return options_.device.compute_capability;
        return modules_.at(key_of(launch))->compute_capability;
    }

  private:
    static std::string key_of(const LaunchDeclaration& launch) {
        std::string key = launch.module;
        for (const std::string& flag : launch.nvcc_flags) key += "\n" + flag;
        return key;
    }
    static std::string entry_of(const ptx::Module& module, const LaunchDeclaration& launch) {
        try {
            return find_kernel(module, launch.entry).name;
        } catch (const Error& failure) {
            throw Error(failure.problem(), launch.entry_where, failure.remedy());
        }
    }

    const RunOptions& options_;
    ptx::Assembly assembly_;
    std::map<std::string, RegisterCounts> registers_;  ///< by module
    std::map<std::string, std::shared_ptr<const ptx::Module>> modules_;  ///< of machine code: its declarations
    std::map<std::string, std::shared_ptr<const sass::Cubin>> cubins_;
    std::map<std::string, std::unique_ptr<ptx::LoadedKernel>> kernels_;
    std::vector<std::string> notes_;  ///< what the user ought to know of what was loaded
};

/// A line for each machine instruction, to which InstructionInfo::line refers.
std::string listing_of(const ptx::MachineCode& code) {
    std::string text;
    for (const ptx::MachineTiming& one : code.instructions) text += one.text + "\n";
    return text;
}

class Runner {
  public:
    Runner(const LaunchFile& file, const RunOptions& options)
        : file_(file),
          options_(options),
          kernels_(options, assembly_of(options)),
          residency_(options.device.l2.bytes_per_partition()) {
        result_.mode = options.mode;
        result_.assembly = assembly_of(options);
        result_.registers_of_ptxas = options.registers_of_ptxas;
    }

    KernelRun run() {
        for (const BufferDeclaration& declaration : file_.buffers) {
            result_.buffers.push_back(fill_buffer(declaration));
            const Buffer& buffer = result_.buffers.back();
            bases_.push_back(memory_.allocate(buffer.name, buffer.values.size(), true));
            memory_.write(bases_.back(), buffer.values);
        }
        // All kernels before the first launch, so that a mistake in the last one is told at once.
        std::vector<ptx::LaunchContext> contexts;
        for (const LaunchDeclaration& launch : file_.launches) contexts.push_back(context_of(launch));
        result_.notes = kernels_.notes();
        if (names_peers()) {
            memory_.mirror();
            result_.notes.push_back("the neighbour is a mirror image of this device: it has the same values and does the same at the same time");
        }
        if (options_.mode != RunMode::functional) gpu_.emplace("gpu", options_.device, options_.sample);
        if (!options_.record_trace.empty()) traces_.emplace(options_.record_trace);
        // With values each launch runs twice.
        for (const LaunchDeclaration& launch : file_.launches)
            runs_ += launch.repetitions * (options_.mode == RunMode::numerics ? 2 : 1);
        const bool streams = file_.streams && options_.mode != RunMode::functional;
        if (streams) ++runs_;
        this_activity().set_part(1 / static_cast<double>(runs_));
        std::optional<ptx::GlobalMemory> initial;
        if (streams) initial.emplace(memory_).mirror_again();
        for (std::size_t i = 0; i < contexts.size(); ++i) {
            for (std::uint32_t k = 0; k < file_.launches[i].repetitions; ++k)
                perform(file_.launches[i], contexts[i]);
        }
        if (streams) perform_together(contexts, *initial);
        finish();
        return std::move(result_);
    }

  private:
    bool names_peers() const {
        return std::any_of(file_.launches.begin(), file_.launches.end(), [](const LaunchDeclaration& launch) {
            return std::any_of(launch.arguments.begin(), launch.arguments.end(), [](const ArgumentDeclaration& argument) {
                return std::holds_alternative<PeerDistance>(argument.value);
            });
        });
    }

    static ptx::Assembly assembly_of(const RunOptions& options) {
        return options.mode == RunMode::functional ? ptx::Assembly::as_written : options.assembly;
    }

    ptx::LaunchContext context_of(const LaunchDeclaration& launch) {
        const ptx::LoadedKernel& kernel = kernels_.load(launch);
        ptx::allocate_module_variables(kernel, memory_);
        ptx::LaunchContext context;
        context.kernel = &kernel;
        context.grid = launch.grid;
        context.block = launch.block;
        context.cluster = launch.cluster;
        if (launch.access_policy_window) context.access_policy_window = window_of(launch);
        context.dynamic_shared_bytes = launch.dynamic_shared_bytes;
        context.parameters = parameters_of(launch, kernel);
        context.memory = &memory_;
        context.print = options_.print;
        context.compute_capability = kernels_.capability_of(launch);
        context.nanoseconds_per_cycle = 1e9 / options_.device.clock;
        if (launch.cooperative) make_cooperative(launch, context);
        return context;
    }

    void make_cooperative(const LaunchDeclaration& launch, ptx::LaunchContext& context) {
        ptx::make_cooperative(context);
        if (options_.device.compute_capability == 0) return;  // any device
        try {
            models::gpu::check_cooperative(
                options_.device, context, context.kernel->registers_per_thread(),
                context.kernel->static_shared_bytes() + std::uint64_t{context.dynamic_shared_bytes});
        } catch (const Error& failure) {
            throw Error(failure.problem(), launch.where, failure.remedy());
        }
    }

    std::vector<std::byte> parameters_of(const LaunchDeclaration& launch,
                                         const ptx::LoadedKernel& kernel) const {
        const auto parameters = kernel.parameters();
        if (parameters.size() != launch.arguments.size()) {
            throw Error(fmt::format("kernel {} takes {} arguments, {} are given", kernel.name(),
                                    parameters.size(), launch.arguments.size()),
                        launch.where, "heddle kernel --list " + launch.module + " shows them");
        }
        std::vector<std::vector<std::byte>> values;
        for (std::size_t i = 0; i < parameters.size(); ++i) {
            values.push_back(bytes_of_argument(launch.arguments[i]));
            if (values.back().size() != parameters[i].bytes) {
                throw Error(
                    fmt::format("parameter {} of kernel {} has {} bytes, {} are given", parameters[i].name,
                                kernel.name(), parameters[i].bytes, values.back().size()),
                    launch.arguments[i].where,
                    fmt::format("the module declares it as {}", ptx::name_of(parameters[i].type)));
            }
        }
        return ptx::pack_parameters(kernel, values);
    }

    std::vector<std::byte> bytes_of_argument(const ArgumentDeclaration& argument) const {
        if (const auto* bytes = std::get_if<BytesArgument>(&argument.value)) return *bytes;
        if (std::holds_alternative<PeerDistance>(argument.value)) {
            std::vector<std::byte> bytes(8);
            store_element(ElementType::u64, bytes, 0, ptx::kPeerDistance);
            return bytes;
        }
        if (const auto* map = std::get_if<TensorMapArgument>(&argument.value)) {
            return encode_tensor_map(*map, address_of(map->buffer, argument.where), argument.where);
        }
        const std::uint64_t address = address_of(std::get<BufferReference>(argument.value), argument.where);
        std::vector<std::byte> bytes(8);
        store_element(ElementType::u64, bytes, 0, address);
        return bytes;
    }

    std::uint64_t address_of(const BufferReference& reference, const SourceLocation& where) const {
        const Buffer& buffer = result_.buffers[reference.buffer];
        if (reference.byte_offset > buffer.values.size()) {
            throw Error(fmt::format("the offset lies beyond buffer {}, which has {} bytes", buffer.name,
                                    buffer.values.size()),
                        where);
        }
        return bases_[reference.buffer] + reference.byte_offset;
    }

    /// Before each run of a kernel.
    void tell(const std::string& kernel) {
        if (options_.progress)
            options_.progress(static_cast<double>(runs_begun_) / static_cast<double>(runs_), kernel);
        ++runs_begun_;
    }

    void perform(const LaunchDeclaration& launch, ptx::LaunchContext context) {
        tell(launch.entry);
        LaunchReport report;
        report.kernel = context.kernel->name();
        report.grid = context.grid;
        report.block = context.block;
        report.registers_per_thread = context.kernel->registers_per_thread();
        report.shared_bytes = context.kernel->static_shared_bytes() + context.dynamic_shared_bytes;
        if (options_.mode == RunMode::functional) {
            context.mode = ptx::Mode::functional;
            if (options_.check) context.check = &log_;
            context.threads = options_.threads;
            report.warp_instructions = ptx::run_functionally(context);
        } else {
            if (options_.mode == RunMode::timing) check_steering(launch, context);
            time(launch, context, report);
        }
        result_.launches.push_back(std::move(report));
    }

    void time(const LaunchDeclaration& launch, ptx::LaunchContext& context, LaunchReport& report) {
        models::gpu::RunOptions options = gpu_options(launch);
        const bool numerics = options_.mode == RunMode::numerics;
        if (launch.programmatic) options.dependency_release = release_of_dependents();
        // Timing mode leaves out values, so beside numerics it works on a copy of the memory.
        std::optional<ptx::GlobalMemory> copy;
        context.mode = ptx::Mode::timing;
        if (numerics) {
            context.memory = &copy.emplace(memory_);
            copy->mirror_again();
            context.print = [](std::string_view) {};  // once is enough
        }
        report.timing = traces_ ? run_and_record(context, options) : gpu_->run(context, options);
        if (launch.programmatic)
            report.overlap_cycles = std::min<std::uint64_t>(overlap_of_last(), report.timing.cycles);
        if (options_.lines) {
            const std::string text = context.kernel->machine_code() != nullptr
                                         ? listing_of(*context.kernel->machine_code())
                                         : module_text(launch.module, launch.nvcc_flags, options_.device.compute_capability);
            report.lines = profile_lines(*context.kernel, report.timing, text);
        }
        report.power = sim::power_draw(options_.device.power, options_.device.sm.count,
                                       report.timing.mean_power(), options_.device.clock);
        report.warp_instructions = report.timing.warp_instructions;
        if (numerics) {
            tell(launch.entry);
            context.memory = &memory_;
            context.print = options_.print;
            context.mode = ptx::Mode::functional;
            if (options_.check) context.check = &log_;
            options.signals = nullptr;  // once is enough
            report.functional_cycles = gpu_->run(context, options).cycles;
        }
    }

    /// All launches once more, in their streams, from the memory as it was before the first.
    void perform_together(std::vector<ptx::LaunchContext>& contexts, ptx::GlobalMemory& memory) {
        tell("all together");
        const models::gpu::GpuConfig& device = options_.device;
        const auto cycles = [&](double seconds) { return static_cast<models::Cycle>(std::llround(seconds * device.clock)); };
        std::vector<std::unique_ptr<models::gpu::PtxSource>> sources;
        std::vector<models::gpu::JointLaunch> launches;
        std::map<std::uint32_t, std::uint32_t> last_of_stream;
        std::vector<std::uint32_t> last_of_declaration;
        for (std::size_t i = 0; i < contexts.size(); ++i) {
            const LaunchDeclaration& launch = file_.launches[i];
            ptx::LaunchContext& context = contexts[i];
            context.mode = ptx::Mode::timing;
            context.memory = &memory;
            context.print = [](std::string_view) {};
            for (std::uint32_t k = 0; k < launch.repetitions; ++k) {
                models::gpu::LaunchOrder order;
                order.priority = launch.priority;
                if (k == 0)
                    for (const std::size_t before : launch.after) order.after.push_back(last_of_declaration[before]);
                const auto before = last_of_stream.find(launch.stream);
                if (before != last_of_stream.end() && std::find(order.after.begin(), order.after.end(), before->second) == order.after.end())
                    order.after.push_back(before->second);
                order.programmatic = launch.programmatic;
                order.gap = cycles(device.launch.before + (launch.programmatic ? 0 : device.launch.after));
                order.flush_gap = cycles(device.launch.after);
                if (launch.sms) order.sms = sms_of(launch);
                sources.push_back(std::make_unique<models::gpu::PtxSource>(context));
                launches.push_back({sources.back().get(), std::move(order)});
                last_of_stream[launch.stream] = static_cast<std::uint32_t>(launches.size() - 1);
            }
            last_of_declaration.push_back(static_cast<std::uint32_t>(launches.size() - 1));
        }
        models::gpu::RunOptions options;
        options.tick_every_cycle = options_.tick_every_cycle;
        options.threads = options_.threads;
        const models::gpu::JointResult joint = gpu_->whole().run_together(launches, options);
        result_.together_us = joint.all.seconds * 1e6;
        std::size_t number = 0;
        const double us = device.clock / 1e6;
        for (std::size_t i = 0; i < contexts.size(); ++i) {
            for (std::uint32_t k = 0; k < file_.launches[i].repetitions; ++k, ++number) {
                const models::gpu::LaunchSpan& span = joint.launches[number];
                const models::gpu::KernelResult& alone = result_.launches[number].timing;
                TogetherReport report;
                report.launch = number;
                report.stream = file_.launches[i].stream;
                report.queued_us = static_cast<double>(span.begin - span.ready) / us;
                report.start_us = static_cast<double>(span.ready - 1) / us;
                report.end_us = static_cast<double>(span.end - 1) / us + (device.launch.before + device.launch.after) * 1e6;
                report.sms = static_cast<double>(span.cta_cycles) / static_cast<double>(std::max<models::Cycle>(1, span.end - span.begin)) /
                             std::max(1u, alone.ctas_per_sm);
                result_.together.push_back(report);
            }
        }
        result_.notes.push_back("together: L2 holds nothing of the buffers at the start, and every launch is there from the beginning");
    }

    std::vector<std::uint32_t> sms_of(const LaunchDeclaration& launch) const {
        if (launch.sms->second >= options_.device.sm.count)
            throw Error(fmt::format("SM {} does not exist: the device has {}", launch.sms->second, options_.device.sm.count), launch.where,
                        "name SMs from 0");
        std::vector<std::uint32_t> sms;
        for (std::uint32_t sm = launch.sms->first; sm <= launch.sms->second; ++sm) sms.push_back(sm);
        return sms;
    }

    models::gpu::KernelResult run_and_record(const ptx::LaunchContext& context,
                                             const models::gpu::RunOptions& options) {
        models::gpu::PtxSource source(context);
        const std::string path = traces_->begin_kernel();
        sass::RecordingSource recording(source, path, traces_->kernels());
        models::gpu::KernelResult result = gpu_->whole().run(recording, options);
        recording.finish();
        return result;
    }

    /// Cycles of the last launch that a programmatic one after it may lie beside.
    std::uint64_t overlap_of_last() const {
        const models::gpu::KernelResult& last = result_.launches.back().timing;
        return last.cycles - last.dependents_start;
    }

    /// A programmatic launch begins when the one before it allows it; its thread blocks start launch.before
    /// later and wait until the one before has ended. That the two share the GPU until then is left out.
    models::Cycle release_of_dependents() const {
        const auto before =
            static_cast<std::uint64_t>(std::llround(options_.device.launch.before * options_.device.clock));
        const std::uint64_t overlap = overlap_of_last();
        return overlap > before ? overlap - before : 0;
    }

    ptx::AccessPolicyWindow window_of(const LaunchDeclaration& launch) const {
        const AccessPolicyWindow& window = *launch.access_policy_window;
        const std::uint64_t size = result_.buffers[window.buffer.buffer].values.size();
        if (window.buffer.byte_offset > size || window.bytes > size - window.buffer.byte_offset) {
            throw Error(fmt::format("the access policy window goes beyond its buffer of {} bytes", size),
                        launch.where, "make offset and bytes fit");
        }
        return {bases_[window.buffer.buffer] + window.buffer.byte_offset, window.bytes, window.hit_ratio,
                window.hit, window.miss};
    }

    /// In timing mode values that nobody computed must not steer a later launch.
    void check_steering(const LaunchDeclaration& launch, const ptx::LaunchContext& context) {
        for (const std::uint32_t offset : context.kernel->steering_reads()) {
            const auto stale = stale_.find(allocation_at(context, offset));
            if (stale == stale_.end() || stale->first.empty()) continue;
            throw Error(
                fmt::format("kernel {} is steered by values of buffer {}, which kernel {} wrote and timing "
                            "mode did not compute",
                            context.kernel->name(), stale->first, stale->second),
                launch.where, "add --numerics");
        }
        for (const std::uint32_t offset : context.kernel->skipped_writes()) {
            stale_[allocation_at(context, offset)] = context.kernel->name();
        }
    }

    /// The name of the buffer that the pointer at `offset` among the parameters leads to; "" for none.
    std::string allocation_at(const ptx::LaunchContext& context, std::uint32_t offset) const {
        const std::uint64_t address =
            load_element(ElementType::u64, std::span(context.parameters).subspan(offset, 8), 0);
        const ptx::Allocation* allocation = memory_.find(address, 1);
        return allocation == nullptr ? "" : allocation->name;
    }

    /// What L2 holds of the buffers that the launch names.
    models::gpu::RunOptions gpu_options(const LaunchDeclaration& launch) {
        models::gpu::RunOptions options;
        options.tick_every_cycle = options_.tick_every_cycle;
        options.threads = options_.threads;
        options.profile = options_.lines;
        options.sample = options_.sample;
        options.series = options_.series;
        options.signals = options_.signals;
        std::vector<std::size_t> named;
        for (const ArgumentDeclaration& argument : launch.arguments) {
            std::size_t buffer = 0;
            if (const auto* reference = std::get_if<BufferReference>(&argument.value)) {
                buffer = reference->buffer;
            } else if (const auto* map = std::get_if<TensorMapArgument>(&argument.value)) {
                buffer = map->buffer.buffer;
            } else {
                continue;
            }
            if (std::find(named.begin(), named.end(), buffer) == named.end()) named.push_back(buffer);
        }
        for (const std::size_t buffer : named) {
            const std::uint64_t bytes = result_.buffers[buffer].values.size();
            const std::uint64_t resident = residency_.resident_bytes(buffer, bytes);
            if (resident > 0)
                options.resident.push_back({bases_[buffer] + bytes - resident, resident, false});
        }
        for (const std::size_t buffer : named)
            residency_.touch(buffer, result_.buffers[buffer].values.size());
        return options;
    }

    void finish() {
        if (traces_) traces_->finish();
        result_.findings = log_.findings();
        for (const LaunchReport& launch : result_.launches) {
            if (options_.mode == RunMode::numerics && launch.functional_cycles != launch.timing.cycles) {
                throw std::runtime_error(
                    fmt::format("kernel {} took {} cycles in timing mode and {} with values", launch.kernel,
                                launch.timing.cycles, launch.functional_cycles));
            }
        }
        const std::vector<Buffer> initial = result_.buffers;
        if (!result_.has_values()) {
            if (!file_.comparisons.empty() || !file_.outputs.empty()) {
                result_.notes.push_back(fmt::format(
                    "left out, because they need values: comparisons ({}) and outputs ({}); add --numerics",
                    file_.comparisons.size(), file_.outputs.size()));
            }
            return;
        }
        for (std::size_t i = 0; i < bases_.size(); ++i) memory_.read(bases_[i], result_.buffers[i].values);
        for (const CompareDeclaration& declaration : file_.comparisons) {
            result_.comparisons.push_back(compare(declaration, result_.buffers, initial));
        }
    }

    const LaunchFile& file_;
    const RunOptions& options_;
    Kernels kernels_;
    sim::L2Residency residency_;
    std::optional<models::gpu::SampledGpu> gpu_;
    std::optional<sass::TraceFolder> traces_;
    ptx::GlobalMemory memory_;
    std::vector<std::uint64_t> bases_;          ///< by buffer
    std::map<std::string, std::string> stale_;  ///< buffers whose values timing mode left out, and by whom
    ptx::CheckLog log_;
    std::uint64_t runs_ = 0, runs_begun_ = 0;
    KernelRun result_;
};

}  // namespace

bool KernelRun::passed() const {
    return std::all_of(comparisons.begin(), comparisons.end(),
                       [](const CompareOutcome& outcome) { return outcome.passed(); });
}

KernelRun run(const LaunchFile& file, const RunOptions& options) {
    return Runner(file, options).run();
}

}  // namespace heddle::kernel
