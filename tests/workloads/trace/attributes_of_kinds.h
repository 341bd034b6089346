// Whether what ops carry is what their kinds have keys for.
#pragma once

#include <algorithm>
#include <string>

#include "workloads/trace/trace.h"

namespace heddle::trace::test {

inline KeyType type_of(const Attribute& value) {
    return static_cast<KeyType>(value.index());  // both in the same order
}

/// Attributes of which the op's kind has no key, or one of another type: "matmul causal", one a line. Views
/// of operands are those of every kind.
inline std::string strange_attributes(const Trace& trace) {
    std::string strange;
    for (const Op& op : trace.ops) {
        for (const auto& [name, value] : op.attributes) {
            if (name.ends_with("_strides") || name.ends_with("_offset")) continue;
            const auto keys = keys_of(op.kind);
            const bool known = std::any_of(keys.begin(), keys.end(), [&](const Key& key) {
                return key == name && key.type == type_of(value);
            });
            const std::string line = name_of(op.kind) + " " + name + "\n";
            if (!known && strange.find(line) == std::string::npos) strange += line;
        }
    }
    return strange;
}

}  // namespace heddle::trace::test
