// Which names and units have all results in common? docs/results.schema.json says it for scripts.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace heddle::sim {

/// The version of the common names, in every JSON object that a command prints: "heddle-result/1".
inline constexpr const char* kResultSchema = "heddle-result/1";

/// Gives the answer of a command what all answers have: "schema", "command", and where the answer has them by another name or unit
/// "time_us" (microseconds), "cycles", "coverage" (shares "cycle", "estimated", "unknown") and "energy_j" (joules). Objects within it that are
/// results of their own (of two runs, of plans, of devices, of launches) get the figures, too. Names that were there stay. A list is
/// answered by a list of such objects.
void add_common_names(nlohmann::ordered_json& answer, std::string_view command);

/// Does the same with JSON as text, and adds "simulation" (wall_s, processor_s of this process and of those that it waited for) where it
/// is missing. `text` is one JSON value; returns it with an indentation of two.
std::string with_common_names(const std::string& text, std::string_view command);

}  // namespace heddle::sim
