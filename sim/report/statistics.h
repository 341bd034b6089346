// What every number of a result means: docs/statistics.md is printed from here, and a test holds the files of
// a run to it.
#pragma once

#include <string>
#include <vector>

namespace heddle::sim {

struct Statistic {
    std::string name;  ///< as in the files; `<word>` stands for any name of the group that `word` says
    std::string unit;  ///< "us", "bytes", "share": 0..1; empty: text, or a count
    std::string meaning;
};

struct StatisticGroup {
    std::string word;   ///< that names it in other groups: "reason"
    std::string title;  ///< "Where the time of a GPU's issue slots goes"
    std::string where;  ///< in which files they stand
    std::vector<Statistic> statistics;
};

/// All of them, in the order of the page.
const std::vector<StatisticGroup>& statistic_groups();

/// The page, as Markdown.
std::string statistics_page();

}  // namespace heddle::sim
