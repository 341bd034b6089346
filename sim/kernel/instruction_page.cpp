#include "sim/kernel/instruction_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <string_view>
#include <vector>

#include "isa/ptx/instruction_table.h"
#include "sim/kernel/report.h"

namespace heddle::kernel {
namespace {

using ptx::InstructionForm;
using ptx::Opcode;

std::vector<std::string> words_of(std::string_view text) {
    std::istringstream stream{std::string(text)};
    std::vector<std::string> words;
    for (std::string word; stream >> word;) words.push_back(word);
    return words;
}

/// "rn|rz? f32" as the manual would write it: "{.rn,.rz}.f32", with [ ] around what may be left out.
std::string written_suffixes(std::string_view suffixes) {
    std::string text;
    for (std::string group : words_of(suffixes)) {
        const bool optional = group.back() == '?';
        if (optional) group.pop_back();
        std::string alternatives = ".";
        bool several = false;
        for (const char c : group) {
            alternatives += c == '|' ? std::string(",.") : std::string(1, c);
            several = several || c == '|';
        }
        if (several) alternatives.insert(0, "{").append("}");
        text += optional ? "[" + alternatives + "]" : alternatives;
    }
    return text;
}

bool is_destination(const std::string& word) {
    return word[0] == '=' || word[0] == '+' || word[0] == '|';
}

/// One operand under its letter: "d", "[a]", "{b}", "!p".
std::string written_operand(const std::string& word, const std::string& letter) {
    if (word.find("[{") != std::string::npos) return "[" + letter + ", {...}]";
    if (word.find('[') != std::string::npos) return "[" + letter + "]";
    if (word.find("label") != std::string::npos) return "label";
    if (word.find("imm") != std::string::npos) return "imm";
    if (word == "hint") return "policy";
    std::string text = word.find("pred") != std::string::npos ? "p" : letter;
    const bool vector = word.find('*') != std::string::npos || word.back() == 'v' || word.back() == 'x';
    if (vector) text = "{" + text + "}";
    if (word[0] == '!') text = "[!]" + text;
    if (word[0] == '-') text = "[-]" + text;
    if (word.find('$') != std::string::npos) text += "[.part]";
    return text;
}

std::string written_operands(std::string_view operands) {
    std::string text;
    char destination = 'd', source = 'a';
    for (std::string word : words_of(operands)) {
        if (word.find("cc") != std::string::npos) continue;  // the carry flag is not written
        const bool optional = word.back() == '?' || word == "hint";
        if (word.back() == '?') word.pop_back();
        const char letter = is_destination(word) ? destination++ : source++;
        const char* separator = text.empty() ? " " : word[0] == '|' ? "|" : ", ";
        const std::string operand = separator + written_operand(word, std::string(1, letter));
        text += optional ? "[" + operand + "]" : operand;
    }
    return text;
}

/// A pipe would end a table's cell.
std::string cell(const std::string& text) {
    std::string escaped;
    for (const char c : text) escaped += c == '|' ? std::string("\\|") : std::string(1, c);
    return escaped;
}

/// Why an opcode without a form has none.
std::string missing(Opcode opcode) {
    if (opcode == Opcode::istypep) return "not yet: references to textures and surfaces";
    if (opcode == Opcode::multimem) return "not yet: several devices";
    return "not yet";
}

/// Those of PTX; operations that only translated machine code has begin with a dollar sign.
std::vector<Opcode> opcodes_by_name() {
    std::vector<Opcode> opcodes;
    for (std::size_t i = 0; i < ptx::kOpcodeCount; ++i)
        if (ptx::name_of(static_cast<Opcode>(i)).front() != '$') opcodes.push_back(static_cast<Opcode>(i));
    std::sort(opcodes.begin(), opcodes.end(),
              [](Opcode a, Opcode b) { return ptx::name_of(a) < ptx::name_of(b); });
    return opcodes;
}

/// With a pipeline its time is simulated; without one it costs no issue slot.
std::string status_of(const InstructionForm& form) {
    return form.pipeline == ptx::Pipeline::none ? "runs, free" : "runs, timed";
}

}  // namespace

std::string instruction_page() {
    std::string table;
    std::size_t supported = 0, forms_total = 0;
    const std::vector<Opcode> opcodes = opcodes_by_name();
    for (const Opcode opcode : opcodes) {
        const std::string name{ptx::name_of(opcode)};
        const auto forms = ptx::forms_of(opcode);
        if (forms.empty()) {
            table += fmt::format("| `{}` | | | {} |\n", name, missing(opcode));
            continue;
        }
        ++supported;
        forms_total += forms.size();
        bool first = true;
        for (const InstructionForm& form : forms) {
            table +=
                fmt::format("| {} | `{}` | {} | {} |\n", first ? "`" + name + "`" : "",
                            cell(name + written_suffixes(form.suffixes) + written_operands(form.operands)),
                            name_of(form.pipeline), status_of(form));
            first = false;
        }
    }
    return fmt::format(
               "# PTX instructions\n\n"
               "<!-- Made by `heddle kernel --instructions > docs/ptx-instructions.md`; a test keeps it "
               "true. -->\n\n"
               "Every opcode of PTX ISA 9.0 and what Heddle makes of it: {} of {} opcodes run, in {} forms. "
               "`{{.a,.b}}`\n"
               "is a choice, `[ ]` may be left out, `d` is a destination, `a`, `b`, ... are sources, `p` is "
               "a\n"
               "predicate, `{{a}}` a vector, `.part` selects a part (`.h1`, `.b7610`), `policy` comes with "
               "`.L2::cache_hint`; N and I in a shape are numbers of columns, 8, 16, ... 256. "
               "Suffixes may stand in any\n"
               "order, as ptxas has it, but for types, state spaces and layouts among themselves. "
               "*runs, timed*: exact results, and the device model charges the "
               "pipeline\n"
               "named; *runs, free*: exact results, costs no issue slot on the hardware; *not yet*: a kernel "
               "that\n"
               "uses it is refused when it is loaded, with line and instruction. `heddle kernel --list "
               "FILE.ptx` says\n"
               "what a file needs.\n\n"
               "| opcode | form | pipeline | status |\n|---|---|---|---|\n",
               supported, opcodes.size(), forms_total) +
           table;
}

}  // namespace heddle::kernel
