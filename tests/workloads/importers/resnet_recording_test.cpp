// One recorded training step of ResNet-50 on batches of 32 pictures, in fp32 by cuDNN. What the importer
// makes of its backward pass against the network's published sizes. The recording ties most kernels of the
// forward pass to calls that did not launch them; these stay unknown.
#include <catch2/catch.hpp>
#include <map>

#include "attributes_of_kinds.h"
#include "coverage.h"
#include "data.h"
#include "workloads/importers/open_trace.h"

using namespace heddle;
using heddle::test::recording;
using trace::OpKind;

TEST_CASE("ResNet-50: gradients of all convolutions, batch norms and the pooling are understood") {
    const auto path = recording("traces/chakra/resnet_schema_1.0.1.tar.gz");
    if (!path) return;
    const trace::Trace trace = importers::open_trace(*path);
    const test::Coverage coverage = test::coverage_of(trace);
    CHECK(trace::test::strange_attributes(trace) == "");
    // 53 convolutions, each followed by a batch norm; the picture itself has no gradient.
    CHECK(coverage.kinds.at(OpKind::convolution_weight_grad).ops == 53);
    CHECK(coverage.kinds.at(OpKind::convolution_data_grad).ops == 52);
    CHECK(coverage.kinds.at(OpKind::batch_norm_grad).ops == 53);
    CHECK(coverage.kinds.at(OpKind::pooling).ops == 1);
    CHECK(coverage.kinds.at(OpKind::pooling_grad).ops == 1);
    CHECK(coverage.kinds.at(OpKind::unknown).microseconds < 0.25 * coverage.total.microseconds);

    std::map<trace::TensorId, int> weights;
    double work = 0;
    for (const trace::Op& op : trace.ops) {
        if (op.kind == OpKind::convolution_weight_grad) {
            ++weights[op.outputs[0]];
            work += floating_point_operations(trace, op);
        }
        if (op.kind == OpKind::convolution_data_grad || op.kind == OpKind::convolution_weight_grad)
            CHECK(op.phase == trace::Phase::backward);
    }
    CHECK(weights.size() == 53);  // each weight's gradient once
    // 4.087e9 multiply-adds per picture in convolutions (torchvision's resnet50 has 4.089e9 with the last
    // layer).
    CHECK(work == Approx(2 * 4.087e9 * 32).epsilon(1e-3));
}
