// Our kernels on the functional machine against their plans: the same tree, the same bits.
#include "workloads/kernels/gemm_plan.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <variant>

#include "gemm_reference.h"
#include "isa/common/error.h"
#include "isa/numerics/counter_random.h"
#include "isa/numerics/order_probe.h"
#include "launcher.h"

using namespace heddle::kernels;
using namespace heddle::kernels::test;
namespace numerics = heddle::numerics;

namespace {

using Bytes = std::vector<std::byte>;

/// One of our GEMMs, by raw bits: A [batch][m][k], B [batch][n][k] in, D [batch][m][n] out.
struct KernelGemm {
    std::variant<GemmSimtSpec, GemmMmaSpec, GemvSpec> spec;
    GemmCase c;
    std::uint32_t k_per_split = 0;
    ElementType output = ElementType::f32;

    ElementType type() const {
        return std::visit([](const auto& s) { return s.type; }, spec);
    }
    unsigned capability() const {
        return std::visit([](const auto& s) { return s.compute_capability; }, spec);
    }
    ElementType accumulator() const {
        return type() == ElementType::f64 ? ElementType::f64 : ElementType::f32;
    }

    numerics::ReductionPlan plan() {
        GemmEpilogue reduced;
        reduced.output = output;
        return std::visit(
            [&](auto& s) {
                prepare(s);
                if constexpr (std::is_same_v<std::decay_t<decltype(s)>, GemvSpec>) {
                    return plan_of(s);
                } else {
                    return plan_of(s, k_per_split, reduced);
                }
            },
            spec);
    }

    Bytes run(const Bytes& a, const Bytes& b) {
        Device device(capability());
        std::vector<KernelArgument> arguments = c.arguments();
        arguments.push_back(
            pointer_argument("a", device.add_bytes(stored(a, c.m, c.transpose_a, c.lda(), c.stride_a()))));
        arguments.push_back(
            pointer_argument("b", device.add_bytes(stored(b, c.n, !c.transpose_b, c.ldb(), c.stride_b()))));
        const std::uint32_t splits = k_per_split == 0 ? 1 : divide_up(c.k, k_per_split);
        const std::uint32_t d = device.add_untouched(output, c.stride_c() * c.batch);
        std::uint32_t workspace = d;
        if (k_per_split != 0) {
            workspace = device.add_untouched(accumulator(), std::size_t{c.m} * c.n * c.batch * splits);
            std::erase_if(arguments, [](const KernelArgument& x) {
                return x.parameter == "ldd" || x.parameter == "stride_d";
            });
            arguments.push_back(integer_argument("ldd", c.n));
            arguments.push_back(integer_argument("stride_d", std::uint64_t{c.m} * c.n));
            arguments.push_back(integer_argument("k_per_split", k_per_split));
            arguments.push_back(integer_argument("splits", splits));
        }
        arguments.push_back(pointer_argument("d", workspace));
        std::visit(
            [&](auto& s) {
                prepare(s);
                launch(device, s, splits, arguments);
            },
            spec);
        if (k_per_split != 0) reduce(device, workspace, d, splits);
        return dense(device.read_bytes(d));
    }

  private:
    template <typename Spec>
    void prepare(Spec& s) {
        s.transpose_a = c.transpose_a;
        s.transpose_b = c.transpose_b;
        s.partition = {c.batch > 1, k_per_split != 0};
        s.epilogue.output = output;
    }
    void prepare(GemvSpec& s) {
        s.batched = c.batch > 1;
        s.epilogue.output = output;
    }
    void launch(Device& device, const GemvSpec& s, std::uint32_t,
                const std::vector<KernelArgument>& arguments) {
        device.run(generate_gemv(s), gemv_grid(s, c.m, c.n, c.batch), arguments);
    }
    void launch(Device& device, const GemmSimtSpec& s, std::uint32_t splits,
                const std::vector<KernelArgument>& arguments) {
        device.run(generate_gemm_simt(s), gemm_simt_grid(s, c.m, c.n, c.batch * splits), arguments);
    }
    void launch(Device& device, const GemmMmaSpec& s, std::uint32_t splits,
                const std::vector<KernelArgument>& arguments) {
        device.run(generate_gemm_mma(s), gemm_mma_grid(s, c.m, c.n, c.batch * splits), arguments);
    }
    void reduce(Device& device, std::uint32_t workspace, std::uint32_t d, std::uint32_t splits) {
        SplitKReduceSpec s;
        s.compute_capability = capability();
        s.accumulator = accumulator();
        s.batched = c.batch > 1;
        s.epilogue.output = output;
        std::vector<KernelArgument> arguments{pointer_argument("workspace", workspace),
                                              pointer_argument("d", d),
                                              integer_argument("m", c.m),
                                              integer_argument("n", c.n),
                                              integer_argument("ldd", c.ldc()),
                                              integer_argument("splits", splits),
                                              integer_argument("slice_stride", std::uint64_t{c.m} * c.n),
                                              integer_argument("stride_d", c.stride_c())};
        add_divider_arguments(arguments, "row_vectors", c.n / split_k_reduce_width(s));
        device.run(generate_split_k_reduce(s), split_k_reduce_grid(s, c.m, c.n, c.batch), arguments);
    }
    /// Rows [rows][k] as the kernel wants them: with padding, and with `across` as [k][rows].
    Bytes stored(const Bytes& dense, std::uint32_t rows, bool across, std::uint32_t leading,
                 std::uint64_t stride) const {
        const std::size_t size = bytes_of(type());
        Bytes bytes(stride * c.batch * size, std::byte{0x7F});
        for (std::uint32_t z = 0; z < c.batch; ++z) {
            for (std::uint32_t i = 0; i < rows; ++i) {
                for (std::uint32_t k = 0; k < c.k; ++k) {
                    const std::uint64_t to = z * stride + (across ? std::uint64_t{k} * leading + i
                                                                  : std::uint64_t{i} * leading + k);
                    std::memcpy(bytes.data() + to * size,
                                dense.data() + ((std::size_t{z} * rows + i) * c.k + k) * size, size);
                }
            }
        }
        return bytes;
    }
    Bytes dense(const Bytes& d) const {
        const std::size_t size = bytes_of(output);
        Bytes bytes;
        c.for_each([&](auto, auto, auto, std::size_t place) {
            bytes.insert(bytes.end(), d.begin() + static_cast<std::ptrdiff_t>(place * size),
                         d.begin() + static_cast<std::ptrdiff_t>((place + 1) * size));
        });
        return bytes;
    }
};

GemmMmaSpec mma(ElementType type, unsigned capability, GemmTile tile = {64, 64, 32, 2, 2, 3}) {
    GemmMmaSpec spec;
    spec.type = type;
    spec.compute_capability = capability;
    spec.tile = tile;
    spec.copy_a = spec.copy_b = 1;
    return spec;
}

GemmSimtSpec simt(ElementType type) {
    GemmSimtSpec spec;
    spec.type = type;
    spec.tile_m = spec.tile_n = 64;
    return spec;
}

GemvSpec gemv(ElementType type, unsigned warps, unsigned capability = 80) {
    GemvSpec spec;
    spec.type = type;
    spec.warps = warps;
    spec.compute_capability = capability;
    return spec;
}

/// FPRev through the kernel: rows of A are probes, all of B is one number.
numerics::RevealedOrder reveal(KernelGemm gemm) {
    gemm.c.m = 64;
    gemm.c.n = 1;
    gemm.c.batch = 1;
    const numerics::ReductionPlan plan = gemm.plan();
    const bool tensor = plan.arithmetic == numerics::Arithmetic::tensor_core;
    const numerics::Format input = numerics::format_of(plan.a), out = numerics::format_of(plan.d);
    const numerics::ProbeValues values =
        numerics::probe_values({.a = input,
                                .b = input,
                                .output = out,
                                .accumulator = numerics::format_of(plan.accumulator),
                                .alignment_fraction_bits = tensor ? 25 : 0});
    REQUIRE(values.constant_b());
    const std::size_t size = bytes_of(gemm.type()), k = gemm.c.k;
    Bytes b(k * size);
    numerics::write_probe({}, k, input, values.b_large, values.b_unit, false, b.data());
    const numerics::ProbedSum sum = [&](std::span<const numerics::ProbeVector> probes) {
        std::vector<double> counts;
        for (std::size_t first = 0; first < probes.size(); first += gemm.c.m) {
            Bytes a(gemm.c.m * k * size);
            const std::size_t rows = std::min<std::size_t>(gemm.c.m, probes.size() - first);
            for (std::size_t row = 0; row < rows; ++row)
                numerics::write_probe(probes[first + row], k, input, values.a_large, values.a_unit, true,
                                      a.data() + row * k * size);
            const std::vector<double> d = decode(gemm.output, gemm.run(a, b));
            for (std::size_t row = 0; row < rows; ++row) counts.push_back(d[row] / values.unit());
        }
        return counts;
    };
    return numerics::reveal_order(k, sum, {.maximum_units = values.maximum_units});
}

std::string name_of(const KernelGemm& gemm) {
    return name_of(gemm.type()) + " -> " + name_of(gemm.output) + " sm_" + std::to_string(gemm.capability()) +
           " " + std::to_string(gemm.c.m) + "x" + std::to_string(gemm.c.n) + "x" + std::to_string(gemm.c.k) +
           " batch " + std::to_string(gemm.c.batch) + " " +
           layout_name(gemm.c.transpose_a, gemm.c.transpose_b) + " slices of " +
           std::to_string(gemm.k_per_split);
}

Bytes inputs(ElementType type, std::size_t count, numerics::Distribution distribution, std::uint64_t seed) {
    Bytes bytes(count * bytes_of(type));
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint64_t bits =
            numerics::random_element(numerics::format_of(element_of(type)), distribution, seed, i);
        std::memcpy(bytes.data() + i * bytes_of(type), &bits, bytes_of(type));
    }
    return bytes;
}

}  // namespace

TEST_CASE("FPRev through our kernels gives back their plans") {
    std::vector<KernelGemm> gemms;
    gemms.push_back({mma(ElementType::bf16, 80), {.k = 75}});
    gemms.push_back({mma(ElementType::f16, 75, {64, 64, 32, 2, 2, 2}), {.k = 48}});
    gemms.push_back({mma(ElementType::f16, 90), {.k = 112, .transpose_a = true}});
    gemms.push_back({mma(ElementType::bf16, 90), {.k = 104, .transpose_b = true}, 32});
    gemms.push_back({mma(ElementType::f16, 80), {.k = 70}, 32, ElementType::f16});
    gemms.push_back({simt(ElementType::f32), {.k = 61}});
    gemms.push_back({simt(ElementType::f32), {.k = 61, .transpose_a = true, .transpose_b = true}, 24});
    gemms.push_back({simt(ElementType::f64), {.k = 43}});
    gemms.push_back({gemv(ElementType::f32, 1), {.k = 150, .transpose_b = true}});
    gemms.push_back({gemv(ElementType::bf16, 4), {.k = 1100, .transpose_b = true}});
    for (KernelGemm& gemm : gemms) {
        CAPTURE(name_of(gemm));
        const numerics::RevealedOrder order = reveal(gemm);
        CAPTURE(order.problem);
        REQUIRE(order.tree.has_value());
        CHECK(order.tree->text() == numerics::summation_tree(gemm.plan(), gemm.c.k).text());
    }
    // What the trees are, said once by hand.
    CHECK(numerics::summation_tree(gemms[0].plan(), 64).text() == "<(0*8); 8*8>*7:8");
    CHECK(numerics::summation_tree(gemms[2].plan(), 64).text() == "<(0*16); 16*16>*3:16");
    CHECK(numerics::summation_tree(gemms[3].plan(), 96).text() == "<((0*16) 16*16); ((32*16) 48*16)>*2:32");
    CHECK(numerics::summation_tree(gemms[6].plan(), 48).text() == "(<0; 1>*23*2:24)");
}

TEST_CASE("Our kernels give the bits of their plans on hard inputs") {
    std::vector<KernelGemm> gemms;
    for (const unsigned capability : {80u, 89u, 90u, 100u}) {
        gemms.push_back({mma(ElementType::f16, capability), {35, 21, 77, 1, false, true, 0}});
        gemms.push_back({mma(ElementType::bf16, capability), {17, 40, 130, 1, true, false, 3}});
    }
    gemms.push_back({mma(ElementType::f16, 75, {64, 64, 32, 2, 2, 2}), {33, 9, 90, 1, false, false, 0}});
    gemms.push_back({mma(ElementType::bf16, 90), {20, 12, 99, 2, false, false, 1}, 32, ElementType::bf16});
    gemms.push_back({mma(ElementType::f16, 90), {20, 12, 129, 1, true, true, 0}, 64, ElementType::f16});
    gemms.push_back({simt(ElementType::f32), {35, 21, 77, 1, false, true, 0}});
    gemms.push_back({simt(ElementType::f32), {35, 21, 50, 2, true, false, 0}, 16});
    gemms.push_back({simt(ElementType::f64), {19, 11, 37, 1, true, true, 0}, 0, ElementType::f64});
    gemms.push_back({simt(ElementType::f64), {19, 11, 37, 1, false, true, 2}, 16, ElementType::f64});
    for (const unsigned warps : {1u, 4u, 8u, 16u}) {
        gemms.push_back({gemv(ElementType::bf16, warps), {2, 7, 1235, 1, false, true, 0}});
        gemms.push_back({gemv(ElementType::f16, warps, 70), {1, 6, 700, 2, false, true, 1}});
        gemms.push_back({gemv(ElementType::f32, warps), {1, 5, 333, 1, false, true, 0}});
    }
    gemms.push_back({gemv(ElementType::f64, 4), {1, 3, 301, 1, false, true, 0}, 0, ElementType::f64});
    std::uint64_t seed = 100;
    for (KernelGemm& gemm : gemms) {
        for (const numerics::Distribution distribution : numerics::kDistributions) {
            const GemmCase& c = gemm.c;
            CAPTURE(name_of(gemm), numerics::name_of(distribution));
            const Bytes a = inputs(gemm.type(), std::size_t{c.batch} * c.m * c.k, distribution, ++seed);
            const Bytes b = inputs(gemm.type(), std::size_t{c.batch} * c.n * c.k, distribution, ++seed);
            const Bytes d = gemm.run(a, b);
            const numerics::ReductionPlan plan = gemm.plan();
            Bytes expected;
            for (std::uint32_t z = 0; z < c.batch; ++z) {
                const std::size_t a_bytes = a.size() / c.batch, b_bytes = b.size() / c.batch;
                const Bytes one = numerics::evaluate(plan, {.m = c.m,
                                                            .n = c.n,
                                                            .k = c.k,
                                                            .a = std::span(a).subspan(z * a_bytes, a_bytes),
                                                            .b = std::span(b).subspan(z * b_bytes, b_bytes),
                                                            .c = {},
                                                            .bias = {}});
                expected.insert(expected.end(), one.begin(), one.end());
            }
            REQUIRE(d.size() == expected.size());
            std::size_t different = 0;
            for (std::size_t i = 0; i < d.size(); ++i) different += d[i] != expected[i] ? 1 : 0;
            CHECK(different == 0);
        }
    }
}

TEST_CASE("The plan of a choice is that of the kernels it launches") {
    GemmChoice choice;
    choice.tensor_cores = true;
    choice.tile = {128, 128, 32, 2, 2, 3};
    choice.splits = 2;
    choice.k_per_split = 512;
    const numerics::ReductionPlan plan = plan_of(choice, ElementType::bf16, ElementType::bf16, 90);
    CHECK(numerics::describe(plan) == "tensor core bf16, L 16, F 25, slices of 512, merged as accumulators");
    CHECK(plan.d == numerics::Element::bf16);
    GemmMmaSpec spec;
    spec.partition.split_k = true;
    CHECK_THROWS_AS(plan_of(spec), heddle::Error);
}
