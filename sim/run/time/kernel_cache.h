// Results of simulated kernels, which are kept on disk between runs, so that an interrupted run resumes and a
// repeated one is quick. A kernel's time is a pure function of its key. The key contains the identity of the
// models, so a changed model never reads an old result.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace heddle::sim {

/// Tells other processes, as long as it exists, that a kernel is being simulated here. It holds a lock
/// (flock) on a file, which the system releases when the process dies; nothing relies on the file's contents.
/// A process that is stopped or hangs no longer renews its claim, and others may take over.
class KernelClaim {
  public:
    KernelClaim() = default;
    /// Takes over an open file that is locked.
    KernelClaim(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}
    ~KernelClaim();
    KernelClaim(KernelClaim&& other) noexcept;
    KernelClaim& operator=(KernelClaim&& other) noexcept;
    /// Tells other processes that the simulation is making progress.
    void renew() const;

  private:
    std::string path_;
    int descriptor_ = -1;
};

/// Returns the hash of the running executable, which contains the models, kernel generators and number
/// formats.
const std::string& executable_identity();

/// Sets the text that stands for the models in cache keys, in place of the executable's hash, so that
/// programs with the same models share results. It must be called before a cache is used. Results that depend
/// on code outside the models must have executable_identity() in their key.
void set_model_identity(const std::string& identity);

/// The cache of results, a folder with a file for each key. Several processes may use it at the same time.
class KernelCache {
  public:
    /// Opens the cache in $HEDDLE_CACHE, else $XDG_CACHE_HOME/heddle, else $HOME/.cache/heddle.
    /// HEDDLE_CACHE=off, or a folder that cannot be written, gives a cache that stores nothing. It holds at
    /// most $HEDDLE_CACHE_SIZE MiB (1024 where that is not set).
    static KernelCache standard();
    /// Returns standard(), or disabled() when `wanted` is false.
    static KernelCache standard_if(bool wanted) { return wanted ? standard() : disabled(); }
    static KernelCache disabled() { return KernelCache("", 0); }

    bool enabled() const { return !folder_.empty(); }
    const std::string& folder() const { return folder_; }
    /// Returns the result stored under a key. Returns nothing for a file that is damaged or belongs to
    /// another key; hashes in the file tell both.
    std::optional<std::string> find(const std::string& key) const;
    /// Stores a result. The file is written under a temporary name and renamed, so that parallel runs never
    /// see a partial result. Failures are ignored, because a cache is optional. After many stored bytes, the
    /// files that were used longest ago are removed.
    void store(const std::string& key, const std::string& result);
    /// Claims the kernel of this key before it is simulated. Returns nothing when another process has claimed
    /// it, for whose result the caller can wait. After a claim is granted, the caller must look for the
    /// result once more. Where claims cannot be kept (no cache, a full disk), every claim is granted.
    std::optional<KernelClaim> claim(const std::string& key) const;
    /// Returns when the claim on this key was last renewed, in nanoseconds of the file system's clock.
    /// Nothing when nobody holds a claim.
    std::optional<std::int64_t> claim_renewed(const std::string& key) const;
    /// Returns who holds the claim: "PID 4711", "PID 4711 (stopped)" or "another process"; empty when nobody
    /// does.
    std::string claim_holder(const std::string& key) const;
    /// Claims the kernel although another process holds a claim that has not been renewed since `renewed`.
    /// That process may continue later and store the same result again.
    std::optional<KernelClaim> take_over(const std::string& key, std::int64_t renewed) const;
    /// Removes the files that were used longest ago until at most nine tenths of the bound are left, and
    /// leftovers of interrupted runs. Does nothing while the folder is within its bound.
    void make_room();

  private:
    KernelCache(std::string folder, std::uint64_t bound) : folder_(std::move(folder)), bound_(bound) {}
    std::string path_of(const std::string& key) const;
    std::string folder_;
    std::uint64_t bound_ = 0, stored_ = 0;  ///< bytes
};

/// Returns a 128-bit hash as 32 hexadecimal digits, for file names and for texts in keys.
std::string hash_text(const std::string& text);
/// Returns the hash of a file's contents, or of an empty text when the file cannot be read.
std::string hash_file(const std::string& path);

}  // namespace heddle::sim
