#include <bit>
#include <charconv>
#include <map>

#include "isa/common/error.h"
#include "isa/common/hexadecimal.h"
#include "isa/tpu/assembler.h"
#include "isa/tpu/fields.h"

namespace heddle::tpu {
namespace {

std::string hexadecimal_with_sign(std::int64_t value) {
    const std::uint64_t bits = static_cast<std::uint64_t>(value);
    return value < 0 ? "-" + hexadecimal(-bits) : hexadecimal(bits);
}

std::string to_text(const Affine& affine) {
    std::string text = hexadecimal_with_sign(affine.base);
    for (std::size_t level = 0; level < kRepeatLevels; ++level) {
        const std::int64_t step = affine.step[level];
        if (step == 0) continue;
        text += (step < 0 ? "" : "+") + hexadecimal_with_sign(step) + "*" + static_cast<char>('i' + level);
    }
    return text;
}

/// The shortest text that reads back as the same number; NaNs keep their bits.
std::string to_text(float value) {
    if (value != value) return "bits:" + hexadecimal(std::bit_cast<std::uint32_t>(value));
    char text[32];
    return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

class Printer {
  public:
    explicit Printer(std::string& text) : text_(text) {}
    template <class Number>
    void number(const char* name, Number value, bool required = false) {
        if (value != 0 || required) add(name, std::to_string(+value));
    }
    void affine(const char* name, const Affine& value, bool required = false) {
        if (required || !(value == Affine{})) add(name, to_text(value));
    }
    void type(const char* name, ElementType value) { add(name, name_of(value)); }
    void part(const char* name, Bf16Part value) {
        if (value != Bf16Part::high) add(name, value == Bf16Part::middle ? "middle" : "low");
    }
    void mark(const char* name, bool value) {
        if (value) text_ += std::string(" ") + name;
    }
    void operands(const char* name, const std::vector<VectorOperand>& operands) {
        for (const VectorOperand& operand : operands) {
            add(name, std::string(name_of(operand.type)) + "@" + to_text(operand.vmem) + ":" +
                          std::to_string(operand.row_stride) +
                          (operand.broadcast_columns ? ":broadcast" : ""));
        }
    }
    void reals(const char* name, const std::vector<float>& values) {
        for (const float value : values) add(name, to_text(value));
    }

  private:
    void add(const char* name, const std::string& value) { text_ += std::string(" ") + name + " " + value; }
    std::string& text_;
};

void print(const VectorKernel& kernel, std::string& text) {
    text += "kernel " + kernel.name + " inputs " + std::to_string(kernel.inputs) + " scalars " +
            std::to_string(kernel.scalars) + " {\n";
    for (std::size_t i = 0; i < kernel.nodes.size(); ++i) {
        const VectorNode& node = kernel.nodes[i];
        const VectorOpTraits& what = traits(node.op);
        text += "  " + std::to_string(i) + " = " + what.name;
        if (what.operands > 0) text += " " + std::to_string(node.a);
        if (what.operands > 1) text += " " + std::to_string(node.b);
        if (what.operands > 2) text += " " + std::to_string(node.c);
        switch (node.op) {
            case VectorOp::input:
            case VectorOp::scalar:
            case VectorOp::random:
            case VectorOp::philox_counter:
                text += " " + std::to_string(node.index);
                break;
            case VectorOp::philox:
                text += " " + std::to_string(node.index) + " " + std::to_string(node.bits);
                break;
            case VectorOp::constant:
                text += " " + to_text(std::bit_cast<float>(node.bits));
                break;
            case VectorOp::integer_constant:
                text += " " + std::to_string(static_cast<std::int32_t>(node.bits));
                break;
            default:
                break;
        }
        text += "\n";
    }
    for (const VectorOutput& output : kernel.outputs) {
        text += "  output " + std::to_string(output.node);
        if (output.reduction != Reduction::none) text += std::string(" ") + name_of(output.reduction);
        if (output.accumulate) text += " accumulate";
        text += "\n";
    }
    text += "}\n";
}

}  // namespace

std::string disassemble(const Instruction& instruction) {
    const Operation& operation = instruction.operation;
    std::string text = mnemonic(operation);
    if (const auto* vector = std::get_if<Vector>(&operation)) text += " " + vector->kernel->name;
    if (const auto* repeat = std::get_if<Repeat>(&operation))
        text += " " + std::to_string(repeat->count) + " {";
    Printer printer(text);
    std::visit([&](const auto& fields) { visit_fields(fields, printer); }, operation);
    for (const FlagWait& wait : instruction.waits) {
        if (!std::holds_alternative<Wait>(operation)) text += " after";
        text += " " + std::to_string(wait.flag);
        if (wait.count != 1) text += ":" + std::to_string(wait.count);
    }
    for (const FlagSignal& signal : instruction.signals) {
        if (!std::holds_alternative<Signal>(operation)) text += " signals";
        text += " ";
        if (signal.core >= 0) text += std::to_string(signal.core) + ".";
        text += std::to_string(signal.flag);
    }
    return text;
}

std::string disassemble(const Program& program) {
    std::string text = program.name.empty() ? "" : "program " + program.name + "\n";
    std::map<std::string, const VectorKernel*> printed;
    for (const CoreProgram& core : program.cores) {
        for (const Instruction& instruction : core.instructions) {
            const auto* vector = std::get_if<Vector>(&instruction.operation);
            if (vector == nullptr) continue;
            const VectorKernel& kernel = *vector->kernel;
            const auto [known, added] = printed.emplace(kernel.name, &kernel);
            if (added) {
                print(kernel, text);
            } else if (known->second != &kernel && !(*known->second == kernel)) {
                throw Error("program " + program.name + " has two different kernels named " + kernel.name);
            }
        }
    }
    for (const CoreProgram& core : program.cores) {
        text += "core {\n";
        std::size_t depth = 1;
        for (const Instruction& instruction : core.instructions) {
            if (std::holds_alternative<EndRepeat>(instruction.operation) && depth > 1) --depth;
            text += std::string(2 * depth, ' ') + disassemble(instruction) + "\n";
            if (std::holds_alternative<Repeat>(instruction.operation)) ++depth;
        }
        text += "}\n";
    }
    return text;
}

}  // namespace heddle::tpu
