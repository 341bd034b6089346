// The words and numbers of one line.
#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

#include "workloads/sass_traces/line_source.h"

namespace heddle::sass {

/// Reads words separated by blanks. Anything unexpected is an error that names the word.
class LineTokens {
  public:
    LineTokens(std::string_view line, const LineSource& source)
        : at_(line.data()), end_(line.data() + line.size()), source_(source) {
        skip();
    }
    bool more() const { return at_ != end_; }
    char peek() const { return *at_; }  ///< the next character; there is more()
    std::string_view word(const char* meaning) {
        if (at_ == end_) source_.fail("the line ends before " + std::string(meaning));
        const char* const first = at_;
        while (at_ != end_ && *at_ != ' ' && *at_ != '\t') ++at_;
        const std::string_view result{first, static_cast<std::size_t>(at_ - first)};
        skip();
        return result;
    }
    /// Reads digits of `base`; with base 16, "0x" may come first.
    template <typename Integer>
    Integer number(const char* meaning, int base = 10) {
        const std::string_view text = word(meaning);
        std::string_view digits = text;
        if (base == 16 && digits.substr(0, 2) == "0x") digits.remove_prefix(2);
        Integer value{};
        const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
        if (error != std::errc{} || end != digits.data() + digits.size() || digits.empty())
            source_.fail(
                "is no " + std::string(base == 16 ? "hexadecimal " : "") + "number that can be " + meaning,
                std::string(text));
        return value;
    }

  private:
    void skip() {
        while (at_ != end_ && (*at_ == ' ' || *at_ == '\t')) ++at_;
    }
    const char* at_;
    const char* end_;
    const LineSource& source_;
};

}  // namespace heddle::sass
