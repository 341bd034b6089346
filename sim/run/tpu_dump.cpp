#include "sim/run/tpu_dump.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <fstream>

#include "isa/common/error.h"
#include "isa/tpu/assembler.h"

namespace heddle::sim {
namespace {

/// Rows that a GPU's thread block multiplies by a weight tile before the next block fetches it again: the
/// largest tile of Heddle's Hopper GEMMs.
constexpr std::uint64_t kGpuTileRows = 128;

std::uint64_t divide_up(std::uint64_t a, std::uint64_t b) {
    return (a + b - 1) / b;
}

std::uint64_t rows_of(const trace::Trace& trace, const trace::Op& op) {
    const auto& shape = trace.tensor(op.outputs.at(0)).shape;
    std::int64_t rows = 1;
    for (std::size_t axis = 0; axis + 1 < shape.size(); ++axis) rows *= shape[axis];
    return static_cast<std::uint64_t>(rows);
}

}  // namespace

WeightUse weight_use(const trace::Trace& trace, const trace::Op& op, const tpu::Program& program,
                     const target::TpuTarget& target) {
    WeightUse use;
    if (op.kind != trace::OpKind::matmul) return use;
    const std::vector<std::int64_t>& b = trace.tensor(op.inputs.at(1)).shape;
    const bool turned = op.integer("transpose_b", 0) != 0;
    if (b.size() >= 2) {
        const auto k = static_cast<std::uint64_t>(b[b.size() - (turned ? 1 : 2)]);
        const auto n = static_cast<std::uint64_t>(b[b.size() - (turned ? 2 : 1)]);
        use.tiles = divide_up(k, target.array_rows) * divide_up(n, target.array_columns);
        for (std::size_t axis = 0; axis + 2 < b.size(); ++axis)
            use.tiles *= static_cast<std::uint64_t>(b[axis]);
    }
    for (const tpu::CoreProgram& core : program.cores) {
        for (tpu::ProgramCursor cursor(core); cursor.instruction() != nullptr; cursor.advance()) {
            const tpu::Operation& operation = cursor.instruction()->operation;
            if (std::holds_alternative<tpu::Halt>(operation)) break;
            if (std::holds_alternative<tpu::PushWeights>(operation)) ++use.pushes;
            if (const auto* matmul = std::get_if<tpu::Matmul>(&operation)) use.rows += matmul->rows;
        }
    }
    return use;
}

std::string program_text(const trace::Trace& trace, const trace::Op& op, const tpu::Program& program,
                         const target::TpuTarget& target) {
    std::string text = fmt::format("# {} {}\n", trace::name_of(op.kind), op.name);
    for (const auto& [side, ids] : {std::pair{"in ", &op.inputs}, std::pair{"out", &op.outputs}}) {
        for (const trace::TensorId id : *ids) {
            const trace::Tensor& tensor = trace.tensor(id);
            text += fmt::format("# {} {} {}\n", side, trace::name_of(tensor.type),
                                fmt::join(tensor.shape, " x "));
        }
    }
    const WeightUse use = weight_use(trace, op, program, target);
    if (use.tiles > 0) {
        text += fmt::format(
            "# weights: {} tiles of {} x {}, shifted into the arrays {} times ({:.2g} times each), each time "
            "for {:.0f} "
            "rows;\n# a GPU whose thread blocks take {} rows would fetch each weight {} times\n",
            use.tiles, target.array_rows, target.array_columns, use.pushes, use.loads(), use.rows_per_push(),
            kGpuTileRows, divide_up(rows_of(trace, op), kGpuTileRows));
    }
    return text + tpu::disassemble(program);
}

void write_program(const std::string& directory, const std::string& name, const std::string& text) {
    namespace fs = std::filesystem;
    std::error_code failure;
    fs::create_directories(directory, failure);
    const fs::path file = fs::path(directory) / name, aside = fs::path(directory) / (name + ".new");
    std::ofstream stream(aside, std::ios::binary);
    stream << text;
    stream.close();
    if (stream) fs::rename(aside, file, failure);
    if (!stream || failure)
        throw Error("cannot be written", {file.string(), 0, ""}, "is the folder writable?");
}

}  // namespace heddle::sim
