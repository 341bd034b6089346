// NVIDIA's assembler accepts every kernel of the library, for every target that it knows.
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <set>

#include "workloads/kernels/exact_functions.h"
#include "workloads/kernels/library.h"

using namespace heddle::kernels;

namespace {

/// Runs a command; returns its exit status, and what it printed.
int run(const std::string& command, std::string& output) {
    output.clear();
    std::FILE* pipe = popen((command + " 2>&1").c_str(), "r");
    if (pipe == nullptr) return -1;
    char buffer[512];
    while (std::fgets(buffer, sizeof buffer, pipe) != nullptr) output += buffer;
    return pclose(pipe);
}

/// HEDDLE_PTXAS in the environment, what CMake found, or the path.
std::string assembler() {
    if (const char* named = std::getenv("HEDDLE_PTXAS")) return named;
    std::string output;
    for (const std::string candidate : {HEDDLE_PTXAS_FOUND, "ptxas"}) {
        if (!candidate.empty() && run("'" + candidate + "' --version", output) == 0) return candidate;
    }
    return "";
}

}  // namespace

TEST_CASE("ptxas accepts every kernel") {
    const std::string ptxas = assembler();
    if (ptxas.empty()) {
        std::cout << "skipped: no ptxas found\n";
        return;
    }
    std::string help, output;
    run("'" + ptxas + "' --help", help);
    const auto folder = std::filesystem::temp_directory_path() /
                        ("heddle_ptxas_" + std::to_string(std::rand()) + "_" + std::to_string(::getpid()));
    std::filesystem::create_directory(folder);
    std::size_t not_checked = 0, checked = 0;
    for (const unsigned capability : {70u, 75u, 80u, 90u}) {
        const std::string target = std::to_string(capability);
        // Code generation for one target of each kind of kernel; the others only parse and check.
        const bool known = help.find("'sm_" + target + "'") != std::string::npos;
        const std::vector<LibraryKernel> samples = library_samples(capability);
        if (!known) {
            not_checked += samples.size();
            continue;
        }
        // Entries of one text each, all in one module: one run of the assembler per target.
        std::string module;
        std::set<std::string> entries;
        bool dynamic_shared = false;
        for (const LibraryKernel& sample : samples) {
            if (!entries.insert(sample.kernel.entry).second) continue;
            const std::string& text = sample.kernel.text;
            const std::size_t body = text.find(".visible .entry");
            if (module.empty()) module = text.substr(0, text.find("\n\n") + 2);
            if (!dynamic_shared && text.find(".extern .shared") < body) {
                module += ".extern .shared .align 128 .b8 dynamic_shared[];\n";
                dynamic_shared = true;
            }
            module += text.substr(body);
        }
        // Once without approximations, whose replacements are the same for every target.
        if (capability == 90) module = replace_approximations(module);
        const auto file = folder / ("library_" + target + ".ptx");
        std::ofstream(file) << module;
        const std::string architecture = capability == 80 ? "sm_" : "compute_";
        const int status = run("'" + ptxas + "' -arch=" + architecture + target + " -o '" +
                                   (folder / "out").string() + "' '" + file.string() + "'",
                               output);
        INFO("target sm_" << target << ": " << output.substr(0, 3000));
        CHECK(status == 0);
        checked += entries.size();
    }
    std::filesystem::remove_all(folder);
    std::cout << "ptxas: " << checked << " kernels accepted, " << not_checked
              << " not checked because it does not know their target\n";
    CHECK(checked > 0);
}
