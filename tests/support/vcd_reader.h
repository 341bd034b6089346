// A small reader of value change dumps, which knows nothing of how Heddle writes them: IEEE 1364-2005, 18.2.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace heddle::tests {

using VcdValue = std::optional<std::uint64_t>;  ///< nothing: z or x

struct VcdSignal {
    unsigned bits = 0;
    std::vector<std::pair<std::uint64_t, VcdValue>> changes;  ///< the first at time 0, by $dumpvars
};

struct Vcd {
    std::map<std::string, VcdSignal> signals;  ///< by whole name
    std::uint64_t end = 0;
    std::vector<std::string> problems;  ///< what the standard does not allow
};

inline Vcd read_vcd(const std::string& text) {
    Vcd vcd;
    std::map<std::string, VcdSignal*> by_code;
    std::vector<std::string> scopes;
    std::istringstream stream(text);
    std::string word;
    bool defined = false, dumped = false;
    std::uint64_t time = 0;
    bool any_time = false;
    const auto problem = [&](const std::string& what) { vcd.problems.push_back(what); };
    const auto skip = [&] {
        while (stream >> word && word != "$end") {
        }
    };
    const auto change = [&](const std::string& code, const std::string& bits) {
        const auto found = by_code.find(code);
        if (found == by_code.end()) return problem("a value of unknown " + code);
        VcdSignal& signal = *found->second;
        if (bits.size() > signal.bits) problem(bits + " has more bits than " + code);
        VcdValue value = 0;
        for (const char bit : bits) {
            if (bit == 'z' || bit == 'x')
                value.reset();
            else if (bit != '0' && bit != '1')
                problem("no bit: " + bits);
            else if (value)
                value = *value * 2 + (bit == '1' ? 1 : 0);
        }
        if (!signal.changes.empty() && signal.changes.back().first == time && dumped && time != 0)
            problem(code + " changes twice at " + std::to_string(time));
        signal.changes.emplace_back(time, value);
    };
    while (stream >> word) {
        if (word == "$scope") {
            std::string kind, name, end;
            stream >> kind >> name >> end;
            scopes.push_back(name);
        } else if (word == "$upscope") {
            if (scopes.empty()) problem("$upscope without $scope");
            scopes.pop_back();
            skip();
        } else if (word == "$var") {
            std::string kind, code, name, end;
            unsigned bits = 0;
            stream >> kind >> bits >> code >> name >> end;
            if (end != "$end") problem("$var " + name + " does not end");
            std::string whole;
            for (const std::string& scope : scopes) whole += scope + ".";
            VcdSignal& signal = vcd.signals[whole + name];
            if (signal.bits != 0) problem(whole + name + " twice");
            signal.bits = bits;
            if (!by_code.emplace(code, &signal).second) problem("the code " + code + " twice");
        } else if (word == "$enddefinitions") {
            if (!scopes.empty()) problem("a scope is open");
            defined = true;
            skip();
        } else if (word == "$dumpvars") {
            dumped = true;
        } else if (word == "$end") {
            continue;
        } else if (word[0] == '$') {
            skip();
        } else if (word[0] == '#') {
            if (!defined) problem("a time before $enddefinitions");
            const std::uint64_t next = std::stoull(word.substr(1));
            if (any_time && next <= time) problem("time goes from " + std::to_string(time) + " to " + word);
            any_time = true;
            vcd.end = time = next;
        } else if (word[0] == 'b') {
            std::string code;
            stream >> code;
            change(code, word.substr(1));
        } else {
            change(word.substr(1), word.substr(0, 1));
        }
    }
    if (!dumped) problem("no $dumpvars");
    for (const auto& [name, signal] : vcd.signals)
        if (signal.changes.empty() || signal.changes.front().first != 0)
            problem(name + " has no first value");
    return vcd;
}

/// Calls visit(value, picoseconds for which it holds).
template <class Visit>
void for_each_value(const VcdSignal& signal, std::uint64_t end, Visit visit) {
    for (std::size_t i = 0; i < signal.changes.size(); ++i) {
        const std::uint64_t until = i + 1 < signal.changes.size() ? signal.changes[i + 1].first : end;
        visit(signal.changes[i].second, static_cast<double>(until - signal.changes[i].first));
    }
}
/// Picoseconds x value.
inline double integral(const VcdSignal& signal, std::uint64_t end) {
    double sum = 0;
    for_each_value(signal, end, [&](VcdValue value, double time) {
        sum += time * static_cast<double>(value.value_or(0));
    });
    return sum;
}
inline double time_at(const VcdSignal& signal, std::uint64_t wanted, std::uint64_t end) {
    double sum = 0;
    for_each_value(signal, end,
                   [&](VcdValue value, double time) { sum += value == VcdValue(wanted) ? time : 0; });
    return sum;
}
inline double time_with_value(const VcdSignal& signal, std::uint64_t end) {
    double sum = 0;
    for_each_value(signal, end, [&](VcdValue value, double time) { sum += value ? time : 0; });
    return sum;
}

}  // namespace heddle::tests
