#include "sim/sass/trace_scan.h"

#include <algorithm>
#include <bit>
#include <nlohmann/json.hpp>

#include "sim/sass/address_spaces.h"

namespace heddle::sass {

void RecentPages::touch(std::uint64_t page) {
    if (!order_.empty() && order_.back() == page) return;
    const auto found = places_.find(page);
    if (found != places_.end()) {
        order_.splice(order_.end(), order_, found->second);
        return;
    }
    places_.emplace(page, order_.insert(order_.end(), page));
    if (order_.size() <= capacity_) return;
    places_.erase(order_.front());
    order_.pop_front();
}

void RecentPages::touch_range(std::uint64_t address, std::uint64_t bytes) {
    if (bytes == 0) return;
    const std::uint64_t last = global_place(address + bytes - 1) / kBytes;
    const std::uint64_t held = std::min(bytes / kBytes, capacity_);
    for (std::uint64_t page = last - std::min(last, held); page <= last; ++page) touch(page);
}

std::vector<models::gpu::L2Residency> RecentPages::resident() const {
    std::vector<models::gpu::L2Residency> ranges;
    for (const std::uint64_t page : order_) {
        if (!ranges.empty() && ranges.back().base + ranges.back().bytes == page * kBytes)
            ranges.back().bytes += kBytes;
        else
            ranges.push_back({page * kBytes, kBytes, false});  // what was written counts as written back
    }
    return ranges;
}

namespace {

bool may_be_global(ptx::StateSpace space) {
    return space == ptx::StateSpace::global || space == ptx::StateSpace::generic;
}

/// The pages of a copy that is described.
void touch_copy(const TraceReader& reader, const WarpTrace& warp, const Step& step, RecentPages& pages) {
    const Instruction& instruction = reader.instructions()[step.instruction];
    const auto number = static_cast<std::uint64_t>(instruction.immediate);
    if (instruction.bytes_per_lane == 0 || number >= reader.copies().size()) return;
    for (const std::uint64_t offset : reader.copies()[number].offsets)
        pages.touch(global_place(warp.addresses[step.addresses] + offset) / RecentPages::kBytes);
}

}  // namespace

TraceScan scan(TraceReader& reader, const std::optional<ptx::Operation>& unknown_as, std::uint64_t l2_bytes) {
    TraceScan result;
    TraceTable table(unknown_as, reader.header().registers_of);
    RecentPages pages(l2_bytes);
    const KernelHeader& header = reader.header();
    while (const auto block = reader.next()) {
        table.extend(reader.instructions());
        for (const WarpTrace& warp : block->warps) {
            result.warp_instructions += warp.steps.size();
            for (const Step& step : warp.steps) {
                const TraceRow& row = table[table.row_of(step.instruction)];
                if (table.is_unknown(step.instruction)) ++result.unknown[row.opcode];
                if (row.machine.info.bulk_copy && step.lanes != 0) touch_copy(reader, warp, step, pages);
                if (row.machine.bytes_per_lane == 0 || step.lanes == 0 ||
                    reader.instructions()[step.instruction].bytes_per_lane == 0 ||
                    !may_be_global(row.machine.info.space))
                    continue;
                const std::uint64_t* const first = warp.addresses.data() + step.addresses;
                if (space_of(header, *first) != ptx::StateSpace::global) continue;
                for (int lane = 0; lane < std::popcount(step.lanes); ++lane)
                    pages.touch(global_place(first[lane]) / RecentPages::kBytes);
            }
        }
    }
    result.text_bytes = reader.text_bytes();
    result.pages = pages.pages();
    return result;
}

std::string to_text(const TraceScan& scan) {
    return nlohmann::json{{"warp_instructions", scan.warp_instructions},
                          {"text_bytes", scan.text_bytes},
                          {"unknown", scan.unknown},
                          {"pages", scan.pages}}
        .dump();
}

TraceScan scan_from_text(const std::string& text) {
    const nlohmann::json json = nlohmann::json::parse(text);
    TraceScan scan;
    json.at("warp_instructions").get_to(scan.warp_instructions);
    json.at("text_bytes").get_to(scan.text_bytes);
    json.at("unknown").get_to(scan.unknown);
    json.at("pages").get_to(scan.pages);
    return scan;
}

}  // namespace heddle::sass
