// Is everything here that Heddle needs, and what could be here besides?
#pragma once

#include <string>
#include <vector>

namespace heddle::cli {

struct Check {
    enum class State {
        good,
        absent,  ///< optional, and not here
        bad,     ///< must be mended
    };
    std::string group;  ///< "Heddle", "this machine", "optional tools", "data"
    std::string name;
    State state = State::good;
    std::string finding;
    std::string remedy;  ///< one line; empty when all is well
};

/// Changes nothing; the cache's folder is made when it is not there.
std::vector<Check> examine();

std::string format_checks(const std::vector<Check>& checks, std::size_t width, bool colours);
std::string checks_json(const std::vector<Check>& checks);
bool all_good(const std::vector<Check>& checks);

}  // namespace heddle::cli
