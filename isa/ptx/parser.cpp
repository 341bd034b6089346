#include "isa/ptx/parser.h"

#include <algorithm>
#include <charconv>
#include <map>

#include "isa/common/error.h"
#include "isa/ptx/text/declaration_parser.h"
#include "isa/ptx/text/function_inliner.h"
#include "isa/ptx/text/instruction_parser.h"

namespace heddle::ptx {
namespace {

constexpr std::size_t kMaximumNesting = 64;

class Parser {
  public:
    Parser(std::string_view text, const std::string& file_name)
        : cursor_(tokenize(text, file_name), file_name) {
        module_.file_name = file_name;
    }

    Module run() {
        parse_header();
        while (!cursor_.at_end()) parse_directive();
        for (Kernel& kernel : module_.kernels) {
            inline_calls(kernel, functions_, cursor_.file_name());
            lay_out_shared_memory(kernel, cursor_.file_name());
        }
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
            parse_function();
        } else if (DeclarationParser::starts_variable(token)) {
            declarations_.parse_variables(module_.variables, nullptr, external_);
        } else if (!parse_annotation()) {
            cursor_.fail("unknown directive", token);
        }
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
            do declarations_.parse_parameter(kernel);
            while (cursor_.accept(','));
            cursor_.expect(')', "after the parameters");
        }
        parse_performance_directives(kernel);
        parse_body(kernel);
        module_.kernels.push_back(std::move(kernel));
        kernel_ = nullptr;
    }

    // (results) name (arguments) and a body, or a semicolon when the body comes later or nowhere.
    void parse_function() {
        Function function;
        Kernel& body = function.body;
        body.variables = module_.variables;
        function.first_formal = body.variables.size();
        if (cursor_.peek().is('(')) function.results = parse_arguments(body);
        const Token name = cursor_.expect_word("the function's name");
        body.name = std::string(name.text);
        body.line = name.line;
        if (cursor_.peek().is('(')) function.arguments = parse_arguments(body);
        while (cursor_.accept_suffix("noreturn")) {
        }
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

    std::size_t parse_arguments(Kernel& body) {
        const std::size_t before = body.variables.size();
        cursor_.expect('(', "before parameters");
        if (cursor_.accept(')')) return 0;
        do declarations_.parse_argument(body.variables);
        while (cursor_.accept(','));
        cursor_.expect(')', "after parameters");
        return body.variables.size() - before;
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

    void parse_body(Kernel& kernel) {
        const Token start = cursor_.peek();
        cursor_.expect('{', "before the body");
        SymbolScopes symbols(kernel);
        InstructionParser instructions(cursor_, kernel, symbols);
        Token label;
        while (symbols.depth() > 0) {
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
                instructions.parse_branch_targets(label);
            } else if (token.kind == TokenKind::suffix) {
                parse_body_directive(kernel, symbols, token);
            } else if (token.kind == TokenKind::word && cursor_.peek(1).is(':')) {
                label = cursor_.next();
                cursor_.next();
                if (!symbols.declare_label(label.text,
                                           static_cast<std::uint32_t>(kernel.instructions.size()))) {
                    cursor_.fail("two labels of the same name", token);
                }
            } else {
                instructions.parse();
            }
        }
        check_labels(symbols);
    }

    void parse_body_directive(Kernel& kernel, SymbolScopes& symbols, const Token& token) {
        if (cursor_.accept_suffix("reg")) {
            declarations_.parse_registers(symbols);
        } else if (cursor_.accept_suffix("extern")) {
            if (!DeclarationParser::starts_variable(cursor_.peek())) {
                cursor_.fail_expected(".shared", cursor_.peek());
            }
            declarations_.parse_variables(kernel.variables, &kernel, true);
        } else if (token.text == "param") {
            declarations_.parse_argument(kernel.variables);
            cursor_.expect(';', "after .param");
        } else if (DeclarationParser::starts_variable(token)) {
            if (token.text == "global" || token.text == "const") {
                cursor_.fail("declare ." + std::string(token.text) + " variables outside of kernels", token);
            }
            declarations_.parse_variables(kernel.variables, &kernel, false);
        } else if (!parse_annotation()) {
            cursor_.fail("unknown or unsupported directive", token);
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
    DeclarationParser declarations_{cursor_};
    Module module_;
    std::map<std::string, Function> functions_;
    Kernel* kernel_ = nullptr;  // being parsed
    std::vector<std::string> module_pragmas_;
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
