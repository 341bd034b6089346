#include "isa/ptx/text/declaration_parser.h"

#include <algorithm>
#include <bit>

#include "isa/ptx/text/constant_expression.h"
#include "isa/ptx/text/initializer_parser.h"
#include "isa/ptx/text/local_memory.h"

namespace heddle::ptx {
namespace {

constexpr std::uint64_t kMaximumVariableBytes = std::uint64_t{1} << 40;
constexpr std::uint64_t kConstantBankBytes = 65536;  // PTX manual, "Constant state space"
constexpr std::uint64_t kMaximumAlignment = 65536;
constexpr std::uint64_t kMaximumSharedBytes = std::uint64_t{1} << 24;
constexpr std::uint64_t kMaximumLocalBytes =
    512 * 1024;  // per thread: CUDA programming guide, table of limits
constexpr std::uint32_t kMaximumParameterBytes = 32764;  // PTX 8.1 and later

}  // namespace

bool DeclarationParser::starts_variable(const Token& token) {
    return token.kind == TokenKind::suffix && (token.text == "global" || token.text == "const" ||
                                               token.text == "shared" || token.text == "local");
}

// .attribute(.managed, .unified(19, 95)): where the host may see the variable, which changes nothing here.
bool DeclarationParser::accept_attributes() {
    if (!cursor_.accept_suffix("attribute")) return false;
    cursor_.expect('(', "after .attribute");
    do {
        const Token token = cursor_.peek();
        if (cursor_.accept_suffix("unified")) {
            cursor_.expect('(', "after .unified");
            cursor_.expect_integer("an identifier");
            cursor_.expect(',', "between the parts of an identifier");
            cursor_.expect_integer("an identifier");
            cursor_.expect(')', "after an identifier");
        } else if (!cursor_.accept_suffix("managed")) {
            cursor_.fail_expected(".managed or .unified", token);
        }
    } while (cursor_.accept(','));
    cursor_.expect(')', "after attributes");
    return true;
}

std::uint32_t DeclarationParser::parse_alignment() {
    const Token token = cursor_.peek();
    const std::uint64_t alignment = cursor_.expect_integer("an alignment");
    if (!std::has_single_bit(alignment) || alignment > kMaximumAlignment) {
        cursor_.fail("an alignment is a power of two up to 65536", token);
    }
    return static_cast<std::uint32_t>(alignment);
}

Type DeclarationParser::parse_type(const char* what) {
    const Token token = cursor_.peek();
    const Type type = token.kind == TokenKind::suffix ? type_named(token.text) : Type::none;
    if (type == Type::none) cursor_.fail_expected(what, token);
    cursor_.next();
    return type;
}

// Dimensions "[4][8]"; an open first dimension "[]" sets `open`.
std::vector<std::uint64_t> DeclarationParser::parse_dimensions(bool& open) {
    std::vector<std::uint64_t> dimensions;
    while (cursor_.accept('[')) {
        if (dimensions.empty() && cursor_.accept(']')) {
            open = true;
            dimensions.push_back(0);
            continue;
        }
        const Token token = cursor_.peek();
        const Constant size = parse_constant(cursor_);
        if (size.kind != Constant::Kind::integer) cursor_.fail_expected("an array size", token);
        dimensions.push_back(size.bits);
        if (dimensions.back() > kMaximumVariableBytes || dimensions.size() > 16) {
            cursor_.fail("array too large", token);
        }
        cursor_.expect(']', "after an array size");
    }
    return dimensions;
}

std::uint64_t DeclarationParser::total_bytes(const std::vector<std::uint64_t>& dimensions,
                                             std::uint64_t element, const Token& token) {
    std::uint64_t bytes = element;
    for (const std::uint64_t dimension : dimensions) {
        if (dimension != 0 && bytes > kMaximumVariableBytes / dimension)
            cursor_.fail("array too large", token);
        bytes *= dimension;
    }
    return bytes;
}

void DeclarationParser::parse_variables(std::vector<Variable>& variables, Kernel* kernel, bool external) {
    const Token space = cursor_.next();
    Variable variable;
    variable.space = space.text == "global"   ? StateSpace::global
                     : space.text == "const"  ? StateSpace::constant
                     : space.text == "shared" ? StateSpace::shared
                                              : StateSpace::local;
    if (variable.space == StateSpace::local && kernel == nullptr) {
        cursor_.fail(".local variables belong into a kernel or function", space);
    }
    variable.external = external;
    std::uint32_t alignment = 0;
    for (;;) {
        if (cursor_.accept_suffix("align"))
            alignment = parse_alignment();
        else if (cursor_.accept_suffix("v2"))
            variable.lanes = 2;
        else if (cursor_.accept_suffix("v4"))
            variable.lanes = 4;
        else if (!accept_attributes())
            break;
    }
    if (is_opaque(cursor_.peek())) return parse_opaque(variables, variable);
    variable.type = parse_type("an element type such as .b8");
    if (variable.type == Type::pred) cursor_.fail("a variable cannot be .pred", space);
    variable.alignment = alignment ? alignment : static_cast<std::uint32_t>(variable.element_bytes());
    do {
        Variable one = variable;
        const Token name = cursor_.peek();
        parse_variable(one, kernel);
        add(variables, std::move(one), kernel, name);
    } while (cursor_.accept(','));
    cursor_.expect(';', "after a variable");
}

void DeclarationParser::parse_variable(Variable& variable, Kernel* kernel) {
    const Token name = cursor_.expect_word("a variable name");
    variable.name = std::string(name.text);
    bool open = false;
    std::vector<std::uint64_t> dimensions = parse_dimensions(open);
    if (cursor_.accept('=')) {
        if (variable.lanes > 1) dimensions.push_back(variable.lanes);
        total_bytes({dimensions.begin() + (open ? 1 : 0), dimensions.end()}, bytes_of(variable.type), name);
        InitializerParser(cursor_, variable, dimensions).parse();
        if (variable.lanes > 1) dimensions.pop_back();
    }
    variable.bytes = total_bytes(dimensions, variable.element_bytes(), name);
    if (variable.bytes == 0 && !variable.external) cursor_.fail("array without a size", name);
    place(variable, kernel, name);
}

// A variable that was declared .extern may be defined later.
void DeclarationParser::add(std::vector<Variable>& variables, Variable variable, const Kernel* kernel,
                            const Token& name) {
    const auto known = std::find_if(variables.begin(), variables.end(), [&](const Variable& v) {
        return kernel == nullptr && v.name == variable.name;
    });
    if (known == variables.end()) {
        variables.push_back(std::move(variable));
    } else if (known->external) {
        if (!variable.external) *known = std::move(variable);
    } else if (!variable.external) {
        cursor_.fail("two variables of the same name", name);
    }
}

bool DeclarationParser::is_opaque(const Token& token) {
    return token.kind == TokenKind::suffix &&
           (token.text == "texref" || token.text == "samplerref" || token.text == "surfref");
}

// .texref t = { width = 4, filter_mode = nearest }: handles, which only texture instructions use.
void DeclarationParser::parse_opaque(std::vector<Variable>& variables, Variable variable) {
    cursor_.next();
    variable.type = Type::b64;
    variable.alignment = 8;
    do {
        Variable one = variable;
        const Token name = cursor_.expect_word("a variable name");
        one.name = std::string(name.text);
        bool open = false;
        one.bytes = total_bytes(parse_dimensions(open), 8, name);
        if (cursor_.accept('=')) skip_braces();
        variables.push_back(std::move(one));
    } while (cursor_.accept(','));
    cursor_.expect(';', "after a variable");
}

void DeclarationParser::skip_braces() {
    cursor_.expect('{', "before initial values");
    for (unsigned depth = 1; depth > 0;) {
        if (cursor_.at_end()) cursor_.fail_expected("'}' after initial values", cursor_.peek());
        const Token token = cursor_.next();
        if (token.is('{')) ++depth;
        if (token.is('}')) --depth;
    }
}

void DeclarationParser::place(Variable& variable, Kernel* kernel, const Token& name) {
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

// What follows .param or .reg in a list of parameters.
Parameter DeclarationParser::parse_formal(Token& name) {
    Parameter parameter;
    std::uint32_t alignment = 0;
    if (cursor_.accept_suffix("align")) alignment = parse_alignment();
    if (is_opaque(cursor_.peek())) {
        cursor_.next();
        parameter.type = Type::b64;
    } else {
        parameter.type = parse_type("a parameter type such as .u64");
    }
    if (cursor_.accept_suffix("ptr")) {
        parameter.pointer = true;
        for (const char* space : {"global", "shared", "const", "local", "param"})
            cursor_.accept_suffix(space);
        if (cursor_.accept_suffix("align")) parse_alignment();  // of what it points to
    }
    name = cursor_.expect_word("a parameter name");
    parameter.name = std::string(name.text);
    bool open = false;
    const std::vector<std::uint64_t> dimensions = parse_dimensions(open);
    const std::uint64_t bytes = total_bytes(dimensions, bytes_of(parameter.type), name);
    if (bytes == 0) cursor_.fail("parameter without a size", name);
    if (bytes > kMaximumParameterBytes) cursor_.fail("more than 32764 bytes of parameters", name);
    parameter.bytes = static_cast<std::uint32_t>(bytes);
    parameter.alignment = alignment ? alignment : bytes_of(parameter.type);
    return parameter;
}

void DeclarationParser::parse_parameter(Kernel& kernel) {
    if (!cursor_.accept_suffix("param")) cursor_.fail_expected(".param", cursor_.peek());
    Token name;
    Parameter parameter = parse_formal(name);
    const std::uint64_t offset = align_up(kernel.parameter_bytes, parameter.alignment);
    if (offset + parameter.bytes > kMaximumParameterBytes)
        cursor_.fail("more than 32764 bytes of parameters", name);
    parameter.offset = static_cast<std::uint32_t>(offset);
    kernel.parameter_bytes = static_cast<std::uint32_t>(offset + parameter.bytes);
    for (const Parameter& other : kernel.parameters) {
        if (other.name == parameter.name) cursor_.fail("two parameters of the same name", name);
    }
    kernel.parameters.push_back(std::move(parameter));
}

void DeclarationParser::parse_argument(std::vector<Variable>& variables) {
    if (!cursor_.accept_suffix("param")) cursor_.fail_expected(".param", cursor_.peek());
    Token name;
    append_argument(parse_formal(name), variables);
}

void DeclarationParser::append_argument(const Parameter& parameter, std::vector<Variable>& variables) {
    Variable variable;
    variable.name = parameter.name;
    variable.space = StateSpace::parameter;
    variable.type = parameter.type;
    variable.bytes = parameter.bytes;
    variable.alignment = parameter.alignment;
    variables.push_back(std::move(variable));
}

void DeclarationParser::parse_local_arguments(std::vector<Variable>& variables) {
    cursor_.next();
    Token name;
    Parameter parameter = parse_formal(name);
    append_argument(parameter, variables);
    while (cursor_.accept(',')) {  // more of the same type
        name = cursor_.expect_word("a parameter name");
        parameter.name = std::string(name.text);
        bool open = false;
        const std::uint64_t bytes = total_bytes(parse_dimensions(open), bytes_of(parameter.type), name);
        if (bytes == 0 || bytes > kMaximumParameterBytes) cursor_.fail("parameter of this size", name);
        parameter.bytes = static_cast<std::uint32_t>(bytes);
        append_argument(parameter, variables);
    }
    cursor_.expect(';', "after .param");
}

void DeclarationParser::parse_registers(SymbolScopes& symbols) {
    unsigned lanes = 0;
    if (cursor_.accept_suffix("v2")) lanes = 2;
    if (cursor_.accept_suffix("v4")) lanes = 4;
    const Token token = cursor_.peek();
    const Type type = parse_type("a register type such as .f32");
    // PTX manual, "Alternate floating-point data formats": these are instruction types only.
    const bool alternate =
        is_float(type) && type != Type::f16 && type != Type::f16x2 && type != Type::f32 && type != Type::f64;
    if (alternate || (type == Type::b128 && lanes != 0)) {
        cursor_.fail("there are no registers of this type", token, "use .b16 or .b32");
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
        if (!symbols.declare_registers(std::string(name.text), type, count, lanes)) {
            cursor_.fail("two registers of the same name in one scope", name);
        }
    } while (cursor_.accept(','));
    cursor_.expect(';', "after registers");
}

}  // namespace heddle::ptx
