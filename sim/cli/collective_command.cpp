// heddle collective
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "isa/common/error.h"
#include "sim/cli/commands.h"
#include "sim/cli/limits.h"
#include "sim/cli/output.h"
#include "sim/cli/terminal.h"
#include "sim/cli/programs.h"
#include "sim/collective/collective.h"
#include "sim/collective/payload.h"
#include "sim/config/quantity.h"
#include "sim/report/text_table.h"
#include "sim/report/result_names.h"

namespace heddle::cli {
namespace collective_command {

using Json = nlohmann::ordered_json;

struct Options {
    std::string kind, size, cluster = "dgx-h100", ranks, algorithm = "automatic", protocol = "automatic",
                            type = "f16", network = "flows";
    std::vector<std::string> overrides;
    bool numerics = false, json = false, no_fold = false;
    std::uint64_t seed = 1;
};

/// "8", the first devices; "0-7" or "0,8,16", these.
std::vector<std::uint32_t> ranks_of(const std::string& text) {
    const auto number = [&](const std::string& word) -> std::uint32_t {
        std::size_t used = 0;
        unsigned long value = 0;
        try {
            value = std::stoul(word, &used);
        } catch (const std::logic_error&) {
            used = 0;
        }
        if (used != word.size() || word.empty() || value > 10000000)
            throw Error("`" + text + "` names no devices", {"--ranks", 0, ""},
                        "write a number, 0-7, or 0,8,16");
        return static_cast<std::uint32_t>(value);
    };
    std::vector<std::uint32_t> ranks;
    if (text.empty()) return ranks;
    if (text.find_first_of(",-") == std::string::npos) {
        for (std::uint32_t i = 0, count = number(text); i < count; ++i) ranks.push_back(i);
        return ranks;
    }
    for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t end = std::min(text.find(',', begin), text.size());
        const std::string part = text.substr(begin, end - begin);
        const std::size_t dash = part.find('-');
        const std::uint32_t first = number(part.substr(0, dash));
        const std::uint32_t last = dash == std::string::npos ? first : number(part.substr(dash + 1));
        for (std::uint32_t i = first; i <= last; ++i) ranks.push_back(i);
        begin = end + 1;
    }
    return ranks;
}

Json as_json(const sim::Cluster& cluster, const sim::CollectiveRequest& request,
             const sim::CollectiveResult& result) {
    Json links = Json::array();
    for (const sim::LinkUse& use : result.links)
        links.push_back({{"name", use.name}, {"bytes", use.bytes}, {"busy", use.busy}});
    return {{"collective", sim::name_of(request.kind)},
            {"cluster", cluster.name},
            {"ranks", request.ranks.empty() ? cluster.device_count() : request.ranks.size()},
            {"bytes", request.bytes},
            {"type", request.type},
            {"time_us", result.seconds * 1e6},
            {"algorithm", sim::name_of(result.algorithm)},
            {"protocol", sim::name_of(result.protocol)},
            {"channels", result.channels},
            {"algorithm_bandwidth", result.algorithm_bandwidth},
            {"bus_bandwidth", result.bus_bandwidth},
            {"links", links}};
}

std::string for_people(const sim::Cluster& cluster, const sim::CollectiveRequest& request,
                       const sim::CollectiveResult& result) {
    std::string text = fmt::format(
        "{} of {} on {} devices of {}: {:.2f} us\n{}, protocol {}, {} channels; {:.1f} GB/s, bus bandwidth "
        "{:.1f} GB/s\n",
        sim::name_of(request.kind),
        sim::format_quantity(static_cast<double>(request.bytes), models::Quantity::bytes),
        request.ranks.empty() ? cluster.device_count() : request.ranks.size(), cluster.name,
        result.seconds * 1e6, sim::name_of(result.algorithm), sim::name_of(result.protocol), result.channels,
        result.algorithm_bandwidth / 1e9, result.bus_bandwidth / 1e9);
    if (result.links.empty()) return text;
    std::vector<std::vector<std::string>> rows{{"busiest link of its kind", "bytes", "busy"}};
    for (const sim::LinkUse& use : result.links)
        rows.push_back({use.name, std::to_string(use.bytes), fmt::format("{:.1f} %", 100 * use.busy)});
    return text + "\n" + sim::fit_columns(std::move(rows), {false, true, true}, table_width());
}

std::string payload_text(const sim::PayloadReport& report) {
    return fmt::format(
        "\nvalues of {} elements: summed in the algorithm's own order, rounded as the devices round\n"
        "largest error against the exact sum {:.3g}, of a bound of {:.3g}; all ranks have the same bits: "
        "{}\n",
        report.elements, report.largest_error, report.bound, report.same_everywhere ? "yes" : "no");
}

void run_collective_command(const Options& options) {
    const sim::Cluster cluster = sim::load_cluster(options.cluster, options.overrides);
    sim::CollectiveRequest request;
    request.kind = sim::collective_kind(options.kind);
    try {
        request.bytes =
            static_cast<std::uint64_t>(sim::parse_quantity(options.size, models::Quantity::bytes));
    } catch (const Error& failure) {
        throw Error(failure.problem(), {"SIZE", 0, ""}, failure.remedy());
    }
    request.ranks = ranks_of(options.ranks);
    request.algorithm = sim::collective_algorithm(options.algorithm);
    request.protocol = sim::collective_protocol(options.protocol);
    request.type = options.type;
    request.fold = !options.no_fold;
    request.model = options.network == "chunks" ? sim::NetworkModel::chunks : sim::NetworkModel::flows;
    sim::CollectiveTimer timer(cluster);
    const sim::CollectiveResult result = timer.time(request);
    Json json = as_json(cluster, request, result);
    std::string text = for_people(cluster, request, result);
    if (options.numerics) {
        request.algorithm = result.algorithm;
        request.protocol = result.protocol;
        const sim::PayloadReport report = sim::check_payload(cluster, request, options.seed);
        text += payload_text(report);
        json["numerics"] = {{"elements", report.elements},
                            {"largest_error", report.largest_error},
                            {"bound", report.bound},
                            {"same_everywhere", report.same_everywhere}};
    }
    print(options.json
              ? sim::with_common_names(json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace), "collective")
              : text);
}

}  // namespace collective_command

void add_collective_command(CLI::App& app) {
    using namespace collective_command;
    const auto options = std::make_shared<Options>();
    CLI::App* command = add_command(app, "collective");
    command
        ->add_option("KIND", options->kind,
                     "all-reduce, all-gather, reduce-scatter, broadcast, reduce, all-to-all, send-receive")
        ->required();
    command->add_option("SIZE", options->size, "bytes, counted as nccl-tests does: 64MiB")->required();
    command->add_option("--cluster", options->cluster, "a cluster's name, or a cluster file")
        ->capture_default_str();
    add_set_option(*command, options->overrides, "change a parameter of the cluster: --set nodes=4");
    command->add_option("--ranks", options->ranks, "devices: a number, 0-7, or 0,8,16 (default: all)");
    command->add_option("--algorithm", options->algorithm,
                        "ring, tree, double-tree, halving-doubling, in-switch, hierarchical, direct, torus "
                        "(default: as the library chooses)");
    command->add_option("--protocol", options->protocol,
                        "ll, ll128, simple (default: as the library chooses)");
    command->add_option("--type", options->type, "f32, f16, bf16, i8")->capture_default_str();
    command
        ->add_option("--network", options->network,
                     "flows: shares of links; chunks: queues at every link, in SystemC")
        ->check(CLI::IsMember({"flows", "chunks"}))
        ->capture_default_str();
    command->add_flag("--numerics", options->numerics, "sum real payloads in the algorithm's own order");
    command->add_option("--seed", options->seed, "of the payloads")->capture_default_str();
    command->add_flag("--no-fold", options->no_fold,
                      "simulate every channel and rank, also what is the same by symmetry");
    command->add_flag("--json", options->json, "print JSON");
    add_limit_options(*command);
    command->footer(
        "Examples:\n"
        "  heddle collective all-reduce 64MiB --cluster dgx-h100\n"
        "  heddle collective all-reduce 1GiB --cluster dgx-h100 --set nodes=128 --algorithm ring\n"
        "  heddle collective all-to-all 8MiB --cluster dgx-a100 --ranks 4 --network chunks");
    command->callback([options] { run_collective_command(*options); });
}

}  // namespace heddle::cli
