// manifest.json: what a capture is of, when and how it was taken, and which of its sections are complete.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "validation/capture/record.h"
#include "validation/capture/section.h"

namespace heddle::capture {

/// Of the whole format: manifest, lines and bytes (docs/capture.md). A reader refuses another one.
inline constexpr int kSchema = 1;
/// Heddle's own: "0.1.0".
const char* tool_version();

const char* name_of(Extent extent);

struct SectionState {
    bool complete = false;
    std::size_t records = 0;
    std::size_t errors = 0;  ///< records that say what went wrong
    double seconds = 0;      ///< all runs together
    std::string failure;     ///< why it ended before its end, when it did
    Record telemetry_before, telemetry_after;
};

struct RunState {
    std::string date, command_line, outcome;
    double seconds = 0;
};

struct Manifest {
    bool silicon = false;
    Extent extent = Extent::full;
    std::string date, updated;  ///< UTC: first started, last written
    Record device;              ///< what Device::describe() said
    std::string device_name, driver_version, library_version;
    std::vector<std::string> order;  ///< of the sections
    std::map<std::string, SectionState> sections;
    std::vector<RunState> runs;

    std::string json() const;
};

/// "2026-01-31T12:00:00Z"
std::string date_now();

/// A manifest for this device, without sections.
Manifest manifest_of(const Device& device, Extent extent);
/// The one in `folder`, if there is one. Throws heddle::Error when it cannot be read or has another schema.
std::optional<Manifest> read_manifest(const std::filesystem::path& folder);
/// Throws heddle::Error when `there` is of another device, driver, library or extent than `now`.
void check_same_capture(const Manifest& there, const Manifest& now, const std::filesystem::path& folder);
/// Written aside and renamed. Sets `updated`.
void write_manifest(Manifest& manifest, const std::filesystem::path& folder);

}  // namespace heddle::capture
