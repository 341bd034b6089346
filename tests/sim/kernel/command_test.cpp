// `heddle kernel` as users call it.
#include "support/command.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

namespace fs = std::filesystem;
using Json = nlohmann::json;
using heddle::tests::Folder;
using heddle::tests::Outcome;
using heddle::tests::run_heddle;

namespace {

const std::string kExamples = HEDDLE_SOURCE_DIR "/examples/kernels/";

/// y[i] = x[i] + 1 in integers, 64 elements, one block.
const char* const kIncrement = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry increment(.param .u64 from, .param .u64 to)
{
    .reg .b64 %rd<6>;
    .reg .b32 %r<4>;
    ld.param.u64 %rd1, [from];
    ld.param.u64 %rd2, [to];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd3, %r1, 4;
    add.s64 %rd4, %rd1, %rd3;
    add.s64 %rd5, %rd2, %rd3;
    ld.global.u32 %r2, [%rd4];
    add.s32 %r3, %r2, 1;
    st.global.u32 [%rd5], %r3;
    ret;
}
)";

const char* const kLaunch = R"(module: increment.ptx
buffers:
  x: {type: s32, count: 64, fill: iota}
  y: {type: s32, count: 64}
launches:
  - {entry: increment, grid: 1, block: 64, arguments: [x, y]}
)";

/// Every folder of examples/kernels.
std::vector<std::string> example_names() {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(kExamples))
        if (entry.is_directory()) names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
}

}  // namespace

TEST_CASE("the kernel examples compute what they should") {
    CHECK(example_names().size() >= 6);
    for (const std::string& name : example_names()) {
        CAPTURE(name);
        Folder folder;
        const Outcome outcome = run_heddle(
            folder, "kernel " + kExamples + name + "/launch.yaml --hardware h100-sxm --numerics --json");
        CAPTURE(outcome.err);
        REQUIRE(outcome.code == 0);
        const Json json = Json::parse(outcome.out);
        REQUIRE_FALSE(json["comparisons"].empty());
        for (const Json& comparison : json["comparisons"]) {
            CHECK(comparison["passed"] == true);
            CHECK(comparison["elements"].get<int>() > 0);
        }
        for (const Json& launch : json["launches"]) {
            CHECK(launch["cycles"].get<double>() > 0);
            CHECK(launch["cycles"] == launch["functional_cycles"]);
        }
    }
}

TEST_CASE("the scheduling pass changes no bit of an example") {
    for (const std::string& name : example_names()) {
        CAPTURE(name);
        Folder folder;
        fs::copy(kExamples, folder.path(), fs::copy_options::recursive);  // some name kernels of others
        const std::string file = name + "/launch.yaml";
        std::string launch = folder.read(file);
        REQUIRE(launch.find("\noutputs:") == std::string::npos);
        const std::string key = "- {buffer: ";
        const std::size_t at = launch.find(key, launch.find("\ncompare:")) + key.size();
        const std::string buffer = launch.substr(at, launch.find(',', at) - at);
        folder.write(file, launch + "\noutputs:\n  - {buffer: " + buffer + ", file: bits.npy}\n");
        std::vector<std::string> bits;
        for (const char* schedule : {"on", "off"}) {
            const Outcome outcome = run_heddle(
                folder,
                "kernel " + file + std::string(" --hardware h100-sxm --numerics --schedule ") + schedule);
            CAPTURE(outcome.err);
            REQUIRE(outcome.code == 0);
            bits.push_back(folder.read("bits.npy"));
        }
        CHECK(bits[0].size() > 128);
        CHECK(bits[0] == bits[1]);
    }
}

TEST_CASE("looking at every cycle changes no cycle of an example") {
    for (const std::string hardware : {"h100-sxm", "a100-sxm"}) {
        for (const std::string& name : example_names()) {
            const bool hopper = name == "hopper_gemm" || name == "dependent_launch";
            if (hopper && hardware != "h100-sxm") continue;
            CAPTURE(hardware, name);
            Folder folder;
            const std::string command =
                "kernel " + kExamples + name + "/launch.yaml --json --hardware " + hardware;
            const Json skipping = Json::parse(run_heddle(folder, command).out),
                       every = Json::parse(run_heddle(folder, command + " --tick-every-cycle").out);
            REQUIRE_FALSE(skipping["launches"].empty());
            for (std::size_t i = 0; i < skipping["launches"].size(); ++i)
                CHECK(skipping["launches"][i]["cycles"] == every["launches"][i]["cycles"]);
        }
    }
}

TEST_CASE("the example of a DRAM model builds it and runs a kernel on both") {
    Folder folder;
    const std::string command =
        "HEDDLE='" HEDDLE_COMMAND "' '" HEDDLE_SOURCE_DIR "/examples/dram-model/run.sh' --json >'" +
        (folder.path() / "out").string() + "' 2>'" + (folder.path() / "err").string() + "' </dev/null";
    const int status = std::system(command.c_str());
    CAPTURE(folder.read("err"));
    REQUIRE(status == 0);
    std::istringstream results(folder.read("out"));
    Json own, other;
    results >> own >> other;
    // The same kernel, another memory.
    CHECK(own["launches"][0]["warp_instructions"] == other["launches"][0]["warp_instructions"]);
    CHECK(own["launches"][0]["cycles"] != other["launches"][0]["cycles"]);
}

TEST_CASE("the example of an L2 model builds it and runs a kernel on both") {
    Folder folder;
    const auto run = [&](const std::string& extra) {
        const std::string command =
            "EXTRA_LATENCY=" + extra +
            " HEDDLE='" HEDDLE_COMMAND "' '" HEDDLE_SOURCE_DIR "/examples/l2-model/run.sh' --json >'" +
            (folder.path() / "out").string() + "' 2>'" + (folder.path() / "err").string() + "' </dev/null";
        const int status = std::system(command.c_str());
        CAPTURE(folder.read("err"));
        REQUIRE(status == 0);
        std::istringstream results(folder.read("out"));
        Json own, other;
        results >> own >> other;
        CHECK(own["launches"][0]["warp_instructions"] == other["launches"][0]["warp_instructions"]);
        return std::pair{own["launches"][0]["cycles"].get<double>(),
                         other["launches"][0]["cycles"].get<double>()};
    };
    const auto [own, same] = run("0");
    const auto [own_again, slower] = run("400");
    CHECK(own == own_again);
    CHECK(same == Approx(own).epsilon(0.05));
    CHECK(slower > same + 400);
}

TEST_CASE("a dependent launch hides its beginning in the one before") {
    Folder folder;
    const std::string command = "kernel launch.yaml --hardware h100-sxm --json";
    for (const std::string file : {"launch.yaml", "dependent_launch.ptx"})
        fs::copy_file(kExamples + "dependent_launch/" + file, folder.path() / file);
    const Json with = Json::parse(run_heddle(folder, command).out)["launches"];
    std::string text = folder.read("launch.yaml");
    for (std::size_t at = 0; (at = text.find("    programmatic: true\n")) != std::string::npos;)
        text.erase(at, std::strlen("    programmatic: true\n"));
    folder.write("launch.yaml", text);
    const Json without = Json::parse(run_heddle(folder, command).out)["launches"];
    CHECK(with[0]["cycles"] == without[0]["cycles"]);
    const auto own = [](const Json& launch) {
        return launch["cycles"].get<double>() - launch.value("overlap_cycles", 0.0);
    };
    for (std::size_t i = 1; i < 3; ++i) {
        CHECK(without[i].value("overlap_cycles", 0.0) == 0);
        CHECK(with[i].value("overlap_cycles", 0.0) > 0);
        // At least the time from the end of earlier work to the first thread block is saved, less the end of
        // the launch before; never more than launch and table take.
        CHECK(own(with[i]) < 0.9 * own(without[i]));
        CHECK(own(with[i]) > 0.3 * own(without[i]));
    }
}

TEST_CASE("launches of several streams also run together, and the table says what that costs each") {
    Folder folder;
    fs::create_directories(folder.path() / "saxpy");
    fs::copy_file(kExamples + "saxpy/saxpy.ptx", folder.path() / "saxpy/saxpy.ptx");
    const auto launches = [](const std::string& first, const std::string& second) {
        const std::string launch = "  - {entry: saxpy, grid: 1024, block: 256, arguments: [{s32: 262144}, {f32: 2.5}, x, y]";
        return "module: saxpy/saxpy.ptx\nbuffers:\n  x: {type: f32, count: 262144, fill: {constant: 1}}\n"
               "  y: {type: f32, count: 262144, fill: {constant: 1}}\nlaunches:\n" +
               launch + first + "}\n" + launch + second + "}\n";
    };
    const auto run = [&](const std::string& first, const std::string& second) {
        folder.write("launch.yaml", launches(first, second));
        const Outcome result = run_heddle(folder, "kernel launch.yaml --hardware h100-sxm --numerics --json");
        REQUIRE(result.code == 0);
        return Json::parse(result.out);
    };
    const Json alone = run("", "");
    CHECK_FALSE(alone.contains("together"));
    const Json streams = run(", stream: 1", ", stream: 2"), ordered = run(", stream: 1", ", stream: 2, after: [0]"),
               parts = run(", stream: 1, sms: [0, 65]", ", stream: 2, sms: [66, 131]");
    for (const Json* json : {&streams, &ordered, &parts}) {
        REQUIRE((*json)["together"].size() == 2);
        // A launch alone is not affected.
        CHECK((*json)["launches"] == alone["launches"]);
    }
    const double one_after_the_other = alone["total_time_us"].get<double>();
    CHECK(streams["together_us"].get<double>() < one_after_the_other);
    CHECK(ordered["together"][1]["start_us"].get<double>() >= ordered["together"][0]["end_us"].get<double>() - 3);
    CHECK(ordered["together_us"].get<double>() == Approx(one_after_the_other).epsilon(0.1));
    CHECK(parts["together"][1]["sms"].get<double>() <= 66);
    // Errors name the place and what was expected.
    const auto error = [&](const std::string& first, const std::string& second) {
        folder.write("launch.yaml", launches(first, second));
        const Outcome result = run_heddle(folder, "kernel launch.yaml --hardware h100-sxm");
        CHECK(result.code == 2);
        return result.err;
    };
    CHECK_THAT(error("", ", after: [1]"), Catch::Contains("launch 1 does not come before this one"));
    CHECK_THAT(error("", ", sms: [5, 2]"), Catch::Contains("expected [FIRST, LAST]"));
    CHECK_THAT(error("", ", sms: [0, 132]"), Catch::Contains("SM 132 does not exist"));
    CHECK_THAT(error(", stream: 1", ", stream: 2, programmatic: true"), Catch::Contains("depends on the launch before it, in its stream"));
    CHECK_THAT(error("", ", priority: 1.5"), Catch::Contains("whole number"));
}

TEST_CASE("a cooperative launch has a barrier of its grid, and must fit the device") {
    Folder folder;
    for (const std::string file : {"launch.yaml", "grid_barrier.ptx"})
        fs::copy_file(kExamples + "grid_barrier/" + file, folder.path() / file);
    const std::string text = folder.read("launch.yaml");
    const auto run = [&](const std::string& from, const std::string& to, const std::string& arguments) {
        std::string changed = text;
        changed.replace(changed.find(from), from.size(), to);
        folder.write("launch.yaml", changed);
        return run_heddle(folder, "kernel launch.yaml " + arguments);
    };
    // Without a device any grid fits that a device may hold; the values are those of the comparison.
    const Outcome functional = run("grid: 264", "grid: 2000", "--functional --json");
    CAPTURE(functional.err);
    REQUIRE(functional.code == 0);
    const Json values = Json::parse(functional.out);
    REQUIRE(values["comparisons"].size() == 2);
    for (const Json& comparison : values["comparisons"]) CHECK(comparison["passed"] == true);
    // 132 SMs have 8 places for blocks of 256 threads at most. The launch is named before anything has run.
    for (const std::string mode : {"", " --numerics", " --functional"}) {
        const Outcome large = run("grid: 264", "grid: 2000", "--hardware h100-sxm" + mode);
        CHECK(large.code == 2);
        CHECK_THAT(
            large.err,
            Catch::Contains("launch.yaml:9: launches[0]: a cooperative launch of 2000 thread blocks is too "
                            "large: this GPU runs ") &&
                Catch::Contains(" of them at once") && Catch::Contains("use a grid of at most "));
    }
    const Outcome ordinary = run("    cooperative: true\n", "", "--functional");
    CHECK(ordinary.code == 2);
    CHECK_THAT(ordinary.err,
               Catch::Contains("the kernel executed trap; a barrier of the grid needs a cooperative launch"));
    // The second launch finds the barrier as the first has left it, and each round costs cycles.
    const auto cycles = [&](const std::string& from, const std::string& to) {
        const Outcome outcome = run(from, to, "--hardware h100-sxm --json");
        CAPTURE(outcome.err);
        REQUIRE(outcome.code == 0);
        const Json json = Json::parse(outcome.out);
        std::vector<double> all;
        for (const Json& launch : json["launches"]) all.push_back(launch["cycles"]);
        return all;
    };
    const std::vector<double> twice =
        cycles("cooperative: true\n", "cooperative: true\n    repetitions: 2\n");
    REQUIRE(twice.size() == 2);
    const std::vector<double> longer = cycles("{s32: 4}", "{s32: 8}");
    CHECK(longer.at(0) > twice[0] + 4 * 2 * 250);  // an atomic, then a load, at L2
}

TEST_CASE("sorts of CUB load and sort, where nvcc is installed") {
    if (std::system("command -v nvcc >/dev/null") != 0) return;
    Folder folder;
    // Its match of digits has vote.ballot.sync.b32.
    folder.write("match.cu",
                 "#include <cub/util_ptx.cuh>\n"
                 "extern \"C\" __global__ void match(const unsigned* digits, unsigned* alike) {\n"
                 "  alike[threadIdx.x] = cub::MatchAny<5>(digits[threadIdx.x]);\n}\n");
    folder.write("launch.yaml",
                 "module: match.cu\nnvcc_flags: [-arch=sm_80]\nbuffers:\n"
                 "  digits: {type: u32, count: 32, fill: {uniform: {low: 0, high: 8, seed: 5}}}\n"
                 "  alike: {type: u32, count: 32}\n"
                 "launches:\n  - {entry: match, grid: 1, block: 32, arguments: [digits, alike]}\n"
                 "compare:\n  - {buffer: alike, bit_exact: true, expression: "
                 "\"sum(k, 32, (digits[k] == digits[i]) * pow(2, k))\"}\n");
    const Outcome outcome = run_heddle(folder, "kernel launch.yaml --functional --json");
    CAPTURE(outcome.err);
    REQUIRE(outcome.code == 0);
    CHECK(Json::parse(outcome.out)["comparisons"].at(0)["passed"] == true);

    folder.write(
        "sort.cu",
        "#include <cub/device/device_radix_sort.cuh>\n"
        "#include <thrust/sort.h>\n#include <thrust/execution_policy.h>\n"
        "void sort(void* temporary, unsigned long& bytes, unsigned* keys, unsigned* to, double* others) {\n"
        "  cub::DeviceRadixSort::SortPairs(temporary, bytes, keys, to, keys, to, 1000);\n"
        "  thrust::sort(thrust::device, others, others + 1000);\n}\n");
    const Outcome listed = run_heddle(folder, "kernel --list sort.cu --json");
    CAPTURE(listed.err);
    REQUIRE(listed.code == 0);
    const Json list = Json::parse(listed.out);
    CHECK(list["kernels"].size() > 5);
    CHECK(list["unsupported"].empty());
}

TEST_CASE("all three modes run the same kernel") {
    Folder folder;
    folder.write("increment.ptx", kIncrement);
    folder.write("launch.yaml", std::string(kLaunch) +
                                    "compare:\n  - {buffer: y, expression: \"i + 1\", bit_exact: true}\n"
                                    "outputs:\n  - {buffer: y, file: y.raw}\n  - {buffer: y, file: y.npy}\n");
    const Json timing = Json::parse(run_heddle(folder, "kernel launch.yaml --hardware h100-sxm --json").out);
    CHECK(timing["comparisons"].empty());
    CHECK_THAT(timing["notes"].at(0).get<std::string>(), Catch::Contains("--numerics"));
    CHECK_FALSE(fs::exists(folder.path() / "y.raw"));

    const Json numerics = Json::parse(
        run_heddle(folder, "kernel launch.yaml --hardware h100-sxm --numerics --json --output out").out);
    CHECK(numerics["launches"][0]["cycles"] == timing["launches"][0]["cycles"]);
    // Two warps of ten instructions.
    CHECK(numerics["launches"][0]["warp_instructions"] == 20);
    CHECK(numerics["comparisons"][0]["passed"] == true);

    const Outcome functional = run_heddle(folder, "kernel launch.yaml --functional");
    CHECK(functional.code == 0);
    CHECK_THAT(functional.out, Catch::Contains("64 elements agree") && Catch::Contains("written: y.npy"));
    const std::string raw = folder.read("y.raw");
    REQUIRE(raw.size() == 256);
    std::int32_t last = 0;
    std::memcpy(&last, raw.data() + 252, 4);
    CHECK(last == 64);
    CHECK(folder.read("out/y.raw") == raw);
    CHECK(folder.read("y.npy").substr(128) == raw);
}

TEST_CASE("a comparison that fails ends with code 1 and says where") {
    Folder folder;
    folder.write("increment.ptx", kIncrement);
    folder.write("launch.yaml",
                 std::string(kLaunch) +
                     "compare:\n  - {buffer: y, expression: \"i == 40 ? 50 : i + 1\", tolerance: "
                     "{absolute: 0}}\n");
    const Outcome outcome = run_heddle(folder, "kernel launch.yaml --functional");
    CHECK(outcome.code == 1);
    CHECK_THAT(outcome.out, Catch::Contains("1 of 64 elements differ"));
    CHECK_THAT(outcome.err, Catch::Contains("element 40 is 41, expected 50"));
    const Outcome json = run_heddle(folder, "kernel launch.yaml --functional --json");
    CHECK(json.code == 1);
    const Json first = Json::parse(json.out)["comparisons"][0]["first"][0];
    CHECK(first["index"] == 40);
    CHECK(first["got"] == "41");
    CHECK(first["expected"] == "50");
    CHECK(first["ulp"] == 9);
}

TEST_CASE("launches share memory and are repeated") {
    Folder folder;
    folder.write("increment.ptx", kIncrement);
    folder.write("launch.yaml", R"(module: increment.ptx
buffers:
  x: {type: s32, count: 64, fill: iota}
launches:
  - {entry: increment, grid: 1, block: 64, arguments: [x, x], repetitions: 5}
  - {entry: increment, grid: 1, block: 32, arguments: [x, {buffer: x, offset: 128}]}
compare:
  - {buffer: x, expression: "i < 32 ? i + 5 : i - 32 + 6", bit_exact: true}
)");
    const Outcome outcome = run_heddle(folder, "kernel launch.yaml --functional --json");
    CAPTURE(outcome.err);
    CHECK(outcome.code == 0);
    CHECK(Json::parse(outcome.out)["launches"].size() == 6);
}

TEST_CASE("checks find a race, and nothing in a kernel that has none") {
    std::string text = kIncrement;
    // Everyone writes word 0 of shared memory, unordered; then the same text without.
    text.replace(text.find("    add.s32"), 4, "    st.shared.u32 [word], %r1;\n    ");
    text.replace(text.find("    .reg .b64"), 4, "    .shared .align 4 .b8 word[4];\n    ");
    Folder folder;
    folder.write("launch.yaml", kLaunch);
    folder.write("increment.ptx", text);
    const Outcome race = run_heddle(folder, "kernel launch.yaml --functional --check --json");
    CHECK(race.code == 1);
    CHECK_FALSE(Json::parse(race.out)["findings"].empty());
    folder.write("increment.ptx", kIncrement);
    CHECK(run_heddle(folder, "kernel launch.yaml --functional --check").code == 0);
    CHECK(run_heddle(folder, "kernel launch.yaml --hardware h100-sxm --check").code == 2);
}

TEST_CASE("values that timing mode left out do not steer") {
    // `gather` reads its addresses from what `increment` wrote.
    std::string text = kIncrement;
    std::string gather = text.substr(text.find(".visible"));
    gather.replace(gather.find("increment"), 9, "gather");
    gather.replace(gather.find("add.s32 %r3, %r2, 1;"), 20,
                   "mul.wide.s32 %rd3, %r2, 4; add.s64 %rd4, %rd1, %rd3; ld.global.u32 %r3, [%rd4];");
    Folder folder;
    folder.write("increment.ptx", text + gather);
    folder.write("launch.yaml", R"(module: increment.ptx
buffers:
  x: {type: s32, count: 64, fill: {constant: -1}}
  y: {type: s32, count: 64, fill: {constant: 7}}
  z: {type: s32, count: 64}
launches:
  - {entry: increment, grid: 1, block: 64, arguments: [x, y]}
  - {entry: gather, grid: 1, block: 64, arguments: [y, z]}
compare:
  - {buffer: z, expression: "0", bit_exact: true}
)");
    const Outcome timing = run_heddle(folder, "kernel launch.yaml --hardware h100-sxm");
    CHECK(timing.code == 2);
    CHECK_THAT(timing.err, Catch::Contains("steered by values of buffer y, which kernel increment wrote") &&
                               Catch::Contains("add --numerics"));
    const Outcome numerics = run_heddle(folder, "kernel launch.yaml --hardware h100-sxm --numerics");
    CAPTURE(numerics.err);
    CHECK(numerics.code == 0);
}

TEST_CASE("mistakes end with code 2 and one line") {
    struct Case {
        const char *from, *to, *arguments, *expected;
    };
    const Case cases[] = {
        {"", "", "kernel", "no launch file"},
        {"", "", "kernel launch.yaml", "--hardware is required"},
        {"", "", "kernel none.yaml --functional", "none.yaml"},
        {"", "", "kernel launch.yaml --hardware tpu-v3", "is a TPU"},
        {"", "", "kernel launch.yaml --hardware h100-sxm --numerics --functional", "--functional"},
        {"entry: increment", "entry: incremnt", "kernel launch.yaml --functional",
         "launch.yaml:6: launches[0].entry: there is no kernel `incremnt` in the module; did you mean "
         "`increment`?"},
        {"[x, y]", "[x]", "kernel launch.yaml --functional", "takes 2 arguments, 1 are given"},
        {"[x, y]", "[x, {s32: 1}]", "kernel launch.yaml --functional",
         "launches[0].arguments[1]: parameter to of kernel increment has 8 bytes, 4 are given"},
        {"increment.ptx", "none.ptx", "kernel launch.yaml --functional", "none.ptx"},
        {"increment.ptx", "none.cu", "kernel launch.yaml --functional", "no such file"},
        {"block: 64", "block: 65", "kernel launch.yaml --functional", "increment"},  // out of bounds
        {"", "", "kernel --list none.ptx", "none.ptx"},
    };
    for (const Case& test : cases) {
        CAPTURE(test.arguments, test.to);
        Folder folder;
        folder.write("increment.ptx", kIncrement);
        std::string launch = kLaunch;
        if (*test.from != 0) launch.replace(launch.find(test.from), std::strlen(test.from), test.to);
        folder.write("launch.yaml", launch);
        const Outcome outcome = run_heddle(folder, test.arguments);
        CHECK(outcome.code == 2);
        CHECK(outcome.out.empty());
        CHECK_THAT(outcome.err, Catch::StartsWith("heddle: ") && Catch::Contains(test.expected));
        CHECK(std::count(outcome.err.begin(), outcome.err.end(), '\n') == 1);
    }
}

TEST_CASE("printf comes out once, beside the report") {
    if (std::system("command -v nvcc >/dev/null") != 0) return;  // compiled here, so that .cu is tried too
    Folder folder;
    folder.write("hello.cu",
                 "#include <cstdio>\n__global__ void hello(int n) { printf(\"block %d of %d\\n\", "
                 "blockIdx.x, n); }\n");
    folder.write("launch.yaml",
                 "module: hello.cu\nnvcc_flags: [-arch=sm_80]\nlaunches:\n  - {entry: hello, grid: 2, "
                 "block: 1, arguments: [{s32: 2}]}\n");
    const Outcome text = run_heddle(folder, "kernel launch.yaml --hardware h100-sxm --numerics");
    CAPTURE(text.err);
    CHECK(text.code == 0);
    CHECK_THAT(text.out, Catch::Contains("block 0 of 2\n") && Catch::Contains("block 1 of 2\n"));
    CHECK(text.out.find("block 1 of 2") == text.out.rfind("block 1 of 2"));
    const Outcome json = run_heddle(folder, "kernel launch.yaml --functional --json");
    CHECK(Json::parse(json.out)["launches"].size() == 1);
    CHECK(json.err == "block 0 of 2\nblock 1 of 2\n");
    folder.write("hello.cu", "__global__ void hello(int n) { nonsense(); }\n");
    const Outcome wrong = run_heddle(folder, "kernel launch.yaml --functional");
    CHECK(wrong.code == 2);
    CHECK_THAT(wrong.err, Catch::Contains("nvcc failed") && Catch::Contains("nonsense"));
}

TEST_CASE("a module is listed, with what cannot be run") {
    Folder folder;
    folder.write("increment.ptx", kIncrement);
    const Json good = Json::parse(run_heddle(folder, "kernel --list increment.ptx --json").out);
    const Json& kernel = good["kernels"].at(0);
    CHECK(kernel["name"] == "increment");
    CHECK(kernel["parameters"].size() == 2);
    CHECK(kernel["parameters"][1]["name"] == "to");
    CHECK(kernel["parameters"][1]["bytes"] == 8);
    CHECK(kernel["by_pipeline"]["load/store"] == 2);
    CHECK(good["unsupported"].empty());

    std::string text = kIncrement;
    text.replace(
        text.find("    ret;"), 8,
        "    tcgen05.frobnicate.b32 %r1, %r2;\n    txq.nonsense %r1;\n    tcgen05.frobnicate.b32 %r1, "
        "%r2;\n    ret;");
    folder.write("bad.ptx", text);
    const Json bad = Json::parse(run_heddle(folder, "kernel --list bad.ptx --json").out);
    REQUIRE(bad["unsupported"].size() == 2);
    CHECK(bad["unsupported"][0]["lines"] == Json::array({17, 19}));
    CHECK(bad["unsupported"][1]["lines"] == Json::array({18}));
    CHECK_THAT(run_heddle(folder, "kernel --list bad.ptx").out, Catch::Contains("(lines 17, 19)"));
    CHECK(bad["kernels"].size() == 1);
}

TEST_CASE(
    "the page of instructions is the table's: heddle kernel --instructions > docs/ptx-instructions.md") {
    Folder folder;
    const Outcome page = run_heddle(folder, "kernel --instructions");
    CHECK(page.code == 0);
    std::ifstream stream(HEDDLE_SOURCE_DIR "/docs/ptx-instructions.md", std::ios::binary);
    std::ostringstream committed;
    committed << stream.rdbuf();
    CHECK((committed.str() == page.out));  // not printed: it is long
    CHECK_THAT(page.out, Catch::Contains("| `fma` | `fma") && Catch::Contains("not yet: references to textures"));
}

TEST_CASE("heddle kernel --registers ptxas takes the count of ptxas, or says that it is not there") {
    const Folder folder;
    // The lines are those of ptxas 13.0 for a kernel that uses 24.
    folder.write("ptxas",
                 "#!/bin/sh\n"
                 "echo \"ptxas info    : 0 bytes gmem\"\n"
                 "echo \"ptxas info    : Compiling entry function 'increment' for 'sm_90a'\"\n"
                 "echo \"ptxas info    : Function properties for increment\"\n"
                 "echo \"ptxas info    : Used 24 registers, used 0 barriers\"\n");
    fs::permissions(folder.path() / "ptxas", fs::perms::owner_all);
    folder.write("increment.ptx", kIncrement);
    folder.write("launch.yaml", kLaunch);
    const auto registers = [&](const std::string& ptxas, const std::string& flags) {
        ::setenv("HEDDLE_PTXAS", ptxas.c_str(), 1);
        Outcome outcome = run_heddle(folder, "kernel launch.yaml --hardware h100-sxm --json" + flags);
        ::unsetenv("HEDDLE_PTXAS");
        return outcome;
    };
    const Outcome own = registers("./ptxas", "");
    REQUIRE(own.code == 0);
    CHECK(Json::parse(own.out)["registers"] == "allocation");
    CHECK(Json::parse(own.out)["launches"][0]["registers_per_thread"] == 16);
    const Outcome counted = registers("./ptxas", " --registers ptxas");
    REQUIRE(counted.code == 0);
    CHECK(Json::parse(counted.out)["registers"] == "ptxas");
    CHECK(Json::parse(counted.out)["launches"][0]["registers_per_thread"] == 24);
    const Outcome missing = registers("./no-such-ptxas", " --registers ptxas");
    CHECK(missing.code == 2);
    CHECK(missing.err.find("ptxas is not there") != std::string::npos);
}
