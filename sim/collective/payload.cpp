#include "sim/collective/payload.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <numeric>

#include "isa/common/error.h"
#include "isa/numerics/counter_random.h"
#include "isa/numerics/formats.h"
#include "sim/collective/evaluate.h"

namespace heddle::sim {
namespace {

using namespace models::network;

/// More would take more memory than a quick question is worth.
constexpr std::uint64_t kMostElements = 1ull << 26;

numerics::Format format_of(const std::string& type) {
    return type == "f16"    ? numerics::Format::fp16
           : type == "bf16" ? numerics::Format::bf16
                            : numerics::Format::fp32;
}

float rounded(const std::string& type, float value) {
    if (type == "f32") return value;
    if (type == "i8") return static_cast<float>(static_cast<std::int8_t>(static_cast<int>(value)));
    const numerics::Format format = format_of(type);
    const auto bits = numerics::convert(format, numerics::Format::fp32, std::bit_cast<std::uint32_t>(value));
    return numerics::to_float(format, static_cast<std::uint32_t>(bits));
}

class PayloadRun {
  public:
    PayloadRun(const Schedule& schedule, const std::string& type, const std::vector<Payload>& inputs,
               std::size_t elements)
        : schedule_(schedule),
          type_(type),
          inputs_(inputs),
          outputs_(inputs.size(), Payload(elements, 0)),
          queues_(schedule.connections.size()),
          next_(schedule.workers.size(), 0),
          element_(element_bytes(type)) {}

    std::vector<Payload> run() {
        for (bool moved = true; moved;) {
            moved = false;
            for (std::uint32_t w = 0; w < next_.size(); ++w)
                while (step(w)) moved = true;
        }
        for (std::uint32_t w = 0; w < next_.size(); ++w)
            if (next_[w] < schedule_.workers[w].operations.size())
                throw Error("a schedule does not end: worker " + std::to_string(w) + " waits");
        return std::move(outputs_);
    }

  private:
    /// The worker's next operation, if it has what it needs.
    bool step(std::uint32_t w) {
        const Worker& worker = schedule_.workers[w];
        if (next_[w] >= worker.operations.size()) return false;
        const Operation& o = worker.operations[next_[w]];
        for (const std::uint32_t c : o.receive)
            if (c != kNone && queues_[c].empty()) return false;
        Payload value;
        bool begun = false;
        if (o.own) {
            value = own(o, worker.rank);
            begun = true;
        }
        for (const std::uint32_t c : o.receive) {
            if (c == kNone) continue;
            if (begun) {
                for (std::size_t i = 0; i < value.size(); ++i)
                    value[i] = add_rounded(type_, value[i], queues_[c].front()[i]);
            } else {
                value = std::move(queues_[c].front());
                begun = true;
            }
            queues_[c].pop_front();
        }
        if (o.store && o.to_all)
            for (Payload& output : outputs_) store(value, o, output);
        if (o.store && !o.to_all) store(value, o, outputs_[worker.rank]);
        for (const std::uint32_t c : o.send)
            if (c != kNone) queues_[c].push_back(value);
        ++next_[w];
        return true;
    }

    Payload own(const Operation& o, std::uint32_t rank) const {
        const std::size_t count = o.bytes / element_;
        const Payload& from = o.from_output ? outputs_[rank] : inputs_[rank];
        const std::size_t begin = o.from_output ? o.offset : o.input;
        Payload value(from.begin() + static_cast<std::ptrdiff_t>(begin),
                      from.begin() + static_cast<std::ptrdiff_t>(begin + count));
        if (!o.wide_sum) return value;
        // The switch adds in float, rank by rank, and rounds once (multimem.ld_reduce with .acc::f32).
        for (std::size_t i = 0; i < count; ++i) {
            float sum = inputs_[0][begin + i];
            for (std::size_t r = 1; r < inputs_.size(); ++r) sum += inputs_[r][begin + i];
            value[i] = rounded(type_, sum);
        }
        return value;
    }

    static void store(const Payload& value, const Operation& o, Payload& output) {
        std::copy(value.begin(), value.end(), output.begin() + static_cast<std::ptrdiff_t>(o.offset));
    }

    const Schedule& schedule_;
    const std::string& type_;
    const std::vector<Payload>& inputs_;
    std::vector<Payload> outputs_;
    std::vector<std::deque<Payload>> queues_;
    std::vector<std::size_t> next_;
    std::size_t element_;
};

CollectiveRequest with_ranks(const Cluster& cluster, const CollectiveRequest& given) {
    CollectiveRequest request = given;
    if (request.ranks.empty()) {
        request.ranks.resize(cluster.device_count());
        std::iota(request.ranks.begin(), request.ranks.end(), 0u);
    }
    return request;
}

/// What rank r's output element i should be, and the sum of magnitudes that bounds its error; false: nothing
/// is there.
bool expected(CollectiveKind kind, const std::vector<Payload>& inputs, std::size_t shard, std::size_t r,
              std::size_t i, double& value, double& magnitude) {
    const auto sum = [&] {
        value = magnitude = 0;
        for (const Payload& input : inputs) {
            value += input[i];
            magnitude += std::fabs(input[i]);
        }
    };
    magnitude = 0;
    switch (kind) {
        case CollectiveKind::all_reduce:
            sum();
            return true;
        case CollectiveKind::reduce:
            sum();
            return r == 0;
        case CollectiveKind::reduce_scatter:
            sum();
            return i / shard == r;
        case CollectiveKind::all_gather:
            value = inputs[i / shard][i % shard];
            return true;
        case CollectiveKind::broadcast:
            value = inputs[0][i];
            return true;
        case CollectiveKind::all_to_all:
            value = inputs[i / shard][r * shard + i % shard];
            return true;
        case CollectiveKind::send_receive:
            value = inputs[0][i];
            return r == 1;
    }
    return false;
}

}  // namespace

float add_rounded(const std::string& type, float a, float b) {
    return rounded(type, a + b);
}

std::vector<Payload> run_payload(const Schedule& schedule, const std::string& type,
                                 const std::vector<Payload>& inputs, std::size_t output_elements) {
    return PayloadRun(schedule, type, inputs, output_elements).run();
}

Schedule payload_schedule(const Cluster& cluster, const CollectiveRequest& given) {
    const CollectiveRequest request = with_ranks(cluster, given);
    const Topology topology(cluster.network, cluster.nodes, cluster.devices_per_node, cluster.servers);
    const RankLayout layout = layout_of(request.ranks, topology);
    return full_schedule(cluster, topology, request, layout,
                         plans_of(cluster, request, layout, topology).front());
}

PayloadReport check_payload(const Cluster& cluster, const CollectiveRequest& given, std::uint64_t seed) {
    const CollectiveRequest request = with_ranks(cluster, given);
    const std::size_t n = request.ranks.size();
    const bool shards = request.kind == CollectiveKind::all_gather ||
                        request.kind == CollectiveKind::reduce_scatter ||
                        request.kind == CollectiveKind::all_to_all;
    std::size_t elements = (request.bytes + element_bytes(request.type) - 1) / element_bytes(request.type);
    const std::size_t shard = shards ? (elements + n - 1) / n : std::max<std::size_t>(1, elements);
    if (shards) elements = shard * n;
    if (n < 2) throw Error("--numerics needs two ranks or more", {"--ranks", 0, ""});
    if (elements * n > kMostElements)
        throw Error("--numerics would hold " + std::to_string(elements * n) + " elements", {"SIZE", 0, ""},
                    "at most " + std::to_string(kMostElements) +
                        " of all ranks: take a smaller size; the order of sums is the same");
    std::vector<Payload> inputs(n, Payload(elements));
    for (std::size_t r = 0; r < n; ++r) {
        const std::uint64_t stream = numerics::stream_seed(seed, r);
        for (std::size_t i = 0; i < elements; ++i) {
            if (request.type == "i8") {
                inputs[r][i] = numerics::random_int8(numerics::Distribution::normal, stream, i);
                continue;
            }
            const numerics::Format format = format_of(request.type);
            const std::uint64_t bits =
                numerics::random_element(format, numerics::Distribution::normal, stream, i);
            inputs[r][i] = numerics::to_float(format, static_cast<std::uint32_t>(bits));
        }
    }
    const std::vector<Payload> outputs =
        run_payload(payload_schedule(cluster, request), request.type, inputs, elements);
    const double unit = request.type == "f16" ? 0x1p-11 : request.type == "bf16" ? 0x1p-8 : 0x1p-24;
    const double sums = static_cast<double>(n - 1) * unit;
    PayloadReport report;
    report.elements = elements;
    double nearest = -1;
    for (std::size_t r = 0; r < n; ++r) {
        for (std::size_t i = 0; i < elements; ++i) {
            double value = 0, magnitude = 0;
            if (!expected(request.kind, inputs, shard, r, i, value, magnitude)) continue;
            if (request.type == "i8") value = static_cast<std::int8_t>(static_cast<int>(value));
            const double error = std::fabs(outputs[r][i] - value);
            const double bound = request.type == "i8" ? 0 : sums / (1 - sums) * magnitude;
            report.within_bound = report.within_bound && error <= bound;
            const double ratio = bound > 0 ? error / bound : error;
            if (ratio > nearest) {
                nearest = ratio;
                report.largest_error = error;
                report.bound = bound;
            }
            if (request.kind == CollectiveKind::all_reduce && outputs[r][i] != outputs[0][i])
                report.same_everywhere = false;
        }
    }
    return report;
}

}  // namespace heddle::sim
