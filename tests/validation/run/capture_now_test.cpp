#include "validation/run/capture_now.h"

#include <catch2/catch.hpp>
#include <sstream>

#include "../read/capture_folder.h"
#include "isa/common/error.h"

using namespace heddle;
using namespace heddle::validation;
using heddle::validation::test::CaptureFolder;
namespace fs = std::filesystem;

namespace {

/// A program in place of heddle-capture: writes down how it was called, and does what `body` says.
fs::path stand_in(const CaptureFolder& folder, const std::string& body) {
    folder.write("program",
                 "#!/bin/sh\necho \"$@\" >> '" + (folder.path() / "calls").string() + "'\n" + body);
    fs::permissions(folder.path() / "program", fs::perms::owner_all);
    return folder.path() / "program";
}

std::string text_of(const fs::path& path) {
    std::ifstream stream(path);
    std::ostringstream text;
    text << stream.rdbuf();
    return text.str();
}

}  // namespace

TEST_CASE("the device is asked first, then everything is captured into the same folder") {
    const CaptureFolder folder("stand-in");
    const fs::path program = stand_in(folder, "exit 0\n");
    capture_now(program, folder.path() / "out");
    const std::string out = (folder.path() / "out").string();
    CHECK(text_of(folder.path() / "calls") ==
          "--output " + out + " --sections device\n--output " + out + "\n");
}

TEST_CASE("without a GPU the capture program's own last line is the error, and nothing more is asked") {
    const CaptureFolder folder("stand-in");
    const fs::path program =
        stand_in(folder, "echo progress >&2\necho 'heddle-capture: there is no CUDA device' >&2\nexit 2\n");
    CHECK_THROWS_WITH(
        capture_now(program, folder.path() / "out"),
        Catch::Contains("heddle-capture: there is no CUDA device") && !Catch::Contains("progress"));
    CHECK(text_of(folder.path() / "calls").find("--sections device") != std::string::npos);
    CHECK_FALSE(fs::exists(folder.path() / "out"));
}

TEST_CASE("a capture that breaks off later says how to go on") {
    const CaptureFolder folder("stand-in");
    const fs::path program = stand_in(folder, "[ \"$3\" = --sections ] && exit 0\nkill -9 $$\n");
    CHECK_THROWS_WITH(capture_now(program, folder.path() / "out"),
                      Catch::Contains("137") && Catch::Contains("run it again"));
}

TEST_CASE("a program that is not there is an error") {
    CHECK_THROWS_AS(capture_now("/nowhere/heddle-capture", "out"), Error);
}
