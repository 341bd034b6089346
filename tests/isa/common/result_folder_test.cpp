// Folders of results: nothing of the user's is ever replaced.
#include "isa/common/result_folder.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <map>

#include "isa/common/error.h"
#include "support/folder.h"

using namespace heddle;
using heddle::tests::Folder;
using heddle::tests::text_of;
namespace fs = std::filesystem;

namespace {

/// Every file below the folder with its text, but for markers.
std::map<std::string, std::string> files_of(const fs::path& folder) {
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(folder))
        if (entry.is_regular_file() && entry.path().filename() != ResultFolder::kMarker)
            files[fs::relative(entry.path(), folder).string()] = text_of(entry.path());
    return files;
}

using Files = std::map<std::string, std::string>;

void write(const std::string& path, const Files& files, const std::string& kind = "run",
           ResultFolder::Use use = ResultFolder::Use::own) {
    ResultFolder folder(path, kind, "--out", use);
    for (const auto& [name, text] : files) folder.stage(name, text);
    folder.commit();
}

/// The current folder of this process, until the end.
class CurrentFolder {
  public:
    explicit CurrentFolder(const fs::path& path) : before_(fs::current_path()) { fs::current_path(path); }
    ~CurrentFolder() { fs::current_path(before_); }

  private:
    fs::path before_;
};

}  // namespace

TEST_CASE("a new folder is made whole, and later results replace only what was written before") {
    const Folder folder;
    const std::string out = folder / "out";
    write(out, {{"summary.json", "1"}, {"old.svg", "1"}});
    CHECK(files_of(out) == Files{{"summary.json", "1"}, {"old.svg", "1"}});
    folder.write("out/notes.txt", "mine");
    folder.write("out/sub/deep.txt", "mine too");
    write(out, {{"summary.json", "2"}, {"new.svg", "2"}});
    // What Heddle wrote and does not write any more is gone; the user's files are there.
    CHECK(
        files_of(out) ==
        Files{{"summary.json", "2"}, {"new.svg", "2"}, {"notes.txt", "mine"}, {"sub/deep.txt", "mine too"}});
    CHECK(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()) == 1);
}

TEST_CASE("a folder without the marker stays as it is, whatever it holds") {
    const Folder folder;
    folder.write("out/summary.json", "of another program");
    folder.write("out/.git/config", "precious");
    const Files before = files_of(folder.path());
    CHECK_THROWS_WITH(write(folder / "out", {{"summary.json", "2"}}),
                      Catch::Contains("none that says that Heddle wrote them"));
    CHECK(files_of(folder.path()) == before);
    CHECK_THROWS_WITH(write(folder / "out/summary.json", {{"summary.json", "2"}}),
                      Catch::Contains("a file, not a folder"));
    // An empty one is as good as a new one.
    fs::create_directory(folder / "empty");
    write(folder / "empty", {{"summary.json", "2"}});
    CHECK(files_of(folder / "empty") == Files{{"summary.json", "2"}});
}

TEST_CASE("files of the user in a marked folder are not replaced, and are told before the run") {
    const Folder folder;
    const std::string out = folder / "out";
    write(out, {{"summary.json", "1"}});
    folder.write("out/report.html", "mine");
    const ResultFolder checked(out, "run", "--out");
    CHECK_THROWS_WITH(checked.check({"summary.json", "report.html"}),
                      Catch::Contains("Heddle did not write it"));
    CHECK_THROWS_AS(write(out, {{"summary.json", "2"}, {"report.html", "2"}}), Error);
    CHECK(files_of(out) == Files{{"summary.json", "1"}, {"report.html", "mine"}});
}

TEST_CASE("the current folder, its parents, the home folder and the root are refused, empty or marked") {
    const Folder folder;
    fs::create_directories(folder / "work/inner");
    write(folder / "marked", {{"summary.json", "1"}});
    const auto refused = [&](const std::string& path) {
        CHECK_THROWS_WITH(ResultFolder(path, "run", "--out"), Catch::Contains("a folder of their own"));
    };
    {
        const CurrentFolder inner(folder / "work/inner");
        for (const char* path : {".", "./", "..", "../..", "/", "../inner", "../../work/inner/."})
            refused(path);
        fs::create_symlink(".", folder / "work/inner/link");
        refused("link");
    }
    {
        const CurrentFolder marked(folder / "marked");
        refused(".");
        CHECK(files_of(".") == Files{{"summary.json", "1"}});
    }
    const char* home = std::getenv("HOME");
    const std::string before = home == nullptr ? "" : home;
    ::setenv("HOME", (folder / "work").c_str(), 1);
    refused(folder / "work");
    refused(folder.path().string());
    if (home == nullptr) {
        ::unsetenv("HOME");
    } else {
        ::setenv("HOME", before.c_str(), 1);
    }
}

TEST_CASE("results of another kind are not replaced") {
    const Folder folder;
    write(folder / "out", {{"exploration.sqlite", "days of work"}}, "exploration");
    CHECK_THROWS_WITH(write(folder / "out", {{"summary.json", "1"}}),
                      Catch::Contains("results of another kind (exploration)"));
    CHECK(files_of(folder / "out") == Files{{"exploration.sqlite", "days of work"}});
}

TEST_CASE("files that are written in place are claimed, and survive later results") {
    const Folder folder;
    const std::string out = folder / "out";
    for (const char* round : {"1", "2"}) {
        ResultFolder results(out, "exploration", "--out");
        results.claim({"exploration.sqlite"});
        folder.write("out/exploration.sqlite", round);
        results.stage("points.csv", round);
        results.commit();
        CHECK(files_of(out) == Files{{"exploration.sqlite", round}, {"points.csv", round}});
    }
    folder.write("foreign/exploration.sqlite", "of somebody else");
    CHECK_THROWS_AS(ResultFolder(folder / "foreign", "exploration", "--out").claim({"exploration.sqlite"}),
                    Error);
}

TEST_CASE("a shared folder may be any, and only files that Heddle wrote there are replaced") {
    const Folder folder;
    folder.write("input.npy", "mine");
    const auto shared = ResultFolder::Use::shared;
    write(folder.path().string(), {{"c.npy", "1"}}, "kernel outputs", shared);
    write(folder.path().string(), {{"d.npy", "1"}}, "TPU programs", shared);
    write(folder.path().string(), {{"c.npy", "2"}}, "kernel outputs", shared);
    CHECK(files_of(folder.path()) == Files{{"input.npy", "mine"}, {"c.npy", "2"}, {"d.npy", "1"}});
    CHECK_THROWS_AS(write(folder.path().string(), {{"input.npy", "2"}}, "kernel outputs", shared), Error);
    CHECK(text_of(folder / "input.npy") == "mine");
}

TEST_CASE("a link to a folder is followed and stays") {
    const Folder folder;
    fs::create_directory(folder / "disk");
    fs::create_symlink("disk/run", folder / "out");
    write(folder / "out", {{"summary.json", "1"}});
    write(folder / "out", {{"summary.json", "2"}});
    CHECK(fs::is_symlink(folder / "out"));
    CHECK(files_of(folder / "disk") == Files{{"run/summary.json", "2"}});
}

TEST_CASE("a marker from an archive of somebody else leads nowhere") {
    const Folder folder;
    folder.write("precious", "mine");
    for (const char* name : {"../precious", "..", "/etc/passwd", "sub/file", "", ".heddle-results"}) {
        folder.write("out/.heddle-results", std::string("kind: run\nfile: ") + name + "\n");
        CHECK_THROWS_WITH(write(folder / "out", {{"summary.json", "1"}}), Catch::Contains("is no marker"));
    }
    folder.write("out/.heddle-results", std::string("\x7f\x45\x4c\x46", 4));
    CHECK_THROWS_AS(write(folder / "out", {{"summary.json", "1"}}), Error);
    // A folder that it names is never removed.
    fs::remove_all(folder / "out");
    folder.write("out/sources/a.cpp", "mine");
    folder.write("out/.heddle-results", "kind: run\nfile: sources\n");
    write(folder / "out", {{"summary.json", "1"}});
    CHECK(files_of(folder / "out") == Files{{"sources/a.cpp", "mine"}, {"summary.json", "1"}});
    CHECK(text_of(folder / "precious") == "mine");
}

TEST_CASE("results that are not finished leave nothing") {
    const Folder folder;
    {
        ResultFolder results(folder / "out", "run", "--out");
        results.stage("summary.json", "half");
    }
    CHECK(fs::is_empty(folder.path()));
    write(folder / "out", {{"summary.json", "1"}});
    {
        ResultFolder results(folder / "out", "run", "--out");
        results.stage("summary.json", "half");
    }
    CHECK(files_of(folder.path()) == Files{{"out/summary.json", "1"}});
}
