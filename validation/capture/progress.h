// Tells people how far a capture has come: a line that is rewritten on a terminal; elsewhere a line for each
// section, and one about every ten seconds, later thirty. Everything goes to standard error.
#pragma once

#include <chrono>
#include <string>

namespace heddle::capture {

class Progress {
  public:
    /// `terminal`: standard error is one.
    /// `between_lines`: of a log, while a section is young.
    explicit Progress(bool terminal, std::chrono::milliseconds between_lines = std::chrono::seconds(10))
        : terminal_(terminal), between_lines_(between_lines) {}
    static Progress for_standard_error();

    void begin(const std::string& section, std::size_t already_there);
    /// 0..1 of the section, and what is being done. On a terminal it is rewritten at most ten times a second.
    void update(double fraction, const std::string& doing);
    /// Ends the rewritten line and prints a line that stays.
    void say(const std::string& line);

  private:
    using Clock = std::chrono::steady_clock;
    bool due(Clock::time_point now) const;
    bool terminal_ = false;
    std::chrono::milliseconds between_lines_;
    std::string section_;
    Clock::time_point begun_{}, shown_{};
    double first_fraction_ = -1;  ///< what an earlier run had done already
};

/// "2 min 05 s", "12 s"
std::string duration_text(double seconds);

}  // namespace heddle::capture
