// Kernels of video.cu against plain C++.
#include <catch2/catch.hpp>
#include <cmath>

#include "cuda_gpu.h"
#include "fields.h"

using namespace heddle::ptx;
using namespace heddle::ptx::test;

namespace {

template <class Field>
unsigned sum_of_fields(unsigned a, unsigned b, int bits) {
    unsigned sum = 0;
    for (int shift = 0; shift < 32; shift += bits) {
        const auto p = static_cast<Field>(a >> shift), q = static_cast<Field>(b >> shift);
        sum += static_cast<unsigned>(std::abs(p - q));
    }
    return sum;
}

// Position of the n-th set bit at or above `base`.
unsigned nth_set(unsigned mask, unsigned base, int n) {
    for (unsigned b = base; b < 32; ++b) {
        if ((mask >> b & 1u) != 0 && --n == 0) return b;
    }
    return ~0u;
}

}  // namespace

TEST_CASE("CUDA: the place of the n-th set bit", "[ptx][cuda]") {
    CudaGpu gpu("video.ptx");
    const auto x = words(128, 2), z = words(128, 3);
    const auto py = gpu.zeros<unsigned>(128);
    gpu.run("nth_set_bit", {1}, {128}, gpu.upload(x), gpu.upload(z), py);
    const auto y = gpu.download<unsigned>(py, 128);
    for (int i = 0; i < 128; ++i)
        CHECK(y[i] == nth_set(x[i], z[i] & 31, static_cast<int>(1 + (z[i] >> 5 & 3))));
}

TEST_CASE("CUDA: bytes and halves in words", "[ptx][cuda]") {
    CudaGpu gpu("video.ptx");
    const auto x = words(128, 4), z = words(128, 5);
    const auto py = gpu.zeros<unsigned>(32 * 128);
    gpu.run("video", {1}, {128}, gpu.upload(x), gpu.upload(z), py);
    const auto y = gpu.download<unsigned>(py, 32 * 128);
    using U = std::uint8_t;
    using S = std::int8_t;
    using U2 = std::uint16_t;
    using S2 = std::int16_t;
    const auto clamp = [](long long v, long long low, long long high) {
        return std::min(std::max(v, low), high);
    };
    for (int i = 0; i < 128; ++i) {
        const unsigned a = x[i], b = z[i];
        using L = long long;
        const unsigned expected[32] = {
            by_fields<U>(a, b, 8, [](L p, L q) { return p + q; }),
            by_fields<U>(a, b, 8, [](L p, L q) { return p - q; }),
            by_fields<U>(a, b, 8, [&](L p, L q) { return clamp(p + q, 0, 255); }),
            by_fields<U>(a, b, 8, [&](L p, L q) { return clamp(p - q, 0, 255); }),
            by_fields<S>(a, b, 8, [&](L p, L q) { return clamp(p + q, -128, 127); }),
            by_fields<S>(a, b, 8, [&](L p, L q) { return clamp(p - q, -128, 127); }),
            by_fields<U>(a, b, 8, [](L p, L q) { return (p + q + 1) >> 1; }),
            // The signed average rounds halves away from zero.
            by_fields<S>(a, b, 8, [](L p, L q) { return (p + q + (p + q >= 0 ? 1 : 0)) >> 1; }),
            by_fields<U>(a, b, 8, [](L p, L q) { return std::llabs(p - q); }),
            by_fields<S>(a, b, 8, [](L p, L q) { return std::llabs(p - q); }),
            by_fields<U>(a, b, 8, [](L p, L q) { return std::max(p, q); }),
            by_fields<S>(a, b, 8, [](L p, L q) { return std::max(p, q); }),
            by_fields<U>(a, b, 8, [](L p, L q) { return std::min(p, q); }),
            by_fields<S>(a, b, 8, [](L p, L q) { return std::min(p, q); }),
            by_fields<U>(a, b, 8, [](L p, L q) { return p == q ? 255 : 0; }),
            by_fields<U>(a, b, 8, [](L p, L q) { return p > q ? 255 : 0; }),
            by_fields<S>(a, b, 8, [](L p, L q) { return p <= q ? 255 : 0; }), sum_of_fields<U>(a, b, 8),
            sum_of_fields<S>(a, b, 8), by_fields<U>(a, b, 8, [](L p, L q) { return p < q ? 1 : 0; }),
            by_fields<S>(a, b, 8, [&](L p, L) { return clamp(-p, -128, 127); }),
            by_fields<S>(a, b, 8, [&](L p, L) { return clamp(std::llabs(p), -128, 127); }),
            by_fields<U2>(a, b, 16, [](L p, L q) { return p + q; }),
            by_fields<U2>(a, b, 16, [](L p, L q) { return p - q; }),
            by_fields<S2>(a, b, 16, [&](L p, L q) { return clamp(p + q, -32768, 32767); }),
            by_fields<U2>(a, b, 16, [&](L p, L q) { return clamp(p - q, 0, 65535); }),
            by_fields<S2>(a, b, 16, [](L p, L q) { return std::max(p, q); }),
            by_fields<U2>(a, b, 16, [](L p, L q) { return std::min(p, q); }), sum_of_fields<U2>(a, b, 16),
            by_fields<S2>(a, b, 16, [](L p, L q) { return p >= q ? 65535 : 0; }),
            by_fields<U2>(a, b, 16, [](L p, L q) { return std::llabs(p - q); }),
            by_fields<S2>(a, b, 16, [](L p, L q) { return (p + q + (p + q >= 0 ? 1 : 0)) >> 1; })};
        for (int f = 0; f < 32; ++f) {
            INFO("row " << f << " of " << std::hex << a << ", " << b);
            REQUIRE(y[32 * i + f] == expected[f]);
        }
    }
}
