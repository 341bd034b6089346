// Files that claim, or unpack to, more memory than there is, and texts that are longer or nest deeper than
// any stack: one line and exit code 2, or a run that ends.
#include <zlib.h>

#include <catch2/catch.hpp>
#include <cstdint>
#include <fstream>
#include <stdexcept>

#include "command.h"

namespace fs = std::filesystem;
using namespace heddle::robustness;

namespace {

constexpr std::uint64_t kMebi = std::uint64_t{1} << 20;

/// A gzip file of `head`, `count` times `piece`, and `tail`, in a folder.
void write_packed(const Folder& folder, const std::string& name, const std::string& head,
                  const std::string& piece, unsigned count, const std::string& tail) {
    const gzFile file = ::gzopen((folder.path() / name).c_str(), "wb9");
    if (file == nullptr) throw std::runtime_error("cannot write " + name);
    std::string many;
    for (unsigned i = 0; i < 1000; ++i) many += piece;
    bool good = ::gzputs(file, head.c_str()) > 0;
    for (unsigned i = 0; good && i < count / 1000; ++i)
        good = ::gzwrite(file, many.data(), static_cast<unsigned>(many.size())) > 0;
    good = good && ::gzputs(file, tail.c_str()) > 0;
    if (::gzclose(file) != Z_OK || !good) throw std::runtime_error("cannot write " + name);
}

/// A file that is as large as `bytes` and takes no room on the disk.
void write_hollow(const Folder& folder, const std::string& name, const std::string& head,
                  std::uint64_t bytes) {
    folder.write(name, head);
    fs::resize_file(folder.path() / name, bytes);
}

Conditions with_memory(std::uint64_t mebibytes) {
    Conditions conditions;
#ifndef __SANITIZE_ADDRESS__  // which reserves more than any limit
    conditions.memory_limit = mebibytes * kMebi;
#endif
    return conditions;
}

std::string repeated(const std::string& piece, unsigned count) {
    std::string text;
    for (unsigned i = 0; i < count; ++i) text += piece;
    return text;
}

/// A step of one elementwise op on 64 numbers.
std::string step(const std::string& expression) {
    return R"({"heddle_trace": 1, "name": "x", "tensors": [{"name": "a", "type": "f32", "shape": [64]},)"
           R"( {"name": "b", "type": "f32", "shape": [64]}], "ops": [{"name": "e", "kind": "elementwise",)"
           R"( "inputs": ["a"], "outputs": ["b"], "attributes": {"expression": ")" +
           expression + R"("}}]})";
}

/// A launch of saxpy on 64 numbers, and what they ought to be.
std::string launch(const std::string& buffer, const std::string& expression) {
    return "module: saxpy.ptx\nbuffers:\n  x: {type: f32, " + buffer +
           "}\n  y: {type: f32, count: 64}\nlaunches:\n  - {entry: saxpy, grid: 1, block: 64, arguments: "
           "[{s32: "
           "64}, {f32: 2.5}, x, y]}\ncompare:\n  - {buffer: y, expression: \"" +
           expression + "\", tolerance: {absolute: 1e-3}}\n";
}

}  // namespace

TEST_CASE("Small gzip files that unpack to more than the memory are refused with one line") {
    const Folder folder;
    const std::string ours = "{\"heddle_trace\": 1, \"name\": \"x\", ";
    struct Bomb {
        std::string name, head, piece, tail;
        unsigned count;
    };
    const std::vector<Bomb> bombs{
        {"lists.json.gz", ours + "\"tensors\": [", "[],", "[]]}", 20'000'000},
        {"deep.json.gz", ours + "\"tensors\": [", "[", "]}", 100'000'000},
        {"other.json.gz", ours + "\"more\": [", "0,", "0]}", 60'000'000},
        {"shape.json.gz", ours + R"("tensors": [{"name": "a", "type": "f32", "shape": [)", "1,", "1]}]}",
         60'000'000},
        {"tensors.json.gz", ours + "\"tensors\": [", R"({"name": "a", "type": "f32", "shape": [4]},)", "{}]}",
         5'000'000},
        {"chakra.json.gz", "{\"workload_graph\": [", R"({"Id": 1, "Name": "a", "NodeType": 1},)", "{}]}",
         5'000'000},
        {"kineto.json.gz", "{\"traceEvents\": [",
         R"({"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 1, "tid": 1, "ts": 1, "dur": 1},)",
         "{}]}", 2'000'000},
        {"step.hlo.gz", "HloModule m\n\nENTRY e {\n", "  p = f32[8]{0} parameter(0)\n", "}\n", 4'000'000},
    };
    for (const Bomb& bomb : bombs) {
        INFO(bomb.name);
        write_packed(folder, bomb.name, bomb.head, bomb.piece, bomb.count, bomb.tail);
        REQUIRE(fs::file_size(folder.path() / bomb.name) < kMebi);
        const Outcome outcome = run(folder, {"trace", "inspect", bomb.name}, with_memory(400));
        CHECK(fault_of_refusal(outcome) == "");
        CHECK_THAT(outcome.err, Catch::Contains(bomb.name));
        fs::remove(folder.path() / bomb.name);
    }
}

TEST_CASE("Files that are larger than the memory, or claim to be, are refused with one line") {
    const Folder folder;
    fs::copy_file(fs::path(HEDDLE_SOURCE_DIR) / "examples/kernels/saxpy/saxpy.ptx",
                  folder.path() / "saxpy.ptx");
    folder.write("claim.yaml", launch("count: 8000000000, fill: {iota: {start: 0, step: 1}}", "1"));
    folder.write("values.yaml", launch("fill: {file: values.npy}", "1"));
    folder.write("endless.yaml", launch("fill: {file: /dev/zero}", "1"));
    std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (1073741824,), }";
    header.resize(117, ' ');
    write_hollow(folder, "values.npy",
                 "\x93NUMPY\x01" + std::string(1, '\0') + 'v' + std::string(1, '\0') + header + '\n',
                 128 + 4096 * kMebi);
    write_hollow(folder, "device.yaml", "name: x\n", 8192 * kMebi);
    write_hollow(folder, "step.tpu", "program x\n", 8192 * kMebi);
    write_hollow(folder, "table.csv", "m,n,k\n", 8192 * kMebi);
    write_hollow(folder, "text.txt", "to be", 6144 * kMebi);
    struct Claim {
        std::vector<std::string> command;
        std::string told;
    };
    const std::vector<Claim> claims{
        {{"kernel", "claim.yaml", "--hardware", "a100-pcie"}, "buffer x"},
        {{"kernel", "values.yaml", "--hardware", "a100-pcie"}, "values.npy"},
        {{"kernel", "endless.yaml", "--hardware", "a100-pcie"}, "/dev/zero"},
        {{"kernel", "device.yaml", "--hardware", "a100-pcie"}, "16 MiB"},
        {{"kernel", "/dev/zero", "--hardware", "a100-pcie"}, "16 MiB"},
        {{"simulate", "mlp", "--hardware", "device.yaml"}, "16 MiB"},
        {{"simulate", "device.yaml", "--hardware", "tpu-v5e"}, "16 MiB"},
        {{"collective", "all-reduce", "1MiB", "--cluster", "device.yaml"}, "16 MiB"},
        {{"simulate", "step.tpu", "--hardware", "tpu-v5e"}, "256 MiB"},
        {{"validate", "gemm", "--data", "table.csv", "--column", "2", "--hardware", "a100-pcie"}, "256 MiB"},
        {{"learn", "gpt", "--hardware", "tpu-v5e", "--data", "text.txt"}, "text.txt"},
    };
    for (const Claim& claim : claims) {
        INFO(claim.command[0] << " " << claim.command[1]);
        const Outcome outcome = run(folder, claim.command, with_memory(1000));
        CHECK(fault_of_refusal(outcome) == "");
        CHECK_THAT(outcome.err, Catch::Contains(claim.told));
    }
}

TEST_CASE("Expressions of any length run or are refused, and those that nest without end are refused") {
    const Folder folder;
    fs::copy_file(fs::path(HEDDLE_SOURCE_DIR) / "examples/kernels/saxpy/saxpy.ptx",
                  folder.path() / "saxpy.ptx");
    const auto simulated = [&](const std::string& expression, const std::string& hardware) {
        folder.write("step.json", step(expression));
        return run(folder, {"simulate", "step.json", "--hardware", hardware, "--out", "run"});
    };
    const std::string terms = repeated(" + x0", 20'000), more = repeated(" + x0", 200'000);
    for (const char* hardware : {"a100-pcie", "tpu-v5e"}) {
        const Outcome outcome = simulated("y0 = x0" + terms, hardware);
        INFO(hardware << ": " << outcome.err);
        CHECK(outcome.code == 0);
        CHECK_THAT(outcome.out, Catch::Contains("100.0 % cycle by cycle"));
    }
    const Outcome of_tpu = simulated("y0 = x0" + more, "tpu-v5e"),
                  of_gpu = simulated("y0 = x0" + more, "a100-pcie");
    CHECK(of_tpu.code == 0);
    CHECK_THAT(of_tpu.out, Catch::Contains("100.0 % cycle by cycle"));
    CHECK(of_gpu.code == 0);  // no kernel has the registers; the headline says so
    CHECK_THAT(of_gpu.out,
               Catch::Contains("expression of 200001 values") && Catch::Contains("100.0 % estimated"));
    for (const std::string& nested : {repeated("(", 100'000), repeated("exp(", 100'000),
                                      repeated("x0 ? 1 : ", 100'000), "-" + repeated("(-", 100'000)}) {
        const Outcome outcome = simulated("y0 = " + nested, "tpu-v5e");
        CHECK(fault_of_refusal(outcome) == "");
        CHECK_THAT(outcome.err, Catch::Contains("nested too deeply"));
    }

    const auto launched = [&](const std::string& expression) {
        folder.write("launch.yaml", launch("count: 64, fill: {iota: {start: 0, step: 1}}", expression));
        return run(folder, {"kernel", "launch.yaml", "--hardware", "a100-pcie", "--numerics", "--jobs", "1"});
    };
    const Outcome outcome = launched("2.5 * x[i]" + repeated(" + 0 * x[i]", 200'000));
    INFO(outcome.err);
    CHECK(outcome.code == 0);
    CHECK(outcome.out.size() < 2000);
    CHECK(launched("2.4 * x[i]" + repeated(" + 0 * x[i]", 200'000)).code == 1);
    for (const char* piece : {"(", "abs(", "i ? 1 : ", "x[", "sum(k, 1, "}) {
        const Outcome refused = launched(repeated(piece, 100'000));
        CHECK(fault_of_refusal(refused) == "");
        CHECK_THAT(refused.err, Catch::Contains("nested too deeply"));
    }
}

TEST_CASE("Options of a hundred thousand characters are refused with one line") {
    const Folder folder;
    const std::string digits(100'000, '1');
    const std::vector<std::vector<std::string>> commands{
        {"gemm", "512", "512", "512", "--hardware", "h100-sxm", "--tile", digits},
        {"gemm", "512", "512", "512", "--hardware", "h100-sxm", "--tile",
         "nvjet_" + std::string(100'000, 'a')},
        {"gemm", "512", "512", "512", "--hardware", "h100-sxm", "--tile",
         "gemm" + repeated("_64x1234", 10'000)},
        {"gemm", "512", "512", "512", "--hardware", "h100-sxm", "--tile", repeated("_", 100'000)},
        {"explore", "mlp", "--hardware", "tpu-v5e", "--vary", "clock=900..1000:10 MHz", "--link",
         "hbm.bandwidth = " + repeated("(", 100'000)},
        {"explore", "mlp", "--hardware", "tpu-v5e", "--vary", "clock=900..1000:10 MHz", "--constraint",
         repeated("-", 100'000) + "1 <= 2"},
        {"hardware", "describe", digits},
    };
    for (const auto& command : commands) {
        const Outcome outcome = run(folder, command);
        INFO(command[0] << ": " << outcome.err.substr(0, 300));
        CHECK(fault_of_refusal(outcome) == "");
    }
}
