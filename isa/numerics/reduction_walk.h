// The one walk over a plan, for trees and for values alike; private to this folder.
#pragma once

#include <algorithm>
#include <vector>

#include "isa/numerics/reduction_plan.h"

namespace heddle::numerics {

/// Products of one fused block.
std::size_t block_length(const ReductionPlan& plan);

/// The k of one slice in the order in which they are added, as tiles: a block does not cross them.
std::vector<KRange> tiles_of(const ReductionPlan& plan, const KRange& slice);

/// Tiles dealt over the accumulators: for each the ranges that it takes, in order.
std::vector<std::vector<KRange>> deal(const ReductionPlan& plan, const std::vector<KRange>& tiles);

/// Cuts the ranges of a chain into lists of `interval` products each.
std::vector<std::vector<KRange>> promotions(const std::vector<KRange>& ranges, std::size_t interval);

/// A Backend has Value, and
///   Value chain(const std::vector<KRange>&)      products into a fresh accumulator
///   Value add(Value, Value)                      in the accumulator's format
///   Value from_zero(Value)                       +0 and the value
///   Value rounded_partial(Value)                   SliceMerge::output_partials: rounded to D's format
///   Value chain_output(Value* before, Value, bool last)   SliceMerge::output_chain
template <typename Backend>
typename Backend::Value combine(Combination combination, std::vector<typename Backend::Value> values,
                                Backend& backend) {
    constexpr std::size_t kWarp = 32;
    if (combination == Combination::warps_then_forward || combination == Combination::warps_then_halves) {
        std::vector<typename Backend::Value> warps;
        for (std::size_t first = 0; first < values.size(); first += kWarp) {
            std::vector<typename Backend::Value> lanes;
            for (std::size_t i = first; i < std::min(values.size(), first + kWarp); ++i)
                lanes.push_back(std::move(values[i]));
            warps.push_back(combine(Combination::halves_first, std::move(lanes), backend));
        }
        values = std::move(warps);
        combination =
            combination == Combination::warps_then_forward ? Combination::forward : Combination::halves_first;
    }
    if (combination == Combination::forward) {
        for (std::size_t i = 1; i < values.size(); ++i)
            values[0] = backend.add(std::move(values[0]), std::move(values[i]));
        return std::move(values[0]);
    }
    while (values.size() > 1) {
        const bool neighbours = combination == Combination::neighbours_first;
        const std::size_t half = (values.size() + 1) / 2;
        std::vector<typename Backend::Value> next;
        for (std::size_t i = 0; i < half; ++i) {
            const std::size_t first = neighbours ? 2 * i : i, second = neighbours ? 2 * i + 1 : i + half;
            next.push_back(second < values.size()
                               ? backend.add(std::move(values[first]), std::move(values[second]))
                               : std::move(values[first]));
        }
        values = std::move(next);
    }
    return std::move(values[0]);
}

/// The sum of one slice: its tiles are dealt to the accumulators, which are then combined.
template <typename Backend>
typename Backend::Value slice_sum(const ReductionPlan& plan, const KRange& slice, Backend& backend) {
    std::vector<typename Backend::Value> sums;
    for (const std::vector<KRange>& ranges : deal(plan, tiles_of(plan, slice))) {
        // An accumulator without products takes part as zero: it keeps the others' places in a butterfly.
        if (plan.promotion_interval == 0 || ranges.empty()) {
            sums.push_back(backend.chain(ranges));
            continue;
        }
        bool first = true;
        for (const std::vector<KRange>& part : promotions(ranges, plan.promotion_interval)) {
            if (first)
                sums.push_back(backend.chain(part));
            else
                sums.back() = backend.add(std::move(sums.back()), backend.chain(part));
            first = false;
        }
    }
    if (sums.empty()) sums.push_back(backend.chain({}));
    return combine(plan.combination, std::move(sums), backend);
}

/// Everything but the epilogue, which SliceMerge::output_chain contains.
template <typename Backend>
typename Backend::Value walk(const ReductionPlan& plan, std::size_t k, Backend& backend) {
    const std::vector<KRange> slices = slices_of(plan, k);
    if (slices.empty()) return slice_sum(plan, {0, 0}, backend);
    if (plan.merge == SliceMerge::output_chain) {
        typename Backend::Value d =
            backend.chain_output(nullptr, slice_sum(plan, slices[0], backend), slices.size() == 1);
        for (std::size_t s = 1; s < slices.size(); ++s)
            d = backend.chain_output(&d, slice_sum(plan, slices[s], backend), s + 1 == slices.size());
        return d;
    }
    const bool round = plan.merge == SliceMerge::output_partials && slices.size() > 1;
    typename Backend::Value sum{};
    for (std::size_t s = 0; s < slices.size(); ++s) {
        typename Backend::Value part = slice_sum(plan, slices[s], backend);
        if (round) part = backend.rounded_partial(std::move(part));
        if (s == 0 && (slices.size() > 1 || plan.k_per_split != 0)) part = backend.from_zero(std::move(part));
        sum = s == 0 ? std::move(part) : backend.add(std::move(sum), std::move(part));
    }
    return sum;
}

}  // namespace heddle::numerics
