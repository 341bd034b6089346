// Reading a run's folder back.
#include <sqlite3.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>

#include "isa/common/checked.h"
#include "isa/common/json_text.h"
#include "sim/report/run_comparison.h"

namespace heddle::sim {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

Json read_json(const fs::path& path) {
    std::ifstream stream(path, std::ios::binary);
    try {
        return parse_json<Json>(stream);
    } catch (const Error& error) {
        throw Error(std::string("is damaged: ") + error.what(), {path.string(), 0, ""},
                    "simulate the run again");
    }
}

/// Calls `row` with the statement at each row.
void query(const fs::path& path, const char* sql, const std::function<void(sqlite3_stmt*)>& row) {
    sqlite3* handle = nullptr;
    const int opened = sqlite3_open_v2(path.c_str(), &handle, SQLITE_OPEN_READONLY, nullptr);
    const std::unique_ptr<sqlite3, int (*)(sqlite3*)> database(handle, sqlite3_close);
    sqlite3_stmt* prepared = nullptr;
    int code = opened;
    if (code == SQLITE_OK) code = sqlite3_prepare_v2(handle, sql, -1, &prepared, nullptr);
    const std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)> statement(prepared, sqlite3_finalize);
    if (code == SQLITE_OK)
        while ((code = sqlite3_step(prepared)) == SQLITE_ROW) row(prepared);
    if (code != SQLITE_DONE && code != SQLITE_OK)
        throw Error(std::string("cannot be read: ") + sqlite3_errmsg(handle), {path.string(), 0, ""},
                    "simulate the run again");
}

std::string text_of(sqlite3_stmt* statement, int column) {
    const auto* text = sqlite3_column_text(statement, column);
    return text == nullptr ? "" : reinterpret_cast<const char*>(text);
}

/// Times, bytes and cycles, added up over as many turns as there are.
constexpr Gate kAmount{"an amount", 0, 1e300};
constexpr Gate kShare{"a share", 0, 1.000001};  // sums of shares are rounded

/// Nothing stands for 0, as where a device does not count something.
double number_of(sqlite3_stmt* statement, int column, const Gate& gate, const fs::path& path) {
    const SourceLocation where{path.string(), 0, sqlite3_column_name(statement, column)};
    const int type = sqlite3_column_type(statement, column);
    if (type == SQLITE_NULL) return 0;
    if (type != SQLITE_FLOAT && type != SQLITE_INTEGER) gate.refuse(text_of(statement, column), where);
    return gate.check(sqlite3_column_double(statement, column), where);
}

void read_kernels(const fs::path& path, StoredRun& run) {
    query(path,
          "SELECT name, op, kind, phase, fidelity, time_us, dram_bytes, l2_bytes, cycles FROM kernels ORDER "
          "BY id",
          [&](sqlite3_stmt* row) {
              StoredRun::Kernel kernel;
              kernel.name = text_of(row, 0);
              kernel.op = text_of(row, 1);
              kernel.kind = text_of(row, 2);
              kernel.phase = text_of(row, 3);
              kernel.fidelity = text_of(row, 4);
              kernel.time_us = number_of(row, 5, kAmount, path);
              kernel.dram_bytes = number_of(row, 6, kAmount, path);
              kernel.l2_bytes = number_of(row, 7, kAmount, path);
              kernel.cycles = number_of(row, 8, kAmount, path);
              run.kernels.push_back(std::move(kernel));
          });
    query(path, "SELECT kernel, reason, fraction FROM kernel_time", [&](sqlite3_stmt* row) {
        const auto kernel = static_cast<std::size_t>(sqlite3_column_int64(row, 0));
        if (kernel < run.kernels.size())
            run.kernels[kernel].reasons[text_of(row, 1)] = number_of(row, 2, kShare, path);
    });
}

void read_summary(const fs::path& path, StoredRun& run) {
    const Json json = read_json(path);
    try {
        run.workload = json.at("workload");
        run.hardware = json.at("hardware");
        const auto number = [&](const Json& value, const char* key, const Gate& gate) {
            return gate.check(value.get<double>(), {path.string(), 0, key});
        };
        run.step_us = number(json.at("step_time_us"), "step_time_us", kAmount);
        run.clock_hz = number(json.value("clock_hz", Json(0.0)), "clock_hz", kAmount);
        const Json& coverage = json.at("coverage");
        run.cycle = number(coverage.at("cycle"), "coverage.cycle", kShare);
        run.estimated = number(coverage.at("estimated"), "coverage.estimated", kShare);
        run.unknown = number(coverage.at("unknown"), "coverage.unknown", kShare);
        for (const auto& [key, name] :
             {std::pair("kernels_us", "kernels"), std::pair("communication_us", "only communication"),
              std::pair("copies_us", "only copies"), std::pair("gaps_us", "between kernels"),
              std::pair("waiting_for_host_us", "waiting for the host")})
            run.division[name] = number(json.at("division").at(key), key, gates::kFinite);
        if (json.contains("energy"))
            for (const auto& [part, joules] : json.at("energy").at("joules").items())
                run.joules += number(joules, "energy.joules", gates::kFinite);
    } catch (const nlohmann::json::exception& error) {
        throw Error(std::string("is not what a run leaves: ") + error.what(), {path.string(), 0, ""},
                    "simulate the run again");
    }
}

void read_configuration(const fs::path& path, StoredRun& run) {
    const Json json = read_json(path);
    const auto read = [&](const char* key, std::map<std::string, std::string>& into) {
        if (!json.contains(key) || !json.at(key).is_object()) return;
        for (const auto& [name, value] : json.at(key).items())
            into[name] = value.is_string() ? value.get<std::string>() : value.dump();
    };
    read("parameters", run.parameters);
    read("options", run.options);
}

}  // namespace

StoredRun read_run(const std::string& folder) {
    std::error_code ignored;
    const fs::path path = folder;
    if (!fs::is_directory(path, ignored))
        throw Error("there is no such folder", {folder, 0, ""}, "give a folder that `heddle simulate` wrote");
    for (const char* file : {"summary.json", "stats.sqlite"})
        if (!fs::is_regular_file(path / file, ignored))
            throw Error(std::string("this folder is no run: it has no ") + file, {folder, 0, ""},
                        "give a folder that `heddle simulate` wrote");
    StoredRun run;
    run.folder = folder;
    read_summary(path / "summary.json", run);
    read_kernels(path / "stats.sqlite", run);
    if (fs::is_regular_file(path / "configuration.json", ignored))
        read_configuration(path / "configuration.json", run);
    return run;
}

}  // namespace heddle::sim
