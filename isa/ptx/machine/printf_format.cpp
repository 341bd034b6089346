#include "isa/ptx/machine/printf_format.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <limits>
#include <vector>

namespace heddle::ptx {
namespace {

constexpr unsigned kMaximumArguments = 32;  // "Limitations" of the same section
constexpr int kMaximumWidth = 1 << 16;

// %[flags][width][.precision][size]type
struct Conversion {
    std::string flags;
    bool has_width = false, width_is_argument = false;
    bool has_precision = false, precision_is_argument = false;
    int width = 0, precision = 0;
    std::string_view size;
    char type = 0;
    std::size_t length = 0;  // in the format, with the per cent sign
};

class ConversionParser {
  public:
    explicit ConversionParser(std::string_view text) : text_(text) {}

    // False when it ends or has a type that does not exist.
    bool parse(Conversion& conversion) {
        position_ = 1;
        while (is_any_of("-+ #0")) conversion.flags += text_[position_++];
        conversion.has_width = parse_number(conversion.width, conversion.width_is_argument);
        if (is_any_of(".")) {
            ++position_;
            conversion.has_precision = true;
            parse_number(conversion.precision, conversion.precision_is_argument);
        }
        const std::size_t size = position_;
        while (is_any_of("hljztL")) ++position_;
        conversion.size = text_.substr(size, position_ - size);
        static constexpr std::string_view kSizes[] = {"", "hh", "h", "l", "ll", "j", "z", "t", "L"};
        if (std::find(std::begin(kSizes), std::end(kSizes), conversion.size) == std::end(kSizes))
            return false;
        if (!is_any_of("diuoxXcspfFeEgGaA%")) return false;
        conversion.type = text_[position_++];
        conversion.length = position_;
        return true;
    }

    std::size_t position() const { return position_; }

  private:
    bool is_any_of(std::string_view characters) const {
        return position_ < text_.size() && characters.find(text_[position_]) != std::string_view::npos;
    }

    bool parse_number(int& number, bool& is_argument) {
        if (is_any_of("*")) {
            ++position_;
            is_argument = true;
            return true;
        }
        bool found = false;
        while (is_any_of("0123456789")) {
            number = std::min(number * 10 + (text_[position_++] - '0'), kMaximumWidth);
            found = true;
        }
        return found;
    }

    std::string_view text_;
    std::size_t position_ = 0;
};

template <class T>
std::string print(const std::string& format, T value) {
    const int size = std::snprintf(nullptr, 0, format.c_str(), value);
    if (size <= 0) return "";
    std::string text(static_cast<std::size_t>(size) + 1, '\0');
    std::snprintf(text.data(), text.size(), format.c_str(), value);
    text.resize(static_cast<std::size_t>(size));
    return text;
}

bool is_wide(std::string_view size) {
    return !size.empty() && size.front() != 'h';
}

std::int64_t as_signed(std::uint64_t bits, std::string_view size) {
    if (is_wide(size)) return static_cast<std::int64_t>(bits);
    if (size == "hh") return static_cast<std::int8_t>(bits);
    if (size == "h") return static_cast<std::int16_t>(bits);
    return static_cast<std::int32_t>(bits);
}

std::uint64_t as_unsigned(std::uint64_t bits, std::string_view size) {
    if (is_wide(size)) return bits;
    if (size == "hh") return static_cast<std::uint8_t>(bits);
    if (size == "h") return static_cast<std::uint16_t>(bits);
    return static_cast<std::uint32_t>(bits);
}

std::string convert(const Conversion& c, const std::string& format, const PrintfSource& source) {
    switch (c.type) {
        case 'd':
        case 'i':
            return print(format + "ll" + c.type,
                         static_cast<long long>(as_signed(source.argument(is_wide(c.size) ? 8 : 4), c.size)));
        case 'u':
        case 'o':
        case 'x':
        case 'X':
            return print(format + "ll" + c.type, static_cast<unsigned long long>(as_unsigned(
                                                     source.argument(is_wide(c.size) ? 8 : 4), c.size)));
        case 'c':
            return print(format + 'c', static_cast<int>(static_cast<unsigned char>(source.argument(4))));
        case 'p':
            return print(format + 'p',
                         reinterpret_cast<void*>(static_cast<std::uintptr_t>(source.argument(8))));
        case 's': {
            const std::size_t limit = c.has_precision ? static_cast<std::size_t>(c.precision)
                                                      : std::numeric_limits<std::size_t>::max();
            return print(format + 's', source.text(source.argument(8), limit).c_str());
        }
        default:
            return print(format + c.type, std::bit_cast<double>(source.argument(8)));
    }
}

// Reads widths and precisions that are arguments.
void take_numbers(Conversion& c, const PrintfSource& source) {
    const auto take = [&] {
        const auto number = static_cast<std::int32_t>(source.argument(4));
        return std::clamp(number, -kMaximumWidth, kMaximumWidth);
    };
    if (c.width_is_argument) c.width = take();
    if (c.width < 0) {
        c.flags += '-';
        c.width = -c.width;
    }
    if (c.precision_is_argument) c.precision = take();
    if (c.precision < 0) c.has_precision = false;
}

}  // namespace

Printed format_printf(std::string_view format, const PrintfSource& source) {
    Printed printed;
    std::size_t at = 0;
    while (at < format.size()) {
        if (format[at] != '%') {
            const std::size_t end = std::min(format.find('%', at), format.size());
            printed.text += format.substr(at, end - at);
            at = end;
            continue;
        }
        Conversion c;
        ConversionParser parser(format.substr(at));
        if (!parser.parse(c)) {
            printed.problem = std::string(format.substr(at, parser.position() + 1));
            return printed;
        }
        const std::string_view written = format.substr(at, c.length);
        at += c.length;
        if (c.type == '%') {
            printed.text += '%';
            continue;
        }
        const unsigned needed = 1u + c.width_is_argument + c.precision_is_argument;
        if (printed.arguments + needed > kMaximumArguments) {
            printed.text += written;
            continue;
        }
        printed.arguments += needed;
        take_numbers(c, source);
        std::string specification = "%" + c.flags;
        if (c.has_width) specification += std::to_string(c.width);
        if (c.has_precision) specification += "." + std::to_string(c.precision);
        printed.text += convert(c, specification, source);
    }
    return printed;
}

}  // namespace heddle::ptx
