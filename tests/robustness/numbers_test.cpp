// Every reader, and numbers that there cannot be: each is refused with one line that says what was expected,
// and exit code 2, before anything is computed with it.
#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

#include "command.h"

namespace fs = std::filesystem;
using namespace heddle::robustness;

namespace {

const fs::path kSource = HEDDLE_SOURCE_DIR;

std::string with(std::string text, const std::string& number) {
    for (std::size_t at = text.find('@'); at != std::string::npos; at = text.find('@', at + number.size()))
        text.replace(at, 1, number);
    return text;
}

enum class Kind { count, amount, signed_amount };  // whole numbers; fractions too; negative ones too

/// A place for a number in what a command reads: '@' in a file or in a word of the command.
struct Place {
    std::string name;
    Kind kind;
    std::string good;  ///< with which the command comes to its end; empty: not tried
    std::vector<std::string> command;
    std::vector<std::pair<std::string, std::string>> files;
};

std::string own_trace(const std::string& extent, const std::string& rest,
                      const std::string& attributes = "") {
    return R"({"heddle_trace": 1, "name": "x", "tensors": [{"name": "a", "type": "f32", "shape": [)" +
           extent + R"(]}, {"name": "b", "type": "f32", "shape": [)" + extent +
           R"(]}], "ops": [{"name": "f", "kind": "elementwise", "inputs": ["a"], "outputs": ["b"], "attributes": )" +
           R"({"expression": "y0 = 2 * x0")" + attributes + "}" + rest + "}]}";
}

std::string profile(const std::string& duration, const std::string& extent) {
    return R"({"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "aten::relu", "pid": 1, "tid": 1, "ts": 1, "dur": )" +
           duration + R"(, "args": {"External id": 1, "Input Dims": [[)" + extent +
           R"(, 4]], "Input type": ["float"]}}]})";
}

std::string chakra(const std::string& time, const std::string& bytes) {
    return R"({"workload_graph": [{"Id": 1, "Name": "ncclDevKernel_AllReduce", "NodeType": 7, "is_cpu_op": false, "runtime": )" +
           time + R"(, "comm_size": )" + bytes + "}]}";
}

std::string launch(const std::string& count, const std::string& high, const std::string& block,
                   const std::string& tolerance) {
    return "module: saxpy.ptx\nbuffers:\n  x: {type: f32, count: " + count +
           ", fill: {uniform: {low: 0, high: " + high +
           "}}}\n  y: {type: f32, count: 5000, fill: ones}\nlaunches:\n  - entry: saxpy\n    grid: 20\n    "
           "block: " +
           block +
           "\n    arguments: [{s32: 5000}, {f32: 2.5}, x, y]\ncompare:\n  - {buffer: y, expression: \"2.5 * "
           "x[i] + " +
           "initial.y[i]\", tolerance: {absolute: " + tolerance + "}}\n";
}

std::string model(const std::string& width, const std::string& dropout) {
    return "batch: 4\ninput: {features: 16}\nlayers:\n  - linear: " + width + "\n  - dropout: " + dropout +
           "\n  - linear: 10\noptions: {type: f32}\n";
}

std::string traced_kernel(const std::string& shared, const std::string& registers) {
    return "-kernel name = k\n-kernel id = 1\n-grid dim = (1,1,1)\n-block dim = (32,1,1)\n-shmem = " +
           shared + "\n-nregs = " + registers +
           "\n-binary version = 80\n-cuda stream id = 0\n-accelsim tracer version = 5\n" +
           "\n#traces format\n#BEGIN_TB\nthread block = 0,0,0\nwarp = 0\ninsts = 1\n0000 ffffffff 0 EXIT 0 "
           "0\n#END_TB\n";
}

std::string tpu_program(const std::string& repeats, const std::string& stride, const std::string& rows) {
    return "program p\ncore {\n  repeat " + repeats + " {\n  dma.load vmem 0x0 hbm 0x0 rows " + rows +
           " row_bytes 128 vmem_stride " + stride + " hbm_stride 128 signals 0\n  wait 0\n  }\n  halt\n}\n";
}

std::vector<Place> places() {
    const std::vector<std::string> inspect{"trace", "inspect", "step.json"},
        kernel{"kernel", "launch.yaml", "--hardware", "a100-sxm", "--jobs", "1", "--numerics"},
        replay{"simulate", "kernelslist.g", "--hardware", "a100-sxm", "--jobs", "1"},
        tpu{"simulate", "program.tpu", "--hardware", "tpu-v5e"},
        device{"hardware", "describe", "device.yaml"};
    const std::string saxpy = text_of(kSource / "examples/kernels/saxpy/saxpy.ptx");
    const auto launched = [&](const std::string& text) {
        return std::vector<std::pair<std::string, std::string>>{{"saxpy.ptx", saxpy}, {"launch.yaml", text}};
    };
    const auto replayed = [](const std::string& copied, const std::string& trace) {
        return std::vector<std::pair<std::string, std::string>>{
            {"kernelslist.g", "MemcpyHtoD,0x00007f0000000000," + copied + "\nkernel-1.traceg\n"},
            {"kernel-1.traceg", trace}};
    };
    const std::string none = R"(, "measured_us": 1)";
    std::vector<Place> all{
        {"extents of a trace", Kind::count, "8", inspect, {{"step.json", own_trace("@", none)}}},
        {"measured time of a trace",
         Kind::amount,
         "8",
         inspect,
         {{"step.json", own_trace("4", R"(, "measured_us": @)")}}},
        {"host's time of a trace",
         Kind::amount,
         "8",
         inspect,
         {{"step.json", own_trace("4", none + R"(, "host_us": @)")}}},
        {"stream of a trace",
         Kind::count,
         "8",
         inspect,
         {{"step.json", own_trace("4", none + R"(, "stream": @)")}}},
        {"bytes of an op of a trace",
         Kind::count,
         "8",
         inspect,
         {{"step.json", own_trace("4", none, R"(, "bytes": @)")}}},
        {"strides of a trace",
         Kind::count,
         "8",
         inspect,
         {{"step.json", own_trace("4", none, R"(, "input0_strides": [@])")}}},
        {"duration in a profile", Kind::amount, "8", inspect, {{"step.json", profile("@", "8")}}},
        {"extents in a profile", Kind::count, "8", inspect, {{"step.json", profile("1", "@")}}},
        {"duration in Chakra", Kind::count, "8", inspect, {{"step.json", chakra("@", "8")}}},
        {"bytes of a collective in Chakra", Kind::count, "8", inspect, {{"step.json", chakra("8", "@")}}},
        {"width of a layer",
         Kind::count,
         "8",
         {"trace", "inspect", "model.yaml"},
         {{"model.yaml", model("@", "0.1")}}},
        {"dropout of a layer",
         Kind::amount,
         "0.25",
         {"trace", "inspect", "model.yaml"},
         {{"model.yaml", model("8", "@")}}},
        {"count of a device",
         Kind::count,
         "8",
         device,
         {{"device.yaml", "extends: a100-sxm\nsm.count: @\n"}}},
        {"rate of a device",
         Kind::amount,
         "800",
         device,
         {{"device.yaml", "extends: a100-sxm\nhbm.bandwidth: @ GB/s\n"}}},
        {"count of a cluster",
         Kind::count,
         "4",
         {"cluster", "describe", "cluster.yaml"},
         {{"cluster.yaml", "extends: dgx-h100\ndevices_per_node: @\n"}}},
        {"latency of a cluster",
         Kind::amount,
         "4",
         {"cluster", "describe", "cluster.yaml"},
         {{"cluster.yaml", "extends: dgx-h100\ninside.latency: @ us\n"}}},
        {"elements of a buffer", Kind::count, "5000", kernel, launched(launch("@", "1", "256", "1"))},
        {"range of a buffer", Kind::signed_amount, "8", kernel, launched(launch("5000", "@", "256", "1"))},
        {"extents of a launch", Kind::count, "256", kernel, launched(launch("5000", "1", "@", "1"))},
        {"tolerance of a comparison", Kind::amount, "8", kernel, launched(launch("5000", "1", "256", "@"))},
        {"bytes of a recorded copy", Kind::count, "8", replay, replayed("@", traced_kernel("0", "16"))},
        {"shared memory of a recorded kernel", Kind::count, "8", replay,
         replayed("8", traced_kernel("@", "16"))},
        {"registers of a recorded kernel", Kind::count, "8", replay, replayed("8", traced_kernel("0", "@"))},
        {"turns of a TPU program", Kind::count, "8", tpu, {{"program.tpu", tpu_program("@", "128", "4")}}},
        {"stride of a TPU program", Kind::count, "128", tpu, {{"program.tpu", tpu_program("2", "@", "4")}}},
        {"rows of a TPU program", Kind::count, "4", tpu, {{"program.tpu", tpu_program("2", "128", "@")}}},
        {"option of a model", Kind::count, "8", {"trace", "inspect", "mlp", "--option", "batch=@"}, {}},
        {"range of an exploration",
         Kind::count,
         "",
         {"explore", "mlp", "--hardware", "a100-sxm", "--vary", "sm.count=@"},
         {}},
        {"weight of a workload",
         Kind::amount,
         "",
         {"explore", "mlp@@", "--hardware", "a100-sxm", "--vary", "sm.count=8,16"},
         {}},
    };
    const std::vector<std::string> table{"validate", "gemm",       "--data",   "table.csv",    "--column",
                                         "us",       "--hardware", "a100-sxm", "--closed-form"};
    all.push_back(
        {"extents of a table", Kind::count, "128", table, {{"table.csv", "m,n,k,us\n@,128,128,5\n"}}});
    all.push_back(
        {"times of a table", Kind::amount, "5", table, {{"table.csv", "m,n,k,us\n128,128,128,@\n"}}});
    return all;
}

}  // namespace

TEST_CASE("Numbers that there cannot be are refused by every reader") {
    for (const Place& place : places()) {
        CAPTURE(place.name);
        const auto outcome_of = [&](const std::string& number) {
            const Folder folder;
            for (const auto& [name, text] : place.files) folder.write(name, name.ends_with(".ptx") ? text : with(text, number));
            std::vector<std::string> words = place.command;
            for (std::string& word : words)
                // The '@' of a workload's weight stands before it.
                word = word.ends_with("@@") ? word.substr(0, word.size() - 1) + number : with(word, number);
            return run(folder, words);
        };
        if (!place.good.empty()) {
            const Outcome outcome = outcome_of(place.good);
            INFO(outcome.err);
            CHECK(outcome.code == 0);
        }
        for (const std::string number :
             {"nan", "inf", "-5", "1e400", "4611686018427387904", "9223372036854775808", "0.5"}) {
            if (number == "0.5" && place.kind != Kind::count) continue;
            // Tolerances and ranges are amounts without a unit: any that is finite will do.
            const bool finite = number[0] == '4' || number[0] == '9';
            if (finite && (place.name == "range of a buffer" || place.name == "tolerance of a comparison"))
                continue;
            CAPTURE(number);
            const Outcome outcome = outcome_of(number);
            INFO(outcome.err << outcome.out.substr(0, 500));
            CHECK(fault_of_refusal(outcome) == "");
            CHECK_FALSE(outcome.late);
        }
    }
}

TEST_CASE("Infinite times in the spelling of our own traces are refused, and a tensor of 2^62 elements is") {
    const Folder folder;
    for (const char* name : {"measured_us", "host_us"}) {
        for (const char* word : {"nan", "inf", "-inf"}) {
            folder.write("step.json",
                         own_trace("4", std::string(", \"") + name + R"(": {"real": ")" + word + "\"}"));
            for (const char* command : {"inspect", "simulate"}) {
                const bool inspect = std::string(command) == "inspect";
                const Outcome outcome = inspect
                                            ? run(folder, {"trace", "inspect", "step.json"})
                                            : run(folder, {"simulate", "step.json", "--hardware", "tpu-v5e"});
                INFO(outcome.err << outcome.out);
                CHECK(fault_of_refusal(outcome) == "");
                CHECK_THAT(outcome.err,
                           Catch::Contains(name) && Catch::Contains("microseconds"));
            }
        }
    }
    // 2^62 elements of four bytes are 2^64 bytes, of which 64 bits keep none.
    folder.write("step.json", own_trace("4611686018427387904", ""));
    for (const char* hardware : {"tpu-v5e", "h100-sxm"}) {
        const Outcome outcome = run(folder, {"simulate", "step.json", "--hardware", hardware});
        INFO(outcome.err << outcome.out);
        CHECK(fault_of_refusal(outcome) == "");
        CHECK_THAT(outcome.err, Catch::Contains("impossible shape [4611686018427387904]"));
    }
}

TEST_CASE("The coverage of a profile without results counts the calls that are not understood") {
    const Folder folder;
    folder.write("cpu.json", R"({"traceEvents": [
{"ph": "X", "cat": "cpu_op", "name": "aten::relu", "pid": 1, "tid": 1, "ts": 1, "dur": 1, "args": {"External id": 1, "Input Dims": [[4, 8]], "Input type": ["float"]}},
{"ph": "X", "cat": "cpu_op", "name": "aten::sin", "pid": 1, "tid": 1, "ts": 3, "dur": 1, "args": {"External id": 2, "Input Dims": [[4, 8]], "Input type": ["float"]}},
{"ph": "X", "cat": "cpu_op", "name": "aten::nll_loss_backward", "pid": 1, "tid": 1, "ts": 5, "dur": 3, "args": {"External id": 3, "Input Dims": [[], [4, 8]], "Input type": ["float", "float"]}},
{"ph": "X", "cat": "cpu_op", "name": "aten::zero_", "pid": 1, "tid": 1, "ts": 6, "dur": 1, "args": {"External id": 4, "Input Dims": [[4, 8]], "Input type": ["float"]}}]})");
    const Outcome outcome = run(folder, {"trace", "inspect", "cpu.json"});
    INFO(outcome.err);
    CHECK(outcome.code == 0);
    CHECK_THAT(outcome.out, Catch::Contains("coverage: 2 of 4 ops are understood") &&
                                Catch::Contains("aten::sin") && Catch::Contains("aten::nll_loss_backward"));
}
