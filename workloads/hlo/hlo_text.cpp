// Grammar: a module is a line "HloModule NAME, ..." and computations. A computation is a head that ends in
// `{`, instructions, and `}`; ENTRY stands before the head of the main one. An instruction is [ROOT] %NAME =
// SHAPE OPCODE(OPERANDS), ATTRIBUTE=VALUE, ...
#include <numeric>
#include <sstream>

#include "isa/common/checked.h"
#include "isa/common/nesting.h"
#include "workloads/hlo/text.h"

namespace heddle::hlo {

trace::ElementType element_type(const std::string& name, const Cursor& at) {
    using T = trace::ElementType;
    static const std::map<std::string, T> types{
        {"f64", T::f64},       {"f32", T::f32},     {"f16", T::f16},       {"bf16", T::bf16},
        {"f8e4m3fn", T::e4m3}, {"f8e5m2", T::e5m2}, {"f8E4M3FN", T::e4m3}, {"f8E5M2", T::e5m2},
        {"s64", T::i64},       {"s32", T::i32},     {"s16", T::i16},       {"s8", T::i8},
        {"u64", T::i64},       {"u32", T::i32},     {"u16", T::i16},       {"u8", T::u8},
        {"pred", T::boolean},  {"i64", T::i64},     {"i32", T::i32},       {"i16", T::i16},
        {"i8", T::i8},         {"i1", T::boolean},  {"ui64", T::i64},      {"ui32", T::i32},
        {"ui16", T::i16},      {"ui8", T::u8},
    };
    const auto found = types.find(name);
    if (found == types.end()) at.fail("an element type instead of `" + name + "`");
    return found->second;
}

std::vector<std::int64_t> numbers_of(const std::string& list) {
    std::vector<std::int64_t> numbers;
    std::string text = list;
    for (char& c : text)
        if (std::isdigit(static_cast<unsigned char>(c)) == 0 && c != '-') c = ' ';
    std::istringstream words(text);
    for (std::string word; words >> word;) {
        if (word.find_first_of("0123456789") != std::string::npos) numbers.push_back(std::stoll(word));
    }
    return numbers;
}

std::vector<std::int64_t> dimensions_of(const std::string& list, const Cursor& at) {
    std::vector<std::int64_t> dimensions;
    std::istringstream words(list);
    std::int64_t elements = 1;
    for (std::string word; std::getline(words, word, ',');) {
        word.erase(0, word.find_first_not_of(' '));
        word.erase(word.find_last_not_of(' ') + 1);
        if (word.empty() || word.find_first_not_of("0123456789") != std::string::npos)
            at.fail("a size instead of `" + word.substr(0, 40) + "`");
        const std::int64_t size = word.size() > 18 ? gates::kMostElements + 1 : std::stoll(word);
        const auto count = checked_product(elements, std::max<std::int64_t>(size, 1));
        if (!count || *count > gates::kMostElements)
            at.fail("a tensor of at most " + std::to_string(gates::kMostElements) + " elements instead of [" +
                    list.substr(0, 80) + "]");
        elements = *count;
        dimensions.push_back(size);
    }
    return dimensions;
}

namespace {

Shape parse_shape(Cursor& cursor, unsigned& depth) {
    const Nesting level(depth, [&] {
        cursor.fail("a tuple that is nested at most " + std::to_string(kDeepestNesting) + " deep");
    });
    Shape shape;
    if (cursor.accept("(")) {
        shape.tuple = true;
        while (!cursor.accept(")")) {
            shape.elements.push_back(parse_shape(cursor, depth));
            cursor.accept(",");
        }
        return shape;
    }
    const std::string type = cursor.word("a type such as `f32[128,784]`");
    if (type == "token") {
        shape.tuple = true;
        if (cursor.peek() == '[') cursor.balanced();
        return shape;
    }
    shape.type = element_type(type, cursor);
    shape.is_unsigned = type.front() == 'u';
    if (cursor.peek() != '[') cursor.fail("`[` and dimensions");
    shape.dimensions = dimensions_of(cursor.balanced(), cursor);
    if (cursor.peek() == '{') {  // {1,0:T(8,128)}: what is behind the colon is how tiles lie
        const std::string layout = cursor.balanced();
        shape.layout = numbers_of(layout.substr(0, layout.find(':')));
        std::vector<std::int64_t> sorted = shape.layout, axes(shape.dimensions.size());
        std::sort(sorted.begin(), sorted.end());
        std::iota(axes.begin(), axes.end(), 0);
        if (!sorted.empty() && sorted != axes)
            cursor.fail("a layout that names each of " + std::to_string(axes.size()) +
                        " dimensions once instead of {" + layout.substr(0, 80) + "}");
    }
    return shape;
}

/// Operands may repeat their shapes: "f32[2]{0} %a".
std::vector<std::string> operand_names(const std::string& list) {
    std::vector<std::string> names;
    int depth = 0;
    std::string word;
    const auto finish = [&] {
        if (word.empty()) return;
        const std::size_t blank = word.find_last_of(" \t");
        std::string name = blank == std::string::npos ? word : word.substr(blank + 1);
        if (!name.empty() && name[0] == '%') name.erase(0, 1);
        if (!name.empty()) names.push_back(name);
        word.clear();
    };
    for (const char c : list) {
        if (c == '[' || c == '{' || c == '(') ++depth;
        if (c == ']' || c == '}' || c == ')') --depth;
        if (c == ',' && depth == 0) {
            finish();
        } else {
            word += c;
        }
    }
    while (!word.empty() && word.back() == ' ') word.pop_back();
    finish();
    return names;
}

void read_branches(Instruction& instruction, const std::string& list) {
    std::istringstream words(list);
    std::string name;
    for (unsigned i = 0; std::getline(words, name, ','); ++i) {
        name.erase(0, name.find_first_not_of(" %"));
        instruction.attributes["branch" + std::to_string(i)] = name;
    }
}

Instruction parse_instruction(Cursor& cursor, unsigned line) {
    Instruction instruction;
    instruction.line = line;
    cursor.accept("%");
    instruction.name = cursor.word("an instruction's name");
    cursor.expect("=");
    unsigned depth = 0;
    instruction.shape = parse_shape(cursor, depth);
    instruction.opcode = cursor.word("an operation");
    if (cursor.peek() != '(') cursor.fail("`(` and operands");
    const std::string inside = cursor.balanced();
    if (instruction.opcode == "constant" || instruction.opcode == "parameter") {
        instruction.literal = inside;
    } else if (instruction.opcode != "iota") {
        instruction.operands = operand_names(inside);
    }
    while (cursor.accept(",")) {
        const std::string key = cursor.word("an attribute");
        cursor.expect("=");
        std::string value = cursor.value();
        if (value.size() >= 2 && value.front() == '{') value = value.substr(1, value.size() - 2);
        if (!value.empty() && value.front() == '%') value.erase(0, 1);
        if (key == "branch_computations") {
            read_branches(instruction, value);
            continue;
        }
        instruction.attributes[key] = value;
    }
    return instruction;
}

}  // namespace

bool is_hlo_text(const std::string& text) {
    return text.compare(0, 9, "HloModule") == 0 || text.find("\nHloModule") != std::string::npos;
}

namespace {

Module parse(const std::string& text, const std::string& file) {
    Module module;
    module.file = file;
    std::istringstream lines(text);
    std::string line;
    Computation* open = nullptr;
    unsigned opened = 0;  // its line
    for (unsigned number = 1; std::getline(lines, line); ++number) {
        // "/*index=5*/" in long tuples.
        for (std::size_t at = line.find("/*"); at != std::string::npos; at = line.find("/*")) {
            const std::size_t end = line.find("*/", at);
            line.erase(at, end == std::string::npos ? std::string::npos : end + 2 - at);
        }
        Cursor cursor(line, module.file, number);
        if (cursor.at_end() || cursor.accept("//")) continue;
        if (open == nullptr) {
            if (cursor.accept("HloModule")) {
                module.name = cursor.word("the module's name");
                continue;
            }
            if (line.find('{') == std::string::npos || line.find_last_not_of(" \r") != line.rfind('{'))
                continue;
            const bool entry = cursor.accept("ENTRY");
            cursor.accept("%");
            const std::string name = cursor.word("a computation's name");
            if (module.computations.contains(name))
                throw Error("computation `" + name + "` is there twice", {file, number, ""},
                            "give one module");
            open = &module.computations[name];
            opened = number;
            if (entry) module.entry = name;
            continue;
        }
        if (cursor.accept("}")) {
            if (open->results.empty() && !open->instructions.empty())
                open->results = {open->instructions.back().name};
            open = nullptr;
            continue;
        }
        const bool root = cursor.accept("ROOT ");
        open->instructions.push_back(parse_instruction(cursor, number));
        if (root) open->results = {open->instructions.back().name};
    }
    if (open != nullptr)
        throw Error("a computation is not closed", {file, opened, ""}, "the text is cut off");
    if (module.entry.empty()) throw Error("has no ENTRY computation", {file, 0, ""}, "give the whole module");
    return module;
}

}  // namespace

Module parse_hlo(const std::string& text, const std::string& file) {
    try {
        return parse(text, file);
    } catch (const std::logic_error&) {  // a number where none is
        throw Error("cannot be read", {file, 0, ""}, "is the text cut off or edited?");
    }
}

}  // namespace heddle::hlo
