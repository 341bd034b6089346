// Integers: bit instructions, bytes in words, 64-bit arithmetic, hashes.
// ptx: bits.ptx -arch=compute_90
typedef unsigned long long u64;

extern "C" {

__global__ void bit_tricks(const unsigned* x, const unsigned* z, unsigned* y) {
    const unsigned a = x[threadIdx.x], b = z[threadIdx.x];
    unsigned* out = y + threadIdx.x * 32;
    out[0] = __popc(a);
    out[1] = __clz(a);
    out[2] = __ffs(a);
    out[3] = __brev(a);
    out[4] = __byte_perm(a, b, 0x6420);
    out[5] = __byte_perm(a, b, b);
    out[6] = __funnelshift_l(a, b, a & 63);
    out[7] = __funnelshift_r(a, b, b & 31);
    out[8] = __funnelshift_lc(a, b, a & 63);
    out[9] = __funnelshift_rc(a, b, b & 63);
    out[10] = __umulhi(a, b);
    out[11] = __mulhi(static_cast<int>(a), static_cast<int>(b));
    out[12] = __umul24(a, b);
    out[13] = __mul24(static_cast<int>(a), static_cast<int>(b));
    out[14] = __usad(a, b, 5u);
    out[15] = __sad(static_cast<int>(a), static_cast<int>(b), 7u);
    out[16] = __dp4a(static_cast<int>(a), static_cast<int>(b), 9);
    out[17] = __dp4a(a, b, 11u);
    out[18] = __dp2a_lo(static_cast<int>(a), static_cast<int>(b), 13);
    out[19] = __dp2a_hi(a, b, 17u);
    out[20] = __hadd(static_cast<int>(a), static_cast<int>(b));
    out[21] = __urhadd(a, b);
    out[22] = (a << 7 | a >> 25) ^ (b & ~a) ^ (a | b);
    out[23] = static_cast<int>(a) >> (b & 31);
    out[24] = a / (b | 1);
    out[25] = static_cast<int>(a) % static_cast<int>(b | 3);
    out[26] = a % 1000007u;
    out[27] = min(static_cast<int>(a), static_cast<int>(b)) ^ max(a, b);
    out[28] = abs(static_cast<int>(a));
    out[29] = a >> 40 - (b & 7) - 9;
    out[30] = (a >> 5 & 0x3FF) | (b & 0x3F) << 12;
    out[31] = a ^ a >> 16;
}

// Fused three-operand minima and maxima.
__global__ void fused(const int* x, int* y) {
    const int a = x[threadIdx.x], b = x[(threadIdx.x + 1) % 64], c = x[(threadIdx.x + 2) % 64];
    int* out = y + threadIdx.x * 10;
    out[0] = __vimax3_s32(a, b, c);
    out[1] = __vimin3_s32(a, b, c);
    out[2] = __vimax_s32_relu(a, b);
    out[3] = __viaddmax_s32(a, b, c);
    out[4] = __viaddmin_s32_relu(a, b, c);
    out[5] = __vimax3_u32(a, b, c);
    out[6] = __vimax3_s16x2(a, b, c);
    out[7] = __viaddmax_s16x2(a, b, c);
    bool first;
    out[8] = __vibmax_s32(a, b, &first);
    out[9] = first;
}

__device__ u64 power_modulo(u64 base, u64 exponent, u64 modulus) {
    u64 result = 1;
    base %= modulus;
    while (exponent > 0) {
        if (exponent & 1) result = static_cast<u64>(static_cast<unsigned __int128>(result) * base % modulus);
        base = static_cast<u64>(static_cast<unsigned __int128>(base) * base % modulus);
        exponent >>= 1;
    }
    return result;
}

// Miller-Rabin with the bases that decide every 64-bit number.
__global__ void is_prime(int count, const u64* x, int* y) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const u64 n = x[i];
    bool prime = n > 1;
    u64 odd = n - 1;
    int twos = 0;
    while (prime && (odd & 1) == 0) {
        odd >>= 1;
        ++twos;
    }
    const int bases[12] = {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37};
    for (int b = 0; b < 12 && prime; ++b) {
        if (n % bases[b] == 0) {
            prime = n == bases[b];
            break;
        }
        u64 power = power_modulo(bases[b], odd, n);
        if (power == 1 || power == n - 1) continue;
        bool witness = true;
        for (int r = 1; r < twos && witness; ++r) {
            power = static_cast<u64>(static_cast<unsigned __int128>(power) * power % n);
            witness = power != n - 1;
        }
        prime = !witness;
    }
    y[i] = prime;
}

__global__ void hashes(int length, const unsigned char* text, u64* y) {
    const int t = threadIdx.x;
    u64 fnv = 14695981039346656037ull;
    for (int i = t; i < length; ++i) fnv = (fnv ^ text[i]) * 1099511628211ull;
    u64 mixed = fnv + t;  // splitmix
    mixed += 0x9E3779B97F4A7C15ull;
    mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9ull;
    mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EBull;
    mixed ^= mixed >> 31;
    u64 state = mixed | 1;  // xorshift
    for (int i = 0; i < t % 8; ++i) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
    }
    unsigned crc = ~0u;
    for (int i = 0; i < length - t; ++i) {
        crc ^= text[i];
        for (int b = 0; b < 8; ++b) crc = crc >> 1 ^ (0xEDB88320u & -(crc & 1));
    }
    y[t * 4] = fnv;
    y[t * 4 + 1] = mixed;
    y[t * 4 + 2] = state;
    y[t * 4 + 3] = ~crc;
}

// Greatest common divisors, square roots, decimal digits.
__global__ void number_theory(const long long* x, const long long* z, long long* y) {
    const long long p = x[threadIdx.x], q = z[threadIdx.x];
    u64 a = p < 0 ? -p : p, b = q < 0 ? -q : q;
    while (b != 0) {
        const u64 rest = a % b;
        a = b;
        b = rest;
    }
    long long* out = y + threadIdx.x * 8;
    out[0] = a;
    u64 root = 0;
    for (u64 bit = 1ull << 31; bit != 0; bit >>= 1) {
        if ((root | bit) * (root | bit) <= static_cast<u64>(p < 0 ? -p : p)) root |= bit;
    }
    out[1] = root;
    out[2] = __mul64hi(p, q);
    out[3] = __umul64hi(p, q);
    out[4] = p / (q | 1);
    out[5] = __popcll(p) * 10000 + __clzll(q) * 100 + __ffsll(p);
    out[6] = __brevll(p);
    int digits = 0;
    for (u64 v = p < 0 ? -p : p; v != 0; v /= 10) digits += v % 10;
    out[7] = digits;
}

}  // extern "C"
