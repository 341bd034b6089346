#include "workloads/kernels/rotary.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "isa/common/error.h"
#include "launcher.h"

using namespace heddle::kernels;
using namespace heddle::kernels::test;

TEST_CASE("Rotary embedding turns queries and keys and fills the cache") {
    for (const unsigned dim : {64u, 128u}) {
        RotarySpec spec;
        spec.head_dim = dim;
        const std::uint32_t batch = 2, sequence = 19, heads = 6, kv_heads = 2, tokens = batch * sequence;
        const std::uint32_t all = heads + 2 * kv_heads, half = dim / 2;
        const std::vector<double> qkv = random_reals(spec.type, std::size_t{tokens} * all * dim, -1, 1, 1);
        std::vector<double> angles;
        for (std::uint32_t t = 0; t < sequence; ++t) {
            for (std::uint32_t i = 0; i < half; ++i) {
                const double angle = t * std::pow(10000.0, -2.0 * i / dim);
                angles.push_back(rounded(ElementType::f32, std::cos(angle)));
                angles.push_back(rounded(ElementType::f32, std::sin(angle)));
            }
        }
        Device device;
        const std::uint32_t q = device.add_untouched(spec.type, std::size_t{tokens} * heads * dim),
                            k = device.add_untouched(spec.type, std::size_t{tokens} * kv_heads * dim),
                            v = device.add_untouched(spec.type, std::size_t{tokens} * kv_heads * dim);
        std::vector<KernelArgument> arguments{
            pointer_argument("q", q),
            pointer_argument("k_cache", k),
            pointer_argument("v_cache", v),
            pointer_argument("qkv", device.add(spec.type, qkv)),
            pointer_argument("angles", device.add(ElementType::f32, angles)),
            integer_argument("tokens", tokens),
            integer_argument("heads", heads),
            integer_argument("kv_heads", kv_heads)};
        add_divider_arguments(arguments, "heads_per_kv_head", heads / kv_heads);
        add_divider_arguments(arguments, "sequence", sequence);
        device.run(generate_rotary(spec), rotary_grid(spec, tokens, heads), arguments);
        // As complex numbers: element i + i' (i + dim / 2) times the angle's.
        std::vector<double> q_expected(std::size_t{tokens} * heads * dim),
            k_expected(std::size_t{tokens} * kv_heads * dim), v_expected(k_expected.size());
        for (std::uint32_t token = 0; token < tokens; ++token) {
            const std::uint32_t entry = token / sequence, position = token % sequence;
            const auto turn = [&](std::uint32_t head, std::uint32_t i) {
                const double* x = &qkv[(std::size_t{token} * all + head) * dim];
                const double* a = &angles[(std::size_t{position} * half + i % half) * 2];
                return i < half ? x[i] * a[0] - x[i + half] * a[1] : x[i - half] * a[1] + x[i] * a[0];
            };
            for (std::uint32_t i = 0; i < dim; ++i) {
                for (std::uint32_t h = 0; h < heads; ++h)
                    q_expected[(std::size_t{token} * heads + h) * dim + i] = turn(h, i);
                for (std::uint32_t h = 0; h < kv_heads; ++h) {
                    const std::size_t place =
                        ((std::size_t{entry} * kv_heads + h) * sequence + position) * dim + i;
                    k_expected[place] = turn(heads + h, i);
                    v_expected[place] = qkv[(std::size_t{token} * all + heads + kv_heads + h) * dim + i];
                }
            }
        }
        const double u = unit_roundoff(spec.type);
        check_close(device.read(q), q_expected, u, 1e-6);
        check_close(device.read(k), k_expected, u, 1e-6);
        check_equal(device.read(v), v_expected);
    }
    RotarySpec odd;
    odd.head_dim = 80;
    CHECK_THROWS_AS(generate_rotary(odd), heddle::Error);
}
