#include "sim/report/database.h"

#include <sqlite3.h>

#include <algorithm>
#include <memory>
#include <type_traits>

#include "isa/common/error.h"

namespace heddle::sim {
namespace {

constexpr const char* kSchema = R"sql(
CREATE TABLE run(key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE ops(id INTEGER PRIMARY KEY, name TEXT, kind TEXT, phase TEXT, count INTEGER, time_us REAL,
                 measured_us REAL, flops REAL, bytes REAL, bound_by TEXT, fidelity TEXT);
CREATE TABLE kernels(id INTEGER PRIMARY KEY, name TEXT, op TEXT, kind TEXT, phase TEXT, recorded_kernel TEXT,
                     gap_us REAL, start_us REAL, time_us REAL, measured_us REAL, cycles INTEGER, warp_instructions INTEGER,
                     grid_x INTEGER, grid_y INTEGER, grid_z INTEGER, block_x INTEGER, block_y INTEGER,
                     block_z INTEGER, registers_per_thread INTEGER, shared_bytes INTEGER, ctas_per_sm INTEGER,
                     dram_bytes REAL, l2_bytes REAL, flops REAL, bytes REAL, bound_by TEXT, fidelity TEXT,
                     stream INTEGER, launched_us REAL, end_us REAL, turns REAL, module TEXT, alone_us REAL, queued_us REAL);
CREATE TABLE memory(op INTEGER, start_us REAL, part TEXT, bytes REAL, PRIMARY KEY(op, part)) WITHOUT ROWID;
CREATE TABLE kernel_time(kernel INTEGER REFERENCES kernels(id), reason TEXT, fraction REAL,
                         PRIMARY KEY(kernel, reason)) WITHOUT ROWID;
CREATE TABLE kernel_utilisation(kernel INTEGER REFERENCES kernels(id), resource TEXT, fraction REAL,
                                PRIMARY KEY(kernel, resource)) WITHOUT ROWID;
CREATE TABLE utilisation(resource TEXT PRIMARY KEY, fraction REAL) WITHOUT ROWID;
CREATE TABLE losses(step INTEGER PRIMARY KEY, device REAL, reference REAL);
CREATE TABLE notes(id INTEGER PRIMARY KEY, text TEXT);
)sql";

class Database {
  public:
    explicit Database(const std::string& path) : path_(path) {
        sqlite3* handle = nullptr;
        const int code =
            sqlite3_open_v2(path.c_str(), &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
        handle_.reset(handle);
        if (code != SQLITE_OK) fail();
    }

    void execute(const char* sql) {
        if (sqlite3_exec(handle_.get(), sql, nullptr, nullptr, nullptr) != SQLITE_OK) fail();
    }

    [[noreturn]] void fail() const {
        throw Error(std::string("cannot write the database: ") + sqlite3_errmsg(handle_.get()),
                    {path_, 0, ""});
    }

    sqlite3* handle() const { return handle_.get(); }

  private:
    struct Close {
        void operator()(sqlite3* handle) const { sqlite3_close(handle); }
    };
    std::string path_;
    std::unique_ptr<sqlite3, Close> handle_;
};

/// An INSERT that is prepared once and run for each row.
class Insert {
  public:
    Insert(Database& database, const std::string& table, int columns) : database_(database) {
        std::string sql = "INSERT INTO " + table + " VALUES(?";
        for (int i = 1; i < columns; ++i) sql += ",?";
        sql += ")";
        sqlite3_stmt* statement = nullptr;
        if (sqlite3_prepare_v2(database.handle(), sql.c_str(), -1, &statement, nullptr) != SQLITE_OK) {
            database.fail();
        }
        statement_.reset(statement);
    }

    template <class... Values>
    void row(const Values&... values) {
        int column = 0;
        (bind(++column, values), ...);
        if (sqlite3_step(statement_.get()) != SQLITE_DONE) database_.fail();
        sqlite3_reset(statement_.get());
    }

  private:
    void bind(int column, const std::string& text) {
        check(sqlite3_bind_text(statement_.get(), column, text.c_str(), static_cast<int>(text.size()),
                                SQLITE_TRANSIENT));
    }
    void bind(int column, double number) { check(sqlite3_bind_double(statement_.get(), column, number)); }
    void bind(int column, const std::optional<double>& number) {
        if (number) {
            bind(column, *number);
        } else {
            check(sqlite3_bind_null(statement_.get(), column));
        }
    }
    template <class Integer, std::enable_if_t<std::is_integral_v<Integer>, int> = 0>
    void bind(int column, Integer number) {
        check(sqlite3_bind_int64(statement_.get(), column, static_cast<sqlite3_int64>(number)));
    }
    void check(int code) const {
        if (code != SQLITE_OK) database_.fail();
    }

    struct Finalize {
        void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
    };
    Database& database_;
    std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

void insert_run(Database& database, const RunResult& result) {
    Insert run(database, "run", 2);
    run.row(std::string("workload"), result.workload);
    run.row(std::string("hardware"), result.hardware);
    run.row(std::string("hardware_description"), result.hardware_description);
    run.row(std::string("step_time_us"), result.step_time_us);
    run.row(std::string("device_busy_us"), result.device_busy_us);
    run.row(std::string("launch_gap_us"), result.launch_gap_us);
    run.row(std::string("communication_us"), result.communication_us);
    run.row(std::string("waiting_for_host_us"), result.division.host_us);
    run.row(std::string("overlapped_us"), result.division.overlapped_us);
    if (result.memory) run.row(std::string("memory_peak_bytes"), result.memory->peak());
    run.row(std::string("coverage_cycle"), result.coverage.cycle);
    run.row(std::string("coverage_estimated"), result.coverage.estimated);
    run.row(std::string("coverage_unknown"), result.coverage.unknown);
    run.row(std::string("measured_total_us"), result.measured_total_us);
    if (!result.numerics) return;
    run.row(std::string("loss_error"), result.numerics->loss_error);
    run.row(std::string("loss_error_bound"), result.numerics->loss_error_bound);
    run.row(std::string("weight_error"), result.numerics->weight_error);
    run.row(std::string("weight_error_bound"), result.numerics->weight_error_bound);
    run.row(std::string("worst_parameter"), result.numerics->worst_parameter);
}

void insert_ops(Database& database, const RunResult& result) {
    Insert ops(database, "ops", 11);
    std::size_t id = 0;
    for (const OpSummary& op : result.ops) {
        ops.row(id++, op.name, op.kind, op.phase, op.count, op.time_us, op.measured_us, op.flops, op.bytes,
                op.bound_by, name_of(op.fidelity));
    }
}

void insert_kernels(Database& database, const RunResult& result) {
    Insert kernels(database, "kernels", 34);
    Insert times(database, "kernel_time", 3);
    Insert utilisation(database, "kernel_utilisation", 3);
    std::size_t id = 0;
    for (const KernelResult& kernel : result.kernels) {
        kernels.row(id, kernel.name, kernel.op_name, kernel.kind, kernel.phase, kernel.recorded_kernel,
                    kernel.gap_us, kernel.start_us, kernel.time_us, kernel.measured_us, kernel.cycles,
                    kernel.warp_instructions, kernel.grid[0], kernel.grid[1], kernel.grid[2], kernel.block[0],
                    kernel.block[1], kernel.block[2], kernel.registers_per_thread, kernel.shared_bytes,
                    kernel.ctas_per_sm, kernel.dram_bytes, kernel.l2_bytes, kernel.flops, kernel.bytes,
                    kernel.bound_by, name_of(kernel.fidelity), kernel.stream, kernel.launched_us,
                    kernel.end_us, kernel.turns, kernel.module, kernel.alone_us, kernel.queued_us);
        for (const auto& [reason, fraction] : kernel.time_by_reason) times.row(id, reason, fraction);
        for (const auto& [resource, fraction] : kernel.utilisation) utilisation.row(id, resource, fraction);
        ++id;
    }
}

void insert_memory(Database& database, const MemoryReport& memory) {
    Insert rows(database, "memory", 4);
    for (std::size_t op = 0; op < std::min(memory.during.size(), memory.starts_us.size()); ++op) {
        for (std::size_t part = 0; part < memory.parts.size(); ++part)
            rows.row(op, memory.starts_us[op], memory.parts[part], memory.during[op][part]);
    }
}

void insert_rest(Database& database, const RunResult& result) {
    Insert utilisation(database, "utilisation", 2);
    for (const auto& [resource, fraction] : result.utilisation) utilisation.row(resource, fraction);
    Insert notes(database, "notes", 2);
    for (std::size_t i = 0; i < result.notes.size(); ++i) notes.row(i, result.notes[i]);
    if (!result.numerics) return;
    Insert losses(database, "losses", 3);
    const NumericsResult& numerics = *result.numerics;
    for (std::size_t i = 0; i < numerics.device_loss.size(); ++i) {
        const bool known = i < numerics.reference_loss.size();
        losses.row(i, numerics.device_loss[i],
                   known ? std::optional<double>(numerics.reference_loss[i]) : std::nullopt);
    }
}

}  // namespace

void write_database(const RunResult& result, const std::string& path) {
    Database database(path);
    // The file is written aside and renamed when it is complete: no journal is needed, and one could stay
    // behind.
    database.execute("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; BEGIN");
    database.execute(kSchema);
    insert_run(database, result);
    insert_ops(database, result);
    insert_kernels(database, result);
    if (result.memory) insert_memory(database, *result.memory);
    insert_rest(database, result);
    database.execute("COMMIT");
}

}  // namespace heddle::sim
