#include "isa/cpu/execute.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "isa/common/error.h"
#include "isa/numerics/formats.h"

namespace heddle::cpu {
namespace {

struct Vector {
    std::array<std::uint32_t, kMostLanes> lane{};
};
struct Tile {
    std::array<std::array<std::uint32_t, 16>, 16> row{};
};

float as_float(std::uint32_t bits) { return std::bit_cast<float>(bits); }
std::uint32_t as_bits(float value) { return std::bit_cast<std::uint32_t>(value); }

/// Subnormal numbers are zeros of their sign.
float flushed(float value) { return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0f, value) : value; }
float low_bf16(std::uint32_t pair) { return as_float(pair << 16); }
float high_bf16(std::uint32_t pair) { return as_float(pair & 0xFFFF0000u); }
float fma_flushed(float a, float b, float c) { return flushed(std::fma(flushed(a), flushed(b), flushed(c))); }

std::uint32_t load_element(const std::byte* at, ElementType type) {
    std::uint32_t word = 0;
    std::uint16_t half = 0;
    std::uint8_t byte = 0;
    switch (type) {
        case ElementType::bf16:
            std::memcpy(&half, at, 2);
            return std::uint32_t{half} << 16;
        case ElementType::f16:
            std::memcpy(&half, at, 2);
            return as_bits(numerics::fp16_to_fp32(half));
        case ElementType::i16:
            std::memcpy(&half, at, 2);
            return static_cast<std::uint32_t>(static_cast<std::int16_t>(half));
        case ElementType::i8:
            std::memcpy(&byte, at, 1);
            return static_cast<std::uint32_t>(static_cast<std::int8_t>(byte));
        case ElementType::u8:
            std::memcpy(&byte, at, 1);
            return byte;
        default:  // i64 is little-endian: its low half comes first
            std::memcpy(&word, at, 4);
            return word;
    }
}

void store_element(std::byte* at, ElementType type, std::uint32_t bits) {
    switch (type) {
        case ElementType::bf16: {
            const std::uint16_t half = numerics::fp32_to_bf16(as_float(bits));
            std::memcpy(at, &half, 2);
            return;
        }
        case ElementType::f16: {
            const std::uint16_t half = numerics::fp32_to_fp16(as_float(bits));
            std::memcpy(at, &half, 2);
            return;
        }
        case ElementType::i64: {
            const std::int64_t wide = static_cast<std::int32_t>(bits);
            std::memcpy(at, &wide, 8);
            return;
        }
        case ElementType::i16:
            std::memcpy(at, &bits, 2);
            return;
        case ElementType::i8:
        case ElementType::u8:
            std::memcpy(at, &bits, 1);
            return;
        default:
            std::memcpy(at, &bits, 4);
    }
}

class Thread {
  public:
    Thread(const Program& program, Memory& memory, unsigned thread)
        : program_(program), memory_(memory), thread_(thread), lanes_(program.lanes) {}

    void run(const Region& region, std::int64_t iteration) {
        for (std::size_t i = region.counts.size(); i-- > 0;) {
            counters_[i] = iteration % region.counts[i];
            iteration /= region.counts[i];
        }
        run(region.body);
    }

  private:
    void run(const Body& body) {
        for (const auto& node : body) {
            if (const auto* one = std::get_if<Instruction>(&node)) {
                run(*one);
                continue;
            }
            const Loop& loop = std::get<Loop>(node);
            const std::int64_t count = loop.bounded ? std::min(loop.count, loop.limit.at(counters_.data())) : loop.count;
            for (std::int64_t i = 0; i < count; ++i) {
                counters_[loop.counter] = i;
                run(loop.body);
            }
        }
    }

    bool active(const Instruction& one, unsigned lane) const {
        return std::all_of(one.masks.begin(), one.masks.end(), [&](const Mask& mask) {
            const std::int64_t value = mask.value.at(counters_.data()) + lane * mask.lane_stride;
            return value >= 0 && value < mask.limit;
        });
    }

    std::byte* at(const Instruction& one, std::int64_t offset, std::int64_t bytes) {
        const std::span<std::byte> buffer = memory_.bytes(one.buffer, thread_);
        if (offset < 0 || offset + bytes > static_cast<std::int64_t>(buffer.size()))
            throw Error(program_.name + ": " + traits(one.opcode).name + " at byte " + std::to_string(offset) + " of buffer " +
                        program_.buffers[one.buffer].name + ", which has " + std::to_string(buffer.size()));
        return buffer.data() + offset;
    }

    std::int64_t address(const Instruction& one, unsigned lane, const Vector* index) const {
        std::int64_t offset = one.offset.at(counters_.data()) + lane * one.lane_bytes;
        if (index != nullptr) offset += static_cast<std::int32_t>(index->lane[one.uniform ? 0 : lane]) * one.scale;
        return offset;
    }

    template <class Function>
    void map(const Instruction& one, Function function) {
        const Vector &a = vectors_[one.a], &b = vectors_[one.b], &c = vectors_[one.c];
        Vector result;
        for (unsigned l = 0; l < lanes_; ++l) result.lane[l] = function(a.lane[l], b.lane[l], c.lane[l]);
        vectors_[one.d] = result;
    }
    template <class Function>
    void map_floats(const Instruction& one, Function function) {
        map(one, [&](std::uint32_t a, std::uint32_t b, std::uint32_t c) { return as_bits(function(as_float(a), as_float(b), as_float(c))); });
    }
    template <class Function>
    void fold(const Instruction& one, Function function) {
        Vector value = vectors_[one.a];
        for (unsigned half = lanes_ / 2; half != 0; half /= 2)
            for (unsigned l = 0; l < half; ++l) value.lane[l] = as_bits(function(as_float(value.lane[l]), as_float(value.lane[l + half])));
        value.lane.fill(value.lane[0]);
        vectors_[one.d] = value;
    }

    void run(const Instruction& one) {
        switch (one.opcode) {
            case Opcode::op_load:
            case Opcode::op_gather: {
                const Vector index = vectors_[one.a];
                Vector result;
                for (unsigned l = 0; l < lanes_; ++l) {
                    if (!one.masks.empty() && !active(one, l)) continue;
                    result.lane[l] = load_element(
                        at(one, address(one, l, one.opcode == Opcode::op_gather ? &index : nullptr), bytes_of(one.type)), one.type);
                }
                vectors_[one.d] = result;
                return;
            }
            case Opcode::op_store:
            case Opcode::op_scatter: {
                const bool indexed = one.opcode == Opcode::op_scatter;
                const Vector& value = vectors_[indexed ? one.b : one.a];
                for (unsigned l = 0; l < lanes_; ++l) {
                    if (!one.masks.empty() && !active(one, l)) continue;
                    store_element(at(one, address(one, l, indexed ? &vectors_[one.a] : nullptr), bytes_of(one.type)), one.type,
                                  value.lane[l]);
                }
                return;
            }
            case Opcode::op_prefetch: return;
            case Opcode::op_set: vectors_[one.d].lane.fill(one.immediate); return;
            case Opcode::op_index: {
                const std::int64_t value = one.offset.at(counters_.data());
                for (unsigned l = 0; l < lanes_; ++l) vectors_[one.d].lane[l] = static_cast<std::uint32_t>(value + l * one.lane_bytes);
                return;
            }
            case Opcode::op_add: return map_floats(one, [](float a, float b, float) { return a + b; });
            case Opcode::op_sub: return map_floats(one, [](float a, float b, float) { return a - b; });
            case Opcode::op_mul: return map_floats(one, [](float a, float b, float) { return a * b; });
            case Opcode::op_div: return map_floats(one, [](float a, float b, float) { return a / b; });
            case Opcode::op_fma: return map_floats(one, [](float a, float b, float c) { return std::fma(a, b, c); });
            case Opcode::op_min: return map_floats(one, [](float a, float b, float) { return a < b ? a : b; });
            case Opcode::op_max: return map_floats(one, [](float a, float b, float) { return a > b ? a : b; });
            case Opcode::op_sqrt: return map_floats(one, [](float a, float, float) { return std::sqrt(a); });
            case Opcode::op_floor: return map_floats(one, [](float a, float, float) { return std::floor(a); });
            case Opcode::op_round: return map_floats(one, [](float a, float, float) { return std::nearbyint(a); });
            case Opcode::op_scale:
                return map_floats(one, [](float a, float b, float) {
                    return std::ldexp(a, static_cast<int>(std::clamp(std::floor(b), -400.0f, 400.0f)));
                });
            case Opcode::op_exponent:
                return map_floats(one, [](float a, float, float) {
                    return a == 0 ? -HUGE_VALF : std::isfinite(a) ? static_cast<float>(std::ilogb(a)) : std::fabs(a);
                });
            case Opcode::op_mantissa:
                return map_floats(one, [](float a, float, float) {
                    if (std::isnan(a)) return a;
                    if (a == 0 || std::isinf(a)) return std::copysign(1.0f, a);
                    return std::ldexp(a, -std::ilogb(a));
                });
            case Opcode::op_gt: return map_floats(one, [](float a, float b, float) { return a > b ? 1.0f : 0.0f; });
            case Opcode::op_ge: return map_floats(one, [](float a, float b, float) { return a >= b ? 1.0f : 0.0f; });
            case Opcode::op_eq: return map_floats(one, [](float a, float b, float) { return a == b ? 1.0f : 0.0f; });
            case Opcode::op_ne: return map_floats(one, [](float a, float b, float) { return a != b ? 1.0f : 0.0f; });
            case Opcode::op_select: return map(one, [](std::uint32_t a, std::uint32_t b, std::uint32_t c) { return as_float(a) != 0 ? b : c; });
            case Opcode::op_and: return map(one, [](std::uint32_t a, std::uint32_t b, std::uint32_t) { return a & b; });
            case Opcode::op_xor: return map(one, [](std::uint32_t a, std::uint32_t b, std::uint32_t) { return a ^ b; });
            case Opcode::op_iadd: return map(one, [](std::uint32_t a, std::uint32_t b, std::uint32_t) { return a + b; });
            case Opcode::op_imul: return map(one, [](std::uint32_t a, std::uint32_t b, std::uint32_t) { return a * b; });
            case Opcode::op_shr: return map(one, [&](std::uint32_t a, std::uint32_t, std::uint32_t) { return a >> one.immediate; });
            case Opcode::op_to_float:
                return map(one, [](std::uint32_t a, std::uint32_t, std::uint32_t) { return as_bits(static_cast<float>(static_cast<std::int32_t>(a))); });
            case Opcode::op_to_int:
                return map(one, [](std::uint32_t a, std::uint32_t, std::uint32_t) {
                    const float value = as_float(a);  // out of range: the integer indefinite of x86
                    return value >= -0x1p31f && value < 0x1p31f ? static_cast<std::uint32_t>(static_cast<std::int32_t>(value)) : 0x80000000u;
                });
            case Opcode::op_hsum: return fold(one, [](float a, float b) { return a + b; });
            case Opcode::op_hmax: return fold(one, [](float a, float b) { return a > b ? a : b; });
            case Opcode::op_hmin: return fold(one, [](float a, float b) { return a < b ? a : b; });
            case Opcode::op_dot_bf16:
                return map(one, [](std::uint32_t a, std::uint32_t b, std::uint32_t c) { return as_bits(dot_bf16(as_float(c), a, b)); });
            case Opcode::op_dot_u8i8: return map(one, [](std::uint32_t a, std::uint32_t b, std::uint32_t c) { return dot_u8i8(c, a, b); });
            case Opcode::op_tile_zero: tiles_[one.d] = {}; return;
            case Opcode::op_tile_load:
                for (unsigned r = 0; r < 16; ++r) std::memcpy(tiles_[one.d].row[r].data(), at(one, address(one, r, nullptr), 64), 64);
                return;
            case Opcode::op_tile_store:
                for (unsigned r = 0; r < 16; ++r) std::memcpy(at(one, address(one, r, nullptr), 64), tiles_[one.a].row[r].data(), 64);
                return;
            case Opcode::op_tile_bf16: return tile_bf16(tiles_[one.d], tiles_[one.a], tiles_[one.b]);
            case Opcode::op_tile_i8: return tile_i8(tiles_[one.d], tiles_[one.a], tiles_[one.b]);
        }
    }

    /// Even and odd places of the depth have sums of their own, which start at zero and are added at the end.
    static void tile_bf16(Tile& d, const Tile& a, const Tile& b) {
        for (unsigned m = 0; m < 16; ++m) {
            for (unsigned n = 0; n < 16; ++n) {
                float even = 0, odd = 0;
                for (unsigned k = 0; k < 16; ++k) {
                    even = fma_flushed(low_bf16(a.row[m][k]), low_bf16(b.row[k][n]), even);
                    odd = fma_flushed(high_bf16(a.row[m][k]), high_bf16(b.row[k][n]), odd);
                }
                d.row[m][n] = as_bits(flushed(flushed(as_float(d.row[m][n])) + flushed(even + odd)));
            }
        }
    }

    static void tile_i8(Tile& d, const Tile& a, const Tile& b) {
        for (unsigned m = 0; m < 16; ++m)
            for (unsigned n = 0; n < 16; ++n)
                for (unsigned k = 0; k < 16; ++k)
                    for (unsigned byte = 0; byte < 32; byte += 8)
                        d.row[m][n] += static_cast<std::uint32_t>(static_cast<std::int8_t>(a.row[m][k] >> byte) *
                                                                  static_cast<std::int8_t>(b.row[k][n] >> byte));
    }

    const Program& program_;
    Memory& memory_;
    unsigned thread_, lanes_;
    std::array<std::int64_t, kMostLoops> counters_{};
    std::array<Vector, kVectorRegisters> vectors_{};
    std::array<Tile, kTileRegisters> tiles_{};
};

}  // namespace

Memory::Memory(const Program& program, unsigned threads, std::span<const std::span<std::byte>> bound) : threads_(threads) {
    for (std::size_t i = 0; i < program.buffers.size(); ++i) {
        const Buffer& buffer = program.buffers[i];
        const bool outside = i < bound.size() && !bound[i].empty();
        if (outside && bound[i].size() < buffer.bytes)
            throw Error("buffer " + buffer.name + " of " + program.name + " is bound to too little memory");
        for (unsigned thread = 0; thread < threads; ++thread) {
            if (outside) {
                views_.push_back(bound[i]);
            } else if (thread == 0 || buffer.per_thread) {
                owned_.emplace_back(buffer.bytes);
                views_.emplace_back(owned_.back());
            } else {
                views_.push_back(views_.back());
            }
        }
    }
}

void execute(const Program& program, Memory& memory) {
    for (const Region& region : program.regions) {
        const unsigned threads = threads_of(region, memory.threads());
        for (unsigned thread = 0; thread < threads; ++thread) {
            const auto [first, last] = static_share(region.iterations(), thread, threads);
            Thread runner(program, memory, thread);
            for (std::int64_t i = first; i < last; ++i) runner.run(region, i);
        }
    }
}

float dot_bf16(float c, std::uint32_t a, std::uint32_t b) {
    return fma_flushed(low_bf16(a), low_bf16(b), fma_flushed(high_bf16(a), high_bf16(b), c));
}

std::uint32_t dot_u8i8(std::uint32_t c, std::uint32_t a, std::uint32_t b) {
    for (unsigned byte = 0; byte < 32; byte += 8)
        c += static_cast<std::uint32_t>(static_cast<int>(static_cast<std::uint8_t>(a >> byte)) * static_cast<std::int8_t>(b >> byte));
    return c;
}

}  // namespace heddle::cpu
