#include "isa/ptx/decode/warpgroup_details.h"

#include <bit>
#include <vector>

#include "isa/common/error.h"
#include "isa/ptx/handlers/warpgroup_multiply.h"
#include "isa/ptx/matrix_instruction.h"

namespace heddle::ptx {
namespace {

/// Integers have none, and nobody asks for theirs.
numerics::Format format_of(Type type) {
    return matrix_format(type).value_or(numerics::Format::fp16);
}

std::vector<std::int64_t> immediates_of(const Instruction& n) {
    std::vector<std::int64_t> values;
    for (const Operand& operand : n.operands) {
        if (operand.kind == Operand::Kind::immediate && operand.type == Type::u64)
            values.push_back(static_cast<std::int64_t>(operand.bits));
    }
    return values;
}

// Pairs of lanes give the metadata of 16-bit and 32-bit elements, all lanes that of 8-bit elements (PTX
// manual, "Sparse matrix storage" of wgmma).
void check_selector(const Instruction& n, std::int64_t selector) {
    const std::int64_t largest = bits_of(n.type(1)) == 8 ? 0 : 1;
    if (selector < 0 || selector > largest) {
        throw Error("the sparsity selector is " + std::to_string(selector), {},
                    largest == 0 ? "it must be 0 for 8-bit types" : "it must be 0 or 1");
    }
}

bool is_negative(std::int64_t scale) {
    if (scale != 1 && scale != -1)
        throw Error("a scale of wgmma is " + std::to_string(scale), {}, "it must be 1 or -1");
    return scale < 0;
}

bool is_transposed(std::int64_t value) {
    if (value != 0 && value != 1)
        throw Error("a transposition flag of wgmma is " + std::to_string(value), {}, "it must be 0 or 1");
    return value == 1;
}

}  // namespace

void set_warpgroup_details(const Instruction& n, DecodedInstruction& decoded) {
    const std::vector<std::int64_t> values = immediates_of(n);
    if (!n.has(Modifier::mma_async)) {
        if (n.has(Modifier::wait_group) && (values[0] < 0 || values[0] > 0xFFFF))
            throw Error("the number of groups is out of range", {}, "it must not be negative");
        return;
    }
    WarpgroupMultiply details;
    details.columns = n.shape.columns;
    details.a_format = format_of(n.type(1));
    details.b_format = format_of(n.type(2));
    details.a_in_registers = n.operands[1].kind == Operand::Kind::vector;
    details.saturates = n.has(Modifier::satfinite);
    std::size_t next = 0;
    if (n.has(Modifier::sp)) {
        check_selector(n, values[0]);
        details.selector = static_cast<std::uint8_t>(values[next++]);
    }
    if (next + 2 <= values.size()) {
        details.negative = is_negative(values[next]) != is_negative(values[next + 1]);
        next += 2;
    }
    if (!details.a_in_registers && next + 2 <= values.size())
        details.a_mn_major = is_transposed(values[next++]);
    if (next < values.size()) details.b_mn_major = is_transposed(values[next]);
    decoded.offset = std::bit_cast<std::int64_t>(details);
}

}  // namespace heddle::ptx
