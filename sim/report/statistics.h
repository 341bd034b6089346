// The meaning of every number of a result. docs/statistics.md is generated from here, and a test compares the
// files of a run with it.
#pragma once

#include <string>
#include <vector>

namespace heddle::sim {

/// One number or text of the result files.
struct Statistic {
    std::string name;  ///< as in the files; `<word>` stands for any name of the group with that `word`
    std::string unit;  ///< "us", "bytes", "share": 0..1; empty: text, or a count
    std::string meaning;
};

/// Statistics that are found in the same place.
struct StatisticGroup {
    std::string word;   ///< what other groups call a name of this group: "reason"
    std::string title;  ///< "Where the time of a GPU's issue slots goes"
    std::string where;  ///< the files that contain them
    std::vector<Statistic> statistics;
};

/// Returns all groups in the order of the page.
const std::vector<StatisticGroup>& statistic_groups();

/// Returns docs/statistics.md as Markdown.
std::string statistics_page();

}  // namespace heddle::sim
