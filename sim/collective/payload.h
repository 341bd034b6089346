// What a collective computes: real payloads, summed in the algorithm's own order and rounded after every sum.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/network/schedule.h"
#include "sim/collective/collective.h"

namespace heddle::sim {

/// A rank's vector: values of the element type, each exact in a float.
using Payload = std::vector<float>;

/// a + b as a device computes it: added exactly enough, rounded to the type (f16, bf16, f32: to nearest even;
/// i8: modulo 256).
float add_rounded(const std::string& type, float a, float b);

/// Carries out a schedule with every channel by itself (full_schedule()). Outputs have the length that
/// nccl-tests' size means; a reduce-scatter's result lies at the rank's own place. Throws heddle::Error when
/// workers wait for ever.
std::vector<Payload> run_payload(const models::network::Schedule& schedule, const std::string& type,
                                 const std::vector<Payload>& inputs, std::size_t output_elements);

/// The schedule that carries out `request` on real values, as `time()` would choose it.
models::network::Schedule payload_schedule(const Cluster& cluster, const CollectiveRequest& request);

struct PayloadReport {
    std::uint64_t elements = 0;
    double largest_error = 0;  ///< against the sum in double precision, of the element nearest to its bound
    double bound =
        0;  ///< of that element: (n - 1) u / (1 - (n - 1) u) times the sum of magnitudes (Higham, chapter 4)
    bool within_bound = true;
    bool same_everywhere = true;  ///< all ranks that have an element have the same bits
};

/// Random values through run_payload(), compared with the exact result.
PayloadReport check_payload(const Cluster& cluster, const CollectiveRequest& request, std::uint64_t seed);

}  // namespace heddle::sim
