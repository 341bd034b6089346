// Whole JSON values, where they are small. Long texts are read by workloads/trace_files/json_stream.h, which
// keeps none of them.
#pragma once

#include <string>
#include <utility>

#include "isa/common/error.h"

namespace heddle {

/// Deepest nesting that is read. The JSON library writes, compares and destroys values by recursion, so
/// deeper ones could exhaust the stack.
inline constexpr int kDeepestJson = 64;

/// `Json` is nlohmann::json, or ordered_json where the order of members matters; `input` a text or a stream.
/// Throws heddle::Error when it is no JSON, or nests deeper than any file of Heddle's.
template <class Json, class Input>
Json parse_json(Input&& input) {
    const auto shallow = [](int depth, typename Json::parse_event_t, const Json&) {
        if (depth > kDeepestJson)
            throw Error("it is nested more than " + std::to_string(kDeepestJson) + " deep");
        return true;
    };
    try {
        return Json::parse(std::forward<Input>(input), shallow);
    } catch (const typename Json::parse_error& error) {
        throw Error("it is no JSON at byte " + std::to_string(error.byte));
    } catch (const typename Json::out_of_range&) {
        throw Error("it has a number that is too large");
    }
}

}  // namespace heddle
