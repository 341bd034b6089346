// Results of simulated kernels kept on disk between runs, so that an interrupted run resumes and a repeated
// one is quick. A kernel's time is a pure function of its key; the key starts with the identity of this very
// executable, so a changed model never reads an old result.
#pragma once

#include <optional>
#include <string>

namespace heddle::sim {

class KernelCache {
  public:
    /// The folder is $HEDDLE_CACHE, else $XDG_CACHE_HOME/heddle, else $HOME/.cache/heddle. HEDDLE_CACHE=off,
    /// or a folder that cannot be written, makes a cache that holds nothing.
    static KernelCache standard();
    static KernelCache disabled() { return KernelCache(""); }

    bool enabled() const { return !folder_.empty(); }
    std::optional<std::string> find(const std::string& key) const;
    /// Written aside and renamed, so that parallel runs never see half a result. Failures are ignored: it is
    /// a cache.
    void store(const std::string& key, const std::string& result) const;

  private:
    explicit KernelCache(std::string folder) : folder_(std::move(folder)) {}
    std::string path_of(const std::string& key) const;
    std::string folder_;
};

/// 128-bit hash as 32 hexadecimal digits; for file names and for naming texts in keys.
std::string hash_text(const std::string& text);
/// Of a file's contents; of nothing when it cannot be read.
std::string hash_file(const std::string& path);

}  // namespace heddle::sim
