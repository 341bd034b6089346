#include "isa/ptx/text/symbols.h"

#include <charconv>

namespace heddle::ptx {
namespace {

// Splits "%r12" into "%r" and 12; false when it does not end in a number written without leading zeros.
bool split_number(std::string_view name, std::string_view& prefix, std::uint64_t& number) {
    std::size_t digits = 0;
    while (digits < name.size() && name[name.size() - 1 - digits] >= '0' &&
           name[name.size() - 1 - digits] <= '9') {
        ++digits;
    }
    // Trailing digits may belong to the prefix ("%fd1<4>"): the caller tries every split.
    if (digits == 0 || digits > 9) return false;
    prefix = name.substr(0, name.size() - digits);
    std::from_chars(name.data() + prefix.size(), name.data() + name.size(), number);
    return true;
}

}  // namespace

void SymbolScopes::close() {
    Scope scope = std::move(scopes_.back());
    scopes_.pop_back();
    for (Reference& reference : scope.references) {
        const auto found = scope.labels.find(reference.token.text);
        if (found != scope.labels.end()) {
            Operand& operand = kernel_.instructions[reference.instruction].operands[reference.operand];
            operand.index = found->second;
        } else {
            (scopes_.empty() ? unresolved_ : scopes_.back().references).push_back(reference);
        }
    }
    for (const auto& [name, position] : scope.labels) closed_labels_.push_back(name);
}

bool SymbolScopes::declare_registers(const std::string& name, Type type, std::uint64_t count) {
    return scopes_.back().registers.try_emplace(name, Range{type, count, {}}).second;
}

std::int64_t SymbolScopes::find_register(std::string_view name) {
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
        std::uint64_t number = 0;
        auto found = scope->registers.find(name);
        if (found != scope->registers.end() && found->second.count == 0) {
            number = 0;
        } else {
            std::string_view prefix;
            if (!split_number(name, prefix, number)) continue;
            // Try "%fd1" + "2" before "%fd" + "12": the longest declared prefix wins.
            found = scope->registers.end();
            for (std::size_t length = name.size() - 1; length >= prefix.size() && length > 0; --length) {
                const auto candidate = scope->registers.find(name.substr(0, length));
                const bool leading_zero = name[length] == '0' && length + 1 < name.size();
                if (candidate == scope->registers.end() || candidate->second.count == 0 || leading_zero)
                    continue;
                std::from_chars(name.data() + length, name.data() + name.size(), number);
                if (number < candidate->second.count) {
                    found = candidate;
                    break;
                }
            }
            if (found == scope->registers.end()) continue;
        }
        Range& range = found->second;
        const auto [entry, inserted] =
            range.used.try_emplace(number, static_cast<std::uint32_t>(kernel_.registers.size()));
        if (inserted) kernel_.registers.push_back({std::string(name), range.type});
        return entry->second;
    }
    return -1;
}

std::vector<std::string> SymbolScopes::register_names() const {
    std::vector<std::string> names;
    for (const Scope& scope : scopes_) {
        for (const auto& [name, range] : scope.registers) {
            if (range.count == 0) {
                names.push_back(name);
            } else {
                names.push_back(name + "0");
                names.push_back(name + std::to_string(range.count - 1));
            }
        }
    }
    return names;
}

bool SymbolScopes::declare_label(std::string_view name, std::uint32_t instruction) {
    return scopes_.back().labels.try_emplace(std::string(name), instruction).second;
}

void SymbolScopes::refer_to_label(const Token& token, std::uint32_t instruction, std::uint32_t operand) {
    scopes_.back().references.push_back({token, instruction, operand});
}

std::vector<std::string> SymbolScopes::label_names() const {
    return closed_labels_;
}

}  // namespace heddle::ptx
