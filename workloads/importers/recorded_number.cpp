#include "workloads/importers/recorded_number.h"

#include <string>

namespace heddle::importers {

using trace::JsonView;

std::optional<double> admitted_number(const JsonView& value, const Gate& gate, double fallback) {
    if (!value.exists()) return fallback;
    if (value.kind() != JsonView::Kind::integer && value.kind() != JsonView::Kind::real) return std::nullopt;
    const double number = value.number(fallback);
    return number == fallback || gate.admits(number) ? std::optional(number) : std::nullopt;
}

std::optional<std::int64_t> admitted_count(const JsonView& value, const Gate& gate, std::int64_t fallback) {
    if (!value.exists()) return fallback;
    if (value.kind() == JsonView::Kind::real && !gate.admits(value.number(0))) return std::nullopt;
    // What is no number of 64 bits becomes the one and the other.
    const std::int64_t number = value.integer(-1);
    if (number == -1 && value.integer(-2) == -2) return std::nullopt;
    return number == fallback || gate.admits(number) ? std::optional(number) : std::nullopt;
}

void refuse(const JsonView& value, const Gate& gate, const SourceLocation& where) {
    switch (value.kind()) {
        case JsonView::Kind::integer:
            gate.refuse(std::to_string(value.integer(0)), where);
        case JsonView::Kind::real:
            gate.refuse(value.number(0), where);
        case JsonView::Kind::text:
            gate.refuse(std::string(value.text()), where);
        case JsonView::Kind::nothing:
            gate.refuse("null or nan", where);
        default:
            gate.refuse("a list, an object or a truth value", where);
    }
}

}  // namespace heddle::importers
