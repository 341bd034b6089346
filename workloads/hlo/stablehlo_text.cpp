// Grammar, as JAX prints it (lowered.as_text()): `module @NAME { func.func public @main(ARGUMENTS) -> RESULTS
// {` statements `return %a, %b : TYPES` `} }`; `call @f(...)` and `func.call` call functions of the module.
// Regions (the bodies of loops, what a scatter applies) become computations of their own.
#include <sstream>

#include "isa/common/nesting.h"
#include "workloads/hlo/stablehlo_statement.h"

namespace heddle::hlo {
namespace {

/// Reads a module line by line; regions nest.
class Reader {
  public:
    Reader(const std::string& text, const std::string& file) {
        module_.file = file;
        module_.name = "main";
        std::istringstream stream(text);
        for (std::string line; std::getline(stream, line);) {
            if (const std::size_t location = line.rfind(" loc(");
                location != std::string::npos && line.find("func.func") == std::string::npos)
                line.erase(location);
            lines_.push_back(std::move(line));
        }
    }

    Module read() {
        for (; next_ < lines_.size(); ++next_) {
            Cursor cursor = here();
            if (cursor.accept("module")) {
                if (cursor.accept("@")) module_.name = cursor.word("the module's name");
            } else if (lines_[next_].find("func.func") != std::string::npos) {
                function();
            }
        }
        if (module_.entry.empty())
            throw Error("has no complete function", {module_.file, 0, ""}, "the text is cut off");
        return std::move(module_);
    }

  private:
    Cursor here() const { return {lines_[next_], module_.file, static_cast<unsigned>(next_ + 1)}; }
    unsigned number() const { return static_cast<unsigned>(next_ + 1); }
    static std::string without_blanks(const std::string& line) {
        const std::size_t begin = line.find_first_not_of(" \t\r");
        return begin == std::string::npos ? std::string() : line.substr(begin);
    }

    /// "%a: tensor<2xf32>, %b: ..." as parameters.
    void parameters(Cursor& list, Computation& into) const {
        for (unsigned index = 0; !list.at_end(); ++index) {
            Instruction argument;
            list.expect("%");
            argument.name = list.word("an argument");
            list.expect(":");
            argument.opcode = "parameter";
            argument.literal = std::to_string(into.instructions.size());
            argument.shape = parse_type(list);
            argument.line = number();
            if (list.peek() == '{') list.balanced();
            if (list.accept("loc")) list.balanced();
            list.accept(",");
            into.instructions.push_back(std::move(argument));
        }
    }

    void function() {
        const std::string& line = lines_[next_];
        const std::string tail = line.substr(line.find('@') + 1);
        Cursor cursor(tail, module_.file, number());
        const std::string name = cursor.word("a function's name");
        Computation body;
        const std::string arguments = cursor.balanced();
        Cursor list(arguments, module_.file, number());
        parameters(list, body);
        ++next_;
        block(body);
        if (module_.computations.contains(name))
            throw Error("function @" + name + " is there twice", {module_.file, number(), ""},
                        "give one module");
        if (name == "main" || module_.entry.empty()) module_.entry = name;
        module_.computations[name] = std::move(body);
    }

    /// Statements up to the line that begins with the closing bracket, where it stays.
    void block(Computation& body) {
        for (; next_ < lines_.size(); ++next_) {
            Cursor cursor = here();
            if (cursor.at_end() || cursor.accept("//") || cursor.accept("#")) continue;
            if (cursor.peek() == '}') return;
            if (cursor.accept("^bb0")) {
                const std::string arguments = cursor.balanced();
                Cursor list(arguments, module_.file, number());
                parameters(list, body);
                continue;
            }
            if (cursor.accept("return") || cursor.accept("func.return") ||
                cursor.accept("stablehlo.return")) {
                body.results = names_in(lines_[next_].substr(0, lines_[next_].rfind(" : ")));
                continue;
            }
            if (cursor.peek() != '%')
                throw Error("expected a statement such as `%0 = stablehlo.add ...`",
                            {module_.file, number(), ""},
                            "print the module as JAX does (lowered.as_text()), or give its HLO text");
            body.instructions.push_back(statement());
        }
        throw Error("has no complete function", {module_.file, 0, ""}, "the text is cut off");
    }

    /// The region whose first line is the next one; `head`: its parameters, where they stand before it.
    std::string region(const std::vector<Instruction>& head = {}) {
        const Nesting level(depth_, [this] {
            throw Error("regions are nested more than " + std::to_string(kDeepestNesting) + " deep",
                        {module_.file, number(), ""}, "is the text damaged?");
        });
        std::string name = "region at line " + std::to_string(number());
        Computation body;
        body.instructions = head;
        ++next_;
        block(body);
        module_.computations[name] = std::move(body);
        return name;
    }

    Instruction statement() {
        const unsigned first = number();
        std::string line = lines_[next_];
        if (line.find(" stablehlo.while") != std::string::npos) return loop(line);
        std::vector<std::string> regions;
        if (line.size() >= 2 && (line.ends_with("({") || line.ends_with("({\r"))) {
            // "stablehlo.scatter"(...) <{...}> ({ ... }, { ... }) : types
            line.erase(line.rfind("({"));
            do {
                regions.push_back(region());
            } while (without_blanks(lines_[next_]).compare(0, 4, "}, {") == 0);
            const std::string tail = without_blanks(lines_[next_]);
            if (tail.compare(0, 2, "})") != 0)
                throw Error("expected `})` behind a region", {module_.file, number(), ""},
                            "is the text cut off?");
            line += tail.substr(2);
        } else if (next_ + 1 < lines_.size() &&
                   without_blanks(lines_[next_ + 1]).compare(0, 8, "reducer(") == 0) {
            ++next_;
            regions.push_back(reducer());
        }
        Instruction instruction = parse_statement(line, module_.file, first);
        for (std::size_t i = 0; i < regions.size(); ++i)
            instruction.attributes["branch" + std::to_string(i)] = regions[i];
        if (!regions.empty()) instruction.attributes["to_apply"] = regions.back();
        if (instruction.opcode == "select-and-scatter" && regions.size() == 2) {
            instruction.attributes["select"] = regions[0];
            instruction.attributes["scatter"] = regions[1];
        }
        return instruction;
    }

    /// "reducer(%a: tensor<f32>, %b: tensor<f32>) (...) {" ... "}"
    std::string reducer() {
        Computation body;
        const std::string line = lines_[next_];
        const std::string tail = line.substr(line.find('('));
        Cursor cursor(tail, module_.file, number());
        while (cursor.peek() == '(') {
            const std::string arguments = cursor.balanced();
            Cursor list(arguments, module_.file, number());
            parameters(list, body);
        }
        return region(body.instructions);
    }

    /// %0:2 = stablehlo.while(%a = %x, %b = %y) : TYPES / cond { ... } do { ... }
    Instruction loop(const std::string& line) {
        Instruction instruction = parse_statement(line, module_.file, number());
        const std::string tail = line.substr(line.find("stablehlo.while") + 15);
        Cursor cursor(tail, module_.file, number());
        const std::vector<std::string> names = names_in(cursor.balanced());
        instruction.operands.clear();
        std::vector<Instruction> carried;
        for (std::size_t i = 0; i + 1 < names.size(); i += 2) {
            Instruction argument;
            argument.opcode = "parameter";
            argument.name = names[i];
            argument.literal = std::to_string(i / 2);
            argument.line = number();
            argument.shape = !instruction.shape.tuple                    ? instruction.shape
                             : i / 2 < instruction.shape.elements.size() ? instruction.shape.elements[i / 2]
                                                                         : Shape{};
            carried.push_back(std::move(argument));
            instruction.operands.push_back(names[i + 1]);
        }
        for (const char* key : {"condition", "body"}) {
            const char* word = key[0] == 'c' ? "cond" : "do";
            if (key[0] == 'c') ++next_;
            if (next_ >= lines_.size() || lines_[next_].find(std::string(word) + " {") == std::string::npos)
                throw Error("expected `" + std::string(word) + " {`", {module_.file, number(), ""},
                            "is the text cut off?");
            instruction.attributes[key] = region(carried);
        }
        return instruction;
    }

    Module module_;
    std::vector<std::string> lines_;
    std::size_t next_ = 0;
    unsigned depth_ = 0;  // of regions
};

}  // namespace

bool is_stablehlo_text(const std::string& text) {
    const bool functions = text.find("func.func") != std::string::npos;
    if (functions && text.find("stablehlo.") != std::string::npos) return true;
    // A module of MLIR without one operation of StableHLO, or cut off before the first.
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        const std::size_t begin = line.find_first_not_of(" \t\r");
        if (begin == std::string::npos || line[begin] == '#' || line.compare(begin, 2, "//") == 0) continue;
        const std::string rest = line.substr(begin);
        return rest.compare(0, 8, "module @") == 0 || rest.compare(0, 8, "module {") == 0 ||
               rest.compare(0, 17, "module attributes") == 0 || rest.compare(0, 10, "func.func ") == 0;
    }
    return false;
}

Module parse_stablehlo(const std::string& text, const std::string& file) {
    try {
        return Reader(text, file).read();
    } catch (const std::logic_error&) {  // a number where none is
        throw Error("cannot be read", {file, 0, ""}, "is the text cut off or edited?");
    }
}

}  // namespace heddle::hlo
