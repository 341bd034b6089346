#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "isa/common/error.h"
#include "isa/numerics/dot_product_unit.h"
#include "isa/ptx/machine/checker.h"
#include "isa/ptx/machine/machine.h"
#include "isa/ptx/machine/paths.h"
#include "isa/ptx/machine/stack.h"
#include "isa/ptx/machine/tensor_access.h"
#include "isa/ptx/matrix_instruction.h"
#include "isa/target/generation.h"

namespace heddle::ptx {
namespace {

constexpr std::uint64_t kMaximumThreads = 1024;  // per CTA: CUDA programming guide, all compute capabilities
constexpr std::uint32_t kMaximumSharedBytes = 1u << 24;

[[noreturn]] void fail_launch(const LoadedKernel::Implementation& kernel, const std::string& problem,
                              const std::string& remedy = "",
                              Error::Kind kind = Error::Kind::other) {
    throw Error("launch of kernel " + kernel.kernel.name + ": " + problem,
                {kernel.file_name, kernel.kernel.line, ""}, remedy, kind);
}

std::string describe(const Dim3& d) {
    return std::to_string(d.x) + " x " + std::to_string(d.y) + " x " + std::to_string(d.z);
}

void check_threads(const LaunchContext& launch, const LoadedKernel::Implementation& kernel) {
    const Kernel& k = kernel.kernel;
    if (launch.grid.count() == 0) fail_launch(kernel, "the grid " + describe(launch.grid) + " is empty");
    const std::uint64_t threads = launch.block.count();
    if (threads == 0 || threads > kMaximumThreads) {
        fail_launch(kernel, "a block of " + describe(launch.block) + " threads", "use 1 to 1024 threads",
                    Error::Kind::resources);
    }
    const Dim3 required{k.required_threads[0], k.required_threads[1], k.required_threads[2]};
    if (required.x != 0 && !(required == launch.block)) {
        fail_launch(kernel, "a block of " + describe(launch.block) + ", the kernel says .reqntid " +
                                describe(required),
                    "", Error::Kind::resources);
    }
    const Dim3 maximum{k.maximum_threads[0], k.maximum_threads[1], k.maximum_threads[2]};
    if (maximum.x != 0 && threads > maximum.count()) {
        fail_launch(kernel, "a block of " + std::to_string(threads) + " threads, the kernel says .maxntid " +
                                std::to_string(maximum.count()),
                    "", Error::Kind::resources);
    }
}

// Steering is followed through pointer parameters: two of them must not lead to the same buffer.
void check_aliases(const LaunchContext& launch, const LoadedKernel::Implementation& kernel) {
    const auto allocation_at = [&](std::uint32_t offset) -> const Allocation* {
        std::uint64_t address = 0;
        std::memcpy(&address, launch.parameters.data() + offset, sizeof(address));
        return launch.memory->find(address, 1);
    };
    for (const std::uint32_t read : kernel.steering_reads) {
        for (const std::uint32_t write : kernel.skipped_writes) {
            if (read == write) continue;
            const Allocation* allocation = allocation_at(read);
            if (allocation == nullptr || !allocation->backed || allocation != allocation_at(write)) continue;
            fail_launch(kernel,
                        "buffer " + allocation->name +
                            " is read for values that steer, and written through another pointer",
                        "run it in functional mode, or pass different buffers");
        }
    }
}

// The tensor core of a generation takes some input types only.
void check_matrix_types(const LaunchContext& launch, const LoadedKernel::Implementation& kernel) {
    for (const Instruction& n : kernel.kernel.instructions) {
        if (n.opcode == Opcode::wgmma && !target::nearest_generation(launch.compute_capability).has_wgmma) {
            throw Error("wgmma on compute capability " + std::to_string(launch.compute_capability),
                        {kernel.file_name, n.line, kernel.kernel.name}, "only Hopper has it: 90");
        }
        if (n.opcode == Opcode::tcgen05 && !target::nearest_generation(launch.compute_capability).has_tcgen05) {
            throw Error("tcgen05 on compute capability " + std::to_string(launch.compute_capability),
                        {kernel.file_name, n.line, kernel.kernel.name}, "only Blackwell of data centres has it: 100, 101, 103 and 110");
        }
        if (!is_matrix_multiply(n)) continue;
        const MatrixTypes types = matrix_types(n);
        const auto input = matrix_format(types.a), input_b = matrix_format(types.b);
        if (!input || input == numerics::Format::fp64) continue;
        const auto output = types.d == Type::f16 ? numerics::Format::fp16 : numerics::Format::fp32;
        try {
            numerics::parameters_for(target::generation_of(launch.compute_capability), *input, *input_b,
                                     output, numerics::Instruction::mma_sync);
        } catch (const std::invalid_argument& problem) {
            throw Error(std::string(name_of(n.opcode)) + "." + std::string(name_of(types.a)) +
                            " on compute capability " + std::to_string(launch.compute_capability) + ": " +
                            problem.what(),
                        {kernel.file_name, n.line, kernel.kernel.name});
        }
    }
}

void check_cluster(const LaunchContext& launch, const LoadedKernel::Implementation& kernel) {
    const Dim3 &cluster = launch.cluster, &grid = launch.grid;
    if (cluster.count() == 0 || cluster.count() > kMaximumClusterSize) {
        fail_launch(kernel, "a cluster of " + describe(cluster) + " thread blocks",
                    "use 1 to " + std::to_string(kMaximumClusterSize) + " thread blocks");
    }
    if (grid.x % cluster.x != 0 || grid.y % cluster.y != 0 || grid.z % cluster.z != 0) {
        fail_launch(kernel,
                    "the grid " + describe(grid) + " is not made of whole clusters of " + describe(cluster),
                    "make each side of the grid a multiple of the cluster's");
    }
}

void check_launch(const LaunchContext& launch) {
    if (launch.kernel == nullptr) throw Error("a launch without a kernel");
    const LoadedKernel::Implementation& kernel = launch.kernel->implementation();
    check_threads(launch, kernel);
    check_cluster(launch, kernel);
    if (launch.parameters.size() != kernel.kernel.parameter_bytes) {
        fail_launch(kernel,
                    std::to_string(launch.parameters.size()) + " bytes of parameters, the kernel takes " +
                        std::to_string(kernel.kernel.parameter_bytes),
                    "use pack_parameters()");
    }
    if (launch.dynamic_shared_bytes > kMaximumSharedBytes)
        fail_launch(kernel, "more shared memory than any device has", "", Error::Kind::resources);
    if (launch.memory == nullptr) fail_launch(kernel, "there is no global memory");
    if (launch.mode == Mode::timing) check_aliases(launch, kernel);
    check_matrix_types(launch, kernel);
}

std::uint64_t variable_address(const Cta::Implementation& cta, const std::string& name) {
    const std::uint64_t address = module_variable_address(*cta.launch.memory, name);
    if (address == 0) {
        fail_launch(*cta.kernel, "variable " + name + " has no place in memory",
                    "call allocate_module_variables() first");
    }
    return address;
}

void resolve_variables(Cta::Implementation& cta) {
    cta.constant_bank.assign(cta.launch.constants.begin(), cta.launch.constants.end());
    for (const Variable& variable : cta.kernel->kernel.variables) {
        if (variable.space != StateSpace::constant || variable.addresses.empty()) continue;
        if (cta.constant_bank.empty()) cta.constant_bank = cta.kernel->constant_bank;
        fill_in_addresses(variable, *cta.launch.memory, cta.kernel->kernel.variables,
                          std::span(cta.constant_bank).subspan(variable.offset));
    }
    if (cta.program->addresses.empty()) return;
    cta.constants = cta.program->constants;
    auto* bytes = reinterpret_cast<std::byte*>(cta.constants.data());
    for (const Program::AddressRow& row : cta.program->addresses) {
        const std::uint64_t address = variable_address(cta, row.variable) + row.addend;
        for (unsigned lane = 0; lane < kWarpSize; ++lane) {
            std::memcpy(bytes + row.offset + lane * sizeof(address), &address, sizeof(address));
        }
    }
}

// Registers of grids and clusters: a grid without clusters is one of clusters of one CTA.
std::uint64_t cluster_value(const Cta::Implementation& cta, SpecialRegister special) {
    const Dim3 &shape = cta.launch.cluster, &grid = cta.launch.grid, &position = cta.position;
    switch (special) {
        case SpecialRegister::clusterid_x:
            return position.x / shape.x;
        case SpecialRegister::clusterid_y:
            return position.y / shape.y;
        case SpecialRegister::clusterid_z:
            return position.z / shape.z;
        case SpecialRegister::nclusterid_x:
            return grid.x / shape.x;
        case SpecialRegister::nclusterid_y:
            return grid.y / shape.y;
        case SpecialRegister::nclusterid_z:
            return grid.z / shape.z;
        case SpecialRegister::cluster_ctaid_x:
            return position.x % shape.x;
        case SpecialRegister::cluster_ctaid_y:
            return position.y % shape.y;
        case SpecialRegister::cluster_ctaid_z:
            return position.z % shape.z;
        case SpecialRegister::cluster_nctaid_x:
            return shape.x;
        case SpecialRegister::cluster_nctaid_y:
            return shape.y;
        case SpecialRegister::cluster_nctaid_z:
            return shape.z;
        case SpecialRegister::cluster_ctarank:
            return (std::uint64_t{position.z % shape.z} * shape.y + position.y % shape.y) * shape.x +
                   position.x % shape.x;
        case SpecialRegister::cluster_nctarank:
            return shape.count();
        case SpecialRegister::is_explicit_cluster:
            return shape.count() > 1 ? 1 : 0;
        case SpecialRegister::aggr_smem_size:
            return cta.shared_bytes;
        case SpecialRegister::envreg1:  // the others are the driver's own: 0
            return cta.launch.grid_workspace >> 32;
        case SpecialRegister::envreg2:
            return cta.launch.grid_workspace;
        default:
            return 0;
    }
}

// The value of a special register in one thread.
std::uint64_t special_value(const Cta::Implementation& cta, SpecialRegister special, unsigned warp,
                            unsigned lane) {
    const Dim3 &block = cta.launch.block, &grid = cta.launch.grid, &position = cta.position;
    const std::uint32_t thread = warp * kWarpSize + lane;
    const std::uint32_t bit = 1u << lane;
    switch (special) {
        case SpecialRegister::tid_x:
            return thread % block.x;
        case SpecialRegister::tid_y:
            return thread / block.x % block.y;
        case SpecialRegister::tid_z:
            return thread / block.x / block.y;
        case SpecialRegister::ntid_x:
            return block.x;
        case SpecialRegister::ntid_y:
            return block.y;
        case SpecialRegister::ntid_z:
            return block.z;
        case SpecialRegister::ctaid_x:
            return position.x;
        case SpecialRegister::ctaid_y:
            return position.y;
        case SpecialRegister::ctaid_z:
            return position.z;
        case SpecialRegister::nctaid_x:
            return grid.x;
        case SpecialRegister::nctaid_y:
            return grid.y;
        case SpecialRegister::nctaid_z:
            return grid.z;
        case SpecialRegister::laneid:
            return lane;
        case SpecialRegister::warpid:
            return warp;
        case SpecialRegister::nwarpid:
            return 64;  // warp slots of an SM, of every generation from Volta but Turing
        case SpecialRegister::smid:
            return cta.sm;
        case SpecialRegister::nsmid:
            return std::max(target::nearest_generation(cta.launch.compute_capability).largest_sm_count,
                            cta.sm + 1);
        case SpecialRegister::lanemask_eq:
            return bit;
        case SpecialRegister::lanemask_lt:
            return bit - 1;
        case SpecialRegister::lanemask_le:
            return bit | (bit - 1);
        case SpecialRegister::lanemask_gt:
            return ~(bit | (bit - 1));
        case SpecialRegister::lanemask_ge:
            return ~(bit - 1);
        case SpecialRegister::dynamic_smem_size:
            return cta.launch.dynamic_shared_bytes;
        case SpecialRegister::total_smem_size:
            return cta.shared_bytes;
        default:
            return cluster_value(cta, special);
    }
}

/// Whether a block's warps read the same as those of any other block of the launch.
bool same_for_all_blocks(SpecialRegister special) {
    switch (special) {
        case SpecialRegister::tid_x:
        case SpecialRegister::tid_y:
        case SpecialRegister::tid_z:
        case SpecialRegister::ntid_x:
        case SpecialRegister::ntid_y:
        case SpecialRegister::ntid_z:
        case SpecialRegister::nctaid_x:
        case SpecialRegister::nctaid_y:
        case SpecialRegister::nctaid_z:
        case SpecialRegister::laneid:
        case SpecialRegister::warpid:
            return true;
        default:
            return false;
    }
}

void fill_specials(Cta::Implementation& cta) {
    const bool all = !std::exchange(cta.specials_filled, true) || cta.program->clear_registers;
    for (const Program::SpecialRow& row : cta.program->specials) {
        if (!all && same_for_all_blocks(row.special)) continue;
        const bool wide = bits_of(type_of(row.special)) == 64;
        for (Warp::State& warp : cta.states) {
            if (type_of(row.special) == Type::pred) {
                const std::uint32_t lanes =
                    special_value(cta, row.special, warp.index, 0) != 0 ? kAllLanes : 0;
                std::memcpy(warp.bank[0] + row.offset, &lanes, sizeof(lanes));
                continue;
            }
            for (unsigned lane = 0; lane < kWarpSize; ++lane) {
                const std::uint64_t value = special_value(cta, row.special, warp.index, lane);
                if (wide) {
                    std::memcpy(warp.bank[0] + row.offset + lane * 8, &value, 8);
                } else {
                    const auto narrow = static_cast<std::uint32_t>(value);
                    std::memcpy(warp.bank[0] + row.offset + lane * 4, &narrow, 4);
                }
            }
        }
    }
}

}  // namespace

Cta::Cta(const LaunchContext& launch, StepScratch* scratch)
    : implementation_(std::make_unique<Implementation>()) {
    check_launch(launch);
    Implementation& cta = *implementation_;
    cta.launch = launch;
    cta.kernel = &launch.kernel->implementation();
    cta.program = &cta.kernel->programs[static_cast<std::size_t>(launch.mode)];
    const bool shared_values = launch.mode == Mode::functional || cta.kernel->shared_memory_steers ||
                               cta.kernel->uses_memory_barriers;
    cta.shared_bytes = launch.dynamic_shared_bytes == 0
                           ? cta.kernel->kernel.shared_bytes
                           : cta.kernel->dynamic_shared_offset + launch.dynamic_shared_bytes;
    if (shared_values) cta.shared.resize(cta.shared_bytes);
    const auto warps = static_cast<std::size_t>((launch.block.count() + kWarpSize - 1) / kWarpSize);
    cta.local_bytes = cta.kernel->kernel.local_bytes;
    const unsigned stacks =
        (cta.program->functions.empty() ? 0u : 1u) + (uses_stack(cta.kernel->kernel) ? 1u : 0u);
    cta.local_stride = cta.local_bytes + stacks * launch.stack_bytes;
    if (stacks != 0) cta.local_stride += 2 * cta.program->frame_alignment;  // where they start
    cta.local.resize(warps * kWarpSize * cta.local_bytes);
    resolve_variables(cta);
    const std::size_t lines = (cta.program->register_bytes + sizeof(Line) - 1) / sizeof(Line);
    cta.registers.resize(lines * warps);
    if (scratch == nullptr) cta.own_scratch = std::make_unique<StepScratch>();
    cta.scratch = scratch == nullptr ? cta.own_scratch.get() : scratch;
    cta.scratch->last_allocation.resize(cta.program->code.size());
    cta.information = cta.kernel->information.data();
    cta.states.resize(warps);
    cta.warps.resize(warps);
    const std::vector<Line>& constants = cta.constants.empty() ? cta.program->constants : cta.constants;
    for (std::size_t w = 0; w < warps; ++w) {
        Warp::State& state = cta.states[w];
        state.index = static_cast<std::uint16_t>(w);
        state.bank[0] = reinterpret_cast<std::byte*>(cta.registers.data() + w * lines);
        // Handlers only read from the bank of constants.
        state.bank[1] = const_cast<std::byte*>(reinterpret_cast<const std::byte*>(constants.data()));
        state.code = cta.program->code.data();
        state.elements = cta.program->elements.data();
        state.information = cta.kernel->information.data();
        state.cta = &cta;
        cta.warps[w].state = &state;
        cta.warps[w].status = &state;
    }
    if (launch.check != nullptr && launch.mode == Mode::functional)
        cta.own_checker = std::make_shared<Checker>(cta, *launch.check);
    cta.checker = cta.own_checker.get();
}

Cta::~Cta() = default;
Cta::Cta(Cta&&) noexcept = default;

void Cta::start(std::uint64_t linear_index, std::uint32_t sm, Cluster* cluster) {
    Implementation& cta = *implementation_;
    const Dim3& grid = cta.launch.grid;
    cta.linear_index = linear_index;
    cta.sm = sm;
    cta.position = {static_cast<std::uint32_t>(linear_index % grid.x),
                    static_cast<std::uint32_t>(linear_index / grid.x % grid.y),
                    static_cast<std::uint32_t>(linear_index / grid.x / grid.y)};
    // What the hardware leaves behind is unspecified; here it is zero, so that runs repeat.
    if (cta.program->clear_registers) std::fill(cta.registers.begin(), cta.registers.end(), Line{});
    if (!std::exchange(cta.shared_is_fresh, false))
        std::fill(cta.shared.begin(), cta.shared.end(), std::byte{0});
    std::fill(cta.local.begin(), cta.local.end(), std::byte{0});
    for (std::uint32_t rest = std::exchange(cta.used_barriers, 0); rest != 0; rest &= rest - 1)
        cta.barriers[static_cast<std::size_t>(std::countr_zero(rest))] = {};
    cta.started.clear();
    cta.join(cluster == nullptr ? nullptr : &cluster->implementation());
    fill_specials(cta);
    if (cta.checker != nullptr) cta.checker->restart();
    cta.unfinished = static_cast<unsigned>(cta.states.size());
    cta.released_warps = 0;
    begin_tensor_memory(cta);
    std::uint64_t threads = cta.launch.block.count();
    for (Warp::State& state : cta.states) {
        state.live = state.active = threads >= kWarpSize ? kAllLanes : (1u << threads) - 1;
        threads -= std::min<std::uint64_t>(threads, kWarpSize);
        state.pc = 0;
        state.reconvergence = kNowhere;
        state.meeting = kNoMeeting;
        state.blocked = state.finished = state.timed_out = false;
        state.spins = 0;
        state.cluster_arrived = 0;
        state.paths.clear();
        state.meetings.clear();
        if (!cta.program->functions.empty()) state.frames.clear();
        if (cta.local_stride != 0) state.stack_bytes.fill(0);
    }
}

unsigned Cta::warp_count() const {
    return static_cast<unsigned>(implementation_->warps.size());
}
Warp& Cta::warp(unsigned index) {
    return implementation_->warps[index];
}
bool Cta::finished() const {
    return implementation_->unfinished == 0;
}

std::uint64_t Cta::linear_index() const {
    return implementation_->linear_index;
}
void Cta::set_observer(CtaObserver* observer, std::uint32_t tag) {
    implementation_->observer = observer;
    implementation_->observer_tag = tag;
}
std::span<AsyncOperation> Cta::started() {
    return implementation_->started;
}
std::uint64_t Cta::changes() const {
    return implementation_->changes;
}

std::uint32_t Cta::resume_stalled() {
    Implementation& cta = *implementation_;
    for (Warp::State& warp : cta.states) ptx::resume_stalled(warp);
    const std::uint32_t released = cta.released_warps;
    cta.released_warps = 0;
    return released;
}

void Cta::Implementation::join(ClusterState* with) {
    cluster = with;
    cluster_rank = 0;
    if (cluster == nullptr) {
        alone = {};
        alone.ctas[0] = this;
        alone.size = 1;
        alone.live_threads = launch.block.count();
        return;
    }
    const Dim3& shape = launch.cluster;
    cluster_rank = position.x % shape.x + (position.y % shape.y + position.z % shape.z * shape.y) * shape.x;
    cluster->ctas[cluster_rank] = this;
}

StepResult Warp::step(std::uint64_t clock) {
    State& warp = *state;
    const std::uint32_t at = warp.pc;
    const DecodedInstruction& instruction = warp.code[at];
    std::uint32_t mask = warp.active;
    if (instruction.guard != kNoGuard) {
        const std::uint32_t guard = *reinterpret_cast<const std::uint32_t*>(
            warp.bank[instruction.guard >> 31] + (instruction.guard & ~kConstantBank));
        mask &= instruction.guard_negated ? ~guard : guard;
    }
    Cta::Implementation& cta = *warp.cta;
    StepResult result;
    result.info = cta.information + at;
    result.active_lanes = mask;
    warp.pc = at + 1;
    warp.clock = clock;
    if (mask != 0 && instruction.handler != nullptr) {
        cta.started.clear();
        if (cta.checker != nullptr) cta.checker->before(warp, at, mask);
        instruction.handler(warp, instruction, mask);
        if (instruction.accesses) result.access = &cta.scratch->access;
        result.started_operations = static_cast<std::uint32_t>(cta.started.size());
        if (cta.checker != nullptr) cta.checker->after(warp, at, result.access);
        warp.timed_out = false;
        if (cta.cluster != nullptr) cta.cluster->notify_others(cta);
    }
    if (warp.pc == warp.reconvergence) arrive_at_meeting(warp);
    if (cta.released_warps != 0) {
        result.released_warps = cta.released_warps;
        cta.released_warps = 0;
    }
    result.finished = warp.finished;
    return result;
}

}  // namespace heddle::ptx
