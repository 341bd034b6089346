// Files that are written whole: beside links, devices, FIFOs and descriptors.
#include "isa/common/whole_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <thread>

#include "isa/common/error.h"
#include "support/folder.h"

using namespace heddle;
using heddle::tests::Folder;
using heddle::tests::text_of;
namespace fs = std::filesystem;

namespace {

std::size_t entries(const Folder& folder) {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()));
}

}  // namespace

TEST_CASE("a file is replaced whole and keeps its permissions") {
    const Folder folder;
    const std::string path = folder.write("out.json", "old");
    REQUIRE(::chmod(path.c_str(), 0640) == 0);
    write_whole_file(path, "new");
    CHECK(text_of(path) == "new");
    struct stat there {};
    REQUIRE(::stat(path.c_str(), &there) == 0);
    CHECK((there.st_mode & 07777) == 0640);
    CHECK(entries(folder) == 1);
}

TEST_CASE("a link stays, and the file that it leads to is written") {
    const Folder folder;
    folder.write("deep/target.json", "old");
    fs::create_symlink("deep/target.json", folder / "first");
    fs::create_symlink("first", folder / "second");
    write_whole_file(folder / "second", "new");
    CHECK(fs::is_symlink(folder / "second"));
    CHECK(fs::is_symlink(folder / "first"));
    CHECK(text_of(folder / "deep/target.json") == "new");
    // A link to a file that is not there yet makes it.
    fs::create_symlink("deep/fresh", folder / "third");
    write_whole_file(folder / "third", "made");
    CHECK(fs::is_symlink(folder / "third"));
    CHECK(text_of(folder / "deep/fresh") == "made");
    fs::create_symlink("loop", folder / "loop");
    CHECK_THROWS_AS(write_whole_file(folder / "loop", "x"), Error);
}

TEST_CASE("devices and FIFOs are written into") {
    write_whole_file("/dev/null", "gone");
    CHECK(fs::is_character_file("/dev/null"));
    const Folder folder;
    const std::string fifo = folder / "fifo";
    REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
    std::string read;
    std::thread reader([&] { read = text_of(fifo); });
    const std::string text(300'000, 'x');  // more than a FIFO holds
    write_whole_file(fifo, text);
    reader.join();
    CHECK(read == text);
    CHECK(fs::is_fifo(fifo));
    // As a disk that is full.
    CHECK_THROWS_WITH(write_whole_file("/dev/full", "x"),
                      Catch::Contains("/dev/full: cannot write the file: No space left"));
    CHECK(fs::is_character_file("/dev/full"));
}

TEST_CASE("a descriptor by name goes on where it stands") {
    const Folder folder;
    const std::string path = folder / "log";
    const int file = ::open(path.c_str(), O_WRONLY | O_CREAT, 0600);
    REQUIRE(file >= 0);
    REQUIRE(::write(file, "first ", 6) == 6);
    write_whole_file("/dev/fd/" + std::to_string(file), "second ");
    write_whole_file("/proc/self/fd/" + std::to_string(file), "third");
    ::close(file);
    CHECK(text_of(path) == "first second third");
    CHECK(entries(folder) == 1);
}

TEST_CASE("what a program writes aside reaches devices too") {
    const Folder folder;
    const std::string path = folder / "log";
    const int file = ::open(path.c_str(), O_WRONLY | O_CREAT, 0600);
    const auto writes = [](const std::string& aside) {
        std::ofstream(aside) << "packed";
        return true;
    };
    write_whole_file("/dev/fd/" + std::to_string(file), writes);
    ::close(file);
    CHECK(text_of(path) == "packed");
}

TEST_CASE("folders, protected files and places that are not there are told, and nothing is left") {
    const Folder folder;
    fs::create_directory(folder / "sub");
    CHECK_THROWS_WITH(write_whole_file(folder / "sub", "x"), Catch::Contains("this is a folder, not a file"));
    CHECK_THROWS_WITH(write_whole_file(folder / "none/file", "x"),
                      Catch::Contains("No such file or directory"));
    CHECK_THROWS_AS(write_whole_file(folder / "file", [](const std::string&) { return false; }), Error);
    CHECK(entries(folder) == 1);
    if (::getuid() == 0) {
        WARN("skipped: root may write protected files");
        return;
    }
    const std::string path = folder.write("mine", "old");
    REQUIRE(::chmod(path.c_str(), 0400) == 0);
    CHECK_THROWS_WITH(write_whole_file(path, "new"), Catch::Contains("write-protected"));
    CHECK(text_of(path) == "old");
}
