#include "models/tpu/tpu.h"

#include <algorithm>
#include <utility>

#include "isa/common/activity.h"
#include "isa/common/error.h"
#include "isa/tpu/assembler.h"

namespace heddle::models {
namespace {

TpuConfig checked(const TpuConfig& config) {
    config.check();
    return config;
}

void refuse_common_memory(const tpu::Program& program) {
    for (const tpu::CoreProgram& core : program.cores) {
        for (const tpu::Instruction& instruction : core.instructions) {
            const auto* dma = std::get_if<tpu::Dma>(&instruction.operation);
            if (dma == nullptr || dma->hbm.base < static_cast<std::int64_t>(tpu::kCommonMemoryBase)) continue;
            throw Error("`" + tpu::disassemble(instruction) + "` names CMEM, which this chip does not have",
                        {"", instruction.line, "cmem.size"}, "use an address in HBM, below 2^44");
        }
    }
}

}  // namespace

/// Turns what units tell into a list of events.
class Tpu::Recorder : public UnitObserver {
  public:
    explicit Recorder(std::vector<TpuEvent>& events) : events_(events) {}
    void finished(const Block& unit, const IssuedInstruction& issued, Cycle begin, Cycle end) override {
        events_.push_back({unit.name(), tpu::mnemonic(issued.instruction->operation),
                           issued.instruction->line, begin, end});
    }

  private:
    std::vector<TpuEvent>& events_;
};

Tpu::Tpu(const sc_core::sc_module_name& name, const TpuConfig& config)
    : sc_module(name),
      links("links", config.links.count),
      config_(checked(config)),
      limits_(limits_of(config)),
      clock_("clock", config.clock_hertz),
      hbm_("hbm", clock_, config.hbm, TpuCore::kMemoryQueues * config.cores),
      common_("common", clock_, common_memory_of(config), TpuCore::kMemoryQueues * config.cores),
      host_("host", clock_, host_memory_of(config), TpuCore::kMemoryQueues * config.cores) {
    std::vector<SyncFlags*> flags;
    for (unsigned index = 0; index < config.cores; ++index) {
        const std::string core_name = "core_" + std::to_string(index);
        cores_.push_back(std::make_unique<TpuCore>(core_name.c_str(), clock_, config_, index));
        cores_.back()->hbm(hbm_.requests);
        cores_.back()->common(common_.requests);
        cores_.back()->host(host_.requests);
        flags.push_back(&cores_.back()->flags);
    }
    for (const auto& core : cores_) core->flags.connect(flags);
}

TpuResult Tpu::run(const tpu::Program& program, tpu::Memory& memory, const TpuRunOptions& options) {
    validate(program, limits_);
    if (config_.cmem.bytes == 0) refuse_common_memory(program);
    clock_.restart();
    clock_.set_tick_every_cycle(options.tick_every_cycle);
    hbm_.reset();
    common_.reset();
    host_.reset();
    TpuResult result;
    Recorder recorder(result.events);
    const bool functional = options.mode == TpuMode::functional;
    for (std::size_t index = 0; index < cores_.size(); ++index) {
        TpuCore& core = *cores_[index];
        core.reset();
        if (functional) {
            if (values_.size() <= index) {
                values_.push_back(std::make_unique<tpu::CoreState>(limits_));
            } else {
                values_[index]->reset();
            }
        }
        core.set_values(functional ? values_[index].get() : nullptr, &memory);
        core.set_observer(options.record_events ? &recorder : nullptr);
        core.flags.name_signallers(index < program.cores.size() ? &program.cores[index] : nullptr);
        core.sequencer.start(index < program.cores.size() ? &program.cores[index] : nullptr);
    }
    set_probes(options.signals);
    if (options.signals != nullptr) options.signals->begin(clock_.hertz(), 0, "program " + program.name);
    const std::uint64_t before = clock_.activations();
    const Doing doing("program " + program.name);
    advance(options.limit, options.signals);
    activations_ = clock_.activations() - before;

    std::string waiting;
    Cycle last = 0;
    for (const auto& core : cores_) {
        if (!core->is_done()) waiting += core->describe_waiting();
        last = std::max(last, core->last_cycle());
    }
    if (!waiting.empty()) throw Error("program " + program.name + " is deadlocked; not done are:" + waiting);
    result.cycles = last + 1;
    result.seconds = static_cast<double>(result.cycles) / config_.clock_hertz;
    result.hbm = hbm_.statistics();
    for (const auto& core : cores_) {
        core->close_accounts(result.cycles);
        TpuCoreResult part;
        part.sequencer = core->sequencer.statistics();
        for (const auto& unit : core->matrix_units) part.matrix.push_back(unit->statistics());
        part.vector = core->vector_unit.statistics();
        part.transposes = core->transpose_unit.statistics();
        part.dma = core->dma.statistics();
        part.sparse_cores = core->sparse_cores.statistics();
        result.cores.push_back(std::move(part));
    }
    summarise(result);
    if (options.signals != nullptr) options.signals->end(result.cycles);
    return result;
}

void Tpu::set_probes(SignalTrace* signals) {
    if (signals == nullptr && !std::exchange(watched_, false)) return;
    watched_ = signals != nullptr;
    const auto set = [&](Block& block, const std::string& path) {
        block.set_probe(watched_ ? signals->watch(std::string(basename()) + "." + path, block.signals())
                                 : nullptr);
    };
    for (std::size_t i = 0; i < cores_.size(); ++i) {
        TpuCore& core = *cores_[i];
        const std::string path = "core" + std::to_string(i) + ".";
        set(core.sequencer, path + "sequencer");
        for (std::size_t unit = 0; unit < core.matrix_units.size(); ++unit)
            set(*core.matrix_units[unit], path + "matrix_unit" + std::to_string(unit));
        set(core.vector_unit, path + "vector_unit");
        set(core.transpose_unit, path + "transpose_unit");
        set(core.dma, path + "dma");
        if (config_.sparse.cores > 0) set(core.sparse_cores, path + "sparse_cores");
    }
    set(hbm_, "hbm");
    if (config_.cmem.bytes > 0) set(common_, "cmem");
    set(host_, "host");
}

void Tpu::advance(Cycle limit, SignalTrace* signals) {
    const auto pause = [&] { return signals != nullptr ? signals->next_flush() : kNever; };
    for (clock_.run(limit, pause()); clock_.paused(); clock_.run(limit, pause()))
        signals->flush(signals->next_flush());
}

void Tpu::summarise(TpuResult& result) const {
    std::uint64_t streamed = 0, vector = 0;
    for (const TpuCoreResult& core : result.cores) {
        result.instructions += core.sequencer.instructions;
        for (const MatrixUnitStatistics& unit : core.matrix) {
            result.macs += unit.macs;
            streamed += unit.rows_streamed;
        }
        vector += core.vector.times[static_cast<std::size_t>(UnitState::working)];
        result.host_bytes += core.dma.host_bytes;
        for (const DmaStatistics* const engine : {&core.dma, &core.sparse_cores}) {
            result.bytes_loaded += engine->bytes_loaded;
            result.bytes_stored += engine->bytes_stored;
        }
    }
    const auto cycles = static_cast<double>(result.cycles);
    const double units = static_cast<double>(config_.cores) * config_.matrix.per_core;
    const double cells = units * config_.matrix.rows * config_.matrix.columns;
    result.matrix_busy = static_cast<double>(streamed) / (cycles * units);
    result.vector_busy = static_cast<double>(vector) / (cycles * config_.cores);
    result.hbm_busy = result.hbm.busy_cycles / cycles;
    result.mac_utilisation = static_cast<double>(result.macs) / (cycles * cells);
    for (const TpuCoreResult& core : result.cores)
        for (const MatrixUnitStatistics& unit : core.matrix) result.where.add(unit);
    result.where.divide(cycles * units);
    const double most = std::max({result.matrix_busy, result.vector_busy, result.hbm_busy});
    if (most < 0.5) {
        result.bound_by = "latency";
    } else if (most == result.matrix_busy) {
        result.bound_by = "matrix unit";
    } else {
        result.bound_by = most == result.hbm_busy ? "HBM" : "vector unit";
    }
}

}  // namespace heddle::models
