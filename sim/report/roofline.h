// Achieved rates beside the device's ceilings.
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

/// FLOPs are those of tensor and fp32 pipelines. std::nullopt: none, or no bytes from memory.
std::optional<RooflinePoint> roofline_point(const std::string& name,
                                            const std::map<std::string, Throughput>& throughputs,
                                            double microseconds);

/// The throughput nearest to its ceiling over `microseconds`; "" when there is none.
std::string nearest_ceiling(const std::map<std::string, Throughput>& throughputs, double microseconds);

/// Rows "resource, achieved, ceiling, share" for tables.
std::vector<std::vector<std::string>> throughput_rows(const std::map<std::string, Throughput>& throughputs,
                                                      double microseconds);

/// Both axes logarithmic: the roofs of the first point's device, and the points. Without points it has no
/// series.
Chart roofline_chart(const std::vector<RooflinePoint>& points, double bytes_per_second,
                     double flops_per_second);

}  // namespace heddle::sim
