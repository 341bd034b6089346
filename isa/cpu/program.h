// What is a CPU told to do? Loop nests over vector and tile instructions, in the form that a compiler would give to a kernel of a
// library: regions that threads share, loops with fixed bounds, addresses that are linear in the loops' counters.
//
// A program is a list of regions, which run one after the other. The iterations of a region's outer loops are divided among the threads
// by OpenMP's static rule, and a region ends when all threads have (the implied barrier). Within its iterations a thread runs a tree of
// loops and instructions. Vector registers hold 32-bit lanes; memory operands convert narrower numbers from and to them.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace heddle::cpu {

inline constexpr unsigned kMostLanes = 16;      ///< of a vector register: 512 bits
inline constexpr unsigned kVectorRegisters = 32;
inline constexpr unsigned kTileRegisters = 8;   ///< of 16 rows of 64 bytes
inline constexpr unsigned kMostLoops = 32;      ///< loop counters of one region

/// The type of elements in memory. In a register f32, bf16 and f16 are f32; the integers are 32-bit integers (i64: its low half).
/// `raw32` is 32 bits as they are: pairs of bf16, groups of four int8.
enum class ElementType : std::uint8_t { f32, bf16, f16, i64, i32, i16, i8, u8, raw32 };
unsigned bytes_of(ElementType type);
std::string name_of(ElementType type);

/// What an instruction needs besides its name: registers read, and whether it writes one and speaks of memory.
struct OpcodeTraits {
    const char* name;
    unsigned sources;      ///< vector (or tile) registers read: a, b, c
    bool writes;           ///< writes register d
    bool memory;           ///< has an address
    bool tile;             ///< its registers are tiles
};

// clang-format off
/// ROW(name, sources, writes a register, has an address, tile registers)
#define HEDDLE_CPU_OPCODES(ROW)                                                                                        \
    /* memory: lane l is at address + l * lane_bytes; inactive lanes load 0 and store nothing */                       \
    ROW(load, 0, true, true, false)                                                                                    \
    ROW(store, 1, false, true, false)                                                                                  \
    /* lane l at address + a[l] * scale + l * lane_bytes; `uniform`: a[0] for all lanes. scatter stores b */           \
    ROW(gather, 1, true, true, false)                                                                                  \
    ROW(scatter, 2, false, true, false)                                                                                \
    ROW(prefetch, 0, false, true, false)                                                                               \
    /* the 32 bits of `immediate` in every lane; the counter of a loop plus lanes: d[l] = affine + l * lane_bytes */   \
    ROW(set, 0, true, false, false)                                                                                    \
    ROW(index, 0, true, true, false)                                                                                   \
    /* f32, rounded to nearest even once */                                                                            \
    ROW(add, 2, true, false, false)                                                                                    \
    ROW(sub, 2, true, false, false)                                                                                    \
    ROW(mul, 2, true, false, false)                                                                                    \
    ROW(div, 2, true, false, false)                                                                                    \
    /* d = a * b + c */                                                                                                \
    ROW(fma, 3, true, false, false)                                                                                    \
    /* the second operand where one is NaN, as x86 */                                                                  \
    ROW(min, 2, true, false, false)                                                                                    \
    ROW(max, 2, true, false, false)                                                                                    \
    ROW(sqrt, 1, true, false, false)                                                                                   \
    ROW(floor, 1, true, false, false)                                                                                  \
    /* to the nearest integer, ties to even */                                                                         \
    ROW(round, 1, true, false, false)                                                                                  \
    /* a * 2^floor(b); the exponent of a as a number; a with exponent 0 (in [1, 2), sign kept): vscalef, vgetexp,      \
       vgetmant */                                                                                                     \
    ROW(scale, 2, true, false, false)                                                                                  \
    ROW(exponent, 1, true, false, false)                                                                               \
    ROW(mantissa, 1, true, false, false)                                                                               \
    /* 1 or 0 as f32; false where one is NaN, but ne */                                                                \
    ROW(gt, 2, true, false, false)                                                                                     \
    ROW(ge, 2, true, false, false)                                                                                     \
    ROW(eq, 2, true, false, false)                                                                                     \
    ROW(ne, 2, true, false, false)                                                                                     \
    /* a != 0 ? b : c */                                                                                               \
    ROW(select, 3, true, false, false)                                                                                 \
    /* bits and 32-bit integers */                                                                                     \
    ROW(and, 2, true, false, false)                                                                                    \
    ROW(xor, 2, true, false, false)                                                                                    \
    ROW(iadd, 2, true, false, false)                                                                                   \
    ROW(imul, 2, true, false, false)                                                                                   \
    ROW(shr, 1, true, false, false)                                                                                    \
    /* between 32-bit integers and f32; to_int truncates */                                                            \
    ROW(to_float, 1, true, false, false)                                                                               \
    ROW(to_int, 1, true, false, false)                                                                                 \
    /* over lanes, the result in every lane: halves are folded together, lane i with lane i + n/2, down to one */      \
    ROW(hsum, 1, true, false, false)                                                                                   \
    ROW(hmax, 1, true, false, false)                                                                                   \
    ROW(hmin, 1, true, false, false)                                                                                   \
    /* d = c + a . b over pairs of bf16 (vdpbf16ps), over four u8 x i8 with 32-bit sums (vpdpbusd) */                  \
    ROW(dot_bf16, 3, true, false, false)                                                                               \
    ROW(dot_u8i8, 3, true, false, false)                                                                               \
    /* AMX: rows are lane_bytes apart; d = d + a b of bf16 pairs or signed int8 groups */                              \
    ROW(tile_zero, 0, true, false, true)                                                                               \
    ROW(tile_load, 0, true, true, true)                                                                                \
    ROW(tile_store, 1, false, true, true)                                                                              \
    ROW(tile_bf16, 2, true, false, true)                                                                               \
    ROW(tile_i8, 2, true, false, true)
// clang-format on

/// What an instruction does; HEDDLE_CPU_OPCODES says what each means. (op_and, ...: some names are words of C++.)
enum class Opcode : std::uint8_t {
#define HEDDLE_ROW(name, ...) op_##name,
    HEDDLE_CPU_OPCODES(HEDDLE_ROW)
#undef HEDDLE_ROW
};
const OpcodeTraits& traits(Opcode opcode);

/// constant + sum of stride * counter of loop.
struct Affine {
    struct Term {
        std::uint8_t loop = 0;
        std::int64_t stride = 0;
        bool operator==(const Term&) const = default;
    };
    std::int64_t constant = 0;
    std::vector<Term> terms;

    Affine() = default;
    Affine(std::int64_t value) : constant(value) {}
    Affine& add(unsigned loop, std::int64_t stride);
    Affine operator+(const Affine& other) const;
    Affine operator*(std::int64_t factor) const;
    std::int64_t at(const std::int64_t* counters) const {
        std::int64_t value = constant;
        for (const Term& term : terms) value += term.stride * counters[term.loop];
        return value;
    }
    bool operator==(const Affine&) const = default;
};

/// Lane l takes part when 0 <= value + l * lane_stride < limit.
struct Mask {
    Affine value;
    std::int64_t lane_stride = 0, limit = 0;
    bool operator==(const Mask&) const = default;
};

/// One instruction. Which fields count follows from the opcode's traits.
struct Instruction {
    Opcode opcode = Opcode::op_set;
    std::int8_t d = 0, a = 0, b = 0, c = 0;    ///< registers
    ElementType type = ElementType::f32;       ///< of the elements in memory
    std::uint32_t immediate = 0;               ///< set: the bits; shr: the distance
    std::uint16_t buffer = 0;                  ///< of the address
    Affine offset;                             ///< bytes into the buffer; index: the value
    std::int64_t lane_bytes = 0;               ///< from lane to lane; of tiles from row to row
    std::int64_t scale = 0;                    ///< gather, scatter: bytes per unit of the index
    bool uniform = false;                      ///< gather, scatter: all lanes have the index of lane 0
    bool streaming = false;                    ///< store: past the caches
    std::vector<Mask> masks;                   ///< a lane is active when all agree
    bool operator==(const Instruction&) const = default;
};

struct Loop;
/// Instructions and loops in their order.
using Body = std::vector<std::variant<Instruction, Loop>>;

/// `for (counter = 0; counter < min(count, limit); ++counter)`.
struct Loop {
    std::uint8_t counter = 0;
    std::int64_t count = 0;
    bool bounded = false;  ///< whether `limit` counts
    Affine limit;
    Body body;
    bool operator==(const Loop& other) const;
};

/// A parallel region: `#pragma omp parallel for collapse(n) schedule(static)` over its counts; counters 0 ... n - 1 are theirs.
struct Region {
    std::string name;
    std::vector<std::int64_t> counts;
    std::uint32_t most_threads = 0;  ///< 0: all that there are
    Body body;

    std::int64_t iterations() const;
    bool operator==(const Region& other) const;
};

/// A range of memory. Each thread has its own copy of a buffer that is `per_thread`.
struct Buffer {
    std::string name;
    std::uint64_t bytes = 0;
    bool per_thread = false;
    bool operator==(const Buffer&) const = default;
};

/// A program for vectors of `lanes` 32-bit lanes.
struct Program {
    std::string name;
    unsigned lanes = kMostLanes;
    std::vector<Buffer> buffers;
    std::vector<Region> regions;
    bool operator==(const Program&) const = default;
};

/// The iterations [first, last) of thread `thread` out of `threads` by OpenMP's static rule without a chunk: as even as can be, the
/// first threads have one more.
std::pair<std::int64_t, std::int64_t> static_share(std::int64_t iterations, unsigned thread, unsigned threads);

/// Threads that take part in a region when there are `threads`.
unsigned threads_of(const Region& region, unsigned threads);

/// Throws heddle::Error when a program names a register, a buffer or a counter that there is not, or an access can leave its buffer:
/// what is checked is that the first and the last address of every access without an index and without masks, and outside of loops with a limit, lie in the buffer.
void validate(const Program& program);

/// The assembly text of a program; assemble(disassemble(p)) == p. docs/cpu.md has an example.
std::string disassemble(const Program& program);
/// Throws heddle::Error with `file` and the line. The program still has to pass validate().
Program assemble(const std::string& text, const std::string& file = "");

}  // namespace heddle::cpu
