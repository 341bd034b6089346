// Whether everything that Heddle needs is installed, and what could be installed in addition.
#pragma once

#include <string>
#include <vector>

namespace heddle::cli {

/// One check and its outcome.
struct Check {
    enum class State {
        good,
        absent,  ///< optional and not installed
        bad,     ///< must be repaired
    };
    std::string group;  ///< "Heddle", "this machine", "optional tools", "data"
    std::string name;
    State state = State::good;
    std::string finding;
    std::string remedy;  ///< one line; empty when all is well
};

/// Performs all checks. It changes nothing, except that it creates the cache's folder when that does not
/// exist.
std::vector<Check> examine();

/// Format the checks for people and as JSON; all_good() says whether none is bad.
std::string format_checks(const std::vector<Check>& checks, std::size_t width, bool colours);
std::string checks_json(const std::vector<Check>& checks);
bool all_good(const std::vector<Check>& checks);

}  // namespace heddle::cli
