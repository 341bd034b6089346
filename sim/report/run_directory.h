// The folder that a run writes: summary.json, kernels.csv, stats.sqlite, timeline.json, timeline.svg,
// report.html.
#pragma once

#include <map>
#include <string>

#include "sim/run/assemble/result.h"

namespace heddle::sim {

/// Writes all files under temporary names and renames them when they are complete, so that an interrupted run
/// leaves nothing that looks finished. Files of an earlier run are replaced; other files stay. `more`
/// contains further files by name. Throws heddle::Error when `path` is a file, or a folder that is not empty
/// and that Heddle has not marked as its own (isa/common/result_folder.h).
void write_run_directory(const RunResult& result, const std::string& path,
                         const std::map<std::string, std::string>& more = {});

/// Throws the heddle::Error that write_run_directory() would throw for `path`, so that a command can fail
/// before a long simulation.
void check_run_directory(const std::string& path);

}  // namespace heddle::sim
