// The rules on small recordings written by hand: right meaning, and no meaning where the recording does not
// support one.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "coverage.h"
#include "isa/common/error.h"
#include "workloads/expression/expression.h"
#include "workloads/importers/chakra_execution.h"
#include "workloads/importers/import_recording.h"
#include "workloads/reference/execute.h"

using namespace heddle;
using trace::ChakraGraph;
using trace::ChakraNode;
using trace::OpKind;

namespace {

struct Tensor {
    unsigned id;
    std::string shape;  ///< "[2, 3]"
    std::string type = "float";
    unsigned offset = 0;
    std::string device = "cuda:0";
};

std::string value_of(const Tensor& t) {
    return "[" + std::to_string(t.id) + ", " + std::to_string(t.id + 1000) + ", " + std::to_string(t.offset) +
           ", 1, 4, '" + t.device + "']";
}

class Recorder {
  public:
    /// A call on the host; `literals` follow the tensors.
    std::uint64_t call(const std::string& name, const std::vector<Tensor>& inputs,
                       const std::string& literals, const std::vector<Tensor>& outputs,
                       std::uint64_t parent = 0) {
        ChakraNode node;
        node.id = ++last_;
        node.name = name;
        node.type = trace::ChakraNodeType::compute;
        node.control_dependencies = {parent};
        node.attributes.push_back({"is_cpu_op", true});
        node.inputs = operands(inputs, literals);
        node.outputs = operands(outputs, "");
        graph.nodes.push_back(node);
        return last_;
    }
    void kernel(const std::string& name, std::uint64_t parent, std::uint64_t microseconds = 3) {
        ChakraNode node = graph.nodes[parent - 1];
        node.id = ++last_;
        node.name = name;
        node.control_dependencies = {parent};
        node.duration_us = microseconds;
        node.attributes = {{"is_cpu_op", false}};
        graph.nodes.push_back(node);
    }
    trace::Trace import() const { return importers::import_chakra_execution(graph, "hand"); }

    ChakraGraph graph;

  private:
    static trace::ChakraOperands operands(const std::vector<Tensor>& tensors, const std::string& literals) {
        trace::ChakraOperands result{"[", "[", "["};
        std::string separator;
        for (const Tensor& t : tensors) {
            result.values += separator + value_of(t);
            result.shapes += separator + t.shape;
            result.types += separator + "'Tensor(" + t.type + ")'";
            separator = ", ";
        }
        if (!literals.empty()) {
            result.values += separator + literals;
            // Shapes and types of literals: one entry each, at the top level of the list.
            int depth = 0;
            result.shapes += separator + "[]";
            result.types += separator + "'Any'";
            for (const char c : literals) {
                depth += c == '[' ? 1 : c == ']' ? -1 : 0;
                if (c == ',' && depth == 0) {
                    result.shapes += ", []";
                    result.types += ", 'Any'";
                }
            }
        }
        result.values += "]";
        result.shapes += "]";
        result.types += "]";
        return result;
    }

    std::uint64_t last_ = 0;
};

std::string vectorized(const std::string& functor) {
    return "void at::native::vectorized_elementwise_kernel<4, " + functor +
           ", at::detail::Array<char*, 3> >(int)";
}

double evaluate(const trace::Op& op, const std::vector<double>& inputs) {
    double result = 0;
    expression::evaluate(expression::parse(op.get(keys::elementwise.expression)), inputs,
                         op.get(keys::elementwise.scalars), 0, {&result, 1});
    return result;
}

}  // namespace

TEST_CASE("a product whose operand is a transposed view reads the storage, transposed") {
    Recorder r;
    // w [5, 4] seen as [4, 5] with strides [1, 4].
    const auto t = r.call("aten::t", {{2, "[5, 4]"}}, "", {{3, "[4, 5]"}});
    r.graph.nodes.back().outputs.values = "[[3, 1002, 0, 20, 4, 'cuda:0']]";
    r.call("aten::as_strided", {{2, "[5, 4]"}}, "[4, 5], [1, 4], 0", {{3, "[4, 5]"}}, t);
    r.graph.nodes.back().outputs.values = "[[3, 1002, 0, 20, 4, 'cuda:0']]";
    const auto mm = r.call("aten::mm", {{1, "[3, 4]"}, {3, "[4, 5]"}}, "", {{4, "[3, 5]"}});
    r.graph.nodes.back().inputs.values = "[[1, 1001, 0, 12, 4, 'cuda:0'], [3, 1002, 0, 20, 4, 'cuda:0']]";
    r.kernel("ampere_sgemm_128x64_tn", mm, 17);
    const trace::Trace trace = r.import();
    REQUIRE(trace.ops.size() == 1);
    const trace::Op& op = trace.ops[0];
    CHECK(op.kind == OpKind::matmul);
    CHECK(op.measured_us == 17.0);
    CHECK(op.kernel_name == "ampere_sgemm_128x64_tn");
    CHECK(op.get(keys::matmul.transpose_a, -1) == 0);
    CHECK(op.get(keys::matmul.transpose_b, -1) == 1);
    CHECK(trace.tensor(op.inputs[1]).shape == std::vector<std::int64_t>{5, 4});
    CHECK(op.get(keys::any.tile) == std::vector<std::int64_t>{128, 64});
    CHECK(floating_point_operations(trace, op) == 2.0 * 3 * 5 * 4);
}

TEST_CASE("cuBLAS's column-major arguments become row-major products") {
    // te_gemm(A = weight [5, 4], transa, B = x [3, 4]) -> D [3, 5] = x weight^T; executed to be sure.
    Recorder r;
    std::vector<Tensor> none(1, {9, "[0]"});
    const auto gemm = r.call("tex_ts::te_gemm_ts", {}, "", {{4, "[3, 5]"}});
    ChakraNode& node = r.graph.nodes.back();
    node.inputs.values =
        "[[2, 1002, 0, 20, 4, 'cuda:0'], [9, 9, 0, 0, 4, 'cpu'], -1, 5, 1, [1, 1001, 0, 12, 4, 'cuda:0'], "
        "[9, 9, 0, 0, 4, 'cpu'], -1, 5, 0, [4, 1004, 0, 15, 4, 'cuda:0'], [9, 9, 0, 0, 4, 'cpu'], 5, "
        "[9, 9, 0, 0, 4, 'cpu'], [5, 1005, 0, 5, 4, 'cuda:0'], 5, [9, 9, 0, 0, 4, 'cpu'], 0, "
        "[8, 8, 0, 64, 1, 'cuda:0'], 64, 0, 0]";
    node.inputs.shapes =
        "[[5, 4], [0], [], [], [], [3, 4], [0], [], [], [], [3, 5], [0], [], [0], [5], [], [0], [], [64], "
        "[], [], []]";
    node.inputs.types =
        "['Tensor(float)', 'Tensor(float)', 'Int', 'Int', 'Int', 'Tensor(float)', 'Tensor(float)', 'Int', "
        "'Int', 'Int', "
        "'Tensor(float)', 'Tensor(float)', 'Int', 'Tensor(float)', 'Tensor(float)', 'Int', 'Tensor(float)', "
        "'Int', "
        "'Tensor(unsigned char)', 'Int', 'Int', 'Int']";
    r.kernel("sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize64x64x32", gemm);
    const trace::Trace trace = r.import();
    const trace::Op& op = trace.ops.at(0);
    REQUIRE(op.kind == OpKind::matmul);
    reference::TensorValues values(trace);
    const auto set = [&](trace::TensorId id, double start) {
        for (std::size_t i = 0; i < values[id].size(); ++i) values[id][i] = start + static_cast<double>(i);
    };
    set(op.inputs[0], 1);
    set(op.inputs[1], -3);
    set(op.inputs[2], 100);
    const std::vector<double> x(values[op.inputs[0]].begin(), values[op.inputs[0]].end());
    const std::vector<double> w(values[op.inputs[1]].begin(), values[op.inputs[1]].end());
    REQUIRE(x.size() == 12);
    REQUIRE(w.size() == 20);
    reference::execute(trace, values);
    for (int i = 0; i < 3; ++i) {
        for (int j = 0; j < 5; ++j) {
            double expected = 100 + j;
            for (int k = 0; k < 4; ++k) expected += x[i * 4 + k] * w[j * 4 + k];
            CHECK(values[op.outputs[0]][i * 5 + j] == expected);
        }
    }
}

TEST_CASE("functors mean what PyTorch documents") {
    struct Case {
        std::string functor, call;
        unsigned tensors;
        std::string literals;
        std::vector<double> inputs;
        double expected;
    };
    const std::vector<Case> cases{
        {"at::native::CUDAFunctor_add<float>", "aten::add", 2, "1", {5, 3}, 8},
        {"at::native::CUDAFunctor_add<float>", "aten::sub_", 2, "1", {5, 3}, 2},
        {"at::native::CUDAFunctor_add<float>", "aten::add_", 2, "-0.5", {5, 3}, 3.5},
        {"at::native::CUDAFunctorOnSelf_add<float>", "aten::sub", 1, "2, 1", {5}, 3},
        {"BinaryFunctor<float, float, float, binary_internal::MulFunctor<float> >",
         "aten::mul",
         2,
         "",
         {5, 3},
         15},
        {"BinaryFunctor<float, float, float, binary_internal::DivFunctor<float> >",
         "aten::div_",
         2,
         "",
         {5, 2},
         2.5},
        {"BUnaryFunctor<float, float, float, binary_internal::MulFunctor<float> >",
         "aten::div",
         1,
         "4",
         {5},
         1.25},
        {"AUnaryFunctor<float, float, float, binary_internal::MulFunctor<float> >",
         "aten::mul",
         1,
         "4",
         {5},
         20},
        {"pow_tensor_scalar_kernel_impl<float, float>", "aten::pow", 1, "3", {2}, 8},
        {"sqrt_kernel_cuda(at::TensorIteratorBase&)", "aten::pow", 1, "0.5", {9}, 3},
        {"launch_clamp_scalar(at::TensorIteratorBase&)", "aten::clamp", 1, "'<None>', 1.0", {7}, 1},
        {"launch_clamp_scalar(at::TensorIteratorBase&)", "aten::clamp_min", 1, "0", {-7}, 0},
        {"compare_scalar_kernel<long>", "aten::ge", 1, "4", {4}, 1},
        {"compare_scalar_kernel<long>", "aten::lt", 1, "4", {4}, 0},
        {"threshold_kernel_impl<float>", "aten::threshold_backward", 2, "0", {5, -1}, 0},
        {"threshold_kernel_impl<float>", "aten::threshold_backward", 2, "0", {5, 1}, 5},
        {"masked_fill_kernel(at::TensorIterator&)", "aten::masked_fill_", 2, "-2.0", {5, 1}, -2},
        {"masked_fill_kernel(at::TensorIterator&)", "aten::masked_fill_", 2, "-2.0", {5, 0}, 5},
        {"GeluCUDAKernelImpl(at::TensorIteratorBase&)",
         "aten::gelu",
         1,
         "'none'",
         {1},
         0.5 * (1 + std::erf(std::sqrt(0.5)))},
        // d/dx GELU at 1 is Phi(1) + phi(1).
        {"GeluBackwardCUDAKernelImpl(at::TensorIteratorBase&)",
         "aten::gelu_backward",
         2,
         "'none'",
         {2, 1},
         2 * (0.5 * (1 + std::erf(std::sqrt(0.5))) + std::exp(-0.5) / std::sqrt(2 * M_PI))},
    };
    for (const Case& c : cases) {
        Recorder r;
        std::vector<Tensor> inputs;
        for (unsigned i = 0; i < c.tensors; ++i) inputs.push_back({i + 1, "[8]"});
        r.kernel(vectorized(c.functor), r.call(c.call, inputs, c.literals, {{7, "[8]"}}));
        const trace::Trace trace = r.import();
        CAPTURE(c.functor, c.call, trace.ops[0].get(keys::any.reason));
        REQUIRE(trace.ops[0].kind == OpKind::elementwise);
        CHECK(evaluate(trace.ops[0], c.inputs) == Approx(c.expected).epsilon(1e-12));
        CHECK(trace.ops[0].get(keys::any.vector_width) == 4);
    }
}

TEST_CASE("nothing is guessed: strangers and unknown kernels stay unknown with a reason and their time") {
    Recorder r;
    r.kernel(vectorized("at::native::CUDAFunctor_add<float>"),
             r.call("aten::batch_norm", {{1, "[8]"}, {2, "[8]"}}, "1", {{3, "[8]"}}));
    r.kernel("my_private_kernel(float*)", r.call("mine::op", {{1, "[8]"}}, "", {{3, "[8]"}}), 40);
    r.kernel("triton_poi_fused_cos_sin_3",
             r.call("triton_poi_fused_cos_sin_3", {{1, "[8]"}, {2, "[8]"}}, "8", {}));
    r.kernel("cutlass_80_tensorop_gemm_128x128", r.call("aten::conv2d", {{1, "[8]"}}, "", {{3, "[8]"}}));
    const trace::Trace trace = r.import();
    REQUIRE(trace.ops.size() == 4);
    for (const trace::Op& op : trace.ops) {
        CHECK(op.kind == OpKind::unknown);
        CHECK_FALSE(op.get(keys::any.reason).empty());
        CHECK(op.measured_us.has_value());
    }
    const test::Coverage coverage = test::coverage_of(trace);
    CHECK(coverage.kinds.at(OpKind::unknown).ops == 4);
    CHECK(coverage.total.microseconds == 3 + 40 + 3 + 3);
}

TEST_CASE("dependencies follow from what is read and overwritten, by range of the storage") {
    Recorder r;
    const std::string add = vectorized("at::native::CUDAFunctor_add<float>");
    const auto elementwise = [&](const Tensor& a, const Tensor& b, const Tensor& y) {
        r.kernel(add, r.call("aten::add", {a, b}, "1", {y}));
    };
    const Tensor x{1, "[8]"}, y{2, "[8]"}, z{3, "[8]"}, second_half{3, "[4]", "float", 4}, w{4, "[4]"};
    elementwise(x, x, y);                                // 0: y = x + x
    elementwise(y, x, z);                                // 1: z after 0
    elementwise(x, x, y);                                // 2: y again, after 0 (write) and 1 (read)
    elementwise(w, w, second_half);                      // 3: half of z, after 1
    elementwise(second_half, second_half, w);            // 4: after 3, and overwrites w, which 3 read
    elementwise(Tensor{3, "[4]"}, w, Tensor{5, "[4]"});  // 5: first half of z (1), and w (4)
    const trace::Trace trace = r.import();
    using Ids = std::vector<trace::OpId>;
    CHECK(trace.ops[0].dependencies.empty());
    CHECK(trace.ops[1].dependencies == Ids{0});
    CHECK(trace.ops[2].dependencies == Ids{0, 1});
    CHECK(trace.ops[3].dependencies == Ids{1});
    CHECK(trace.ops[4].dependencies == Ids{3});
    CHECK(trace.ops[5].dependencies == Ids{1, 4});
}

TEST_CASE("phases come from the enclosing calls") {
    Recorder r;
    const std::string add = vectorized("at::native::CUDAFunctor_add<float>");
    const auto op = [&](std::uint64_t parent) {
        r.kernel(add, r.call("aten::add", {{1, "[8]"}, {2, "[8]"}}, "1", {{3, "[8]"}}, parent));
    };
    op(0);
    op(r.call("autograd::engine::evaluate_function: AddBackward0", {}, "", {}));
    op(0);
    op(r.call("Optimizer.step#SGD.step", {}, "", {}));
    const trace::Trace trace = r.import();
    CHECK(trace.ops[0].phase == trace::Phase::forward);
    CHECK(trace.ops[1].phase == trace::Phase::backward);
    CHECK(trace.ops[2].phase == trace::Phase::optimizer);  // after the last backward op
    CHECK(trace.ops[3].phase == trace::Phase::optimizer);
}

TEST_CASE("unreadable operands and empty recordings are errors that name the node") {
    Recorder r;
    CHECK_THROWS_AS(r.import(), Error);
    r.kernel("kernel()", r.call("aten::add", {{1, "[8]"}}, "", {}));
    r.graph.nodes[0].inputs.values = "[[1, 2";
    try {
        r.import();
        FAIL("no error");
    } catch (const Error& error) {
        CHECK(std::string(error.what()).find("node 1 (aten::add)") != std::string::npos);
    }
}

TEST_CASE("a collective of a process group has the bytes of its tensors and the recorded ranks") {
    Recorder recorder;
    const std::uint64_t scope = recorder.call("autograd::engine::evaluate_function: step", {}, "", {});
    const std::string bucket = "[[9, 1009, 0, 1, 4, 'cuda:0'], [10, 1010, 0, 1, 4, 'cuda:0']]";
    const std::uint64_t call = recorder.call("c10d::allreduce_", {}, "", {}, scope);
    ChakraNode& node = recorder.graph.nodes[call - 1];
    node.inputs = {"[" + bucket + "]", "[[[300, 4], [25]]]", "['GenericList[Tensor(float),Tensor(float)]']"};
    node.attributes.push_back({"pg_size", std::int64_t{8}});
    const trace::Trace trace = recorder.import();
    REQUIRE(trace.ops.size() == 1);
    CHECK(trace.ops[0].kind == OpKind::collective);
    CHECK(trace.ops[0].phase == trace::Phase::communication);
    CHECK(trace.ops[0].get(keys::collective.collective) == "all_reduce");
    CHECK(trace.ops[0].get(keys::collective.bytes) == 4 * (300 * 4 + 25));
    CHECK(trace.ops[0].get(keys::collective.ranks) == 8);
}

TEST_CASE(
    "what the update changes is a parameter where the model reads it, otherwise the optimizer's state") {
    Recorder recorder;
    const std::uint64_t forward = recorder.call("## forward ##", {}, "", {});
    recorder.call("aten::mm", {{1, "[4, 8]"}, {2, "[8, 2]"}}, "", {{3, "[4, 2]"}}, forward);
    const std::uint64_t backward = recorder.call("autograd::engine::evaluate_function: step", {}, "", {});
    recorder.call("aten::ones_like", {{3, "[4, 2]"}}, "", {{4, "[4, 2]"}}, backward);
    recorder.call("aten::mm", {{1, "[8, 4]"}, {4, "[4, 2]"}}, "", {{5, "[8, 2]"}}, backward);
    const std::uint64_t update = recorder.call("Optimizer.step#SGD.step", {}, "", {});
    recorder.call("aten::add_", {{6, "[8, 2]"}, {5, "[8, 2]"}}, "1", {{6, "[8, 2]"}}, update);
    recorder.call("aten::add_", {{2, "[8, 2]"}, {6, "[8, 2]"}}, "-0.1", {{2, "[8, 2]"}}, update);
    const trace::Trace trace = recorder.import();
    const auto role = [&trace](std::uint64_t storage) {
        const auto found = std::find_if(trace.tensors.begin(), trace.tensors.end(),
                                        [&](const trace::Tensor& t) { return t.storage == storage; });
        REQUIRE(found != trace.tensors.end());
        return found->role;
    };
    CHECK(role(1002) == trace::TensorRole::parameter);
    CHECK(role(1006) == trace::TensorRole::optimizer_state);
    CHECK(role(1005) == trace::TensorRole::gradient);
}

TEST_CASE("masks by triu are copies, a softmax safe against masked rows is a softmax") {
    Recorder recorder;
    recorder.call("aten::triu", {{1, "[8, 8]"}}, "1", {{2, "[8, 8]"}});
    recorder.call("aten::_safe_softmax", {{2, "[8, 8]"}}, "-1, '<None>'", {{3, "[8, 8]"}});
    const trace::Trace trace = recorder.import();
    REQUIRE(trace.ops.size() == 2);
    CHECK(trace.ops[0].kind == OpKind::copy);
    CHECK_FALSE(trace.ops[0].get(keys::any.assumed).empty());
    CHECK(trace.ops[1].kind == OpKind::softmax);
    CHECK(trace.ops[1].dependencies == std::vector<trace::OpId>{0});
}

TEST_CASE("a reader need not know strides") {
    importers::Recording recording;
    const auto tensor = [](std::uint64_t id, const trace::Shape& shape) {
        importers::RecordedTensor made;
        made.id = made.storage = id;
        made.shape = shape;
        importers::Argument argument;
        argument.tensor = std::move(made);
        return argument;
    };
    importers::Call product;
    product.id = 1;
    product.full_name = recording.names().of("aten::mm");
    product.inputs = {tensor(1, {32, 64}), tensor(2, {64, 128})};
    product.outputs = {tensor(3, {32, 128})};
    importers::Call kernel;
    kernel.id = 2;
    kernel.caller = 1;
    kernel.on_gpu = true;
    kernel.full_name = recording.names().of("ampere_sgemm_64x64_nn");
    kernel.start_us = 0;
    kernel.duration_us = 12.5;
    recording.add(std::move(product));
    recording.add(std::move(kernel));
    recording.finish();
    const trace::Trace trace = importers::import_recording(std::move(recording), "hand");
    REQUIRE(trace.ops.size() == 1);
    CHECK(trace.ops[0].kind == OpKind::matmul);
    CHECK(trace.ops[0].measured_us == 12.5);
    CHECK(trace.ops[0].strides("input1").empty());
    CHECK(trace.tensor(trace.ops[0].inputs.at(1)).shape == trace::Shape{64, 128});
}
