#include "sim/sass/kernel_name.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>
#include <string_view>
#include <utility>

namespace heddle::sass {
namespace {

void remove_all(std::string& text, std::string_view what) {
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at))
        text.erase(at, what.size());
}

/// Where the name begins, behind what the function returns, and where its parameters begin.
std::pair<std::size_t, std::size_t> extent_of(const std::string& declaration) {
    std::size_t begin = 0, at = 0;
    for (unsigned depth = 0; at < declaration.size(); ++at) {
        const char c = declaration[at];
        if (c == '(' && depth == 0) break;
        if (c == '<' || c == '(') ++depth;
        if ((c == '>' || c == ')') && depth != 0) --depth;
        if (c == ' ' && depth == 0) begin = at + 1;
    }
    return {begin, at};
}

}  // namespace

std::string readable_name(const std::string& name) {
    struct Free {
        void operator()(char* text) const { std::free(text); }
    };
    int status = 0;
    const std::unique_ptr<char, Free> plain(
        name.rfind("_Z", 0) == 0 ? abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status) : nullptr);
    if (plain == nullptr || status != 0) return name;
    std::string text = plain.get();
    remove_all(text, "(anonymous namespace)::");
    return text.substr(extent_of(text).first);
}

std::string function_name(const std::string& name) {
    const std::string text = readable_name(name);
    const std::size_t end = extent_of(text).second;
    std::size_t begin = 0, stop = end;
    unsigned depth = 0;
    for (std::size_t at = 0; at < end; ++at) {
        const char c = text[at];
        if (c == '<' && depth++ == 0) stop = at;
        if (c == '>' && depth != 0) --depth;
        if (c == ':' && depth == 0) {
            begin = at + 1;
            stop = end;
        }
    }
    return begin < stop ? text.substr(begin, stop - begin) : text;
}

}  // namespace heddle::sass
