#include "sim/report/run_directory.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <system_error>

#include "isa/common/error.h"
#include "sim/report/database.h"
#include "sim/report/kernels_csv.h"
#include "sim/report/run_page.h"
#include "sim/report/step_picture.h"
#include "sim/report/summary.h"

namespace heddle::sim {
namespace {

namespace fs = std::filesystem;

/// A folder that goes away unless it is kept.
class TemporaryFolder {
  public:
    explicit TemporaryFolder(const fs::path& path) : path_(path) {
        std::error_code failure;
        fs::remove_all(path_, failure);
        if (!fs::create_directories(path_, failure)) {
            throw Error("cannot make the folder: " + failure.message(), {path_.string(), 0, ""},
                        "choose another with --out");
        }
    }
    ~TemporaryFolder() {
        std::error_code ignored;
        fs::remove_all(path_, ignored);
    }
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;
    const fs::path& path() const { return path_; }

  private:
    fs::path path_;
};

void write_file(const fs::path& path, const std::string& text) {
    std::ofstream stream(path, std::ios::binary);
    stream << text;
    stream.close();
    if (!stream) throw Error("cannot write the file", {path.string(), 0, ""}, "is the disk full?");
}

void rename_folder(const fs::path& from, const fs::path& to) {
    std::error_code failure;
    fs::rename(from, to, failure);
    if (failure) throw Error("cannot rename to it: " + failure.message(), {to.string(), 0, ""});
}

/// Where the folder lies: a link leads to it, and stays a link.
fs::path place_of(const std::string& path) {
    fs::path folder = fs::absolute(path).lexically_normal();
    if (!folder.has_filename()) folder = folder.parent_path();
    std::error_code failure;
    for (int links = 0; fs::is_symlink(folder, failure); ++links) {
        // As many as the system follows.
        if (links == 40)
            throw Error("is a link that leads to itself", {path, 0, ""}, "choose another with --out");
        fs::path target = fs::read_symlink(folder, failure);
        if (failure) throw Error("cannot read the link: " + failure.message(), {path, 0, ""});
        folder = (folder.parent_path() / target).lexically_normal();
        if (!folder.has_filename()) folder = folder.parent_path();
    }
    return folder;
}

fs::path beside(const fs::path& folder, const char* what) {
    return folder.parent_path() /
           ("." + folder.filename().string() + "." + what + "-" + std::to_string(getpid()));
}

}  // namespace

void check_run_directory(const std::string& path) {
    if (path.empty()) throw Error("no folder is named", {"--out", 0, ""});
    const fs::path folder = place_of(path);
    std::error_code ignored;
    if (!fs::exists(folder, ignored)) return;
    if (!fs::is_directory(folder, ignored)) {
        throw Error("this is a file, not a folder", {path, 0, ""}, "choose another with --out");
    }
    if (!fs::is_empty(folder, ignored) && !fs::exists(folder / "summary.json", ignored)) {
        throw Error("the folder holds something that is not a run", {path, 0, ""},
                    "choose another with --out, or empty it");
    }
}

void write_run_directory(const RunResult& result, const std::string& path,
                         const std::map<std::string, std::string>& more) {
    check_run_directory(path);
    const fs::path folder = place_of(path);
    const TemporaryFolder fresh(beside(folder, "partial"));
    write_file(fresh.path() / "summary.json", summary_json(result));
    write_file(fresh.path() / "kernels.csv", kernels_csv(result));
    write_file(fresh.path() / "timeline.json", timeline_json(result));
    write_file(fresh.path() / "report.html", report_html(result));
    if (const std::string picture = timeline_svg(result); !picture.empty())
        write_file(fresh.path() / "timeline.svg", picture);
    write_database(result, (fresh.path() / "stats.sqlite").string());
    for (const auto& [name, text] : more) write_file(fresh.path() / name, text);
    std::error_code ignored;
    if (!fs::exists(folder, ignored)) {
        rename_folder(fresh.path(), folder);
        return;
    }
    const TemporaryFolder old(beside(folder, "old"));
    rename_folder(folder, old.path());  // onto an empty folder
    rename_folder(fresh.path(), folder);
}

}  // namespace heddle::sim
