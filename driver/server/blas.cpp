#include "driver/server/blas.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "isa/common/error.h"
#include "workloads/expression/expression.h"
#include "workloads/kernels/strided.h"
#include "workloads/lowering/gpu/builder.h"
#include "workloads/lowering/gpu/product.h"

namespace heddle::driver {
namespace {

using kernels::KernelArgument;

constexpr std::uint32_t kMostBatch = 65535;     // of a grid
constexpr std::uint64_t kBufferAlignment = 256;  // of the buffers that the library's kernels expect

kernels::ElementType element_of(Number number) {
    switch (number) {
        case Number::f64:
            return kernels::ElementType::f64;
        case Number::f32:
            return kernels::ElementType::f32;
        case Number::f16:
            return kernels::ElementType::f16;
        case Number::bf16:
            return kernels::ElementType::bf16;
        case Number::e4m3:
            return kernels::ElementType::e4m3;
        case Number::e5m2:
            return kernels::ElementType::e5m2;
        case Number::i64:
            return kernels::ElementType::i64;
        case Number::i32:
            return kernels::ElementType::i32;
        case Number::i8:
            return kernels::ElementType::i8;
        case Number::u8:
            return kernels::ElementType::u8;
    }
    throw Error("a BLAS call names a type of numbers that does not exist");
}

/// Collects launches over memory that the program has.
class WorkBuilder {
  public:
    explicit WorkBuilder(const target::GpuTarget& target) : builder_(no_trace(), target) {}

    lowering::GpuProgramBuilder& builder() { return builder_; }
    std::size_t main_launch = 0;  ///< BlasWork::main_launch
    /// A pointer to memory of the program. Buffers begin at multiples of kBufferAlignment.
    KernelArgument pointer(const char* parameter, std::uint64_t address) {
        const program::BufferId buffer = builder_.add_buffer(fmt::format("memory {}", addresses_.size()), kBufferAlignment);
        addresses_.resize(buffer + 1);
        addresses_[buffer] = address / kBufferAlignment * kBufferAlignment;
        return kernels::pointer_argument(parameter, buffer, address % kBufferAlignment);
    }
    BlasWork finish(std::string label, std::string kind, double flops) {
        BlasWork work;
        work.program = builder_.take_program();
        work.addresses = std::move(addresses_);
        work.addresses.resize(work.program.buffers.size());
        work.label = std::move(label);
        work.kind = std::move(kind);
        work.flops = flops;
        work.main_launch = main_launch;
        return work;
    }

  private:
    static const trace::Trace& no_trace() {
        static const trace::Trace empty;
        return empty;
    }
    lowering::GpuProgramBuilder builder_;
    std::vector<std::uint64_t> addresses_;
};

double value_of(const Factor& factor, const ReadNumber& read) {
    return factor.address == 0 ? factor.value : read(factor.address, factor.type);
}

std::uint32_t leading_of(const ProductOperand& operand, const char* name) {
    if (operand.leading <= 0 || operand.leading > std::numeric_limits<std::int32_t>::max())
        throw Error(fmt::format("the leading dimension of {} is {}", name, operand.leading), {}, "1 to 2147483647");
    return static_cast<std::uint32_t>(operand.leading);
}

std::uint64_t stride_of(const ProductOperand& operand, std::uint32_t batch, const char* name) {
    if (batch == 1) return 0;
    if (operand.stride < 0) throw Error(fmt::format("no kernel for a batch whose {} goes backwards", name));
    return static_cast<std::uint64_t>(operand.stride);
}

/// A scalar of an expression, and its value.
struct Scalars {
    std::vector<double> values;
    std::string add(double value) {
        values.push_back(value);
        return "s" + std::to_string(values.size() - 1);
    }
    std::vector<KernelArgument> arguments(bool f64) const {
        std::vector<KernelArgument> result;
        for (std::size_t i = 0; i < values.size(); ++i) {
            const std::string name = "s" + std::to_string(i);
            result.push_back(f64 ? kernels::f64_argument(name, values[i])
                                 : kernels::f32_argument(name, static_cast<float>(values[i])));
        }
        return result;
    }
};

/// sqrt(2 / pi) and the factor of the cube in GELU by tanh (Hendrycks and Gimpel, arXiv 1606.08415), which cublasLt computes.
constexpr const char* kGeluArgument = "t1 = 0.7978845608028654 * (t0 + 0.044715 * t0 * t0 * t0)";

/// The text of an epilogue: x0 the sum, x1 the bias, x2 the matrix C (or, for a gradient, what the activation was given).
std::string epilogue_text(const ProductRequest& r, double alpha, double beta, double scale_d, Scalars& scalars) {
    std::string text = "t0 = x0";
    if (alpha != 1) text = "t0 = " + scalars.add(alpha) + " * x0";
    if (beta == 1) text += " + x2";
    if (beta != 0 && beta != 1) text += " + " + scalars.add(beta) + " * x2";
    if (r.bias != 0) text += " + x1";
    text += "; ";
    std::string result = "t0";
    switch (r.activation) {
        case Activation::none:
            break;
        case Activation::relu:
            result = "max(t0, 0)";
            break;
        case Activation::gelu:
            text += std::string(kGeluArgument) + "; ";
            result = "0.5 * t0 * (1 + tanh(t1))";
            break;
        case Activation::gelu_gradient:
            // d/dx of 0.5 x (1 + tanh u(x)) at x2, times the sum.
            text += "t2 = tanh(0.7978845608028654 * (x2 + 0.044715 * x2 * x2 * x2)); ";
            result = "t0 * (0.5 * (1 + t2) + 0.5 * x2 * (1 - t2 * t2) * 0.7978845608028654 * (1 + 0.134145 * x2 * x2))";
            break;
    }
    text += "y0 = " + result;
    if (scale_d != 1) text = text.substr(0, text.size() - result.size()) + scalars.add(scale_d) + " * (" + result + ")";
    if (r.auxiliary.address != 0 && r.activation != Activation::gelu_gradient) text += "; y1 = t0";
    return text;
}

std::vector<KernelArgument> operand_arguments(WorkBuilder& work, const std::string& name, const StridedOperand& operand, const char* first,
                                              const char* second) {
    const auto bytes = static_cast<std::int64_t>(kernels::bytes_of(element_of(operand.type)));
    const auto distance = [&](const std::string& suffix, std::int64_t elements) {
        return kernels::integer_argument(name + suffix, static_cast<std::uint64_t>(elements * bytes));
    };
    std::vector<KernelArgument> arguments{work.pointer(name.c_str(), operand.address), distance("_batch", operand.batch)};
    if (first != nullptr) arguments.push_back(distance(first, operand.row));
    if (second != nullptr) arguments.push_back(distance(second, operand.column));
    return arguments;
}

void append(std::vector<KernelArgument>& to, std::vector<KernelArgument> from) {
    to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

void launch_map(WorkBuilder& work, const MapRequest& r, const std::string& expression, const Scalars& scalars) {
    kernels::StridedMapSpec spec;
    spec.compute_capability = work.builder().compute_capability();
    spec.expression = expression::parse(expression);
    spec.part = static_cast<kernels::MatrixPart>(r.part);
    spec.vector = r.columns == 1 && r.part == Part::all;
    std::vector<KernelArgument> arguments{kernels::integer_argument("rows", r.rows), kernels::integer_argument("columns", r.columns)};
    for (unsigned i = 0; i < r.outputs; ++i) {
        spec.outputs.push_back(element_of(r.output[i].type));
        append(arguments, operand_arguments(work, "y" + std::to_string(i), r.output[i], "_row", "_column"));
    }
    for (unsigned i = 0; i < r.inputs; ++i) {
        spec.inputs.push_back(element_of(r.input[i].type));
        append(arguments, operand_arguments(work, "x" + std::to_string(i), r.input[i], "_row", "_column"));
    }
    append(arguments, scalars.arguments(kernels::strided_compute_type(spec.inputs, spec.outputs) == kernels::ComputeType::f64));
    work.builder().launch(kernels::generate_strided_map(spec), kernels::strided_map_grid(spec, r.rows, r.columns, r.batch), arguments);
}

/// Row-major, D^T = op(B)^T op(A)^T: the columns of BLAS are rows.
lowering::GpuProduct product_of(WorkBuilder& work, const ProductRequest& r) {
    lowering::GpuProduct p;
    p.type_a = element_of(r.b.type);
    p.type_b = element_of(r.a.type);
    p.tf32 = r.tf32 != 0;
    p.m = r.n;
    p.n = r.m;
    p.k = r.k;
    p.batch = r.batch;
    p.transpose_a = r.b.transposed != 0;
    p.transpose_b = r.a.transposed != 0;
    p.lda = leading_of(r.b, "B");
    p.ldb = leading_of(r.a, "A");
    p.ldd = leading_of(r.d, "D");
    p.stride_a = stride_of(r.b, r.batch, "B");
    p.stride_b = stride_of(r.a, r.batch, "A");
    p.stride_d = stride_of(r.d, r.batch, "D");
    p.a = work.pointer("a", r.b.address);
    p.b = work.pointer("b", r.a.address);
    p.d = work.pointer("d", r.d.address);
    p.epilogue.output = element_of(r.d.type);
    return p;
}

void launch(WorkBuilder& work, lowering::GpuProduct& p) {
    lowering::check_types(p);
    lowering::transpose_for_tensor_cores(work.builder(), p);
    const kernels::GemmAlignment alignment = lowering::alignment_of(p);
    const kernels::GemmShape shape{p.m, p.n, p.k, p.batch, p.tf32};
    work.main_launch = work.builder().launches();
    lowering::launch_product(work.builder(), p, alignment, kernels::choose_gemm(shape, p.type_a, work.builder().target(), alignment));
}

/// D = beta C, where nothing is multiplied.
void launch_scaled_c(WorkBuilder& work, const ProductRequest& r, double beta) {
    MapRequest map;
    map.rows = r.m;
    map.columns = r.n;
    map.batch = r.batch;
    map.outputs = 1;
    map.inputs = beta == 0 ? 0 : 1;
    map.output[0] = {r.d.address, 1, r.d.leading, r.d.stride, r.d.type};
    map.input[0] = {r.c.address, 1, r.c.leading, r.c.stride, r.c.type};
    Scalars scalars;
    const std::string text = beta == 0 ? "y0 = 0" : "y0 = " + scalars.add(beta) + " * x0";
    launch_map(work, map, text, scalars);
}

/// Sums of integers have no epilogue: they go to a workspace first, unless D is what is asked for.
void launch_integers(WorkBuilder& work, const ProductRequest& r, double alpha, double beta) {
    lowering::GpuProduct p = product_of(work, r);
    const bool plain = alpha == 1 && beta == 0 && r.d.type == Number::i32;
    p.epilogue.output = kernels::ElementType::i32;
    if (plain) return launch(work, p);
    throw Error("no kernel for products of 8-bit integers with alpha other than 1, beta other than 0 or a result other than of 32 bits");
}

BlasWork lower_one_product(const BlasHeader& header, const ProductRequest& r, const target::GpuTarget& target, const ReadNumber& read) {
    WorkBuilder work(target);
    const double alpha = value_of(r.alpha, read) * value_of(r.scale_a, read) * value_of(r.scale_b, read);
    const double beta = value_of(r.beta, read), scale_d = value_of(r.scale_d, read);
    std::string label = fmt::format("{} {}x{}x{}", header.name, r.m, r.n, r.k);
    if (r.batch > 1) label += fmt::format(" batch {}", r.batch);
    const double flops = 2.0 * r.m * r.n * r.k * r.batch;
    const bool plain = r.activation == Activation::none && r.bias == 0 && r.auxiliary.address == 0;
    if (plain && (alpha == 0 || r.k == 0)) {
        launch_scaled_c(work, r, beta);
        return work.finish(std::move(label), "elementwise", 0);
    }
    if (r.k == 0) throw Error("no kernel for a product of nothing with an epilogue");
    if (r.a.type == Number::i8) {
        launch_integers(work, r, alpha, beta);
        return work.finish(std::move(label), "matmul", flops);
    }
    lowering::GpuProduct p = product_of(work, r);
    if (!plain || alpha != 1 || beta != 0 || scale_d != 1) {
        Scalars scalars;
        const bool gradient = r.activation == Activation::gelu_gradient;
        if (gradient && beta != 0) throw Error("no kernel for a product with the gradient of GELU and with beta");
        p.epilogue.expression = expression::parse(epilogue_text(r, alpha, beta, scale_d, scalars));
        p.epilogue.expression->input_count = kernels::GemmEpilogue::kFirstFactor + kernels::GemmEpilogue::kFactors;
        const ProductOperand& c = gradient ? r.auxiliary : r.c;
        if (beta != 0 || gradient) {
            p.epilogue.c = element_of(c.type);
            p.ldc = leading_of(c, "C");
            p.stride_c = stride_of(c, r.batch, "C");
            p.epilogue_arguments.push_back(work.pointer("c", c.address));
        }
        if (r.bias != 0) {
            if (r.batch > 1) throw Error("no kernel for a batch of products with a bias");
            p.epilogue.bias = element_of(r.bias_type);
            p.epilogue_arguments.push_back(work.pointer("bias", r.bias));
        }
        if (r.auxiliary.address != 0 && !gradient) {
            if (r.auxiliary.leading != r.d.leading || (r.batch > 1 && r.auxiliary.stride != r.d.stride))
                throw Error("no kernel for an auxiliary output that lies otherwise than D", {}, "give it D's leading dimension");
            p.epilogue.auxiliary = element_of(r.auxiliary.type);
            p.epilogue_arguments.push_back(work.pointer("auxiliary", r.auxiliary.address));
        }
        append(p.epilogue_arguments, scalars.arguments(p.type_a == kernels::ElementType::f64));
    }
    launch(work, p);
    return work.finish(std::move(label), "matmul", flops);
}

/// Where entry i of a batch lies.
struct Places {
    std::vector<std::uint64_t> addresses;
    /// Bytes between entries i and i + 1.
    std::int64_t step(std::size_t i) const { return static_cast<std::int64_t>(addresses[i + 1] - addresses[i]); }
};

Places places_of(const ProductOperand& operand, std::uint32_t batch, const ReadNumber& read) {
    Places places;
    const auto bytes = static_cast<std::int64_t>(kernels::bytes_of(element_of(operand.type)));
    for (std::uint32_t i = 0; i < batch; ++i) {
        if (operand.pointers == 0) {
            places.addresses.push_back(operand.address + static_cast<std::uint64_t>(operand.stride * bytes * i));
        } else {
            // An address is read as two halves, which a double holds.
            std::uint64_t address = 0;
            for (unsigned half = 0; half < 2; ++half) {
                const auto word = static_cast<std::int64_t>(read(operand.pointers + 8 * i + 4 * half, Number::i32));
                address |= (static_cast<std::uint64_t>(word) & 0xffffffffu) << (32 * half);
            }
            places.addresses.push_back(address);
        }
    }
    return places;
}

std::vector<BlasWork> lower_product(const BlasHeader& header, const ProductRequest& whole, const target::GpuTarget& target,
                                    const ReadNumber& read) {
    if (whole.m == 0 || whole.n == 0 || whole.batch == 0) return {};
    ProductRequest r = whole;
    ProductOperand* const operands[] = {&r.a, &r.b, &r.c, &r.d};
    const bool anywhere = std::any_of(std::begin(operands), std::end(operands), [](const ProductOperand* o) { return o->pointers != 0; });
    std::vector<BlasWork> works;
    if (!anywhere && r.batch <= kMostBatch) {
        works.push_back(lower_one_product(header, r, target, read));
        return works;
    }
    Places places[4];
    const bool reads_c = value_of(r.beta, read) != 0;
    for (unsigned i = 0; i < 4; ++i)
        if (i != 2 || reads_c) places[i] = places_of(*operands[i], whole.batch, read);
    for (std::uint32_t first = 0; first < whole.batch;) {
        // As many entries as lie at equal distances, forward and in whole elements, in every operand.
        std::uint32_t count = 1;
        const auto goes_on = [&](std::uint32_t next) {
            for (unsigned i = 0; i < 4; ++i) {
                if (places[i].addresses.empty()) continue;
                const std::int64_t step = places[i].step(first);
                if (step < 0 || step % kernels::bytes_of(element_of(operands[i]->type)) != 0 || places[i].step(next - 1) != step) return false;
            }
            return true;
        };
        while (first + count < whole.batch && count < kMostBatch && goes_on(first + count)) ++count;
        for (unsigned i = 0; i < 4; ++i) {
            if (places[i].addresses.empty()) continue;
            const auto bytes = static_cast<std::int64_t>(kernels::bytes_of(element_of(operands[i]->type)));
            operands[i]->pointers = 0;
            operands[i]->address = places[i].addresses[first];
            operands[i]->stride = count == 1 ? 0 : places[i].step(first) / bytes;
        }
        r.batch = count;
        works.push_back(lower_one_product(header, r, target, read));
        first += count;
    }
    return works;
}

template <class Request>
Scalars scalars_of(const Request& request, const ReadNumber& read) {
    Scalars scalars;
    for (unsigned i = 0; i < std::min(request.factors, kMostFactors); ++i) scalars.add(value_of(request.factor[i], read));
    return scalars;
}

BlasWork lower_reduce(const BlasHeader& header, const ReduceRequest& r, const std::string& terms, const std::string& finish,
                      const target::GpuTarget& target, const ReadNumber& read) {
    WorkBuilder work(target);
    const Scalars scalars = scalars_of(r, read);
    kernels::StridedReduceSpec spec;
    spec.compute_capability = target.compute_capability;
    spec.reduction = static_cast<kernels::StridedReduction>(r.position);
    spec.terms = expression::parse(terms);
    spec.output = element_of(r.output.type);
    for (unsigned i = 0; i < r.inputs; ++i) spec.inputs.push_back(element_of(r.input[i].type));
    spec.neighbours = r.inputs > 0 && r.input[0].row == 1 && r.input[0].column != 1 && r.outputs > 1 ? 32 : 1;
    const std::optional<expression::Expression> last =
        finish.empty() ? std::nullopt : std::optional<expression::Expression>(expression::parse(finish));
    const bool f64 = kernels::strided_compute_type(spec.inputs, {spec.output}) == kernels::ComputeType::f64;
    // A sum with few outputs is divided among CTAs, and what they found is added by a second launch.
    constexpr std::uint32_t kTermsOfSplit = 4096, kMostSplits = 1024;
    const std::uint64_t ctas = std::uint64_t{kernels::divide_up(r.outputs, spec.neighbours)} * r.batch;
    std::uint32_t splits = 1;
    if (r.position == 0 && ctas < target.sm_count)
        splits = std::min({kernels::divide_up(r.extent, kTermsOfSplit), kMostSplits,
                           kernels::divide_up(2 * target.sm_count, static_cast<std::uint32_t>(ctas))});
    const std::uint32_t per_split = kernels::divide_up(r.extent, splits);
    splits = std::max(1u, kernels::divide_up(r.extent, per_split == 0 ? 1 : per_split));
    const auto integer = [](const char* name, std::uint64_t value) { return kernels::integer_argument(name, value); };
    std::vector<KernelArgument> arguments{integer("outputs", r.outputs), integer("extent", r.extent), integer("extent_per_split", per_split)};
    for (unsigned i = 0; i < r.inputs; ++i) append(arguments, operand_arguments(work, "x" + std::to_string(i), r.input[i], "_out", "_along"));
    const auto write_result = [&](kernels::StridedReduceSpec& with) {
        append(arguments, operand_arguments(work, "y", r.output, "_out", "_split"));
        with.finish = last;
        if (last) append(arguments, scalars.arguments(f64));
    };
    std::string label = fmt::format("{} {}", header.name, r.extent);
    if (r.outputs > 1) label += fmt::format("x{}", r.outputs);
    const double flops = 2.0 * r.extent * r.outputs * r.batch;
    if (splits == 1) {
        write_result(spec);
        work.builder().launch(kernels::generate_strided_reduce(spec), kernels::strided_reduce_grid(spec, r.outputs, 1, r.batch), arguments);
        return work.finish(std::move(label), "reduce", flops);
    }
    const kernels::ElementType partial = f64 ? kernels::ElementType::f64 : kernels::ElementType::f32;
    const std::uint64_t bytes = kernels::bytes_of(partial);
    const program::BufferId workspace = work.builder().workspace("partial sums", bytes * r.outputs * splits * r.batch);
    spec.output = partial;
    arguments.push_back(kernels::pointer_argument("y", workspace));
    arguments.push_back(integer("y_out", bytes));
    arguments.push_back(integer("y_split", bytes * r.outputs));
    arguments.push_back(integer("y_batch", bytes * r.outputs * splits));
    work.builder().launch(kernels::generate_strided_reduce(spec), kernels::strided_reduce_grid(spec, r.outputs, splits, r.batch), arguments);
    kernels::StridedReduceSpec second;
    second.compute_capability = target.compute_capability;
    second.terms = expression::parse("y0 = x0");
    second.output = element_of(r.output.type);
    second.inputs = {partial};
    second.neighbours = r.outputs >= 32 ? 32 : 1;
    arguments = {integer("outputs", r.outputs), integer("extent", splits), integer("extent_per_split", splits),
                 kernels::pointer_argument("x0", workspace), integer("x0_out", bytes), integer("x0_along", bytes * r.outputs),
                 integer("x0_batch", bytes * r.outputs * splits)};
    write_result(second);
    work.builder().launch(kernels::generate_strided_reduce(second), kernels::strided_reduce_grid(second, r.outputs, 1, r.batch), arguments);
    return work.finish(std::move(label), "reduce", flops);
}

BlasWork lower_solve(const BlasHeader& header, const SolveRequest& r, const target::GpuTarget& target, const ReadNumber& read) {
    WorkBuilder work(target);
    kernels::TriangularSolveSpec spec;
    spec.compute_capability = target.compute_capability;
    spec.type = element_of(r.l.type);
    spec.unit_diagonal = r.unit_diagonal != 0;
    std::vector<KernelArgument> arguments{kernels::integer_argument("order", r.order)};
    append(arguments, operand_arguments(work, "l", r.l, "_row", "_column"));
    append(arguments, operand_arguments(work, "x", r.x, "_row", "_side"));
    Scalars scalars;
    scalars.add(value_of(r.alpha, read));
    append(arguments, scalars.arguments(spec.type == kernels::ElementType::f64));
    work.builder().launch(kernels::generate_triangular_solve(spec), kernels::triangular_solve_grid(r.sides, r.batch), arguments);
    return work.finish(fmt::format("{} {}x{}", header.name, r.order, r.sides), "other", 1.0 * r.order * r.order * r.sides * r.batch);
}

}  // namespace

std::vector<BlasWork> lower_blas(const BlasHeader& header, Reader& content, const target::GpuTarget& target, const ReadNumber& read) {
    std::vector<BlasWork> works;
    try {
        switch (header.kind) {
            case BlasKind::product:
                return lower_product(header, content.get<ProductRequest>(), target, read);
            case BlasKind::map: {
                const auto request = content.get<MapRequest>();
                const std::string text(content.get_text());
                if (content.failed() || request.outputs > kMostOperands || request.inputs > kMostOperands) break;
                if (request.rows == 0 || request.columns == 0 || request.batch == 0) return {};
                WorkBuilder work(target);
                launch_map(work, request, text, scalars_of(request, read));
                const double elements = 1.0 * request.rows * request.columns * request.batch;
                std::string label = fmt::format("{} {}", header.name, request.rows);
                if (request.columns > 1) label += fmt::format("x{}", request.columns);
                works.push_back(work.finish(std::move(label), "elementwise", elements * expression::operations_per_element(expression::parse(text))));
                return works;
            }
            case BlasKind::reduce: {
                const auto request = content.get<ReduceRequest>();
                const std::string terms(content.get_text()), finish(content.get_text());
                if (content.failed() || request.inputs > kMostOperands) break;
                if (request.outputs == 0 || request.batch == 0) return {};
                works.push_back(lower_reduce(header, request, terms, finish, target, read));
                return works;
            }
            case BlasKind::solve: {
                const auto request = content.get<SolveRequest>();
                if (request.order == 0 || request.sides == 0 || request.batch == 0) return {};
                works.push_back(lower_solve(header, request, target, read));
                return works;
            }
        }
    } catch (const lowering::Unsupported& unsupported) {
        throw Error(fmt::format("{}: {}", header.name, unsupported.reason));
    } catch (const Error& error) {
        throw Error(fmt::format("{}: {}", header.name, error.problem()), error.where(), error.remedy());
    }
    throw Error(fmt::format("{}: the request is cut off", header.name));
}

}  // namespace heddle::driver
