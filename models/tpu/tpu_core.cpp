#include "models/tpu/tpu_core.h"

#include <algorithm>

#include "isa/tpu/assembler.h"

namespace heddle::models {
namespace {

DmaConfig sparse_engine(const TpuConfig& config) {
    DmaConfig engine = config.dma;
    engine.outstanding = config.sparse.outstanding;
    engine.bytes_per_cycle = std::max(1u, config.sparse.rate(config.cores));
    return engine;
}

DmaEngine::RowCycles row_cycles_of(const TpuConfig& config) {
    return [sparse = config.sparse, cores = config.cores](std::uint64_t rows, std::uint64_t bytes,
                                                          unsigned passes) {
        return sparse.cycles(rows, bytes, passes, cores);
    };
}

}  // namespace

TpuCore::TpuCore(const sc_core::sc_module_name& name, ClockDomain& clock, const TpuConfig& config,
                 unsigned index)
    : sc_module(name),
      hbm("hbm"),
      common("common"),
      host("host"),
      sequencer("sequencer", clock, config.sequencer, config.sparse.cores > 0),
      vector_unit("vector_unit", clock, config.vector, config.sequencer.queue_depth),
      transpose_unit("transpose_unit", clock, config.vector, config.sequencer.queue_depth),
      dma("dma", clock, config.dma, config.hbm.access_bytes, config.sequencer.queue_depth,
          kMemoryQueues * index),
      sparse_cores("sparse_cores", clock, sparse_engine(config), config.hbm.access_bytes,
                   config.sequencer.queue_depth, kMemoryQueues * index + 2, row_cycles_of(config)),
      flags("flags", config.sequencer.sync_flags, config.sequencer.remote_signal_cycles),
      memory("memory", {config.vmem.read_bytes_per_cycle, config.vmem.write_bytes_per_cycle}) {
    for (unsigned unit = 0; unit < config.matrix.per_core; ++unit) {
        const std::string unit_name = "matrix_unit_" + std::to_string(unit);
        matrix_units.push_back(std::make_unique<MatrixUnit>(unit_name.c_str(), clock, config.matrix,
                                                            config.sequencer.queue_depth));
        matrix_units.back()->flags(flags);
        matrix_units.back()->memory(memory);
        sequencer.matrix(matrix_units.back()->instructions);
    }
    sequencer.flags(flags);
    sequencer.dma(dma.instructions);
    sequencer.sparse_cores(sparse_cores.instructions);
    sequencer.vector(vector_unit.instructions);
    sequencer.transpose(transpose_unit.instructions);
    for (VectorUnit* const unit : {&vector_unit, &transpose_unit}) {
        unit->flags(flags);
        unit->memory(memory);
    }
    for (DmaEngine* const engine : {&dma, &sparse_cores}) {
        engine->flags(flags);
        engine->memory(memory);
        engine->hbm(hbm);
        engine->common(common);
        engine->host(host);
    }
}

void TpuCore::reset() {
    sequencer.reset();
    for (const auto& unit : matrix_units) unit->reset();
    vector_unit.reset();
    transpose_unit.reset();
    dma.reset();
    sparse_cores.reset();
    flags.reset();
    memory.reset();
}

void TpuCore::set_values(tpu::CoreState* state, tpu::Memory* hbm_values) {
    for (const auto& unit : matrix_units) unit->set_values(state, hbm_values);
    vector_unit.set_values(state, hbm_values);
    transpose_unit.set_values(state, hbm_values);
    dma.set_values(state, hbm_values);
    sparse_cores.set_values(state, hbm_values);
}

void TpuCore::set_observer(UnitObserver* observer) {
    for (const auto& unit : matrix_units) unit->set_observer(observer);
    vector_unit.set_observer(observer);
    transpose_unit.set_observer(observer);
    dma.set_observer(observer);
    sparse_cores.set_observer(observer);
}

bool TpuCore::is_done() const {
    return sequencer.halted() && vector_unit.is_idle() && transpose_unit.is_idle() && dma.is_idle() &&
           sparse_cores.is_idle() &&
           std::all_of(matrix_units.begin(), matrix_units.end(),
                       [](const auto& unit) { return unit->is_idle(); });
}

void TpuCore::close_accounts(Cycle cycles) {
    sequencer.close_accounts(cycles);
    vector_unit.close_accounts(cycles);
    transpose_unit.close_accounts(cycles);
    dma.close_accounts(cycles);
    sparse_cores.close_accounts(cycles);
    for (const auto& unit : matrix_units) unit->close_accounts(cycles);
}

Cycle TpuCore::last_cycle() {
    Cycle last = std::max({sequencer.statistics().last_cycle, vector_unit.statistics().last_cycle,
                           transpose_unit.statistics().last_cycle, dma.statistics().last_cycle,
                           sparse_cores.statistics().last_cycle});
    for (const auto& unit : matrix_units) last = std::max(last, unit->statistics().last_cycle);
    return last;
}

std::string TpuCore::describe_waiting() const {
    std::string text;
    const auto line = [&](const std::string& what) { text += "\n  " + std::string(name()) + ": " + what; };
    if (const tpu::Instruction* const next = sequencer.waiting(); next != nullptr) {
        line(std::string("the sequencer has not issued ") + tpu::mnemonic(next->operation) +
             (next->line > 0 ? " of line " + std::to_string(next->line) : std::string()));
    }
    const auto unit = [&](const char* unit_name, const InstructionSink& sink) {
        if (sink.is_idle()) return;
        bool named = false;
        for (const tpu::Instruction* const waiting : sink.waiting()) {
            if (waiting == nullptr) continue;
            named = true;
            std::string needs;
            for (const tpu::FlagWait& wait : waiting->waits)
                needs += (needs.empty() ? "; it needs flag " : ", ") + std::to_string(wait.flag) +
                         " >= " + std::to_string(wait.count);
            line(std::string(unit_name) + " has not begun" +
                 (waiting->line > 0 ? " line " + std::to_string(waiting->line) + ":" : std::string()) + " " +
                 tpu::disassemble(*waiting) + needs);
        }
        if (!named) line(std::string(unit_name) + " is not through");
    };
    for (const auto& matrix : matrix_units) unit(matrix->basename(), *matrix);
    unit("the vector unit", vector_unit);
    unit("the transpose unit", transpose_unit);
    unit("the DMA engine", dma);
    unit("the SparseCores", sparse_cores);
    return text;
}

}  // namespace heddle::models
