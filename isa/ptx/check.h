// What a checked run looks for beyond what every run refuses (accesses out of bounds or misaligned,
// deadlock), in the spirit of compute-sanitizer: its initcheck, racecheck and synccheck for shared and local
// memory.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace heddle::ptx {

/// What to look for, and how much to report.
struct CheckOptions {
    bool initialisation = true;  ///< reads of shared or local memory that nobody has written
    bool races = true;           ///< accesses to shared memory that nothing orders, one of them a write
    /// Barriers that not all threads reach together; arrivals at mbarriers of CTAs that have exited.
    bool barriers = true;
};

/// One kind of error at one place of a program.
struct CheckFinding {
    /// Each option of CheckOptions leads to findings of one kind.
    enum class Kind : std::uint8_t { uninitialised, race, barrier };
    Kind kind = Kind::uninitialised;  ///< what was done
    /// One sentence with kernel, CTA, warp, lane, PTX line, CUDA line, address and what lies there.
    std::string text;
    std::uint32_t line = 0;   ///< of the PTX text
    std::uint64_t count = 1;  ///< times that the same instructions did it
};
/// One word for reports.
std::string_view name_of(CheckFinding::Kind kind);

/// The findings of any number of launches. The same instructions are told once, with a count.
class CheckLog {
  public:
    explicit CheckLog(const CheckOptions& options = {}) : options_(options) {}
    /// As given to the constructor, and what was found so far, in order of first occurrence.
    const CheckOptions& options() const { return options_; }
    const std::vector<CheckFinding>& findings() const { return findings_; }

    /// Whether this finding is new; the caller then makes its text and calls add(). `instruction` and `other`
    /// tell findings of a kernel apart.
    bool count(CheckFinding::Kind kind, const std::string& kernel, std::uint32_t instruction,
               std::uint32_t other);
    void add(CheckFinding finding);

  private:
    using Key = std::tuple<CheckFinding::Kind, std::string, std::uint32_t, std::uint32_t>;
    CheckOptions options_;
    std::vector<CheckFinding> findings_;
    std::map<Key, std::size_t> index_;  // of findings_
};

}  // namespace heddle::ptx
