// The design space of an exploration: axes, links and constraints on a base device.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sim/machine/hardware.h"
#include "sim/explore/axis.h"
#include "sim/explore/exploration.h"
#include "sim/explore/expression.h"

namespace heddle::explore {

/// A point of the space, by axis: an index of the axis's values, 0..1 on a continuous axis, or kAsBase for
/// the base device's value.
using Position = std::vector<double>;
inline constexpr double kAsBase = -1;

/// A position translated to settings of a device.
struct Design {
    std::vector<double> values;             ///< by axis, in base units
    std::vector<std::string> shown;         ///< by axis, as a hardware file writes them
    std::vector<std::string> settings;      ///< settings of the axes, then of the links: "sm.count=132"
    std::map<std::string, double> derived;  ///< area.*, power.tdp, price.hour
    std::string infeasible;                 ///< why it is impossible; empty when it is feasible
    double violation = 0;                   ///< size of the violation; 0 when it is feasible
    std::string key() const;  ///< text of its settings: designs with equal keys are the same design
};

/// The base device with its axes, links and constraints.
class Space {
  public:
    /// Reads a space. `overrides` (--set) change the base device. Throws heddle::Error for everything that is
    /// wrong with the texts independently of values: unknown parameters, units that do not fit, and
    /// parameters that are varied twice, or both varied and linked.
    Space(const std::string& hardware, const std::vector<std::string>& overrides,
          const std::vector<std::string>& vary, const std::vector<std::string>& links,
          const std::vector<std::string>& constraints);

    const std::vector<Axis>& axes() const { return axes_; }
    std::size_t dimensions() const { return axes_.size(); }
    /// Returns the number of designs of the grid; 0 when an axis is continuous.
    std::uint64_t grid_size() const;
    Position grid_position(std::uint64_t index) const;  ///< the last axis varies fastest
    Position base_position() const { return Position(axes_.size(), kAsBase); }

    /// Translates a position. The base device itself, at base_position(), is always feasible: constraints and
    /// links do not apply to it.
    Design design(const Position& position) const;
    /// Throws heddle::Error that gives the reason when none of many designs (all, for a small grid) is
    /// feasible.
    void check_feasible() const;

    const sim::Hardware& base() const { return base_; }
    const sim::HardwareText& text() const { return text_; }
    const std::vector<std::string>& overrides() const { return overrides_; }
    std::vector<AxisSummary> summaries() const;
    const std::vector<std::string>& link_texts() const { return link_texts_; }
    const std::vector<std::string>& constraint_texts() const { return constraint_texts_; }
    /// Returns the device of a design. Throws heddle::Error when it is impossible.
    sim::Hardware hardware_of(const std::vector<std::string>& settings) const;

  private:
    void check_formulas();
    Lookup lookup(sim::Hardware& hardware) const;
    std::string linked_setting(const Link& link, sim::Hardware& hardware) const;

    sim::HardwareText text_;
    std::vector<std::string> overrides_;
    sim::Hardware base_;
    std::vector<Axis> axes_;
    std::vector<Link> links_;
    std::vector<Constraint> constraints_;
    std::vector<std::string> link_texts_, constraint_texts_, known_;
};

/// Returns the values that are derived from a device: area.* in mm2, power.tdp in watts, price.hour in US
/// dollars.
std::map<std::string, double> derived_values(const sim::Hardware& hardware);

}  // namespace heddle::explore
