// The folder that a run leaves: summary.json, kernels.csv, stats.sqlite, timeline.json, timeline.svg,
// report.html.
#pragma once

#include <map>
#include <string>

#include "sim/run/result.h"

namespace heddle::sim {

/// Writes all files into a new folder beside `path` and renames it when it is complete, so that an
/// interrupted run leaves nothing that looks finished. An earlier run's folder of the same name is replaced;
/// any other folder that is not empty, and any file, is a heddle::Error and stays as it is. A link to a
/// folder is followed and stays.
/// `more`: further files of the folder, by name.
void write_run_directory(const RunResult& result, const std::string& path,
                         const std::map<std::string, std::string>& more = {});

/// Throws the heddle::Error that write_run_directory() would throw, before hours of simulation.
void check_run_directory(const std::string& path);

}  // namespace heddle::sim
