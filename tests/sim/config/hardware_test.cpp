// The hardware that Heddle ships, against the figures that its makers publish, and whole descriptions read
// from files.
#include "sim/gpu/gpu_machine.h"
#include "sim/hardware/load_hardware.h"
#include "sim/machine/peak.h"
#include "sim/tpu/tpu_machine.h"

#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <set>

using heddle::Error;
using heddle::sim::describe_parameters;
using heddle::sim::hardware_names;
using heddle::sim::load_hardware;
using heddle::sim::gpu_config;
using heddle::sim::gpu_kind;
using heddle::sim::gpu_machine;
using heddle::sim::tpu_config;
using heddle::sim::tpu_kind;
using heddle::sim::tpu_machine;
using heddle::sim::MatrixPeak;
using heddle::sim::ParameterDescription;

namespace {

std::string value_of(const heddle::sim::Hardware& hardware, const std::string& path) {
    for (const ParameterDescription& parameter : describe_parameters(hardware)) {
        if (parameter.path == path) return parameter.value;
    }
    return "no such parameter";
}

}  // namespace

TEST_CASE("every device that can be named is complete, possible, and gives a source for every value") {
    REQUIRE_FALSE(hardware_names().empty());
    for (const std::string& name : hardware_names()) {
        CAPTURE(name);
        const auto hardware = load_hardware(name);
        CHECK(hardware.name == name);
        CHECK_FALSE(hardware.description.empty());
        for (const ParameterDescription& parameter : describe_parameters(hardware)) {
            CAPTURE(parameter.path);
            CHECK_THAT(parameter.source, Catch::StartsWith("source: "));
            // What this machine says of itself comes from /proc and /sys.
            if (name != "this-host") CHECK_THAT(parameter.where, Catch::Contains(".yaml:"));
            CHECK_FALSE(parameter.meaning.empty());
        }
    }
}

TEST_CASE("GPU peaks are those of the datasheets") {
    struct Case {
        const char* name;
        double tensor_clock,
            f16_tflops;  // dense FP16 or BF16 tensor peak, and the clock in Hz that the maker takes
        double clock, fp32_tflops;  // likewise without tensor cores
        double memory_tb_per_s, l2_mib;
    };
    // NVIDIA datasheets and whitepapers; of the H800 PCIe those of the H100 PCIe, whose compute it has.
    const Case cases[] = {
        {"h100-sxm", 1.83e9, 989.4, 1.98e9, 66.9, 3.35, 50},
        {"h200-sxm", 1.83e9, 989.4, 1.98e9, 66.9, 4.8, 50},
        {"h800-pcie", 1.62e9, 756, 1.755e9, 51.2, 2.04, 50},
        {"a100-sxm", 1.41e9, 312, 1.41e9, 19.5, 2.039, 40},
        {"a100-sxm-40gb", 1.41e9, 312, 1.41e9, 19.5, 1.555, 40},
        {"a100-pcie", 1.41e9, 312, 1.41e9, 19.5, 1.935, 40},
        {"v100-sxm", 1.53e9, 125.3, 1.53e9, 15.67, 0.9, 6},  // printed as 125 and 15.7
        {"v100-sxm-16gb", 1.53e9, 125.3, 1.53e9, 15.67, 0.9, 6},
        {"v100-pcie", 1.367e9, 112, 1.367e9, 14, 0.9, 6},
        {"h800-sxm", 1.83e9, 989.4, 1.98e9, 66.9, 3.35, 50},
        {"h20", 1.853e9, 148, 1.98e9, 39.5, 4.0, 60},
        {"a10g", 1.71e9, 70, 1.71e9, 35, 0.6, 6},
        {"l4", 2.04e9, 121, 2.04e9, 30.3, 0.3, 48},
        {"l40s", 2.49e9, 362, 2.52e9, 91.6, 0.864, 96},
        {"t4", 1.587e9, 65, 1.59e9, 8.14, 0.32, 4},
        {"b200-sxm", 1.855e9, 2250, 1.965e9, 74.5, 7.672, 126.5},  // the datasheet has 75 TFLOP/s and 8 TB/s
        {"gb200", 2.007e9, 2500, 2.062e9, 80.2, 8, 126.5},
        {"b300-sxm", 1.855e9, 2250, 1.965e9, 74.5, 8, 126.5},
        {"rtx-5090", 2.407e9, 209.5, 2.407e9, 104.8, 1.792, 96},
        {"rtx-pro-6000", 2.617e9, 503.8, 2.617e9, 126, 1.792, 128},
        {"rtx-a6000", 1.8e9, 154.8, 1.8e9, 38.7, 0.768, 6},
    };
    for (const Case& test : cases) {
        CAPTURE(test.name);
        const auto hardware = load_hardware(test.name);
        REQUIRE(gpu_machine(hardware) != nullptr);
        const auto& gpu = gpu_config(hardware);
        CHECK(2 * gpu.tensor.f16 * gpu.sm.count * test.tensor_clock / 1e12 ==
              Approx(test.f16_tflops).epsilon(0.002));
        const double lanes = 4 * 32 / gpu.pipelines[heddle::ptx::Operation::fp32].issue_interval();
        CHECK(2 * lanes * gpu.sm.count * test.clock / 1e12 == Approx(test.fp32_tflops).epsilon(0.002));
        CHECK(gpu.hbm.bandwidth / 1e12 == Approx(test.memory_tb_per_s));
        CHECK(static_cast<double>(gpu.l2.bytes) / (1 << 20) == Approx(test.l2_mib));
    }
}

TEST_CASE("TPU peaks are those of the maker") {
    struct Case {
        const char* name;
        double bf16_tflops, hbm_gb_per_s, hbm_gib;
    };
    // Google Cloud TPU documentation, per chip; 16 MiB of VMEM per core up to v4. A v6e's clock is what it
    // sustains.
    const Case cases[] = {{"tpu-v2", 46, 700, 16},
                          {"tpu-v3", 123, 900, 32},
                          {"tpu-v4", 275, 1200, 32},
                          {"tpu-v5e", 197, 819, 16},
                          {"tpu-v5p", 459, 2765, 95}};
    for (const Case& test : cases) {
        CAPTURE(test.name);
        const auto hardware = load_hardware(test.name);
        REQUIRE(tpu_machine(hardware) != nullptr);
        const auto& tpu = tpu_config(hardware);
        const double macs = tpu.cores * tpu.matrix.per_core * tpu.matrix.rows * tpu.matrix.columns;
        CHECK(2 * macs * tpu.clock_hertz / 1e12 == Approx(test.bf16_tflops).epsilon(0.005));
        const MatrixPeak peak = hardware.machine().matrix_peak();
        CHECK(peak.flops == 2 * macs * tpu.clock_hertz);
        CHECK(peak.sustained == peak.flops);
        CHECK_THAT(describe(peak), !Catch::Contains("sustain"));
        CHECK(tpu.hbm.bandwidth == test.hbm_gb_per_s * 1e9);
        CHECK(static_cast<double>(tpu.hbm.bytes) / (1 << 30) == test.hbm_gib);
        if (test.name <= std::string("tpu-v4")) CHECK(tpu.vmem.bytes == 16ull << 20);
        CHECK(tpu.name == test.name);
    }
}

TEST_CASE("the peak of which shares are told is the published one, and says what is sustained of it") {
    // Google Cloud TPU documentation: 918 TFLOP/s of bf16 on a v6e; its products sustain 786.
    const MatrixPeak v6e = load_hardware("tpu-v6e").machine().matrix_peak();
    CHECK(v6e.flops / 1e12 == Approx(918).epsilon(0.005));
    CHECK(v6e.clock == 1.75e9);
    CHECK(v6e.sustained == Approx(v6e.flops * 1.5 / 1.75));
    CHECK(describe(v6e) == "917.5 TFLOP/s, dense bf16 at 1750 MHz, of which products sustain 786.4 at 1500 MHz");
    // NVIDIA's H100 datasheet has 989.4 at 1830 MHz; the board's highest clock is 1980.
    const MatrixPeak h100 = load_hardware("h100-sxm").machine().matrix_peak();
    CHECK(h100.flops / 1e12 == Approx(989.4 * 1980 / 1830).epsilon(0.002));
    CHECK(describe(h100) == "1071 TFLOP/s, dense bf16 at 1980 MHz");
    // Another clock is another peak; of a TPU whose products sustain theirs, too.
    CHECK(load_hardware("h100-sxm", {"clock=990MHz"}).machine().matrix_peak().flops == Approx(h100.flops / 2));
    CHECK(load_hardware("tpu-v5e", {"clock=750MHz"}).machine().matrix_peak().flops / 1e12 == Approx(98.5).epsilon(0.005));
}

TEST_CASE("the presets say what the models' defaults say") {
    // A model calibrated in its source must be calibrated in its file too. The exceptions: the H100
    // whitepaper's 66.9 TFLOP/s of FP64 are 128 multiply-accumulates; which SMs are switched off;
    // SparseCores, which a TPU has when its file says so; that a TPU's arrays refuse some numbers.
    const std::set<std::string> exceptions{"tensor.macs_per_cycle.f64", "sm.gpc_sizes", "sparse.cores",
                                           "matrix.numbers"};
    for (const std::string name : {"h100-sxm", "tpu-v3"}) {
        const auto preset = load_hardware(name);
        heddle::sim::Hardware defaults((preset.kind == "gpu" ? gpu_kind() : tpu_kind()).make(name));
        // One struct for both kinds, with the H100's values.
        if (preset.kind == "tpu") defaults.machine().die = preset.machine().die;
        const auto expected = describe_parameters(defaults), found = describe_parameters(preset);
        REQUIRE(expected.size() == found.size());
        for (std::size_t i = 0; i < found.size(); ++i) {
            if (exceptions.count(found[i].path) != 0) continue;
            CAPTURE(name, found[i].path);
            CHECK(found[i].value == expected[i].value);
        }
    }
}

TEST_CASE("a derived device differs where it says so") {
    const std::string file =
        (std::filesystem::temp_directory_path() / ("wider-" + std::to_string(getpid()) + ".yaml")).string();
    std::ofstream(file)
        << "extends: h100-sxm\ndescription: an H100 that never was\nsm.count: 144  # source: a wish\n";
    const auto derived = load_hardware(file, {"clock=1.5 GHz"});
    std::filesystem::remove(file);
    CHECK(gpu_config(derived).sm.count == 144);
    CHECK(gpu_config(derived).clock == 1.5e9);
    CHECK(gpu_config(derived).l2.bytes == 50u << 20);
    CHECK(derived.kind == "gpu");
    CHECK(derived.origins.at("clock").source == "command line");
    CHECK(derived.origins.at("sm.count").source == "source: a wish");
    CHECK(value_of(derived, "clock") == "1.5 GHz");
    CHECK(value_of(derived, "sm.count") == "144");
    CHECK(value_of(derived, "l2.size") == "50 MiB");
}

TEST_CASE("impossible machines are refused where the value stands") {
    // 96 warps would need 3072 threads.
    CHECK_THROWS_WITH(load_hardware("h100-sxm", {"sm.threads=1024"}),
                      Catch::Contains("impossible machine") && Catch::Contains("sm.threads"));
    CHECK_THROWS_WITH(load_hardware("h100-sxm", {"sm.threads=1024"}), Catch::StartsWith("--set: sm.threads"));
    CHECK_THROWS_WITH(load_hardware("h100-sxm", {"compute_capability=95"}),
                      Catch::StartsWith("--set: compute_capability: impossible machine") &&
                          Catch::Contains("no GPU is known of 9.5; known are 7.0, 7.2, 7.5"));
    // Of two values that do not fit one another it is the one that the user wrote, and both are shown.
    const std::string file =
        (std::filesystem::temp_directory_path() / ("channels-" + std::to_string(getpid()) + ".yaml"))
            .string();
    std::ofstream(file) << "extends: h100-sxm\nhbm.channels: 96  # source: a wish\n";
    CHECK_THROWS_WITH(
        load_hardware(file),
        Catch::StartsWith(file + ":2: hbm.channels: impossible machine: l2.slices must be a multiple") &&
            Catch::Contains("l2.slices is 80 (h100-sxm.yaml:") &&
            Catch::Contains("hbm.channels is 96 (channels-"));
    std::filesystem::remove(file);
}

TEST_CASE("sizes of GPCs must be those of the machine") {
    const std::vector<std::uint32_t> sizes = gpu_config(load_hardware("h100-sxm")).sm.gpc_sizes;
    CHECK(sizes.size() == 8);
    CHECK(std::accumulate(sizes.begin(), sizes.end(), 0u) == 132);
    // Other SMs than the file's are dealt evenly until somebody says more.
    CHECK(gpu_config(load_hardware("h100-sxm", {"sm.count=144"})).sm.gpc_sizes.empty());
    const std::string all = "sm.gpc_sizes=[16, 16, 16, 16, 16, 18, 18, 16]";
    CHECK(value_of(load_hardware("h100-sxm", {all}), "sm.gpc_sizes") == all.substr(all.find('[')));
    CHECK(value_of(load_hardware("v100-sxm"), "sm.gpc_sizes") == "even");
    const auto refused = [](const std::string& value, const std::string& expected) {
        CHECK_THROWS_WITH(
            load_hardware("h100-sxm", {"sm.gpc_sizes=" + value}),
            Catch::StartsWith("--set: sm.gpc_sizes: impossible machine") && Catch::Contains(expected));
    };
    refused("16,16,16,16,16,18,18,18", "adds up to 134 SMs, sm.count says 132");
    refused("66,66", "lists 2 GPCs, sm.gpcs says 8");
    refused("17,15,16,16,16,18,18,16", "even numbers");
}

TEST_CASE("an impossible TPU is refused where the value stands") {
    // Eight fp32 weight tiles of 128 x 128 take 512 KiB.
    CHECK_THROWS_WITH(load_hardware("tpu-v3", {"vmem.size=64 KiB"}),
                      Catch::StartsWith("--set: vmem.size: impossible machine"));
    CHECK_THROWS_WITH(load_hardware("tpu-v3", {"dma.rate=20000 B/cycle"}),
                      Catch::StartsWith("--set: dma.rate"));
}

TEST_CASE("names that do not exist are answered with those that do") {
    CHECK_THROWS_WITH(load_hardware("h100-smx"), Catch::Contains("no hardware named `h100-smx`") &&
                                                     Catch::Contains("did you mean `h100-sxm`?") &&
                                                     Catch::Contains("tpu-v3"));
    CHECK_THROWS_WITH(load_hardware("no/such/file.yaml"),
                      Catch::StartsWith("no/such/file.yaml: no such hardware file"));
    CHECK_THROWS_AS(load_hardware(""), Error);
}

TEST_CASE("HEDDLE_HARDWARE_PATH adds devices") {
    const auto folder =
        std::filesystem::temp_directory_path() / ("heddle-path-test-" + std::to_string(getpid()));
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "mine.yaml") << "extends: h100-sxm\ndescription: mine\n";
    setenv("HEDDLE_HARDWARE_PATH", ("/nowhere:" + folder.string()).c_str(), 1);
    const auto names = hardware_names();
    CHECK(std::count(names.begin(), names.end(), "mine") == 1);
    CHECK(std::count(names.begin(), names.end(), "h100-sxm") == 1);
    CHECK(gpu_config(load_hardware("mine")).sm.count == 132);
    unsetenv("HEDDLE_HARDWARE_PATH");
    std::filesystem::remove_all(folder);
}

TEST_CASE("a file without a kind, or of an unknown one, is refused") {
    const std::string file =
        (std::filesystem::temp_directory_path() / ("kind-" + std::to_string(getpid()) + ".yaml")).string();
    std::ofstream(file) << "clock: 1 GHz\n";
    CHECK_THROWS_WITH(load_hardware(file), Catch::Contains("missing key `kind`"));
    std::ofstream(file) << "kind: fpga\n";
    CHECK_THROWS_WITH(load_hardware(file), Catch::Contains(":1: kind: `fpga` is not a kind of device"));
    std::filesystem::remove(file);
}
