// The built `heddle` command as a user meets it: exit codes, one line of error, nothing half-written.
#include "support/command.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using heddle::tests::Folder;
using heddle::tests::Outcome;
using heddle::tests::run_heddle;
using heddle::tests::text_of;

TEST_CASE("bad usage and bad input end with code 2 and one line that says how to mend it") {
    struct Case {
        const char* arguments;
        const char* expected;
    };
    const Case cases[] = {
        {"", "heddle --help"},
        {"simulat mlp", "did you mean `simulate`?"},
        {"hardware lst", "did you mean `list`?"},
        {"hardware", "heddle hardware --help"},
        {"hardware --jsn list", "there is no option `--jsn` here; see `heddle hardware --help`"},
        {"--no-such-option", "--no-such-option"},
        {"simulate", "WORKLOAD"},
        {"simulate mlp", "no device is named; give --hardware NAME"},
        {"simulate mlp --hardware h100-smx", "did you mean `h100-sxm`?"},
        {"simulate mlp --hardware h100-sxm --set sm.cuont=4",
         "--set: sm.cuont: unknown key; did you mean `sm.count`?"},
        {"simulate mlp --hardware h100-sxm --set clock=1.83", "`1830 MHz`"},
        {"simulate mlp --hardware h100-sxm --set sm.count", "--set sm.count=144"},
        {"simulate mpl --hardware h100-sxm", "mlp"},
        {"simulate mlp --hardware h100-sxm --batch many", "many"},
        {"simulate mlp --hardware h100-sxm --option depth=3", "depth"},
        {"simulate mlp --hardware h100-sxm --jobs -1", "jobs"},
        {"simulate mlp --hardware h100-sxm --steps 3", "--numerics"},
        {"simulate nosuch.et --hardware h100-sxm", "nosuch.et"},
        {"simulate nosuch.et --hardware h100-sxm --batch 4", "batch"},
        {"hardware describe nosuch", "no hardware named `nosuch`"},
        {"hardware describe nosuch.yaml", "nosuch.yaml"},
        {"hardware diff h100-sxm tpu-v3", "same kind"},
        {"trace inspect nosuch.json", "nosuch.json"},
        {"compare nowhere nosuch", "no such folder"},
        {"completion tcsh", "bash"},
        {"trace export mlp step.txt", "step.txt"},
        {"parallelism gpt2-small --cluster tpu-v4-slice --nodes 16 --batch 3",
         "3 are impossible (the first: --pipeline: 12 blocks do not make 64 stages"},
        {"parallelism gpt2-xl --cluster dgx-a100 --batch 8 --memory-limit 1MiB", "more memory than a device"},
        {"validate numerics --readme README.md --filter H100", "leave --filter out"},
        {"parallelism mlp --cluster dgx-a100 --batch 8", "the step of mlp is not made of micro-batches"},
        {"parallelism gpt2-small --cluster dgx-a100 --batch 8 --option foo=3",
         "heddle: model gpt2-small: unknown option 'foo'"},
        {"parallelism gpt2-small --cluster dgx-a100 --batch 8 --option layers=x",
         "heddle: gpt2-small option layers: 'x' is not an integer"},
        {"parallelism gpt2-smal --cluster dgx-a100 --batch 8", "did you mean gpt2-small"},
    };
    for (const Case& test : cases) {
        CAPTURE(test.arguments);
        Folder folder;
        const Outcome outcome = run_heddle(folder, test.arguments);
        CHECK(outcome.code == 2);
        CHECK(outcome.out.empty());
        CHECK_THAT(outcome.err, Catch::StartsWith("heddle: ") && Catch::Contains(test.expected));
        CHECK(std::count(outcome.err.begin(), outcome.err.end(), '\n') == 1);
        CHECK(folder.entries() == 0);
    }
}

TEST_CASE("a hardware file's mistake is told with its line, and nothing is written") {
    Folder folder;
    std::ofstream(folder.path() / "mine.yaml") << "extends: h100-sxm\nl2:\n  size: 50 MHz\n";
    const Outcome outcome = run_heddle(folder, "simulate mlp --hardware mine.yaml --out run");
    CHECK(outcome.code == 2);
    CHECK(outcome.err ==
          "heddle: mine.yaml:3: l2.size: `50 MHz` is not a size such as `50 MiB`; write a size such as `50 "
          "MiB` "
          "(units: B, KiB, MiB, GiB, TiB, kB, MB, GB, TB)\n");
    CHECK_FALSE(fs::exists(folder.path() / "run"));
}

TEST_CASE("a folder that is not a run is refused before anything is simulated") {
    Folder folder;
    fs::create_directories(folder.path() / "thesis");
    std::ofstream(folder.path() / "thesis" / "chapter1.tex") << "precious";
    const Outcome outcome = run_heddle(folder, "simulate mlp --hardware h100-sxm --out thesis");
    CHECK(outcome.code == 2);
    CHECK_THAT(outcome.err, Catch::Contains("none that says that Heddle wrote them"));
    CHECK(text_of(folder.path() / "thesis" / "chapter1.tex") == "precious");
}

TEST_CASE("plans and steps on many TPUs are simulated, whether it is asked for or not") {
    Folder folder;
    const std::string small = " gpt2-small --option layers=2 --option sequence=128 --cluster tpu-v4-slice ";
    const Outcome found = run_heddle(folder, "parallelism --nodes 16 --batch 64 --top 100 --json" + small);
    INFO(found.err);
    REQUIRE(found.code == 0);
    const Json plans = Json::parse(found.out);
    REQUIRE(plans.size() > 4);
    for (std::size_t i = 1; i < plans.size(); ++i) CHECK(plans[i - 1]["step_s"] <= plans[i]["step_s"]);
    // 64 chips of 275 TFLOP/s (ISCA 2023); six FLOP for each weight of a product and each of 64 x 128 tokens,
    // the embedding's rows among them, as the head is tied to it.
    const double weights = 2 * 12 * 768.0 * 768 + 50257 * 768, flops = 6 * weights * 64 * 128;
    for (const Json& plan : plans)
        CHECK(plan["part_of_peak"].get<double>() * plan["step_s"].get<double>() * 64 * 275e12 ==
              Approx(flops).epsilon(0.02));
    // The same plan by hand takes as long.
    const std::string by_hand = "simulate --json --data 64 --zero 1 --micro-batches 1" + small;
    const Outcome one = run_heddle(folder, by_hand);
    REQUIRE(one.code == 0);
    const double seconds = Json::parse(one.out)["step_s"];
    bool same = false;
    for (const Json& plan : plans) same |= plan["step_s"] == seconds;
    CHECK(same);
    const auto without_cost = [](const std::string& text) {  // what the simulation took on this machine
        Json answer = Json::parse(text);
        answer.erase("simulation");
        return answer;
    };
    CHECK(without_cost(run_heddle(folder, by_hand + " --kernels simulated").out) == without_cost(one.out));
    const Outcome closed = run_heddle(folder, by_hand + " --kernels closed-form");
    CHECK(closed.code == 2);
    CHECK_THAT(closed.err, Catch::Contains("the closed form knows GPUs alone"));
}

TEST_CASE("output that cannot be written is an error") {
    if (!fs::exists("/dev/full")) return;
    Folder folder;
    const Outcome outcome = run_heddle(folder, "hardware list >/dev/full 2>/dev/null; echo code $?");
    CHECK_THAT(outcome.out, Catch::Contains("code 2"));
}

TEST_CASE("every command explains itself with an example") {
    Folder folder;
    for (const char* command : {"", "simulate", "hardware", "hardware list", "hardware describe",
                                "hardware diff", "trace", "trace models", "trace inspect", "trace import",
                                "trace export", "kernel", "compare", "doctor", "completion", "man"}) {
        CAPTURE(command);
        const Outcome outcome = run_heddle(folder, std::string(command) + " --help");
        CHECK(outcome.code == 0);
        CHECK(outcome.err.empty());
        CHECK_THAT(outcome.out,
                   Catch::Contains("Example") && Catch::Contains("heddle " + std::string(command)));
    }
    CHECK_THAT(run_heddle(folder, "--version").out, Catch::StartsWith("heddle "));
}

TEST_CASE("hardware is listed, described and compared") {
    Folder folder;
    const Outcome list = run_heddle(folder, "hardware list");
    CHECK(list.code == 0);
    CHECK_THAT(list.out,
               Catch::Contains("h100-sxm") && Catch::Contains("a100-sxm") && Catch::Contains("tpu-v3"));

    const Json described =
        Json::parse(run_heddle(folder, "hardware describe h100-sxm --set sm.count=144 --json").out);
    bool found = false;
    for (const Json& parameter : described["parameters"]) {
        CHECK_FALSE(parameter["meaning"].get<std::string>().empty());
        CHECK_FALSE(parameter["source"].get<std::string>().empty());
        if (parameter["path"] != "sm.count") continue;
        found = true;
        CHECK(parameter["value"] == "144");
        CHECK(parameter["where"] == "--set");
    }
    CHECK(found);
    CHECK_THAT(run_heddle(folder, "hardware describe h100-sxm").out, Catch::Contains("\nsm.count = 132\n"));
    for (const char* command :
         {"hardware describe h100-sxm", "hardware describe tpu-v3", "hardware diff v100-sxm h100-sxm"}) {
        std::istringstream lines(run_heddle(folder, command).out);
        for (std::string line; std::getline(lines, line);) {
            CAPTURE(line);
            CHECK(line.size() <= 100);
        }
    }

    const Json differences = Json::parse(run_heddle(folder, "hardware diff a100-sxm h100-sxm --json").out);
    const auto sm_count = std::find_if(differences.begin(), differences.end(), [](const Json& difference) {
        return difference["path"] == "sm.count";
    });
    REQUIRE(sm_count != differences.end());
    CHECK((*sm_count)["first"] == "108");  // NVIDIA A100 and H100 whitepapers
    CHECK((*sm_count)["second"] == "132");
    CHECK(run_heddle(folder, "hardware diff h100-sxm h100-sxm").out == "no parameter differs\n");
}

TEST_CASE("two runs are compared by their folders: what differs was set, and the causes add up") {
    Folder folder;
    const std::string mlp = "simulate mlp --batch 64 --widths 128,128,10 --hardware tpu-v4 --json --out ";
    const Outcome first = run_heddle(folder, mlp + "first"),
                  second = run_heddle(folder, mlp + "second --set clock=500MHz");
    REQUIRE(first.code == 0);
    REQUIRE(second.code == 0);
    const Outcome outcome = run_heddle(folder, "compare first second --json");
    REQUIRE(outcome.code == 0);
    const Json json = Json::parse(outcome.out);
    REQUIRE(json["parameters"].size() == 1);
    CHECK(json["parameters"][0]["name"] == "clock");
    CHECK(json["parameters"][0]["second"] == "500 MHz");
    double causes = 0;
    for (const Json& cause : json["causes"]) causes += cause["difference_us"].get<double>();
    CHECK(causes == Approx(Json::parse(second.out)["device_busy_us"].get<double>() -
                           Json::parse(first.out)["device_busy_us"].get<double>()));
    CHECK(causes > 0);
    const Outcome text = run_heddle(folder, "compare first second");
    CHECK_THAT(text.out, Catch::Contains("why kernels differ") && Catch::Contains("clock"));
    CHECK_THAT(run_heddle(folder, "compare first first").out,
               Catch::Contains("no parameter of the hardware differs"));
}

TEST_CASE("a model's trace counts what the textbook counts, and survives its file") {
    Folder folder;
    const std::string options = " --option batch=16 --option widths=20,30,5";
    const Json inspected = Json::parse(run_heddle(folder, "trace inspect mlp --json" + options).out);
    CHECK(inspected["parameters"] == 20 * 30 + 30 + 30 * 5 + 5);
    // y = x W, dW = dy x and, but for the first layer, dx = dy W: 2 batch in out each.
    const double expected = 2.0 * 16 * (3 * 30 * 5 + 2 * 20 * 30);
    for (const Json& kind : inspected["kinds"]) {
        if (kind["name"] == "matmul") CHECK(kind["flops"] == expected);
    }
    for (const char* file : {"step.json", "step.et", "step.et.gz"}) {
        CAPTURE(file);
        CHECK(run_heddle(folder, "trace export mlp " + std::string(file) + options).code == 0);
        const Json again = Json::parse(run_heddle(folder, "trace inspect --json " + std::string(file)).out);
        CHECK(again.dump() == inspected.dump());
    }
}

TEST_CASE("the examples still work") {
    const std::string examples = HEDDLE_SOURCE_DIR "/examples/";
    Folder folder;
    const Json described =
        Json::parse(run_heddle(folder, "hardware describe --json " + examples + "my-accelerator.yaml").out);
    CHECK(described["kind"] == "gpu");
    // 256 x 784 by 784 x 512, then 256 x 512 by 512 x 10.
    const Json inspected =
        Json::parse(run_heddle(folder, "trace inspect --json " + examples + "two-layers.json").out);
    CHECK(inspected["parameters"] == 784 * 512 + 512 + 512 * 10);
    CHECK(inspected["kinds"][0]["flops"] == 2.0 * 256 * (784 * 512 + 512 * 10));
    const Outcome outcome =
        run_heddle(folder, "simulate " + examples + "two-layers.json --no-out --json --hardware " + examples +
                               "my-accelerator.yaml");
    CAPTURE(outcome.err);
    REQUIRE(outcome.code == 0);
    const Json summary = Json::parse(outcome.out);
    CHECK(summary["workload"] == "two-layers");
    CHECK(summary["hardware"] == "my-accelerator");
    CHECK(summary["coverage"]["cycle"] == 1.0);
    CHECK(folder.entries() == 0);
}

TEST_CASE("a step that JAX printed computes on a TPU what the reference does") {
    const std::string examples = HEDDLE_SOURCE_DIR "/examples/";
    Folder folder;
    // Its labels are read through a view alone.
    const Outcome outcome = run_heddle(
        folder, "simulate " + examples + "xla/mlp.mlir --hardware tpu-v5e --numerics --no-out --json");
    CAPTURE(outcome.err);
    REQUIRE(outcome.code == 0);
    const Json numerics = Json::parse(outcome.out)["numerics"];
    CHECK(numerics["device_loss"][0].get<double>() ==
          Approx(numerics["reference_loss"][0].get<double>()).epsilon(0.02));
    CHECK(numerics["device_loss"][0] != 0.0);
}

TEST_CASE("recorded kernels run, and a run of PTX becomes a trace") {
    const std::string examples = HEDDLE_SOURCE_DIR "/examples/";
    Folder folder;
    const std::string on = " --hardware a100-sxm --json";
    const Json kept =
        Json::parse(run_heddle(folder, "simulate " + examples + "traces/saxpy/kernelslist.g" + on).out);
    // 20 blocks of 8 warps, 16 instructions each; of the last 3 warps but one one is cut and two leave
    // after 7.
    CHECK(kept["warp_instructions"] == 157 * 16 + 3 * 7 + 1);
    CHECK(kept["entries"][0]["name"] == "saxpy");
    // The folder of every run, and all figures of the trace beside it.
    const auto run = folder.path() / "heddle-run-saxpy-a100-sxm";
    const Json summary = Json::parse(text_of(run / "summary.json"));
    CHECK(summary["workload"] == "saxpy");
    CHECK(summary["step_time_us"].get<double>() == Approx(kept["total_time_us"].get<double>()));
    CHECK(summary["simulation"]["warp_instructions"] == kept["warp_instructions"]);
    CHECK(Json::parse(text_of(run / "entries.json"))["entries"] == kept["entries"]);
    CHECK_THAT(text_of(run / "kernels.csv"), Catch::Contains("saxpy 20x256"));
    CHECK(Json::parse(text_of(run / "timeline.json"))["traceEvents"].size() >= 2);
    CHECK_THAT(text_of(run / "report.html"), Catch::Contains("saxpy"));
    REQUIRE(
        run_heddle(folder, "kernel " + examples + "kernels/saxpy/launch.yaml --record-trace new" + on).code ==
        0);
    const Json again = Json::parse(run_heddle(folder, "simulate new/kernelslist.g" + on).out);
    CHECK(again["entries"][0]["name"] == "saxpy");
    // The same kernel, from what is recorded now and from what was.
    CHECK(again["entries"][0]["l1"] == kept["entries"][0]["l1"]);
    CHECK(
        run_heddle(folder, "kernel " + examples + "kernels/saxpy/launch.yaml --record-trace new" + on).code ==
        2);
    CHECK(run_heddle(folder, "simulate new/kernelslist.g --unknown-as texture" + on).code == 2);
    CHECK(run_heddle(folder, "simulate new/kernelslist.g --numerics" + on).code == 2);
    CHECK(run_heddle(folder, "simulate new/kernelslist.g --hardware tpu-v3").code == 2);
    CHECK(run_heddle(folder, "simulate missing/kernelslist.g" + on).code == 2);
}

TEST_CASE("a cut trace file is an error in one line") {
    Folder folder;
    REQUIRE(run_heddle(folder, "trace export mlp step.et").code == 0);
    const std::string whole = text_of(folder.path() / "step.et");
    std::ofstream(folder.path() / "cut.et", std::ios::binary) << whole.substr(0, whole.size() / 2);
    const Outcome outcome = run_heddle(folder, "trace inspect cut.et");
    CHECK(outcome.code == 2);
    CHECK_THAT(outcome.err, Catch::Contains("cut.et"));
    CHECK(std::count(outcome.err.begin(), outcome.err.end(), '\n') == 1);
}

TEST_CASE("with numerics, training follows the double-precision reference") {
    for (const std::string hardware : {"h100-sxm", "tpu-v3"}) {
        CAPTURE(hardware);
        Folder folder;
        const Outcome outcome =
            run_heddle(folder,
                       "simulate mlp --batch 8 --widths 12,8,4 --numerics --steps 3 --no-out "
                       "--json --hardware " +
                           hardware);
        CAPTURE(outcome.err);
        REQUIRE(outcome.code == 0);
        const Json numerics = Json::parse(outcome.out)["numerics"];
        REQUIRE(numerics["device_loss"].size() == 3);
        for (std::size_t step = 0; step < 3; ++step) {
            const double reference = numerics["reference_loss"][step];
            // bf16 products (the TPU's default) keep 8 bits.
            CHECK(numerics["device_loss"][step].get<double>() == Approx(reference).epsilon(0.02));
        }
        CHECK(numerics["reference_loss"][2] < numerics["reference_loss"][0]);
    }
}

TEST_CASE("simulate leaves a run, and says the same twice") {
    for (const std::string hardware : {"h100-sxm", "tpu-v3"}) {
        CAPTURE(hardware);
        Folder folder;
        const std::string command =
            "simulate mlp --batch 16 --widths 64,32,10 --hardware " + hardware + " --json --out ";
        const Outcome outcome = run_heddle(folder, command + "first");
        CAPTURE(outcome.err);
        REQUIRE(outcome.code == 0);
        CHECK(outcome.err.empty());
        for (const char* file :
             {"summary.json", "kernels.csv", "stats.sqlite", "timeline.json", "report.html"}) {
            CHECK(fs::file_size(folder.path() / "first" / file) > 0);
        }
        CHECK(text_of(folder.path() / "first" / "summary.json") == outcome.out);
        Json first = Json::parse(outcome.out);
        CHECK(first["workload"] == "mlp");
        CHECK(first["hardware"] == hardware);
        CHECK(first["step_time_us"].get<double>() > 0);
        double flops = 0, time = 0;
        for (const Json& op : first["ops"]) {
            if (op["kind"] == "matmul") flops += op["flops"].get<double>();
            time += op["time_us"].get<double>();
        }
        CHECK(flops == 2.0 * 16 * (3 * 32 * 10 + 2 * 64 * 32));
        CHECK(time == Approx(first["device_busy_us"].get<double>()));
        const double waiting = first["division"]["waiting_for_host_us"].get<double>();
        CHECK(time + first["launch_gap_us"].get<double>() + waiting ==
              Approx(first["step_time_us"].get<double>()));
        CHECK((waiting > 0) == (hardware.rfind("tpu", 0) != 0));  // a TPU's step is one program
        Json second = Json::parse(run_heddle(folder, command + "second --jobs 2").out);
        first.erase("simulation");
        second.erase("simulation");
        CHECK(first.dump() == second.dump());
        CHECK(text_of(folder.path() / "first" / "kernels.csv") ==
              text_of(folder.path() / "second" / "kernels.csv"));
        CHECK(run_heddle(folder, command + "first").code == 0);  // an earlier run is replaced
    }
}

namespace {

const char* const kTpuProgram = R"(program small
core {
  dma.load vmem 0x0 hbm 0x0 rows 128 row_bytes 512 vmem_stride 512 hbm_stride 512 signals 0
  dma.load vmem 0x20000 hbm 0x10000 rows 128 row_bytes 512 vmem_stride 512 hbm_stride 512 signals 2
  push unit 0 vmem 0x0 rows 128 columns 128 stride 512 type fp32 after 0
  matmul unit 0 vmem 0x20000 rows 128 depth 128 columns 128 stride 512 type fp32 accumulator 0 after 2
  pop unit 0 vmem 0x10000 rows 128 columns 128 stride 512 type fp32 accumulator 0 signals 1
  dma.store vmem 0x10000 hbm 0x20000 rows 128 row_bytes 512 vmem_stride 512 hbm_stride 512 after 1
  halt
}
)";

}  // namespace

TEST_CASE("a TPU program as text runs, and bad ones name their instruction") {
    const Folder folder;
    const auto run = [&](const std::string& from, const std::string& to,
                         const std::string& hardware = "tpu-v4") {
        std::string text = kTpuProgram;
        if (!from.empty()) text.replace(text.find(from), from.size(), to);
        std::ofstream(folder.path() / "small.tpu") << text;
        return run_heddle(folder, "simulate small.tpu --json --hardware " + hardware);
    };
    const Outcome good = run("", "");
    REQUIRE(good.code == 0);
    CHECK(Json::parse(good.out)["macs"] == 128 * 128 * 128);
    CHECK(Json::parse(good.out)["checked"] == true);
    using Catch::Contains;
    struct Bad {
        std::string from, to, line, what;
    };
    for (const Bad& bad :
         {Bad{" after 0\n", "\n", ":5:", "race"},
          Bad{"matmul unit 0 vmem 0x20000 ", "matmul unit 0 vmem 0x40000 ", ":6:", "use before load"},
          Bad{"pop unit 0 vmem 0x10000", "pop unit 0 vmem 0xfff000000", ":7:", "VMEM"},
          Bad{"after 1\n", "after 7\n", ":8:", "never end"}, Bad{"halt\n", "", ":2:", "halt"}}) {
        INFO(bad.what);
        const Outcome outcome = run(bad.from, bad.to);
        CHECK(outcome.code == 2);
        CHECK(outcome.out.empty());
        CHECK_THAT(outcome.err,
                   Contains("small.tpu" + (bad.what == "halt" ? "" : bad.line)) && Contains(bad.what));
        CHECK(std::count(outcome.err.begin(), outcome.err.end(), '\n') == 1);
    }
    // Two units that wait for each other.
    const Outcome circle = run(" signals 0\n", " after 1 signals 0\n");
    CHECK(circle.code == 2);
    const Outcome wrong = run("", "", "h100-sxm");
    CHECK(wrong.code == 2);
    CHECK_THAT(wrong.err, Contains("TPU"));
}

TEST_CASE("a dumped TPU program takes the cycles of its step") {
    const Folder folder;
    std::ofstream(folder.path() / "p.hlo")
        << "HloModule p\nENTRY e {\n  a = bf16[256,384]{1,0} parameter(0)\n  b = "
           "bf16[384,128]{1,0} parameter(1)\n  ROOT c = bf16[256,128]{1,0} dot(a, b), "
           "lhs_contracting_dims={1}, rhs_contracting_dims={0}\n}\n";
    const Outcome step =
        run_heddle(folder, "simulate p.hlo --hardware tpu-v3 --no-out --json --dump-program d");
    REQUIRE(step.code == 0);
    const Outcome program = run_heddle(folder, "simulate d/0000-matmul.tpu --hardware tpu-v3 --json");
    REQUIRE(program.code == 0);
    CHECK(Json::parse(program.out)["seconds"].get<double>() * 1e6 ==
          Approx(Json::parse(step.out)["device_busy_us"].get<double>()));
}

TEST_CASE("a product's JSON says what was asked, and holds its kernels as JSON") {
    const Folder folder;
    const Outcome outcome = run_heddle(folder, "gemm 128 64 256 --type bf16 --hardware h100-sxm --json");
    REQUIRE(outcome.code == 0);
    const Json json = Json::parse(outcome.out);
    CHECK(json["product"] == "128x64x256 bf16 nt");
    CHECK(json["hardware"] == "h100-sxm");
    REQUIRE(json["kernels"].size() >= 1);
    CHECK(json["kernels"][0]["cycles"].get<std::uint64_t>() > 1000);
    double reasons = 0;
    for (const auto& [reason, share] : json["kernels"][0]["time_by_reason"].items())
        reasons += share.get<double>();
    CHECK(reasons == Catch::Detail::Approx(1));
}

TEST_CASE("heddle learn prints every training, and names what it does not know") {
    const Folder folder;
    const std::string model = "learn mlp --widths 2,16,2 --batch 16 --data spirals --workers 2 --rounds 3";
    const Outcome outcome = run_heddle(folder, model + " --out out");
    REQUIRE(outcome.code == 0);
    for (const char* way : {"one device", "all-reduce", "parameter-server", "asynchronous", "local-sgd"})
        CHECK_THAT(outcome.out, Catch::Contains(way));
    for (const char* file : {"report.html", "learning.csv", "learning.json"})
        CHECK(fs::exists(folder.path() / "out" / file));
    const Outcome wrong = run_heddle(folder, model + " --way alreduce");
    CHECK(wrong.code == 2);
    CHECK_THAT(wrong.err, Catch::Contains("--way") && Catch::Contains("all-reduce"));
}

TEST_CASE("bytes that are no UTF-8 come out of --json and of exports as JSON all the same") {
    const Folder folder;
    folder.write("device.yaml", "extends: h100-sxm\ndescription: a\xff\nsm.count: 100  # source: \xfe\n");
    folder.write("cluster.yaml", "extends: ideal\ndescription: a\xff\n");
    folder.write("model.yaml", "name: a\xff\nbatch: 2\ninput: {features: 4}\nlayers: [{linear: 4}]\n");
    for (const char* arguments :
         {"hardware describe device.yaml --json", "hardware diff device.yaml h100-sxm --json",
          "cluster describe cluster.yaml --json", "trace inspect model.yaml --json"}) {
        INFO(arguments);
        const Outcome outcome = run_heddle(folder, arguments);
        CHECK(outcome.code == 0);
        CHECK(Json::accept(outcome.out));
    }
    CHECK(run_heddle(folder, "trace export model.yaml step.json").code == 0);
    CHECK(run_heddle(folder, "trace inspect step.json").code == 0);
}
