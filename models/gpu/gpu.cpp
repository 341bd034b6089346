#include "models/gpu/gpu.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "isa/common/activity.h"
#include "isa/common/error.h"
#include "models/common/huge_pages.h"
#include "models/gpu/conservation.h"
#include "models/gpu/gpc_layout.h"
#include "models/gpu/kernel_summary.h"
#include "models/gpu/progress_watch.h"
#include "models/gpu/ptx_source.h"
#include "models/memory/model_library.h"
#include "models/memory/tlm_l2.h"
#include "models/memory/tlm_memory.h"

namespace heddle::models::gpu {
namespace {

/// Times that a kernel in which nothing goes on is given another chance.
constexpr unsigned kVainAttempts = 1000;

/// Groups of L2 slices, and of memory channels, that threads of the host may take: a few more than threads
/// are likely.
constexpr std::uint32_t kMemoryGroups = 8;

std::uint64_t whole_lines(std::uint64_t bytes) {
    return (bytes + kLineBytes - 1) / kLineBytes * kLineBytes;
}

std::uint32_t memory_group(std::size_t position, std::size_t count) {
    return static_cast<std::uint32_t>(position * kMemoryGroups / count);
}

GpuConfig checked(GpuConfig config) {
    config.hbm.interleave_bytes = config.l2.interleave_bytes;
    if (config.l2.is_replaced()) config.l2.partitions = 1;
    const std::vector<std::string> problems = check(config);
    if (problems.empty()) return config;
    std::string all;
    for (const std::string& problem : problems) all += (all.empty() ? "" : "; ") + problem;
    throw Error("this GPU cannot be built: " + all, {}, "correct the hardware file");
}

/// The SMs of each GPC that has any.
std::vector<std::vector<std::uint32_t>> members_of_gpcs(const GpuConfig& config) {
    const std::vector<std::uint32_t> gpc_of_sm =
        gpc_layout(config.sm.count, config.sm.gpcs, config.sm.gpc_sizes);
    std::vector<std::vector<std::uint32_t>> members(config.sm.gpcs);
    for (std::uint32_t sm = 0; sm < config.sm.count; ++sm) members[gpc_of_sm[sm]].push_back(sm);
    std::erase_if(members, [](const auto& gpc) { return gpc.empty(); });
    return members;
}

}  // namespace

Gpu::Gpu(const sc_core::sc_module_name& name, const GpuConfig& config)
    : sc_module(name),
      clock("clock", checked(config).clock),
      peers(config_.peer, config_.clock),
      scheduler("scheduler", clock, config_,
                gpc_layout(config.sm.count, config.sm.gpcs, config.sm.gpc_sizes)),
      sms("sm"),
      gpcs("gpc"),
      slices("l2_slice"),
      channels("memory_channel"),
      config_(checked(config)),
      hash_(config_.l2.slices, config_.l2.partitions, chunk_bits_of(config_.l2.interleave_bytes)) {
    constexpr std::size_t kUsualBytes = std::size_t{192} << 20;  // of a GPU and its thread blocks
    prefer_huge_pages(kUsualBytes);
    const std::uint32_t slices_per_channel = config.l2.slices / config.hbm.channels;
    const std::vector<std::vector<std::uint32_t>> members = members_of_gpcs(config_);
    pools_ = std::vector<MemoryRequestPool>(members.size() + kMemoryGroups);
    std::vector<std::size_t> gpc_of_sm(config.sm.count);
    for (std::size_t i = 0; i < members.size(); ++i)
        for (const std::uint32_t sm : members[i]) gpc_of_sm[sm] = i;
    sms.init(config.sm.count, [&](const char* sm_name, std::size_t i) {
        return new Sm(sm_name, clock, config_, static_cast<std::uint32_t>(i), pools_[gpc_of_sm[i]]);
    });
    make_cache();
    slices.init(config.l2.slices, [&](const char* slice_name, std::size_t i) {
        return make_slice(slice_name, static_cast<std::uint32_t>(i),
                          pools_[members.size() + memory_group(i, config_.l2.slices)]);
    });
    make_dram();
    channels.init(config.hbm.channels, [&](const char* channel_name, std::size_t i) -> MemoryBlock* {
        if (dram_ != nullptr)
            return make_bridge(channel_name, static_cast<std::uint32_t>(i), slices_per_channel);
        return new MemoryChannel(channel_name, clock, config_.hbm, static_cast<std::uint32_t>(i),
                                 static_cast<std::uint32_t>(i) * slices_per_channel, slices_per_channel);
    });
    for (Sm& sm : sms) {
        scheduler.sms.bind(sm.ctas);
        sm.scheduler.bind(scheduler.reports);
    }
    gpcs.init(members.size(), [&](const char* gpc_name, std::size_t i) {
        return new Gpc(gpc_name, clock, config_, static_cast<std::uint32_t>(i), members[i], pools_[i], peers);
    });
    connect_memory();
    make_groups();
    if (config.cluster.size != 0) connect_clusters();
    sampler = std::make_unique<Sampler>("sampler", clock, sms, scheduler);
    series = std::make_unique<SeriesRecorder>(
        "series", clock, sms, scheduler, gpc_layout(config.sm.count, config.sm.gpcs, config.sm.gpc_sizes));
}

// GPCs with their SMs, then slices of L2, then memory channels. Within a cycle a GPC acts after all others.
void Gpu::make_groups() {
    const auto gpc_count = static_cast<std::uint32_t>(gpcs.size());
    for (std::uint32_t i = 0; i < gpc_count; ++i) {
        gpcs[i].join_group(i, 1);
        for (const std::uint32_t sm : gpcs[i].members()) sms[sm].join_group(i, 0);
    }
    for (std::size_t i = 0; i < slices.size(); ++i)
        slices[i].join_group(gpc_count + memory_group(i, slices.size()), 0);
    for (std::size_t i = 0; i < channels.size(); ++i)
        channels[i].join_group(gpc_count + kMemoryGroups + memory_group(i, channels.size()), 0);
}

void Gpu::connect_memory() {
    const std::uint32_t slices_per_channel = config_.l2.slices / config_.hbm.channels;
    for (Gpc& gpc : gpcs) {
        for (const std::uint32_t sm : gpc.members()) {
            sms[sm].requests.bind(gpc.requests);
            gpc.sms.bind(sms[sm].responses);
        }
        for (L2Block& slice : slices) {
            gpc.slices.bind(slice.requests);
            slice.responses.bind(gpc.responses);
        }
    }
    const std::size_t positions = slices.size() / config_.l2.partitions;
    for (std::size_t i = 0; i < slices.size(); ++i) {
        MemoryBlock& channel = channels[i / slices_per_channel];
        slices[i].memory_requests.bind(channel.requests);
        channel.responses.bind(slices[i].memory_responses);
        if (config_.l2.partitions == 1) continue;
        for (std::size_t twin = i % positions; twin < slices.size(); twin += positions) {
            slices[i].twin_requests.bind(slices[twin].requests);
            slices[i].twin_responses.bind(slices[twin].memory_responses);
        }
    }
}

Gpu::~Gpu() = default;

/// The user's DRAM model, from a library or a linked target.
void Gpu::make_dram() {
    const MemoryConfig& hbm = config_.hbm;
    const DramModelSettings settings{hbm.channels, hbm.bandwidth, hbm.burst_bytes};
    if (hbm.make_model) {
        dram_ = hbm.make_model("dram_model", settings);
    } else if (!hbm.model.empty()) {
        dram_ = load_dram_model(hbm.model, "dram_model", settings);
    }
}

/// The user's L2.
void Gpu::make_cache() {
    const L2Config& l2 = config_.l2;
    const L2ModelSettings settings{l2.slices,       config_.clock,      l2.bytes,
                                   l2.ways,         l2.latency,         l2.miss_latency,
                                   l2.fill_latency, l2.bytes_per_cycle, config_.hbm.burst_bytes};
    if (l2.make_model)
        cache_ = l2.make_model("l2_model", settings);
    else if (!l2.model.empty())
        cache_ = load_l2_model(l2.model, "l2_model", settings);
}

L2Block* Gpu::make_slice(const char* name, std::uint32_t position, MemoryRequestPool& pool) {
    if (cache_ == nullptr)
        return new L2Slice(name, clock, config_.l2, config_.crossbar.latency, position,
                           config_.hbm.burst_bytes, pool);
    auto slice = std::make_unique<TlmL2Slice>(name, clock, config_.l2, config_.crossbar.latency, position,
                                              *cache_, pool);
    slice->requester.socket.bind(cache_->requests(position));
    cache_->memory(position).bind(slice->memory_socket);
    return slice.release();
}

MemoryBlock* Gpu::make_bridge(const char* name, std::uint32_t channel, std::uint32_t slices_per_channel) {
    auto bridge =
        std::make_unique<TlmMemoryChannel>(name, clock, config_.hbm, channel, channel * slices_per_channel,
                                           slices_per_channel, dram_->blocking());
    bridge->socket.bind(dram_->socket(channel));
    return bridge.release();
}

// The SMs of a GPC reach one another.
void Gpu::connect_clusters() {
    std::vector<std::uint16_t> places(sms.size());
    for (const Gpc& gpc : gpcs)
        for (std::size_t i = 0; i < gpc.members().size(); ++i)
            places[gpc.members()[i]] = static_cast<std::uint16_t>(i);
    for (const Gpc& gpc : gpcs) {
        for (const std::uint32_t sm : gpc.members()) {
            sms[sm].set_places(places);
            for (const std::uint32_t other : gpc.members()) sms[sm].neighbours.bind(sms[other].cluster);
        }
    }
}

void Gpu::set_clock(double hertz) {
    clock.set_hertz(hertz);
    config_.clock = hertz;
    if (cache_ != nullptr) cache_->set_clock(hertz);
}

void Gpu::set_l2_size(std::uint64_t bytes) {
    if (bytes == config_.l2.bytes) return;
    GpuConfig changed = config_;
    changed.l2.bytes = bytes;
    config_.l2.bytes = checked(changed).l2.bytes;
    for (L2Block& slice : slices) slice.resize(bytes / config_.l2.slices);
}

void Gpu::reset_blocks() {
    clock.restart();
    scheduler.reset();
    for (Sm& sm : sms) sm.reset();
    for (Gpc& gpc : gpcs) gpc.reset();
    peers.reset();
    for (L2Block& slice : slices) slice.reset();
    for (MemoryBlock& channel : channels) channel.reset();
    if (cache_ != nullptr) cache_->reset();
    if (dram_ != nullptr) dram_->reset();
    sampler->reset();
    series->reset();
    if (requests_under_way() != 0)
        for (MemoryRequestPool& pool : pools_) pool.reset();
}

KernelSummary Gpu::tally(const LaunchPlan& plan, Cycle until) {
    for (Sm& sm : sms) sm.finish(until);
    KernelSummary summary(config_, plan);
    for (const Sm& sm : sms) summary.add(sm);
    for (const L2Block& slice : slices) summary.add(slice.statistics());
    for (const MemoryBlock& channel : channels) summary.add(channel.statistics());
    return summary;
}

void Gpu::preload(const std::vector<L2Residency>& resident) {
    for (const L2Residency& range : resident) {
        if (range.bytes == 0) continue;
        const std::uint64_t last = (range.base + range.bytes - 1) / kLineBytes;
        for (std::uint64_t number = range.base / kLineBytes; number <= last; ++number)
            preload_line(number, range.dirty);
    }
}

// Sampling: L2 as it is after these accesses.
LeftOutMemory Gpu::pass(const LeftOutTraffic& traffic, double gone) {
    std::vector<std::uint32_t> partition_of(sms.size());
    for (const Gpc& gpc : gpcs)
        for (const std::uint32_t sm : gpc.members()) partition_of[sm] = gpc.partition();
    LeftOutMemory memory;
    memory.used = traffic.accesses() != 0;
    if (gone > 0)
        for (L2Block& slice : slices) slice.age(gone);
    for (const std::vector<LeftOutAccess>& turn : traffic.turns()) {
        for (const LeftOutAccess& one : turn) {
            const PartitionedHash::Place place = hash_.place(one.line);
            const auto pass = [&](std::uint32_t partition) {
                slices[hash_.slice(place.position, partition)].pass(one.line, one.sectors, one.write,
                                                                    memory.read, memory.written);
            };
            pass(place.home);
            if (!one.write && partition_of[one.sm] != place.home) pass(partition_of[one.sm]);
        }
    }
    return memory;
}

void Gpu::preload_line(std::uint64_t number, bool dirty, bool spare_dirty) {
    const auto line = static_cast<std::uint32_t>(number);  // as requests name it
    // What a kernel wrote lies in the line's home alone; what it read, in every partition.
    const PartitionedHash::Place place = hash_.place(line);
    for (std::uint32_t partition = 0; partition < config_.l2.partitions; ++partition) {
        if (dirty && partition != place.home) continue;
        slices[hash_.slice(place.position, partition)].preload(line, dirty, spare_dirty);
    }
}

/// A kernel's code lies in L2 when it starts: an earlier launch, or its upload, has brought it there
/// (assumption). What comes later may push it out. Of recorded code more may become known during the run.
/// Lines that the launch brings to all SMs matter only where they do not stay there.
void Gpu::preload_code(std::uint32_t& known, std::uint32_t lines) {
    const InstructionCacheConfig& cache = config_.instruction_cache;
    if (!cache.enabled) return;
    if (std::uint64_t{lines} * kLineBytes <= cache.l1_bytes)
        known = std::max(known, static_cast<std::uint32_t>(cache.launch_prefetch / kLineBytes));
    for (; known < lines; ++known) preload_line(kCodeLines + known, false, true);
}

/// So do parameters that the launch does not bring to the SMs, and the bank of constants where it is used.
void Gpu::preload_constants(const LaunchSource& source, std::uint32_t launch, std::uint32_t first_constant) {
    if (!config_.constant_cache.enabled) return;
    constexpr std::uint64_t kBankLines = kConstantBankBytes / kLineBytes;  // parameters; then as many constants
    const std::uint64_t bytes = source.launch().parameters.size();
    for (std::uint64_t line = 0; line * kLineBytes < bytes; ++line) {
        if (config_.constant_cache.parameters_prefetched) break;
        preload_line(kConstantLines + first_constant / kLineBytes + line, false);
    }
    bool constants = false;
    for (std::size_t i = 0; i < source.instruction_count() && !constants; ++i)
        constants = source.instruction(i).space == ptx::StateSpace::constant;
    for (std::uint64_t line = 0; constants && line < kBankLines; ++line)
        preload_line(kConstantLines + (1 + launch) * kBankLines + line, false);
}

void Gpu::check_clusters(const LaunchSource& source) const {
    const unsigned size = ptx::cluster_size(source.launch());
    if (size <= 1 || size <= config_.cluster.size) return;
    throw Error("kernel " + source.name() + " is launched with clusters of " + std::to_string(size) +
                    " thread blocks; this GPU takes " +
                    (config_.cluster.size == 0 ? "none" : "at most " + std::to_string(config_.cluster.size)),
                {}, "choose another GPU, or set cluster.size in the hardware file");
}

KernelResult Gpu::run(const ptx::LaunchContext& launch, const RunOptions& options) {
    PtxSource source(launch);
    return run(source, options);
}

KernelResult Gpu::run(LaunchSource& source, const RunOptions& options) {
    if (options.sample && cache_ != nullptr)
        return run_in_full(source, options, "l2.model is not looked into");
    KernelResult result = perform({{&source, {}}}, options).all;
    return result.sampling.error > Sampler::kWidest ? run_again(source, options) : result;
}

JointResult Gpu::run_together(const std::vector<JointLaunch>& launches, const RunOptions& options) {
    if (launches.empty()) throw Error("internal: a run without launches");
    if (options.sample || options.stands_for.whole != nullptr)
        throw Error("launches that run together cannot be sampled", {}, "simulate them in full");
    std::uint64_t parameters = 0;
    for (const JointLaunch& one : launches) {
        parameters += whole_lines(one.source->launch().parameters.size());
        if (launches.size() > 1 && !one.source->is_complete())
            throw Error("kernel " + one.source->name() + " is a recorded trace, which runs alone", {},
                        "run it without others beside it");
        if (launches.size() > 1 && one.source->launch().access_policy_window.bytes != 0)
            throw Error("kernel " + one.source->name() + " has an access policy window, which is modelled for kernels that run alone", {},
                        "leave the window out, or run the kernel without others beside it");
    }
    if (launches.size() > std::numeric_limits<std::uint16_t>::max() || parameters > kConstantBankBytes)
        throw Error(std::to_string(launches.size()) + " launches, with " + std::to_string(parameters) +
                        " bytes of parameters, are too many for one run, which takes those of " +
                        std::to_string(kConstantBankBytes) + " bytes",
                    {}, "run fewer of them together");
    return perform(launches, options);
}

/// The rows of a launch, behind those of the launches before.
void Gpu::add_launch(LaunchPlan& plan, LaunchSource& source) const {
    RunLaunch launch;
    launch.source = &source;
    launch.launch = &source.launch();
    launch.occupancy = occupancy(config_, static_cast<unsigned>(launch.launch->block.count()),
                                 source.registers_per_thread(), source.shared_bytes());
    check_cooperative(config_, *launch.launch, source.registers_per_thread(), source.shared_bytes());
    check_clusters(source);
    if (launch.launch->grid.count() == 0)
        throw Error("kernel " + source.name() + " is launched with an empty grid", {}, "launch at least one block");
    if (!plan.launches.empty()) {
        const RunLaunch& before = plan.launches.back();
        launch.first_instruction = static_cast<std::uint32_t>(plan.kernel.instructions.size());
        launch.first_line = plan.kernel.lines;
        launch.first_constant =
            before.first_constant + static_cast<std::uint32_t>(whole_lines(before.launch->parameters.size()));
    }
    TimedKernel kernel = time_kernel(source, config_);
    if (plan.launches.empty())
        plan.kernel = std::move(kernel);
    else
        append(plan.kernel, std::move(kernel), launch.first_constant);
    launch.end_line = plan.kernel.lines;
    plan.launches.push_back(launch);
}

JointResult Gpu::perform(const std::vector<JointLaunch>& launches, const RunOptions& options) {
    // Ports are bound when elaboration ends, and the blocks are prepared before the first cycle.
    if (sc_core::sc_get_status() == sc_core::SC_ELABORATION) sc_core::sc_start(sc_core::SC_ZERO_TIME);
    reset_blocks();
    LaunchPlan plan;
    const auto parts = static_cast<std::uint32_t>(gpcs.size());
    unsigned threads = std::min(options.threads, parts);
    const bool with_peers = std::any_of(launches.begin(), launches.end(), [](const JointLaunch& one) {
        const ptx::GlobalMemory* const memory = one.source->launch().memory;
        return memory != nullptr && memory->has_images();
    });
    if (with_peers && config_.peer.bandwidth <= 0)
        throw Error("this device has no link to others", {"", 0, "peer.bandwidth"}, "choose another device, or set peer.bandwidth, peer.latency and peer.header in the hardware file");
    if (with_peers) peers.activate();
    const bool divided = threads > 1 && dram_ == nullptr && cache_ == nullptr && !with_peers &&
                         std::all_of(launches.begin(), launches.end(),
                                     [&](const JointLaunch& one) { return one.source->divide(parts); });
    if (!divided) {
        threads = 1;
        for (const JointLaunch& one : launches) one.source->divide(1);
    }
    clock.set_threads(threads);
    plan.patterns.resize(divided ? parts : 1);
    for (const JointLaunch& one : launches) add_launch(plan, *one.source);
    LaunchSource& first = *launches.front().source;
    std::uint32_t known_lines = 0;
    if (launches.size() == 1) {
        first.set_observer([&] {
            extend(plan.kernel, first, config_);
            preload_code(known_lines, plan.kernel.lines);
        });
        plan.launches.front().dependency_release = options.dependency_release;
    }
    const std::string name = launches.size() == 1 ? first.name() : first.name() + " and those beside it";
    std::vector<ScheduledLaunch> scheduled;
    std::uint64_t ctas = 0;
    bool reads_clock = false;
    for (std::size_t i = 0; i < launches.size(); ++i) {
        const RunLaunch& launch = plan.launches[i];
        const LaunchOrder& order = launches[i].order;
        scheduled.push_back({launch.launch, launch.occupancy, order, options.stands_for.blocks});
        ctas += options.stands_for.blocks == nullptr ? launch.launch->grid.count() : options.stands_for.blocks->size();
        reads_clock = reads_clock || launch.source->reads_clock();
        if (!order.programmatic) continue;
        plan.launches[i].dependency_release = kNever;
        plan.launches.at(order.after.back()).tells_triggers = true;
    }
    const Doing doing("kernel " + name, ctas, "thread blocks");
    // Where thread blocks follow one another, those that are done say better how far it is.
    if (ctas > std::uint64_t{plan.only().occupancy.ctas_per_sm} * config_.sm.count) this_activity().set_expected(0);
    preload_code(known_lines, plan.kernel.lines);
    for (std::uint32_t i = 0; i < launches.size(); ++i)
        preload_constants(*launches[i].source, i, plan.launches[i].first_constant);
    preload(options.resident);
    plan.profile = options.profile;
    plan.audit = options.audit;
    plan.window = options.window;
    if (options.sample) {
        if (first.launch().kernel == nullptr)
            throw Error("a recorded trace cannot be sampled", {}, "leave out --sample");
        if (first.launch().mode != ptx::Mode::timing)
            throw Error("a sampled run cannot compute values", {}, "leave out one of the two");
        plan.left_out = &sampler->left_out();
        scheduler.watch(plan.left_out);
        sampler->begin(
            plan, config_, options.stands_for.error, options.sample_cautiously,
            [&] { return tally(plan, clock.now() + 1); },
            [this](const LeftOutTraffic& traffic, double gone) { return pass(traffic, gone); });
    }
    if (options.series.interval != 0)
        series->begin(
            options.series, config_, [&](Cycle until) { return tally(plan, until); },
            KernelSummary(config_, plan).result(0, 0), plan.left_out);
    set_probes(options.signals);
    for (Sm& sm : sms) sm.begin(plan);
    scheduler.begin(std::move(scheduled));

    clock.set_tick_every_cycle(options.tick_every_cycle);
    const std::uint64_t activations = clock.activations();
    const Cycle limit = options.limit == 0 ? kLastCycle : std::min(options.limit, kLastCycle);
    ProgressWatch watch(reads_clock);
    const auto before = static_cast<Cycle>(std::round(config_.launch.before * config_.clock));
    if (options.signals != nullptr) options.signals->begin(clock.hertz(), before, "kernel " + name);
    advance(limit, watch, options.signals, name);
    for (unsigned attempts = 0; scheduler.finished() != ctas; advance(limit, watch, options.signals, name)) {
        if (sampler->has_decided()) series->close(clock.now() + 1);
        if (sampler->leap()) {
            series->cut();
            continue;
        }
        if (!resume_stalled() || ++attempts == kVainAttempts)
            report_deadlock(name, "every warp of a thread block waits and nothing is under way");
    }

    JointResult joint;
    Cycle end = scheduler.last_finish();
    for (const L2Block& slice : slices) end = std::max(end, slice.statistics().last_store);
    KernelSummary summary = tally(plan, end);
    series->close(end);
    if (options.sample) {
        sampler->finish(summary);
        end += sampler->left_out();
    }
    if (options.stands_for.whole != nullptr) summary.stand_for(*options.stands_for.whole, ctas);
    KernelResult& result = joint.all = summary.result(end, first.registers_per_thread());
    if (options.check_conservation && !options.sample) check_conservation(ledger(result, ctas), name);
    result.series = series->take();
    if (options.sample) result.sampling = sampler->result(result.cycles);
    if (result.sampling.error > Sampler::kWidest) return joint;
    if (options.stands_for.whole != nullptr) note_part(result.sampling, options.stands_for);
    if (options.signals != nullptr) options.signals->end(result.cycles);
    result.activations = clock.activations() - activations;
    result.host_threads = threads;
    joint.launches = scheduler.spans();
    // The stores of the last to end are on their way longer than it has thread blocks; so long are those of the others taken to be.
    const Cycle drain = end - scheduler.last_finish();
    if (!options.sample)
        for (LaunchSpan& span : joint.launches) span.end += drain;
    return joint;
}

void Gpu::note_part(Sampling& sampling, const StandsFor& stands_for) const {
    const GpuConfig& whole = *stands_for.whole;
    const double share = static_cast<double>(config_.sm.count) / whole.sm.count;
    const std::string part =
        "on " + std::to_string(config_.sm.count) + " of " + std::to_string(whole.sm.count) + " SMs";
    sampling.note = sampling.simulated < 1 ? part + "; " + sampling.note : part;
    sampling.simulated *= share;
    sampling.error = std::hypot(sampling.error, stands_for.error);
}

// What a sampled run has left out is not known well enough: with shorter leaps, then in full.
KernelResult Gpu::run_again(LaunchSource& source, const RunOptions& options) {
    if (!options.sample_cautiously) {
        RunOptions cautious = options;
        cautious.sample_cautiously = true;
        return run(source, cautious);
    }
    return run_in_full(source, options, "its times did not settle");
}

KernelResult Gpu::run_in_full(LaunchSource& source, const RunOptions& options, const std::string& reason) {
    RunOptions in_full = options;
    in_full.sample = false;
    if (options.threads_in_full != 0) in_full.threads = options.threads_in_full;
    KernelResult result = run(source, in_full);
    result.sampling.asked = true;
    result.sampling.note = "simulated in full: " + reason;
    return result;
}

std::size_t Gpu::requests_under_way() const {
    std::size_t count = 0;  // a pool may have more back than it handed out
    for (const MemoryRequestPool& pool : pools_) count += pool.in_use();
    return count;
}

Ledger Gpu::ledger(const KernelResult& result, std::uint64_t ctas) const {
    Ledger ledger;
    ledger.requests_under_way = requests_under_way();
    for (const Sm& sm : sms) {
        ledger.sm_requested_sectors += sm.load_store().statistics().requested_sectors;
        ledger.sm_received_sectors += sm.load_store().statistics().received_sectors;
        const LineFetchStatistics& lines = sm.line_fetch().statistics();
        ledger.sm_requested_sectors += lines.requested_sectors;
        ledger.sm_received_sectors += lines.received_sectors;
        ledger.sm_loaded_sectors += lines.requested_sectors;
        const LoadStoreStatistics& threads = sm.load_store().statistics();
        const BulkCopyStatistics& copies = sm.bulk_copies().statistics();
        ledger.sm_loaded_sectors += threads.loaded_sectors + copies.load_sectors + copies.prefetched_sectors;
        ledger.sm_stored_sectors += threads.l1_store_sectors + threads.atomic_sectors + copies.store_sectors;
    }
    for (const Gpc& gpc : gpcs) {
        ledger.gpc_requests += gpc.statistics().requests - gpc.statistics().joined;
        ledger.l2_loaded_sectors += gpc.statistics().joined_sectors;
    }
    for (const L2Block& slice : slices) {
        const L2SliceStatistics served = slice.statistics();
        ledger.l2_requests += served.requests;
        ledger.l2_answers += served.answers;
        ledger.l2_loaded_sectors += served.load_sectors;
        ledger.l2_stored_sectors += served.store_sectors + served.atomic_sectors;
        ledger.l2_fill_sectors += served.fill_sectors;
        ledger.l2_write_back_sectors += served.write_back_sectors;
    }
    for (const MemoryBlock& channel : channels) {
        ledger.dram_read_sectors += channel.statistics().read_sectors;
        ledger.dram_write_sectors += channel.statistics().write_sectors;
    }
    ledger.issued_instructions = result.machine_instructions;
    for (const std::uint64_t count : result.pipeline_instructions) ledger.pipeline_instructions += count;
    ledger.ctas_launched = ctas;
    ledger.ctas_finished = result.ctas;
    return ledger;
}

// Nothing goes on any more, but lanes may be waiting for others that cannot come, or waits that need not
// succeed.
bool Gpu::resume_stalled() {
    bool any = false;
    for (Sm& sm : sms) any = sm.resume_stalled(clock.now()) || any;
    return any;
}

/// Who watches signals, nobody otherwise.
void Gpu::set_probes(SignalTrace* signals) {
    if (signals == nullptr && !std::exchange(watched_, false)) return;
    watched_ = signals != nullptr;
    const auto set = [&](Block& block, const std::string& path) {
        block.set_probe(watched_ ? signals->watch(path, block.signals()) : nullptr);
    };
    const std::string root = std::string(basename()) + ".";
    for (std::size_t i = 0; i < gpcs.size(); ++i)
        for (const std::uint32_t sm : gpcs[i].members())
            set(sms[sm], root + "gpc" + std::to_string(i) + ".sm" + std::to_string(sm));
    for (std::size_t i = 0; i < slices.size(); ++i) set(slices[i], root + "l2_slice" + std::to_string(i));
    for (std::size_t i = 0; i < channels.size(); ++i)
        set(channels[i], root + "memory_channel" + std::to_string(i));
}

void Gpu::advance(Cycle limit, ProgressWatch& watch, SignalTrace* signals, const std::string& kernel) {
    const auto pause = [&] {
        return std::min(watch.next(), signals != nullptr ? signals->next_flush() : kNever);
    };
    for (clock.run(limit, pause()); clock.paused(); clock.run(limit, pause())) {
        // All up to the pause has been performed, whenever anything was due last.
        if (signals != nullptr && signals->next_flush() <= watch.next()) {
            signals->flush(signals->next_flush());
            continue;
        }
        if (watch.look(sms, Sm::kWarps, clock.now()))
            report_deadlock(kernel,
                            "the warps that do not wait go round in loops and nothing changes any more");
    }
}

void Gpu::report_deadlock(const std::string& kernel, const std::string& problem) {
    std::string waiting;
    for (const Sm& sm : sms) {
        waiting = sm.describe_waiting();
        if (!waiting.empty()) break;
    }
    throw Error("kernel " + kernel + " hangs in cycle " + std::to_string(clock.now()) + ": " + problem +
                    "\n" + waiting,
                {}, "look for a barrier that not all warps of the block reach, or a flag that nobody sets");
}

}  // namespace heddle::models::gpu
