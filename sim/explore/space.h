// The designs that an exploration may ask for: axes, links and constraints over a base device.
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

/// By axis: an index of its values, 0..1 of a continuous axis, or kAsBase for what the base device has.
using Position = std::vector<double>;
inline constexpr double kAsBase = -1;

struct Design {
    std::vector<double> values;             ///< by axis, base units
    std::vector<std::string> shown;         ///< by axis
    std::vector<std::string> settings;      ///< of axes, then of links: "sm.count=132"
    std::map<std::string, double> derived;  ///< area.*, power.tdp, price.hour
    std::string infeasible;                 ///< why it cannot be; empty when it can
    double violation = 0;                   ///< by how much, 0 when it can be
    std::string key() const;                ///< of its settings: two designs of one key are one
};

class Space {
  public:
    /// `overrides` (--set) belong to the base. Throws heddle::Error for everything that is wrong with the
    /// texts, whatever the values: unknown parameters, units that do not fit, a parameter that is varied
    /// twice or both varied and linked.
    Space(const std::string& hardware, const std::vector<std::string>& overrides,
          const std::vector<std::string>& vary, const std::vector<std::string>& links,
          const std::vector<std::string>& constraints);

    const std::vector<Axis>& axes() const { return axes_; }
    std::size_t dimensions() const { return axes_.size(); }
    /// Designs of the grid; 0 when an axis is continuous.
    std::uint64_t grid_size() const;
    Position grid_position(std::uint64_t index) const;  ///< the last axis turns fastest
    Position base_position() const { return Position(axes_.size(), kAsBase); }

    /// The base device itself, at base_position(), is never infeasible: constraints do not hold for it, nor
    /// do links.
    Design design(const Position& position) const;
    /// Throws heddle::Error when none of many designs (all, of a small grid) can be, and says why.
    void check_feasible() const;

    const sim::Hardware& base() const { return base_; }
    const sim::HardwareText& text() const { return text_; }
    const std::vector<std::string>& overrides() const { return overrides_; }
    std::vector<AxisSummary> summaries() const;
    const std::vector<std::string>& link_texts() const { return link_texts_; }
    const std::vector<std::string>& constraint_texts() const { return constraint_texts_; }
    /// The device of a design. Throws heddle::Error when it cannot be.
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

/// area.* in mm2, power.tdp in watts, price.hour in dollars.
std::map<std::string, double> derived_values(const sim::Hardware& hardware);

}  // namespace heddle::explore
