// Files of a capture: whole ones are written aside and renamed; long ones are compressed by `gzip`.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace heddle::capture {

/// Throws heddle::Error.
std::string read_file(const std::filesystem::path& path);
/// Written to PATH.part, then renamed: a reader sees the old text or the new one. Throws heddle::Error.
void write_file(const std::filesystem::path& path, std::string_view text);

/// Keeps other processes out of a folder as long as it lives.
class FolderLock {
  public:
    /// Throws heddle::Error when another process has it. File systems that cannot lock are not locked.
    explicit FolderLock(const std::filesystem::path& folder);
    ~FolderLock();
    FolderLock(const FolderLock&) = delete;
    FolderLock& operator=(const FolderLock&) = delete;

  private:
    int descriptor_;
};

/// Runs the `gzip` program: `from` compressed, or with `expand` expanded, becomes `to`, and `from` is
/// removed. False, with both as they were, when there is no gzip or it fails.
bool gzip_file(const std::filesystem::path& from, const std::filesystem::path& to, bool expand = false);

}  // namespace heddle::capture
