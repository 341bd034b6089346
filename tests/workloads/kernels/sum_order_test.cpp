// The order in which our row sums add, revealed by FPRev through the kernel.
#include <catch2/catch.hpp>

#include "isa/numerics/order_probe.h"
#include "isa/numerics/reduction_plan.h"
#include "launcher.h"
#include "workloads/kernels/reduction.h"

using namespace heddle::kernels;
using namespace heddle::kernels::test;
namespace numerics = heddle::numerics;

namespace {

numerics::RevealedOrder reveal(const ReduceRowsSpec& spec, std::uint32_t columns) {
    const GeneratedKernel kernel = generate_reduce_rows(spec);
    const numerics::ProbedSum sum = [&](std::span<const numerics::ProbeVector> probes) {
        const auto rows = static_cast<std::uint32_t>(probes.size());
        std::vector<double> x(std::size_t{rows} * columns, 0.0);
        for (std::uint32_t row = 0; row < rows; ++row) {
            double* values = x.data() + std::size_t{row} * columns;
            for (std::uint32_t k = probes[row].units_begin; k < probes[row].units_end; ++k) values[k] = 1;
            if (probes[row].plus < columns) values[probes[row].plus] = 0x1p60;
            if (probes[row].minus < columns) values[probes[row].minus] = -0x1p60;
        }
        Device device;
        const std::uint32_t y = device.add_untouched(ElementType::f32, rows);
        device.run(kernel, reduce_rows_grid(spec, rows),
                   {pointer_argument("y", y), pointer_argument("x", device.add(ElementType::f32, x)),
                    integer_argument("rows", rows), integer_argument("columns", columns),
                    integer_argument("row_stride", columns), integer_argument("elements", rows * columns),
                    f32_argument("scale", 1)});
        return device.read(y);
    };
    return numerics::reveal_order(columns, sum);
}

/// Lanes take elements in turn, each in order; then xor-butterfly, the farthest lanes first (NUMERICS.md,
/// softmax of up to 1,024 columns).
std::string butterfly(std::uint32_t columns, unsigned lanes,
                      numerics::Combination combination = numerics::Combination::halves_first) {
    numerics::ReductionPlan plan;
    plan.arithmetic = numerics::Arithmetic::multiply_then_add;
    plan.a = plan.b = plan.c = plan.d = numerics::Element::fp32;
    plan.accumulators = lanes;
    plan.block_k = 1024;
    plan.combination = combination;
    return numerics::summation_tree(plan, columns).text();
}

}  // namespace

TEST_CASE("A row sum by a warp: lane l adds l, l + 32, ..., then a butterfly of 16, 8, 4, 2, 1") {
    ReduceRowsSpec spec;
    spec.warp_per_row = true;
    for (const std::uint32_t columns : {3u, 20u, 32u, 64u, 100u, 300u}) {
        const numerics::RevealedOrder order = reveal(spec, columns);
        CAPTURE(columns, order.problem);
        REQUIRE(order.tree.has_value());
        CHECK(order.tree->text() == butterfly(columns, 32));
    }
    CHECK(butterfly(4, 4) == "((0 2)*2)");
}

TEST_CASE("A row sum by a CTA: butterflies in the warps, then one over the warps") {
    ReduceRowsSpec spec;
    spec.threads = 64;
    const numerics::RevealedOrder order = reveal(spec, 128);
    CAPTURE(order.problem);
    REQUIRE(order.tree.has_value());
    // Two warps of 32 lanes; lane l adds l and l + 64.
    numerics::SummationTree::Builder builder(128);
    std::vector<numerics::SummationTree::Node> warps;
    for (std::uint32_t warp = 0; warp < 2; ++warp) {
        std::vector<numerics::SummationTree::Node> lanes;
        for (std::uint32_t lane = 32 * warp; lane < 32 * warp + 32; ++lane)
            lanes.push_back(builder.add(lane, lane + 64));
        for (std::size_t half = 16; half != 0; half /= 2) {
            for (std::size_t i = 0; i < half; ++i) lanes[i] = builder.add(lanes[i], lanes[i + half]);
            lanes.resize(half);
        }
        warps.push_back(lanes[0]);
    }
    CHECK(*order.tree == builder.finish(builder.add(warps[0], warps[1])));
    CHECK(order.tree->text() == butterfly(128, 64, numerics::Combination::warps_then_halves));
}
