// Every kind of op, lowered to PTX and executed, beside the double-precision reference.
#include "workloads/lowering/gpu/gpu_lowering.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <map>

#include "isa/numerics/formats.h"
#include "isa/ptx/execution.h"
#include "isa/ptx/parser.h"
#include "isa/ptx/tensor_map.h"
#include "workloads/reference/elements.h"
#include "workloads/reference/execute.h"
#include "workloads/zoo/mlp.h"
#include "workloads/zoo/registry.h"

using namespace heddle;
using trace::ElementType;
using trace::Op;
using trace::OpKind;
using trace::Tensor;
using trace::TensorId;
using trace::TensorRole;

namespace {

/// A trace under construction: tensors by shape and type, one op.
struct Builder {
    trace::Trace trace;

    TensorId tensor(std::vector<std::int64_t> shape, ElementType type = ElementType::f32,
                    TensorRole role = TensorRole::activation) {
        Tensor t;
        t.name = "t" + std::to_string(trace.tensors.size());
        t.shape = std::move(shape);
        t.type = type;
        t.role = role;
        return trace.add(t);
    }
    Op& op(OpKind kind, std::vector<TensorId> inputs, std::vector<TensorId> outputs) {
        Op op;
        op.name = trace::name_of(kind);
        op.kind = kind;
        op.inputs = std::move(inputs);
        op.outputs = std::move(outputs);
        return trace.ops[trace.add(op)];
    }
};

/// Runs every launch functionally and returns the largest |device - reference| / max(1, |reference|) over the
/// outputs of all ops.
double worst_error(const trace::Trace& trace, unsigned compute_capability = 90) {
    trace.check();
    target::GpuTarget target;
    target.compute_capability = compute_capability;
    const lowering::GpuLowering lowered = lowering::lower_for_gpu(trace, target);
    for (const lowering::GpuLoweredOp& op : lowered.ops) REQUIRE(op.unsupported == "");

    reference::TensorValues truth(trace);
    ptx::GlobalMemory memory;
    std::vector<std::uint64_t> base;
    for (const program::Buffer& buffer : lowered.program.buffers) {
        base.push_back(memory.allocate(buffer.name, buffer.bytes, true));
    }
    for (const TensorId id : reference::external_tensors(trace)) {
        // What the type holds is what both begin with.
        const auto values = truth[id];
        const trace::ElementType type = trace.tensor(id).type;
        const std::vector<std::byte> bytes = reference::encode_elements(type, {values.begin(), values.end()});
        const std::vector<double> held = reference::decode_elements(type, bytes.data(), values.size());
        std::copy(held.begin(), held.end(), values.begin());
        memory.write(base[lowered.buffer_of_tensor[id]], bytes);
    }
    std::map<std::string, std::shared_ptr<ptx::LoadedKernel>> kernels;
    for (const program::KernelLaunch& launch : lowered.program.launches) {
        auto& kernel = kernels[launch.kernel->text];
        if (!kernel) {
            auto module =
                std::make_shared<const ptx::Module>(ptx::parse(launch.kernel->text, launch.kernel->entry));
            kernel = std::make_shared<ptx::LoadedKernel>(module, launch.kernel->entry);
        }
        std::vector<std::vector<std::byte>> arguments;
        for (const program::Argument& argument : launch.arguments) {
            const std::optional<program::BufferId> buffer = program::buffer_of(argument);
            const std::uint64_t address = buffer ? base[*buffer] : 0;
            if (const auto* tensor = std::get_if<program::TensorMapArgument>(&argument)) {
                const auto map = ptx::make_tensor_map(tensor->map, address + tensor->offset).encode();
                arguments.emplace_back(map.begin(), map.end());
            } else {
                arguments.push_back(program::argument_bytes(argument, address));
            }
        }
        ptx::LaunchContext context;
        context.kernel = kernel.get();
        context.grid = launch.grid;
        context.block = launch.block;
        context.cluster = launch.cluster;
        context.dynamic_shared_bytes = launch.dynamic_shared_bytes;
        context.parameters = ptx::pack_parameters(*kernel, arguments);
        context.memory = &memory;
        context.compute_capability = compute_capability;
        REQUIRE(ptx::run_functionally(context) > 0);
    }

    reference::execute(trace, truth);
    double worst = 0;
    for (const Op& op : trace.ops) {
        for (const TensorId id : op.outputs) {
            const ElementType type = trace.tensor(id).type;
            const unsigned size = trace::bytes_of(type);
            const auto expected = truth[id];
            std::vector<std::byte> bytes(expected.size() * size);
            memory.read(base[lowered.buffer_of_tensor[id]], bytes);
            const std::vector<double> found = reference::decode_elements(type, bytes.data(), expected.size());
            for (std::size_t i = 0; i < expected.size(); ++i) {
                const double error = std::abs(found[i] - expected[i]) / std::max(1.0, std::abs(expected[i]));
                worst = std::max(worst, std::isnan(error) ? 1e30 : error);
            }
        }
    }
    return worst;
}

}  // namespace

TEST_CASE("matrix products of every layout and type match the reference") {
    const auto product = [](ElementType in, ElementType out, bool ta, bool tb, std::int64_t m, std::int64_t n,
                            std::int64_t k, std::int64_t batch = 1, unsigned capability = 90,
                            bool tf32 = false) {
        Builder b;
        const auto shape = [&](std::int64_t rows, std::int64_t columns) {
            return batch > 1 ? std::vector<std::int64_t>{batch, rows, columns}
                             : std::vector<std::int64_t>{rows, columns};
        };
        const TensorId x = b.tensor(ta ? shape(k, m) : shape(m, k), in);
        const TensorId w = b.tensor(tb ? shape(n, k) : shape(k, n), in);
        const TensorId y = b.tensor(shape(m, n), out);
        Op& op = b.op(OpKind::matmul, {x, w}, {y});
        op.attributes["transpose_a"] = std::int64_t{ta};
        op.attributes["transpose_b"] = std::int64_t{tb};
        if (tf32) op.attributes["compute_type"] = std::string("tf32");
        return worst_error(b.trace, capability);
    };
    // Initial values are multiples of 2^-7 in [-1, 1): products are exact in fp32, sums over k <= 200 nearly
    // so.
    for (const bool ta : {false, true}) {
        for (const bool tb : {false, true}) {
            CAPTURE(ta, tb);
            CHECK(product(ElementType::f32, ElementType::f32, ta, tb, 70, 45, 33) < 1e-5);
            CHECK(product(ElementType::bf16, ElementType::f32, ta, tb, 72, 136, 96) < 1e-5);
            CHECK(product(ElementType::f16, ElementType::f32, ta, tb, 33, 57, 21) < 1e-5);
            CHECK(product(ElementType::f16, ElementType::f32, ta, tb, 72, 56, 40, 1, 70) < 1e-5);
            for (const unsigned capability : {70u, 80u, 90u}) {
                CAPTURE(capability);
                CHECK(product(ElementType::f32, ElementType::f32, ta, tb, 72, 44, 36, 1, capability, true) <
                      1e-5);
                CHECK(product(ElementType::f64, ElementType::f64, ta, tb, 35, 38, 42, 1, capability) < 1e-13);
            }
            // What is not contiguous along k is transposed first.
            CHECK(product(ElementType::e4m3, ElementType::f32, ta, tb, 48, 80, 64, 2) < 1e-3);
            CHECK(product(ElementType::e4m3, ElementType::f32, ta, tb, 48, 80, 64, 1, 89) < 1e-3);
            CHECK(product(ElementType::i8, ElementType::i32, ta, tb, 48, 80, 64, 2, 80) == 0);
            CHECK(product(ElementType::i8, ElementType::i32, ta, tb, 48, 80, 64) == 0);
        }
    }
    CHECK(product(ElementType::bf16, ElementType::bf16, false, true, 64, 64, 64) < 0x1p-8);
    CHECK(product(ElementType::f64, ElementType::f64, false, false, 19, 35, 27) < 1e-13);
    CHECK(product(ElementType::f32, ElementType::f32, false, true, 17, 40, 9, 3) < 1e-5);
    CHECK(product(ElementType::bf16, ElementType::f32, false, false, 40, 24, 56, 5) < 1e-5);
    // Few tiles and a long k: split-K with its reduction.
    CHECK(product(ElementType::bf16, ElementType::f32, false, true, 64, 64, 8192) < 1e-3);
}

TEST_CASE("epilogues read a bias per column and an accumulator like the result") {
    Builder b;
    const TensorId x = b.tensor({50, 24}, ElementType::bf16), w = b.tensor({40, 24}, ElementType::bf16);
    const TensorId bias = b.tensor({40}), residual = b.tensor({50, 40}), y = b.tensor({50, 40}),
                   z = b.tensor({50, 40});
    Op& relu = b.op(OpKind::matmul, {x, w, bias}, {y});
    relu.attributes["transpose_b"] = std::int64_t{1};
    relu.attributes["epilogue"] = std::string("y0 = max(x0 + x1, 0)");
    Op& both = b.op(OpKind::matmul, {x, w, residual, bias}, {z});
    both.attributes["transpose_b"] = std::int64_t{1};
    both.attributes["epilogue"] = std::string("y0 = 0.5 * x0 + x1 - x2");
    CHECK(worst_error(b.trace) < 1e-5);
}

TEST_CASE("elementwise operations broadcast, stride and convert") {
    Builder b;
    const TensorId x = b.tensor({13, 37}), row = b.tensor({37}), column = b.tensor({13, 1}),
                   one = b.tensor({}), half = b.tensor({13, 37}, ElementType::bf16);
    const TensorId y = b.tensor({13, 37}), z = b.tensor({13, 37}, ElementType::f16),
                   flag = b.tensor({13, 37}, ElementType::boolean);
    b.op(OpKind::elementwise, {x, row, column, one, half}, {y}).attributes["expression"] =
        std::string("y0 = max(x0 * x1 + x2, x3) / (2 + x4 * x4)");
    b.op(OpKind::elementwise, {x}, {z}).attributes["expression"] =
        std::string("y0 = tanh(x0) * exp(-x0) + sqrt(abs(x0))");
    b.op(OpKind::elementwise, {x, row}, {flag}).attributes["expression"] = std::string("y0 = x0 > x1");
    // Columns of x^T, three axes, read through strides.
    const TensorId cube = b.tensor({4, 5, 6}), turned = b.tensor({6, 4, 5}),
                   cast = b.tensor({4, 5, 6}, ElementType::bf16);
    b.op(OpKind::copy, {cube}, {turned}).attributes["permutation"] = std::vector<std::int64_t>{2, 0, 1};
    b.op(OpKind::copy, {cube}, {cast});
    // Channels last and first again, by way of tiles.
    const TensorId picture = b.tensor({3, 37, 6, 9}), last = b.tensor({3, 6, 9, 37}),
                   again = b.tensor({3, 37, 6, 9});
    Op& to_last = b.op(OpKind::copy, {picture}, {last});
    to_last.attributes["permutation"] = std::vector<std::int64_t>{0, 2, 3, 1};
    to_last.attributes["tiles"] = std::int64_t{1};
    Op& to_first = b.op(OpKind::copy, {last}, {again});
    to_first.attributes["permutation"] = std::vector<std::int64_t>{0, 3, 1, 2};
    to_first.attributes["tiles"] = std::int64_t{1};
    const TensorId filled = b.tensor({1001}, ElementType::bf16), noise = b.tensor({777});
    b.op(OpKind::fill, {}, {filled}).attributes["value"] = 0.75;
    trace::Op& counting = b.op(OpKind::fill, {}, {b.tensor({3, 219}, ElementType::i32)});
    counting.attributes["value"] = 656.0;
    counting.attributes["step"] = -1.0;
    Op& random = b.op(OpKind::random, {}, {noise});
    random.attributes["stream"] = std::int64_t{5};
    CHECK(worst_error(b.trace) < 0x1p-8);
}

TEST_CASE("results whose axes lie in another order in memory, and row sums of products") {
    Builder b;
    // [batch, heads, sequence, head_dim], kept as [batch, sequence, heads, head_dim].
    const std::vector<std::int64_t> shape{2, 3, 11, 64}, strides{11 * 3 * 64, 64, 3 * 64, 1};
    const TensorId x = b.tensor(shape), y = b.tensor(shape, ElementType::bf16), z = b.tensor(shape),
                   u = b.tensor(shape, ElementType::bf16), v = b.tensor(shape, ElementType::bf16),
                   sums = b.tensor({2, 3, 11});
    Op& scaled = b.op(OpKind::elementwise, {x}, {y});
    scaled.attributes["expression"] = std::string("y0 = s0 * x0");
    scaled.attributes["scalars"] = std::vector<double>{0.125};
    scaled.attributes["output0_strides"] = strides;
    b.op(OpKind::copy, {x}, {z}).attributes["output0_strides"] = strides;
    Op& products = b.op(OpKind::reduce, {u, v}, {sums});
    products.attributes["reduction"] = std::string("sum");
    products.attributes["expression"] = std::string("y0 = x0 * x1");
    products.attributes["axes"] = std::vector<std::int64_t>{3};
    products.attributes["input1_strides"] = strides;
    CHECK(worst_error(b.trace) < 1e-5);
}

TEST_CASE("reductions over rows, columns and everything") {
    for (const std::string reduction : {"sum", "mean", "max", "norm2"}) {
        CAPTURE(reduction);
        Builder b;
        const TensorId x = b.tensor({300, 77}), wide = b.tensor({5, 3000}), all = b.tensor({30011});
        const auto reduce = [&](TensorId from, std::vector<std::int64_t> shape,
                                std::vector<std::int64_t> axes) {
            Op& op = b.op(OpKind::reduce, {from}, {b.tensor(std::move(shape))});
            op.attributes["reduction"] = reduction;
            op.attributes["axes"] = std::move(axes);
        };
        reduce(x, {77}, {0});
        reduce(x, {300, 1}, {1});
        reduce(wide, {5}, {1});
        reduce(all, {}, {0});
        CHECK(worst_error(b.trace) < 1e-5);
    }
    Builder b;
    const TensorId x = b.tensor({40, 24}), y = b.tensor({40, 24}, ElementType::bf16);
    Op& op = b.op(OpKind::reduce, {x, y}, {b.tensor({24})});
    op.attributes["reduction"] = std::string("sum");
    op.attributes["axes"] = std::vector<std::int64_t>{0};
    op.attributes["expression"] = std::string("y0 = x0 * x1");
    CHECK(worst_error(b.trace) < 1e-5);
}

TEST_CASE("softmax, cross-entropy and layer norm with their gradients") {
    Builder b;
    const TensorId x = b.tensor({21, 45}), y = b.tensor({21, 45}), dy = b.tensor({21, 45}),
                   dx = b.tensor({21, 45});
    b.op(OpKind::softmax, {x}, {y});
    b.op(OpKind::softmax_grad, {y, dy}, {dx});
    const TensorId labels = b.tensor({21}, ElementType::i32, TensorRole::label), loss = b.tensor({21}),
                   p = b.tensor({21, 45}), dlogits = b.tensor({21, 45});
    b.op(OpKind::softmax_cross_entropy, {x, labels}, {loss, p});
    b.op(OpKind::softmax_cross_entropy_grad, {p, labels}, {dlogits}).attributes["scale"] = 1.0 / 21;
    const TensorId gamma = b.tensor({45}), beta = b.tensor({45}), n = b.tensor({21, 45}),
                   mean = b.tensor({21}), rstd = b.tensor({21}), dn = b.tensor({21, 45}),
                   dgamma = b.tensor({45}), dbeta = b.tensor({45});
    b.op(OpKind::layer_norm, {x, gamma, beta}, {n, mean, rstd});
    b.op(OpKind::layer_norm_grad, {dy, x, mean, rstd, gamma}, {dn, dgamma, dbeta});
    CHECK(worst_error(b.trace) < 2e-5);
}

TEST_CASE("rows by index and concatenation") {
    Builder b;
    const TensorId table = b.tensor({50, 18}), indices = b.tensor({31}, ElementType::i64, TensorRole::label),
                   rows = b.tensor({31, 18}), back = b.tensor({50, 18}),
                   low = b.tensor({50, 18}, ElementType::bf16);
    b.op(OpKind::embedding, {table, indices}, {rows});
    b.op(OpKind::embedding_grad, {rows, indices}, {back});
    b.op(OpKind::embedding_grad, {rows, indices}, {low});
    const TensorId joined = b.tensor({31, 54}), picked = b.tensor({31, 18});
    b.op(OpKind::concat, {rows, rows, rows}, {joined}).attributes["axis"] = std::int64_t{1};
    b.op(OpKind::gather, {table, indices}, {picked});
    CHECK(worst_error(b.trace) < 0x1p-8);
}

TEST_CASE("rows are added to 16-bit rows, by atomics where the device has them") {
    Builder b;
    for (const ElementType type : {ElementType::f16, ElementType::bf16}) {
        const TensorId table = b.tensor({50, 18}, type), updates = b.tensor({31, 18}, type),
                       indices = b.tensor({31}, ElementType::i64, TensorRole::label),
                       sum = b.tensor({50, 18}, type);
        b.op(OpKind::scatter, {table, indices, updates}, {sum}).attributes["accumulate"] = std::int64_t{1};
    }
    // A few sums of numbers below 1, each rounded to 8 bits at worst.
    CHECK(worst_error(b.trace, 90) < 0x1p-6);
    CHECK(worst_error(b.trace, 80) < 0x1p-6);
}

TEST_CASE("lists of tensors are carried out by few launches, as one by one") {
    // Whole vectors and not, several chunks, more tensors than a launch takes, one that two launches share.
    std::vector<std::int64_t> sizes{5, 1024, 1, 70001, 66000, 400000};
    for (std::int64_t i = 0; i < 50; ++i) sizes.push_back(12 + i % 3);
    for (const bool listed : {false, true}) {
        Builder b;
        std::vector<TensorId> parameters, gradients;
        for (const std::int64_t size : sizes) {
            parameters.push_back(b.tensor({size}));
            gradients.push_back(b.tensor({size}, ElementType::bf16));
        }
        const TensorId rate = b.tensor({1});
        for (std::size_t i = 0; i < sizes.size(); ++i) {
            Op& square = b.op(OpKind::reduce, {gradients[i]}, {b.tensor({1})});
            square.attributes["reduction"] = std::string("sum");
            square.attributes["expression"] = std::string("y0 = x0 * x0");
            if (listed) square.attributes["list"] = std::int64_t{1};
        }
        for (std::size_t i = 0; i < sizes.size(); ++i) {
            Op& update =
                b.op(OpKind::elementwise, {parameters[i], gradients[i], rate}, {b.tensor({sizes[i]})});
            update.attributes["expression"] = std::string("y0 = x0 - s0 * x1 * x2");
            update.attributes["scalars"] = std::vector<double>{0.5};
            if (listed) update.attributes["list"] = std::int64_t{2};
        }
        target::GpuTarget target;
        target.compute_capability = 80;
        const lowering::GpuLowering lowered = lowering::lower_for_gpu(b.trace, target);
        const std::size_t launches = lowered.program.launches.size();
        if (listed) {
            // 20 tensors of whole vectors and 36 others; sums of 56 tensors, 48 in a launch.
            CHECK(launches == 1 + 1 + 2 + 1 + 1);
            CHECK(lowered.ops[0].launch_count == 4);
            CHECK(lowered.ops[1].launch_count == 0);
            CHECK(lowered.ops[sizes.size()].launch_count == 2);
        } else {
            CHECK(launches >= 2 * sizes.size());
        }
        // Sums of up to 400,000 squares in f32.
        CHECK(worst_error(b.trace, 80) < 1e-5);
    }
}

TEST_CASE("attention and its gradient, causal and not, ragged and strided") {
    for (const bool causal : {false, true}) {
        CAPTURE(causal);
        Builder b;
        const std::vector<std::int64_t> shape{2, 3, 70, 64};
        const auto tensor = [&] { return b.tensor(shape, ElementType::bf16); };
        const TensorId q = tensor(), k = tensor(), v = tensor(), out = tensor(), lse = b.tensor({2, 3, 70}),
                       d_out = tensor(), dq = tensor(), dk = tensor(), dv = tensor();
        b.op(OpKind::attention, {q, k, v}, {out, lse}).attributes["causal"] = std::int64_t{causal};
        b.op(OpKind::attention_grad, {d_out, q, k, v, out, lse}, {dq, dk, dv}).attributes["causal"] =
            std::int64_t{causal};
        // Operands are rounded to bf16 between the kernels; gradients here reach a few units.
        CHECK(worst_error(b.trace) < 0.03);
        CHECK(worst_error(b.trace, 80) < 0.03);
    }
}

TEST_CASE("attention with grouped heads and dropout, and its gradient") {
    Builder b;
    const auto of_heads = [&](std::int64_t heads) { return b.tensor({2, heads, 70, 64}, ElementType::bf16); };
    const TensorId q = of_heads(6), k = of_heads(2), v = of_heads(2), out = of_heads(6),
                   lse = b.tensor({2, 6, 70}), d_out = of_heads(6), dq = of_heads(6), dk = of_heads(2),
                   dv = of_heads(2);
    const std::map<std::string, trace::Attribute> attributes{{"dropout", 0.25}, {"stream", std::int64_t{5}}};
    b.op(OpKind::attention, {q, k, v}, {out, lse}).attributes = attributes;
    b.op(OpKind::attention_grad, {d_out, q, k, v, out, lse}, {dq, dk, dv}).attributes = attributes;
    CHECK(worst_error(b.trace) < 0.03);
    CHECK(worst_error(b.trace, 80) < 0.03);
}

TEST_CASE("attention with grouped heads that lie side by side in rows, and its gradient") {
    Builder b;
    const auto of_heads = [&](std::int64_t heads) { return b.tensor({2, heads, 70, 64}, ElementType::bf16); };
    const TensorId q = of_heads(6), k = of_heads(2), v = of_heads(2), out = of_heads(6),
                   lse = b.tensor({2, 6, 70}), d_out = of_heads(6), dq = of_heads(6), dk = of_heads(2),
                   dv = of_heads(2);
    const auto in_rows = [](Op& op, const char* operand, std::int64_t heads) {
        op.attributes[std::string(operand) + "_strides"] =
            std::vector<std::int64_t>{70 * heads * 64, 64, heads * 64, 1};
    };
    Op& forward = b.op(OpKind::attention, {q, k, v}, {out, lse});
    in_rows(forward, "input0", 6);
    in_rows(forward, "input1", 2);
    in_rows(forward, "input2", 2);
    in_rows(forward, "output0", 6);
    Op& backward = b.op(OpKind::attention_grad, {d_out, q, k, v, out, lse}, {dq, dk, dv});
    for (const char* operand : {"input0", "input1", "input4", "output0"}) in_rows(backward, operand, 6);
    for (const char* operand : {"input2", "input3", "output1", "output2"}) in_rows(backward, operand, 2);
    CHECK(worst_error(b.trace) < 0.03);
    CHECK(worst_error(b.trace, 80) < 0.03);
}

TEST_CASE("gradients in e5m2 times weights and activations in e4m3, with a factor for each column") {
    Builder b;
    const TensorId dy = b.tensor({64, 128}, ElementType::e5m2), w = b.tensor({128, 96}, ElementType::e4m3),
                   x = b.tensor({64, 96}, ElementType::e4m3), factors = b.tensor({96}, ElementType::f32),
                   dx = b.tensor({64, 96}, ElementType::bf16), dw = b.tensor({128, 96}, ElementType::bf16);
    b.op(OpKind::matmul, {dy, w, factors}, {dx}).attributes["epilogue"] = std::string("y0 = x0 * x1");
    Op& weights = b.op(OpKind::matmul, {dy, x, factors}, {dw});
    weights.attributes["epilogue"] = std::string("y0 = x0 * x1");
    weights.attributes["transpose_a"] = std::int64_t{1};
    CHECK(worst_error(b.trace) < 0x1p-7);
}

TEST_CASE("places of tokens in experts of limited capacity") {
    Builder b;
    const TensorId chosen = b.tensor({300}, ElementType::i32, TensorRole::label), table = b.tensor({4, 8}),
                   rows = b.tensor({300, 8}), slots = b.tensor({300}, ElementType::i32);
    b.op(OpKind::gather, {table, chosen}, {rows});  // indices below 4
    Op& op = b.op(OpKind::expert_slots, {chosen}, {slots});
    op.attributes["experts"] = std::int64_t{4};
    op.attributes["capacity"] = std::int64_t{60};
    CHECK(worst_error(b.trace, 80) == 0);
}

TEST_CASE("a training step of an MLP gives the reference's gradients and weights") {
    zoo::MlpOptions options;
    options.batch = 24;
    options.widths = {20, 33, 17, 5};
    CHECK(worst_error(zoo::mlp(options)) < 1e-5);
    options.type = ElementType::bf16;
    CHECK(worst_error(zoo::mlp(options)) < 0.05);
    CHECK(worst_error(zoo::mlp(options), 80) < 0.05);
}

TEST_CASE("what no kernel does is marked with a reason, not skipped") {
    Builder b;
    const TensorId x = b.tensor({4, 5}), y = b.tensor({5}), where = b.tensor({5}, ElementType::i64);
    Op& op = b.op(OpKind::reduce, {x}, {y, where});
    op.attributes["reduction"] = std::string("max");
    op.attributes["axes"] = std::vector<std::int64_t>{0};
    op.attributes["argument"] = std::int64_t{1};
    const lowering::GpuLowering lowered = lowering::lower_for_gpu(b.trace, target::GpuTarget{});
    REQUIRE(lowered.ops[0].launch_count == 0);
    REQUIRE(lowered.ops[0].unsupported.find("position of an extremum along a leading axis") !=
            std::string::npos);
}

TEST_CASE("an elementwise op that no kernel has is told, and ends nothing") {
    Builder b;
    const TensorId x = b.tensor({64}, ElementType::f64), y = b.tensor({64}, ElementType::f64);
    b.op(OpKind::elementwise, {x}, {y}).attributes["expression"] = std::string("y0 = log(x0)");
    const lowering::GpuLowering lowered = lowering::lower_for_gpu(b.trace, target::GpuTarget{});
    CHECK_THAT(lowered.ops[0].unsupported, Catch::Contains("log") && Catch::Contains("64-bit"));
    CHECK(lowered.program.launches.empty());
}

TEST_CASE("softmax with and without its logarithm, and layer norm as torch.compile writes it") {
    for (const unsigned capability : {70u, 80u, 90u}) {
        Builder b;
        for (const std::int64_t columns : {45, 1203}) {
            const TensorId x = b.tensor({7, columns}), y = b.tensor({7, columns}),
                           dy = b.tensor({7, columns}), dx = b.tensor({7, columns}),
                           log_y = b.tensor({7, columns}), log_dx = b.tensor({7, columns});
            b.op(OpKind::softmax, {x}, {y});
            b.op(OpKind::softmax_grad, {y, dy}, {dx});
            b.op(OpKind::softmax, {x}, {log_y}).attributes["logarithm"] = std::int64_t{1};
            b.op(OpKind::softmax_grad, {log_y, dy}, {log_dx}).attributes["logarithm"] = std::int64_t{1};
        }
        const TensorId x = b.tensor({5, 2100}), y = b.tensor({5, 2100});
        b.op(OpKind::layer_norm, {x}, {y}).attributes["compiled"] = std::int64_t{1};
        // The gradient of the logarithm subtracts sums of 1,203 terms of up to 1.
        CHECK(worst_error(b.trace, capability) < 1e-4);
    }
}

TEST_CASE("softmax and its gradient along inner axes") {
    for (const std::int64_t axis : {0, 1, 2}) {
        for (const bool logarithm : {false, true}) {
            CAPTURE(axis, logarithm);
            Builder b;
            const auto tensor = [&] { return b.tensor({3, 37, 21}); };
            const TensorId x = tensor(), y = tensor(), dy = tensor(), dx = tensor();
            b.op(OpKind::softmax, {x}, {y});
            b.op(OpKind::softmax_grad, {y, dy}, {dx});
            for (Op& op : b.trace.ops) {
                op.attributes["axis"] = axis;
                if (logarithm) op.attributes["logarithm"] = std::int64_t{1};
            }
            for (const unsigned capability : {70u, 80u, 90u}) CHECK(worst_error(b.trace, capability) < 1e-5);
        }
    }
}

TEST_CASE("RMS norm, group norm and batch norm with their gradients") {
    for (const unsigned capability : {70u, 80u, 90u}) {
        Builder b;
        const TensorId x = b.tensor({21, 145}), dy = b.tensor({21, 145}), gamma = b.tensor({145}),
                       y = b.tensor({21, 145}), rstd = b.tensor({21}), dx = b.tensor({21, 145}),
                       dgamma = b.tensor({145});
        b.op(OpKind::rms_norm, {x, gamma}, {y, rstd});
        b.op(OpKind::rms_norm_grad, {dy, x, rstd, gamma}, {dx, dgamma});
        // Batch norm over rows: few, many, of channels that wide accesses and lanes do not divide.
        for (const auto& rows : std::vector<std::vector<std::int64_t>>{{5, 3}, {1500, 24}, {700, 130}}) {
            const TensorId in = b.tensor(rows), out = b.tensor(rows), d_out = b.tensor(rows),
                           d_in = b.tensor(rows);
            std::vector<TensorId> c;
            for (unsigned i = 0; i < 10; ++i) c.push_back(b.tensor({rows[1]}));
            b.op(OpKind::batch_norm, {in, c[0], c[1], c[2], c[3]}, {out, c[4], c[5], c[6], c[7]})
                .attributes["momentum"] = 0.3;
            b.op(OpKind::batch_norm_grad, {d_out, in, c[4], c[5], c[0]}, {d_in, c[8], c[9]});
        }
        const std::vector<std::int64_t> image{3, 6, 5, 7};
        for (const bool batch : {false, true}) {
            const TensorId in = b.tensor(image), out = b.tensor(image), d_out = b.tensor(image),
                           d_in = b.tensor(image), scale = b.tensor({6}), shift = b.tensor({6});
            const std::vector<std::int64_t> sets =
                batch ? std::vector<std::int64_t>{6} : std::vector<std::int64_t>{3, 2};
            const TensorId means = b.tensor(sets), rstds = b.tensor(sets), d_scale = b.tensor({6}),
                           d_shift = b.tensor({6});
            if (batch) {
                const TensorId mean = b.tensor({6}), variance = b.tensor({6}), new_mean = b.tensor({6}),
                               new_variance = b.tensor({6});
                b.op(OpKind::batch_norm, {in, scale, shift, mean, variance},
                     {out, means, rstds, new_mean, new_variance})
                    .attributes["momentum"] = 0.3;
                b.op(OpKind::batch_norm_grad, {d_out, in, means, rstds, scale}, {d_in, d_scale, d_shift});
            } else {
                b.op(OpKind::group_norm, {in, scale, shift}, {out, means, rstds}).attributes["groups"] =
                    std::int64_t{2};
                b.op(OpKind::group_norm_grad, {d_out, in, means, rstds, scale}, {d_in, d_scale, d_shift})
                    .attributes["groups"] = std::int64_t{2};
            }
        }
        CHECK(worst_error(b.trace, capability) < 2e-5);
    }
}

TEST_CASE("dropout, the largest of a row, positions of extrema, concatenation in one launch") {
    for (const unsigned capability : {70u, 80u, 90u}) {
        Builder b;
        const TensorId x = b.tensor({13, 77}), y = b.tensor({13, 77}),
                       mask = b.tensor({13, 77}, ElementType::boolean);
        Op& dropout = b.op(OpKind::dropout, {x}, {y, mask});
        dropout.attributes["probability"] = 0.2;
        dropout.attributes["seed"] = std::int64_t{77};
        const TensorId best = b.tensor({13, 4}), places = b.tensor({13, 4}, ElementType::i64);
        b.op(OpKind::top_k, {x}, {best, places});
        for (const char* reduction : {"max", "min"}) {
            const TensorId value = b.tensor({13}), place = b.tensor({13}, ElementType::i64),
                           alone = b.tensor({13});
            Op& position = b.op(OpKind::reduce, {x}, {value, place});
            position.attributes["reduction"] = std::string(reduction);
            position.attributes["axes"] = std::vector<std::int64_t>{1};
            position.attributes["argument"] = std::int64_t{1};
            Op& only = b.op(OpKind::reduce, {x}, {alone});
            only.attributes["reduction"] = std::string(reduction);
            only.attributes["axes"] = std::vector<std::int64_t>{1};
        }
        const TensorId narrow = b.tensor({13, 9}), joined = b.tensor({13, 86});
        b.op(OpKind::concat, {x, narrow}, {joined}).attributes["axis"] = std::int64_t{1};
        const TensorId columns = b.tensor({77});
        Op& alone = b.op(OpKind::reduce, {x}, {columns});
        alone.attributes["reduction"] = std::string("sum");
        alone.attributes["axes"] = std::vector<std::int64_t>{0};
        alone.attributes["column_alone"] = std::int64_t{1};
        CHECK(worst_error(b.trace, capability) < 1e-5);
    }
}

TEST_CASE("convolutions, forward and both gradients, match the reference") {
    const auto convolution = [](ElementType type, bool last, std::int64_t groups, unsigned capability,
                                std::int64_t channels = 12, const std::string& compute = "") {
        Builder b;
        const auto shape = [&](std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w) {
            return last ? std::vector<std::int64_t>{n, h, w, c} : std::vector<std::int64_t>{n, c, h, w};
        };
        std::map<std::string, trace::Attribute> attributes{{"strides", std::vector<std::int64_t>{2, 1}},
                                                           {"padding", std::vector<std::int64_t>{1, 0, 1, 2}},
                                                           {"dilation", std::vector<std::int64_t>{1, 2}},
                                                           {"groups", groups}};
        if (last) attributes["layout"] = std::string("nhwc");
        if (!compute.empty()) attributes["compute_type"] = compute;
        const TensorId x = b.tensor(shape(5, channels, 19, 17), type),
                       w = b.tensor(shape(18, channels / groups, 3, 2), type, TensorRole::parameter),
                       bias = b.tensor({18}, type), y = b.tensor(shape(5, 18, 9, 18), type),
                       dy = b.tensor(shape(5, 18, 9, 18), type),
                       dx = b.tensor(shape(5, channels, 19, 17), type),
                       dw = b.tensor(shape(18, channels / groups, 3, 2), type);
        b.op(OpKind::convolution, {x, w, bias}, {y}).attributes = attributes;
        b.op(OpKind::convolution_data_grad, {dy, w}, {dx}).attributes = attributes;
        b.op(OpKind::convolution_weight_grad, {dy, x}, {dw}).attributes = attributes;
        return worst_error(b.trace, capability);
    };
    CHECK(convolution(ElementType::f32, false, 1, 70) < 1e-5);
    CHECK(convolution(ElementType::f32, true, 3, 86) < 1e-5);
    CHECK(convolution(ElementType::f16, true, 1, 80) < 0x1p-10);
    CHECK(convolution(ElementType::bf16, false, 2, 90) < 0x1p-7);
    CHECK(convolution(ElementType::bf16, true, 2, 90) < 0x1p-7);
    for (const std::int64_t odd : {1, 3, 5}) {  // padded to 4 and 8
        CHECK(convolution(ElementType::f16, true, 1, 80, odd) < 0x1p-10);
        CHECK(convolution(ElementType::bf16, true, 1, 90, odd) < 0x1p-7);
        CHECK(convolution(ElementType::f32, true, 1, 80, odd, "tf32") < 0x1p-9);
    }
}

TEST_CASE("pooling and its gradient match the reference") {
    for (const bool last : {false, true}) {
        Builder b;
        const auto tensor = [&](std::int64_t h, std::int64_t w, ElementType type = ElementType::f32) {
            return last ? b.tensor({2, h, w, 5}, type) : b.tensor({2, 5, h, w}, type);
        };
        const auto pool = [&](const std::string& kind, std::int64_t h, std::int64_t w, bool round_up,
                              bool positions) {
            std::map<std::string, trace::Attribute> attributes{{"pooling", kind},
                                                               {"window", std::vector<std::int64_t>{3, 2}},
                                                               {"strides", std::vector<std::int64_t>{2, 3}},
                                                               {"padding", std::vector<std::int64_t>{1, 0}},
                                                               {"round_up", std::int64_t{round_up}},
                                                               {"padding_counts", std::int64_t{positions}}};
            if (last) attributes["layout"] = std::string("nhwc");
            const TensorId x = tensor(12, 10), y = tensor(h, w), dy = tensor(h, w), dx = tensor(12, 10);
            if (kind == "mean") {
                b.op(OpKind::pooling, {x}, {y}).attributes = attributes;
                b.op(OpKind::pooling_grad, {dy}, {dx}).attributes = attributes;
                return;
            }
            const TensorId where = tensor(h, w, ElementType::i64);
            b.op(OpKind::pooling, {x}, {y, where}).attributes = attributes;
            Op& grad = positions ? b.op(OpKind::pooling_grad, {dy, x, where}, {dx})
                                 : b.op(OpKind::pooling_grad, {dy, x}, {dx});
            grad.attributes = attributes;
        };
        pool("max", 6, 3, false, true);
        pool("max", 7, 4, true, false);
        pool("mean", 6, 3, false, true);
        pool("mean", 7, 4, true, false);
        CHECK(worst_error(b.trace, 70) < 1e-6);
    }
}

TEST_CASE("an LSTM cell and its gradient match the reference") {
    for (const ElementType type : {ElementType::f32, ElementType::bf16}) {
        Builder b;
        const auto tensor = [&](std::int64_t columns) { return b.tensor({7, columns}, type); };
        const TensorId x = tensor(4 * 19), h = tensor(4 * 19), c = tensor(19),
                       bias = b.tensor({4 * 19}, type), second = b.tensor({4 * 19}, type), new_h = tensor(19),
                       new_c = tensor(19), gates = tensor(4 * 19), dh = tensor(19), dc = tensor(19),
                       d_gates = tensor(4 * 19), d_old = tensor(19);
        b.op(OpKind::lstm_cell, {x, h, c, bias, second}, {new_h, new_c, gates});
        b.op(OpKind::lstm_cell_grad, {dh, dc, c, new_c, gates}, {d_gates, d_old});
        CHECK(worst_error(b.trace, 80) < (type == ElementType::f32 ? 1e-5 : 0x1p-6));
    }
}

namespace {

using ModelOptions = std::map<std::string, std::string>;

/// Small shapes of the zoo's models; heads of 64, so that 16-bit steps have fused attention.
std::map<std::string, ModelOptions> small_models() {
    const ModelOptions decoder{{"batch", "2"},    {"sequence", "16"}, {"vocabulary", "64"},   {"layers", "1"},
                               {"hidden", "128"}, {"heads", "2"},     {"feed_forward", "128"}};
    ModelOptions llama = decoder;
    llama["key_heads"] = "1";
    return {{"lstm",
             {{"layers", "2"}, {"hidden", "16"}, {"vocabulary", "32"}, {"batch", "4"}, {"sequence", "3"}}},
            {"resnet18", {{"batch", "4"}, {"image", "32"}, {"classes", "8"}, {"width", "4"}}},
            {"bert-base", decoder},
            {"gpt2-small", decoder},
            {"llama3-8b", llama},
            {"vit-b16",
             {{"batch", "2"},
              {"image", "16"},
              {"patch", "8"},
              {"classes", "8"},
              {"layers", "1"},
              {"hidden", "128"},
              {"heads", "2"},
              {"feed_forward", "128"}}},
            {"switch-base-8",
             {{"batch", "2"},
              {"sequence", "16"},
              {"target", "8"},
              {"vocabulary", "64"},
              {"layers", "2"},
              {"hidden", "128"},
              {"heads", "2"},
              {"head_dim", "64"},
              {"feed_forward", "128"},
              {"experts", "4"}}}};
}

}  // namespace

TEST_CASE("every op of every model of the zoo has kernels, whatever the options") {
    target::GpuTarget hopper;
    hopper.compute_capability = 90;
    const std::vector<ModelOptions> variants{{},
                                             {{"type", "f32"}},
                                             {{"type", "f16"}, {"loss_scale", "dynamic"}},
                                             {{"recompute", "selective"}, {"dropout", "0.1"}},
                                             {{"recompute", "full"}, {"micro_batches", "2"}},
                                             {{"fp8", "1"}, {"recompute", "full"}},
                                             {{"optimizer", "adam"}},
                                             {{"optimizer", "sgd"}, {"momentum", "0.9"}}};
    for (const auto& [model, options] : small_models()) {
        for (const ModelOptions& variant : variants) {
            ModelOptions all = options;
            for (const auto& [key, value] : variant) all[key] = value;
            if (model == "lstm" && !all.contains("type")) all["type"] = "bf16";
            const trace::Trace trace = zoo::build(model, all);
            const lowering::GpuLowering lowered = lowering::lower_for_gpu(trace, hopper);
            for (std::size_t i = 0; i < lowered.ops.size(); ++i) {
                CAPTURE(model, variant, trace.ops[i].name);
                CHECK(lowered.ops[i].unsupported == "");
            }
        }
    }
}

TEST_CASE("training steps of the zoo's models compute what the reference does") {
    for (const char* model : {"lstm", "gpt2-small", "llama3-8b", "vit-b16", "switch-base-8"}) {
        ModelOptions options = small_models().at(model);
        for (const auto& [key, value] : ModelOptions{
                 {"type", "f32"}, {"optimizer", "sgd"}, {"learning_rate", "0.1"}, {"recompute", "full"}})
            options[key] = value;
        CAPTURE(model);
        CHECK(worst_error(zoo::build(model, options)) < 1e-4);
    }
}
