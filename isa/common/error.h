// What goes wrong through no fault of Heddle: bad input, told once and clearly.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace heddle {

/// Where in the user's own files a problem lies. Empty parts are left out of the message.
struct SourceLocation {
    std::string file = {};  ///< as the user named it
    std::int64_t line = 0;  ///< 1-based; 0 when unknown
    std::string key = {};   ///< YAML path, PTX token, node id, ...
};

/// Bad input or bad usage: the command line prints `what()` and ends with exit code 2.
/// The message says what is wrong, where, and (third part) how to mend it.
class Error : public std::runtime_error {
  public:
    /// What kind of mistake a running kernel or a launch made, for interfaces that have a number for each.
    enum class Kind : std::uint8_t {
        other,
        assertion,              ///< a kernel's assert() failed
        trap,                   ///< a kernel executed trap
        misaligned,             ///< an address is not a multiple of what the access needs
        out_of_bounds,          ///< an access reaches what is not there
        resources,              ///< a thread block needs more than the device has
        cooperative_too_large,  ///< a cooperative launch does not fit the device at once
        no_image,               ///< a program has no code that the device can run
    };

    explicit Error(std::string problem, SourceLocation where = {}, std::string remedy = {},
                   Kind kind = Kind::other);

    /// The parts of the message: what is wrong, where, and how to mend it (empty where nothing can be said).
    /// what() has all of them.
    const std::string& problem() const { return problem_; }
    const SourceLocation& where() const { return where_; }
    const std::string& remedy() const { return remedy_; }
    Kind kind() const { return kind_; }

  private:
    std::string problem_;
    SourceLocation where_;
    std::string remedy_;
    Kind kind_;
};

/// The nearest of `candidates` to `word` by edit distance, or "" when none is near. For "did you mean"
/// remedies.
std::string nearest_word(const std::string& word, const std::string* candidates, std::size_t count);

}  // namespace heddle
