#include "sim/area/die_area.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "isa/target/generation.h"
#include "sim/area/technology.h"

namespace heddle::sim {
namespace {

constexpr double kSquareMillimetre = 1e6;  // um2
constexpr unsigned kWarpLanes = 32;

/// mm2 of arithmetic that takes `um2` in 45 nm, with the registers and wires of its datapath.
double datapath(double um2, const ProcessNode& node) {
    return um2 / kSquareMillimetre * silicon().from_45nm * node.logic * silicon().datapath;
}

double sram(double bytes, double factor, const ProcessNode& node) {
    return bytes * 8 * node.sram_bit / kSquareMillimetre * factor;
}

double memory_interfaces(MemoryInterface kind, double count) {
    return count * (kind == MemoryInterface::hbm ? silicon().hbm_interface : silicon().gddr_interface);
}

const char* memory_unit(MemoryInterface kind) {
    constexpr const char* names[] = {"stacks of HBM", "chips of GDDR", "channels of DDR"};
    return names[static_cast<std::size_t>(kind)];
}

std::string memory_name(MemoryInterface kind, double count) {
    return fmt::format("{:g} {}", count, memory_unit(kind));
}

/// What was built so that `used` could be enabled. Stacks and SMs are whole.
double built(double used, double enabled, bool whole = true) {
    return whole ? std::round(used / enabled) : used / enabled;
}

double lanes(const models::gpu::OperationConfig& operation) {
    return models::gpu::kSubCores * kWarpLanes / operation.issue_interval();
}

/// Notes what is switched off, and of a part the share that goes with it.
void add_spare(DieArea& area, const SpareUnits& units, const std::vector<std::string>& parts) {
    if (units.built <= units.enabled) return;
    area.spare_units.push_back(units);
    const double off = 1 - units.enabled / units.built;
    for (AreaPart& part : area.parts)
        if (std::find(parts.begin(), parts.end(), part.name) != parts.end()) part.spare += off * part.mm2;
}

}  // namespace

double DieArea::total() const {
    double sum = 0;
    for (const AreaPart& part : parts) sum += part.mm2;
    return sum;
}

double DieArea::spare() const {
    double sum = 0;
    for (const AreaPart& part : parts) sum += part.spare;
    return sum;
}

double DieArea::of(const std::string& name) const {
    for (const AreaPart& part : parts)
        if (part.name == name) return part.mm2;
    return 0;
}

GpuDie die_of(const models::gpu::GpuConfig& config, const DieConfig& die) {
    using ptx::Operation;
    GpuDie built_die;
    built_die.process = die.process;
    built_die.sms = built(config.sm.count, die.sms_enabled);
    built_die.fp32 = lanes(config.pipelines[Operation::fp32]);
    built_die.integer = lanes(config.pipelines[Operation::integer]);
    built_die.fp64 = lanes(config.pipelines[Operation::fp64]);
    built_die.special = lanes(config.pipelines[Operation::special]);
    built_die.tensor_f16 = config.tensor.f16;
    built_die.tensor_f64 = config.tensor.f64 > built_die.fp64 ? config.tensor.f64 : 0;
    built_die.registers_bytes = 4.0 * config.sm.registers;
    built_die.l1_bytes = static_cast<double>(config.l1.unified_bytes);
    built_die.instruction_bytes = static_cast<double>(
        models::gpu::kSubCores * config.instruction_cache.l0_bytes + config.instruction_cache.l1_bytes);
    // 512 columns of 128 lanes of 4 bytes (PTX ISA, tensor memory).
    const target::Generation* generation = target::find_generation(config.compute_capability);
    if (generation != nullptr && generation->has_tcgen05) built_die.tensor_memory_bytes = 512 * 128 * 4;
    built_die.dies = die.dies;
    built_die.l2_bytes = built(static_cast<double>(config.l2.bytes), die.l2_enabled, false);
    built_die.memory = die.memory;
    built_die.stacks = built(die.stacks, die.stacks_enabled);
    built_die.links = die.links;
    built_die.graphics = die.graphics != 0;
    return built_die;
}

DieArea area_of(const GpuDie& die) {
    const ProcessNode& node = node_of(die.process);
    const Silicon& s = silicon();
    const double kib = 1024, mib = kib * kib;
    DieArea area;
    area.parts = {
        {"datapath",
         die.sms * datapath((die.fp32 + die.special) * s.multiply_add_32 + die.integer * s.integer_32 +
                                die.fp64 * s.multiply_add_64,
                            node),
         fmt::format("{:g} SMs of {:g} fp32, {:g} integer, {:g} fp64 and {:g} special lanes", die.sms,
                     die.fp32, die.integer, die.fp64, die.special)},
        {"tensor",
         die.sms * datapath(die.tensor_f16 * s.multiply_add_16 + die.tensor_f64 * s.multiply_add_64, node),
         fmt::format("{:g} SMs of {:g} fp16 and {:g} fp64 multiply-accumulates per cycle", die.sms,
                     die.tensor_f16, die.tensor_f64)},
        {"sub_cores", die.sms * models::gpu::kSubCores * s.sub_core * node.logic,
         fmt::format("{:g} quarters of SMs: scheduling, dispatch, load-store, what is counted nowhere else",
                     die.sms * models::gpu::kSubCores)},
        {"registers", die.sms * sram(die.registers_bytes, s.sm_sram, node),
         fmt::format("{:g} KiB", die.sms * die.registers_bytes / kib)},
        {"l1", die.sms * sram(die.l1_bytes, s.sm_sram, node),
         fmt::format("{:g} KiB of L1 and shared memory", die.sms * die.l1_bytes / kib)},
        {"instructions", die.sms * sram(die.instruction_bytes, s.sm_sram, node),
         fmt::format("{:g} KiB of instruction caches", die.sms * die.instruction_bytes / kib)},
        {"tensor_memory", die.sms * sram(die.tensor_memory_bytes, s.sm_sram, node),
         fmt::format("{:g} KiB", die.sms * die.tensor_memory_bytes / kib)},
        {"l2", sram(die.l2_bytes, s.l2_sram, node), fmt::format("{:.4g} MiB", die.l2_bytes / mib)},
        {"memory", memory_interfaces(die.memory, die.stacks), memory_name(die.memory, die.stacks)},
        {"links", die.links * s.link, fmt::format("{:g} links", die.links)},
        {"graphics", die.graphics ? (die.sms * s.graphics + s.graphics_uncore) * node.logic : 0,
         "ray tracing, raster, texture, display, video"},
        {"uncore", die.dies * s.uncore * node.logic,
         die.dies == 1 ? "front end, copy engines, PCIe, rim"
                       : fmt::format("front end, copy engines, PCIe, rim of {} dies", die.dies)},
    };
    std::erase_if(area.parts, [](const AreaPart& part) { return part.mm2 == 0; });
    return area;
}

DieArea die_area(const models::gpu::GpuConfig& config, const DieConfig& die) {
    const GpuDie built_die = die_of(config, die);
    DieArea area = area_of(built_die);
    constexpr double mib = 1 << 20;
    add_spare(area, {"SMs", built_die.sms, static_cast<double>(config.sm.count), "die.sms_enabled"},
              {"datapath", "tensor", "sub_cores", "registers", "l1", "instructions", "tensor_memory",
               "graphics"});
    add_spare(
        area,
        {"MiB of L2", built_die.l2_bytes / mib, static_cast<double>(config.l2.bytes) / mib, "die.l2_enabled"},
        {"l2"});
    add_spare(
        area,
        {memory_unit(die.memory), built_die.stacks, static_cast<double>(die.stacks), "die.stacks_enabled"},
        {"memory"});
    return area;
}

DieArea die_area(const models::TpuConfig& config, const DieConfig& die) {
    const ProcessNode& node = node_of(die.process);
    const Silicon& s = silicon();
    const double cores = config.cores;
    const double cells = cores * config.matrix.per_core * config.matrix.rows * config.matrix.columns;
    // The first TPU multiplies integers and nothing else: it is the only one in so old a process.
    const bool integers = die.process == Process::nm28;
    const double lanes = cores * 8 * 128 * config.vector.arithmetic_slots / config.vector.cycles_per_register;
    const double sparse_lanes =
        static_cast<double>(config.sparse.cores) * config.sparse.tiles * config.sparse.words_per_cycle;
    const double stacks = built(die.stacks, die.stacks_enabled);
    const double accumulators =
        4.0 * cores * config.matrix.per_core * config.matrix.accumulator_rows * config.matrix.columns;
    DieArea area;
    area.parts = {
        {"matrix",
         cells *
             (datapath(integers ? s.multiply_add_8 : s.multiply_add_bf16, node) + s.tpu_cell * node.logic),
         fmt::format("{:g} cells of {}", cells, integers ? "8-bit integers" : "bf16 into fp32")},
        {"vector", lanes * datapath(s.multiply_add_32 + s.integer_32, node),
         fmt::format("{:g} lanes", lanes)},
        {"vmem", sram(cores * static_cast<double>(config.vmem.bytes), s.tpu_sram, node),
         fmt::format("{:g} MiB", cores * static_cast<double>(config.vmem.bytes) / (1 << 20))},
        {"accumulators", sram(accumulators, s.tpu_sram, node),
         fmt::format("{:g} MiB", accumulators / (1 << 20))},
        {"cmem", sram(static_cast<double>(config.cmem.bytes), s.tpu_sram, node),
         fmt::format("{:g} MiB", static_cast<double>(config.cmem.bytes) / (1 << 20))},
        {"sparse", sparse_lanes * datapath(s.multiply_add_32 + s.integer_32, node),
         fmt::format("{:g} lanes of SparseCores, without their memory, which is unpublished", sparse_lanes)},
        {"memory", memory_interfaces(die.memory, stacks), memory_name(die.memory, stacks)},
        {"links", config.links.count * s.link, fmt::format("{} links", config.links.count)},
        {"uncore", s.tpu_uncore * node.logic, "control, DMA, host interface, rim"},
    };
    std::erase_if(area.parts, [](const AreaPart& part) { return part.mm2 == 0; });
    add_spare(area, {memory_unit(die.memory), stacks, static_cast<double>(die.stacks), "die.stacks_enabled"},
              {"memory"});
    return area;
}

}  // namespace heddle::sim
