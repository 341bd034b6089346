// heddle cluster list | describe
#include <memory>
#include <nlohmann/json.hpp>

#include "sim/cli/commands.h"
#include "sim/cli/output.h"
#include "sim/cli/paragraph.h"
#include "sim/cli/terminal.h"
#include "sim/cli/programs.h"
#include "sim/cluster/cluster.h"
#include "sim/report/text_table.h"

namespace heddle::cli {
namespace cluster_command {

using Json = nlohmann::ordered_json;

struct Options {
    std::string name;
    std::vector<std::string> overrides;
    bool json = false;
};

void list(const Options& options) {
    Json json = Json::array();
    std::vector<std::vector<std::string>> rows{{"name", "devices", "of", "description"}};
    for (const std::string& name : sim::cluster_names()) {
        const sim::Cluster cluster = sim::load_cluster(name);
        rows.push_back({name, std::to_string(cluster.device_count()), cluster.device, cluster.description});
        json.push_back({{"name", name},
                        {"devices", cluster.device_count()},
                        {"device", cluster.device},
                        {"description", cluster.description}});
    }
    print(options.json ? json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n"
                       : sim::fit_columns(std::move(rows), {}, table_width()));
}

void describe(const Options& options) {
    const sim::Cluster cluster = sim::load_cluster(options.name, options.overrides);
    const unsigned width = terminal_width(), indent = 4;
    Json json{{"name", cluster.name}, {"kind", "cluster"}, {"description", cluster.description}};
    json["parameters"] = Json::array();
    std::string text = wrap(cluster.name + " (cluster): " + cluster.description, width, 0);
    for (const sim::ParameterDescription& p : sim::describe_parameters(cluster)) {
        json["parameters"].push_back({{"path", p.path},
                                      {"value", p.value},
                                      {"range", p.range},
                                      {"meaning", p.meaning},
                                      {"source", p.source},
                                      {"where", p.where}});
        const std::string source = p.source.empty() ? p.where : p.source + " (" + p.where + ")";
        text += "\n" + wrap(p.path + " = " + p.value, width, 0) + wrap(p.meaning, width, indent) +
                wrap("range: " + p.range, width, indent) + wrap(source, width, indent);
    }
    print(options.json ? json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n" : text);
}

}  // namespace cluster_command

void add_cluster_command(CLI::App& app) {
    using namespace cluster_command;
    const auto options = std::make_shared<Options>();
    CLI::App* cluster =
        add_command(app, "cluster");
    cluster->require_subcommand(1);
    cluster->footer("Example: heddle cluster describe dgx-h100 --set nodes=128");
    CLI::App* list_app = cluster->add_subcommand("list", "Lists the clusters that can be named.");
    list_app->add_flag("--json", options->json, "print JSON");
    list_app->footer(
        "Example: heddle cluster list\nHEDDLE_CLUSTER_PATH names more folders with cluster files, separated "
        "by colons.");
    list_app->callback([options] { list(*options); });
    CLI::App* describe_app =
        cluster->add_subcommand("describe", "Lists every parameter: value, meaning, range, source.");
    describe_app->add_option("NAME", options->name, "a cluster's name, or a cluster file")->required();
    add_set_option(*describe_app, options->overrides, "change a parameter: --set nodes=128");
    describe_app->add_flag("--json", options->json, "print JSON");
    describe_app->footer("Example: heddle cluster describe dgx-h100 --set nodes=128");
    describe_app->callback([options] { describe(*options); });
}

}  // namespace heddle::cli
