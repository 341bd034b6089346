#include "workloads/kernels/memory_access.h"

#include <algorithm>

#include "isa/common/error.h"

namespace heddle::kernels {
namespace {

/// Elements of 8 bytes stay 64 bits wide, everything else travels in 32-bit words or one narrower register.
struct WordShape {
    unsigned bytes;      // of one register's worth
    unsigned count;      // registers
    const char* suffix;  // of the access
};

WordShape shape_of(ElementType type, unsigned width) {
    const unsigned size = bytes_of(type);
    const unsigned total = size * width;
    if (type == ElementType::f64) return {8, width, ".f64"};
    if (size == 8) return {8, width, ".b64"};
    if (type == ElementType::f32) return {4, width, ".f32"};
    if (total >= 4) return {4, total / 4, ".b32"};
    if (total == 2) return {2, 1, type == ElementType::bf16 || size == 1 ? ".u16" : ".b16"};
    return {1, 1, type == ElementType::i8 ? ".s8" : ".u8"};
}

Reg word_register(PtxWriter& w, ElementType type, const WordShape& shape) {
    if (type == ElementType::f64) return w.f64();
    if (shape.bytes == 8) return w.b64();
    if (type == ElementType::f32) return w.f32();
    if (shape.bytes == 2 && type == ElementType::f16) return w.b16();
    return w.b32();
}

std::string vector_suffix(unsigned count) {
    return count == 1 ? "" : ".v" + std::to_string(count);
}

void clear(PtxWriter& w, ElementType type, const WordShape& shape, const Reg& word) {
    if (type == ElementType::f64) {
        w.op("mov.f64", word, f64_immediate(0));
    } else if (shape.bytes == 8) {
        w.op("mov.b64", word, 0);
    } else if (type == ElementType::f32) {
        w.op("mov.f32", word, f32_immediate(0));
    } else if (shape.bytes == 2 && type == ElementType::f16) {
        w.op("mov.b16", word, 0);
    } else {
        w.op("mov.b32", word, 0);
    }
}

/// A byte of a word as an unsigned or signed 32-bit register.
Reg byte_of(PtxWriter& w, const RawVector& raw, unsigned element) {
    if (raw.width == 1) return raw.words[0];
    const Reg& word = raw.words[element / 4];
    return w.make_b32(raw.type == ElementType::i8 ? "bfe.s32" : "bfe.u32", word, element % 4 * 8, 8);
}

std::string compute_suffix(ComputeType compute) {
    return compute == ComputeType::f32 ? ".f32" : ".f64";
}

Reg convert_to(PtxWriter& w, ComputeType compute, const std::string& opcode, const Reg& source) {
    return compute == ComputeType::f32 ? w.make_f32(opcode, source) : w.make_f64(opcode, source);
}

Reg widen(PtxWriter& w, ComputeType compute, const Reg& f32) {
    return compute == ComputeType::f32 ? f32 : w.make_f64("cvt.f64.f32", f32);
}

Reg narrow(PtxWriter& w, ComputeType compute, const Reg& value) {
    return compute == ComputeType::f32 ? value : w.make_f32("cvt.rn.f32.f64", value);
}

void require_fp8(const PtxWriter& w, ElementType type) {
    if (!w.generation().has_fp8)
        throw Error("elements of " + name_of(type) + " need compute capability 8.9 or newer", {},
                    "use f16 or f32 on this device");
}

/// The conversions come in pairs, by way of f16, which holds every value of both types.
std::vector<Reg> unpack_fp8(PtxWriter& w, const RawVector& raw) {
    require_fp8(w, raw.type);
    const std::string opcode = "cvt.rn.f16x2." + name_of(raw.type) + "x2";
    std::vector<Reg> values;
    for (const Reg& word : raw.words) {
        const Reg low = w.b16(), high = w.b16();
        w.op("mov.b32", vector_of({low, high}), word);
        for (unsigned pair = 0; pair < 2 && values.size() < raw.width; ++pair) {
            const Reg both = w.make_b32(opcode, pair == 0 ? low : high);
            for (const Reg& value : unpack_pair(w, ElementType::f16, both))
                if (values.size() < raw.width) values.push_back(value);
        }
    }
    return values;
}

/// To nearest even; what is too large becomes the largest finite value.
std::vector<Reg> pack_fp8(PtxWriter& w, ElementType type, const std::vector<Reg>& values) {
    require_fp8(w, type);
    const std::string opcode = "cvt.rn.satfinite." + name_of(type) + "x2.f32";
    std::vector<Reg> pairs, words;
    for (std::size_t i = 0; i < values.size(); i += 2) {
        pairs.push_back(w.b16());
        w.op(opcode, pairs.back(), values[std::min(i + 1, values.size() - 1)], values[i]);
    }
    for (std::size_t i = 0; i < pairs.size(); i += 2) {
        words.push_back(w.b32());
        if (i + 1 < pairs.size()) {
            w.op("mov.b32", words.back(), vector_of({pairs[i], pairs[i + 1]}));
        } else {
            w.op("cvt.u32.u16", words.back(), pairs[i]);
        }
    }
    return words;
}

}  // namespace

RawVector load_raw(PtxWriter& w, std::string_view opcode_prefix, ElementType type, unsigned width,
                   const std::string& address, std::int64_t offset, const Reg& guard) {
    const WordShape shape = shape_of(type, width);
    RawVector raw{type, width, {}};
    const unsigned per_access = std::min(shape.count, 16 / shape.bytes);
    for (unsigned first = 0; first < shape.count; first += per_access) {
        std::vector<Reg> words;
        for (unsigned i = 0; i < per_access; ++i) words.push_back(word_register(w, type, shape));
        const std::string opcode = std::string(opcode_prefix) + vector_suffix(per_access) + shape.suffix;
        const std::string source = at(address, offset + first * shape.bytes);
        if (guard.empty()) {
            w.op(opcode, vector_of(words), source);
        } else {
            for (const Reg& word : words) clear(w, type, shape, word);
            w.op_if(guard, opcode, vector_of(words), source);
        }
        raw.words.insert(raw.words.end(), words.begin(), words.end());
    }
    return raw;
}

std::vector<Reg> unpack_pair(PtxWriter& w, ElementType type, const Reg& pair) {
    if (type == ElementType::bf16) {
        const Reg low = w.f32(), high = w.f32();
        w.op("mov.b32", low, w.make_b32("shl.b32", pair, 16));
        w.op("mov.b32", high, w.make_b32("and.b32", pair, "0xffff0000"));
        return {low, high};
    }
    const Reg low = w.b16(), high = w.b16();
    w.op("mov.b32", vector_of({low, high}), pair);
    return {w.make_f32("cvt.f32.f16", low), w.make_f32("cvt.f32.f16", high)};
}

std::vector<Reg> convert_raw(PtxWriter& w, const RawVector& raw, ComputeType compute) {
    std::vector<Reg> values;
    const std::string to = compute_suffix(compute);
    switch (raw.type) {
        case ElementType::f64:
            for (const Reg& word : raw.words) {
                values.push_back(compute == ComputeType::f64 ? word : w.make_f32("cvt.rn.f32.f64", word));
            }
            break;
        case ElementType::f32:
            for (const Reg& word : raw.words) values.push_back(widen(w, compute, word));
            break;
        case ElementType::i64:
            for (const Reg& word : raw.words)
                values.push_back(convert_to(w, compute, "cvt.rn" + to + ".s64", word));
            break;
        case ElementType::i32:
            for (const Reg& word : raw.words)
                values.push_back(convert_to(w, compute, "cvt.rn" + to + ".s32", word));
            break;
        case ElementType::f16:
        case ElementType::bf16:
            if (raw.width == 1) {
                Reg value = w.f32();
                if (raw.type == ElementType::f16) {
                    w.op("cvt.f32.f16", value, raw.words[0]);
                } else {
                    w.op("mov.b32", value, w.make_b32("shl.b32", raw.words[0], 16));
                }
                values.push_back(widen(w, compute, value));
            } else {
                for (const Reg& word : raw.words) {
                    for (const Reg& half : unpack_pair(w, raw.type, word))
                        values.push_back(widen(w, compute, half));
                }
            }
            break;
        case ElementType::e4m3:
        case ElementType::e5m2:
            for (const Reg& value : unpack_fp8(w, raw)) values.push_back(widen(w, compute, value));
            break;
        case ElementType::i8:
        case ElementType::u8:
        case ElementType::boolean:
            for (unsigned i = 0; i < raw.width; ++i) {
                const char* from = raw.type == ElementType::i8 ? ".s32" : ".u32";
                values.push_back(convert_to(w, compute, "cvt.rn" + to + from, byte_of(w, raw, i)));
            }
            break;
    }
    return values;
}

std::vector<Reg> load_elements(PtxWriter& w, std::string_view opcode_prefix, ElementType type, unsigned width,
                               const std::string& address, std::int64_t offset, ComputeType compute,
                               const Reg& guard) {
    return convert_raw(w, load_raw(w, opcode_prefix, type, width, address, offset, guard), compute);
}

Reg pack_pair(PtxWriter& w, ElementType type, const Reg& low, const Reg& high) {
    const bool bf16 = type == ElementType::bf16;
    if (w.generation().has_packed_conversion) {
        return w.make_b32(bf16 ? "cvt.rn.bf16x2.f32" : "cvt.rn.f16x2.f32", high, low);
    }
    if (bf16)
        throw Error("bf16 results need compute capability 8.0 or newer", {}, "use f16 or f32 on this device");
    const Reg low_half = w.b16(), high_half = w.b16();
    w.op("cvt.rn.f16.f32", low_half, low);
    w.op("cvt.rn.f16.f32", high_half, high);
    return w.make_b32("mov.b32", vector_of({low_half, high_half}));
}

RawVector pack_elements(PtxWriter& w, ElementType type, const std::vector<Reg>& values, ComputeType compute) {
    const unsigned width = static_cast<unsigned>(values.size());
    RawVector raw{type, width, {}};
    const std::string from = compute_suffix(compute);
    switch (type) {
        case ElementType::f64:
            for (const Reg& value : values) {
                raw.words.push_back(compute == ComputeType::f64 ? value : w.make_f64("cvt.f64.f32", value));
            }
            break;
        case ElementType::f32:
            for (const Reg& value : values) raw.words.push_back(narrow(w, compute, value));
            break;
        case ElementType::i64:
            for (const Reg& value : values) raw.words.push_back(w.make_b64("cvt.rzi.s64" + from, value));
            break;
        case ElementType::i32:
            for (const Reg& value : values) raw.words.push_back(w.make_b32("cvt.rzi.s32" + from, value));
            break;
        case ElementType::f16:
        case ElementType::bf16:
            if (width == 1) {
                const Reg value = narrow(w, compute, values[0]);
                if (type == ElementType::f16) {
                    const Reg half = w.b16();
                    w.op("cvt.rn.f16.f32", half, value);
                    raw.words.push_back(half);
                } else {
                    raw.words.push_back(pack_pair(w, type, value, value));
                }
            } else {
                for (unsigned i = 0; i < width; i += 2) {
                    raw.words.push_back(
                        pack_pair(w, type, narrow(w, compute, values[i]), narrow(w, compute, values[i + 1])));
                }
            }
            break;
        case ElementType::e4m3:
        case ElementType::e5m2: {
            std::vector<Reg> narrowed;
            narrowed.reserve(values.size());
            for (const Reg& value : values) narrowed.push_back(narrow(w, compute, value));
            raw.words = pack_fp8(w, type, narrowed);
            break;
        }
        case ElementType::i8:
        case ElementType::u8:
        case ElementType::boolean: {
            std::vector<Reg> bytes;
            for (const Reg& value : values) {
                if (type == ElementType::boolean) {
                    const std::string zero =
                        compute == ComputeType::f32 ? f32_immediate(0) : f64_immediate(0);
                    const Reg set = w.make_predicate("setp.neu" + from, value, zero);
                    bytes.push_back(w.make_b32("selp.b32", 1, 0, set));
                } else {
                    bytes.push_back(
                        w.make_b32((type == ElementType::i8 ? "cvt.rzi.s32" : "cvt.rzi.u32") + from, value));
                }
            }
            if (width == 1) {
                raw.words = bytes;
                break;
            }
            for (unsigned first = 0; first < width; first += 4) {
                Reg word = bytes[first];
                for (unsigned i = 1; i < 4 && first + i < width; ++i) {
                    word = w.make_b32("bfi.b32", bytes[first + i], word, i * 8, 8);
                }
                raw.words.push_back(word);
            }
            break;
        }
    }
    return raw;
}

void store_raw(PtxWriter& w, std::string_view opcode_prefix, const RawVector& raw, const std::string& address,
               std::int64_t offset, const Reg& guard) {
    const WordShape shape = shape_of(raw.type, raw.width);
    const unsigned per_access = std::min(shape.count, 16 / shape.bytes);
    for (unsigned first = 0; first < shape.count; first += per_access) {
        const std::vector<Reg> words(raw.words.begin() + first, raw.words.begin() + first + per_access);
        const std::string opcode = std::string(opcode_prefix) + vector_suffix(per_access) + shape.suffix;
        const std::string target = at(address, offset + first * shape.bytes);
        if (guard.empty()) {
            w.op(opcode, target, vector_of(words));
        } else {
            w.op_if(guard, opcode, target, vector_of(words));
        }
    }
}

void store_elements(PtxWriter& w, std::string_view opcode_prefix, ElementType type,
                    const std::vector<Reg>& values, const std::string& address, std::int64_t offset,
                    ComputeType compute, const Reg& guard) {
    store_raw(w, opcode_prefix, pack_elements(w, type, values, compute), address, offset, guard);
}

}  // namespace heddle::kernels
