// The folder that a run leaves: summary.json, kernels.csv, stats.sqlite, timeline.json, timeline.svg,
// report.html.
#pragma once

#include <map>
#include <string>

#include "sim/run/assemble/result.h"

namespace heddle::sim {

/// Writes all files aside and gives them their places when they are complete, so that an interrupted run leaves nothing
/// that looks finished. What an earlier run left there is replaced; other files stay. A folder that Heddle has not
/// marked as its own (isa/common/result_folder.h) and that is not empty, and any file, is a heddle::Error.
/// `more`: further files of the folder, by name.
void write_run_directory(const RunResult& result, const std::string& path,
                         const std::map<std::string, std::string>& more = {});

/// Throws the heddle::Error that write_run_directory() would throw, before hours of simulation.
void check_run_directory(const std::string& path);

}  // namespace heddle::sim
