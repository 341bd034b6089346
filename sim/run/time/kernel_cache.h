// Results of simulated kernels kept on disk between runs, so that an interrupted run resumes and a repeated
// one is quick. A kernel's time is a pure function of its key; the key starts with the identity of this very
// executable, so a changed model never reads an old result.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace heddle::sim {

/// While it lives, other processes know that a kernel is being simulated. A process that dies, however, lets
/// go of what it held: the system keeps these locks, and no file has to be believed. One that does not die
/// but gets no further (it is stopped, or hangs) no longer renews what it holds.
class KernelClaim {
  public:
    KernelClaim() = default;
    /// An open, locked file.
    KernelClaim(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}
    ~KernelClaim();
    KernelClaim(KernelClaim&& other) noexcept;
    KernelClaim& operator=(KernelClaim&& other) noexcept;
    /// Tells the others that the simulation goes on.
    void renew() const;

  private:
    std::string path_;
    int descriptor_ = -1;
};

/// Hash of the running executable: models, kernel generators and number formats are all in it.
const std::string& executable_identity();

/// Programs that hold the same models share results: `identity` stands for the models in place of the executable. To be called before a
/// cache is asked. Whoever caches what depends on more than the rooms up to this one puts executable_identity() into the key.
void set_model_identity(const std::string& identity);

class KernelCache {
  public:
    /// The folder is $HEDDLE_CACHE, else $XDG_CACHE_HOME/heddle, else $HOME/.cache/heddle. HEDDLE_CACHE=off,
    /// or a folder that cannot be written, makes a cache that holds nothing. It holds at most
    /// $HEDDLE_CACHE_SIZE MiB (1024 where that is not set).
    static KernelCache standard();
    /// standard(), or disabled() when `wanted` is false.
    static KernelCache standard_if(bool wanted) { return wanted ? standard() : disabled(); }
    static KernelCache disabled() { return KernelCache("", 0); }

    bool enabled() const { return !folder_.empty(); }
    const std::string& folder() const { return folder_; }
    /// Nothing for a file that is damaged or that another key left: both carry hashes.
    std::optional<std::string> find(const std::string& key) const;
    /// Written aside and renamed, so that parallel runs never see half a result. Failures are ignored: it is
    /// a cache. When many bytes have been stored, the files that were used longest ago make room.
    void store(const std::string& key, const std::string& result);
    /// Before the kernel of this key is simulated: nothing when another process is about it, whose result can
    /// be waited for. Look for the result once more when the claim is granted. Where claims cannot be kept
    /// (no cache, a full disk), everyone is granted theirs.
    std::optional<KernelClaim> claim(const std::string& key) const;
    /// When whoever is about the kernel of this key has renewed the claim last, in nanoseconds as the file
    /// system counts. Nothing when nobody is about it.
    std::optional<std::int64_t> claim_renewed(const std::string& key) const;
    /// Who that is: "PID 4711", "PID 4711 (stopped)", "another process". "" when nobody is.
    std::string claim_holder(const std::string& key) const;
    /// The same as claim(), though another process is about it whose claim is still as old as `renewed` says.
    /// It may go on later and store the same result once more.
    std::optional<KernelClaim> take_over(const std::string& key, std::int64_t renewed) const;
    /// Removes the files that were used longest ago until at most nine tenths of the bound are left, and what
    /// interrupted runs left behind. Does nothing while the folder is within its bound.
    void make_room();

  private:
    KernelCache(std::string folder, std::uint64_t bound) : folder_(std::move(folder)), bound_(bound) {}
    std::string path_of(const std::string& key) const;
    std::string folder_;
    std::uint64_t bound_ = 0, stored_ = 0;  ///< bytes
};

/// 128-bit hash as 32 hexadecimal digits; for file names and for naming texts in keys.
std::string hash_text(const std::string& text);
/// Of a file's contents; of nothing when it cannot be read.
std::string hash_file(const std::string& path);

}  // namespace heddle::sim
