#include "sim/tpu/tpu_dump.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>

#include "isa/common/result_folder.h"
#include "isa/tpu/assembler.h"

namespace heddle::sim {
namespace {

/// Rows that a GPU's thread block multiplies by a weight tile before the next block fetches it again: the
/// largest tile of Heddle's Hopper GEMMs.
constexpr std::uint64_t kGpuTileRows = 128;
/// What the L2 cache of an H100 delivers, from which such fetches come: about 5.5 TB/s (RRZE gpu-benches).
constexpr double kGpuL2BytesPerSecond = 5.5e12;

std::uint64_t divide_up(std::uint64_t a, std::uint64_t b) {
    return (a + b - 1) / b;
}

/// Rows of a product, K x N weights (of all batches): of a convolution as im2col would have it.
struct Product {
    std::uint64_t batches = 1, rows = 1, depth = 0, columns = 0, weight_bytes = 0;
};

std::optional<Product> product_of(const trace::Trace& trace, const trace::Op& op) {
    Product product;
    const auto extent = [](std::int64_t value) { return static_cast<std::uint64_t>(value); };
    if (op.kind == trace::OpKind::matmul) {
        const trace::Tensor& b = trace.tensor(op.inputs.at(1));
        if (b.shape.size() < 2) return std::nullopt;
        const bool turned = op.get(keys::matmul.transpose_b) != 0;
        product.depth = extent(b.shape[b.shape.size() - (turned ? 1 : 2)]);
        product.columns = extent(b.shape[b.shape.size() - (turned ? 2 : 1)]);
        for (std::size_t axis = 0; axis + 2 < b.shape.size(); ++axis)
            product.batches *= extent(b.shape[axis]);
        const trace::Tensor& y = trace.tensor(op.outputs.at(0));
        product.rows = extent(y.elements()) / std::max<std::uint64_t>(1, product.batches * product.columns);
        product.weight_bytes = b.bytes();
        return product;
    }
    if (op.kind == trace::OpKind::convolution && op.get(keys::convolution.groups) == 1) {
        const trace::Tensor& w = trace.tensor(op.inputs.at(1));
        product.columns = extent(w.shape.at(0));
        product.depth = extent(w.elements()) / std::max<std::uint64_t>(1, product.columns);
        product.rows =
            extent(trace.tensor(op.outputs.at(0)).elements()) / std::max<std::uint64_t>(1, product.columns);
        product.weight_bytes = w.bytes();
        return product;
    }
    return std::nullopt;
}

}  // namespace

WeightUse weight_use(const trace::Trace& trace, const trace::Op& op, const tpu::Program& program,
                     const target::TpuTarget& target) {
    WeightUse use;
    const std::optional<Product> product = product_of(trace, op);
    if (!product) return use;
    use.tiles = product->batches * divide_up(product->depth, target.array_rows) *
                divide_up(product->columns, target.array_columns);
    use.weight_bytes = product->weight_bytes;
    use.gpu_fetches = divide_up(product->rows, kGpuTileRows);
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

std::string program_text(const trace::Trace& trace, const trace::Op& op, const lowering::LoweredOp& lowered,
                         const target::TpuTarget& target) {
    std::string text = fmt::format("# {} {}\n", trace::name_of(op.kind), op.name);
    for (const auto& [side, ids] : {std::pair{"in ", &op.inputs}, std::pair{"out", &op.outputs}}) {
        for (const trace::TensorId id : *ids) {
            const trace::Tensor& tensor = trace.tensor(id);
            text += fmt::format("# {} {} {}\n", side, trace::name_of(tensor.type),
                                fmt::join(tensor.shape, " x "));
        }
    }
    if (!lowered.schedule.empty()) text += "# " + lowered.schedule + "\n";
    const WeightUse use = weight_use(trace, op, lowered.program, target);
    if (use.tiles > 0) {
        text += fmt::format(
            "# weights: {} tiles of {} x {}, shifted into the arrays {} times ({:.2g} times each), each time "
            "for {:.0f} rows;\n# a GPU whose thread blocks take {} rows would fetch each weight {} times, "
            "{:.4g} MB "
            "in all instead of {:.4g} MB: {:.3g} us of an H100's L2 cache\n",
            use.tiles, target.array_rows, target.array_columns, use.pushes, use.loads(), use.rows_per_push(),
            kGpuTileRows, use.gpu_fetches, 1e-6 * static_cast<double>(use.weight_bytes * use.gpu_fetches),
            1e-6 * static_cast<double>(use.weight_bytes),
            1e6 * static_cast<double>(use.weight_bytes * use.gpu_fetches) / kGpuL2BytesPerSecond);
    }
    return text + tpu::disassemble(lowered.program);
}

void write_program(const std::string& directory, const std::string& name, const std::string& text) {
    ResultFolder folder(directory, "TPU programs", "--dump-program", ResultFolder::Use::shared);
    folder.check({name});
    folder.stage(name, text);
    folder.commit();
}

}  // namespace heddle::sim
