// Text to a JSON value, with an error that names the line.
#pragma once

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>

#include "isa/common/error.h"

namespace heddle::trace {

/// `Json` is nlohmann::json, or ordered_json where the order of members matters. Throws heddle::Error when
/// the text is malformed.
template <class Json>
Json parse_json(const std::string& text, const std::string& file) {
    try {
        return Json::parse(text);
    } catch (const typename Json::parse_error& error) {
        const std::size_t place = std::min<std::size_t>(error.byte, text.size());
        const auto line =
            1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(place), '\n');
        throw Error("this is not valid JSON at byte " + std::to_string(error.byte),
                    {.file = file, .line = line});
    }
}

}  // namespace heddle::trace
