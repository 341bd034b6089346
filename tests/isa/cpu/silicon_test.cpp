// The instructions of this processor, where it has them, beside those of the executor: every bit.
#include <catch2/catch.hpp>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "isa/cpu/execute.h"

#if defined(__x86_64__)
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace heddle;

namespace {

/// Pairs of bf16 with all kinds of exponents, or of a narrow range.
std::uint32_t random_pair(std::mt19937& random, bool wide) {
    std::uint32_t pair = 0;
    for (int i = 0; i < 2; ++i) {
        std::uint32_t half = random() & 0xFFFFu;
        if (!wide) half = (half & 0x807Fu) | ((120 + random() % 16) << 7);
        if ((half & 0x7F80u) == 0x7F80u) half &= 0xBFFFu;  // no NaN, no infinity
        pair = pair << 16 | half;
    }
    return pair;
}

__attribute__((target("avx512f,avx512bf16"))) void silicon_dot_bf16(const std::uint32_t* a, const std::uint32_t* b, float* c) {
    const __m512i x = _mm512_loadu_si512(a), y = _mm512_loadu_si512(b);
    _mm512_storeu_ps(c, _mm512_dpbf16_ps(_mm512_loadu_ps(c), (__m512bh)x, (__m512bh)y));
}

__attribute__((target("avx512f,avx512vnni"))) void silicon_dot_u8i8(const std::uint32_t* a, const std::uint32_t* b, std::uint32_t* c) {
    _mm512_storeu_si512(c, _mm512_dpbusd_epi32(_mm512_loadu_si512(c), _mm512_loadu_si512(a), _mm512_loadu_si512(b)));
}

struct alignas(64) TileShape {
    std::uint8_t palette = 1, start = 0, reserved[14] = {};
    std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
    std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

__attribute__((target("amx-tile,amx-bf16,amx-int8"))) void silicon_tile(bool integers, const void* a, const void* b, void* c) {
    const TileShape shape;
    __asm__ volatile("" : : "r"(&shape) : "memory");  // the intrinsic names only its first bytes
    _tile_loadconfig(&shape);
    _tile_loadd(0, c, 64);
    _tile_loadd(1, a, 64);
    _tile_loadd(2, b, 64);
    if (integers) {
        _tile_dpbssd(0, 1, 2);
    } else {
        _tile_dpbf16ps(0, 1, 2);
    }
    _tile_stored(0, c, 64);
    _tile_release();
}

bool has_amx() {
    unsigned a = 7, b = 0, c = 0, d = 0;
    __asm__("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
    if ((d >> 22 & 1) == 0 || (d >> 24 & 1) == 0) return false;
    constexpr long kRequestPermission = 0x1023, kTileData = 18;
    return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

std::vector<std::uint32_t> executed_tile(bool integers, const std::vector<std::uint32_t>& a, const std::vector<std::uint32_t>& b,
                                         const std::vector<std::uint32_t>& c) {
    const cpu::Program program = cpu::assemble(
        std::string("program t lanes 16\nbuffer a 1024\nbuffer b 1024\nbuffer c 1024\nparallel r 1 {\n tile_load t0 [c 0] step 64\n"
                    " tile_load t1 [a 0] step 64\n tile_load t2 [b 0] step 64\n ") +
        (integers ? "tile_i8" : "tile_bf16") + " t0 t1 t2\n tile_store t0 [c 0] step 64\n}\n");
    cpu::Memory memory(program, 1);
    std::memcpy(memory.bytes(0).data(), a.data(), 1024);
    std::memcpy(memory.bytes(1).data(), b.data(), 1024);
    std::memcpy(memory.bytes(2).data(), c.data(), 1024);
    cpu::execute(program, memory);
    std::vector<std::uint32_t> result(256);
    std::memcpy(result.data(), memory.bytes(2).data(), 1024);
    return result;
}

}  // namespace

TEST_CASE("vdpbf16ps and vpdpbusd are those of this processor") {
    if (!__builtin_cpu_supports("avx512bf16") || !__builtin_cpu_supports("avx512vnni")) return;
    std::mt19937 random(1);
    for (int round = 0; round < 20000; ++round) {
        std::uint32_t a[16], b[16], integers[16];
        float c[16], before[16];
        for (int l = 0; l < 16; ++l) {
            a[l] = random_pair(random, round % 2 == 0);
            b[l] = random_pair(random, round % 2 == 0);
            integers[l] = random();
            const std::uint32_t bits = random_pair(random, round % 2 == 0) ^ (random() & 0xFFFFu);
            std::memcpy(&c[l], &bits, 4);
            before[l] = c[l];
        }
        silicon_dot_bf16(a, b, c);
        std::uint32_t sums[16];
        std::memcpy(sums, integers, 64);
        silicon_dot_u8i8(a, b, sums);
        for (int l = 0; l < 16; ++l) {
            const float mine = cpu::dot_bf16(before[l], a[l], b[l]);
            if (std::memcmp(&mine, &c[l], 4) != 0 && !(mine != mine && c[l] != c[l])) {
                INFO(std::hex << a[l] << " " << b[l] << " + " << before[l]);
                CHECK(mine == c[l]);
                return;
            }
            REQUIRE(cpu::dot_u8i8(integers[l], a[l], b[l]) == sums[l]);
        }
    }
}

TEST_CASE("AMX tiles are those of this processor") {
    if (!has_amx()) return;
    std::mt19937 random(2);
    for (int round = 0; round < 200; ++round) {
        std::vector<std::uint32_t> a(256), b(256), c(256);
        for (int i = 0; i < 256; ++i) {
            a[i] = random_pair(random, round % 4 == 0);
            b[i] = random_pair(random, round % 4 == 0);
            c[i] = random_pair(random, round % 4 == 0);
        }
        for (const bool integers : {false, true}) {
            std::vector<std::uint32_t> silicon = c;
            silicon_tile(integers, a.data(), b.data(), silicon.data());
            const std::vector<std::uint32_t> mine = executed_tile(integers, a, b, c);
            int differ = 0;
            for (int i = 0; i < 256; ++i) {
                float x, y;
                std::memcpy(&x, &silicon[i], 4);
                std::memcpy(&y, &mine[i], 4);
                if (silicon[i] != mine[i] && (integers || !(x != x && y != y))) ++differ;
            }
            INFO("round " << round << (integers ? " int8" : " bf16"));
            CHECK(differ == 0);
            if (differ != 0) return;
        }
    }
}
#endif
