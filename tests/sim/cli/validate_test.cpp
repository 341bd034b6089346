// `heddle validate` as a user meets it.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "support/command.h"

namespace fs = std::filesystem;

using heddle::tests::Folder;
using heddle::tests::Outcome;
using heddle::tests::run_heddle;
using heddle::tests::text_of;

namespace {

/// Runs `heddle validate <arguments>` in the folder with HEDDLE_DATA set to `data`.
Outcome validate(const Folder& folder, const std::string& arguments, const std::string& data = "nowhere") {
    return run_heddle(folder, "validate " + arguments, "HEDDLE_DATA='" + data + "'");
}

/// A data folder with one recorded row for each series; with the right result or another.
void write_tensor_core_rows(const Folder& folder, bool right) {
    struct Series {
        const char* device;
        const char* name;
        bool half;  ///< an fp16 result is recorded too
        bool single;
    };
    const Series all[] = {{"H100", "fp16", true, true},  {"H100", "bf16", false, true},
                          {"H100", "tf32", false, true}, {"H100", "E4M3", true, true},
                          {"H100", "E5M2", true, true},  {"A100", "fp16", true, true},
                          {"A100", "bf16", false, true}, {"A100", "tf32", false, true}};
    for (const Series& series : all) {
        const std::string here =
            std::string("data/tensor_core/khattak_mikaitis/") + series.device + "/" + series.name + "/";
        const std::string middle = std::string("_") + series.device + "_";
        // 1 * 2 + 1 * 2 + 0 = 4, exact in every model.
        folder.write(here + "a" + middle + series.name + ".txt", "3f800000 3f800000\n");
        folder.write(here + "b" + middle + series.name + ".txt", "40000000 40000000\n");
        folder.write(here + "c" + middle + "fp32.txt", std::string(32, '0') + "\n");
        const std::string four = "01000000100000000000000000000000",
                          five = "01000000101000000000000000000000";
        for (const char* output : {"fp32", "fp16"})
            folder.write(here + "d" + middle + output + ".txt", (right ? four : five) + "\n");
    }
}

}  // namespace

TEST_CASE("bad usage of validate ends with code 2 and one line") {
    struct Case {
        const char* arguments;
        const char* expected;
    };
    const Case cases[] = {
        {"", "heddle validate --help"},
        {"numercs", "did you mean `numerics`?"},
        {"timing extra", "extra"},
        {"timing --bar ten", "CATEGORY=PERCENT"},
        {"timing --bar gemm=-1", "CATEGORY=PERCENT"},
        {"timing --bar gemm=1x", "CATEGORY=PERCENT"},
        {"numerics --bar \"gemm bf16=10\"", "no figures of the category `gemm bf16` were compared"},
        {"timing --filter latency/l1 --bar latency=5", "`used by the hardware file`"},
        {"all --capture nowhere", "manifest.json"},
        {"all --data nowhere", "nowhere"},
        {"all --jobs many", "many"},
        {"numerics --no-such-option", "--no-such-option"},
        {"trace", "TRACE is required"},
        {"trace nowhere.et --hardware a100-sxm", "nowhere.et"},
        {"trace '" HEDDLE_SOURCE_DIR "/examples/recorded/mlp.et.gz' --hardware tpu-v4", "is a TPU"},
        {"trace '" HEDDLE_SOURCE_DIR "/examples/recorded/mlp.et.gz' --hardware a100-sxm --kind pooling",
         "no ops of the kind `pooling`"},
        {"trace '" HEDDLE_SOURCE_DIR "/examples/recorded/mlp.et.gz' --hardware a100-sxm",
         "no recorded times"},
        {"trace '" HEDDLE_SOURCE_DIR "/examples/recorded/mlp.et.gz'", "does not say on which device"},
        {"trace '" HEDDLE_SOURCE_DIR "/examples/recorded/mlp.et.gz' --hardware h100",
         "did you mean `h100-sxm`? Known: a100-pcie, "},
        {"trace '" HEDDLE_SOURCE_DIR "/examples/recorded/mlp.et.gz' --hardware v100-sxn",
         "did you mean `v100-sxm`?"},
        {"timing --hardware a100-pcje", "did you mean `a100-pcie`?"},
        {"collectives --cluster dgx-h10", "did you mean `dgx-h100`?"},
    };
    for (const Case& test : cases) {
        CAPTURE(test.arguments);
        Folder folder;
        const Outcome outcome = validate(folder, test.arguments);
        CHECK(outcome.code == 2);
        CHECK(outcome.out.empty());
        CHECK_THAT(outcome.err, Catch::StartsWith("heddle: ") && Catch::Contains(test.expected));
        CHECK(std::count(outcome.err.begin(), outcome.err.end(), '\n') == 1);
    }
}

namespace {

constexpr const char* kVtrainHeading =
    "# GPUs,global batch,micro batch,hidden size,attention heads,# layers,sequence length,tensor "
    "parallelism,data parallelism,pipeline parallelism,iteration time (ms)\n";

}  // namespace

TEST_CASE("whatever form of validate compares nothing ends with code 1 and says why") {
    Folder folder;
    folder.write("gemm.csv", "m,n,k,us\n64,64,64,2.0\n");
    folder.write("attention.csv", "batch,sequence,heads,kv_heads,head_dim,latency_us\n1,64,2,2,40,16\n");
    // 16 heads on 3 devices: no such plan.
    folder.write("steps.csv", std::string(kVtrainHeading) + "3,15,1,1024,16,16,1024,3,1,1,372.160408\n");
    folder.write("step.json", R"({"heddle_trace": 1, "name": "sum",
        "tensors": [{"name": "a", "type": "f32", "shape": [64], "role": "input"},
                    {"name": "b", "type": "f32", "shape": [64]}],
        "ops": [{"name": "other", "kind": "unknown", "inputs": ["a"], "outputs": ["b"], "measured_us": 2.0}]})");
    struct Case {
        const char* arguments;
        const char* why;
    };
    const Case cases[] = {
        {"numerics", "not here: recorded tensor-core vectors"},
        {"kernels", "not yet recorded: kernels of Heddle's library"},
        {"losses", "not yet recorded: losses and gradients"},
        {"all --filter 'no such row'", "no row has `no such row` in its name or its category"},
        {"timing --hardware tpu-v4", "nothing is here for tpu-v4"},
        {"collectives", "not here: nccl_a100_sxm.csv, nccl_h100_sxm.csv"},
        {"collectives --cluster ideal", "no table is known that was recorded on ideal"},
        {"attention --data attention.csv -j 1", "no row of attention.csv could be timed, the first: "},
        {"training --data steps.csv --cluster dgx-a100 -j 1",
         "no row of steps.csv could be timed, the first: "},
        {"trace step.json --hardware h100-sxm --no-cache -j 1", "cycle by cycle"},
    };
    for (const Case& test : cases) {
        CAPTURE(test.arguments);
        const Outcome outcome = validate(folder, test.arguments);
        CHECK(outcome.code == 1);
        CHECK_THAT(outcome.err,
                   Catch::StartsWith("heddle: nothing was compared: ") && Catch::Contains(test.why));
        CHECK(std::count(outcome.err.begin(), outcome.err.end(), '\n') == 1);
    }
    // Of one pair of weights, one half has nothing.
    const std::string gemm = "gemm --data gemm.csv --column us --hardware h100-sxm --closed-form --half ";
    const int first = validate(folder, gemm + "first").code, second = validate(folder, gemm + "second").code;
    CHECK(first + second == 1);
    const std::string training = "training --data steps.csv --cluster dgx-a100 --half ";
    CHECK(validate(folder, training + "first").code == 1);
    CHECK(validate(folder, training + "second").code == 1);
    const auto json = nlohmann::json::parse(validate(folder, "numerics --json").out);
    CHECK(json["holds"] == false);
}

TEST_CASE("series of recorded vectors that cannot be compared are named with the reason") {
    Folder folder;
    write_tensor_core_rows(folder, true);
    fs::remove_all(folder.path() /
                   "data/tensor_core/khattak_mikaitis/H100/fp16");  // its bars are about 5,000 rows
    const Outcome outcome = validate(folder, "numerics", "data");
    CHECK(outcome.code == 0);
    CHECK_THAT(
        outcome.out,
        Catch::Contains("skipped: A100 bf16 -> fp16: no tensor core operation bf16 -> fp16 on Ampere") &&
            Catch::Contains("skipped: H100 tf32 -> fp16: ") &&
            Catch::Contains(
                "not recorded there: V100, A2, Ada, L40S, H100 fp16 -> fp32, H100 fp16 -> fp16, "));
}

TEST_CASE("a recording of a device that no hardware file describes names the nearest") {
    Folder folder;
    // A profiler's recording of one kernel, on a device of this name.
    const auto profile = [&](const std::string& device) {
        folder.write("profile.json", R"({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": ")" +
                                         device +
                                         R"(", "totalGlobalMem": 85097971712}], "traceEvents": [
            {"ph": "X", "cat": "cpu_op", "name": "aten::relu", "pid": 1, "tid": 1, "ts": 1, "dur": 5,
             "args": {"External id": 1, "Input Dims": [[64, 64]], "Input type": ["float"]}},
            {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 2, "dur": 1,
             "args": {"External id": 1, "correlation": 7}},
            {"ph": "X", "cat": "kernel", "name": "relu", "pid": 0, "tid": 7, "ts": 8, "dur": 3,
             "args": {"External id": 1, "correlation": 7, "device": 0, "stream": 7}}]})");
        const Outcome outcome = validate(folder, "trace profile.json");
        CHECK(outcome.code == 2);
        return outcome.err;
    };
    CHECK_THAT(profile("NVIDIA H100 PCIe"),
               Catch::Contains("there is no hardware file for NVIDIA H100 PCIe; did you mean `--hardware "
                               "h100-sxm`? Known: a100-pcie, a100-sxm, "));
    CHECK_THAT(profile("NVIDIA B100"), Catch::Contains("did you mean `--hardware "));
    // Nothing is near, and TPUs are no GPUs.
    const std::string other = profile("Some Accelerator");
    CHECK_THAT(other, Catch::Contains("name one with --hardware; known: a100-pcie"));
    CHECK_THAT(other, !Catch::Contains("tpu") && !Catch::Contains("did you mean"));
}

TEST_CASE("recorded rows that the model misses fail with code 1, and everything is written before") {
    Folder folder;
    write_tensor_core_rows(folder, false);
    const Outcome outcome = validate(folder, "numerics --json --report page.html", "data");
    CHECK(outcome.code == 1);
    CHECK_THAT(outcome.err, Catch::Contains("bars do not hold"));
    CHECK(std::count(outcome.err.begin(), outcome.err.end(), '\n') == 1);
    const auto json = nlohmann::json::parse(outcome.out);
    CHECK(json["holds"] == false);
    CHECK(json["comparisons"][0]["rows"].size() == 12);
    CHECK(json["comparisons"][0]["rows"][0]["bits"]["identical"] == 0);
    CHECK_THAT(text_of(folder.path() / "page.html"),
               Catch::StartsWith("<!DOCTYPE html>") && Catch::EndsWith("</html>\n"));
    CHECK_FALSE(fs::exists(folder.path() / "page.html.part"));
}

TEST_CASE("a report that cannot be written is an error of code 2") {
    Folder folder;
    write_tensor_core_rows(folder, true);
    const Outcome outcome = validate(folder, "numerics --report nowhere/page.html", "data");
    CHECK(outcome.code == 2);
    CHECK_THAT(outcome.err, Catch::Contains("nowhere/page.html"));
}

TEST_CASE("a capture by the simulator is refused unless asked for") {
    Folder folder;
    folder.write("capture/manifest.json", R"({"schema": 1, "silicon": false, "sections": {}})");
    const Outcome outcome = validate(folder, "all --capture capture");
    CHECK(outcome.code == 2);
    CHECK_THAT(outcome.err, Catch::Contains("--allow-simulator"));
}

TEST_CASE("the example of a validation finds the model's own kernels again, and says that it is no silicon") {
    Folder folder;
    const std::string out = (folder.path() / "rows.json").string();
    const std::string command =
        std::string("HEDDLE='" HEDDLE_COMMAND "' HEDDLE_CAPTURE='" HEDDLE_CAPTURE_COMMAND "' '") +
        HEDDLE_SOURCE_DIR "/examples/validate.sh' --json >'" + out + "' 2>/dev/null </dev/null";
    REQUIRE(std::system(command.c_str()) == 0);
    const nlohmann::json comparisons = nlohmann::json::parse(text_of(out))["comparisons"];
    REQUIRE(comparisons.size() == 1);
    CHECK(comparisons[0]["reference"]["silicon"] == false);
    CHECK(comparisons[0]["rows"].size() > 20);
    for (const nlohmann::json& row : comparisons[0]["rows"]) {
        CAPTURE(row.dump());
        CHECK(row["bits"]["identical"] == row["bits"]["total"]);
    }
}

TEST_CASE("a capture that the simulator made goes through every tool, and every page says what it is") {
    Folder folder;
    const std::string out = (folder.path() / "capture").string();
    const std::string command =
        std::string("'" HEDDLE_CAPTURE_COMMAND "' --device simulator --quick --sections ") +
        "device,order --output '" + out + "' >'" + out + ".log' 2>&1";
    REQUIRE(std::system(command.c_str()) == 0);
    const Outcome outcome =
        validate(folder, "numerics --capture capture --allow-simulator --report page.html");
    CHECK(outcome.code == 0);
    CHECK_THAT(outcome.out, Catch::Contains("NOT SILICON") && Catch::Contains("Orders of sums, revealed"));
    CHECK_THAT(outcome.out, Catch::Contains("not yet recorded: GEMMs of cuBLASLt"));
    CHECK_THAT(text_of(folder.path() / "page.html"), Catch::Contains("NOT SILICON"));
    // Cut short in copying: an error that names the file, not a comparison of the rest.
    const fs::path lines = folder.path() / "capture" / "order.jsonl";
    fs::resize_file(lines, fs::file_size(lines) - 20);
    const Outcome damaged = validate(folder, "numerics --capture capture --allow-simulator");
    CHECK(damaged.code == 2);
    CHECK_THAT(damaged.err, Catch::Contains("order.jsonl:"));
}

TEST_CASE(
    "a comparison's --json prints JSON and nothing else, --json-file writes the same beside the table") {
    Folder folder;
    folder.write("gemm.csv", "m,n,k,us\n64,64,64,2.0\n4096,4096,4096,210\n");
    folder.write("nccl.csv",
                 "framework,version,device,op_name,kernel_source,nccl_dtype,num_gpus,message_size,latency\n"
                 "TRTLLM,2.29.2,H100,all_gather,NCCL,half,2,512,0.0052\n");
    folder.write("steps.csv", std::string(kVtrainHeading) + "2,16,8,1024,16,24,1024,1,1,2,372.160408\n");
    folder.write("attention.csv", "batch,sequence,heads,kv_heads,head_dim,latency_us\n1,64,1,1,64,16.288\n");
    folder.write("step.json", R"({"heddle_trace": 1, "name": "sum",
        "tensors": [{"name": "a", "type": "f32", "shape": [64], "role": "input"},
                    {"name": "b", "type": "f32", "shape": [64]}],
        "ops": [{"name": "twice", "kind": "elementwise", "inputs": ["a"], "outputs": ["b"],
                 "attributes": {"expression": "y0 = x0 + x0"}, "measured_us": 2.0, "kernel_name": "twice"}]})");
    struct Case {
        const char* arguments;
        const char* key;  ///< of the JSON, with as many rows as the table
        std::size_t rows;
    };
    const Case cases[] = {
        {"gemm --data gemm.csv --column us --hardware h100-sxm --closed-form", "worst", 2},
        {"collectives --data nccl.csv --cluster dgx-h100 --bar 1e9", "rows", 1},
        {"training --data steps.csv --cluster dgx-a100", "rows", 1},
        {"attention --data attention.csv -j 1", "rows", 1},
        {"trace step.json --hardware h100-sxm --no-cache -j 1", "kernels", 1},
    };
    for (const Case& test : cases) {
        CAPTURE(test.arguments);
        const Outcome printed = validate(folder, std::string(test.arguments) + " --json");
        CAPTURE(printed.err);
        REQUIRE(printed.code == 0);
        CHECK(nlohmann::json::parse(printed.out)[test.key].size() == test.rows);
        const Outcome table = validate(folder, std::string(test.arguments) + " --json-file rows.json");
        CHECK(table.code == 0);
        CHECK_THAT(table.out, Catch::Contains("written: rows.json"));
        CHECK(folder.read("rows.json") == printed.out);
    }
    // A name after the flag is no file: it would be taken for something else.
    const Outcome named = validate(folder, std::string(cases[0].arguments) + " --json rows.json");
    CHECK(named.code == 2);
    CHECK_THAT(named.err, Catch::Contains("rows.json"));
}
