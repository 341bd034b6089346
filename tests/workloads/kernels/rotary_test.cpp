#include "workloads/kernels/rotary.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <set>

#include "isa/common/error.h"
#include "launcher.h"

using namespace heddle::kernels;
using namespace heddle::kernels::test;

namespace {

/// `ctas` for each head.
void check_rotary(const RotarySpec& spec, unsigned ctas) {
    const unsigned dim = spec.head_dim;
    const std::uint32_t batch = 2, sequence = 83, heads = 6, kv_heads = 2, tokens = batch * sequence;
    const std::uint32_t all = heads + 2 * kv_heads, half = dim / 2;
    const std::vector<double> qkv = random_reals(spec.type, std::size_t{tokens} * all * dim, -1, 1, 1);
    std::vector<double> angles;
    for (std::uint32_t t = 0; t < sequence + 19; ++t) {
        for (std::uint32_t i = 0; i < half; ++i) {
            const double angle = t * std::pow(10000.0, -2.0 * i / dim);
            angles.push_back(rounded(ElementType::f32, std::cos(angle)));
            angles.push_back(rounded(ElementType::f32, std::sin(angle)));
        }
    }
    Device device;
    const std::uint32_t q = device.add_untouched(spec.type, std::size_t{tokens} * heads * dim),
                        k = device.add_untouched(spec.type, std::size_t{256} * kv_heads * dim),
                        v = device.add_untouched(spec.type, std::size_t{256} * kv_heads * dim);
    std::vector<KernelArgument> arguments{pointer_argument("q", q),
                                          pointer_argument("k_cache", k),
                                          pointer_argument("v_cache", v),
                                          pointer_argument("qkv", device.add(spec.type, qkv)),
                                          pointer_argument("angles", device.add(ElementType::f32, angles)),
                                          integer_argument("tokens", tokens),
                                          integer_argument("heads", heads),
                                          integer_argument("kv_heads", kv_heads)};
    // Pages of the cache in another order than that of the sequences.
    const std::uint32_t per_entry = 2, cache_tokens = spec.paged ? batch * per_entry * kRotaryPage : tokens,
                        past = spec.paged ? 19 : 0;
    // Of keys and of values of each entry.
    const std::vector<std::uint32_t> pages{2, 0, 1, 3, 3, 1, 0, 2};
    if (spec.paged) {
        std::vector<double> positions, entries;
        for (std::uint32_t t = 0; t < tokens; ++t) {
            positions.push_back(t % sequence);
            entries.push_back(t / sequence);
        }
        arguments.push_back(pointer_argument("positions", device.add(ElementType::i32, positions)));
        arguments.push_back(pointer_argument("entries", device.add(ElementType::i32, entries)));
        const std::vector<double> lengths(batch, sequence), cached(batch, sequence + past);
        arguments.push_back(pointer_argument("lengths", device.add(ElementType::i32, lengths)));
        arguments.push_back(pointer_argument("cache_lengths", device.add(ElementType::i32, cached)));
        arguments.push_back(pointer_argument(
            "pages", device.add(ElementType::i32, std::vector<double>(pages.begin(), pages.end()))));
        arguments.push_back(integer_argument("pages_per_entry", per_entry));
    }
    add_divider_arguments(arguments, "heads_per_kv_head", heads / kv_heads);
    add_divider_arguments(arguments, "sequence", sequence);
    device.run(generate_rotary(spec), {ctas, heads, 1}, arguments);
    // As complex numbers: element i + i' (i + dim / 2) times the angle's.
    std::vector<double> q_expected(std::size_t{tokens} * heads * dim),
        k_expected(std::size_t{256} * kv_heads * dim), v_expected(k_expected.size());
    std::set<std::size_t> keys_written, values_written;
    for (std::uint32_t token = 0; token < tokens; ++token) {
        const std::uint32_t entry = token / sequence, position = token % sequence + past;
        const auto turn = [&](std::uint32_t head, std::uint32_t i) {
            const double* x = &qkv[(std::size_t{token} * all + head) * dim];
            const double* a = &angles[(std::size_t{position} * half + i % half) * 2];
            return i < half ? x[i] * a[0] - x[i + half] * a[1] : x[i - half] * a[1] + x[i] * a[0];
        };
        for (std::uint32_t i = 0; i < dim; ++i) {
            for (std::uint32_t h = 0; h < heads; ++h)
                q_expected[(std::size_t{token} * heads + h) * dim + i] = turn(h, i);
            for (std::uint32_t h = 0; h < kv_heads; ++h) {
                const auto place = [&](std::uint32_t values) -> std::size_t {
                    if (!spec.paged)
                        return ((std::size_t{entry} * kv_heads + h) * sequence + position) * dim + i;
                    const std::size_t page = pages[(entry * 2 + values) * per_entry + position / kRotaryPage];
                    return ((page * kv_heads + h) * kRotaryPage + position % kRotaryPage) * dim + i;
                };
                keys_written.insert(place(0));
                values_written.insert(place(1));
                k_expected[place(0)] = turn(heads + h, i);
                v_expected[place(1)] = qkv[(std::size_t{token} * all + heads + kv_heads + h) * dim + i];
            }
        }
    }
    const double u = unit_roundoff(spec.type);
    check_close(device.read(q), q_expected, u, 1e-6);
    std::vector<double> k_found = device.read(k), v_found = device.read(v);
    CHECK(cache_tokens <= 256);
    const auto check_rest = [&](std::vector<double>& found, const std::set<std::size_t>& written) {
        CHECK(written.size() == std::size_t{tokens} * kv_heads * dim);
        for (std::size_t i = 0; i < found.size(); ++i) {
            if (written.count(i) != 0) continue;
            CHECK(std::isnan(found[i]));  // nothing else is touched
            found[i] = 0;
        }
    };
    check_rest(k_found, keys_written);
    check_rest(v_found, values_written);
    check_close(k_found, k_expected, u, 1e-6);
    check_equal(v_found, v_expected);
}

}  // namespace

TEST_CASE("Rotary embedding turns queries and keys and fills the cache") {
    for (const unsigned dim : {64u, 128u, 192u}) {
        RotarySpec spec;
        spec.paged = dim == 192;  // of heads of 64
        spec.head_dim = dim == 192 ? 64 : dim;
        for (const unsigned ctas : {1u, 3u}) check_rotary(spec, ctas);
    }
    RotarySpec odd;
    odd.head_dim = 80;
    CHECK_THROWS_AS(generate_rotary(odd), heddle::Error);
    odd.head_dim = 128;
    odd.rotary_dim = 96;
    CHECK_THROWS_AS(generate_rotary(odd), heddle::Error);
}

TEST_CASE("A grid of rotary embedding fills whole waves of 1,024 threads per SM") {
    RotarySpec spec;
    // 4 CTAs per SM, 528 in all: 11 for each of 48 heads are one wave; 32 heads fill two with 33 each.
    CHECK(rotary_grid(spec, 100000, 48, 132) == Extent3{11, 48, 1});
    CHECK(rotary_grid(spec, 100000, 32, 132) == Extent3{33, 32, 1});
    // Fewer tokens than would fill one: a CTA for each 32.
    CHECK(rotary_grid(spec, 65, 48, 132) == Extent3{3, 48, 1});
}
