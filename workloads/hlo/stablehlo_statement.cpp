// A statement is %NAME = stablehlo.OP OPERANDS, ATTRIBUTES : TYPES, where TYPES is one type, or (OPERAND
// TYPES)
// -> RESULT. Attributes are put into HLO's words.
#include "workloads/hlo/stablehlo_statement.h"

#include <sstream>

namespace heddle::hlo {

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
    std::string sizes;
    for (std::size_t x = inside.find('x');
         x != std::string::npos && std::isdigit(static_cast<unsigned char>(inside[0])) != 0;
         x = inside.find('x')) {
        sizes += (sizes.empty() ? "" : ",") + inside.substr(0, x);
        inside.erase(0, x + 1);
    }
    shape.dimensions = dimensions_of(sizes, cursor);
    while (!inside.empty() && inside.back() == ' ') inside.pop_back();
    shape.type = element_type(inside, cursor);
    shape.is_unsigned = inside.front() == 'u';
    return shape;
}

namespace {

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

/// Where KEY stands as a word of its own with ` = ` behind it: just behind that.
std::size_t behind_key(const std::string& line, const std::string& key) {
    for (std::size_t at = line.find(key + " = "); at != std::string::npos;
         at = line.find(key + " = ", at + 1)) {
        const char before = at == 0 ? ' ' : line[at - 1];
        if (std::isalnum(static_cast<unsigned char>(before)) == 0 && before != '_')
            return at + key.size() + 3;
    }
    return std::string::npos;
}

/// What follows KEY: what is in its brackets ("[1, 2]", "array<i64: 1, 2>", "dense<[[0, 1]]> : ..."), or a
/// word.
std::string value_of(const std::string& line, const std::string& key) {
    std::size_t at = behind_key(line, key);
    if (at == std::string::npos) return {};
    const std::string tail = line.substr(at);
    std::size_t word = 0;
    while (word < tail.size() && (std::isalnum(static_cast<unsigned char>(tail[word])) != 0 ||
                                  std::string("#_.-@\"").find(tail[word]) != std::string::npos))
        ++word;
    if (word == tail.size() || std::string("[<").find(tail[word]) == std::string::npos)
        return tail.substr(0, word);
    int depth = 0;
    for (std::size_t end = word; end < tail.size(); ++end) {
        const char c = tail[end];
        if (c == '[' || c == '<') ++depth;
        if ((c == ']' || (c == '>' && tail[end - 1] != '-')) && --depth == 0) {
            std::string inside = tail.substr(word + 1, end - word - 1);
            if (inside.compare(0, 3, "i64") == 0)
                inside.erase(0, std::min(inside.size(), inside.find(':') + 1));
            return inside;
        }
    }
    return {};
}

}  // namespace

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

namespace {

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
                                                          {"is_finite", "is-finite"},
                                                          {"reduce_precision", "reduce-precision"},
                                                          {"reduce_window", "reduce-window"},
                                                          {"select_and_scatter", "select-and-scatter"},
                                                          {"dynamic_slice", "dynamic-slice"},
                                                          {"dynamic_update_slice", "dynamic-update-slice"},
                                                          {"custom_call", "custom-call"},
                                                          {"bitcast_convert", "bitcast-convert"},
                                                          {"all_reduce", "all-reduce"},
                                                          {"all_gather", "all-gather"},
                                                          {"all_to_all", "all-to-all"},
                                                          {"reduce_scatter", "reduce-scatter"},
                                                          {"collective_permute", "collective-permute"},
                                                          {"collective_broadcast", "collective-broadcast"},
                                                          {"after_all", "after-all"},
                                                          {"partition_id", "partition-id"},
                                                          {"replica_id", "replica-id"},
                                                          {"get_dimension_size", "get-dimension-size"},
                                                          {"get_tuple_element", "get-tuple-element"}};
    return names;
}

/// "[[1, 2], [3, 4]]" -> "1_2x3_4"; one number stands for all.
std::string padding_text(const std::string& list, std::size_t axes) {
    const std::vector<std::int64_t> numbers = numbers_of(list);
    std::string text;
    for (std::size_t i = 0; i < axes; ++i) {
        const std::int64_t low = numbers.size() == 1 ? numbers[0] : numbers.at(2 * i);
        const std::int64_t high = numbers.size() == 1 ? numbers[0] : numbers.at(2 * i + 1);
        text += (i == 0 ? "" : "x") + std::to_string(low) + "_" + std::to_string(high);
    }
    return text;
}

std::string joined(const std::string& list) {
    std::string text;
    for (const std::int64_t number : numbers_of(list))
        text += (text.empty() ? "" : "x") + std::to_string(number);
    return text;
}

/// Windows in HLO's words: "size=3x3 stride=2x2 pad=0_1x0_1".
void read_window(Instruction& instruction, const std::string& line) {
    std::string window;
    const auto add = [&](const char* name, const std::string& text) {
        if (!text.empty()) window += (window.empty() ? "" : " ") + std::string(name) + "=" + text;
    };
    const bool slides = instruction.opcode == "convolution";
    const auto list = [&](const char* in_convolution, const char* in_window) {
        return value_of(line, slides ? in_convolution : in_window);
    };
    add("size", joined(value_of(line, "window_dimensions")));
    add("stride", joined(list("stride", "window_strides")));
    add("lhs_dilate", joined(list("lhs_dilate", "base_dilations")));
    add("rhs_dilate", joined(list("rhs_dilate", "window_dilations")));
    const std::string padding = list("pad", "padding");
    const std::size_t axes = instruction.shape.dimensions.size() - (slides ? 2 : 0);
    if (!padding.empty()) add("pad", padding_text(padding, axes));
    if (value_of(line, "reverse").find("true") != std::string::npos) {
        std::string reversed;
        std::istringstream words(value_of(line, "reverse"));
        for (std::string word; words >> word;)
            reversed += (reversed.empty() ? "" : "x") + std::string(word[0] == 't' ? "1" : "0");
        add("rhs_reversal", reversed);
    }
    instruction.attributes["window"] = window;
}

/// "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]" -> "b01f_01io->b01f"
std::string dimension_labels(const std::string& line) {
    std::size_t at = line.find("dim_numbers = ");
    if (at == std::string::npos) return {};
    std::string labels;
    for (at += 14; at < line.size(); ++at) {
        const char c = line[at];
        if (c == ']' && line.compare(at, 2, "]x") == 0) {
            labels += '_';
            ++at;
        } else if (c == ']' && line.compare(at, 3, "]->") == 0) {
            labels += "->";
            at += 2;
        } else if (c == ']') {
            break;
        } else if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
            labels += c;
        }
    }
    return labels;
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
             {"operand_batching_dims", "operand_batching_dims"},
             {"start_indices_batching_dims", "start_indices_batching_dims"},
             {"index_vector_dim", "index_vector_dim"},
             {"slice_sizes", "slice_sizes"},
             {"update_window_dims", "update_window_dims"},
             {"inserted_window_dims", "inserted_window_dims"},
             {"input_batching_dims", "input_batching_dims"},
             {"scatter_indices_batching_dims", "scatter_indices_batching_dims"},
             {"scatter_dims_to_operand_dims", "scatter_dims_to_operand_dims"},
             {"low", "low"},
             {"high", "high"},
             {"interior", "interior"},
             {"distribution", "distribution"},
             {"feature_group_count", "feature_group_count"},
             {"batch_group_count", "batch_group_count"}}) {
        const std::string list = value_of(line, from);
        if (!list.empty() && !instruction.attributes.contains(to)) instruction.attributes[to] = list;
    }
    if (const std::string dimension = value_of(line, "dim"); !dimension.empty())
        instruction.attributes[instruction.opcode == "iota" ? "iota_dimension" : "dimensions"] = dimension;
    const std::string& opcode = instruction.opcode;
    if (opcode == "convolution") instruction.attributes["dim_labels"] = dimension_labels(line);
    if (opcode == "convolution" || opcode == "reduce-window" || opcode == "select-and-scatter")
        read_window(instruction, line);
}

}  // namespace

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
    const bool many = line.substr(0, line.find('=')).find(':') != std::string::npos;
    if (!many) {
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
        if (instruction.literal.size() > 1 && instruction.literal.front() == '"')
            instruction.literal.clear();  // bytes of a large table
        return instruction;
    }
    if (instruction.opcode == "reduce") {
        const std::size_t applies = rest.find("applies ");
        if (applies != std::string::npos) {
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
    if (instruction.opcode == "custom-call" && rest.find('@') != std::string::npos) {
        const std::string tail = rest.substr(rest.find('@') + 1);
        Cursor word(tail, file, number);
        instruction.attributes["custom_call_target"] = word.word("what is called");
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

}  // namespace heddle::hlo
