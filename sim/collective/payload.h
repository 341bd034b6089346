// What a collective computes: real payloads, added in the algorithm's own order and rounded after every
// addition.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/network/schedule.h"
#include "sim/collective/collective.h"

namespace heddle::sim {

/// One rank's vector. Its values are of the element type, each represented exactly in a float.
using Payload = std::vector<float>;

/// Returns a + b as a device computes it: the sum, rounded once to the type (f16, bf16, f32: to nearest even;
/// i8: modulo 256).
float add_rounded(const std::string& type, float a, float b);

/// Executes a schedule in which every channel is present (full_schedule()). Outputs have the length that the
/// size means in nccl-tests; the result of a reduce-scatter lies at the rank's own place. Throws
/// heddle::Error on a deadlock.
std::vector<Payload> run_payload(const models::network::Schedule& schedule, const std::string& type,
                                 const std::vector<Payload>& inputs, std::size_t output_elements);

/// Returns the schedule that carries out `request` on real values, as CollectiveTimer::time() would choose
/// it.
models::network::Schedule payload_schedule(const Cluster& cluster, const CollectiveRequest& request);

/// How far a collective's result is from the exact one.
struct PayloadReport {
    std::uint64_t elements = 0;
    double largest_error = 0;  ///< against the sum in double precision, of the element nearest to its bound
    double bound =
        0;  ///< of that element: (n - 1) u / (1 - (n - 1) u) times the sum of magnitudes (Higham, chapter 4)
    bool within_bound = true;
    bool same_everywhere = true;  ///< all ranks that have an element have the same bits
};

/// Sends random values through run_payload() and compares the result with the exact one.
PayloadReport check_payload(const Cluster& cluster, const CollectiveRequest& request, std::uint64_t seed);

}  // namespace heddle::sim
