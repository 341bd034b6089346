// heddle hardware list | describe | diff | area
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "isa/common/error.h"
#include "sim/area/die_area.h"
#include "sim/area/technology.h"
#include "sim/cli/commands.h"
#include "sim/cli/output.h"
#include "sim/cli/paragraph.h"
#include "sim/cli/terminal.h"
#include "sim/cli/programs.h"
#include "sim/hardware/load_hardware.h"
#include "sim/report/text_table.h"

namespace heddle::cli {
namespace hardware_command {

using Json = nlohmann::ordered_json;
using sim::ParameterDescription;

struct Options {
    std::string first, second;
    std::vector<std::string> overrides;
    bool json = false;
};

/// Nothing of the device runs here, so it may name programs.
sim::Hardware load(const std::string& name, const std::vector<std::string>& overrides = {}) {
    return sim::load_hardware(name, overrides, sim::Programs::allowed);
}

void list(const Options& options) {
    Json json = Json::array();
    std::vector<std::vector<std::string>> rows{{"name", "kind", "description"}};
    for (const std::string& name : sim::hardware_names()) {
        const sim::HardwareText text = sim::read_hardware_file(sim::find_hardware_file(name));
        rows.push_back({name, text.kind, text.description});
        json.push_back({{"name", name}, {"kind", text.kind}, {"description", text.description}});
    }
    print(options.json ? json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n"
                       : sim::fit_columns(rows, {}, table_width()));
}

/// Name, value with its unit, and range; meaning; source, and where it was set.
std::string paragraph(const ParameterDescription& parameter) {
    const unsigned width = terminal_width(), indent = 4;
    std::string text = wrap(parameter.path + " = " + parameter.value, width, 0);
    text += wrap(parameter.meaning, width, indent);
    text += wrap("range: " + parameter.range, width, indent);
    const std::string source = parameter.source.empty() ? "" : " (" + parameter.where + ")";
    return text +
           wrap((parameter.source.empty() ? parameter.where : parameter.source) + source, width, indent);
}

void describe(const Options& options) {
    const sim::Hardware hardware = load(options.first, options.overrides);
    const std::vector<ParameterDescription> parameters = sim::describe_parameters(hardware);
    if (options.json) {
        Json json{{"name", hardware.name}, {"kind", hardware.kind}, {"description", hardware.description}};
        json["parameters"] = Json::array();
        for (const ParameterDescription& parameter : parameters) {
            json["parameters"].push_back({{"path", parameter.path},
                                          {"value", parameter.value},
                                          {"range", parameter.range},
                                          {"meaning", parameter.meaning},
                                          {"source", parameter.source},
                                          {"where", parameter.where}});
        }
        print(json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
        return;
    }
    const std::string kind = hardware.machine().noun();
    std::string text = wrap(hardware.name + " (" + kind + "): " + hardware.description, terminal_width(), 0);
    for (const ParameterDescription& parameter : parameters) text += "\n" + paragraph(parameter);
    print(text);
}

void diff(const Options& options) {
    const sim::Hardware first = load(options.first);
    const sim::Hardware second = load(options.second);
    if (first.kind != second.kind) {
        throw Error("`" + options.first + "` is a " + first.kind + " and `" + options.second + "` is a " +
                        second.kind,
                    {}, "compare two of the same kind");
    }
    const std::vector<ParameterDescription> a = sim::describe_parameters(first),
                                            b = sim::describe_parameters(second);
    Json json = Json::array();
    const unsigned width = terminal_width(), indent = 4;
    std::string text;
    for (std::size_t i = 0; i < a.size(); ++i) {  // the same model describes both, in the same order
        if (a[i].value == b[i].value) continue;
        text += "\n" + wrap(a[i].path + ": " + a[i].value + " -> " + b[i].value, width, 0) +
                wrap(a[i].meaning, width, indent);
        json.push_back(
            {{"path", a[i].path}, {"first", a[i].value}, {"second", b[i].value}, {"meaning", a[i].meaning}});
    }
    if (options.json) {
        print(json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
    } else {
        print(text.empty() ? "no parameter differs\n" : first.name + " -> " + second.name + "\n" + text);
    }
}

/// What is built and switched off, in a sentence: it explains why the die has more than the device.
std::string spare_silicon(const sim::DieArea& die) {
    if (die.spare_units.empty()) return {};
    std::string units, parameters;
    const auto rounded = [](double count) { return std::round(10 * count) / 10; };
    for (const sim::SpareUnits& one : die.spare_units) {
        units += fmt::format("{}{:g} of {:g} {}", units.empty() ? "" : ", ", rounded(one.built - one.enabled),
                             rounded(one.built), one.of);
        parameters += (parameters.empty() ? "" : ", ") + one.parameter;
    }
    return fmt::format(
        "spare: {} are built and switched off, {:.1f} mm2 of this die ({:.1f} %), so that dies with a defect "
        "there can be sold; the parts above are those that are built. Set by {}; 100 % builds none.\n",
        units, die.spare(), 100 * die.spare() / die.total(), parameters);
}

void area(const Options& options) {
    const sim::Hardware hardware = load(options.first, options.overrides);
    const sim::DieArea die = hardware.machine().area();
    if (die.parts.empty())
        throw Error("the area of a " + hardware.machine().noun() + " is not modelled", {"NAME", 0, ""}, "choose a GPU or a TPU");
    const double price = hardware.machine().die.price_per_hour;
    if (options.json) {
        Json json{{"name", hardware.name},
                  {"total_mm2", die.total()},
                  {"spare_mm2", die.spare()},
                  {"price_per_hour", price}};
        json["parts"] = Json::array();
        for (const sim::AreaPart& part : die.parts)
            json["parts"].push_back(
                {{"name", part.name}, {"mm2", part.mm2}, {"spare_mm2", part.spare}, {"holds", part.holds}});
        json["spare"] = Json::array();
        for (const sim::SpareUnits& one : die.spare_units)
            json["spare"].push_back({{"of", one.of},
                                     {"built", one.built},
                                     {"enabled", one.enabled},
                                     {"parameter", one.parameter}});
        json["densities"] = Json::array();
        for (const sim::Coefficient& c : sim::coefficients())
            json["densities"].push_back(
                {{"name", c.name}, {"value", c.value}, {"unit", c.unit}, {"source", c.source}});
        print(json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
        return;
    }
    std::vector<std::vector<std::string>> rows{{"part", "mm2", "share", "holds"}};
    for (const sim::AreaPart& part : die.parts)
        rows.push_back({part.name, fmt::format("{:.1f}", part.mm2),
                        fmt::format("{:.1f} %", 100 * part.mm2 / die.total()), part.holds});
    rows.push_back({"total", fmt::format("{:.1f}", die.total()), "100.0 %",
                    "in " + sim::node_of(hardware.machine().die.process).name});
    std::string text = hardware.name + ": " + hardware.description + "\n\n" +
                       sim::fit_columns(rows, {false, true, true, false}, table_width()) + "\n";
    if (const std::string spare = spare_silicon(die); !spare.empty())
        text += wrap(spare, terminal_width(), 0);
    if (price > 0) {
        text += wrap(
            fmt::format("price: {:g} $ for an hour ({})", price, hardware.origins.at("price.hour").source),
            terminal_width(), 0);
    }
    print(text + wrap("The densities behind these areas and their sources: --json.", terminal_width(), 0));
}

}  // namespace hardware_command

void add_hardware_command(CLI::App& app) {
    using namespace hardware_command;
    // The options outlive this function in the callbacks.
    const auto options = std::make_shared<Options>();
    CLI::App* hardware = add_command(app, "hardware");
    hardware->require_subcommand(1);
    hardware->footer("Example: heddle hardware describe h100-sxm");

    CLI::App* list_app = hardware->add_subcommand("list", "Lists the devices that can be named.");
    list_app->add_flag("--json", options->json, "print JSON");
    list_app->footer(
        "Example: heddle hardware list\n"
        "HEDDLE_HARDWARE_PATH names more folders with hardware files, separated by colons.");
    list_app->callback([options] { list(*options); });

    CLI::App* describe_app =
        hardware->add_subcommand("describe", "Lists every parameter: value, meaning, range, source.");
    describe_app->add_option("NAME", options->first, "a device's name, or a hardware file")->required();
    add_set_option(*describe_app, options->overrides, "change a parameter: --set sm.count=144");
    describe_app->add_flag("--json", options->json, "print JSON");
    describe_app->footer("Example: heddle hardware describe h100-sxm --set sm.count=144");
    describe_app->callback([options] { describe(*options); });

    CLI::App* area_app =
        hardware->add_subcommand("area", "Says how large the die is, what takes it, and what an hour costs.");
    area_app->add_option("NAME", options->first, "a device's name, or a hardware file")->required();
    add_set_option(*area_app, options->overrides, "change a parameter: --set sm.count=144");
    area_app->add_flag("--json", options->json, "print JSON, with every density and its source");
    area_app->footer("Example: heddle hardware area h100-sxm --set l2.size=100MiB");
    area_app->callback([options] { area(*options); });

    CLI::App* diff_app =
        hardware->add_subcommand("diff", "Lists the parameters in which two devices differ.");
    diff_app->add_option("FIRST", options->first, "a device's name, or a hardware file")->required();
    diff_app->add_option("SECOND", options->second, "the device to compare it with")->required();
    diff_app->add_flag("--json", options->json, "print JSON");
    diff_app->footer("Example: heddle hardware diff a100-sxm h100-sxm");
    diff_app->callback([options] { diff(*options); });
}

}  // namespace heddle::cli
