#include "isa/ptx/text/declaration_parser.h"

#include <algorithm>
#include <bit>

namespace heddle::ptx {
namespace {

constexpr std::uint64_t kMaximumVariableBytes = std::uint64_t{1} << 40;
constexpr std::uint64_t kConstantBankBytes = 65536;  // PTX manual, "Constant state space"
constexpr std::uint64_t kMaximumSharedBytes = std::uint64_t{1} << 24;
constexpr std::uint64_t kMaximumLocalBytes =
    512 * 1024;  // per thread: CUDA programming guide, table of limits
constexpr std::uint32_t kMaximumParameterBytes = 32764;  // PTX 8.1 and later
constexpr std::uint64_t kMaximumInitialBytes = std::uint64_t{1} << 26;

std::uint64_t align_up(std::uint64_t value, std::uint64_t alignment) {
    return (value + alignment - 1) / alignment * alignment;
}

Type type_named(std::string_view word) {
    for (unsigned i = 1; i <= static_cast<unsigned>(Type::e5m2x2); ++i) {
        if (name_of(static_cast<Type>(i)) == word) return static_cast<Type>(i);
    }
    return Type::none;
}

}  // namespace

bool DeclarationParser::starts_variable(const Token& token) {
    return token.kind == TokenKind::suffix && (token.text == "global" || token.text == "const" ||
                                               token.text == "shared" || token.text == "local");
}

std::uint32_t DeclarationParser::parse_alignment() {
    const Token token = cursor_.peek();
    const std::uint64_t alignment = cursor_.expect_integer("an alignment");
    if (!std::has_single_bit(alignment) || alignment > 1024) {
        cursor_.fail("an alignment is a power of two up to 1024", token);
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
        dimensions.push_back(cursor_.expect_integer("an array size"));
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
    std::uint32_t alignment = 0;
    Variable variable;
    variable.space = space.text == "global"   ? StateSpace::global
                     : space.text == "const"  ? StateSpace::constant
                     : space.text == "shared" ? StateSpace::shared
                                              : StateSpace::local;
    if (variable.space == StateSpace::local && kernel == nullptr) {
        cursor_.fail(".local variables belong into a kernel", space);
    }
    variable.external = external;
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

// Values in braces, nested as the dimensions are; rows that are not full are padded with zeros.
void DeclarationParser::parse_initializer(Variable& variable, std::vector<std::uint64_t>& dimensions,
                                          const Token& name) {
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

void DeclarationParser::parse_initializer_level(Variable& variable,
                                                const std::vector<std::uint64_t>& dimensions,
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

void DeclarationParser::append_value(Variable& variable) {
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

Parameter DeclarationParser::parse_parameter_declaration(Token& name) {
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
    name = cursor_.expect_word("a parameter name");
    parameter.name = std::string(name.text);
    bool open = false;
    const std::vector<std::uint64_t> dimensions = parse_dimensions(open);
    const std::uint64_t bytes = total_bytes(dimensions, bytes_of(parameter.type), name);
    if (open || bytes == 0) cursor_.fail("parameter without a size", name);
    if (bytes > kMaximumParameterBytes) cursor_.fail("more than 32764 bytes of parameters", name);
    parameter.bytes = static_cast<std::uint32_t>(bytes);
    parameter.alignment = alignment ? alignment : bytes_of(parameter.type);
    return parameter;
}

void DeclarationParser::parse_parameter(Kernel& kernel) {
    Token name;
    Parameter parameter = parse_parameter_declaration(name);
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
    Token name;
    const Parameter parameter = parse_parameter_declaration(name);
    Variable variable;
    variable.name = parameter.name;
    variable.space = StateSpace::parameter;
    variable.type = parameter.type;
    variable.bytes = parameter.bytes;
    variable.alignment = parameter.alignment;
    variables.push_back(std::move(variable));
}

void DeclarationParser::parse_registers(SymbolScopes& symbols) {
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

}  // namespace heddle::ptx
