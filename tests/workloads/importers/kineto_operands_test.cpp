// Which tensors the calls of a profile read, where the profile has only their shapes; and slices of products.
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>

#include "workloads/importers/import_recording.h"
#include "workloads/importers/kineto.h"
#include "workloads/trace_files/byte_stream.h"

using namespace heddle;
using trace::OpKind;
using trace::Trace;

namespace {

/// A profile as PyTorch 1 wrote it, one event after the other.
class Profile {
  public:
    /// A call that lasts until end() is called as often. `types`: as recorded; all are f32 tensors unless
    /// given.
    void begin(const std::string& name, const std::string& dims, int sequence = -1,
               const std::string& types = "") {
        open_.push_back({name, dims, types, sequence, now_++});
    }
    void end() {
        const Open call = open_.back();
        open_.pop_back();
        std::string types = "[";
        if (!call.types.empty()) types = call.types.substr(0, call.types.size() - 1);
        for (std::size_t at = call.dims.find("[", 1); at != std::string::npos && call.types.empty();
             at = call.dims.find("[", at + 1))
            types += types.size() > 1 ? ", \"float\"" : "\"float\"";
        event("\"cat\": \"cpu_op\", \"name\": \"" + call.name + "\", \"pid\": 1, \"tid\": 1", call.start,
              now_++ - call.start,
              "\"External id\": " + std::to_string(++ids_) + ", \"Input Dims\": " + call.dims +
                  ", \"Input type\": " + types + "]" +
                  (call.sequence >= 0 ? ", \"Sequence number\": " + std::to_string(call.sequence) : ""));
    }
    void kernel(const std::string& name, double duration = 2, const std::string& grid = "[1, 1, 1]") {
        const std::string id = std::to_string(++ids_);
        const std::string link = "\"External id\": " + id + ", \"correlation\": " + id;
        event("\"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", \"pid\": 1, \"tid\": 1", now_, 1,
              link);
        event("\"cat\": \"kernel\", \"name\": \"" + name + "\", \"pid\": 0, \"tid\": 7", 10000 + now_,
              duration,
              link + ", \"device\": 0, \"stream\": 7, \"grid\": " + grid + ", \"block\": [128, 1, 1]");
        now_ += 2;
    }
    void memory_copy(const std::string& name, std::int64_t bytes) {
        const std::string id = std::to_string(++ids_);
        const std::string link = "\"External id\": " + id + ", \"correlation\": " + id;
        event("\"cat\": \"cuda_runtime\", \"name\": \"cudaMemcpyAsync\", \"pid\": 1, \"tid\": 1", now_, 1,
              link);
        event("\"cat\": \"gpu_memcpy\", \"name\": \"" + name + "\", \"pid\": 0, \"tid\": 7", 10000 + now_, 2,
              link + ", \"device\": 0, \"stream\": 7, \"bytes\": " + std::to_string(bytes));
        now_ += 2;
    }
    void call(const std::string& name, const std::string& dims, const std::string& kernel_name,
              int sequence = -1) {
        begin(name, dims, sequence);
        kernel(kernel_name);
        end();
    }
    Trace import() const {
        return importers::import_recording(
            importers::read_kineto(*trace::memory_stream("{\"traceEvents\": [" + events_ + "]}"), "hand"),
            "hand");
    }

  private:
    struct Open {
        std::string name, dims, types;
        int sequence, start;
    };
    void event(const std::string& what, double start, double duration, const std::string& args) {
        events_ += std::string(events_.empty() ? "" : ",\n") + "{\"ph\": \"X\", " + what +
                   ", \"ts\": " + std::to_string(start) + ", \"dur\": " + std::to_string(duration) +
                   ", \"args\": {" + args + "}}";
    }
    std::vector<Open> open_;
    std::string events_;
    int now_ = 100, ids_ = 0;
};

const std::string kRelu =
    "void at::native::vectorized_elementwise_kernel<4, at::native::(anonymous namespace)::"
    "launch_clamp_scalar(at::TensorIteratorBase&)>(int)";
const std::string kAdd =
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>(int)";
const std::string kMultiply =
    "void at::native::vectorized_elementwise_kernel<4, at::native::BinaryFunctor<float, float, float, "
    "at::native::binary_internal::MulFunctor<float> >>(int)";

std::uint64_t storage(const Trace& trace, trace::TensorId id) {
    return trace.tensor(id).storage;
}

}  // namespace

TEST_CASE("two operands of one shape are two tensors: the newest results of that shape") {
    Profile profile;
    profile.call("aten::relu", "[[64, 32]]", kRelu);
    profile.call("aten::relu", "[[64, 32]]", kRelu);
    profile.call("aten::add", "[[64, 32], [64, 32], []]", kAdd);
    const Trace trace = profile.import();
    REQUIRE(trace.ops.size() == 3);
    const trace::Op& sum = trace.ops[2];
    REQUIRE(sum.inputs.size() == 2);
    CHECK(storage(trace, sum.inputs[0]) == storage(trace, trace.ops[1].outputs[0]));
    CHECK(storage(trace, sum.inputs[1]) == storage(trace, trace.ops[0].outputs[0]));
    // Each is read, and the sum written.
    CHECK(bytes_moved(trace, sum) == 3 * 64 * 32 * 4);
}

TEST_CASE("a gradient reads what its forward call read, not the newest tensor of that shape") {
    Profile profile;
    profile.call("aten::relu", "[[64, 32]]", kRelu);                              // a
    profile.call("aten::relu", "[[64, 32]]", kRelu);                              // b
    profile.call("aten::mul", "[[64, 32], [64, 32]]", kMultiply, 7);              // b * a
    for (int i = 0; i < 3; ++i) profile.call("aten::relu", "[[64, 32]]", kRelu);  // newer ones; the last: d y
    profile.begin("MulBackward0", "[[64, 32]]", 7);
    profile.call("aten::mul", "[[64, 32], [64, 32]]", kMultiply);
    profile.call("aten::mul", "[[64, 32], [64, 32]]", kMultiply);
    profile.end();
    const Trace trace = profile.import();
    REQUIRE(trace.ops.size() == 8);
    const std::uint64_t a = storage(trace, trace.ops[0].outputs[0]),
                        b = storage(trace, trace.ops[1].outputs[0]),
                        gradient = storage(trace, trace.ops[5].outputs[0]);
    for (const std::size_t product : {6, 7}) {
        INFO("op " << product);
        REQUIRE(trace.ops[product].inputs.size() == 2);
        CHECK(storage(trace, trace.ops[product].inputs[0]) == gradient);
    }
    CHECK(storage(trace, trace.ops[6].inputs[1]) != storage(trace, trace.ops[7].inputs[1]));
    for (const std::size_t product : {6, 7}) {
        const std::uint64_t saved = storage(trace, trace.ops[product].inputs[1]);
        CHECK((saved == a || saved == b));
    }
}

TEST_CASE("the engine of autograd adds gradients, not what a forward call saved") {
    Profile profile;
    profile.call("aten::relu", "[[64, 32]]", kRelu);
    profile.call("aten::relu", "[[64, 32]]", kRelu, 7);
    profile.begin("autograd::engine::evaluate_function: ReluBackward0", "[]", 7);
    profile.begin("ReluBackward0", "[[64, 32]]", 7);
    profile.call("aten::mul", "[[64, 32], [64, 32]]", kMultiply);  // a gradient
    profile.end();
    profile.end();
    profile.call("aten::relu", "[[64, 32]]", kRelu);  // newer, but none
    profile.begin("autograd::engine::evaluate_function: MulBackward0", "[]", 8);
    profile.begin("MulBackward0", "[[64, 32]]", 8);
    profile.call("aten::mul", "[[64, 32], [64, 32]]", kMultiply);  // the other
    profile.end();
    profile.call("aten::add", "[[64, 32], [64, 32], []]", kAdd);
    profile.end();
    const Trace trace = profile.import();
    REQUIRE(trace.ops.size() == 6);
    const trace::Op& sum = trace.ops[5];
    REQUIRE(sum.inputs.size() == 2);
    CHECK(storage(trace, sum.inputs[0]) == storage(trace, trace.ops[4].outputs[0]));
    CHECK(storage(trace, sum.inputs[1]) == storage(trace, trace.ops[2].outputs[0]));
}

TEST_CASE("the engine of autograd sums the node's gradient, by the block that the kernel's name tells") {
    Profile profile;
    profile.call("aten::relu", "[[64, 32]]", kRelu);  // the gradient
    profile.begin("autograd::engine::evaluate_function: AddmmBackward0", "[]", 9);
    profile.begin("AddmmBackward0", "[[64, 32]]", 9);
    profile.begin("aten::transpose", "[[32, 64], [], []]");  // a view of the same shape, newer
    profile.end();
    profile.end();
    profile.begin("aten::sum", "[[64, 32], [], [], []]");
    profile.call("aten::sum", "[[64, 32], [], [], []]",
                 "void at::native::reduce_kernel<128, 4, at::native::ReduceOp<float, "
                 "at::native::func_wrapper_t<float, at::native::sum_functor<float, float, float> > > >(int)");
    profile.end();
    profile.end();
    profile.begin("aten::view", "[[1, 32], []]");
    profile.end();
    const Trace trace = profile.import();
    REQUIRE(trace.ops.size() == 2);
    const trace::Op& sum = trace.ops[1];
    REQUIRE(sum.kind == OpKind::reduce);
    CHECK(storage(trace, sum.inputs[0]) == storage(trace, trace.ops[0].outputs[0]));
    CHECK(sum.strides("input0").empty());
    CHECK(sum.get(keys::reduce.axes) == std::vector<std::int64_t>{0});
    CHECK(sum.get(keys::any.threads) == 128);
    CHECK(sum.get(keys::any.vector_width) == 4);
}

TEST_CASE("a view with its axes in another order is read through its strides") {
    Profile profile;
    profile.call("aten::relu", "[[8, 64, 32]]", kRelu);
    profile.begin("aten::transpose", "[[8, 64, 32], [], []]");
    profile.end();
    profile.call("aten::bmm", "[[8, 32, 64], [8, 64, 16]]",
                 "void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_64x64_32x4_nn_align4>(int)");
    const Trace trace = profile.import();
    REQUIRE(trace.ops.size() == 2);
    const trace::Op& product = trace.ops[1];
    // Transposed in memory: the product reads the tensor as it lies, with the flag turned.
    CHECK(product.get(keys::matmul.transpose_a) == 1);
    CHECK(storage(trace, product.inputs[0]) == storage(trace, trace.ops[0].outputs[0]));
    CHECK(trace.tensor(product.inputs[0]).shape == std::vector<std::int64_t>{8, 64, 32});
}

TEST_CASE("a product's grid tells its slices of k, and the kernel that adds them is a part of it") {
    const std::string gemm = "void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_64x64_32x6_tn_align4>(int)";
    for (const bool batched : {false, true}) {
        Profile profile;
        profile.begin(batched ? "aten::bmm" : "aten::mm",
                      batched ? "[[5, 64, 512], [5, 512, 128]]" : "[[64, 512], [512, 128]]");
        profile.kernel(gemm, 9, "[2, 1, 5]");
        if (!batched)
            profile.kernel("void splitKreduce_kernel<float, float, float, float, true, false, false>(int)",
                           3);
        profile.end();
        const Trace trace = profile.import();
        REQUIRE(trace.ops.size() == 1);
        CHECK(trace.ops[0].kind == OpKind::matmul);
        CHECK(trace.ops[0].get(keys::any.slices) == (batched ? 1 : 5));
        CHECK(trace.ops[0].get(keys::any.stages) == 6);
        CHECK(trace.ops[0].get(keys::any.copy_elements) == 4);
        CHECK(trace.ops[0].measured_us == (batched ? 9 : 12));
        CHECK(trace.ops[0].get(keys::any.kernels) == (batched ? 1 : 2));
    }
}

namespace {

const std::string kCat =
    "void at::native::(anonymous namespace)::CatArrayBatchedCopy<float, unsigned int, 2, 128, 1>(float*)";

/// y = split(x), a newer tensor of each part's shape, and the gradient of x as PyTorch 1 records it: cat
/// without its list and its axis.
Trace gradient_of_split(const std::string& whole, const std::string& parts) {
    Profile profile;
    profile.call("aten::relu", whole, kRelu);
    profile.begin("aten::split_with_sizes", whole, 9);
    profile.end();
    profile.begin("SplitWithSizesBackward0", parts, 9);
    profile.begin("aten::cat", "[[], []]", -1, "[\"TensorList\", \"Scalar\"]");
    profile.kernel(kCat);
    profile.end();
    profile.end();
    profile.call("aten::relu", whole, kRelu);
    return profile.import();
}

}  // namespace

TEST_CASE("the gradient of a split joins the node's gradients along the axis that was split") {
    struct Split {
        const char *whole, *parts;
        std::int64_t axis;
    };
    for (const Split& split : {Split{"[[64, 100]]", "[[64, 30], [64, 60], [64, 10]]", 1},
                               Split{"[[100, 64]]", "[[30, 64], [60, 64], [10, 64]]", 0},
                               Split{"[[64, 192]]", "[[64, 64], [64, 64], [64, 64]]", 1}}) {
        INFO(split.whole);
        const Trace trace = gradient_of_split(split.whole, split.parts);
        REQUIRE(trace.ops.size() == 3);
        const trace::Op& joined = trace.ops[1];
        REQUIRE(joined.kind == OpKind::concat);
        CHECK(joined.get(keys::concat.axis, -1) == split.axis);
        REQUIRE(joined.inputs.size() == 3);
        CHECK(storage(trace, joined.inputs[0]) != storage(trace, joined.inputs[1]));
        CHECK(trace.tensor(joined.outputs[0]).shape == trace.tensor(trace.ops[0].outputs[0]).shape);
        // What reads the whole next reads the joined one.
        CHECK(storage(trace, trace.ops[2].inputs[0]) == storage(trace, joined.outputs[0]));
    }
}

TEST_CASE("a split with a gradient that was not recorded is not made up") {
    // The second part has no gradient: what was joined in its place is not known.
    const Trace trace = gradient_of_split("[[64, 100]]", "[[64, 30], [64, 10]]");
    REQUIRE(trace.ops.size() == 3);
    CHECK(trace.ops[1].kind == OpKind::unknown);
}

TEST_CASE("a copy of recorded size is one, though its list was not recorded") {
    for (const std::int64_t bytes : {4096, 4097}) {
        Profile profile;
        profile.begin("aten::cat", "[[], []]", -1, "[\"TensorList\", \"Scalar\"]");
        profile.memory_copy("Memcpy DtoD (Device -> Device)", bytes);
        profile.end();
        const Trace trace = profile.import();
        REQUIRE(trace.ops.size() == 1);
        REQUIRE(trace.ops[0].kind == OpKind::copy);
        CHECK(!trace.ops[0].get(keys::any.assumed).empty());
        CHECK(bytes_moved(trace, trace.ops[0]) == static_cast<std::uint64_t>(2 * bytes));
    }
}

TEST_CASE("FBGEMM's changes of the order of columns read and write every element once") {
    const std::string function = "torch::autograd::CppNode<fbgemm_gpu::PermutePooledEmbsFunction<&f> >";
    struct Move {
        std::string call, dims, kernel;
    };
    for (const Move& move :
         {Move{"fbgemm::permute_pooled_embs_auto_grad", "[[64, 512]]", "permute_pooled_embs_kernel"},
          Move{function, "[[64, 512]]", "permute_pooled_embs_kernel"},
          Move{"fbgemm::recat_embedding_grad_output_mixed_D_batch", "[[64, 512]]",
               "recat_copy_async_kernel"}}) {
        INFO(move.call);
        Profile profile;
        profile.call("aten::relu", "[[64, 512]]", kRelu);
        profile.call(move.call, move.dims, "void " + move.kernel + "<float>(float const*, float*)");
        profile.call("aten::relu", "[[64, 512]]", kRelu);
        const Trace trace = profile.import();
        REQUIRE(trace.ops.size() == 3);
        const trace::Op& moved = trace.ops[1];
        REQUIRE(moved.kind == OpKind::copy);
        CHECK(!moved.get(keys::any.assumed).empty());
        CHECK(storage(trace, moved.inputs[0]) == storage(trace, trace.ops[0].outputs[0]));
        CHECK(storage(trace, moved.outputs[0]) == storage(trace, trace.ops[2].inputs[0]));
        CHECK(storage(trace, moved.outputs[0]) != storage(trace, moved.inputs[0]));
        CHECK(bytes_moved(trace, moved) == 2 * 64 * 512 * 4);
    }
}

TEST_CASE("a kernel of FBGEMM is no matrix product for its library's name") {
    Profile profile;
    profile.begin("aten::mm", "[[64, 32], [32, 16]]");
    profile.kernel("void fbgemm_gpu::permute_indices_weights_kernel<false, int, float>(int)");
    profile.kernel("void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_64x64_32x4_nn_align4>(int)");
    profile.kernel("void fbgemm_gpu::some_gemm_kernel<float>(int)");
    profile.end();
    const Trace trace = profile.import();
    std::vector<OpKind> kinds;
    for (const trace::Op& op : trace.ops) kinds.push_back(op.kind);
    CHECK(std::count(kinds.begin(), kinds.end(), OpKind::matmul) == 2);
}

TEST_CASE("an optimizer without a list updates what gradients were accumulated for") {
    const std::string adam =
        "void multi_tensor_apply_kernel<TensorListMetadata<4>, AdamFunctor<float>, float, float>(int)";
    for (const bool fits : {true, false}) {
        Profile profile;
        const auto step = [&](const std::string& first_grid) {
            for (const char* dims : {"[[65536, 2]]", "[[100]]"}) {
                profile.begin("torch::autograd::AccumulateGrad", dims);
                profile.end();
            }
            profile.begin("Optimizer.step#FusedAdam.step", "[]");
            profile.kernel(adam, 5, first_grid);
            profile.kernel(adam, 4, "[1, 1, 1]");
            profile.end();
        };
        step("[2, 1, 1]");
        step(fits ? "[2, 1, 1]" : "[9, 1, 1]");
        const Trace trace = profile.import();
        REQUIRE(trace.ops.size() == 4);
        // 131,172 elements in three chunks, of which the launches have two and one.
        for (const std::size_t i : {0, 1, 2, 3}) {
            INFO("op " << i);
            const trace::Op& update = trace.ops[i];
            if (i >= 2 && !fits) {
                CHECK(update.kind == OpKind::unknown);
                continue;
            }
            REQUIRE(update.kind == OpKind::elementwise);
            const std::int64_t elements = i % 2 == 0 ? 87448 : 43724;
            CHECK(trace.tensor(update.inputs[0]).elements() == elements);
            // Gradients, parameters and two moments are read, the last three written.
            CHECK(bytes_moved(trace, update) == 7 * 4 * elements);
        }
    }
}
