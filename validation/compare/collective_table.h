// Times of collectives that somebody recorded with nccl-tests, beside the model's.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "sim/collective/collective.h"

namespace heddle::validation {

struct CollectiveRow {
    unsigned line = 0;  ///< of the file
    sim::CollectiveKind kind = sim::CollectiveKind::all_reduce;
    std::uint32_t ranks = 0;
    std::string type;         ///< f16, i8, f32
    std::uint64_t bytes = 0;  ///< as nccl-tests counts
    double recorded = 0;      ///< seconds
    double simulated = 0;     ///< seconds
    sim::CollectiveAlgorithm algorithm = sim::CollectiveAlgorithm::automatic;
    sim::CollectiveProtocol protocol = sim::CollectiveProtocol::automatic;
    double error() const { return simulated / recorded - 1; }
};

/// Columns op_name, nccl_dtype, num_gpus, message_size (elements), latency (milliseconds), found by their
/// headings. Throws heddle::Error for a damaged file (with its line) and when a column is missing.
std::vector<CollectiveRow> read_collective_table(const std::filesystem::path& file);

/// Simulates every row on the first devices of the cluster.
void time_collectives(std::vector<CollectiveRow>& rows, sim::CollectiveTimer& timer);

struct CollectiveErrors {
    std::size_t n = 0;
    double median = 0, p90 = 0, mean = 0, worst = 0,
           bias = 0;  ///< of the magnitude; bias: median of the signed error
};
CollectiveErrors errors_of(const std::vector<CollectiveRow>& rows);

/// A line for each collective and number of devices, one for all; with `all`, every row.
std::string format_collective_table(const std::vector<CollectiveRow>& rows, const std::string& heading,
                                    bool all);
std::string collective_table_json(const std::vector<CollectiveRow>& rows);

}  // namespace heddle::validation
