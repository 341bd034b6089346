// One run of a capture: the sections that were asked for, on one device, into one folder.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "validation/capture/progress.h"
#include "validation/capture/section.h"

namespace heddle::capture {

struct CaptureRun {
    std::filesystem::path output;       ///< made when it is not there
    std::vector<std::string> sections;  ///< empty: all
    Extent extent = Extent::full;
    std::optional<double> limit_in_minutes;
    std::string command_line;  ///< for the manifest
    std::function<bool()> interrupted = [] { return false; };
    std::function<void()> beat = [] {};  ///< called before every item: it goes on
};

enum class Outcome {
    complete,     ///< every section that was asked for is
    stopped,      ///< interrupted, or out of time
    failed,       ///< a section ended with an error; the others were run
    device_lost,  ///< a new process may go on
};

/// Runs `sections` in their order; those that are complete in the folder's manifest are skipped, and so
/// are those of `left_out`, which lost the device before without getting further. After
/// `device_lost`, `stuck` names the section if this run added nothing to it. Throws heddle::Error: the folder
/// cannot be written, or holds another capture.
Outcome run_capture(Device& device, std::span<const Section> sections, const CaptureRun& run,
                    Progress& progress, const std::vector<std::string>& left_out = {},
                    std::string* stuck = nullptr);

}  // namespace heddle::capture
