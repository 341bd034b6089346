// libFuzzer: any bytes as one of the three files of a run's folder, which `heddle compare` reads. The first
// letter chooses: `s` summary.json, `c` configuration.json, `d` stats.sqlite. The others are right.
#include "folder.h"
#include "sim/report/run_comparison.h"

namespace {

using heddle::test::Folder;

constexpr const char* kSummary =
    R"({"workload": "mlp", "hardware": "h100", "step_time_us": 3.5, "clock_hz": 1e9,
"coverage": {"cycle": 0.5, "estimated": 0.25, "unknown": 0.25}, "division": {"kernels_us": 3, "communication_us": 0,
"copies_us": 0, "gaps_us": 0.25, "waiting_for_host_us": 0.25}, "energy": {"joules": {"dram": 0.5}}})";
constexpr const char* kConfiguration = R"({"parameters": {"sm.count": "132"}, "options": {"jobs": 1}})";

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const Folder folder("stored-run");
    if (size == 0) return 0;
    const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
    folder.write("summary.json", data[0] == 's' ? bytes : kSummary);
    folder.write("configuration.json", data[0] == 'c' ? bytes : kConfiguration);
    folder.write("stats.sqlite", data[0] == 'd' ? bytes : "");
    heddle::test::refuse_or_read([&] {
        const auto comparison = heddle::sim::compare_runs(heddle::sim::read_run(folder.path().string()),
                                                          heddle::sim::read_run(folder.path().string()));
        heddle::sim::format_run_comparison(comparison, 10, 100);
        heddle::sim::run_comparison_json(comparison);
    });
    return 0;
}
