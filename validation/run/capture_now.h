// Captures on this machine's GPU by running heddle-capture.
#pragma once

#include <filesystem>
#include <string>

namespace heddle::validation {

/// heddle-capture beside the running program, or in the build tree that it is part of. Throws heddle::Error
/// when there is none.
std::filesystem::path capture_program();

/// "capture-2026-11-21": of today, in UTC.
std::string dated_capture_name();

/// Runs `program` into `folder`, where it goes on if a capture was begun there. Its progress goes to stderr.
/// Throws heddle::Error with the program's own last line when it fails; first of all, before anything
/// else is asked of it, when there is no GPU.
void capture_now(const std::filesystem::path& program, const std::filesystem::path& folder);

}  // namespace heddle::validation
