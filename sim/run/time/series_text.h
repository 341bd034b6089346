// A kernel's time series as JSON, for messages between processes and for the cache.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "models/gpu/kernel_result.h"

namespace heddle::sim {

/// Converts a series to JSON without loss.
nlohmann::json series_json(const models::gpu::Series& series);
/// Throws std::exception when the JSON is not what series_json() made.
models::gpu::Series series_from_json(const nlohmann::json& json);

}  // namespace heddle::sim
