// Integer instructions against host arithmetic.
#include <bit>
#include <catch2/catch.hpp>

#include "instruction_bench.h"
#include "launch.h"

using namespace heddle::ptx::test;

namespace {

__extension__ typedef __int128 Wide;
__extension__ typedef unsigned __int128 Double;

struct IntegerType {
    std::string name;
    unsigned bits;
    bool is_signed;
};
const std::vector<IntegerType> kTypes = {{"u16", 16, false}, {"s16", 16, true},  {"u32", 32, false},
                                         {"s32", 32, true},  {"u64", 64, false}, {"s64", 64, true}};

// The exact value of a register.
Wide value(const IntegerType& type, std::uint64_t bits) {
    if (type.bits < 64) bits &= (std::uint64_t{1} << type.bits) - 1;
    Wide wide = bits;
    if (type.is_signed && (bits >> (type.bits - 1) & 1u) != 0) wide -= Wide{1} << type.bits;
    return wide;
}
std::uint64_t low(Wide wide) {
    return static_cast<std::uint64_t>(wide);
}

void check(const std::string& operation, const IntegerType& type, unsigned operands,
           const std::string& result, const std::function<Wide(Wide, Wide, Wide)>& exact) {
    static const char* const kOperands[] = {"", "%a", "%a, %b", "%a, %b, %c"};
    std::vector<std::string> types(operands, type.name);
    if (result != type.name && operands == 3) types[2] = result;  // mad.wide
    const IntegerType third = result == type.name ? type : IntegerType{result, 2 * type.bits, type.is_signed};
    check_instruction(operation + "." + type.name + " %d, " + kOperands[operands] + ";", types, result,
                      [&](std::uint64_t a, std::uint64_t b, std::uint64_t c) {
                          return low(exact(value(type, a), value(type, b), value(third, c)));
                      });
}

// The upper half of a product, in exact arithmetic that does not need 256 bits.
Wide high(const IntegerType& type, Wide a, Wide b) {
    if (type.bits < 64) return (a * b) >> type.bits;
    // (a1 2^32 + a0)(b1 2^32 + b0), with floor semantics for signed a1, b1.
    const Wide mask = 0xFFFFFFFF;
    const Wide a1 = a >> 32, a0 = a & mask, b1 = b >> 32, b0 = b & mask;
    const Wide middle = a1 * b0 + ((a0 * b0) >> 32);
    const Wide middle2 = a0 * b1 + (middle & mask);
    return a1 * b1 + (middle >> 32) + (middle2 >> 32);
}

std::uint64_t mask_of(unsigned bits) {
    return bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
}

}  // namespace

TEST_CASE("Addition, subtraction, multiplication of integers", "[ptx][integer]") {
    for (const IntegerType& type : kTypes) {
        check("add", type, 2, type.name, [](Wide a, Wide b, Wide) { return a + b; });
        check("sub", type, 2, type.name, [](Wide a, Wide b, Wide) { return a - b; });
        check("mul.lo", type, 2, type.name, [](Wide a, Wide b, Wide) {
            return static_cast<Wide>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
        });
        check("mul.hi", type, 2, type.name, [&](Wide a, Wide b, Wide) { return high(type, a, b); });
        check("mad.lo", type, 3, type.name, [](Wide a, Wide b, Wide c) {
            return static_cast<Wide>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b)) + c;
        });
        check("mad.hi", type, 3, type.name, [&](Wide a, Wide b, Wide c) { return high(type, a, b) + c; });
        check("min", type, 2, type.name, [](Wide a, Wide b, Wide) { return a < b ? a : b; });
        check("max", type, 2, type.name, [](Wide a, Wide b, Wide) { return a < b ? b : a; });
        check("sad", type, 3, type.name, [](Wide a, Wide b, Wide c) { return c + (a < b ? b - a : a - b); });
        if (type.bits < 64) {
            const std::string wide = (type.is_signed ? "s" : "u") + std::to_string(2 * type.bits);
            check("mul.wide", type, 2, wide, [](Wide a, Wide b, Wide) { return a * b; });
            check("mad.wide", type, 3, wide, [](Wide a, Wide b, Wide c) { return a * b + c; });
        }
        if (type.is_signed) {
            check("abs", type, 1, type.name, [](Wide a, Wide, Wide) { return a < 0 ? -a : a; });
            check("neg", type, 1, type.name, [](Wide a, Wide, Wide) { return -a; });
        }
    }
}

TEST_CASE("Division and remainder round toward zero", "[ptx][integer]") {
    for (const IntegerType& type : kTypes) {
        // The quotient by zero is not specified; all ones is what the hardware's sequences leave.
        check("div", type, 2, type.name, [](Wide a, Wide b, Wide) { return b == 0 ? Wide{-1} : a / b; });
        check("rem", type, 2, type.name, [](Wide a, Wide b, Wide) { return b == 0 ? a : a % b; });
    }
}

TEST_CASE("Saturating and 24-bit arithmetic", "[ptx][integer]") {
    const IntegerType s32 = kTypes[3], u32 = kTypes[2];
    const auto clamp = [](Wide v) {
        return v < -2147483648ll ? Wide{-2147483648ll} : v > 2147483647 ? Wide{2147483647} : v;
    };
    check("add.sat", s32, 2, "s32", [&](Wide a, Wide b, Wide) { return clamp(a + b); });
    check("sub.sat", s32, 2, "s32", [&](Wide a, Wide b, Wide) { return clamp(a - b); });
    check("mad.hi.sat", s32, 3, "s32", [&](Wide a, Wide b, Wide c) { return clamp((a * b >> 32) + c); });
    const auto low24 = [](Wide v) { return v & 0xFFFFFF; };
    const auto signed24 = [](Wide v) { return (v & 0xFFFFFF) - ((v >> 23 & 1) != 0 ? Wide{1} << 24 : 0); };
    check("mul24.lo", u32, 2, "u32", [&](Wide a, Wide b, Wide) { return low24(a) * low24(b); });
    check("mul24.hi", s32, 2, "s32", [&](Wide a, Wide b, Wide) { return (signed24(a) * signed24(b)) >> 16; });
    check("mad24.lo", s32, 3, "s32", [&](Wide a, Wide b, Wide c) { return signed24(a) * signed24(b) + c; });
}

TEST_CASE("Carries pass between instructions", "[ptx][integer]") {
    // Arithmetic on pairs of words: a and b are the low words, their complements the high ones.
    for (const unsigned bits : {32u, 64u}) {
        const std::string u = "u" + std::to_string(bits), b = ".b" + std::to_string(bits);
        const std::string pairs = ".reg " + b + " %x, %y, %z; not" + b + " %x, %a; not" + b + " %y, %b; ";
        const auto wide = [=](std::uint64_t word) {
            return static_cast<Double>(~word & mask_of(bits)) << bits | word;
        };
        check_instruction(
            pairs + "add.cc." + u + " %z, %a, %b; addc." + u + " %d, %x, %y;", {u, u}, u,
            [&](auto p, auto q, auto) { return static_cast<std::uint64_t>((wide(p) + wide(q)) >> bits); });
        check_instruction(
            pairs + "sub.cc." + u + " %z, %a, %b; subc." + u + " %d, %x, %y;", {u, u}, u,
            [&](auto p, auto q, auto) { return static_cast<std::uint64_t>((wide(p) - wide(q)) >> bits); });
        check_instruction(
            pairs + "sub.cc." + u + " %z, %a, %b; subc.cc." + u + " %z, %x, %y; subc." + u + " %d, 0, 0;",
            {u, u}, u, [&](auto p, auto q, auto) { return wide(p) < wide(q) ? ~std::uint64_t{0} : 0; });
    }
    check_instruction(".reg .b32 %z; mad.lo.cc.u32 %z, %a, %b, %c; madc.hi.u32 %d, %a, %b, 0;",
                      {"u32", "u32", "u32"}, "u32", [](auto a, auto b, auto c) { return (a * b + c) >> 32; });
}

TEST_CASE("Logic", "[ptx][integer]") {
    for (const std::string bits : {"16", "32", "64"}) {
        const std::string type = "b" + bits;
        check_instruction("and." + type + " %d, %a, %b;", {type, type}, type,
                          [](auto a, auto b, auto) { return a & b; });
        check_instruction("or." + type + " %d, %a, %b;", {type, type}, type,
                          [](auto a, auto b, auto) { return a | b; });
        check_instruction("xor." + type + " %d, %a, %b;", {type, type}, type,
                          [](auto a, auto b, auto) { return a ^ b; });
        check_instruction("not." + type + " %d, %a;", {type}, type, [](auto a, auto, auto) { return ~a; });
        check_instruction("cnot." + type + " %d, %a;", {type}, type,
                          [](auto a, auto, auto) { return a == 0 ? 1 : 0; });
    }
    check_instruction("and.pred %d, %a, %b;", {"pred", "pred"}, "pred",
                      [](auto a, auto b, auto) { return a & b; });
    check_instruction("xor.pred %d, %a, %b;", {"pred", "pred"}, "pred",
                      [](auto a, auto b, auto) { return a ^ b; });
    check_instruction("not.pred %d, %a;", {"pred"}, "pred", [](auto a, auto, auto) { return a ^ 1; });
    for (const unsigned table : {0xEAu, 0x96u, 0x01u, 0x80u, 0xCAu}) {
        check_instruction("lop3.b32 %d, %a, %b, %c, " + std::to_string(table) + ";", {"b32", "b32", "b32"},
                          "b32", [=](std::uint64_t a, std::uint64_t b, std::uint64_t c) {
                              std::uint64_t result = 0;
                              for (unsigned bit = 0; bit < 32; ++bit) {
                                  const auto index =
                                      (a >> bit & 1) << 2 | (b >> bit & 1) << 1 | (c >> bit & 1);
                                  result |= static_cast<std::uint64_t>(table >> index & 1) << bit;
                              }
                              return result;
                          });
    }
}

TEST_CASE("Shifts clamp, funnel shifts clamp or wrap", "[ptx][integer]") {
    for (const IntegerType& type : kTypes) {
        const std::string untyped = "b" + std::to_string(type.bits);
        check_instruction("shl." + untyped + " %d, %a, %b;", {untyped, "u32"}, untyped,
                          [&](auto a, auto n, auto) { return n >= type.bits ? 0 : a << n; });
        check_instruction("shr." + type.name + " %d, %a, %b;", {type.name, "u32"}, type.name,
                          [&](auto a, auto n, auto) {
                              const Wide wide = value(type, a);
                              return low(wide >> (n > 64 ? 64 : n));
                          });
    }
    for (const bool left : {true, false}) {
        for (const bool clamp : {true, false}) {
            const std::string name = std::string("shf.") + (left ? "l" : "r") + (clamp ? ".clamp" : ".wrap") +
                                     ".b32 %d, %a, %b, %c;";
            check_instruction(
                name, {"b32", "b32", "u32"}, "b32", [=](auto a, auto b, auto c) -> std::uint64_t {
                    const std::uint64_t both = b << 32 | a, n = clamp ? (c < 32 ? c : 32) : c & 31;
                    return left ? (both << n) >> 32 : both >> n;
                });
        }
    }
}

TEST_CASE("Bit fields and counts", "[ptx][integer]") {
    for (const IntegerType& type : kTypes) {
        if (type.bits == 16) continue;
        check_instruction("bfe." + type.name + " %d, %a, %b, %c;", {type.name, "u32", "u32"}, type.name,
                          [&](std::uint64_t a, std::uint64_t b, std::uint64_t c) -> std::uint64_t {
                              // The manual's pseudocode, bit by bit.
                              const unsigned msb = type.bits - 1, pos = b & 0xFF, len = c & 0xFF;
                              std::uint64_t sign = 0;
                              if (type.is_signed && len != 0) sign = a >> std::min(pos + len - 1, msb) & 1;
                              std::uint64_t d = 0;
                              for (unsigned i = 0; i <= msb; ++i) {
                                  const std::uint64_t bit =
                                      i < len && pos + i <= msb ? a >> (pos + i) & 1 : sign;
                                  d |= bit << i;
                              }
                              return d;
                          });
        check_instruction("bfind." + type.name + " %d, %a;", {type.name}, "u32",
                          [&](auto a, auto, auto) -> std::uint64_t {
                              Wide v = value(type, a);
                              if (v < 0) v = ~v;
                              for (unsigned bit = type.bits; bit-- > 0;) {
                                  if ((v >> bit & 1) != 0) return bit;
                              }
                              return 0xFFFFFFFF;
                          });
    }
    for (const unsigned bits : {32u, 64u}) {
        const std::string type = "b" + std::to_string(bits);
        check_instruction("bfi." + type + " %d, %a, %b, %c, %c;", {type, type, "u32"}, type,
                          [=](std::uint64_t a, std::uint64_t b, std::uint64_t c) {
                              const unsigned pos = c & 0xFF, len = c & 0xFF;
                              std::uint64_t f = b;
                              for (unsigned i = 0; i < len && pos + i < bits; ++i) {
                                  f = (f & ~(std::uint64_t{1} << (pos + i))) | (a >> i & 1) << (pos + i);
                              }
                              return f;
                          });
        check_instruction("popc." + type + " %d, %a;", {type}, "u32",
                          [](auto a, auto, auto) -> std::uint64_t {
                              std::uint64_t n = 0;
                              for (; a != 0; a >>= 1) n += a & 1;
                              return n;
                          });
        check_instruction("clz." + type + " %d, %a;", {type}, "u32",
                          [=](auto a, auto, auto) -> std::uint64_t {
                              std::uint64_t n = 0;
                              while (n < bits && (a >> (bits - 1 - n) & 1) == 0) ++n;
                              return n;
                          });
        check_instruction("brev." + type + " %d, %a;", {type}, type, [=](auto a, auto, auto) {
            std::uint64_t d = 0;
            for (unsigned i = 0; i < bits; ++i) d |= (a >> i & 1) << (bits - 1 - i);
            return d;
        });
    }
}

TEST_CASE("Bit masks, extension from a bit, dot products of bytes", "[ptx][integer]") {
    check_instruction("bmsk.clamp.b32 %d, %a, %b;", {"u32", "u32"}, "b32", [](auto a, auto b, auto) {
        std::uint64_t d = 0;
        for (std::uint64_t bit = a; bit < 32 && bit - a < b; ++bit) d |= std::uint64_t{1} << bit;
        return d;
    });
    check_instruction("szext.clamp.s32 %d, %a, %b;", {"s32", "u32"}, "s32",
                      [](auto a, auto b, auto) -> std::uint64_t {
                          if (b == 0) return 0;
                          if (b >= 32) return a;
                          const std::uint64_t low = a & ((std::uint64_t{1} << b) - 1);
                          return (low >> (b - 1) & 1) != 0 ? low | ~std::uint64_t{0} << b : low;
                      });
    check_instruction("szext.wrap.u32 %d, %a, %b;", {"u32", "u32"}, "u32",
                      [](auto a, auto b, auto) { return a & ((std::uint64_t{1} << (b & 31)) - 1); });
    const auto byte = [](std::uint64_t word, unsigned n, bool is_signed) -> std::int64_t {
        const std::uint64_t value = word >> (8 * n) & 0xFF;
        return is_signed && value >= 128 ? static_cast<std::int64_t>(value) - 256
                                         : static_cast<std::int64_t>(value);
    };
    for (const bool a_signed : {false, true}) {
        for (const bool b_signed : {false, true}) {
            const std::string types = std::string(a_signed ? ".s32" : ".u32") + (b_signed ? ".s32" : ".u32");
            check_instruction("dp4a" + types + " %d, %a, %b, %c;", {"b32", "b32", "b32"}, "b32",
                              [&](auto a, auto b, auto c) {
                                  std::int64_t sum = static_cast<std::int64_t>(c);
                                  for (unsigned n = 0; n < 4; ++n)
                                      sum += byte(a, n, a_signed) * byte(b, n, b_signed);
                                  return static_cast<std::uint64_t>(sum);
                              });
            check_instruction("dp2a.hi" + types + " %d, %a, %b, %c;", {"b32", "b32", "b32"}, "b32",
                              [&](auto a, auto b, auto c) {
                                  std::int64_t sum = static_cast<std::int64_t>(c);
                                  for (unsigned n = 0; n < 2; ++n) {
                                      const auto half = static_cast<std::uint16_t>(a >> (16 * n));
                                      sum +=
                                          (a_signed ? static_cast<std::int16_t>(half) : std::int64_t{half}) *
                                          byte(b, 2 + n, b_signed);
                                  }
                                  return static_cast<std::uint64_t>(sum);
                              });
        }
    }
}

TEST_CASE("Byte permutation", "[ptx][integer]") {
    check_instruction("prmt.b32 %d, %a, %b, %c;", {"b32", "b32", "b32"}, "b32",
                      [](std::uint64_t a, std::uint64_t b, std::uint64_t c) {
                          const std::uint64_t both = b << 32 | a;
                          std::uint64_t d = 0;
                          for (unsigned i = 0; i < 4; ++i) {
                              const std::uint64_t nibble = c >> (4 * i) & 0xF;
                              std::uint64_t byte = both >> (8 * (nibble & 7)) & 0xFF;
                              if ((nibble & 8) != 0) byte = (byte & 0x80) != 0 ? 0xFF : 0;
                              d |= byte << (8 * i);
                          }
                          return d;
                      });
    // Source bytes, most significant first, for selector 0 to 3: PTX manual, table of prmt modes.
    struct Mode {
        const char* name;
        const char* bytes[4];
    };
    const Mode modes[] = {
        {"f4e", {"3210", "4321", "5432", "6543"}}, {"b4e", {"5670", "6701", "7012", "0123"}},
        {"rc8", {"0000", "1111", "2222", "3333"}}, {"ecl", {"3210", "3211", "3222", "3333"}},
        {"ecr", {"0000", "1110", "2210", "3210"}}, {"rc16", {"1010", "3232", "1010", "3232"}}};
    for (const Mode& mode : modes) {
        check_instruction(std::string("prmt.b32.") + mode.name + " %d, %a, %b, %c;", {"b32", "b32", "b32"},
                          "b32", [&](std::uint64_t a, std::uint64_t b, std::uint64_t c) {
                              const std::uint64_t both = b << 32 | a;
                              std::uint64_t d = 0;
                              for (const char* p = mode.bytes[c & 3]; *p != 0; ++p)
                                  d = d << 8 | (both >> (8 * (*p - '0')) & 0xFF);
                              return d;
                          });
    }
}

TEST_CASE("Integer comparison and selection", "[ptx][integer]") {
    struct Comparison {
        const char* name;
        bool (*holds)(Wide, Wide);
    };
    const Comparison comparisons[] = {
        {"eq", [](Wide a, Wide b) { return a == b; }}, {"ne", [](Wide a, Wide b) { return a != b; }},
        {"lt", [](Wide a, Wide b) { return a < b; }},  {"le", [](Wide a, Wide b) { return a <= b; }},
        {"gt", [](Wide a, Wide b) { return a > b; }},  {"ge", [](Wide a, Wide b) { return a >= b; }}};
    for (const IntegerType& type : kTypes) {
        for (const Comparison& comparison : comparisons) {
            const std::string name = std::string(comparison.name) + ".";
            check_instruction("setp." + name + type.name + " %d, %a, %b;", {type.name, type.name}, "pred",
                              [&](auto a, auto b, auto) -> std::uint64_t {
                                  return comparison.holds(value(type, a), value(type, b));
                              });
            check_instruction("setp." + name + "and." + type.name + " %d|%q, %a, %b, !%c;",
                              {type.name, type.name, "pred"}, "pred",
                              [&](auto a, auto b, auto c) -> std::uint64_t {
                                  return comparison.holds(value(type, a), value(type, b)) && c == 0;
                              });
            check_instruction("set." + name + "u32." + type.name + " %d, %a, %b;", {type.name, type.name},
                              "u32", [&](auto a, auto b, auto) -> std::uint64_t {
                                  return comparison.holds(value(type, a), value(type, b)) ? 0xFFFFFFFF : 0;
                              });
        }
        // The second predicate is the complement, combined too.
        check_instruction("setp.lt.or." + type.name + " %q|%d, %a, %b, %c;", {type.name, type.name, "pred"},
                          "pred", [&](auto a, auto b, auto c) -> std::uint64_t {
                              return !(value(type, a) < value(type, b)) || c != 0;
                          });
        check_instruction("selp." + type.name + " %d, %a, %b, %c;", {type.name, type.name, "pred"}, type.name,
                          [](auto a, auto b, auto c) { return c != 0 ? a : b; });
        check_instruction("slct." + type.name + ".s32 %d, %a, %b, %c;", {type.name, type.name, "s32"},
                          type.name,
                          [](auto a, auto b, auto c) { return static_cast<std::int32_t>(c) >= 0 ? a : b; });
    }
}

TEST_CASE("Conversion between integers", "[ptx][integer]") {
    const std::vector<IntegerType> types = {{"u8", 8, false},   {"s8", 8, true},    {"u16", 16, false},
                                            {"s16", 16, true},  {"u32", 32, false}, {"s32", 32, true},
                                            {"u64", 64, false}, {"s64", 64, true}};
    for (const IntegerType& to : types) {
        for (const IntegerType& from : types) {
            for (const unsigned register_bits : {16u, 32u, 64u}) {
                if (register_bits < to.bits) continue;
                const std::string destination = "b" + std::to_string(register_bits);
                const std::string source = "b" + std::to_string(std::max(16u, from.bits));
                // The result is extended to the register's width by its own sign.
                check_instruction("cvt." + to.name + "." + from.name + " %d, %a;", {source}, destination,
                                  [&](auto a, auto, auto) { return low(value(to, low(value(from, a)))); });
                check_instruction(
                    "cvt.sat." + to.name + "." + from.name + " %d, %a;", {source}, destination,
                    [&](auto a, auto, auto) {
                        const Wide low_end = to.is_signed ? -(Wide{1} << (to.bits - 1)) : Wide{0};
                        const Wide high_end = (Wide{1} << (to.is_signed ? to.bits - 1 : to.bits)) - 1;
                        const Wide v = value(from, a);
                        return low(v < low_end ? low_end : v > high_end ? high_end : v);
                    });
            }
        }
    }
    // A source register may be wider than the source type.
    check_instruction("cvt.s32.s8 %d, %a;", {"b64"}, "s32", [](auto a, auto, auto) {
        return static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<std::int8_t>(a)));
    });
    check_instruction("cvt.u32.u64 %d, %a;", {"b64"}, "u32",
                      [](auto a, auto, auto) { return a & mask_of(32); });
}

TEST_CASE("Packing and unpacking", "[ptx][integer]") {
    check_instruction("mov.b64 %d, {%a, %b};", {"b32", "b32"}, "b64",
                      [](auto a, auto b, auto) { return b << 32 | a; });
    check_instruction("mov.b32 %d, {%a, %b};", {"b16", "b16"}, "b32",
                      [](auto a, auto b, auto) { return b << 16 | a; });
    check_instruction("mov.b64 {%t, %d}, %a;", {"b64"}, "b32", [](auto a, auto, auto) { return a >> 32; });
    check_instruction("mov.b64 {_, %d}, %a;", {"b64"}, "b32", [](auto a, auto, auto) { return a >> 32; });
    check_instruction(".reg .b16 %x; mov.b32 {%x, %d}, %a;", {"b32"}, "b16",
                      [](auto a, auto, auto) { return a >> 16; });
    check_instruction(".reg .b16 %x<4>; mov.b64 {%x0, %x1, %d, %x3}, %a;", {"b64"}, "b16",
                      [](auto a, auto, auto) { return a >> 32; });
}

TEST_CASE("The carry flag of a subtraction is that of a + ~b + 1", "[ptx]") {
    // Measured on hardware: after add.cc 0, 0 the result of subc 0, 0 is ffffffff; nvcc's 128-bit division
    // reads the flag of sub.cc with addc.
    const Program program(
        module_text(".param .u64 out",
                    ".reg .b64 %p; .reg .b32 %r, %s; ld.param.u64 %p, [out];\n"
                    "add.cc.u32 %r, 0, 0; subc.u32 %r, 0, 0; st.global.u32 [%p], %r;\n"
                    "sub.cc.u32 %r, 5, 3; addc.u32 %s, 0, 0; st.global.u32 [%p+4], %s;\n"
                    "sub.cc.u32 %r, 3, 5; addc.u32 %s, 0, 0; st.global.u32 [%p+8], %s; ret;"),
        "test");
    Device device;
    const auto out = device.upload("out", std::vector<unsigned>(3));
    program.run(device, {1}, {1}, {argument(out)});
    CHECK(device.download<unsigned>(out, 3) == std::vector<unsigned>{0xFFFFFFFFu, 1u, 0u});
}
