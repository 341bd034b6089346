// Grammar, as JAX prints it (lowered.as_text()): `module @NAME { func.func public @main(ARGUMENTS) -> RESULTS
// {` statements `return %a, %b : TYPES` `} }`. A statement is %NAME = stablehlo.OP OPERANDS, ATTRIBUTES :
// TYPES, where TYPES is one type, or (OPERAND TYPES) -> RESULT; `call @f(...)` and `func.call` call functions
// of the module. Operations with regions are read where JAX prints them in short form ("applies
// stablehlo.add").
#include <sstream>

#include "workloads/hlo/text.h"

namespace heddle::hlo {
namespace {

/// "tensor<128x784xf32>" and "tensor<f32>".
Shape parse_type(Cursor& cursor) {
    Shape shape;
    if (cursor.accept("!stablehlo.token")) {
        shape.tuple = true;
        return shape;
    }
    cursor.expect("tensor");
    if (cursor.peek() != '<') cursor.fail("`<`");
    std::string inside = cursor.balanced();
    inside = inside.substr(0, inside.find(','));
    for (std::size_t x = inside.find('x');
         x != std::string::npos && std::isdigit(static_cast<unsigned char>(inside[0])) != 0;
         x = inside.find('x')) {
        shape.dimensions.push_back(std::stoll(inside.substr(0, x)));
        inside.erase(0, x + 1);
    }
    while (!inside.empty() && inside.back() == ' ') inside.pop_back();
    shape.type = element_type(inside, cursor);
    return shape;
}

std::vector<Shape> parse_types(Cursor& cursor) {
    std::vector<Shape> shapes;
    if (cursor.accept("(")) {
        while (!cursor.accept(")")) {
            shapes.push_back(parse_type(cursor));
            if (cursor.peek() == '{') cursor.balanced();
            cursor.accept(",");
        }
    } else {
        shapes.push_back(parse_type(cursor));
    }
    return shapes;
}

/// The types behind the last " : " of a statement: those of the results.
std::vector<Shape> result_types(const std::string& line, const std::string& file, unsigned number) {
    std::size_t arrow = line.rfind("->");
    std::size_t colon = line.rfind(" : ");
    if (colon == std::string::npos)
        throw Error("a statement has no type", {file, number, ""}, "is the line cut off?");
    const std::string types =
        arrow != std::string::npos && arrow > colon ? line.substr(arrow + 2) : line.substr(colon + 3);
    Cursor cursor(types, file, number);
    std::vector<Shape> shapes = parse_types(cursor);
    while (cursor.accept(",")) shapes.push_back(parse_type(cursor));
    return shapes;
}

/// What follows KEY and `=` in brackets, or nothing.
std::string list_after(const std::string& line, const std::string& key) {
    std::size_t at = line.find(key + " = ");
    if (at == std::string::npos) return {};
    at = line.find_first_of("[<", at);
    if (at == std::string::npos) return {};
    const std::size_t end = line.find_first_of("]>", at);
    std::string inside = line.substr(at + 1, end - at - 1);
    if (inside.compare(0, 3, "i64") == 0)
        inside.erase(0, inside.find(':') == std::string::npos ? inside.size() : inside.find(':') + 1);
    return inside;
}

std::vector<std::string> names_in(const std::string& text) {
    std::vector<std::string> names;
    for (std::size_t at = text.find('%'); at != std::string::npos; at = text.find('%', at + 1)) {
        std::size_t end = at + 1;
        while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) != 0 ||
                                     text[end] == '_' || text[end] == '#'))
            ++end;
        names.push_back(text.substr(at + 1, end - at - 1));
    }
    return names;
}

/// "[1] x [0]" behind KEY.
void read_pair(Instruction& instruction, const std::string& line, const std::string& key,
               const std::string& left, const std::string& right) {
    const std::size_t at = line.find(key + " = [");
    if (at == std::string::npos) return;
    const std::size_t first = line.find(']', at), open = line.find('[', first), second = line.find(']', open);
    if (first == std::string::npos || second == std::string::npos) return;
    const std::size_t begin = line.find('[', at);
    instruction.attributes[left] = line.substr(begin + 1, first - begin - 1);
    instruction.attributes[right] = line.substr(open + 1, second - open - 1);
}

const std::map<std::string, std::string>& other_names() {
    static const std::map<std::string, std::string> names{{"dot_general", "dot"},
                                                          {"broadcast_in_dim", "broadcast"},
                                                          {"exponential_minus_one", "exponential-minus-one"},
                                                          {"log_plus_one", "log-plus-one"},
                                                          {"dynamic_slice", "dynamic-slice"},
                                                          {"dynamic_update_slice", "dynamic-update-slice"},
                                                          {"custom_call", "custom-call"},
                                                          {"all_reduce", "all-reduce"},
                                                          {"get_tuple_element", "get-tuple-element"}};
    return names;
}

void read_attributes(Instruction& instruction, const std::string& line) {
    read_pair(instruction, line, "contracting_dims", "lhs_contracting_dims", "rhs_contracting_dims");
    read_pair(instruction, line, "batching_dims", "lhs_batch_dims", "rhs_batch_dims");
    for (const auto& [from, to] : std::initializer_list<std::pair<const char*, const char*>>{
             {"dims", "dimensions"},
             {"dimensions", "dimensions"},
             {"offset_dims", "offset_dims"},
             {"collapsed_slice_dims", "collapsed_slice_dims"},
             {"start_index_map", "start_index_map"},
             {"slice_sizes", "slice_sizes"},
             {"update_window_dims", "update_window_dims"},
             {"inserted_window_dims", "inserted_window_dims"},
             {"scatter_dims_to_operand_dims", "scatter_dims_to_operand_dims"}}) {
        const std::string list = list_after(line, std::string(" ") + from);
        if (!list.empty() && !instruction.attributes.contains(to)) instruction.attributes[to] = list;
    }
    if (const std::size_t at = line.find(" dim = "); at != std::string::npos)
        instruction.attributes[instruction.opcode == "iota" ? "iota_dimension" : "dimensions"] =
            std::to_string(std::stoll(line.substr(at + 7)));
}

Instruction parse_statement(const std::string& line, const std::string& file, unsigned number) {
    Instruction instruction;
    instruction.line = number;
    Cursor cursor(line, file, number);
    cursor.expect("%");
    instruction.name = cursor.word("a value's name");
    if (cursor.accept(":")) cursor.integer();  // several results
    cursor.expect("=");
    const bool quoted = cursor.accept("\"");
    std::string opcode = cursor.word("an operation");
    if (quoted) cursor.expect("\"");
    const std::vector<Shape> types = result_types(line, file, number);
    // select is printed with the types of its condition and of its result.
    if (types.size() == 1 || opcode.ends_with("select")) {
        instruction.shape = types.back();
    } else {
        instruction.shape.tuple = true;
        instruction.shape.elements = types;
    }
    if (opcode == "call" || opcode == "func.call") {
        cursor.expect("@");
        instruction.opcode = "call";
        instruction.attributes["to_apply"] = cursor.word("a function's name");
        instruction.operands = names_in(cursor.balanced());
        return instruction;
    }
    const std::size_t dot = opcode.rfind('.');
    if (dot != std::string::npos) opcode.erase(0, dot + 1);
    const auto other = other_names().find(opcode);
    instruction.opcode = other == other_names().end() ? opcode : other->second;
    std::string rest = cursor.rest();
    const std::size_t types_at = rest.rfind(" : ");
    if (instruction.opcode == "constant") {
        const std::size_t open = rest.find('<');
        instruction.literal =
            open == std::string::npos ? rest : rest.substr(open + 1, rest.find('>', open) - open - 1);
        return instruction;
    }
    if (instruction.opcode == "reduce") {
        const std::size_t applies = rest.find("applies ");
        if (applies != std::string::npos) {
            Cursor body(rest, file, number);
            const std::string tail = rest.substr(applies + 8);
            Cursor word(tail, file, number);
            std::string op = word.word("an operation");
            instruction.attributes["applies"] = op.substr(op.rfind('.') + 1);
        }
    }
    if (instruction.opcode == "compare") {
        Cursor word(rest, file, number);
        instruction.attributes["direction"] = word.word("a direction such as EQ");
    }
    instruction.operands = names_in(rest.substr(0, types_at));
    read_attributes(instruction, rest);
    if (instruction.opcode == "slice") {
        const std::size_t open = rest.find('[');
        if (open != std::string::npos)
            instruction.attributes["slice"] = rest.substr(open, rest.find(']', open) - open + 1);
    }
    return instruction;
}

void parse_function_head(const std::string& line, const std::string& file, unsigned number, Module& module,
                         Computation*& open) {
    const std::size_t at = line.find('@');
    const std::string tail = line.substr(at + 1);
    Cursor cursor(tail, file, number);
    const std::string name = cursor.word("a function's name");
    open = &module.computations[name];
    if (name == "main" || module.entry.empty()) module.entry = name;
    const std::string arguments = cursor.balanced();
    Cursor list(arguments, file, number);
    for (unsigned index = 0; !list.at_end(); ++index) {
        Instruction argument;
        list.expect("%");
        argument.name = list.word("an argument");
        list.expect(":");
        argument.opcode = "parameter";
        argument.literal = std::to_string(index);
        argument.shape = parse_type(list);
        argument.line = number;
        if (list.peek() == '{') list.balanced();
        if (list.accept("loc")) list.balanced();
        list.accept(",");
        open->instructions.push_back(std::move(argument));
    }
}

}  // namespace

bool is_stablehlo_text(const std::string& text) {
    return text.find("stablehlo.") != std::string::npos && text.find("func.func") != std::string::npos;
}

namespace {

Module parse(const std::string& text, const std::string& file) {
    Module module;
    module.file = file;
    module.name = "main";
    std::istringstream lines(text);
    std::string line;
    Computation* open = nullptr;
    for (unsigned number = 1; std::getline(lines, line); ++number) {
        if (const std::size_t location = line.rfind(" loc(");
            location != std::string::npos && line.find("func.func") == std::string::npos)
            line.erase(location);
        Cursor cursor(line, module.file, number);
        if (cursor.at_end() || cursor.accept("//") || cursor.accept("#")) continue;
        if (cursor.accept("module")) {
            if (cursor.accept("@")) module.name = cursor.word("the module's name");
            continue;
        }
        if (line.find("func.func") != std::string::npos) {
            parse_function_head(line, module.file, number, module, open);
            continue;
        }
        if (open == nullptr) continue;
        if (cursor.accept("return") || cursor.accept("func.return") || cursor.accept("stablehlo.return")) {
            open->results = names_in(line.substr(0, line.rfind(" : ")));
            open = nullptr;
            continue;
        }
        if (cursor.peek() != '%')
            throw Error("a statement with regions is not read in this form", {file, number, ""},
                        "print the module as JAX does (lowered.as_text()), or give its HLO text");
        open->instructions.push_back(parse_statement(line, module.file, number));
    }
    if (open != nullptr || module.entry.empty())
        throw Error("has no complete function", {file, 0, ""}, "the text is cut off");
    return module;
}

}  // namespace

Module parse_stablehlo(const std::string& text, const std::string& file) {
    try {
        return parse(text, file);
    } catch (const std::logic_error&) {  // a number where none is
        throw Error("cannot be read", {file, 0, ""}, "is the text cut off or edited?");
    }
}

}  // namespace heddle::hlo
