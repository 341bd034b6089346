// Recordings without shapes: what names, grids and recorded bytes say, against recordings that have the shapes.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "data.h"
#include "workloads/importers/import_recording.h"
#include "workloads/importers/inferred_ops.h"
#include "workloads/importers/kineto.h"
#include "workloads/importers/open_trace.h"
#include "workloads/importers/recording_facts.h"
#include "workloads/trace_files/byte_stream.h"

using namespace heddle;
using trace::Op;
using trace::OpKind;
using trace::Trace;

namespace {

/// One kernel under a call without shapes.
Trace one_kernel(const std::string& name, const std::string& grid, const std::string& block,
                 const std::string& more = "", const std::string& category = "kernel") {
    const std::string text =
        R"({"traceEvents": [
        {"ph": "X", "cat": "cpu_op", "name": "aten::something", "pid": 1, "tid": 1, "ts": 100, "dur": 50,
         "args": {"External id": 7}},
        {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 110, "dur": 5,
         "args": {"External id": 7, "correlation": 70}},
        {"ph": "X", "cat": ")" +
        category + R"(", "name": ")" + name +
        R"(", "pid": 0, "tid": 7, "ts": 130, "dur": 40, "args": {"External id": 7, "correlation": 70, "stream": 7)" +
        (grid.empty() ? "" : R"(, "grid": )" + grid + R"(, "block": )" + block) + more + "}}]}";
    return importers::import_recording(importers::read_kineto(*trace::memory_stream(text), "made.json"), "made");
}

bool is_inferred(const Op& op) {
    return op.get(keys::any.assumed).rfind(importers::kInferred, 0) == 0;
}

std::int64_t elements_of_result(const Trace& trace, const Op& op) {
    return op.outputs.empty() ? 0 : trace.tensor(op.outputs[0]).elements();
}

const std::string kAdd =
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, at::detail::Array<char*, "
    "3> >(int, at::native::CUDAFunctor_add<float>, at::detail::Array<char*, 3>)";

/// Ops of a single pointwise kernel, in order.
std::vector<const Op*> pointwise_ops(const Trace& trace) {
    std::vector<const Op*> ops;
    for (const Op& op : trace.ops)
        if (op.kernel_name.find("elementwise_kernel<") != std::string::npos &&
            op.kernel_name.find("index_elementwise") == std::string::npos &&
            op.kernel_name.find("scatter_gather") == std::string::npos && op.get(keys::any.kernels) == 1)
            ops.push_back(&op);
    return ops;
}

}  // namespace

TEST_CASE("a pointwise kernel without shapes has the elements of its grid and the operands of its name") {
    const Trace trace = one_kernel(kAdd, "[12544, 1, 1]", "[128, 1, 1]");
    REQUIRE(trace.ops.size() == 1);
    const Op& op = trace.ops[0];
    CHECK(op.kind == OpKind::elementwise);
    REQUIRE(op.inputs.size() == 2);
    CHECK(elements_of_result(trace, op) == 12544 * 128 * 4);
    CHECK(trace.tensor(op.inputs[0]).type == trace::ElementType::f32);
    CHECK(is_inferred(op));
    CHECK_THAT(op.get(keys::any.assumed), Catch::Contains("12544 blocks of 128 threads with 4 a thread"));
}

TEST_CASE("newer names: wider vectors take more elements a thread, arrays are those of the standard library") {
    const Trace trace = one_kernel(
        "void at::native::vectorized_elementwise_kernel<8, at::native::AUnaryFunctor<c10::BFloat16, c10::BFloat16, "
        "c10::BFloat16, at::native::binary_internal::MulFunctor<float> >, std::array<char*, 2ul> >(int, X)",
        "[1000, 1, 1]", "[128, 1, 1]");
    REQUIRE(trace.ops.size() == 1);
    CHECK(trace.ops[0].inputs.size() == 1);
    CHECK(elements_of_result(trace, trace.ops[0]) == 1000 * 128 * 8);
    CHECK(trace.tensor(trace.ops[0].outputs[0]).type == trace::ElementType::bf16);
}

TEST_CASE("copies and fills have the recorded bytes, collectives the kind in their name") {
    Trace trace = one_kernel("Memset (Device)", "", "", R"(, "bytes": 6291456)", "gpu_memset");
    CHECK(trace.ops.at(0).kind == OpKind::fill);
    CHECK(elements_of_result(trace, trace.ops[0]) == 6291456 / 4);
    trace = one_kernel("Memcpy HtoD (Pinned -> Device)", "", "", R"(, "bytes": 1001)", "gpu_memcpy");
    CHECK(trace.ops.at(0).kind == OpKind::host_copy);
    CHECK(elements_of_result(trace, trace.ops[0]) == 1001);
    trace = one_kernel("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "[24, 1, 1]",
                       "[544, 1, 1]");
    CHECK(trace.ops.at(0).kind == OpKind::collective);
    CHECK(trace.ops[0].get(keys::collective.collective) == "all_reduce");
    CHECK(trace.ops[0].get(keys::collective.thread_blocks) == 24);
}

TEST_CASE("what has no lowering has operands, and stays apart from what is understood") {
    const Trace trace =
        one_kernel("void at::native::(anonymous namespace)::max_pool_forward_nchw<float, float>(int, float const*)",
                   "[100, 1, 1]", "[256, 1, 1]");
    REQUIRE(trace.ops.size() == 1);
    CHECK(trace.ops[0].kind == OpKind::unknown);
    CHECK(is_inferred(trace.ops[0]));
    CHECK(trace::bytes_moved(trace, trace.ops[0]) == 4.0 * 25600 * 7);
}

TEST_CASE("CUB's kernels: elements a thread from the policy in the name, bytes of keys and values") {
    const Trace scan = one_kernel(
        "void cub::DeviceScanKernel<cub::AgentScanPolicy<128, 15, int, (cub::BlockLoadAlgorithm)3>, int*>(int*)",
        "[8237, 1, 1]", "[128, 1, 1]");
    CHECK(trace::bytes_moved(scan, scan.ops.at(0)) == 2.0 * 4 * 8237 * 128 * 15);
    // 15.8 million pairs of a long and an int; a pass took 240 us on a recorded A100: 1.58 TB/s.
    const Trace sort = one_kernel(
        "void cub::DeviceRadixSortOnesweepKernel<cub::DeviceRadixSortPolicy<long, int, int>::Policy800, false, long, "
        "int, int, int>(int*)",
        "[4119, 1, 1]", "[384, 1, 1]");
    CHECK(trace::bytes_moved(sort, sort.ops.at(0)) == 2.0 * 12 * 4119 * 384 * 10);
}

TEST_CASE("where nothing determines a size nothing is made up, and the family is told") {
    for (const char* name :
         {"void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128> >(flash::Flash_fwd_params)",
          "void deep_gemm::fp8_gemm_kernel<4096u, 7168u, 64u>(X)", "ampere_sgemm_128x64_nn",
          "void deep_ep::internode::dispatch<true>(int)", "void cub::DeviceRadixSortOnesweepKernel<X>(int)"}) {
        CAPTURE(name);
        const Trace trace = one_kernel(name, "[8, 4, 1]", "[128, 1, 1]");
        REQUIRE(trace.ops.size() == 1);
        CHECK(trace.ops[0].kind == OpKind::unknown);
        CHECK_FALSE(is_inferred(trace.ops[0]));
        CHECK(trace.ops[0].outputs.empty());
        CHECK_THAT(trace.ops[0].get(keys::any.reason),
                   Catch::StartsWith(importers::family_of(name) + ": ") && !Catch::StartsWith(": "));
    }
    CHECK(importers::family_of("my_own_kernel").empty());
    const Trace stranger = one_kernel("my_own_kernel", "[8, 4, 1]", "[128, 1, 1]");
    CHECK(stranger.ops.at(0).kind == OpKind::unknown);
    CHECK_FALSE(is_inferred(stranger.ops[0]));
    // Without a grid a pointwise kernel stays unknown as well.
    CHECK(one_kernel(kAdd, "", "").ops.at(0).kind == OpKind::unknown);
}

TEST_CASE("what a recording lacks is named with the option that would have recorded it") {
    importers::RecordingFacts facts;
    facts.is_recording = true;
    facts.calls = 10;
    facts.kernels = 4;
    facts.kernels_with_grid = 3;
    facts.device.name = "NVIDIA H20";
    std::string all;
    for (const importers::MissingFact& one : importers::missing_facts(facts)) all += one.what + "|" + one.remedy + "\n";
    CHECK_THAT(all, Catch::Contains("shapes of operands|profile with record_shapes=True") &&
                        Catch::Contains("grids of 1 of 4 kernels") && Catch::Contains("ExecutionTraceObserver") &&
                        !Catch::Contains("the device|"));
}

TEST_CASE("inferred sizes are those of the shapes, where a recording has them") {
    const auto path = test::recording("traces/pytorch/a100_world8_kineto.json.gz");
    if (!path) return;
    trace::ByteStream stream = trace::open_stream(*path);
    std::string text = trace::read_whole(stream);
    const Trace known = importers::import_recording(importers::read_kineto(*trace::memory_stream(text), "a"), "a");
    const std::string key = "\"Input Dims\"";
    for (std::size_t at = text.find(key); at != std::string::npos; at = text.find(key, at + 1)) text[at + 1] = 'X';
    const Trace blind = importers::import_recording(importers::read_kineto(*trace::memory_stream(text), "b"), "b");
    const auto with = pointwise_ops(known), without = pointwise_ops(blind);
    double all = 0, right = 0, operands = 0;
    auto other = without.begin();
    for (const Op* op : with) {
        // A few kernels are parts of ops in one of the two steps alone.
        const auto same = std::find_if(other, without.end(), [&](const Op* candidate) {
            return candidate->kernel_name == op->kernel_name && candidate->measured_us == op->measured_us;
        });
        if (op->kind == OpKind::unknown || is_inferred(*op)) continue;
        const double time = op->measured_us.value_or(0);
        all += time;
        if (same == without.end()) continue;
        const auto truth = static_cast<double>(elements_of_result(known, *op)),
                   found = static_cast<double>(elements_of_result(blind, **same));
        if (std::abs(found - truth) <= 0.02 * truth) right += time;
        if (op->inputs.size() == (*same)->inputs.size()) operands += time;
        other = std::next(same);
    }
    INFO("of " << all << " us " << right / all << " within 2 %, operands " << operands / all);
    CHECK(all > 50e3);
    CHECK(right >= 0.95 * all);
    CHECK(operands >= 0.95 * all);
}

TEST_CASE("a profile without shapes: two A100 and a ResNet, most of the memory-bound time is inferred") {
    const auto path = test::recording("traces/pytorch/a100_ddp2_nccl_kineto.json.gz");
    if (!path) return;
    importers::RecordingFacts facts;
    const Trace trace = importers::open_trace(*path, nullptr, &facts);
    CHECK(facts.calls_with_shapes == 0);
    CHECK(facts.kernels == 3774);
    double all = 0, inferred = 0, communication = 0;
    for (const Op& op : trace.ops) {
        const double time = op.measured_us.value_or(0);
        if (op.kind == OpKind::collective) {
            communication += time;
            continue;
        }
        all += time;
        if (is_inferred(op)) inferred += time;
    }
    CHECK(communication == Approx(46876).epsilon(0.01));
    CHECK(inferred > 0.6 * all);
}
