// Reads what heddle-capture wrote: manifest.json, and of each section NAME.jsonl and NAME.bin or NAME.bin.gz
// (docs/capture.md has the format).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "isa/common/error.h"

namespace heddle::validation {

/// The schema that this reader knows.
inline constexpr int kCaptureSchema = 1;

/// Whether `value` is a T without loss: no negative number where there can be none, no number that is too
/// large, no truth value or fraction as an integer (which nlohmann-json would convert in silence).
template <typename T>
bool is_kind(const nlohmann::json& value) {
    if constexpr (std::is_same_v<T, bool>) {
        return value.is_boolean();
    } else if constexpr (std::is_integral_v<T>) {
        if (value.is_number_unsigned()) return std::in_range<T>(value.template get<std::uint64_t>());
        return value.is_number_integer() && std::in_range<T>(value.template get<std::int64_t>());
    } else if constexpr (std::is_floating_point_v<T>) {
        return value.is_number();
    } else {
        return true;  // told by the conversion
    }
}

/// One line of a section, and the bytes that belong to it.
struct CapturedRecord {
    std::string id;         ///< unique in the section
    nlohmann::json values;  ///< the whole object
    std::vector<std::byte> binary;
    SourceLocation where;  ///< file and line, for errors

    /// The member `key` as T. Throws heddle::Error naming file, line and key when it is missing or of another
    /// kind.
    template <typename T>
    T get(const std::string& key) const {
        const auto member = values.find(key);
        if (member == values.end()) fail(key, "is missing");
        if (!is_kind<T>(*member)) fail(key, "is of another kind than expected");
        try {
            return member->template get<T>();
        } catch (const nlohmann::json::exception&) {
            fail(key, "is of another kind than expected");
        }
    }
    template <typename T>
    T get_or(const std::string& key, T fallback) const {
        return values.contains(key) ? get<T>(key) : fallback;
    }
    /// A number; the texts "nan", "inf" and "-inf" are numbers too.
    double number(const std::string& key) const;
    /// What was measured, and times in microseconds: finite, and not negative; of the times at least one.
    double measurement(const std::string& key) const;
    std::vector<double> times(const std::string& key) const;
    /// A hash or other text of hexadecimal digits.
    std::uint64_t hexadecimal(const std::string& key) const;
    [[noreturn]] void fail(const std::string& key, const std::string& problem) const;
};

struct CapturedSection {
    std::string name;
    bool complete = false;  ///< nothing that was planned is missing
    std::vector<CapturedRecord> records;

    /// nullptr when there is none.
    const CapturedRecord* find(const std::string& id) const;
};

/// A folder that heddle-capture wrote.
class RecordedCapture {
  public:
    /// Reads the manifest. Throws heddle::Error: no capture there, damaged, another schema; and when the
    /// capture was made by the simulator and `allow_simulator` is false.
    explicit RecordedCapture(std::filesystem::path folder, bool allow_simulator = false);

    const std::filesystem::path& folder() const { return folder_; }
    std::string name() const;  ///< of the folder
    const nlohmann::json& manifest() const { return manifest_; }
    const nlohmann::json& device() const { return device_; }  ///< what the device said of itself
    bool is_silicon() const { return silicon_; }
    std::string device_name() const;      ///< "NVIDIA H100 80GB HBM3"
    unsigned compute_capability() const;  ///< times ten: 90
    std::string date() const;
    std::string driver() const;  ///< driver and libraries, one line

    /// The hardware file that describes this GPU: "h100-sxm"; empty when there is none.
    std::string preset() const;

    /// Names of the sections that have records, in the order of the manifest.
    std::vector<std::string> sections() const;
    bool has(const std::string& section) const;
    /// Reads it at the first call. Throws heddle::Error: missing, damaged (file and line), binary that is too
    /// short.
    const CapturedSection& section(const std::string& name) const;

  private:
    std::filesystem::path folder_;
    nlohmann::json manifest_, device_;
    bool silicon_ = false;
    mutable std::map<std::string, CapturedSection> read_;
};

/// Captures under `folder` (each a folder of its own), sorted by name; none when it does not exist.
std::vector<std::filesystem::path> captures_in(const std::filesystem::path& folder);

}  // namespace heddle::validation
