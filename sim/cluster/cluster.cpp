#include "sim/cluster/cluster.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "sim/config/file_chain.h"
#include "sim/config/quantity.h"

namespace heddle::sim {
namespace {

constexpr const char* kDeviceKey = "device";

models::ParameterList parameters_of(Cluster& cluster) {
    using models::Quantity;
    models::ParameterList list;
    list.add("nodes", cluster.nodes, Quantity::count, 1, 1e6, "Hosts with devices.");
    list.add("devices_per_node", cluster.devices_per_node, Quantity::count, 1, 4096, "Devices of a host.");
    list.add("servers", cluster.servers, Quantity::count, 0, 1e5,
             "Parameter servers: hosts without devices, with the network cards of the others.");
    list.add("price.device_hour", cluster.price_device_hour, Quantity::count, 0, 1e6,
             "US dollars for a device and an hour, its part of the host and the network included.");
    describe(cluster.network, list);
    describe(cluster.collective, list);
    return list;
}

/// Takes `device` out of the settings: a name, which no parameter can be.
void take_device(std::vector<Setting>& settings, Cluster& cluster) {
    for (auto setting = settings.begin(); setting != settings.end();) {
        if (setting->path != kDeviceKey) {
            ++setting;
            continue;
        }
        cluster.device = setting->text;
        cluster.origins[kDeviceKey] = {setting->text, setting->where, setting->source};
        setting = settings.erase(setting);
    }
}

[[noreturn]] void impossible(const std::string& problem, const Cluster& cluster) {
    const std::string path = problem.substr(0, problem.find_first_of(" ,"));
    const auto origin = cluster.origins.find(path);
    const SourceLocation where =
        origin != cluster.origins.end() ? origin->second.where : SourceLocation{cluster.files.front(), 0, ""};
    throw Error("impossible cluster: " + problem, where);
}

}  // namespace

Cluster load_cluster(const std::string& name_or_file, const std::vector<std::string>& overrides) {
    HardwareText text = read_file_chain(find_cluster_file(name_or_file), find_cluster_file);
    if (text.kind != "cluster")
        throw Error(text.kind.empty() ? "missing key `kind`" : "`" + text.kind + "` is not a cluster",
                    text.kind.empty() ? SourceLocation{text.files.front(), 0, ""} : text.kind_where,
                    "a cluster file says `kind: cluster`");
    std::vector<Setting> settings;
    settings.reserve(overrides.size());
    for (const std::string& assignment : overrides) settings.push_back(parse_override(assignment));
    Cluster cluster;
    cluster.name = text.name;
    cluster.description = text.description;
    cluster.files = text.files;
    take_device(text.settings, cluster);
    take_device(settings, cluster);
    if (cluster.device.empty())
        throw Error("missing key `device`", {text.files.front(), 0, ""}, "name a device: `device: h100-sxm`");
    std::map<std::string, ValueOrigin> origins = apply_settings(text, settings, parameters_of(cluster));
    cluster.origins.merge(origins);
    try {
        find_hardware_file(cluster.device);
    } catch (const Error& failure) {
        throw Error(failure.problem(), cluster.origins[kDeviceKey].where, failure.remedy());
    }
    const std::vector<std::string> problems =
        models::network::check(cluster.network, cluster.nodes, cluster.devices_per_node);
    if (!problems.empty()) impossible(problems.front(), cluster);
    if (cluster.servers > 0 && cluster.network.between == models::network::Between::none)
        impossible("servers need a network: network.topology is none", cluster);
    return cluster;
}

std::vector<ParameterDescription> describe_parameters(const Cluster& given) {
    Cluster cluster = given;  // describe() lists fields by reference, ready to be set
    std::vector<ParameterDescription> descriptions{
        {kDeviceKey, cluster.device, "a hardware name or file", "What every device is.", "", ""}};
    const models::ParameterList list = parameters_of(cluster);
    for (const models::Parameter& parameter : list.parameters())
        descriptions.push_back({parameter.path, format_parameter(parameter), format_range(parameter),
                                parameter.meaning, "", ""});
    for (ParameterDescription& description : descriptions) {
        const auto origin = given.origins.find(description.path);
        if (origin == given.origins.end()) continue;
        description.source = origin->second.source;
        description.where = file_and_line(origin->second.where);
    }
    return descriptions;
}

}  // namespace heddle::sim
