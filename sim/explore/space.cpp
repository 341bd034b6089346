#include "sim/explore/space.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "isa/common/error.h"
#include "sim/area/die_area.h"
#include "sim/config/quantity.h"
#include "sim/hardware/load_hardware.h"

namespace heddle::explore {
namespace {

constexpr Dimension kSquareMillimetres{0, 0, 0, 0, 1};
/// So many designs are looked at before all are called impossible.
constexpr std::uint64_t kLookedAt = 2000;

models::Parameter parameter_of(const std::string& path, sim::Hardware& hardware) {
    return find_parameter(path, sim::parameter_list(hardware), "--vary");
}

}  // namespace

std::map<std::string, double> derived_values(const sim::Hardware& hardware) {
    std::map<std::string, double> values;
    const sim::DieArea area = hardware.machine().area();
    for (const sim::AreaPart& part : area.parts) values["area." + part.name] = part.mm2;
    // A kind whose area is not modelled has no parts.
    if (!area.parts.empty()) values["area.total"] = area.total();
    if (const auto limit = hardware.machine().power_limit()) values["power.tdp"] = *limit;
    values["price.hour"] = hardware.machine().die.price_per_hour;
    return values;
}

std::string Design::key() const {
    std::string text;
    for (const std::string& setting : settings) text += setting + "\n";
    return text;
}

Space::Space(const std::string& hardware, const std::vector<std::string>& overrides,
             const std::vector<std::string>& vary, const std::vector<std::string>& links,
             const std::vector<std::string>& constraints)
    : text_(sim::read_hardware_file(sim::find_hardware_file(hardware))),
      overrides_(overrides),
      base_(sim::configure_hardware(text_, overrides)),
      link_texts_(links),
      constraint_texts_(constraints) {
    const models::ParameterList parameters = sim::parameter_list(base_);
    for (const models::Parameter& parameter : parameters.parameters()) known_.push_back(parameter.path);
    for (const auto& [name, value] : derived_values(base_)) known_.push_back(name);
    const auto taken = [&](const std::string& path, const std::string& option) {
        for (const Axis& axis : axes_)
            if (axis.path == path)
                throw Error("`" + path + "` is varied already", {option, 0, ""}, "keep one of the two");
        for (const Link& link : links_)
            if (link.path == path)
                throw Error("`" + path + "` is linked already", {option, 0, ""}, "keep one of the two");
    };
    for (const std::string& assignment : vary) {
        const Axis axis = parse_axis(assignment, parameters);
        taken(axis.path, "--vary");
        axes_.push_back(axis);
    }
    for (const std::string& text : links) {
        const Link link = Link::parse(text);
        const models::Parameter& parameter = find_parameter(link.path, parameters, "--link");
        if (parameter.text != nullptr || parameter.list != nullptr || !parameter.choices.empty())
            throw Error("`" + link.path + "` is not a number", {"--link", 0, ""},
                        "it can be set with --set only");
        taken(link.path, "--link");
        links_.push_back(link);
    }
    for (const std::string& text : constraints) constraints_.push_back(Constraint::parse(text));
    check_formulas();
}

void Space::check_formulas() {
    const Lookup values = lookup(base_);
    for (const Link& link : links_) {
        const Dimension target = values(link.path)->dimension,
                        got = link.formula.evaluate(values, known_).dimension;
        if (target != got)
            throw Error("`" + link.text + "` gives " + name_of(got) + " to a parameter of " + name_of(target),
                        {"--link", 0, ""}, "give numbers their units");
    }
    for (const Constraint& constraint : constraints_) (void)constraint.violation(values, known_);
}

Lookup Space::lookup(sim::Hardware& hardware) const {
    return [&hardware](const std::string& name) -> std::optional<Value> {
        const models::ParameterList list = sim::parameter_list(hardware);
        for (const models::Parameter& parameter : list.parameters())
            if (parameter.path == name) return Value{parameter.get(), dimension_of(parameter.quantity)};
        const auto derived = derived_values(hardware);
        const auto found = derived.find(name);
        if (found == derived.end()) {
            // Of a part that another device of the kind has.
            if (name.rfind("area.", 0) != 0) return std::nullopt;
            for (const char* part : {"graphics", "links", "memory", "cmem", "sparse", "l2", "tensor"})
                if (name == std::string("area.") + part) return Value{0, kSquareMillimetres};
            return std::nullopt;
        }
        if (name == "power.tdp") return Value{found->second, dimension_of(models::Quantity::power)};
        return Value{found->second, kSquareMillimetres};
    };
}

std::uint64_t Space::grid_size() const {
    std::uint64_t size = 1;
    for (const Axis& axis : axes_) {
        if (axis.continuous()) return 0;
        if (size > (std::uint64_t{1} << 40) / axis.values.size()) return std::uint64_t{1} << 40;
        size *= axis.values.size();
    }
    return size;
}

Position Space::grid_position(std::uint64_t index) const {
    Position position(axes_.size());
    for (std::size_t i = axes_.size(); i-- > 0;) {
        position[i] = static_cast<double>(index % axes_[i].values.size());
        index /= axes_[i].values.size();
    }
    return position;
}

std::string Space::linked_setting(const Link& link, sim::Hardware& hardware) const {
    const models::Parameter parameter = parameter_of(link.path, hardware);
    const Value value = link.formula.evaluate(lookup(hardware), known_);
    if (parameter.integral &&
        std::abs(value.number - std::round(value.number)) > 1e-6 * std::max(1.0, std::abs(value.number)))
        throw Error(
            fmt::format("`{}` gives {:g}, and this parameter is a whole number", link.text, value.number),
            {"--link", 0, ""}, "round it: `round(...)`");
    const double number = parameter.integral ? std::round(value.number) : rounded(value.number, 12);
    return link.path + "=" + sim::format_parameter(parameter, number);
}

sim::Hardware Space::hardware_of(const std::vector<std::string>& settings) const {
    std::vector<std::string> all = overrides_;
    all.insert(all.end(), settings.begin(), settings.end());
    return sim::configure_hardware(text_, all);
}

Design Space::design(const Position& position) const {
    Design design;
    const bool is_base =
        std::all_of(position.begin(), position.end(), [](double at) { return at == kAsBase; });
    sim::Hardware hardware = base_;
    std::vector<std::string> all = overrides_;
    for (std::size_t i = 0; i < axes_.size(); ++i) {
        const models::Parameter parameter = parameter_of(axes_[i].path, hardware);
        const double value = position[i] == kAsBase ? parameter.get() : axes_[i].value_at(position[i]);
        design.values.push_back(value);
        design.shown.push_back(sim::format_parameter(parameter, value));
        if (position[i] != kAsBase) design.settings.push_back(axes_[i].path + "=" + design.shown.back());
    }
    all.insert(all.end(), design.settings.begin(), design.settings.end());
    try {
        for (const Link& link : links_) {
            if (is_base) break;
            hardware = sim::configure_hardware(text_, all, false);
            design.settings.push_back(linked_setting(link, hardware));
            all.push_back(design.settings.back());
        }
        hardware = sim::configure_hardware(text_, all);
    } catch (const Error& failure) {
        design.infeasible = failure.what();
        design.violation = 1;
        return design;
    }
    design.derived = derived_values(hardware);
    if (is_base) return design;
    const Lookup values = lookup(hardware);
    for (const Constraint& constraint : constraints_) {
        const double violation = constraint.violation(values, known_);
        if (violation == 0) continue;
        if (design.infeasible.empty()) {
            const Value left = constraint.left.evaluate(values, known_);
            design.infeasible = fmt::format(
                "constraint `{}` does not hold: the left side is {:.6g} {}", constraint.text, left.number,
                name_of(left.dimension) == "a bare number" ? "" : name_of(left.dimension));
        }
        design.violation += violation;
    }
    return design;
}

void Space::check_feasible() const {
    const std::uint64_t grid = grid_size();
    const bool all = grid != 0 && grid <= kLookedAt;
    std::string first;
    for (std::uint64_t i = 0; i < (all ? grid : kLookedAt); ++i) {
        Position position;
        if (all) {
            position = grid_position(i);
        } else {
            // Golden-ratio steps: spread over every axis, corners first.
            for (std::size_t d = 0; d < axes_.size(); ++d) {
                const double corner = (i >> std::min<std::size_t>(d, 63)) & 1 ? 1.0 : 0.0;
                const double part =
                    i < 16 ? corner
                           : std::fmod(0.5 + static_cast<double>(i) * std::pow(0.7548776662, d + 1.0), 1.0);
                const double count = static_cast<double>(axes_[d].values.size());
                position.push_back(axes_[d].continuous() ? part
                                                         : std::min(std::floor(part * count), count - 1));
            }
        }
        const Design tried = design(position);
        if (tried.infeasible.empty()) return;
        if (first.empty()) first = tried.infeasible;
    }
    throw Error(fmt::format("{} can be built; the first: {}",
                            all ? fmt::format("none of the {} designs", grid)
                                : fmt::format("none of {} designs that were tried", kLookedAt),
                            first),
                {constraints_.empty() ? "--vary" : "--constraint", 0, ""},
                "widen the ranges or the constraints");
}

std::vector<AxisSummary> Space::summaries() const {
    std::vector<AxisSummary> result;
    sim::Hardware hardware = base_;
    for (const Axis& axis : axes_) {
        const models::Parameter parameter = parameter_of(axis.path, hardware);
        AxisSummary summary{
            axis.path, axis.text,       sim::format_parameter(parameter), axis.values, {}, axis.low,
            axis.high, axis.logarithmic};
        for (const double value : axis.values)
            summary.shown.push_back(sim::format_parameter(parameter, value));
        result.push_back(std::move(summary));
    }
    return result;
}

}  // namespace heddle::explore
