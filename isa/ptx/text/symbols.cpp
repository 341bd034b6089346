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

constexpr unsigned kNoLane = 0xFF;
constexpr char kLaneNames[] = "xyzwrgba";

unsigned lane_named(char name) {
    const std::string_view names = kLaneNames;
    const std::size_t found = names.find(name);
    return found == std::string_view::npos ? kNoLane : static_cast<unsigned>(found % 4);
}

}  // namespace

SymbolScopes::SymbolScopes(Kernel& kernel) : kernel_(kernel), scopes_(1) {
    for (std::uint32_t v = 0; v < kernel.variables.size(); ++v)
        scopes_.back().variables[kernel.variables[v].name] = v;
}

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

bool SymbolScopes::declare_registers(const std::string& name, Type type, std::uint64_t count,
                                     unsigned lanes) {
    if (type == Type::b128) {
        type = Type::b64;
        lanes = 2;
    }
    return scopes_.back().registers.try_emplace(name, Range{type, count, lanes, {}}).second;
}

SymbolScopes::Range* SymbolScopes::find_range(std::string_view name, std::uint64_t& number) {
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
        const auto single = scope->registers.find(name);
        if (single != scope->registers.end() && single->second.count == 0) {
            number = 0;
            return &single->second;
        }
        std::string_view prefix;
        if (!split_number(name, prefix, number)) continue;
        // Try "%fd1" + "2" before "%fd" + "12": the longest declared prefix wins.
        for (std::size_t length = name.size() - 1; length >= prefix.size() && length > 0; --length) {
            const auto candidate = scope->registers.find(name.substr(0, length));
            const bool leading_zero = name[length] == '0' && length + 1 < name.size();
            if (candidate == scope->registers.end() || candidate->second.count == 0 || leading_zero) continue;
            std::from_chars(name.data() + length, name.data() + name.size(), number);
            if (number < candidate->second.count) return &candidate->second;
        }
    }
    return nullptr;
}

std::int64_t SymbolScopes::find_register(std::string_view name) {
    unsigned lane = kNoLane;
    std::string_view base = name;
    if (name.size() > 2 && name[name.size() - 2] == '.') {
        lane = lane_named(name.back());
        if (lane == kNoLane) return -1;
        base.remove_suffix(2);
    }
    std::uint64_t number = 0;
    Range* range = find_range(base, number);
    if (range == nullptr || (lane == kNoLane) != (range->lanes == 0)) return -1;
    if (lane != kNoLane) {
        if (lane >= range->lanes) return -1;
        number = number * range->lanes + lane;
    }
    const auto [entry, inserted] =
        range->used.try_emplace(number, static_cast<std::uint32_t>(kernel_.registers.size()));
    if (inserted) kernel_.registers.push_back({std::string(name), range->type});
    return entry->second;
}

std::vector<std::string> SymbolScopes::find_vector(std::string_view name) {
    std::uint64_t number = 0;
    const Range* range = find_range(name, number);
    std::vector<std::string> components;
    if (range == nullptr) return components;
    for (unsigned lane = 0; lane < range->lanes; ++lane)
        components.push_back(std::string(name) + "." + kLaneNames[lane]);
    return components;
}

bool SymbolScopes::declare_variable(std::uint32_t index) {
    return scopes_.back().variables.try_emplace(kernel_.variables[index].name, index).second;
}

std::int64_t SymbolScopes::find_variable(std::string_view name) const {
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
        const auto found = scope->variables.find(name);
        if (found != scope->variables.end()) return found->second;
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
