// The roofline: achieved rates compared with the device's ceilings.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/report/chart.h"
#include "sim/run/assemble/result.h"

namespace heddle::sim {

/// A point of the roofline: a kernel, or the whole step.
struct RooflinePoint {
    std::string name;
    double intensity = 0;  ///< floating-point operations per byte of memory
    double flops = 0;      ///< per second
    double ceiling = 0;    ///< per second, at this intensity: the roof above the point
    std::string bound_by;  ///< the throughput that comes nearest to its ceiling
};

/// Computes a point from a kernel's throughputs and its time. FLOPs are those of the tensor and fp32
/// pipelines. Nothing when there are no FLOPs or no bytes from memory.
std::optional<RooflinePoint> roofline_point(const std::string& name,
                                            const std::map<std::string, Throughput>& throughputs,
                                            double microseconds);

/// Returns the name of the throughput that is nearest to its ceiling over `microseconds`; "" when there is
/// none.
std::string nearest_ceiling(const std::map<std::string, Throughput>& throughputs, double microseconds);

/// Returns rows with resource, achieved rate, ceiling and share of the ceiling, for tables.
std::vector<std::vector<std::string>> throughput_rows(const std::map<std::string, Throughput>& throughputs,
                                                      double microseconds);

/// Returns a chart with two logarithmic axes that shows the roofs and the points. `bytes_per_second` and
/// `flops_per_second` are the device's ceilings. Without points it has no series.
Chart roofline_chart(const std::vector<RooflinePoint>& points, double bytes_per_second,
                     double flops_per_second);

}  // namespace heddle::sim
