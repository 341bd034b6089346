#include "sim/run/tpu_options.h"

namespace heddle::sim {

lowering::TpuLoweringOptions lowering_options_of(const models::TpuConfig& config, bool step) {
    lowering::TpuLoweringOptions options;
    const models::TpuCompilerConfig& compiler = config.compiler;
    options.matmul_passes = compiler.fp32_passes;
    options.whole_operands = compiler.operands == models::TpuCompilerConfig::Operands::whole;
    options.operands_overlap = step;
    options.operand_window = compiler.operand_window;
    options.result_window = compiler.result_window;
    options.tile_rows = compiler.tile_rows;
    options.tile_columns = compiler.tile_columns;
    options.tile_depth = compiler.tile_depth;
    switch (compiler.loop_order) {
        case models::TpuCompilerConfig::LoopOrder::searched:
            options.loop_order = lowering::LoopOrder::searched;
            break;
        case models::TpuCompilerConfig::LoopOrder::rows:
            options.loop_order = lowering::LoopOrder::rows_outer;
            break;
        case models::TpuCompilerConfig::LoopOrder::columns:
            options.loop_order = lowering::LoopOrder::columns_outer;
            break;
    }
    options.hbm_bytes_per_cycle =
        config.hbm.bandwidth * config.hbm.efficiency / (config.clock_hertz * config.cores);
    options.hbm_latency_cycles = config.hbm.latency_cycles + config.dma.issue_cycles;
    options.int8_rows_per_cycle = config.matrix.int8_rows_per_cycle;
    options.weight_rows_per_cycle = config.matrix.weight_rows_per_cycle;
    return options;
}

}  // namespace heddle::sim
