// Video instructions against the pseudo code of the PTX manual ("Scalar Video Instructions", "SIMD Video
// Instructions"), written out here once more over 64-bit integers.
#include <algorithm>
#include <catch2/catch.hpp>

#include "instruction_bench.h"
#include "launch.h"

using namespace heddle::ptx;
using namespace heddle::ptx::test;

namespace {

using Integer = std::int64_t;
using Word = std::uint64_t;

// partSelectSignExtend: `selector` is "", "b2", "h1".
Integer part(Word word, const std::string& type, const std::string& selector) {
    const unsigned bits = selector.empty() ? 32 : selector[0] == 'b' ? 8 : 16;
    const unsigned shift = selector.empty() ? 0 : bits * static_cast<unsigned>(selector[1] - '0');
    const Word field = (word & 0xFFFFFFFFu) >> shift & ((Word{1} << bits) - 1);
    const bool negative = type == "s32" && (field >> (bits - 1) & 1u) != 0;
    return static_cast<Integer>(field) - (negative ? Integer{1} << bits : 0);
}

Integer saturated(Integer value, const std::string& type, unsigned bits) {
    const Integer span = Integer{1} << bits;
    return type == "s32" ? std::clamp(value, -span / 2, span / 2 - 1)
                         : std::clamp<Integer>(value, 0, span - 1);
}

// A signed number of 33 bits.
Integer wrapped33(Integer value) {
    const Integer span = Integer{1} << 33;
    const Integer low = ((value % span) + span) % span;
    return low >= span / 2 ? low - span : low;
}

Word merged(Integer value, Word c, const std::string& selector) {
    if (selector.empty()) return static_cast<Word>(value) & 0xFFFFFFFFu;
    const unsigned bits = selector[0] == 'b' ? 8 : 16,
                   shift = bits * static_cast<unsigned>(selector[1] - '0');
    const Word field = ((Word{1} << bits) - 1) << shift;
    return (static_cast<Word>(value) << shift & field) | (c & 0xFFFFFFFFu & ~field);
}

struct Scalar {
    std::string operation, d_type, a_type, b_type, d, a, b;
    bool sat = false;
    std::string secondary;
    std::string text() const {
        const auto selector = [](const std::string& s) { return s.empty() ? s : "." + s; };
        const bool third = !secondary.empty() || !d.empty();
        return operation + "." + d_type + "." + a_type + "." + b_type + (sat ? ".sat" : "") +
               (secondary.empty() ? "" : "." + secondary) + " %d" + selector(d) + ", %a" + selector(a) +
               ", %b" + selector(b) + (third ? ", %c;" : ";");
    }
    Word result(Word a_word, Word b_word, Word c_word) const {
        const Integer ta = part(a_word, a_type, a), tb = part(b_word, b_type, b);
        Integer value = operation == "vadd"       ? ta + tb
                        : operation == "vsub"     ? ta - tb
                        : operation == "vabsdiff" ? (ta < tb ? tb - ta : ta - tb)
                        : operation == "vmin"     ? std::min(ta, tb)
                                                  : std::max(ta, tb);
        if (sat) value = saturated(value, d_type, d.empty() ? 32 : d[0] == 'b' ? 8 : 16);
        value = wrapped33(value);
        const Integer tc = part(c_word, d_type, "");
        if (secondary == "add") value += tc;
        if (secondary == "min") value = std::min(value, tc);
        if (secondary == "max") value = std::max(value, tc);
        return merged(value, c_word, d);
    }
};

void check(const Scalar& scalar) {
    check_instruction(scalar.text(), {"u32", "u32", "u32"}, "u32",
                      [&](auto a, auto b, auto c) { return scalar.result(a, b, c); });
}

}  // namespace

TEST_CASE("Scalar video instructions", "[ptx][video]") {
    const std::string types[] = {"u32", "s32"};
    const std::string selectors[] = {"", "b0", "b1", "b2", "b3", "h0", "h1"};
    unsigned turn = 0;
    for (const char* const operation : {"vadd", "vsub", "vabsdiff", "vmin", "vmax"}) {
        for (const std::string& d : types) {
            for (const std::string& a : types) {
                for (const std::string& b : types) {
                    for (const bool sat : {false, true}) {
                        // Every selector of every operand comes up in some combination.
                        const std::string a_part = selectors[turn % 7], b_part = selectors[turn / 7 % 7];
                        const std::string d_part = selectors[1 + turn % 6];
                        ++turn;
                        check({operation, d, a, b, "", "", "", sat, ""});
                        check({operation, d, a, b, "", a_part, b_part, sat, "add"});
                        check({operation, d, a, b, "", b_part, a_part, sat, "min"});
                        check({operation, d, a, b, "", a_part, b_part, sat, "max"});
                        check({operation, d, a, b, d_part, a_part, b_part, sat, ""});
                    }
                }
            }
        }
    }
}

TEST_CASE("Video shifts", "[ptx][video]") {
    __extension__ typedef __int128 Wide;
    for (const std::string operation : {"vshl", "vshr"}) {
        for (const std::string d : {"u32", "s32"}) {
            for (const std::string a : {"u32", "s32"}) {
                for (const std::string mode : {"clamp", "wrap"}) {
                    const auto shifted = [=](Word x, Word y, const std::string& part_a,
                                             const std::string& part_b) {
                        const Integer ta = part(x, a, part_a), amount = part(y, "u32", part_b);
                        const Integer n = mode == "clamp" ? std::min<Integer>(amount, 32) : amount & 31;
                        return operation == "vshl" ? Wide{ta} * (Wide{1} << n) : Wide{ta >> n};
                    };
                    const std::string name = operation + "." + d + "." + a + ".u32";
                    const std::vector<std::string> operands = {"u32", "u32", "u32"};
                    check_instruction(name + "." + mode + " %d, %a, %b;", operands, "u32",
                                      [&](auto x, auto y, auto) {
                                          return static_cast<Word>(shifted(x, y, "", "")) & 0xFFFFFFFFu;
                                      });
                    check_instruction(name + ".sat." + mode + " %d, %a.h1, %b.b0;", operands, "u32",
                                      [&](auto x, auto y, auto) {
                                          const Wide low = d == "s32" ? -(Wide{1} << 31) : Wide{0};
                                          const Wide high = (Wide{1} << (d == "s32" ? 31 : 32)) - 1;
                                          const Wide value = shifted(x, y, "h1", "b0");
                                          return static_cast<Word>(std::clamp(value, low, high)) &
                                                 0xFFFFFFFFu;
                                      });
                    check_instruction(name + "." + mode + ".add %d, %a, %b.b1, %c;", operands, "u32",
                                      [&](auto x, auto y, auto z) {
                                          return (static_cast<Word>(shifted(x, y, "", "b1")) + z) &
                                                 0xFFFFFFFFu;
                                      });
                    check_instruction(name + "." + mode + " %d.b2, %a, %b.b1, %c;", operands, "u32",
                                      [&](auto x, auto y, auto z) {
                                          return merged(static_cast<Integer>(shifted(x, y, "", "b1")), z,
                                                        "b2");
                                      });
                }
            }
        }
    }
}

TEST_CASE("vmad: product, sum, scale", "[ptx][video]") {
    __extension__ typedef __int128 Wide;
    struct Signs {
        const char *a, *b, *c;
    };
    for (const std::string a : {"u32", "s32"}) {
        for (const std::string b : {"u32", "s32"}) {
            for (const Signs signs : {Signs{"", "", ""}, Signs{"-", "", ""}, Signs{"", "-", ""},
                                      Signs{"", "", "-"}, Signs{"-", "-", ""}}) {
                for (const unsigned scale : {0u, 7u, 15u}) {
                    for (const bool sat : {false, true}) {
                        const bool negative = (*signs.a == '-') != (*signs.b == '-'),
                                   minus_c = *signs.c == '-';
                        const bool product_signed = a == "s32" || b == "s32" || negative;
                        const bool result_signed = product_signed || minus_c;
                        const std::string d = result_signed ? "s32" : "u32";
                        const auto expected = [=](Word x, Word y, Word z, Integer one) {
                            Wide value = Wide{part(x, a, "h0")} * part(y, b, "");
                            if (negative) value = -value;
                            const Integer tc = part(z, product_signed ? "s32" : "u32", "");
                            value = (value + (minus_c ? -tc : tc) + one) >> scale;
                            if (sat) {
                                const Wide low = result_signed ? -(Wide{1} << 31) : Wide{0};
                                value = std::clamp(value, low, (Wide{1} << (result_signed ? 31 : 32)) - 1);
                            }
                            return static_cast<Word>(value) & 0xFFFFFFFFu;
                        };
                        const std::string tail = std::string(sat ? ".sat" : "") +
                                                 (scale == 0 ? "" : ".shr" + std::to_string(scale)) + " %d, ";
                        const std::string name = "vmad." + d + "." + a + "." + b;
                        const std::vector<std::string> operands = {"u32", "u32", "u32"};
                        check_instruction(
                            name + tail + signs.a + "%a.h0, " + signs.b + "%b, " + signs.c + "%c;", operands,
                            "u32", [&](auto x, auto y, auto z) { return expected(x, y, z, 0); });
                        if (negative || minus_c || *signs.a == '-') continue;
                        check_instruction(name + ".po" + tail + "%a.h0, %b, %c;", operands, "u32",
                                          [&](auto x, auto y, auto z) { return expected(x, y, z, 1); });
                    }
                }
            }
        }
    }
}

TEST_CASE("vset, vset2, vset4", "[ptx][video]") {
    const auto holds = [](const std::string& comparison, Integer a, Integer b) {
        return comparison == "eq"   ? a == b
               : comparison == "ne" ? a != b
               : comparison == "lt" ? a < b
               : comparison == "le" ? a <= b
               : comparison == "gt" ? a > b
                                    : a >= b;
    };
    const std::vector<std::string> operands = {"u32", "u32", "u32"};
    for (const std::string a : {"u32", "s32"}) {
        for (const std::string b : {"u32", "s32"}) {
            for (const std::string comparison : {"eq", "ne", "lt", "le", "gt", "ge"}) {
                const std::string tail = "." + a + "." + b + "." + comparison;
                check_instruction("vset" + tail + " %d, %a.b1, %b.b2;", operands, "u32",
                                  [&](auto x, auto y, auto) -> Word {
                                      return holds(comparison, part(x, a, "b1"), part(y, b, "b2"));
                                  });
                check_instruction("vset" + tail + ".add %d, %a, %b, %c;", operands, "u32",
                                  [&](auto x, auto y, auto z) {
                                      return z + (holds(comparison, part(x, a, ""), part(y, b, "")) ? 1 : 0);
                                  });
                check_instruction(
                    "vset" + tail + ".max %d, %a, %b, %c;", operands, "u32", [&](auto x, auto y, auto z) {
                        return std::max<Word>(z & 0xFFFFFFFFu,
                                              holds(comparison, part(x, a, ""), part(y, b, "")) ? 1 : 0);
                    });
                check_instruction(
                    "vset" + tail + " %d.h1, %a, %b, %c;", operands, "u32", [&](auto x, auto y, auto z) {
                        return merged(holds(comparison, part(x, a, ""), part(y, b, "")) ? 1 : 0, z, "h1");
                    });
                for (const unsigned lanes : {2u, 4u}) {
                    const std::string n = std::to_string(lanes), kind = lanes == 2 ? "h" : "b";
                    const auto sum = [&, kind](Word x, Word y, Word start, bool accumulate) {
                        Word result = start;
                        for (unsigned i = 0; i < lanes; ++i) {
                            const std::string own = kind + std::to_string(i);
                            const bool yes = holds(comparison, part(x, a, own), part(y, b, own));
                            result = accumulate ? result + (yes ? 1 : 0) : merged(yes ? 1 : 0, result, own);
                        }
                        return result;
                    };
                    check_instruction("vset" + n + tail + " %d, %a, %b, %c;", operands, "u32",
                                      [&](auto x, auto y, auto z) { return sum(x, y, z, false); });
                    check_instruction("vset" + n + tail + ".add %d, %a, %b, %c;", operands, "u32",
                                      [&](auto x, auto y, auto z) { return sum(x, y, z, true); });
                }
            }
        }
    }
}

namespace {

struct Simd {
    std::string operation;
    unsigned lanes = 2;
    std::string d_type, a_type, b_type, d, a, b;  // selectors with their letter: "h10", "b7610"; or empty
    bool sat = false, add = false;

    std::string text() const {
        const auto selector = [](const std::string& s) { return s.empty() ? s : "." + s; };
        return operation + std::to_string(lanes) + "." + d_type + "." + a_type + "." + b_type +
               (sat ? ".sat" : "") + (add ? ".add" : "") + " %d" + selector(d) + ", %a" + selector(a) +
               ", %b" + selector(b) + ", %c;";
    }
    // Element `index` of the parts that `selector` picks from b and a; digits are written from the highest
    // on.
    Integer pick(Word a_word, Word b_word, const std::string& selector, unsigned index,
                 const std::string& type) const {
        const unsigned digit = static_cast<unsigned>(selector[selector.size() - 1 - index] - '0');
        const std::string own = (lanes == 2 ? "h" : "b") + std::to_string(digit % lanes);
        return part(digit < lanes ? a_word : b_word, type, own);
    }
    Word result(Word x, Word y, Word z) const {
        const std::string a_parts = !a.empty() ? a : lanes == 2 ? "h10" : "b3210";
        const std::string b_parts = !b.empty() ? b : lanes == 2 ? "h32" : "b7654";
        const std::string mask = !d.empty() ? d : lanes == 2 ? "h10" : "b3210";
        Word result = z & 0xFFFFFFFFu;
        for (unsigned i = 0; i < lanes; ++i) {
            if (mask.find(static_cast<char>('0' + i), 1) == std::string::npos) continue;
            const Integer ta = pick(x, y, a_parts, i, a_type), tb = pick(x, y, b_parts, i, b_type);
            Integer value = 0;
            if (operation == "vadd") value = ta + tb;
            if (operation == "vsub") value = ta - tb;
            if (operation == "vavrg") value = ta + tb >= 0 ? (ta + tb + 1) >> 1 : (ta + tb) >> 1;
            if (operation == "vabsdiff") value = ta < tb ? tb - ta : ta - tb;
            if (operation == "vmin") value = std::min(ta, tb);
            if (operation == "vmax") value = std::max(ta, tb);
            if (add) {
                result = (result + static_cast<Word>(value)) & 0xFFFFFFFFu;
                continue;
            }
            if (sat) value = saturated(value, d_type, 32 / lanes);
            result = merged(value, result, (lanes == 2 ? "h" : "b") + std::to_string(i));
        }
        return result;
    }
};

}  // namespace

TEST_CASE("SIMD video instructions", "[ptx][video]") {
    const std::string half_parts[] = {"", "h00", "h31", "h23", "h12", "h01"},
                      half_masks[] = {"", "h0", "h1", "h10"};
    const std::string byte_parts[] = {"", "b7610", "b0000", "b1357", "b6420", "b4567"};
    const std::string byte_masks[] = {"",   "b0",  "b1",  "b10",  "b2",  "b20",  "b21",  "b210",
                                      "b3", "b30", "b31", "b310", "b32", "b320", "b321", "b3210"};
    unsigned turn = 0;
    for (const char* const operation : {"vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax"}) {
        for (const unsigned lanes : {2u, 4u}) {
            for (const std::string d : {"u32", "s32"}) {
                for (const std::string a : {"u32", "s32"}) {
                    for (const std::string b : {"u32", "s32"}) {
                        for (unsigned form = 0; form < 3; ++form, ++turn) {
                            Simd simd{operation, lanes, d, a, b, "", "", "", form == 1, form == 2};
                            const auto run = [&] {
                                check_instruction(
                                    simd.text(), {"u32", "u32", "u32"}, "u32",
                                    [&](auto x, auto y, auto z) { return simd.result(x, y, z); });
                            };
                            run();
                            simd.a = lanes == 2 ? half_parts[turn % 6] : byte_parts[turn % 6];
                            simd.b = lanes == 2 ? half_parts[turn / 2 % 6] : byte_parts[turn / 2 % 6];
                            simd.d = lanes == 2 ? half_masks[turn % 4] : byte_masks[turn % 16];
                            run();
                        }
                    }
                }
            }
        }
    }
}

TEST_CASE("Wrong selectors of video instructions are refused", "[ptx][video]") {
    for (const char* const line :
         {"vadd2.u32.u32.u32 %r0, %r1.h4, %r2, %r3;", "vadd2.u32.u32.u32 %r0.h01, %r1, %r2, %r3;",
          "vadd4.u32.u32.u32 %r0, %r1.b12, %r2, %r3;", "vadd.u32.u32.u32 %r0, %r1.h2, %r2;",
          "vadd4.u32.u32.u32 %r0.b13, %r1, %r2, %r3;"}) {
        INFO(line);
        CHECK_THROWS_WITH(Program(module_text("", std::string(".reg .b32 %r<4>; ") + line + " ret;"), "test"),
                          Catch::Contains("select"));
    }
    CHECK_THROWS_WITH(Program(module_text("", ".reg .b32 %r<4>; add.u32 %r0, -%r1, %r2; ret;"), "test"),
                      Catch::Contains("minus"));
}
