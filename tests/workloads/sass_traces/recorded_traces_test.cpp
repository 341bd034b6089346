// Traces that Accel-Sim's tracer recorded on an A100, beside the checkout; left out where absent.
#include <catch2/catch.hpp>
#include <cstdio>
#include <filesystem>
#include <set>

#include "workloads/sass_traces/kernel_list.h"
#include "workloads/sass_traces/trace_reader.h"

using namespace heddle;
using namespace heddle::sass;

namespace {

std::string recorded(const std::string& name) {
    return std::string(HEDDLE_SOURCE_DIR) + "/../shared/data/traces/accelsim/" + name;
}

/// Lines between #BEGIN_TB and #END_TB that begin with a hexadecimal program counter and a mask.
std::uint64_t instruction_lines(const std::string& path) {
    LineSource lines(open_bytes(path), path);
    std::uint64_t count = 0;
    for (std::string_view line; lines.next(line);) {
        count += line.size() > 13 && line[4] == ' ' && line[13] == ' ' &&
                 line.find_first_not_of("0123456789abcdef") == 4;
    }
    return count;
}

}  // namespace

TEST_CASE("Every instruction of a recorded training step is read once") {
    const std::string folder = recorded("nn_onestep/traces");
    if (!std::filesystem::exists(folder)) {
        WARN("skipped: no recorded traces beside the checkout");
        return;
    }
    unsigned kernels = 0;
    std::uint64_t steps = 0;
    std::set<std::string> opcodes;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        const std::string path = entry.path();
        if (entry.path().extension() != ".xz") continue;
        ++kernels;
        TraceReader reader(path);
        std::uint64_t here = 0;
        while (const auto block = reader.next()) {
            for (const WarpTrace& warp : block->warps) here += warp.steps.size();
        }
        INFO(path);
        CHECK(reader.thread_blocks() == reader.header().grid.count());
        CHECK(here == instruction_lines(path));
        steps += here;
        for (const Instruction& instruction : reader.instructions()) opcodes.insert(instruction.opcode);
    }
    CHECK(kernels == 118);
    CHECK(steps > 50000);
    CHECK(opcodes.count("LDG.E.128") == 1);
}

TEST_CASE("The list of a recorded training step names kernels that are there") {
    const std::string list = recorded("nn_onestep/traces/kernelslist.g");
    if (!std::filesystem::exists(list)) {
        WARN("skipped: no recorded traces beside the checkout");
        return;
    }
    unsigned kernels = 0;
    for (const TracedEvent& event : read_kernel_list(list)) {
        const auto* const kernel = std::get_if<TracedKernel>(&event);
        if (kernel == nullptr) continue;
        ++kernels;
        CHECK(std::filesystem::is_regular_file(kernel->path));
    }
    CHECK(kernels == 114);  // four of the 118 files are not in the list
}
