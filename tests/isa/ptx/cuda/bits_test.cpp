// Kernels of bits.cu against plain C++.
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <numeric>

#include "cuda_gpu.h"
#include "fields.h"

using namespace heddle::ptx;
using namespace heddle::ptx::test;

namespace {

__extension__ typedef __int128 Wide;
__extension__ typedef unsigned __int128 UnsignedWide;
using u64 = unsigned long long;

int as_int(unsigned v) {
    return static_cast<int>(v);
}

unsigned reversed(unsigned v) {
    unsigned result = 0;
    for (int b = 0; b < 32; ++b) result |= (v >> b & 1u) << (31 - b);
    return result;
}

unsigned permuted(unsigned a, unsigned b, unsigned selector) {
    const u64 bytes = u64{b} << 32 | a;
    unsigned result = 0;
    for (int i = 0; i < 4; ++i) {
        const unsigned choice = selector >> (4 * i) & 0xF;
        unsigned byte = bytes >> (8 * (choice & 7)) & 0xFF;
        if (choice & 8) byte = byte & 0x80 ? 0xFF : 0;
        result |= byte << (8 * i);
    }
    return result;
}

int low24(unsigned v) {
    return static_cast<int>(v << 8) >> 8;
}

}  // namespace

TEST_CASE("CUDA: bit instructions", "[ptx][cuda]") {
    CudaGpu gpu("bits.ptx");
    const auto x = words(128, 2), z = words(128, 3);
    const auto py = gpu.zeros<unsigned>(32 * 128);
    gpu.run("bit_tricks", {1}, {128}, gpu.upload(x), gpu.upload(z), py);
    const auto y = gpu.download<unsigned>(py, 32 * 128);
    for (int i = 0; i < 128; ++i) {
        const unsigned a = x[i], b = z[i];
        const u64 pair = u64{b} << 32 | a;
        const auto byte = [](unsigned v, int n) { return v >> (8 * n) & 0xFFu; };
        int signed_dot = 9, half_dot = 13;
        unsigned dot = 11, upper_dot = 17;
        for (int n = 0; n < 4; ++n) {
            signed_dot += static_cast<std::int8_t>(byte(a, n)) * static_cast<std::int8_t>(byte(b, n));
            dot += byte(a, n) * byte(b, n);
        }
        for (int n = 0; n < 2; ++n) {
            half_dot += static_cast<std::int16_t>(a >> (16 * n)) * static_cast<std::int8_t>(byte(b, n));
            upper_dot += (a >> (16 * n) & 0xFFFFu) * byte(b, n + 2);
        }
        const unsigned left = a & 63, right = b & 63;
        const unsigned expected[32] = {
            static_cast<unsigned>(std::popcount(a)),
            static_cast<unsigned>(std::countl_zero(a)),
            a == 0 ? 0u : static_cast<unsigned>(std::countr_zero(a)) + 1,
            reversed(a),
            permuted(a, b, 0x6420),
            permuted(a, b, b & 0x7777),
            static_cast<unsigned>(pair << (left & 31) >> 32),
            static_cast<unsigned>(pair >> (b & 31)),
            left >= 32 ? a : static_cast<unsigned>(pair << left >> 32),
            right >= 32 ? b : static_cast<unsigned>(pair >> right),
            static_cast<unsigned>(u64{a} * b >> 32),
            static_cast<unsigned>(static_cast<long long>(as_int(a)) * as_int(b) >> 32),
            static_cast<unsigned>(u64{a & 0xFFFFFFu} * (b & 0xFFFFFFu)),
            static_cast<unsigned>(static_cast<long long>(low24(a)) * low24(b)),
            (a > b ? a - b : b - a) + 5,
            static_cast<unsigned>(std::llabs(static_cast<long long>(as_int(a)) - as_int(b))) + 7,
            static_cast<unsigned>(signed_dot),
            dot,
            static_cast<unsigned>(half_dot),
            upper_dot,
            static_cast<unsigned>((static_cast<long long>(as_int(a)) + as_int(b)) >> 1),
            static_cast<unsigned>((u64{a} + b + 1) >> 1),
            (a << 7 | a >> 25) ^ (b & ~a) ^ (a | b),
            static_cast<unsigned>(as_int(a) >> (b & 31)),
            a / (b | 1),
            as_int(b | 3) == -1 ? 0u : static_cast<unsigned>(as_int(a) % as_int(b | 3)),
            a % 1000007u,
            static_cast<unsigned>(std::min(as_int(a), as_int(b))) ^ std::max(a, b),
            as_int(a) < 0 ? 0u - a : a,
            a >> (31 - (b & 7)),
            (a >> 5 & 0x3FFu) | (b & 0x3Fu) << 12,
            a ^ a >> 16};
        for (int f = 0; f < 32; ++f) {
            INFO("row " << f << " of " << std::hex << a << ", " << b);
            REQUIRE(y[32 * i + f] == expected[f]);
        }
    }
}

TEST_CASE("CUDA: fused minima and maxima", "[ptx][cuda]") {
    CudaGpu gpu("bits.ptx");
    const auto x = random_values<int>(64, -1000000000, 1000000000, 6);
    const auto py = gpu.zeros<int>(640);
    gpu.run("fused", {1}, {64}, gpu.upload(x), py);
    const auto y = gpu.download<int>(py, 640);
    for (int i = 0; i < 64; ++i) {
        const int a = x[i], b = x[(i + 1) % 64], c = x[(i + 2) % 64];
        const auto u = [](int v) { return static_cast<unsigned>(v); };
        const int sum = static_cast<int>(u(a) + u(b));
        using L = long long;
        const unsigned largest2 = by_fields<std::int16_t>(
            u(a), by_fields<std::int16_t>(u(b), u(c), 16, [](L p, L q) { return std::max(p, q); }), 16,
            [](L p, L q) { return std::max(p, q); });
        const unsigned sums2 = by_fields<std::int16_t>(u(a), u(b), 16, [](L p, L q) { return p + q; });
        const unsigned added2 =
            by_fields<std::int16_t>(sums2, u(c), 16, [](L p, L q) { return std::max(p, q); });
        CHECK(y[10 * i] == std::max(a, std::max(b, c)));
        CHECK(y[10 * i + 1] == std::min(a, std::min(b, c)));
        CHECK(y[10 * i + 2] == std::max(0, std::max(a, b)));
        CHECK(y[10 * i + 3] == std::max(sum, c));
        CHECK(y[10 * i + 4] == std::max(0, std::min(sum, c)));
        CHECK(u(y[10 * i + 5]) == std::max(u(a), std::max(u(b), u(c))));
        CHECK(u(y[10 * i + 6]) == largest2);
        CHECK(u(y[10 * i + 7]) == added2);
        CHECK(y[10 * i + 8] == std::max(a, b));
        CHECK(y[10 * i + 9] == (a >= b ? 1 : 0));
    }
}

TEST_CASE("CUDA: prime numbers of 64 bits", "[ptx][cuda]") {
    CudaGpu gpu("bits.ptx");
    std::vector<u64> x;
    for (u64 v = 0; v < 40; ++v) x.push_back(v);
    // The largest primes below 2^32, 2^61, 2^63 and 2^64, Mersenne numbers, Carmichael numbers, squares.
    const std::pair<u64, int> known[] = {{4294967291ull, 1},
                                         {2305843009213693951ull, 1},
                                         {9223372036854775783ull, 1},
                                         {18446744073709551557ull, 1},
                                         {147573952589676412ull, 0},
                                         {561, 0},
                                         {825265, 0},
                                         {3215031751ull, 0},
                                         {4294967291ull * 4294967279ull, 0},
                                         {18446744073709551556ull, 0}};
    for (const auto& [value, prime] : known) x.push_back(value);
    const int n = static_cast<int>(x.size());
    const auto py = gpu.zeros<int>(x.size());
    gpu.run("is_prime", {1}, {64}, n, gpu.upload(x), py);
    const auto y = gpu.download<int>(py, x.size());
    for (int i = 0; i < 40; ++i) {
        bool prime = i > 1;
        for (int d = 2; d < i; ++d) prime = prime && i % d != 0;
        CHECK(y[i] == (prime ? 1 : 0));
    }
    for (int i = 40; i < n; ++i) {
        INFO(x[i]);
        CHECK(y[i] == known[i - 40].second);
    }
}

TEST_CASE("CUDA: hashes and check sums", "[ptx][cuda]") {
    CudaGpu gpu("bits.ptx");
    const auto text = random_values<unsigned char>(50, 0, 255, 7);
    const int length = 50;
    const auto py = gpu.zeros<u64>(4 * 32);
    gpu.run("hashes", {1}, {32}, length, gpu.upload(text), py);
    const auto y = gpu.download<u64>(py, 4 * 32);
    for (int t = 0; t < 32; ++t) {
        u64 fnv = 14695981039346656037ull;
        for (int i = t; i < length; ++i) fnv = (fnv ^ text[i]) * 1099511628211ull;
        u64 mixed = fnv + static_cast<u64>(t) + 0x9E3779B97F4A7C15ull;
        mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9ull;
        mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EBull;
        mixed ^= mixed >> 31;
        u64 state = mixed | 1;
        for (int i = 0; i < t % 8; ++i) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
        }
        unsigned crc = ~0u;
        for (int i = 0; i < length - t; ++i) {
            crc ^= text[i];
            for (int b = 0; b < 8; ++b) crc = (crc & 1u) != 0 ? crc >> 1 ^ 0xEDB88320u : crc >> 1;
        }
        CHECK(y[4 * t] == fnv);
        CHECK(y[4 * t + 1] == mixed);
        CHECK(y[4 * t + 2] == state);
        CHECK(y[4 * t + 3] == ~crc);
    }
}

TEST_CASE("CUDA: number theory in 64 bits", "[ptx][cuda]") {
    CudaGpu gpu("bits.ptx");
    std::mt19937_64 generator(8);
    std::vector<long long> x(96), z(96);
    for (int i = 0; i < 96; ++i) {
        x[i] = static_cast<long long>(generator()) >> (i % 50 + 1);
        z[i] = static_cast<long long>(generator()) >> (i * 7 % 60 + 1);
    }
    const auto py = gpu.zeros<long long>(8 * 96);
    gpu.run("number_theory", {1}, {96}, gpu.upload(x), gpu.upload(z), py);
    const auto y = gpu.download<long long>(py, 8 * 96);
    for (int i = 0; i < 96; ++i) {
        const long long p = x[i], q = z[i];
        const auto up = static_cast<u64>(p), uq = static_cast<u64>(q);
        const long long magnitude = std::llabs(p);
        INFO(p << ", " << q);
        CHECK(y[8 * i] == std::gcd(p, q));
        const u64 root = static_cast<u64>(y[8 * i + 1]);
        if (magnitude < 1ll << 62) {
            CHECK(UnsignedWide{root} * root <= static_cast<UnsignedWide>(magnitude));
            CHECK(UnsignedWide{root + 1} * (root + 1) > static_cast<UnsignedWide>(magnitude));
        }
        CHECK(y[8 * i + 2] == static_cast<long long>(static_cast<Wide>(p) * q >> 64));
        CHECK(static_cast<u64>(y[8 * i + 3]) == static_cast<u64>(static_cast<UnsignedWide>(up) * uq >> 64));
        CHECK(y[8 * i + 4] == p / (q | 1));
        CHECK(y[8 * i + 5] == std::popcount(up) * 10000 + std::countl_zero(uq) * 100 +
                                  (p == 0 ? 0 : std::countr_zero(up) + 1));
        const u64 mirrored =
            u64{reversed(static_cast<unsigned>(up))} << 32 | reversed(static_cast<unsigned>(up >> 32));
        CHECK(static_cast<u64>(y[8 * i + 6]) == mirrored);
        int digits = 0;
        for (long long v = magnitude; v != 0; v /= 10) digits += static_cast<int>(v % 10);
        CHECK(y[8 * i + 7] == digits);
    }
}
