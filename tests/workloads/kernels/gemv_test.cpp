#include "workloads/kernels/gemv.h"

#include <catch2/catch.hpp>

#include "gemm_reference.h"
#include "isa/common/error.h"
#include "launcher.h"
#include "workloads/kernels/gemm_choice.h"

using namespace heddle::kernels;
using namespace heddle::kernels::test;
using heddle::target::GpuTarget;

namespace {

/// Small integers: every order of summation gives the same bits, so that an element from the wrong place
/// shows.
void check_exact(GemvSpec spec, const GemmCase& c, unsigned seed) {
    spec.batched = c.batch > 1;
    spec.epilogue.output = spec.type;
    const std::vector<double> a = random_integers(c.stride_a() * c.batch, -2, 2, seed);
    const std::vector<double> b = random_integers(c.stride_b() * c.batch, -2, 2, seed + 1);
    Device device(spec.compute_capability);
    std::vector<KernelArgument> arguments = c.arguments();
    arguments.push_back(pointer_argument("a", device.add(spec.type, a)));
    arguments.push_back(pointer_argument("b", device.add(spec.type, b)));
    const std::vector<double> before(c.stride_c() * c.batch, -77);
    const std::uint32_t d = device.add(spec.type, before);
    arguments.push_back(pointer_argument("d", d));
    device.run(generate_gemv(spec), gemv_grid(spec, c.m, c.n, c.batch), arguments);
    std::vector<double> reference = before;
    c.for_each([&](auto z, auto i, auto j, std::size_t place) {
        reference[place] = rounded(spec.type, c.product(a, b, z, i, j));
    });
    INFO("m " << c.m << " n " << c.n << " k " << c.k << " warps " << spec.warps << " loads of " << spec.vector
              << " " << name_of(spec.type) << " sm_" << spec.compute_capability);
    check_equal(device.read(d), reference);
}

}  // namespace

TEST_CASE("gemv multiplies any sizes, of every type, on every generation") {
    unsigned seed = 1;
    for (const unsigned capability : {70u, 75u, 80u, 86u, 89u, 90u}) {
        for (const ElementType type :
             {ElementType::f16, ElementType::bf16, ElementType::f32, ElementType::f64}) {
            if (type == ElementType::bf16 && capability < 80) continue;
            for (const unsigned warps : {1u, 4u, 8u, 16u}) {
                GemvSpec spec;
                spec.compute_capability = capability;
                spec.type = type;
                spec.warps = warps;
                check_exact(spec, {1, 7, 1235, 1, false, true, 0}, seed += 10);
                if (capability != 80) continue;
                check_exact(spec, {3, 5, 1, 2, false, true, 3}, seed += 10);
                // Four loads of every lane, and some more.
                const unsigned piece = gemv_piece(type);
                spec.vector = piece;
                check_exact(spec, {2, 6, piece * (32 * warps * 9 + 5), 1, false, true, piece}, seed += 10);
                check_exact(spec, {1, 4, 0, 1, false, true, piece}, seed += 10);
            }
        }
    }
}

TEST_CASE("gemv is chosen for a single row whose weights run along k, where the library has it") {
    GpuTarget a100;
    a100.compute_capability = 80;
    a100.sm_count = 108;
    a100.shared_bytes_per_sm = 167936;
    a100.shared_bytes_per_cta = 166912;
    const GemmAlignment rows{.rows_along_k = true};
    CHECK(choose_gemm({1, 4096, 4096}, ElementType::bf16, a100, rows).gemv_warps > 0);
    CHECK(choose_gemm({1, 32, 65536}, ElementType::bf16, a100, rows).gemv_warps > 1);
    CHECK(choose_gemm({1, 4096, 4096}, ElementType::bf16, a100).gemv_warps == 0);
    CHECK(choose_gemm({2, 4096, 4096}, ElementType::bf16, a100, rows).gemv_warps == 0);
}

TEST_CASE("gemv rejects what it cannot do") {
    GemvSpec spec;
    spec.warps = 3;
    CHECK_THROWS_AS(generate_gemv(spec), heddle::Error);
    spec.warps = 1;
    spec.vector = 16;
    CHECK_THROWS_AS(generate_gemv(spec), heddle::Error);
    spec.vector = 8;
    spec.compute_capability = 75;
    CHECK_THROWS_AS(generate_gemv(spec), heddle::Error);
}
