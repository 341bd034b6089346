#include "isa/ptx/parser.h"

#include <algorithm>
#include <bit>
#include <charconv>

#include "isa/common/error.h"
#include "isa/ptx/instruction_parser.h"

namespace heddle::ptx {
namespace {

constexpr std::uint64_t kMaximumVariableBytes = std::uint64_t{1} << 40;
constexpr std::uint64_t kConstantBankBytes = 65536;  // PTX manual, "Constant state space"
constexpr std::uint64_t kMaximumSharedBytes = std::uint64_t{1} << 24;
constexpr std::uint64_t kMaximumLocalBytes =
    512 * 1024;  // per thread: CUDA programming guide, table of limits
constexpr std::uint32_t kMaximumParameterBytes = 32764;  // PTX 8.1 and later
constexpr std::uint64_t kMaximumInitialBytes = std::uint64_t{1} << 26;
constexpr std::size_t kMaximumNesting = 64;

std::uint64_t align_up(std::uint64_t value, std::uint64_t alignment) {
    return (value + alignment - 1) / alignment * alignment;
}

Type type_named(std::string_view word) {
    for (unsigned i = 1; i <= static_cast<unsigned>(Type::e5m2x2); ++i) {
        if (name_of(static_cast<Type>(i)) == word) return static_cast<Type>(i);
    }
    return Type::none;
}

class Parser {
  public:
    Parser(std::string_view text, const std::string& file_name)
        : cursor_(tokenize(text, file_name), file_name) {
        module_.file_name = file_name;
    }

    Module run() {
        parse_header();
        while (!cursor_.at_end()) parse_directive();
        return std::move(module_);
    }

  private:
    // --- module level

    void parse_header() {
        if (!cursor_.accept_suffix("version"))
            cursor_.fail_expected(".version at the start of the module", cursor_.peek());
        const Token version = cursor_.next();
        const std::size_t dot = version.text.find('.');
        const char* end = version.text.data() + version.text.size();
        if (version.kind != TokenKind::real || dot == std::string_view::npos ||
            std::from_chars(version.text.data(), end, module_.version_major).ec != std::errc() ||
            std::from_chars(version.text.data() + dot + 1, end, module_.version_minor).ec != std::errc()) {
            cursor_.fail_expected("a version such as 8.0", version);
        }
        if (!cursor_.accept_suffix("target")) cursor_.fail_expected(".target after .version", cursor_.peek());
        const Token target = cursor_.expect_word("a target such as sm_90");
        module_.target = std::string(target.text);
        const char* digits = target.text.data() + std::min<std::size_t>(3, target.text.size());
        if (!target.text.starts_with("sm_") ||
            std::from_chars(digits, target.text.data() + target.text.size(), module_.compute_capability).ec !=
                std::errc()) {
            cursor_.fail("unknown target", target, "write sm_70 to sm_120");
        }
        while (cursor_.accept(',')) cursor_.expect_word("a target option");
        if (cursor_.accept_suffix("address_size")) {
            const Token size = cursor_.peek();
            module_.address_size = static_cast<unsigned>(cursor_.expect_integer("64"));
            if (module_.address_size != 64) cursor_.fail("only 64-bit addresses are supported", size);
        }
    }

    void parse_directive() {
        external_ = cursor_.accept_suffix("extern");
        const bool linkage = external_ || cursor_.accept_suffix("visible") || cursor_.accept_suffix("weak") ||
                             cursor_.accept_suffix("common");
        const Token token = cursor_.peek();
        if (token.kind != TokenKind::suffix)
            cursor_.fail_expected(linkage ? "a declaration" : "a directive", token);
        if (cursor_.accept_suffix("entry")) {
            parse_kernel();
        } else if (cursor_.accept_suffix("func")) {
            cursor_.fail("functions are not supported", token,
                         "let the compiler inline them: __forceinline__");
        } else if (is_variable_space(token)) {
            parse_variables(module_.variables, nullptr);
        } else if (!parse_annotation()) {
            cursor_.fail("unknown directive", token);
        }
    }

    static bool is_variable_space(const Token& token) {
        return token.kind == TokenKind::suffix && (token.text == "global" || token.text == "const" ||
                                                   token.text == "shared" || token.text == "local");
    }

    // .loc, .file, .section, .pragma: kept or passed over, they change nothing in the machine.
    bool parse_annotation() {
        if (cursor_.accept_suffix("file")) {
            cursor_.expect_integer("a file number");
            if (cursor_.peek().kind != TokenKind::string)
                cursor_.fail_expected("a file name", cursor_.peek());
            module_.source_files.emplace_back(cursor_.next().text);
            while (cursor_.accept(',')) cursor_.expect_integer("a time stamp or size");
            return true;
        }
        if (cursor_.accept_suffix("loc")) {
            for (const char* what : {"a file number", "a line", "a column"}) cursor_.expect_integer(what);
            while (cursor_.accept(',')) {
                const Token option = cursor_.expect_word("function_name or inlined_at");
                if (option.text == "function_name") {
                    cursor_.expect_word("a label");
                    if (cursor_.accept('+')) cursor_.expect_integer("an offset");
                } else {
                    for (const char* what : {"a file number", "a line", "a column"})
                        cursor_.expect_integer(what);
                }
            }
            return true;
        }
        if (cursor_.accept_suffix("section")) {
            const Token start = cursor_.peek();
            while (!cursor_.at_end() && !cursor_.peek().is('{')) cursor_.next();
            if (!cursor_.accept('{')) cursor_.fail_expected("'{' after .section", start);
            while (!cursor_.at_end() && !cursor_.peek().is('}')) cursor_.next();
            cursor_.expect('}', "at the end of a section");
            return true;
        }
        if (cursor_.accept_suffix("pragma")) {
            do {
                if (cursor_.peek().kind != TokenKind::string)
                    cursor_.fail_expected("a string", cursor_.peek());
                pragmas().emplace_back(cursor_.next().text);
            } while (cursor_.accept(','));
            cursor_.expect(';', "after .pragma");
            return true;
        }
        return false;
    }

    std::vector<std::string>& pragmas() { return kernel_ ? kernel_->pragmas : module_pragmas_; }

    // --- variables

    std::uint32_t parse_alignment() {
        const Token token = cursor_.peek();
        const std::uint64_t alignment = cursor_.expect_integer("an alignment");
        if (!std::has_single_bit(alignment) || alignment > 1024) {
            cursor_.fail("an alignment is a power of two up to 1024", token);
        }
        return static_cast<std::uint32_t>(alignment);
    }

    Type parse_type(const char* what) {
        const Token token = cursor_.peek();
        const Type type = token.kind == TokenKind::suffix ? type_named(token.text) : Type::none;
        if (type == Type::none) cursor_.fail_expected(what, token);
        cursor_.next();
        return type;
    }

    // Dimensions "[4][8]"; an open first dimension "[]" sets `open`.
    std::vector<std::uint64_t> parse_dimensions(bool& open) {
        std::vector<std::uint64_t> dimensions;
        while (cursor_.accept('[')) {
            if (dimensions.empty() && cursor_.accept(']')) {
                open = true;
                dimensions.push_back(0);
                continue;
            }
            const Token token = cursor_.peek();
            dimensions.push_back(cursor_.expect_integer("an array size"));
            if (dimensions.back() > kMaximumVariableBytes || dimensions.size() > 16) {
                cursor_.fail("array too large", token);
            }
            cursor_.expect(']', "after an array size");
        }
        return dimensions;
    }

    std::uint64_t total_bytes(const std::vector<std::uint64_t>& dimensions, std::uint64_t element,
                              const Token& token) {
        std::uint64_t bytes = element;
        for (const std::uint64_t dimension : dimensions) {
            if (dimension != 0 && bytes > kMaximumVariableBytes / dimension)
                cursor_.fail("array too large", token);
            bytes *= dimension;
        }
        return bytes;
    }

    void parse_variables(std::vector<Variable>& variables, Kernel* kernel) {
        const Token space = cursor_.next();
        std::uint32_t alignment = 0;
        Variable variable;
        variable.space = space.text == "global"   ? StateSpace::global
                         : space.text == "const"  ? StateSpace::constant
                         : space.text == "shared" ? StateSpace::shared
                                                  : StateSpace::local;
        if (variable.space == StateSpace::local && kernel == nullptr) {
            cursor_.fail(".local variables belong into a kernel", space);
        }
        variable.external = external_;
        unsigned lanes = 1;
        for (;;) {
            if (cursor_.accept_suffix("align"))
                alignment = parse_alignment();
            else if (cursor_.accept_suffix("v2"))
                lanes = 2;
            else if (cursor_.accept_suffix("v4"))
                lanes = 4;
            else
                break;
        }
        variable.type = parse_type("an element type such as .b8");
        if (variable.type == Type::pred) cursor_.fail("a variable cannot be .pred", space);
        const std::uint32_t element = bytes_of(variable.type) * lanes;
        variable.alignment = alignment ? alignment : element;
        do {
            Variable one = variable;
            const Token name = cursor_.expect_word("a variable name");
            one.name = std::string(name.text);
            bool open = false;
            std::vector<std::uint64_t> dimensions = parse_dimensions(open);
            if (cursor_.accept('=')) parse_initializer(one, dimensions, name);
            one.bytes = total_bytes(dimensions, element, name);
            if (one.initial.size() > one.bytes) cursor_.fail("more initial values than elements", name);
            const bool dynamic = one.external && one.space == StateSpace::shared;
            if (one.bytes == 0 && !dynamic) cursor_.fail("array without a size", name);
            if (one.external && one.space != StateSpace::shared) {
                cursor_.fail("external ." + std::string(name_of(one.space)) + " variables are not supported",
                             name, "define it in this module");
            }
            place(one, kernel, name);
            variables.push_back(std::move(one));
        } while (cursor_.accept(','));
        cursor_.expect(';', "after a variable");
    }

    void place(Variable& variable, Kernel* kernel, const Token& name) {
        if (variable.space == StateSpace::constant) {
            variable.offset = align_up(constant_bytes_, variable.alignment);
            constant_bytes_ = variable.offset + variable.bytes;
            if (constant_bytes_ > kConstantBankBytes) cursor_.fail("constant bank of 64 KiB is full", name);
        } else if (variable.space == StateSpace::local && kernel != nullptr) {
            variable.offset = align_up(kernel->local_bytes, variable.alignment);
            if (variable.offset + variable.bytes > kMaximumLocalBytes) {
                cursor_.fail("more than 512 KiB of local memory per thread", name);
            }
            kernel->local_bytes = static_cast<std::uint32_t>(variable.offset + variable.bytes);
        } else if (variable.space == StateSpace::shared && variable.bytes > kMaximumSharedBytes) {
            cursor_.fail("more shared memory than any device has", name);
        }
    }

    // Values in braces, nested as the dimensions are; rows that are not full are padded with zeros.
    void parse_initializer(Variable& variable, std::vector<std::uint64_t>& dimensions, const Token& name) {
        if (variable.space != StateSpace::global && variable.space != StateSpace::constant) {
            cursor_.fail("only .global and .const variables have initial values", name);
        }
        if (dimensions.empty()) {
            const bool braces = cursor_.accept('{');
            append_value(variable);
            if (braces) cursor_.expect('}', "after an initial value");
            return;
        }
        parse_initializer_level(variable, dimensions, 0);
        if (dimensions[0] == 0) {
            const std::uint64_t row =
                total_bytes({dimensions.begin() + 1, dimensions.end()}, bytes_of(variable.type), name);
            dimensions[0] = row == 0 ? 0 : (variable.initial.size() + row - 1) / row;
        }
    }

    void parse_initializer_level(Variable& variable, const std::vector<std::uint64_t>& dimensions,
                                 std::size_t level) {
        const Token start = cursor_.peek();
        cursor_.expect('{', "before initial values");
        const std::size_t begin = variable.initial.size();
        std::uint64_t row = bytes_of(variable.type);
        for (std::size_t i = level + 1; i < dimensions.size(); ++i) row *= dimensions[i];
        if (!cursor_.accept('}')) {
            do {
                if (cursor_.peek().is('{')) {
                    if (level + 1 >= dimensions.size()) cursor_.fail("too many braces", cursor_.peek());
                    // Only rows that exist may be padded: the text bounds the memory used.
                    parse_initializer_level(variable, dimensions, level + 1);
                } else {
                    append_value(variable);
                }
            } while (cursor_.accept(','));
            cursor_.expect('}', "after initial values");
        }
        const std::uint64_t size = variable.initial.size() - begin;
        const bool last = level == 0;
        if (!last && dimensions[level] != 0 && size > row * dimensions[level]) {
            cursor_.fail("more initial values than elements", start);
        }
        if (!last) {
            if (begin + row * dimensions[level] > kMaximumInitialBytes) {
                cursor_.fail("initial values of a very large row", start);
            }
            variable.initial.resize(begin + row * dimensions[level]);
        }
    }

    void append_value(Variable& variable) {
        const bool minus = cursor_.accept('-');
        const Token token = cursor_.next();
        std::uint64_t bits = token.bits;
        const bool single = token.kind == TokenKind::single;
        if (token.kind == TokenKind::integer && !is_float(variable.type)) {
            if (minus) bits = ~bits + 1;
        } else if ((single || token.kind == TokenKind::real) && variable.type == Type::f64) {
            const double value =
                single ? std::bit_cast<float>(static_cast<std::uint32_t>(bits)) : std::bit_cast<double>(bits);
            bits = std::bit_cast<std::uint64_t>(minus ? -value : value);
        } else if ((single || token.kind == TokenKind::real) && variable.type == Type::f32) {
            const float value = single ? std::bit_cast<float>(static_cast<std::uint32_t>(bits))
                                       : static_cast<float>(std::bit_cast<double>(bits));
            bits = std::bit_cast<std::uint32_t>(minus ? -value : value);
        } else {
            cursor_.fail_expected("an initial value of type ." + std::string(name_of(variable.type)) +
                                      " (addresses of variables are not supported)",
                                  token);
        }
        for (unsigned i = 0; i < bytes_of(variable.type); ++i) {
            variable.initial.push_back(static_cast<std::byte>(bits >> (8 * i)));
        }
    }

    // --- kernels

    void parse_kernel() {
        Kernel kernel;
        const Token name = cursor_.expect_word("the kernel's name");
        kernel.name = std::string(name.text);
        kernel.line = name.line;
        if (module_.find(kernel.name) != nullptr) cursor_.fail("two kernels of the same name", name);
        kernel_ = &kernel;
        kernel.variables = module_.variables;
        if (cursor_.accept('(') && !cursor_.accept(')')) {
            do parse_parameter(kernel);
            while (cursor_.accept(','));
            cursor_.expect(')', "after the parameters");
        }
        parse_performance_directives(kernel);
        const Token body = cursor_.peek();
        cursor_.expect('{', "before the kernel's body");
        SymbolScopes symbols(kernel);
        InstructionParser instructions(cursor_, kernel, symbols);
        parse_body(kernel, symbols, instructions, body);
        finish(kernel, symbols, name);
        module_.kernels.push_back(std::move(kernel));
        kernel_ = nullptr;
    }

    void parse_parameter(Kernel& kernel) {
        if (!cursor_.accept_suffix("param")) cursor_.fail_expected(".param", cursor_.peek());
        Parameter parameter;
        std::uint32_t alignment = 0;
        if (cursor_.accept_suffix("align")) alignment = parse_alignment();
        parameter.type = parse_type("a parameter type such as .u64");
        if (cursor_.accept_suffix("ptr")) {
            parameter.pointer = true;
            for (const char* space : {"global", "shared", "const", "local", "param"})
                cursor_.accept_suffix(space);
            if (cursor_.accept_suffix("align")) parse_alignment();  // of what it points to
        }
        const Token name = cursor_.expect_word("a parameter name");
        parameter.name = std::string(name.text);
        bool open = false;
        const std::vector<std::uint64_t> dimensions = parse_dimensions(open);
        const std::uint64_t bytes = total_bytes(dimensions, bytes_of(parameter.type), name);
        if (open || bytes == 0) cursor_.fail("parameter without a size", name);
        parameter.alignment = alignment ? alignment : bytes_of(parameter.type);
        const std::uint64_t offset = align_up(kernel.parameter_bytes, parameter.alignment);
        if (bytes > kMaximumParameterBytes || offset + bytes > kMaximumParameterBytes) {
            cursor_.fail("more than 32764 bytes of parameters", name);
        }
        parameter.bytes = static_cast<std::uint32_t>(bytes);
        parameter.offset = static_cast<std::uint32_t>(offset);
        kernel.parameter_bytes = static_cast<std::uint32_t>(offset + bytes);
        for (const Parameter& other : kernel.parameters) {
            if (other.name == parameter.name) cursor_.fail("two parameters of the same name", name);
        }
        kernel.parameters.push_back(std::move(parameter));
    }

    void parse_three(std::uint32_t (&sizes)[3]) {
        sizes[0] = static_cast<std::uint32_t>(cursor_.expect_integer("a number of threads"));
        sizes[1] = cursor_.accept(',')
                       ? static_cast<std::uint32_t>(cursor_.expect_integer("a number of threads"))
                       : 1;
        sizes[2] = cursor_.accept(',')
                       ? static_cast<std::uint32_t>(cursor_.expect_integer("a number of threads"))
                       : 1;
    }

    void parse_performance_directives(Kernel& kernel) {
        for (;;) {
            if (cursor_.accept_suffix("reqntid"))
                parse_three(kernel.required_threads);
            else if (cursor_.accept_suffix("maxntid"))
                parse_three(kernel.maximum_threads);
            else if (cursor_.accept_suffix("minnctapersm"))
                kernel.minimum_ctas = static_cast<std::uint32_t>(cursor_.expect_integer("a number of CTAs"));
            else if (cursor_.accept_suffix("maxnreg"))
                kernel.maximum_registers =
                    static_cast<std::uint32_t>(cursor_.expect_integer("a number of registers"));
            else if (!parse_annotation())
                break;
        }
        if (cursor_.peek().kind == TokenKind::suffix)
            cursor_.fail("unknown or unsupported directive", cursor_.peek());
    }

    void parse_body(Kernel& kernel, SymbolScopes& symbols, InstructionParser& instructions,
                    const Token& start) {
        while (symbols.depth() > 0) {
            const Token token = cursor_.peek();
            if (token.kind == TokenKind::end)
                cursor_.fail_expected("'}' for '{' of line " + std::to_string(start.line), token);
            if (cursor_.accept('{')) {
                if (symbols.depth() > kMaximumNesting) cursor_.fail("scopes nested too deeply", token);
                symbols.open();
            } else if (cursor_.accept('}')) {
                symbols.close();
            } else if (token.kind == TokenKind::suffix) {
                parse_body_directive(kernel, symbols, token);
            } else if (token.kind == TokenKind::word && cursor_.peek(1).is(':')) {
                cursor_.next();
                cursor_.next();
                if (!symbols.declare_label(token.text,
                                           static_cast<std::uint32_t>(kernel.instructions.size()))) {
                    cursor_.fail("two labels of the same name", token);
                }
            } else {
                instructions.parse();
            }
        }
    }

    void parse_body_directive(Kernel& kernel, SymbolScopes& symbols, const Token& token) {
        if (cursor_.accept_suffix("reg")) {
            parse_registers(symbols);
        } else if (cursor_.accept_suffix("extern")) {
            external_ = true;
            if (!is_variable_space(cursor_.peek())) cursor_.fail_expected(".shared", cursor_.peek());
            parse_variables(kernel.variables, &kernel);
            external_ = false;
        } else if (is_variable_space(token)) {
            if (token.text == "global" || token.text == "const") {
                cursor_.fail("declare ." + std::string(token.text) + " variables outside of kernels", token);
            }
            parse_variables(kernel.variables, &kernel);
        } else if (!parse_annotation()) {
            cursor_.fail("unknown or unsupported directive", token);
        }
    }

    void parse_registers(SymbolScopes& symbols) {
        const Token vector = cursor_.peek();
        if (cursor_.accept_suffix("v2") || cursor_.accept_suffix("v4")) {
            cursor_.fail("vector registers are not supported", vector, "declare scalars and write {a, b}");
        }
        const Token token = cursor_.peek();
        const Type type = parse_type("a register type such as .f32");
        if (type == Type::b128 || (bits_of(type) == 8 && is_float(type))) {
            cursor_.fail("registers of this type are not supported", token);
        }
        do {
            const Token name = cursor_.expect_word("a register name");
            std::uint64_t count = 0;
            if (cursor_.accept('<')) {
                const Token number = cursor_.peek();
                count = cursor_.expect_integer("a number of registers");
                if (count == 0 || count > (1u << 24))
                    cursor_.fail("a register range has 1 to 16777216 registers", number);
                cursor_.expect('>', "after a number of registers");
            }
            if (!symbols.declare_registers(std::string(name.text), type, count)) {
                cursor_.fail("two registers of the same name in one scope", name);
            }
        } while (cursor_.accept(','));
        cursor_.expect(';', "after registers");
    }

    void finish(Kernel& kernel, const SymbolScopes& symbols, const Token& name) {
        if (!symbols.unresolved().empty()) {
            const Token& token = symbols.unresolved().front().token;
            const std::vector<std::string> labels = symbols.label_names();
            const std::string near = nearest_word(std::string(token.text), labels.data(), labels.size());
            cursor_.fail("unknown label", token, near.empty() ? "" : "did you mean " + near + "?");
        }
        lay_out_shared(kernel, name);
    }

    // Static arrays that the kernel uses, then the dynamic one behind them.
    void lay_out_shared(Kernel& kernel, const Token& name) {
        std::vector<bool> used(kernel.variables.size(), false);
        for (const Instruction& instruction : kernel.instructions) {
            for (const Operand& operand : instruction.operands) {
                if (operand.kind == Operand::Kind::variable || operand.base == Operand::Kind::variable) {
                    used[operand.index] = true;
                }
            }
        }
        std::uint64_t bytes = 0;
        for (std::size_t i = 0; i < kernel.variables.size(); ++i) {
            Variable& variable = kernel.variables[i];
            if (variable.space != StateSpace::shared || variable.bytes == 0 || !used[i]) continue;
            variable.offset = align_up(bytes, variable.alignment);
            bytes = variable.offset + variable.bytes;
            if (bytes > kMaximumSharedBytes) cursor_.fail("more shared memory than any device has", name);
        }
        kernel.shared_bytes = static_cast<std::uint32_t>(bytes);
        for (Variable& variable : kernel.variables) {
            if (variable.space != StateSpace::shared || variable.bytes != 0) continue;
            variable.offset = align_up(bytes, std::max<std::uint32_t>(variable.alignment, 16));
        }
    }

    TokenCursor cursor_;
    Module module_;
    Kernel* kernel_ = nullptr;  // being parsed
    std::vector<std::string> module_pragmas_;
    std::uint64_t constant_bytes_ = 0;
    bool external_ = false;
};

}  // namespace

Module parse(std::string_view text, const std::string& file_name) {
    return Parser(text, file_name).run();
}

std::shared_ptr<const Module> parse_shared(std::string_view text, const std::string& file_name) {
    return std::make_shared<const Module>(parse(text, file_name));
}

}  // namespace heddle::ptx
