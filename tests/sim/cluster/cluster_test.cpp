// Cluster files: presets load, say where everything comes from, and mistakes are told with file, line and
// key.
#include "sim/cluster/cluster.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

namespace {

using namespace heddle;
using namespace heddle::sim;

std::string error_of(const std::string& text, const std::vector<std::string>& overrides = {}) {
    const std::filesystem::path path = std::filesystem::temp_directory_path() / "heddle-cluster-test.yaml";
    std::ofstream(path) << text;
    try {
        load_cluster(path.string(), overrides);
    } catch (const Error& error) {
        return error.what();
    }
    return "";
}

TEST_CASE("every preset loads and every value has a source") {
    const std::vector<std::string> names = cluster_names();
    for (const char* preset : {"dgx-a100", "dgx-h100", "dgx-b200", "gb200-nvl72", "tpu-v4-slice", "parameter-server-rack", "ideal"})
        CHECK(std::find(names.begin(), names.end(), preset) != names.end());
    for (const std::string& name : names) {
        const Cluster cluster = load_cluster(name);
        CHECK(cluster.name == name);
        for (const ParameterDescription& parameter : describe_parameters(cluster)) {
            INFO(name << ": " << parameter.path);
            CHECK(parameter.source.rfind("source: ", 0) == 0);
        }
    }
}

TEST_CASE("presets have what their datasheets print") {
    const Cluster a100 = load_cluster("dgx-a100"), h100 = load_cluster("dgx-h100", {"nodes=128"});
    CHECK(a100.device == "a100-sxm");
    CHECK(a100.device_count() == 8);
    CHECK(a100.network.device_bandwidth == 300e9);
    CHECK(a100.network.nic_bandwidth * 8 == 200e9);
    CHECK(h100.device_count() == 1024);
    CHECK(h100.network.device_bandwidth == 450e9);
    CHECK(h100.network.switch_reduction);
    const Cluster tpu = load_cluster("tpu-v4-slice");
    CHECK(tpu.network.torus_x * tpu.network.torus_y * tpu.network.torus_z == tpu.device_count());
    CHECK(load_cluster("parameter-server-rack").endpoint_count() == 66);
}

TEST_CASE("mistakes in cluster files are told with file, line, key and remedy") {
    CHECK_THAT(error_of("kind: cluster\nextends: dgx-h100\nnic.cuont: 4\n"),
               Catch::Contains("heddle-cluster-test.yaml:3: nic.cuont") &&
                   Catch::Contains("did you mean `nic.count`?"));
    CHECK_THAT(error_of("kind: cluster\nextends: dgx-h100\nnic.bandwidth: 5 ms\n"),
               Catch::Contains(":3: nic.bandwidth") && Catch::Contains("GB/s"));
    CHECK_THAT(error_of("extends: dgx-h100\ndevice: h100-smx\n"),
               Catch::Contains(":2: device") && Catch::Contains("did you mean `h100-sxm`?"));
    CHECK_THAT(error_of("extends: dgx-h10\n"), Catch::Contains(":1: extends") && Catch::Contains("dgx-h100"));
    CHECK_THAT(error_of("extends: tpu-v4-slice\ntorus.x: 5\n"),
               Catch::Contains(":2: torus.x") && Catch::Contains("80 places for 64"));
    CHECK_THAT(error_of("extends: dgx-h100\n", {"nodes=2", "network.topology=none"}),
               Catch::Contains("network.topology") && Catch::Contains("cannot reach"));
    CHECK_THAT(error_of("kind: gpu\nclock: 1 GHz\n"),
               Catch::Contains(":1: kind") && Catch::Contains("kind: cluster"));
    for (const char* line : {"nodes: 0", "nodes: -1", "devices_per_node: 0", "inside.bandwidth: -5 GB/s",
                             "nic.bandwidth: 0 GB/s", "nic.count: 3", "network.hop: -1 ns",
                             "inside.efficiency: 250 %", "network.topology: ring", "inside.fabric: nvlink",
                             "collective.channels: 0", "price.device_hour: -1", "link.bandwidth: 5 GB/s"}) {
        const std::string key(line, std::string(line).find(':'));
        INFO(line);
        const std::string error = error_of("kind: cluster\nextends: dgx-h100\n" + std::string(line) + "\n");
        CHECK_THAT(error, Catch::Contains("heddle-cluster-test.yaml:3: " + key));
        CHECK(error.find('\n') == std::string::npos);
    }
    CHECK_THAT(error_of("extends: tpu-v4-slice\nnodes: 100\n"), Catch::Contains("64 places for 400"));
    CHECK_THROWS_WITH(load_cluster("dgx-a10"), Catch::Contains("did you mean `dgx-a100`?"));
}

}  // namespace
