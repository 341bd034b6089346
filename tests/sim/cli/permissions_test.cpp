// What files of others may make Heddle do: nothing but be read, unless --allow-programs says so.
#include <catch2/catch.hpp>

#include "support/command.h"

using heddle::tests::Folder;
using heddle::tests::Outcome;
using heddle::tests::run_heddle;
using heddle::tests::text_of;
namespace fs = std::filesystem;

namespace {

const std::string kSaxpy = HEDDLE_SOURCE_DIR "/examples/kernels/saxpy/";

/// The example's launch with more keys.
std::string launch_with(const std::string& keys) {
    return text_of(kSaxpy + "launch.yaml") + "\n" + keys;
}

}  // namespace

TEST_CASE("a launch file writes nothing outside the folder of its outputs") {
    const Folder folder;
    fs::copy(kSaxpy, folder / "in");
    fs::create_directories(folder / "elsewhere");
    fs::create_directories(folder / "out");
    fs::create_symlink("../elsewhere", folder / "out/link");
    const std::string absolute = (folder / "elsewhere/absolute.npy").string();
    for (const std::string& path : {absolute, std::string("../escaped.npy"),
                                    std::string("sub/../../escaped.npy"), std::string("link/escaped.npy")}) {
        folder.write("in/launch.yaml", launch_with("outputs:\n  - {buffer: y, file: '" + path + "'}\n"));
        const std::string command = "kernel in/launch.yaml --functional --output out";
        const Outcome refused = run_heddle(folder, command);
        CAPTURE(path, refused.err);
        CHECK(refused.code == 2);
        CHECK_THAT(refused.err, Catch::Contains("in/launch.yaml:") && Catch::Contains("--allow-programs"));
        CHECK_FALSE(fs::exists(folder / "escaped.npy"));
        CHECK(fs::is_empty(folder / "elsewhere"));
        const Outcome allowed = run_heddle(folder, command + " --allow-programs");
        CAPTURE(allowed.err);
        CHECK(allowed.code == 0);
        CHECK(fs::remove(path == absolute      ? fs::path(absolute)
                         : path.front() == 'l' ? folder / "elsewhere/escaped.npy"
                                               : folder / "escaped.npy"));
        fs::remove(folder / "elsewhere/.heddle-results");
        fs::remove(folder / ".heddle-results");
    }
}

TEST_CASE("a launch file's outputs replace its own, and no file of the user's") {
    const Folder folder;
    fs::copy(kSaxpy, folder / "in");
    folder.write("thesis.npy", "mine");
    folder.write("in/launch.yaml", launch_with("outputs:\n  - {buffer: y, file: y.npy}\n"));
    CHECK(run_heddle(folder, "kernel in/launch.yaml --functional").code == 0);
    const std::string values = text_of(folder / "y.npy");
    CHECK(values.size() > 128);
    CHECK(run_heddle(folder, "kernel in/launch.yaml --functional").code == 0);
    CHECK(text_of(folder / "y.npy") == values);
    folder.write("in/launch.yaml", launch_with("outputs:\n  - {buffer: y, file: thesis.npy}\n"));
    const Outcome refused = run_heddle(folder, "kernel in/launch.yaml --functional");
    CHECK(refused.code == 2);
    CHECK_THAT(refused.err, Catch::Contains("Heddle did not write it"));
    CHECK(text_of(folder / "thesis.npy") == "mine");
}

TEST_CASE("a launch file gives nvcc no option that runs a program or writes a file") {
    const Folder folder;
    fs::copy(kSaxpy, folder / "in");
    const std::string plain = text_of(kSaxpy + "launch.yaml");
    for (const std::string& flags :
         {std::string("-ccbin, ./evil"), std::string("-ccbin=./evil"),
          std::string("--compiler-bindir=./evil"), std::string("-Xcompiler, -fplugin=./evil.so"),
          std::string("-Xptxas, -v"), std::string("-o, /tmp/evil"), std::string("-O3, --keep-dir=/tmp"),
          std::string("'@options'"), std::string("-I, -ccbin=./evil"), std::string("other.cu"),
          std::string("-optf, options"), std::string("-arch")}) {
        folder.write("in/launch.yaml", "nvcc_flags: [" + flags + "]\n" + plain);
        const Outcome refused = run_heddle(folder, "kernel in/launch.yaml --functional");
        CAPTURE(flags, refused.err);
        CHECK(refused.code == 2);
        CHECK_THAT(refused.err, Catch::Contains("may not give nvcc the option"));
        // The module is PTX, so that no compiler is asked at all.
        CHECK(run_heddle(folder, "kernel in/launch.yaml --functional --allow-programs").code == 0);
    }
    folder.write("in/launch.yaml",
                 "nvcc_flags: [-O3, -arch=sm_90a, -std=c++17, -DN=4, -D, M=2, -I, include, --use_fast_math, "
                 "-lineinfo, "
                 "-gencode=arch=compute_90, --maxrregcount=64]\n" +
                     plain);
    CHECK(run_heddle(folder, "kernel in/launch.yaml --functional").code == 0);
}

TEST_CASE("a hardware file loads no library") {
    const std::string key = GENERATE("hbm.model", "l2.model");
    const Folder folder;
    folder.write("mine.yaml", "extends: h100-sxm\n" + key + ": ./memory.so\n");
    const std::string step = HEDDLE_SOURCE_DIR "/examples/two-layers.json";
    for (const std::string& command :
         {"simulate " + step, std::string("gemm 64 64 64"), "kernel " + kSaxpy + "launch.yaml",
          "explore " + step + " --vary 'sm.count=4..8:*2'"}) {
        const Outcome refused = run_heddle(folder, command + " --hardware mine.yaml");
        CAPTURE(command, refused.err);
        CHECK(refused.code == 2);
        CHECK_THAT(refused.err, Catch::Contains("mine.yaml:2: " + key + ": a file may not load a library") &&
                                    Catch::Contains("--allow-programs"));
        // Allowed, it is looked for.
        const Outcome allowed = run_heddle(folder, command + " --hardware mine.yaml --allow-programs");
        CHECK_THAT(allowed.err + allowed.out, Catch::Contains("there is no file"));
        // What the command line names is the user's own word.
        const Outcome named =
            run_heddle(folder, command + " --hardware h100-sxm --set " + key + "=./memory.so");
        CHECK_THAT(named.err + named.out, Catch::Contains("there is no file"));
    }
    // Nothing of the device runs when it is only described.
    CHECK(run_heddle(folder, "hardware describe mine.yaml").code == 0);
    CHECK(run_heddle(folder, "hardware diff h100-sxm mine.yaml").code == 0);
}
