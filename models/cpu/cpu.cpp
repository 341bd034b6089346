#include "models/cpu/cpu.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "isa/common/error.h"

namespace heddle::models {
namespace {

CpuConfig possible(const CpuConfig& config) {
    if (const auto problem = config.problem()) throw Error(*problem);
    return config;
}

/// Whether some instruction of the body satisfies the predicate.
bool has_instruction(const cpu::Body& body, const std::function<bool(const cpu::Instruction&)>& is) {
    return std::any_of(body.begin(), body.end(), [&](const auto& node) {
        if (const auto* loop = std::get_if<cpu::Loop>(&node)) return has_instruction(loop->body, is);
        return is(std::get<cpu::Instruction>(node));
    });
}

bool is_tile_product(const cpu::Instruction& one) {
    return one.opcode == cpu::Opcode::op_tile_bf16 || one.opcode == cpu::Opcode::op_tile_i8;
}

bool is_arithmetic(const cpu::Instruction& one) {
    return one.opcode == cpu::Opcode::op_fma || one.opcode == cpu::Opcode::op_mul || one.opcode == cpu::Opcode::op_dot_bf16;
}

}  // namespace

Cpu::Core::Core(const sc_core::sc_module_name& name, ClockDomain& clock, const CpuConfig& config)
    : Block(name, clock), config_(config), model_(config) {}

void Cpu::Core::reset() {
    program_ = nullptr;
    next_ = 0;
}

void Cpu::Core::begin(const cpu::Program& program, const CpuRunOptions& options, CpuResult& result) {
    program_ = &program;
    options_ = &options;
    result_ = &result;
    next_ = 0;
    unsigned threads = 1;
    for (const cpu::Region& region : program.regions) threads = std::max(threads, cpu::threads_of(region, config_.program_threads()));
    if (!options.warm) model_.reset();
    model_.set_folding(options.folding);
    model_.begin(program, options.resident, threads);
    footprint_ = 0;
    for (const cpu::Buffer& buffer : program.buffers) footprint_ += static_cast<double>(buffer.bytes) * (buffer.per_thread ? threads : 1);
    wake(0);
}

Cycle Cpu::Core::tick(Cycle now) {
    if (next_ >= program_->regions.size()) return kNever;
    const cpu::Region& region = program_->regions[next_];
    const unsigned threads = cpu::threads_of(region, config_.program_threads());
    const bool matrix = has_instruction(region.body, is_tile_product);
    const bool wide = config_.vector_bits == 512 && program_->lanes == 16 && has_instruction(region.body, is_arithmetic);
    const double hertz = config_.clock(std::min(threads, config_.all_cores()), wide, matrix);
    // What the regions before have made is in the L3 where everything fits.
    if (next_ != 0) {
        const unsigned l3s = std::max(1u, config_.l3_cores == 0 ? config_.sockets : config_.all_cores() / config_.l3_cores);
        if (footprint_ <= static_cast<double>(config_.l3.bytes) * l3s) model_.set_resident(std::vector<bool>(program_->buffers.size(), true));
    }
    const auto [first, last] = cpu::static_share(region.iterations(), 0, threads);
    CpuResult::Region found;
    found.name = region.name;
    found.threads = threads;
    found.hertz = hertz;
    found.core = model_.run(region, first, last, threads, hertz);
    found.seconds = found.core.cycles / hertz;
    if (!options_->alone && threads > 1) {
        // The barrier is a tree: its cost grows with the logarithm of the threads.
        found.seconds += config_.fork_seconds * std::log2(1.0 + threads) / std::log2(1.0 + config_.program_threads());
    }
    result_->regions.push_back(found);
    ++next_;
    return now + std::max<Cycle>(1, static_cast<Cycle>(std::llround(found.seconds * clock().hertz())));
}

Cpu::Cpu(const sc_core::sc_module_name& name, const CpuConfig& config)
    : sc_module(name), config_(possible(config)), clock_("clock", config.clock_single), core_("core", clock_, config_) {}

CpuResult Cpu::run(const cpu::Program& program, const CpuRunOptions& options) {
    if (program.lanes * 32 > config_.vector_bits)
        throw Error("program " + program.name + " has vectors of " + std::to_string(program.lanes * 32) + " bits", {"", 0, "vector.bits"},
                    "this machine's have " + std::to_string(config_.vector_bits));
    for (const cpu::Region& region : program.regions) {
        if (config_.tile_interval == 0 && has_instruction(region.body, is_tile_product))
            throw Error("program " + program.name + " multiplies tiles", {"", 0, "matrix.interval"}, "this machine has no matrix units");
        if (!config_.bf16_dot && has_instruction(region.body, [](const auto& one) { return one.opcode == cpu::Opcode::op_dot_bf16; }))
            throw Error("program " + program.name + " has dot products of bf16", {"", 0, "vector.bf16_dot"}, "this machine has none");
    }
    CpuResult result;
    clock_.restart();
    core_.begin(program, options, result);
    result.cycles = clock_.run();
    double arithmetic = 0, vector = 0, loads = 0, stores = 0, issue = 0, matrix = 0, cycles = 0, memory = 0, fork = 0;
    for (const CpuResult::Region& region : result.regions) {
        const CoreCounts& core = region.core;
        result.seconds += region.seconds;
        result.memory_bytes += core.memory_bytes * region.threads;
        result.folded += core.folded / region.hertz;
        result.bar += core.bar / region.hertz;
        result.simulated += core.simulated;
        result.instructions += core.instructions;
        arithmetic += core.arithmetic / config_.arithmetic_ports;
        vector += (core.vector + core.arithmetic) / config_.vector_ports;
        loads += core.loads / config_.load_ports;
        stores += core.stores / config_.store_ports;
        issue += core.issue / config_.issue;
        matrix += core.matrix;
        cycles += region.seconds * region.hertz;
        const unsigned sockets = std::min(config_.sockets, (region.threads + config_.cores - 1) / config_.cores);
        memory += core.memory_bytes * region.threads / (config_.memory_bandwidth * config_.memory_efficiency * std::max(1u, sockets));
        fork += region.seconds - core.cycles / region.hertz;
    }
    if (result.seconds > 0) {
        result.folded /= result.seconds;
        result.bar /= result.seconds;
        result.utilisation = {{"arithmetic", arithmetic / cycles}, {"vector", vector / cycles}, {"loads", loads / cycles},
                              {"stores", stores / cycles},         {"issue", issue / cycles},   {"memory", memory / result.seconds}};
        if (matrix > 0) result.utilisation["matrix"] = matrix / cycles;
        const auto busiest = std::max_element(result.utilisation.begin(), result.utilisation.end(),
                                              [](const auto& a, const auto& b) { return a.second < b.second; });
        result.bound_by = busiest->second > 0.5 ? busiest->first : fork > result.seconds / 2 ? "threads" : "latency";
    }
    return result;
}

}  // namespace heddle::models
