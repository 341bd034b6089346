// Convolutions of unusual sizes, and products with edges on every side.
#include <catch2/catch.hpp>
#include <cmath>
#include <random>

#include "isa/cpu/execute.h"
#include "workloads/lowering/cpu/trace_memory.h"
#include "workloads/reference/execute.h"

using namespace heddle;
using trace::ElementType;
using trace::OpKind;

namespace {

struct OneOp {
    trace::Trace trace;
    trace::Op op;
    explicit OneOp(OpKind kind) { op.kind = kind; }
    OneOp& input(std::vector<std::int64_t> shape, ElementType type = ElementType::f32) {
        op.inputs.push_back(trace.add({"x" + std::to_string(op.inputs.size()), type, std::move(shape)}));
        return *this;
    }
    OneOp& output(std::vector<std::int64_t> shape, ElementType type = ElementType::f32) {
        op.outputs.push_back(trace.add({"y" + std::to_string(op.outputs.size()), type, std::move(shape)}));
        return *this;
    }

    /// The largest error relative to the largest number.
    double error(const lowering::CpuTarget& target) {
        if (trace.ops.empty()) trace.add(op);
        const lowering::CpuLoweredOp lowered = lowering::lower_for_cpu(trace, 0, target);
        INFO(lowered.reason_if_not);
        REQUIRE(lowered.supported);
        reference::TensorValues values(trace);
        lowering::CpuTraceMemory memory(trace, std::span(&lowered, 1));
        std::mt19937 random(1);
        for (const trace::TensorId id : op.inputs) {
            std::vector<double> numbers(static_cast<std::size_t>(trace.tensor(id).elements()));
            for (double& number : numbers) number = static_cast<double>(static_cast<int>(random() % 257) - 128) / 128;
            memory.write(id, numbers);
            const std::vector<double> held = memory.read(id);
            std::copy(held.begin(), held.end(), values.storage(id).begin());
        }
        reference::execute(trace, values);
        const auto bound = memory.bind(lowered);
        cpu::Memory run(lowered.program, target.threads, bound);
        cpu::execute(lowered.program, run);
        double worst = 0, largest = 1e-30;
        for (const trace::TensorId id : op.outputs) {
            const std::vector<double> found = memory.read(id);
            for (std::size_t i = 0; i < found.size(); ++i) {
                largest = std::max(largest, std::fabs(values[id][i]));
                const double error = std::fabs(found[i] - values[id][i]);
                worst = std::max(worst, std::isnan(error) ? 1e30 : error);
            }
        }
        return worst / largest;
    }
};

const lowering::CpuTarget kTargets[] = {{16, 32, true, false, 2}, {16, 32, true, true, 2}, {8, 16, false, false, 2}, {4, 32, true, false, 5}};

}  // namespace

TEST_CASE("products of any size, transposed or not, in f32 and bf16") {
    for (const auto& target : kTargets) {
        for (const auto& [m, n, k] : {std::tuple{1, 70, 33}, {3, 5, 64}, {13, 129, 31}, {32, 64, 64}, {65, 33, 47}}) {
            for (int transposed = 0; transposed < 4; ++transposed) {
                for (const ElementType type : {ElementType::f32, ElementType::bf16}) {
                    OneOp one(OpKind::matmul);
                    const bool ta = (transposed & 1) != 0, tb = (transposed & 2) != 0;
                    one.input(ta ? std::vector<std::int64_t>{k, m} : std::vector<std::int64_t>{m, k}, type);
                    one.input(tb ? std::vector<std::int64_t>{n, k} : std::vector<std::int64_t>{k, n}, type);
                    one.output({m, n});
                    one.op.set(keys::matmul.transpose_a, std::int64_t{ta});
                    one.op.set(keys::matmul.transpose_b, std::int64_t{tb});
                    INFO(m << "x" << n << "x" << k << " transposed " << transposed << " " << trace::name_of(type) << " lanes " << target.lanes);
                    CHECK(one.error(target) < 1e-6);
                }
            }
        }
    }
}

TEST_CASE("convolutions with strides, dilation, groups and any padding, and their gradients") {
    struct Case {
        std::int64_t channels, filters, size, window, stride, padding, dilation, groups;
        const char* layout;
    };
    for (const Case& c : {Case{3, 8, 9, 3, 1, 1, 1, 1, "nchw"}, {4, 20, 11, 3, 2, 1, 1, 1, "nchw"}, {6, 6, 8, 3, 1, 1, 1, 6, "nchw"}, {4, 8, 10, 3, 1, 2, 2, 2, "nchw"},
                          {5, 7, 12, 7, 2, 3, 1, 1, "nchw"}, {8, 17, 7, 1, 1, 0, 1, 1, "nhwc"}, {3, 4, 9, 3, 2, 1, 1, 1, "nhwc"}, {6, 5, 9, 1, 2, 0, 1, 1, "nchw"}}) {
        const std::int64_t out = (c.size + 2 * c.padding - c.dilation * (c.window - 1) - 1) / c.stride + 1;
        const bool last = std::string(c.layout) == "nhwc";
        const auto image = [&](std::int64_t channels, std::int64_t size) {
            return last ? std::vector<std::int64_t>{2, size, size, channels} : std::vector<std::int64_t>{2, channels, size, size};
        };
        const std::vector<std::int64_t> weights = last ? std::vector<std::int64_t>{c.filters, c.window, c.window, c.channels / c.groups}
                                                       : std::vector<std::int64_t>{c.filters, c.channels / c.groups, c.window, c.window};
        for (const auto& target : kTargets) {
            for (const OpKind kind : {OpKind::convolution, OpKind::convolution_data_grad, OpKind::convolution_weight_grad}) {
                OneOp one(kind);
                if (kind == OpKind::convolution) one.input(image(c.channels, c.size)).input(weights).input({c.filters}).output(image(c.filters, out));
                if (kind == OpKind::convolution_data_grad) one.input(image(c.filters, out)).input(weights).output(image(c.channels, c.size));
                if (kind == OpKind::convolution_weight_grad) one.input(image(c.filters, out)).input(image(c.channels, c.size)).output(weights).output({c.filters});
                one.op.set(keys::convolution.layout, std::string(c.layout));
                one.op.set(keys::convolution.strides, {c.stride, c.stride});
                one.op.set(keys::convolution.padding, {c.padding, c.padding});
                one.op.set(keys::convolution.dilation, {c.dilation, c.dilation});
                one.op.set(keys::convolution.groups, c.groups);
                INFO(trace::name_of(kind) << " " << c.channels << "->" << c.filters << " of " << c.size << " window " << c.window << " stride " << c.stride
                                          << " groups " << c.groups << " " << c.layout << " lanes " << target.lanes);
                CHECK(one.error(target) < 1e-6);
            }
        }
    }
}
