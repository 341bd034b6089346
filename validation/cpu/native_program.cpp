#include "validation/cpu/native_program.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "isa/common/error.h"

namespace heddle::validation {
namespace {

using Element = cpu::ElementType;
using cpu::Opcode;
namespace fs = std::filesystem;

const char* const kPreamble = R"(#include <immintrin.h>
#include <math.h>
#include <string.h>
typedef __m512 V;
#define I(x) _mm512_castps_si512(x)
#define F(x) _mm512_castsi512_ps(x)
static inline __attribute__((always_inline)) V fold_add(V a) {
    __m256 h = _mm256_add_ps(_mm512_castps512_ps256(a), _mm512_extractf32x8_ps(a, 1));
    __m128 q = _mm_add_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));
    q = _mm_add_ps(q, _mm_movehl_ps(q, q));
    return _mm512_broadcastss_ps(_mm_add_ss(q, _mm_shuffle_ps(q, q, 1)));
}
static inline __attribute__((always_inline)) V fold_max(V a) {
    __m256 h = _mm256_max_ps(_mm512_castps512_ps256(a), _mm512_extractf32x8_ps(a, 1));
    __m128 q = _mm_max_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));
    q = _mm_max_ps(q, _mm_movehl_ps(q, q));
    return _mm512_broadcastss_ps(_mm_max_ss(q, _mm_shuffle_ps(q, q, 1)));
}
static inline __attribute__((always_inline)) V fold_min(V a) {
    __m256 h = _mm256_min_ps(_mm512_castps512_ps256(a), _mm512_extractf32x8_ps(a, 1));
    __m128 q = _mm_min_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));
    q = _mm_min_ps(q, _mm_movehl_ps(q, q));
    return _mm512_broadcastss_ps(_mm_min_ss(q, _mm_shuffle_ps(q, q, 1)));
}
static inline __attribute__((always_inline)) V ones(__mmask16 m) { return _mm512_maskz_mov_ps(m, _mm512_set1_ps(1)); }
static inline __attribute__((always_inline)) __m512i lanes_of(long step) { return _mm512_mullo_epi32(_mm512_set1_epi32((int)step), _mm512_set_epi32(15,14,13,12,11,10,9,8,7,6,5,4,3,2,1,0)); }
static inline __attribute__((always_inline)) __mmask16 active(long value, long step, long limit) {
    if (step == 0) return value >= 0 && value < limit ? 0xFFFF : 0;
    if (step == 1 && value >= 0) { long left = limit - value; return left <= 0 ? 0 : left >= 16 ? 0xFFFF : (1u << left) - 1; }
    __mmask16 m = 0;
    for (long l = 0; l < 16; ++l) if (value + l * step >= 0 && value + l * step < limit) m |= 1u << l;
    return m;
}
static inline float bf16_at(const char* p) { unsigned short h; memcpy(&h, p, 2); unsigned w = (unsigned)h << 16; float f; memcpy(&f, &w, 4); return f; }
static inline int i32_at(const char* p) { int w; memcpy(&w, p, 4); return w; }
struct TileShape { unsigned char palette, start, reserved[14]; unsigned short row_bytes[16]; unsigned char rows[16]; };
static void begin_tiles() {
    TileShape shape = {};
    shape.palette = 1;
    for (int i = 0; i < 8; ++i) shape.row_bytes[i] = 64, shape.rows[i] = 16;
    __asm__ volatile("" : : "r"(&shape) : "memory");  // the intrinsic names only its first bytes
    _tile_loadconfig(&shape);
}
)";

std::string affine_of(const cpu::Affine& affine) {
    std::string text = fmt::format("({}L", affine.constant);
    for (const cpu::Affine::Term& term : affine.terms) text += fmt::format("+{}L*i{}", term.stride, unsigned{term.loop});
    return text + ")";
}

class TwinWriter {
  public:
    explicit TwinWriter(const cpu::Program& program) : program_(program) {
        if (program.lanes != 16) throw Error("twins are made of programs of 16 lanes, and " + program.name + " has others");
    }

    std::string text(std::size_t number) {
        for (std::size_t r = 0; r < program_.regions.size(); ++r) {
            const cpu::Region& region = program_.regions[r];
            out_ << "static __attribute__((noinline)) void region_" << number << "_" << r << "(char** b) {\n";
            for (std::size_t i = 0; i < program_.buffers.size(); ++i) out_ << "  char* const b" << i << " = b[" << i << "]; (void)b" << i << ";\n";
            for (unsigned v = 0; v < cpu::kVectorRegisters; ++v) out_ << "  V v" << v << " = _mm512_setzero_ps(); (void)v" << v << ";\n";
            for (std::size_t c = 0; c < region.counts.size(); ++c)
                out_ << "  for (long i" << c << " = 0; i" << c << " < " << region.counts[c] << "; ++i" << c << ") {\n";
            body(region.body);
            for (std::size_t c = 0; c < region.counts.size(); ++c) out_ << "  }\n";
            out_ << "}\n";
        }
        out_ << "extern \"C\" void run_" << number << "(char** b) {\n";
        if (tiles_) out_ << "  begin_tiles();\n";
        for (std::size_t r = 0; r < program_.regions.size(); ++r) out_ << "  region_" << number << "_" << r << "(b);\n";
        if (tiles_) out_ << "  _tile_release();\n";
        out_ << "}\n";
        return out_.str();
    }

  private:
    void body(const cpu::Body& nodes) {
        for (const auto& node : nodes) {
            const auto* loop = std::get_if<cpu::Loop>(&node);
            if (loop == nullptr) {
                instruction(std::get<cpu::Instruction>(node));
                continue;
            }
            const unsigned i = loop->counter;
            out_ << "  { const long n" << i << " = ";
            if (loop->bounded) {
                out_ << affine_of(loop->limit) << " < " << loop->count << " ? " << affine_of(loop->limit) << " : " << loop->count;
            } else {
                out_ << loop->count;
            }
            out_ << ";\n  for (long i" << i << " = 0; i" << i << " < n" << i << "; ++i" << i << ") {\n";
            body(loop->body);
            out_ << "  } }\n";
        }
    }

    std::string mask_of(const cpu::Instruction& one) const {
        std::string text;
        for (const cpu::Mask& mask : one.masks)
            text += fmt::format("{}active({}, {}, {})", text.empty() ? "" : " & ", affine_of(mask.value), mask.lane_stride, mask.limit);
        return text;
    }

    void load(const cpu::Instruction& one, const std::string& at) {
        const std::string mask = mask_of(one), p = "(const char*)(" + at + ")";
        const auto bytes = static_cast<std::int64_t>(cpu::bytes_of(one.type));
        const std::string z = mask.empty() ? "" : "maskz_", m = mask.empty() ? "" : "m, ";
        if (!mask.empty()) out_ << "  { const __mmask16 m = " << mask << ";\n";
        if (one.lane_bytes == 0) {
            if (!mask.empty()) out_ << "  if (!m) v" << int{one.d} << " = _mm512_setzero_ps(); else\n";
            const std::string element = one.type == Element::bf16  ? "_mm512_set1_ps(bf16_at(" + p + "))"
                                        : one.type == Element::f32 ? "_mm512_set1_ps(*(const float*)" + p + ")"
                                        : one.type == Element::i8  ? "F(_mm512_set1_epi32(*(const signed char*)" + p + "))"
                                        : one.type == Element::u8  ? "F(_mm512_set1_epi32(*(const unsigned char*)" + p + "))"
                                        : one.type == Element::i16 ? "F(_mm512_set1_epi32(*(const short*)" + p + "))"
                                        : one.type == Element::f16 ? "_mm512_set1_ps((float)*(const _Float16*)" + p + ")"
                                                                       : "F(_mm512_set1_epi32(i32_at(" + p + ")))";
            out_ << "  v" << int{one.d} << " = " << (mask.empty() ? element : "_mm512_maskz_mov_ps(m, " + element + ")") << ";\n";
        } else if (one.lane_bytes == bytes) {
            switch (one.type) {
                case Element::f32: out_ << "  v" << int{one.d} << " = _mm512_" << z << "loadu_ps(" << m << p << ");\n"; break;
                case Element::i32:
                case Element::raw32: out_ << "  v" << int{one.d} << " = F(_mm512_" << z << "loadu_epi32(" << m << p << "));\n"; break;
                case Element::bf16:
                    out_ << "  v" << int{one.d} << " = F(_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_" << z << "loadu_epi16(" << m << p << ")), 16));\n";
                    break;
                case Element::f16: out_ << "  v" << int{one.d} << " = _mm512_cvtph_ps(_mm256_" << z << "loadu_epi16(" << m << p << "));\n"; break;
                case Element::i16: out_ << "  v" << int{one.d} << " = F(_mm512_cvtepi16_epi32(_mm256_" << z << "loadu_epi16(" << m << p << ")));\n"; break;
                case Element::i8: out_ << "  v" << int{one.d} << " = F(_mm512_cvtepi8_epi32(_mm_" << z << "loadu_epi8(" << m << p << ")));\n"; break;
                case Element::u8: out_ << "  v" << int{one.d} << " = F(_mm512_cvtepu8_epi32(_mm_" << z << "loadu_epi8(" << m << p << ")));\n"; break;
                case Element::i64:
                    out_ << "  { float t[16] = {}; for (int l = 0; l < 16; ++l) " << (mask.empty() ? "" : "if (m >> l & 1) ") << "memcpy(t + l, " << p
                         << " + l * 8L, 4); v" << int{one.d} << " = _mm512_loadu_ps(t); }\n";
                    break;
            }
        } else if (bytes == 4) {
            if (mask.empty()) {
                out_ << "  v" << int{one.d} << " = _mm512_i32gather_ps(lanes_of(" << one.lane_bytes << "L), " << p << ", 1);\n";
            } else {
                out_ << "  v" << int{one.d} << " = _mm512_mask_i32gather_ps(_mm512_setzero_ps(), m, lanes_of(" << one.lane_bytes << "L), " << p << ", 1);\n";
            }
        } else {
            if (one.type != Element::bf16) throw Error("no twin loads " + cpu::name_of(one.type) + " with a stride");
            out_ << "  { float t[16] = {}; for (int l = 0; l < 16; ++l) " << (mask.empty() ? "" : "if (m >> l & 1) ") << "t[l] = bf16_at(" << p << " + l * "
                 << one.lane_bytes << "L); v" << int{one.d} << " = _mm512_loadu_ps(t); }\n";
        }
        if (!mask.empty()) out_ << "  }\n";
    }

    void store(const cpu::Instruction& one, const std::string& at, int from) {
        const std::string mask = mask_of(one), p = "(" + at + ")";
        const auto bytes = static_cast<std::int64_t>(cpu::bytes_of(one.type));
        const std::string z = mask.empty() ? "" : "mask_", m = mask.empty() ? "" : "m, ";
        if (!mask.empty()) out_ << "  { const __mmask16 m = " << mask << ";\n";
        const std::string v = "v" + std::to_string(from);
        if (one.lane_bytes == bytes || one.lane_bytes == 0) {
            switch (one.type) {
                case Element::f32:
                case Element::i32:
                case Element::raw32:
                    out_ << "  " << (one.streaming ? "_mm512_stream_ps((float*)" + p + ", " + v + ")" : "_mm512_" + z + "storeu_ps((float*)" + p + ", " + m + v + ")") << ";\n";
                    break;
                case Element::bf16: out_ << "  _mm256_" << z << "storeu_epi16(" << p << ", " << m << "(__m256i)_mm512_cvtneps_pbh(" << v << "));\n"; break;
                case Element::f16: out_ << "  _mm256_" << z << "storeu_epi16(" << p << ", " << m << "_mm512_cvtps_ph(" << v << ", 0));\n"; break;
                case Element::u8:
                case Element::i8: out_ << "  _mm_" << z << "storeu_epi8(" << p << ", " << m << "_mm512_cvtepi32_epi8(I(" << v << ")));\n"; break;
                default: throw Error("no twin stores " + cpu::name_of(one.type));
            }
        } else if (bytes == 4) {
            out_ << "  _mm512_" << z << "i32scatter_ps(" << p << ", " << m << "lanes_of(" << one.lane_bytes << "L), " << v << ", 1);\n";
        } else {
            if (one.type != Element::bf16) throw Error("no twin stores " + cpu::name_of(one.type) + " with a stride");
            out_ << "  { unsigned short t[16]; const __m256i h = (__m256i)_mm512_cvtneps_pbh(" << v << "); memcpy(t, &h, 32); for (int l = 0; l < 16; ++l) "
                 << (mask.empty() ? "" : "if (m >> l & 1) ") << "memcpy(" << p << " + l * " << one.lane_bytes << "L, t + l, 2); }\n";
        }
        if (!mask.empty()) out_ << "  }\n";
    }

    void instruction(const cpu::Instruction& one) {
        const int d = one.d, a = one.a, b = one.b, c = one.c;
        const auto put = [&](const std::string& text) { out_ << "  v" << d << " = " << text << ";\n"; };
        std::string at = fmt::format("b{} + {}", one.buffer, affine_of(one.offset));
        switch (one.opcode) {
            case Opcode::op_load: return load(one, at);
            case Opcode::op_store: return store(one, at, a);
            case Opcode::op_gather:
            case Opcode::op_scatter:
                if (!one.uniform) throw Error("no twin gathers by lane");
                at += fmt::format(" + (long)_mm_cvtsi128_si32(_mm512_castsi512_si128(I(v{}))) * {}L", a, one.scale);
                return one.opcode == Opcode::op_gather ? load(one, at) : store(one, at, b);
            case Opcode::op_prefetch: out_ << "  __builtin_prefetch(" << at << ");\n"; return;
            case Opcode::op_set: return put(fmt::format("F(_mm512_set1_epi32({}))", static_cast<std::int32_t>(one.immediate)));
            case Opcode::op_index: return put(fmt::format("F(_mm512_add_epi32(_mm512_set1_epi32((int){}), lanes_of({}L)))", affine_of(one.offset), one.lane_bytes));
            case Opcode::op_add: return put(fmt::format("_mm512_add_ps(v{}, v{})", a, b));
            case Opcode::op_sub: return put(fmt::format("_mm512_sub_ps(v{}, v{})", a, b));
            case Opcode::op_mul: return put(fmt::format("_mm512_mul_ps(v{}, v{})", a, b));
            case Opcode::op_div: return put(fmt::format("_mm512_div_ps(v{}, v{})", a, b));
            case Opcode::op_fma: return put(fmt::format("_mm512_fmadd_ps(v{}, v{}, v{})", a, b, c));
            case Opcode::op_min: return put(fmt::format("_mm512_min_ps(v{}, v{})", a, b));
            case Opcode::op_max: return put(fmt::format("_mm512_max_ps(v{}, v{})", a, b));
            case Opcode::op_sqrt: return put(fmt::format("_mm512_sqrt_ps(v{})", a));
            case Opcode::op_floor: return put(fmt::format("_mm512_roundscale_ps(v{}, 9)", a));
            case Opcode::op_round: return put(fmt::format("_mm512_roundscale_ps(v{}, 8)", a));
            case Opcode::op_scale: return put(fmt::format("_mm512_scalef_ps(v{}, v{})", a, b));
            case Opcode::op_exponent: return put(fmt::format("_mm512_getexp_ps(v{})", a));
            case Opcode::op_mantissa: return put(fmt::format("_mm512_getmant_ps(v{}, _MM_MANT_NORM_1_2, _MM_MANT_SIGN_src)", a));
            case Opcode::op_gt: return put(fmt::format("ones(_mm512_cmp_ps_mask(v{}, v{}, _CMP_GT_OQ))", a, b));
            case Opcode::op_ge: return put(fmt::format("ones(_mm512_cmp_ps_mask(v{}, v{}, _CMP_GE_OQ))", a, b));
            case Opcode::op_eq: return put(fmt::format("ones(_mm512_cmp_ps_mask(v{}, v{}, _CMP_EQ_OQ))", a, b));
            case Opcode::op_ne: return put(fmt::format("ones(_mm512_cmp_ps_mask(v{}, v{}, _CMP_NEQ_UQ))", a, b));
            case Opcode::op_select:
                return put(fmt::format("_mm512_mask_blend_ps(_mm512_cmp_ps_mask(v{}, _mm512_setzero_ps(), _CMP_NEQ_UQ), v{}, v{})", a, c, b));
            case Opcode::op_and: return put(fmt::format("F(_mm512_and_si512(I(v{}), I(v{})))", a, b));
            case Opcode::op_xor: return put(fmt::format("F(_mm512_xor_si512(I(v{}), I(v{})))", a, b));
            case Opcode::op_iadd: return put(fmt::format("F(_mm512_add_epi32(I(v{}), I(v{})))", a, b));
            case Opcode::op_imul: return put(fmt::format("F(_mm512_mullo_epi32(I(v{}), I(v{})))", a, b));
            case Opcode::op_shr: return put(fmt::format("F(_mm512_srli_epi32(I(v{}), {}))", a, one.immediate));
            case Opcode::op_to_float: return put(fmt::format("_mm512_cvtepi32_ps(I(v{}))", a));
            case Opcode::op_to_int: return put(fmt::format("F(_mm512_cvttps_epi32(v{}))", a));
            case Opcode::op_hsum: return put(fmt::format("fold_add(v{})", a));
            case Opcode::op_hmax: return put(fmt::format("fold_max(v{})", a));
            case Opcode::op_hmin: return put(fmt::format("fold_min(v{})", a));
            case Opcode::op_dot_bf16: return put(fmt::format("_mm512_dpbf16_ps(v{}, (__m512bh)v{}, (__m512bh)v{})", c, a, b));
            case Opcode::op_dot_u8i8: return put(fmt::format("F(_mm512_dpbusd_epi32(I(v{}), I(v{}), I(v{})))", c, a, b));
            case Opcode::op_tile_zero: out_ << "  _tile_zero(" << d << ");\n"; break;
            case Opcode::op_tile_load: out_ << "  _tile_loadd(" << d << ", " << at << ", " << one.lane_bytes << ");\n"; break;
            case Opcode::op_tile_store: out_ << "  _tile_stored(" << a << ", " << at << ", " << one.lane_bytes << ");\n"; break;
            case Opcode::op_tile_bf16: out_ << "  _tile_dpbf16ps(" << d << ", " << a << ", " << b << ");\n"; break;
            case Opcode::op_tile_i8: out_ << "  _tile_dpbssd(" << d << ", " << a << ", " << b << ");\n"; break;
        }
        tiles_ = true;
    }

    const cpu::Program& program_;
    std::ostringstream out_;
    bool tiles_ = false;
};

}  // namespace

std::string why_no_twins() {
#if defined(__x86_64__)
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") || !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512vl"))
        return "this machine has no AVX-512, which twins of kernels are written for";
    if (std::system("c++ --version > /dev/null 2>&1") != 0) return "there is no compiler `c++`, which twins of kernels need";  // NOLINT(concurrency-mt-unsafe)
    return "";
#else
    return "twins of kernels are written for x86-64";
#endif
}

bool host_has_tiles() {
#if defined(__x86_64__)
    unsigned a = 7, b = 0, c = 0, d = 0;
    __asm__("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
    if ((d >> 22 & 1) == 0 || (d >> 24 & 1) == 0) return false;
    constexpr long kRequestPermission = 0x1023, kTileData = 18;
    return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
    return false;
#endif
}

bool host_has_bf16_dot() {
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx512bf16") != 0;
#else
    return false;
#endif
}

std::string twin_text(std::span<const cpu::Program> programs) {
    std::string text = kPreamble;
    for (std::size_t i = 0; i < programs.size(); ++i) text += TwinWriter(programs[i]).text(i);
    return text;
}

NativePrograms::NativePrograms(std::span<const cpu::Program> programs, int optimisation) {
    const std::string text = twin_text(programs);
    std::string folder = (fs::temp_directory_path() / "heddle-twins-XXXXXX").string();
    if (mkdtemp(folder.data()) == nullptr) throw Error("cannot make a folder for twins", {folder, 0, ""});
    const fs::path base(folder);
    std::ofstream(base / "twins.cpp") << text;
    const std::string command = "c++ -std=c++17 -O" + std::to_string(optimisation) + " -march=native -ffp-contract=off -w -fPIC -shared -o '" + (base / "twins.so").string() + "' '" +
                                (base / "twins.cpp").string() + "' 2> '" + (base / "messages").string() + "'";
    const int failed = std::system(command.c_str());  // NOLINT(concurrency-mt-unsafe)
    std::string message;
    if (failed != 0) {
        std::ifstream messages(base / "messages");
        std::getline(messages, message);
    } else {
        library_ = dlopen((base / "twins.so").c_str(), RTLD_NOW | RTLD_LOCAL);
    }
    std::error_code ignored;
    fs::remove_all(base, ignored);
    if (library_ == nullptr) throw Error("the twins of kernels do not compile: " + message, {"c++", 0, ""});
    for (std::size_t i = 0; i < programs.size(); ++i)
        functions_.push_back(reinterpret_cast<void (*)(char**)>(dlsym(library_, ("run_" + std::to_string(i)).c_str())));
}

NativePrograms::~NativePrograms() {
    if (library_ != nullptr) dlclose(library_);
}

void NativePrograms::run(std::size_t program, const std::vector<std::byte*>& buffers) const {
    std::vector<char*> pointers;
    pointers.reserve(buffers.size());
    for (std::byte* const buffer : buffers) pointers.push_back(reinterpret_cast<char*>(buffer));
    functions_.at(program)(pointers.data());
}

}  // namespace heddle::validation
