#include "validation/capture/sections/numerics_orders.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <tuple>

#include "validation/capture/blas_record.h"
#include "validation/capture/sections/order_record.h"

namespace heddle::capture {
namespace {

constexpr std::size_t kDepthsOfEach = 3;
constexpr std::uint64_t kLongestK = 5000, kLargestOperand = std::uint64_t{1} << 22;
constexpr int kNvjet = 66;  // its tiles do not change the order
constexpr double kOrdersSeconds = 75;
constexpr std::size_t kQuickOrders = 8;  // a number: quick captures of the simulator do not vary

/// What decides the order, as far as attributes tell before a launch.
using Key = std::tuple<Type, Type, Compute, bool, int, int, int, int, int, int, int>;
Key key_of(const GemmProblem& p, const GemmAlgorithm& a) {
    return {p.a,
            p.b,
            p.compute,
            p.fast_accumulation,
            a.id,
            a.stages,
            a.split_k,
            a.reduction_scheme,
            a.custom_option,
            a.inner_shape,
            a.id == kNvjet ? -1 : a.tile};
}

struct Candidate {
    const NumericsItem* item;
    GemmAlgorithm algorithm;
    /// Near 520 (several tiles and a short one) is best.
    double distance() const { return std::abs(std::log2(static_cast<double>(item->problem.k) / 520.0)); }
};

/// For every key the K that tell most, no K twice.
std::vector<std::vector<Candidate>> candidates_of(Blas& blas, const std::vector<NumericsItem>& items) {
    std::map<Key, std::vector<Candidate>> by_key;
    std::vector<Key> met;
    for (const NumericsItem& item : items) {
        const GemmProblem& p = item.problem;
        if (!has_order(p) || p.k > kLongestK || p.m * p.k > kLargestOperand || p.n * p.k > kLargestOperand)
            continue;
        try {
            for (const GemmAlgorithm& algorithm :
                 telling_algorithms(blas.algorithms(p, 8), item.algorithms)) {
                std::vector<Candidate>& list = by_key[key_of(p, algorithm)];
                if (list.empty()) met.push_back(key_of(p, algorithm));
                const bool known = std::any_of(list.begin(), list.end(), [&](const Candidate& other) {
                    return other.item->problem.k == p.k;
                });
                if (!known) list.push_back({&item, algorithm});
            }
        } catch (const DeviceError& error) {
            if (error.lost) throw;  // the item's own record says what else went wrong
        }
    }
    std::vector<std::vector<Candidate>> candidates;
    for (const Key& key : met) {
        std::vector<Candidate>& list = by_key[key];
        std::stable_sort(list.begin(), list.end(),
                         [](const Candidate& a, const Candidate& b) { return a.distance() < b.distance(); });
        candidates.push_back(list);
    }
    return candidates;
}

}  // namespace

std::vector<GemmAlgorithm> telling_algorithms(const std::vector<GemmAlgorithm>& offered, std::size_t count) {
    const auto order = [](const GemmAlgorithm& a) {
        return std::tuple(a.id, a.stages, a.split_k, a.reduction_scheme, a.custom_option, a.inner_shape);
    };
    std::vector<GemmAlgorithm> chosen;
    for (const GemmAlgorithm& algorithm : offered) {
        if (chosen.size() == count) break;
        const bool known = std::any_of(chosen.begin(), chosen.end(), [&](const GemmAlgorithm& other) {
            return order(other) == order(algorithm);
        });
        if (!known) chosen.push_back(algorithm);
    }
    return chosen;
}

bool reveal_met_orders(SectionContext& context, Blas& blas, const std::vector<NumericsItem>& items) {
    using Clock = std::chrono::steady_clock;
    const auto begun = Clock::now();
    const bool quick = context.extent == Extent::quick;
    SectionContext timed{context.device, context.journal, context.extent, {}, context.progress};
    timed.stop = [&] {
        const double seconds = std::chrono::duration<double>(Clock::now() - begun).count();
        return context.stop() || (!quick && seconds > kOrdersSeconds);
    };
    const auto candidates = candidates_of(blas, items);
    std::size_t asked = 0;
    // One K of every algorithm before the second of any.
    for (std::size_t rank = 0; rank < kDepthsOfEach; ++rank)
        for (std::size_t i = 0; i < candidates.size(); ++i) {
            if (rank >= candidates[i].size()) continue;
            if (quick && asked++ == kQuickOrders) return true;
            const Candidate& candidate = candidates[i][rank];
            const std::string id = "order " + std::to_string(i) + " of " + candidate.item->id;
            if (context.journal.has(id)) continue;
            context.progress(1, id);
            Record record;
            record.text("kind", "order").object("problem", record_of(candidate.item->problem));
            std::vector<std::byte> bytes;
            try {
                if (timed.stop() ||
                    !reveal_algorithm(timed, candidate.item->problem, candidate.algorithm, record, bytes))
                    return !context.stop();       // out of time: what is there will do
            } catch (const DeviceError& error) {  // of a lost device: the next process leaves this one out
                context.journal.add(id, record.text("error", error.what()));
                throw;
            }
            context.journal.add(id, record, bytes);
        }
    return true;
}

}  // namespace heddle::capture
