// A small trace that uses every field and every type of attribute.
#pragma once

#include <cmath>

#include "workloads/trace/trace.h"

namespace heddle::trace::test {

inline Trace specimen() {
    Trace trace;
    trace.name = "specimen \"quoted\" \xc3\xa9";
    const TensorId x = trace.add(Tensor{"x", ElementType::bf16, {4, 8}, TensorRole::input, 1});
    const TensorId w = trace.add(Tensor{"w", ElementType::bf16, {8, 3}, TensorRole::parameter, 2});
    const TensorId y = trace.add(Tensor{"y", ElementType::f32, {4, 3}, TensorRole::activation, 0});
    const TensorId scalar = trace.add(Tensor{"loss", ElementType::f64, {}, TensorRole::other, 0});
    const TensorId empty = trace.add(Tensor{"empty", ElementType::boolean, {0, 5}, TensorRole::gradient, 0});
    Op matmul;
    matmul.name = "matmul";
    matmul.kind = OpKind::matmul;
    matmul.inputs = {x, w};
    matmul.outputs = {y};
    matmul.set(keys::any.tile, {128, 128, 64});
    matmul.set(keys::matmul.transpose_a, 0);
    matmul.attributes.put("note", std::string("n/a"));
    matmul.attributes.put("whole", 3.0);
    matmul.attributes.put("tiny", 5e-324);
    matmul.attributes.put("no_integers", std::vector<std::int64_t>{});
    matmul.attributes.put("no_reals", std::vector<double>{});
    matmul.attributes.put("reals", std::vector<double>{1.0, 0.1, -INFINITY});
    matmul.measured_us = 18.25;
    matmul.kernel_name = "sm90_xmma_gemm";
    matmul.stream = 7;
    matmul.host_us = 5.5;
    trace.add(matmul);
    Op sum;
    sum.name = "sum";
    sum.kind = OpKind::reduce;
    sum.phase = Phase::backward;
    sum.inputs = {y};
    sum.outputs = {scalar};
    sum.set(keys::reduce.reduction, "sum");
    sum.dependencies = {0};
    sum.measured_us = 0.0;
    trace.add(sum);
    Op collective;
    collective.name = "all_reduce";
    collective.kind = OpKind::collective;
    collective.phase = Phase::communication;
    collective.inputs = {empty};
    collective.set(keys::collective.collective, "all_reduce");
    collective.set(keys::collective.bytes, 102144 * 4);
    collective.dependencies = {0, 1};
    trace.add(collective);
    return trace;
}

inline bool same(const Tensor& a, const Tensor& b) {
    return a.name == b.name && a.type == b.type && a.shape == b.shape && a.role == b.role &&
           a.storage == b.storage;
}

inline bool same(const Op& a, const Op& b) {
    return a.name == b.name && a.kind == b.kind && a.phase == b.phase && a.inputs == b.inputs &&
           a.outputs == b.outputs && a.attributes == b.attributes && a.dependencies == b.dependencies &&
           a.measured_us == b.measured_us && a.kernel_name == b.kernel_name && a.stream == b.stream &&
           a.host_us == b.host_us;
}

inline bool same(const Trace& a, const Trace& b) {
    if (a.name != b.name || a.tensors.size() != b.tensors.size() || a.ops.size() != b.ops.size())
        return false;
    for (std::size_t i = 0; i < a.tensors.size(); ++i) {
        if (!same(a.tensors[i], b.tensors[i])) return false;
    }
    for (std::size_t i = 0; i < a.ops.size(); ++i) {
        if (!same(a.ops[i], b.ops[i])) return false;
    }
    return true;
}

}  // namespace heddle::trace::test
