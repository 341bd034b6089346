// NVIDIA's assembler accepts every kernel of the library, for every target that it knows.
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <set>

#include "support/ptx_assembler.h"
#include "workloads/kernels/exact_functions.h"
#include "workloads/kernels/library.h"

using namespace heddle::kernels;
using heddle::test::find_assembler;
using heddle::test::run_command;

namespace {

/// "sm_90a"
std::string target_of(const std::string& text) {
    const std::size_t begin = text.find(".target ") + 8;
    return text.substr(begin, text.find('\n', begin) - begin);
}

}  // namespace

TEST_CASE("ptxas accepts every kernel") {
    const std::string ptxas = find_assembler(HEDDLE_PTXAS_FOUND);
    if (ptxas.empty()) {
        std::cout << "skipped: no ptxas found\n";
        return;
    }
    std::string help, output;
    run_command("'" + ptxas + "' --help", help);
    const auto folder = std::filesystem::temp_directory_path() /
                        ("heddle_ptxas_" + std::to_string(std::rand()) + "_" + std::to_string(::getpid()));
    std::filesystem::create_directory(folder);
    std::size_t not_checked = 0, checked = 0;
    for (const unsigned capability : {70u, 75u, 80u, 89u, 90u, 100u}) {
        const std::string target = std::to_string(capability);
        // Code generation for one target of each kind of kernel; the others only parse and check.
        const bool known = help.find("'sm_" + target + "'") != std::string::npos;
        const std::vector<LibraryKernel> samples = library_samples(capability);
        if (!known) {
            not_checked += samples.size();
            continue;
        }
        // Entries of one text each, in one module per .target: one run of the assembler for each.
        std::map<std::string, std::string> modules;
        std::set<std::string> entries;
        for (const LibraryKernel& sample : samples) {
            if (!entries.insert(sample.kernel.entry).second) continue;
            const std::string& text = sample.kernel.text;
            // Versions of PTX apart: mma.sync of 8-bit floats needs a newer one.
            std::string& module = modules[target_of(text) + text.substr(0, text.find('\n'))];
            if (module.empty()) {
                module = text.substr(0, text.find("\n\n") + 2) +
                         ".extern .shared .align 128 .b8 dynamic_shared[];\n";
            }
            module += text.substr(text.find(".visible .entry"));
        }
        for (auto& [name, module] : modules) {
            // Once without approximations, whose replacements are the same for every target.
            if (capability == 90) module = replace_approximations(module);
            const std::string target_name = name.substr(0, name.find('.'));
            const auto file = folder / ("library_" + target_name + ".ptx");
            std::ofstream(file) << module;
            // An "a" target is for one GPU alone: that is where the assembler looks at wgmma.
            const bool generates = capability == 80 || target_name.back() == 'a';
            const std::string architecture =
                (generates ? "" : "compute_") + target_name.substr(generates ? 0 : 3);
            const int status = run_command("'" + ptxas + "' -arch=" + architecture + " -o '" +
                                               (folder / "out").string() + "' '" + file.string() + "'",
                                           output);
            INFO("target " << name << ": " << output.substr(0, 3000));
            CHECK(status == 0);
            // It says so when it has to wait after each wgmma.
            CHECK(output.find("serialized") == std::string::npos);
        }
        checked += entries.size();
    }
    std::filesystem::remove_all(folder);
    std::cout << "ptxas: " << checked << " kernels accepted, " << not_checked
              << " not checked because it does not know their target\n";
    CHECK(checked > 0);
}
