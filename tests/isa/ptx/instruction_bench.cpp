#include "instruction_bench.h"

#include <bit>
#include <catch2/catch.hpp>

#include "launch.h"

namespace heddle::ptx::test {
namespace {

constexpr unsigned kBlock = 100;  // three whole warps and one of four lanes

unsigned width_of(const std::string& type) {
    if (type == "pred" || type == "f16x2" || type == "bf16x2") return 32;
    if (type == "f32x2") return 64;
    return static_cast<unsigned>(std::stoul(type.substr(type.find_first_of("0123456789"))));
}

// Registers of packed and 16-bit floating types are declared as bits, as compilers do.
std::string register_type(const std::string& type) {
    if (type == "f16x2" || type == "bf16x2") return "b32";
    if (type == "f32x2") return "b64";
    if (type == "f16" || type == "bf16") return "b16";
    if (type == "u8" || type == "s8") return "b16";
    return type;
}

std::uint64_t low_bits(std::uint64_t value, unsigned bits) {
    return bits >= 64 ? value : value & ((std::uint64_t{1} << bits) - 1);
}

bool is_nan(std::uint64_t bits, const std::string& type) {
    if (type == "f32") return (bits & 0x7FFFFFFFu) > 0x7F800000u;
    if (type == "f64") return (bits & 0x7FFFFFFFFFFFFFFFu) > 0x7FF0000000000000u;
    if (type == "f16") return (bits & 0x7FFFu) > 0x7C00u;
    if (type == "bf16") return (bits & 0x7FFFu) > 0x7F80u;
    return false;
}

}  // namespace

Evaluation evaluate(const std::string& lines, const std::vector<std::string>& types,
                    const std::string& result, const std::vector<Bits>& operands) {
    static const char* const kNames[] = {"%a", "%b", "%c", "%e"};
    std::string body =
        ".reg .b32 %i, %n, %m; .reg .b64 %address, %offset; .reg .pred %out, %skip, %q; .reg .b32 %t;\n";
    std::string parameters = ".param .u32 n, .param .u64 result";
    std::string loads;
    for (std::size_t o = 0; o < types.size(); ++o) {
        const std::string name = kNames[o], parameter = "x" + std::to_string(o);
        parameters += ", .param .u64 " + parameter;
        body += ".reg ." + register_type(types[o]) + " " + name + ";\n";
        loads += "ld.param.u64 %address, [" + parameter + "]; add.u64 %address, %address, %offset;\n";
        if (types[o] == "pred") {
            loads += "ld.global.u32 %t, [%address]; setp.ne.u32 " + name + ", %t, 0;\n";
        } else {
            loads += "ld.global.b" + std::to_string(std::max(16u, width_of(types[o]))) + " " + name +
                     ", [%address];\n";
        }
    }
    body += ".reg ." + register_type(result) + " %d;\n";
    const bool predicate = result == "pred";
    body += predicate ? "setp.ne.u32 %d, 0, 0;\n" : "mov.b" + std::to_string(width_of(result)) + " %d, 0;\n";
    body +=
        "mov.u32 %i, %ctaid.x; mov.u32 %n, %ntid.x; mov.u32 %m, %tid.x; mad.lo.u32 %i, %i, %n, %m;\n"
        "ld.param.u32 %n, [n]; setp.ge.u32 %out, %i, %n; @%out bra end;\n"
        "mul.wide.u32 %offset, %i, 8;\n" +
        loads + "rem.u32 %m, %i, 3; setp.eq.u32 %skip, %m, 1; @%skip bra store;\n" + lines + "\nstore:\n" +
        "ld.param.u64 %address, [result]; add.u64 %address, %address, %offset;\n";
    if (predicate)
        body += "selp.u32 %t, 1, 0, %d; st.global.u32 [%address], %t;\n";
    else
        body += "st.global.b" + std::to_string(width_of(result)) + " [%address], %d;\n";
    body += "end: ret;";
    const std::string text = module_text(parameters, body);
    const Program program(text, "test");
    Device device;
    const std::size_t count = operands.at(0).size();
    const std::uint64_t output = device.upload("result", Bits(count));
    std::vector<std::vector<std::byte>> arguments = {argument(static_cast<std::uint32_t>(count)),
                                                     argument(output)};
    for (const Bits& operand : operands) arguments.push_back(argument(device.upload("operand", operand)));
    program.run(device, {static_cast<std::uint32_t>((count + kBlock - 1) / kBlock)}, {kBlock}, arguments);
    Evaluation evaluation;
    evaluation.results = device.download<std::uint64_t>(output, count);
    for (std::size_t i = 0; i < count; ++i) evaluation.skipped.push_back(i % 3 == 1);
    return evaluation;
}

Bits interesting_values(const std::string& type, std::size_t count, unsigned seed) {
    if (type == "f32x2") {
        Bits both = interesting_values("f32", count, seed);
        const Bits high = interesting_values("f32", count, seed + 1);
        for (std::size_t i = 0; i < count; ++i) both[i] |= high[(i + 5) % count] << 32;
        return both;
    }
    std::mt19937_64 generator(seed);
    const unsigned bits = width_of(type);
    Bits special;
    if (type == "pred") {
        special = {0, 1};
    } else if (type == "f32") {
        special = {0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007FFFFF, 0x00800000, 0x80800000,
                   0x3F800000, 0xBF800000, 0x3F000000, 0x3F7FFFFF, 0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000,
                   0xFF800000, 0x7FC00000, 0xFFC12345, 0x7F800001, 0x4F000000, 0xCF000000, 0x4F800000,
                   0x5F000000, 0x477FE000, 0x477FF000, 0x33000000, 0x38800000};
    } else if (type == "f64") {
        special = {0,
                   0x8000000000000000u,
                   1,
                   0x000FFFFFFFFFFFFFu,
                   0x0010000000000000u,
                   0x3FF0000000000000u,
                   0xBFF0000000000000u,
                   0x7FEFFFFFFFFFFFFFu,
                   0x7FF0000000000000u,
                   0xFFF0000000000000u,
                   0x7FF8000000000000u,
                   0x41E0000000000000u,
                   0x43E0000000000000u,
                   0x47EFFFFFE0000000u};
    } else if (type == "f16" || type == "bf16") {
        special = {0,      0x8000, 1,      0x8001, 0x03FF, 0x0400, 0x3C00, 0xBC00, 0x7BFF, 0x7C00,
                   0xFC00, 0x7E00, 0x7F80, 0xFF80, 0x7FC0, 0x3F80, 0x7F7F, 0x0080, 0x007F};
    } else {
        special = {0,
                   1,
                   2,
                   3,
                   7,
                   31,
                   32,
                   33,
                   63,
                   64,
                   0x7F,
                   0x80,
                   0xFF,
                   0x7FFF,
                   0x8000,
                   0xFFFF,
                   0x7FFFFFFF,
                   0x80000000,
                   0xFFFFFFFF,
                   0x7FFFFFFFFFFFFFFFu,
                   0x8000000000000000u,
                   ~std::uint64_t{0},
                   ~std::uint64_t{1}};
    }
    Bits values;
    while (values.size() < count) {
        const std::uint64_t word = generator();
        std::uint64_t value = word;
        switch (generator() % 4) {
            case 0:
                value = special[word % special.size()];
                break;
            case 1:
                if (type == "f32")
                    value = std::bit_cast<std::uint32_t>(
                        static_cast<float>(static_cast<std::int64_t>(word % 20001) - 10000) / 64);
                else if (type == "f64")
                    value = std::bit_cast<std::uint64_t>(
                        static_cast<double>(static_cast<std::int64_t>(word % 20001) - 10000) / 64);
                else
                    value = word % 50;
                break;
            case 2:
                if (type == "f32")
                    value = (word & 0x807FFFFFu) | (100 + (word >> 32) % 56) << 23;
                else if (type == "f64")
                    value = (word & 0x800FFFFFFFFFFFFFu) | (900 + (word >> 13) % 250) << 52;
                else
                    value = ~std::uint64_t{0} << (word % bits);
                break;
            default:
                break;
        }
        values.push_back(low_bits(value, type == "pred" ? 1 : bits));
    }
    return values;
}

void check_instruction(const std::string& lines, const std::vector<std::string>& types,
                       const std::string& result, const Reference& reference, bool any_nan) {
    constexpr std::size_t kCount = 1500;
    std::vector<Bits> operands;
    for (std::size_t o = 0; o < types.size(); ++o) {
        operands.push_back(
            interesting_values(types[o], kCount, static_cast<unsigned>(o * 7919 + lines.size())));
    }
    const Evaluation evaluation = evaluate(lines, types, result, operands);
    const unsigned bits = result == "pred" ? 1 : width_of(result);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < kCount && wrong < 4; ++i) {
        const std::uint64_t a = operands[0][i], b = types.size() > 1 ? operands[1][i] : 0;
        const std::uint64_t c = types.size() > 2 ? operands[2][i] : 0;
        const std::uint64_t expected = evaluation.skipped[i] ? 0 : low_bits(reference(a, b, c), bits);
        const std::uint64_t given = low_bits(evaluation.results[i], bits);
        if (given == expected || (any_nan && is_nan(given, result) && is_nan(expected, result))) continue;
        ++wrong;
        INFO(lines << std::hex << "  a=0x" << a << " b=0x" << b << " c=0x" << c << ": 0x" << given
                   << ", expected 0x" << expected);
        CHECK(given == expected);
    }
    INFO(lines);
    CHECK(wrong == 0);
}

}  // namespace heddle::ptx::test
