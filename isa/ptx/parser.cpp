#include "isa/ptx/parser.h"

#include <algorithm>
#include <charconv>
#include <map>

#include "isa/common/error.h"
#include "isa/ptx/text/debug_information.h"
#include "isa/ptx/text/declaration_parser.h"
#include "isa/ptx/text/function_inliner.h"
#include "isa/ptx/text/instruction_parser.h"
#include "isa/ptx/text/shared_memory.h"

namespace heddle::ptx {
namespace {

constexpr std::size_t kMaximumNesting = 64;

class Parser {
  public:
    Parser(std::string_view text, const std::string& file_name, Dialect dialect)
        : cursor_(tokenize(text, file_name), file_name), dialect_(dialect) {
        module_.file_name = file_name;
        declare_reserved_memory();
    }

    Module run() {
        parse_header();
        while (!cursor_.at_end()) parse_directive();
        debug_.finish();
        resolve_aliases();
        check_initial_addresses();
        for (Kernel& kernel : module_.kernels) take_definitions(kernel);
        for (auto& [name, function] : functions_) take_definitions(function.body);
        resolve_function_addresses();
        for (const Kernel& kernel : module_.kernels) mark_addresses_taken(kernel);
        for (const auto& [name, function] : functions_) mark_addresses_taken(function.body);
        mark_recursive(functions_);
        for (Kernel& kernel : module_.kernels) {
            inline_calls(kernel, functions_, cursor_.file_name());
            lay_out_shared_memory(kernel, cursor_.file_name());
            check_external_variables(kernel);
        }
        return std::move(module_);
    }

  private:
    // --- module level

    // Shared memory that belongs to the CUDA runtime (%reserved_smem_offset_1): cooperative groups of several
    // warps meet there. It is a variable of the module, so that all functions mean the same place.
    void declare_reserved_memory() {
        for (std::size_t i = 0; cursor_.peek(i).kind != TokenKind::end; ++i) {
            if (!cursor_.peek(i).text.starts_with("%reserved_smem_offset_")) continue;
            Variable reserved;
            reserved.name = kReservedShared;
            reserved.space = StateSpace::shared;
            reserved.type = Type::b8;
            reserved.bytes = kReservedSharedBytes;
            reserved.alignment = 128;
            module_.variables.push_back(std::move(reserved));
            return;
        }
    }

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
        const char* end_of_target = target.text.data() + target.text.size();
        const auto [rest, problem] = std::from_chars(digits, end_of_target, module_.compute_capability);
        const std::string_view feature_set(rest, static_cast<std::size_t>(end_of_target - rest));
        if (!target.text.starts_with("sm_") || problem != std::errc() ||
            !(feature_set.empty() || feature_set == "a" || feature_set == "f")) {
            cursor_.fail("unknown target", target, "write sm_70 to sm_120, or sm_90a");
        }
        while (cursor_.accept(',')) {
            const Token option = cursor_.expect_word("a target option");
            if (option.text == "map_f64_to_f32")
                cursor_.fail("double precision as single precision is not supported", option);
        }
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
        if (!linkage && parse_annotation()) return;
        if (token.kind != TokenKind::suffix)
            cursor_.fail_expected(linkage ? "a declaration" : "a directive", token);
        if (!linkage && (token.text == "version" || token.text == "target")) {
            cursor_.fail("a second module in one text", token, "put every module into a file of its own");
        }
        if (cursor_.accept_suffix("alias")) {
            parse_alias();
        } else if (cursor_.accept_suffix("entry")) {
            parse_kernel();
        } else if (cursor_.accept_suffix("func")) {
            parse_function();
        } else if (DeclarationParser::starts_variable(token)) {
            declarations_.parse_variables(module_.variables, nullptr, external_);
        } else {
            cursor_.fail("unknown directive", token);
        }
    }

    // Debug information and .pragma: they change nothing in the machine.
    bool parse_annotation() {
        if (debug_.parse_directive()) return true;
        if (!cursor_.accept_suffix("pragma")) return false;
        do {
            if (cursor_.peek().kind != TokenKind::string) cursor_.fail_expected("a string", cursor_.peek());
            pragmas().emplace_back(cursor_.next().text);
        } while (cursor_.accept(','));
        cursor_.accept(';');
        return true;
    }

    // .alias new, old; - two functions of one type.
    void parse_alias() {
        Alias alias;
        alias.token = cursor_.expect_word("a function");
        cursor_.expect(',', "between the names of a function");
        alias.target = std::string(cursor_.expect_word("a function").text);
        cursor_.expect(';', "after .alias");
        aliases_.push_back(std::move(alias));
    }

    void resolve_aliases() {
        for (const Alias& alias : aliases_) {
            const auto target = functions_.find(alias.target);
            const auto declared = functions_.find(std::string(alias.token.text));
            if (target == functions_.end() || !target->second.defined || declared == functions_.end())
                cursor_.fail(".alias of functions that are not declared, or without a body", alias.token);
            if (declared->second.defined) cursor_.fail("two functions of the same name", alias.token);
            const std::uint64_t address = declared->second.address;
            declared->second = target->second;
            declared->second.address = address;
        }
    }

    std::vector<std::string>& pragmas() { return kernel_ ? kernel_->pragmas : module_pragmas_; }

    // --- kernels

    void parse_kernel() {
        declarations_.accept_attributes();
        Kernel kernel;
        const Token name = cursor_.expect_word("the kernel's name");
        kernel.name = std::string(name.text);
        kernel.line = name.line;
        const bool known = std::any_of(module_.kernels.begin(), module_.kernels.end(),
                                       [&](const Kernel& other) { return other.name == kernel.name; });
        if (known) cursor_.fail("two kernels of the same name", name);
        kernel_ = &kernel;
        add_module_variables(kernel);
        if (cursor_.accept('(') && !cursor_.accept(')')) {
            do declarations_.parse_parameter(kernel);
            while (cursor_.accept(','));
            cursor_.expect(')', "after the parameters");
        }
        parse_performance_directives(kernel);
        if (!cursor_.accept(';')) {
            parse_body(kernel);
            module_.kernels.push_back(std::move(kernel));
        }
        kernel_ = nullptr;
    }

    // (results) name (arguments) and a body, or a semicolon when the body comes later or nowhere.
    void parse_function() {
        declarations_.accept_attributes();
        Function function;
        Kernel& body = function.body;
        add_module_variables(body);
        function.first_formal = body.variables.size();
        if (cursor_.peek().is('(')) function.results = parse_arguments(body);
        const Token name = cursor_.expect_word("the function's name");
        body.name = std::string(name.text);
        body.line = name.line;
        declare_function(function);
        if (cursor_.peek().is('(')) function.arguments = parse_arguments(body);
        parse_performance_directives(body);
        if (!cursor_.accept(';')) {
            kernel_ = &body;
            parse_body(body);
            kernel_ = nullptr;
            function.defined = true;
        }
        Function& known = functions_[body.name];
        if (known.defined && function.defined) cursor_.fail("two functions of the same name", name);
        if (!known.defined) known = std::move(function);
    }

    // The name stands for the function's address: a variable of the module, which lies in no state space.
    void declare_function(Function& function) {
        const auto known = functions_.find(function.body.name);
        if (known != functions_.end()) {
            function.address = known->second.address;
            return;
        }
        Variable address;
        address.name = function.body.name;
        address.type = Type::b64;
        address.offset = function.address = kFunctionWindow + kFunctionSpacing * functions_.size();
        module_.variables.push_back(address);
        functions_[address.name].address = function.address;
        // Before the parameters, and known in its own body.
        std::vector<Variable>& variables = function.body.variables;
        variables.insert(variables.begin() + static_cast<std::ptrdiff_t>(function.first_formal), address);
        ++function.first_formal;
        ++function.body.module_variables;
    }

    // Initial values that are addresses of functions, such as tables of virtual functions.
    void resolve_function_addresses() {
        resolve_function_addresses(module_.variables);
        for (Kernel& kernel : module_.kernels) resolve_function_addresses(kernel.variables);
        for (auto& [name, function] : functions_) resolve_function_addresses(function.body.variables);
    }

    // mov d, function
    void mark_addresses_taken(const Kernel& body) {
        for (const Instruction& instruction : body.instructions) {
            for (const Operand& operand : instruction.operands) {
                if (operand.kind != Operand::Kind::variable) continue;
                const auto function = functions_.find(body.variables[operand.index].name);
                if (function != functions_.end()) function->second.address_taken = true;
            }
        }
    }

    void resolve_function_addresses(std::vector<Variable>& variables) {
        for (Variable& variable : variables) {
            std::vector<InitialAddress> others;
            for (const InitialAddress& address : variable.addresses) {
                const auto function = functions_.find(address.symbol);
                if (function == functions_.end()) {
                    others.push_back(address);
                    continue;
                }
                function->second.address_taken = true;
                const std::uint64_t value = (function->second.address + address.addend) >> address.shift;
                for (unsigned b = 0; b < address.bytes && b < sizeof(value); ++b)
                    variable.initial[address.position + b] = static_cast<std::byte>(value >> (8 * b));
            }
            variable.addresses = std::move(others);
        }
    }

    std::size_t parse_arguments(Kernel& body) {
        const std::size_t before = body.variables.size();
        cursor_.expect('(', "before parameters");
        if (cursor_.accept(')')) return 0;
        do declarations_.parse_argument(body.variables);
        while (cursor_.accept(','));
        cursor_.expect(')', "after parameters");
        return body.variables.size() - before;
    }

    void add_module_variables(Kernel& kernel) const {
        kernel.variables = module_.variables;
        kernel.module_variables = static_cast<std::uint32_t>(kernel.variables.size());
    }

    // Variables that were .extern when the kernel was parsed may have been defined since.
    void take_definitions(Kernel& kernel) const {
        for (std::uint32_t v = 0; v < kernel.module_variables; ++v) {
            if (kernel.variables[v].external) kernel.variables[v] = module_.variables[v];
        }
    }

    // Arrays that are declared without a size and never defined.
    void check_external_variables(const Kernel& kernel) const {
        for (const Instruction& instruction : kernel.instructions) {
            for (const Operand& operand : instruction.operands) {
                if (operand.kind != Operand::Kind::variable && operand.base != Operand::Kind::variable)
                    continue;
                const Variable& variable = kernel.variables[operand.index];
                if (variable.bytes != 0 || variable.space == StateSpace::shared || !variable.external)
                    continue;
                throw Error("variable " + variable.name + " is declared .extern and not defined",
                            {cursor_.file_name(), instruction.line, kernel.name}, "define it in this module");
            }
        }
    }

    // Only variables that come first have an address yet.
    void check_initial_addresses() const {
        for (auto variable = module_.variables.begin(); variable != module_.variables.end(); ++variable) {
            for (const InitialAddress& address : variable->addresses) {
                const bool known = functions_.contains(address.symbol) ||
                                   std::any_of(module_.variables.begin(), variable, [&](const Variable& v) {
                                       return v.name == address.symbol && v.space != StateSpace::shared;
                                   });
                if (known) continue;
                throw Error("the initial value of " + variable->name + " is the address of an unknown name",
                            {cursor_.file_name(), address.line, address.symbol},
                            "it must be a .global or .const variable declared before, or a function");
            }
        }
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
            else if (cursor_.accept_suffix("reqnctapercluster"))
                parse_three(kernel.required_cluster);
            else if (cursor_.accept_suffix("explicitcluster"))
                kernel.explicit_cluster = true;
            else if (cursor_.accept_suffix("maxclusterrank"))
                kernel.maximum_cluster_ctas =
                    static_cast<std::uint32_t>(cursor_.expect_integer("a number of CTAs"));
            else if (cursor_.accept_suffix("abi_preserve") || cursor_.accept_suffix("abi_preserve_control") ||
                     cursor_.accept_suffix("maxnctapersm"))
                cursor_.expect_integer("a number");
            else if (cursor_.accept_suffix("noreturn"))
                continue;
            else if (!parse_annotation())
                break;
        }
        if (cursor_.peek().kind == TokenKind::suffix)
            cursor_.fail("unknown or unsupported directive", cursor_.peek());
    }

    void parse_body(Kernel& kernel) {
        const Token start = cursor_.peek();
        cursor_.expect('{', "before the body");
        SymbolScopes symbols(kernel);
        InstructionParser instructions(cursor_, kernel, symbols, module_.unsupported, dialect_);
        try {
            while (symbols.depth() > 0) parse_statement(kernel, symbols, instructions, start);
            check_labels(symbols);
        } catch (const Error& error) {
            name_source(error);
        }
        debug_.end_body();
    }

    void parse_statement(Kernel& kernel, SymbolScopes& symbols, InstructionParser& instructions,
                         const Token& start) {
        const Token token = cursor_.peek();
        if (token.kind == TokenKind::end) {
            cursor_.fail_expected("'}' for '{' of line " + std::to_string(start.line), token);
        }
        if (cursor_.accept('{')) {
            if (symbols.depth() > kMaximumNesting) cursor_.fail("scopes nested too deeply", token);
            symbols.open();
        } else if (cursor_.accept('}')) {
            symbols.close();
        } else if (cursor_.accept_suffix("branchtargets")) {
            instructions.parse_branch_targets(label_);
        } else if (cursor_.accept_suffix("callprototype") || cursor_.accept_suffix("calltargets")) {
            instructions.parse_call_prototype(label_);
        } else if (token.kind == TokenKind::suffix) {
            parse_body_directive(kernel, symbols, token);
        } else if (token.kind == TokenKind::word && cursor_.peek(1).is(':')) {
            label_ = cursor_.next();
            cursor_.next();
            if (!symbols.declare_label(label_.text, static_cast<std::uint32_t>(kernel.instructions.size()))) {
                cursor_.fail("two labels of the same name", token);
            }
        } else if (!debug_.parse_directive()) {
            const std::size_t before = kernel.instructions.size();
            instructions.parse();
            for (std::size_t i = before; i < kernel.instructions.size(); ++i)
                kernel.instructions[i].source = debug_.place();
        }
    }

    // The error again, with the line of the CUDA source.
    [[noreturn]] void name_source(const Error& error) {
        std::string place = describe_place(debug_.place(), module_.source_files, {});
        if (place.empty()) throw error;
        if (!error.where().key.empty()) place += ", " + error.where().key;
        throw Error(error.problem(), {error.where().file, error.where().line, place}, error.remedy());
    }

    void parse_body_directive(Kernel& kernel, SymbolScopes& symbols, const Token& token) {
        if (cursor_.accept_suffix("reg")) return declarations_.parse_registers(symbols);
        if (parse_annotation()) return;
        const std::size_t before = kernel.variables.size();
        const bool external = cursor_.accept_suffix("extern");
        if (cursor_.peek().text == "param" && !external) {
            declarations_.parse_local_arguments(kernel.variables);
        } else if (DeclarationParser::starts_variable(cursor_.peek())) {
            declarations_.parse_variables(kernel.variables, &kernel, external);
        } else {
            cursor_.fail("unknown or unsupported directive", token);
        }
        for (std::size_t v = before; v < kernel.variables.size(); ++v) {
            if (!symbols.declare_variable(static_cast<std::uint32_t>(v)))
                cursor_.fail("two variables of the same name in one scope", token);
            Variable& variable = kernel.variables[v];
            // Global memory knows variables by name: that of another kernel may be the same.
            if (variable.space == StateSpace::global) variable.name = kernel.name + ":" + variable.name;
        }
    }

    void check_labels(const SymbolScopes& symbols) const {
        if (symbols.unresolved().empty()) return;
        const Token& token = symbols.unresolved().front().token;
        const std::vector<std::string> labels = symbols.label_names();
        const std::string near = nearest_word(std::string(token.text), labels.data(), labels.size());
        cursor_.fail("unknown label", token, near.empty() ? "" : "did you mean " + near + "?");
    }

    TokenCursor cursor_;
    Dialect dialect_;
    DeclarationParser declarations_{cursor_};
    Module module_;
    DebugInformation debug_{cursor_, module_};
    struct Alias {
        Token token;
        std::string target;
    };
    std::vector<Alias> aliases_;
    Token label_;  // the last one, which names the list that follows it
    std::map<std::string, Function> functions_;
    Kernel* kernel_ = nullptr;  // being parsed
    std::vector<std::string> module_pragmas_;
    bool external_ = false;
};

}  // namespace

Module parse(std::string_view text, const std::string& file_name, Dialect dialect) {
    return Parser(text, file_name, dialect).run();
}

std::shared_ptr<const Module> parse_shared(std::string_view text, const std::string& file_name, Dialect dialect) {
    return std::make_shared<const Module>(parse(text, file_name, dialect));
}

}  // namespace heddle::ptx
