#include "workloads/kernels/exact_functions.h"

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "isa/common/error.h"
#include "workloads/kernels/ptx_writer.h"

namespace heddle::kernels {
namespace {

/// "@p op.approx d, a;"
struct Instruction {
    std::string guard, function, destination, source;
};

std::string_view trimmed(std::string_view text) {
    const auto first = text.find_first_not_of(" \t\r");
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

/// Nothing when the line is no instruction of these two operands.
std::optional<Instruction> parse(std::string_view line) {
    Instruction result;
    std::string_view rest = trimmed(line);
    if (!rest.empty() && rest.front() == '@') {
        const auto space = rest.find(' ');
        if (space == std::string_view::npos) return std::nullopt;
        result.guard = std::string(rest.substr(0, space)) + " ";
        rest = trimmed(rest.substr(space));
    }
    const auto space = rest.find(' '), comma = rest.find(','), end = rest.find(';');
    if (space == std::string_view::npos || comma == std::string_view::npos || end == std::string_view::npos ||
        !(space < comma && comma < end)) {
        return std::nullopt;
    }
    const std::string_view opcode = rest.substr(0, space);
    for (const char* function : {"ex2", "lg2", "rcp", "rsqrt", "sqrt"}) {
        const std::string stem = std::string(function) + ".approx";
        if (opcode == stem + ".f32" || opcode == stem + ".ftz.f32") result.function = function;
    }
    if (result.function.empty()) return std::nullopt;
    result.destination = trimmed(rest.substr(space, comma - space));
    result.source = trimmed(rest.substr(comma + 1, end - comma - 1));
    return result;
}

/// Lines of a block of its own scope: x is the operand, y the result.
class Block {
  public:
    void line(const std::string& text) { text_ += "        " + text + "\n"; }
    /// y = Horner's rule in `x`; coefficients from the highest power down.
    void polynomial(const std::string& y, const std::string& x, std::initializer_list<double> coefficients) {
        const std::string step = "fma.rn.f32 " + y + ", " + y + ", " + x + ", ";
        std::string begin = "mov.f32 " + y + ", ";
        for (const double c : coefficients) {
            line(begin + f32_immediate(c) + ";");
            begin = step;
        }
    }
    const std::string& text() const { return text_; }

  private:
    std::string text_;
};

void power_of_two(Block& b) {
    b.line(".reg .f32 %xb, %xn, %xf, %xh, %xo, %xp;");
    b.line(".reg .b32 %xi, %xj;");
    b.line(".reg .pred %xnan;");
    // Beyond these bounds the result is 0 or infinity all the same.
    b.line("max.f32 %xb, %xx, " + f32_immediate(-160) + ";");
    b.line("min.f32 %xb, %xb, " + f32_immediate(160) + ";");
    b.line("cvt.rni.f32.f32 %xn, %xb;");
    b.line("sub.rn.f32 %xf, %xb, %xn;");
    b.polynomial("%xp", "%xf",
                 {0.0001546144469646172, 0.0013400428177419153, 0.00961805667852609, 0.05550327226670944,
                  0.24022650922288827, 0.6931472067028321, 1.0});
    // 2^n in two factors, each a normal number: only the last product rounds.
    b.line("cvt.rni.s32.f32 %xi, %xn;");
    b.line("shr.s32 %xj, %xi, 1;");
    b.line("sub.s32 %xi, %xi, %xj;");
    for (const char* half : {"%xi", "%xj"}) {
        b.line("add.s32 " + std::string(half) + ", " + half + ", 127;");
        b.line("shl.b32 " + std::string(half) + ", " + half + ", 23;");
    }
    b.line("mov.b32 %xh, %xi;");
    b.line("mov.b32 %xo, %xj;");
    b.line("mul.rn.f32 %xp, %xp, %xh;");
    b.line("mul.rn.f32 %xp, %xp, %xo;");
    b.line("setp.nan.f32 %xnan, %xx, %xx;");
    b.line("selp.f32 %xy, %xx, %xp, %xnan;");
}

void binary_logarithm(Block& b) {
    b.line(".reg .f32 %xs, %xm, %xe, %xp;");
    b.line(".reg .b32 %xi, %xj;");
    b.line(".reg .pred %xq;");
    // Subnormal numbers as normal ones, times 2^24.
    b.line("mul.rn.f32 %xs, %xx, " + f32_immediate(16777216) + ";");
    b.line("setp.lt.f32 %xq, %xx, " + f32_immediate(0x1p-126) + ";");
    b.line("selp.f32 %xs, %xs, %xx, %xq;");
    b.line("selp.f32 %xe, " + f32_immediate(-24) + ", " + f32_immediate(0) + ", %xq;");
    // x = 2^n m with m in [0.75, 1.5).
    b.line("mov.b32 %xi, %xs;");
    b.line("sub.s32 %xj, %xi, 0x3f400000;");
    b.line("and.b32 %xj, %xj, 0xff800000;");
    b.line("sub.s32 %xi, %xi, %xj;");
    b.line("mov.b32 %xm, %xi;");
    b.line("sub.rn.f32 %xm, %xm, " + f32_immediate(1) + ";");
    b.line("shr.s32 %xj, %xj, 23;");
    b.line("cvt.rn.f32.s32 %xp, %xj;");
    b.line("add.rn.f32 %xe, %xe, %xp;");
    b.polynomial("%xp", "%xm",
                 {-0.04391809324689335, 0.11404398303241467, -0.15233632512419273, 0.16476060441675155,
                  -0.18040394867004234, 0.2058243845952628, -0.240423682739226, 0.2885456181795354,
                  -0.3606744469072415, 0.48089828908184473, -0.721347516361857, 1.4426950409792796});
    b.line("fma.rn.f32 %xp, %xp, %xm, %xe;");
    b.line("setp.eq.f32 %xq, %xx, 0f7F800000;");
    b.line("selp.f32 %xp, %xx, %xp, %xq;");
    b.line("setp.eq.f32 %xq, %xx, 0f00000000;");
    b.line("selp.f32 %xp, 0fFF800000, %xp, %xq;");
    // Below 0, and NaN.
    b.line("setp.geu.f32 %xq, %xx, 0f00000000;");
    b.line("selp.f32 %xp, %xp, 0f7FFFFFFF, %xq;");
    b.line("setp.nan.f32 %xq, %xx, %xx;");
    b.line("selp.f32 %xy, %xx, %xp, %xq;");
}

std::string sequence(const Instruction& instruction) {
    Block b;
    b.line(".reg .f32 %xx, %xy;");
    b.line("mov.f32 %xx, " + instruction.source + ";");
    if (instruction.function == "ex2") {
        power_of_two(b);
    } else if (instruction.function == "lg2") {
        binary_logarithm(b);
    } else if (instruction.function == "rcp") {
        b.line("rcp.rn.f32 %xy, %xx;");
    } else if (instruction.function == "sqrt") {
        b.line("sqrt.rn.f32 %xy, %xx;");
    } else {
        b.line("sqrt.rn.f32 %xy, %xx;");
        b.line("rcp.rn.f32 %xy, %xy;");
    }
    b.line(instruction.guard + "mov.f32 " + instruction.destination + ", %xy;");
    return "    {\n" + b.text() + "    }\n";
}

}  // namespace

std::string replace_approximations(const std::string& ptx) {
    std::string result;
    result.reserve(ptx.size());
    std::size_t line_number = 0;
    for (std::size_t start = 0; start < ptx.size();) {
        const std::size_t end = std::min(ptx.find('\n', start), ptx.size());
        const std::string_view line = std::string_view(ptx).substr(start, end - start);
        start = end + 1;
        ++line_number;
        if (line.find(".approx") == std::string_view::npos || trimmed(line).starts_with("//")) {
            result.append(line);
            result += '\n';
            continue;
        }
        const auto instruction = parse(line);
        if (!instruction) {
            throw Error("there is no exact sequence for '" + std::string(trimmed(line)) + "'",
                        {.line = static_cast<std::int64_t>(line_number)},
                        "ex2, lg2, rcp, rsqrt and sqrt of f32 are known, one instruction per line");
        }
        result += sequence(*instruction);
    }
    return result;
}

}  // namespace heddle::kernels
