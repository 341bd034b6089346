#include "models/tpu/vector_timing.h"

#include <algorithm>

namespace heddle::models {
namespace {

std::uint64_t divide_up(std::uint64_t a, std::uint64_t b) {
    return (a + b - 1) / b;
}

constexpr std::uint64_t kRegisterBytes = 4ull * tpu::kSublanes * tpu::kLanes;

}  // namespace

VectorTiming time_of(const tpu::Vector& vector, const VectorUnitConfig& config) {
    const std::uint64_t row_blocks = divide_up(vector.rows, tpu::kSublanes);
    const std::uint64_t column_blocks = divide_up(vector.columns, tpu::kLanes);
    const std::uint64_t registers = row_blocks * column_blocks;
    const tpu::VectorKernelWork work = work_of(*vector.kernel);

    const auto moved = [&](const tpu::VectorOperand& operand, bool one_row, bool one_column) {
        const std::uint64_t count = (one_row ? 1 : row_blocks) * (one_column ? 1 : column_blocks);
        return divide_up(count * kRegisterBytes * bytes_of(operand.type), 4);
    };
    std::uint64_t read = 0, written = 0;
    for (const tpu::VectorOperand& input : vector.inputs) {
        read += moved(input, input.row_stride == 0 && vector.rows > 1, input.broadcast_columns);
    }
    for (std::size_t i = 0; i < vector.outputs.size(); ++i) {
        const tpu::VectorOutput& output = vector.kernel->outputs[i];
        const std::uint64_t bytes =
            moved(vector.outputs[i], over_sublanes(output.reduction), over_lanes(output.reduction));
        written += bytes;
        if (output.accumulate) read += bytes;
    }
    const std::uint64_t arithmetic = registers * work.arithmetic;
    const std::uint64_t transcendental = registers * work.transcendental;
    std::uint64_t pace = divide_up(read, kRegisterBytes * config.load_slots);
    pace = std::max(pace, divide_up(written, kRegisterBytes * config.store_slots));
    pace = std::max(pace, divide_up(arithmetic, config.arithmetic_slots));
    pace = std::max(pace, divide_up(transcendental, config.transcendental_slots));
    pace *= config.cycles_per_register;
    const std::uint64_t crossing = row_blocks * work.lane_reductions * config.lane_reduction_cycles +
                                   column_blocks * work.sublane_reductions * config.sublane_reduction_cycles;
    VectorTiming timing;
    timing.cycles = config.startup_cycles + std::max<std::uint64_t>(1, std::max(pace, crossing));
    timing.rate = {divide_up(read, timing.cycles), divide_up(written, timing.cycles)};
    timing.operations = arithmetic + transcendental;
    return timing;
}

VectorTiming time_of(const tpu::Transpose& transpose, const VectorUnitConfig& config) {
    const std::uint64_t tiles =
        divide_up(transpose.rows, tpu::kSublanes) * divide_up(transpose.columns, tpu::kLanes);
    const std::uint64_t registers = divide_up(tiles * bytes_of(transpose.type), 4);
    VectorTiming timing;
    timing.cycles = config.startup_cycles + registers * config.transpose_cycles;
    const std::uint64_t bytes = registers * kRegisterBytes;
    timing.rate = {divide_up(bytes, timing.cycles), divide_up(bytes, timing.cycles)};
    timing.operations = registers;
    return timing;
}

}  // namespace heddle::models
