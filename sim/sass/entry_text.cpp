#include "sim/sass/entry_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <numeric>

#include "sim/report/text_table.h"
#include "sim/run/time/series_text.h"
#include "sim/sass/kernel_name.h"

namespace heddle::sass {
namespace {

using Json = nlohmann::ordered_json;

Json to_json(const Traffic& t) {
    return {{"sectors", t.sectors}, {"hit_sectors", t.hit_sectors}, {"bytes", t.bytes}};
}

Traffic traffic_from(const Json& json) {
    return {json.at("sectors").get<std::uint64_t>(), json.at("hit_sectors").get<std::uint64_t>(),
            json.at("bytes").get<double>()};
}

Json to_json(const TraceEntry& e) {
    if (e.kind == TraceEntry::Kind::host_to_device)
        return {{"kind", "host to device"},
                {"address", fmt::format("0x{:x}", e.address)},
                {"bytes", e.copied_bytes},
                {"time_us", e.seconds * 1e6}};
    return {{"kind", "kernel"},
            {"name", e.name},
            {"file", e.file},
            {"id", e.id},
            {"grid", e.grid},
            {"block", e.block},
            {"registers_per_thread", e.registers_per_thread},
            {"shared_bytes", e.shared_bytes},
            {"cycles", e.cycles},
            {"time_us", e.seconds * 1e6},
            {"warp_instructions", e.warp_instructions},
            {"ipc", e.ipc},
            {"ctas_per_sm", e.ctas_per_sm},
            {"bound_by", e.bound_by},
            {"l1", to_json(e.l1)},
            {"l2", to_json(e.l2)},
            {"dram_read_bytes", e.dram_read_bytes},
            {"dram_write_bytes", e.dram_write_bytes},
            {"shared_accesses", e.shared_accesses},
            {"shared_wavefronts", e.shared_wavefronts},
            {"atomic_sectors", e.atomic_sectors},
            {"time_by_reason", e.time_by_reason},
            {"utilisation", e.utilisation},
            {"energy", e.energy}};
}

/// From the function's own name on.
std::string short_name(const std::string& recorded) {
    constexpr std::size_t kLongest = 48;
    const std::string readable = readable_name(recorded);
    const std::string name =
        readable.substr(std::min(readable.find(function_name(recorded)), readable.size()));
    return name.size() <= kLongest ? name : name.substr(0, kLongest - 3) + "...";
}

std::string percent(double part) {
    return fmt::format("{:.1f} %", 100 * part);
}

std::string bytes_text(double bytes) {
    if (bytes >= 1e9) return fmt::format("{:.2f} GB", bytes / 1e9);
    if (bytes >= 1e6) return fmt::format("{:.2f} MB", bytes / 1e6);
    if (bytes >= 1e3) return fmt::format("{:.1f} kB", bytes / 1e3);
    return fmt::format("{:.0f} B", bytes);
}

double hit_rate(const Traffic& t) {
    return t.sectors == 0 ? 0 : static_cast<double>(t.hit_sectors) / static_cast<double>(t.sectors);
}

/// The largest reason for cycles in which nothing issued while the kernel ran.
std::string main_stall(const TraceEntry& entry) {
    std::string name;
    double most = 0, all = 0;
    for (const auto& [reason, part] : entry.time_by_reason) {
        if (reason == "not launched") continue;
        all += part;
        if (reason == "issued" || part <= most) continue;
        most = part;
        name = reason;
    }
    return all == 0 || name.empty() ? "" : name + " " + percent(most / all);
}

std::vector<std::string> row_of(const TraceEntry& e) {
    if (e.kind == TraceEntry::Kind::host_to_device)
        return {"copy from host",
                bytes_text(static_cast<double>(e.copied_bytes)),
                "",
                fmt::format("{:.3f}", e.seconds * 1e6),
                "",
                "",
                "",
                "",
                "",
                "",
                "estimate"};
    return {short_name(e.name),
            fmt::format("{}x{}", e.grid[0] * e.grid[1] * e.grid[2], e.block[0] * e.block[1] * e.block[2]),
            std::to_string(e.cycles),
            fmt::format("{:.3f}", e.seconds * 1e6),
            std::to_string(e.warp_instructions),
            fmt::format("{:.3f}", e.ipc),
            percent(hit_rate(e.l1)),
            bytes_text(e.l2.bytes),
            bytes_text(e.dram_read_bytes + e.dram_write_bytes),
            main_stall(e),
            e.bound_by};
}

std::uint64_t sum(const TraceRun& run, std::uint64_t TraceEntry::*field) {
    return std::accumulate(run.entries.begin(), run.entries.end(), std::uint64_t{0},
                           [&](std::uint64_t all, const TraceEntry& e) { return all + e.*field; });
}

}  // namespace

std::string to_text(const TraceEntry& entry) {
    Json json = to_json(entry);
    json["seconds"] = entry.seconds;
    json["forced_releases"] = entry.forced_releases;
    json["undescribed_copies"] = entry.undescribed_copies;
    json["guessed_textures"] = entry.guessed_textures;
    json["wall"] = entry.read_and_run_seconds;
    for (const auto& [name, t] : entry.throughputs) json["throughputs"][name] = {t.unit, t.amount, t.ceiling};
    if (entry.series) json["series"] = sim::series_json(*entry.series);
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

TraceEntry entry_from_text(const std::string& text) {
    const Json json = Json::parse(text);
    TraceEntry e;
    json.at("name").get_to(e.name);
    json.at("file").get_to(e.file);
    json.at("id").get_to(e.id);
    for (std::size_t i = 0; i < 3; ++i) {
        json.at("grid").at(i).get_to(e.grid[i]);
        json.at("block").at(i).get_to(e.block[i]);
    }
    json.at("registers_per_thread").get_to(e.registers_per_thread);
    json.at("shared_bytes").get_to(e.shared_bytes);
    json.at("cycles").get_to(e.cycles);
    json.at("seconds").get_to(e.seconds);
    json.at("warp_instructions").get_to(e.warp_instructions);
    json.at("ipc").get_to(e.ipc);
    json.at("ctas_per_sm").get_to(e.ctas_per_sm);
    json.at("bound_by").get_to(e.bound_by);
    e.l1 = traffic_from(json.at("l1"));
    e.l2 = traffic_from(json.at("l2"));
    json.at("dram_read_bytes").get_to(e.dram_read_bytes);
    json.at("dram_write_bytes").get_to(e.dram_write_bytes);
    json.at("shared_accesses").get_to(e.shared_accesses);
    json.at("shared_wavefronts").get_to(e.shared_wavefronts);
    json.at("atomic_sectors").get_to(e.atomic_sectors);
    json.at("time_by_reason").get_to(e.time_by_reason);
    json.at("utilisation").get_to(e.utilisation);
    json.at("energy").get_to(e.energy);
    json.at("forced_releases").get_to(e.forced_releases);
    json.at("undescribed_copies").get_to(e.undescribed_copies);
    json.at("guessed_textures").get_to(e.guessed_textures);
    json.at("wall").get_to(e.read_and_run_seconds);
    if (json.contains("throughputs")) {
        for (const auto& [name, t] : json.at("throughputs").items())
            e.throughputs[name] = {t.at(0).get<std::string>(), t.at(1).get<double>(), t.at(2).get<double>()};
    }
    if (json.contains("series"))
        e.series = std::make_shared<const models::gpu::Series>(sim::series_from_json(json.at("series")));
    return e;
}

std::string trace_run_json(const TraceRun& run) {
    const std::uint64_t instructions = sum(run, &TraceEntry::warp_instructions);
    Json json = {{"list", run.list},
                 {"hardware", run.hardware},
                 {"total_time_us", run.seconds * 1e6},
                 {"cycles", sum(run, &TraceEntry::cycles)},
                 {"warp_instructions", instructions},
                 {"entries", Json::array()},
                 {"notes", run.notes}};
    for (const TraceEntry& entry : run.entries) json["entries"].push_back(to_json(entry));
    json["simulation"] = {{"wall_s", run.wall_seconds},
                          {"workers", run.workers},
                          {"warp_instructions_per_s", static_cast<double>(instructions) / run.wall_seconds},
                          {"text_bytes", run.text_bytes}};
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string format_trace_run(const TraceRun& run, bool all, std::size_t width) {
    std::vector<std::size_t> shown(run.entries.size());
    std::iota(shown.begin(), shown.end(), std::size_t{0});
    const bool left_out = !all && shown.size() > kMostRows;
    if (left_out) {
        std::stable_sort(shown.begin(), shown.end(), [&](std::size_t a, std::size_t b) {
            return run.entries[a].seconds > run.entries[b].seconds;
        });
        shown.resize(kMostRows);
        std::sort(shown.begin(), shown.end());
    }
    std::vector<std::vector<std::string>> rows{{"#", "kernel", "blocks", "cycles", "us", "warp instr", "IPC",
                                                "L1 hits", "L2", "DRAM", "waits for", "bound by"}};
    for (const std::size_t i : shown) {
        std::vector<std::string> row = row_of(run.entries[i]);
        row.insert(row.begin(), std::to_string(i + 1));
        rows.push_back(std::move(row));
    }
    std::string text = fmt::format("{} on {}\n\n", run.list, run.hardware);
    text += sim::fit_columns(
        std::move(rows), {true, false, true, true, true, true, true, true, true, true, false, false}, width);
    if (left_out)
        text += fmt::format("the {} longest of {} entries; entries.json and --json have all\n", kMostRows,
                            run.entries.size());
    const std::uint64_t instructions = sum(run, &TraceEntry::warp_instructions);
    text += fmt::format("\n{} entries, {:.3f} us, {} cycles, {} warp instructions\n", run.entries.size(),
                        run.seconds * 1e6, sum(run, &TraceEntry::cycles), instructions);
    for (const std::string& note : run.notes) text += "note: " + note + "\n";
    text += fmt::format("simulated in {:.2f} s on {} workers\n", run.wall_seconds, run.workers);
    return text;
}

}  // namespace heddle::sass
