// Folders of results: what Heddle wrote there, and nothing else, is ever replaced.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace heddle {

/// A folder that results are written to. Its marker, the file `.heddle-results`, says of which kind they are
/// and names every file that Heddle wrote. Later results of the same kind replace or remove those; every
/// other file stays as it is. New files are written aside (`staging()`) and take their places in `commit()`,
/// so that an interrupted run leaves the old results, the new ones, or none.
class ResultFolder {
  public:
    /// Own: the folder is for these results alone, so it is new, empty, or marked; the current folder, the
    /// home folder and what these lie in are refused. Shared: it may be any folder of the user's.
    enum class Use { own, shared };

    /// `kind`: what the results are, in the words of messages: "run", "exploration". `option`: where the user
    /// named the folder, for messages. A link to a folder is followed and stays. Throws heddle::Error when
    /// results of this kind may not be written there: before hours of simulation.
    ResultFolder(const std::string& path, std::string kind, std::string option, Use use = Use::own);
    ~ResultFolder();
    ResultFolder(const ResultFolder&) = delete;
    ResultFolder& operator=(const ResultFolder&) = delete;

    /// Throws heddle::Error when one of these files is there and Heddle did not write it.
    void check(const std::vector<std::string>& names) const;

    /// Makes the folder, if it is not there, and marks these files in it as Heddle's: they are written in
    /// place, by the caller, after check().
    void claim(const std::vector<std::string>& names);

    /// A new folder for files that are not finished. It goes away with this object.
    const std::filesystem::path& staging();

    /// Writes one file to staging().
    void stage(const std::string& name, const std::string& text);

    /// Gives every file of staging() its place. Own: files of earlier results that are neither staged nor
    /// claimed are removed.
    void commit();

    /// The file name of the marker.
    static constexpr const char* kMarker = ".heddle-results";

  private:
    std::set<std::string> listed() const;
    void check_place() const;
    void check_marker() const;
    void write_marker(const std::filesystem::path& folder, const std::set<std::string>& names) const;
    void replace(const std::set<std::string>& staged);

    std::string told_;  ///< as the user named it
    std::string kind_;
    std::string option_;
    Use use_;
    std::filesystem::path folder_;   ///< at the end of all links
    std::filesystem::path staging_;  ///< empty until it is asked for
    std::set<std::string> claimed_;
};

}  // namespace heddle
