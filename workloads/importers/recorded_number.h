// Numbers in JSON recordings that become sizes, counts and times.
#pragma once

#include <cstdint>
#include <optional>

#include "isa/common/checked.h"
#include "workloads/trace_files/json_stream.h"

namespace heddle::importers {

/// Returns a number that the gate admits. When nothing was recorded, returns `fallback`, which a file may
/// also contain. Returns nothing for any other value, including NaN and infinities.
std::optional<double> admitted_number(const trace::JsonView& value, const Gate& gate, double fallback);
/// Does the same for a whole number, whose digits may also be given as text.
std::optional<std::int64_t> admitted_count(const trace::JsonView& value, const Gate& gate,
                                           std::int64_t fallback);
[[noreturn]] void refuse(const trace::JsonView& value, const Gate& gate, const SourceLocation& where);

/// Does the same, but throws heddle::Error for any other value. `place()` returns its location and is called
/// only then.
template <class Place>
double recorded_number(const trace::JsonView& value, const Gate& gate, double fallback, const Place& place) {
    const auto number = admitted_number(value, gate, fallback);
    if (!number) refuse(value, gate, place());
    return *number;
}
template <class Place>
std::int64_t recorded_count(const trace::JsonView& value, const Gate& gate, std::int64_t fallback,
                            const Place& place) {
    const auto number = admitted_count(value, gate, fallback);
    if (!number) refuse(value, gate, place());
    return *number;
}

}  // namespace heddle::importers
