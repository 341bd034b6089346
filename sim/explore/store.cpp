#include "sim/explore/store.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "isa/common/checked.h"
#include "isa/common/json_text.h"
#include "sim/run/workers/processes.h"

namespace heddle::explore {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

constexpr const char* kSchema = R"sql(
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE points(id INTEGER, fidelity TEXT, status TEXT, error TEXT, settings TEXT, value TEXT, shown TEXT, derived TEXT,
    objectives TEXT, configuration TEXT, notes TEXT, wall_s REAL, PRIMARY KEY(id, fidelity)) WITHOUT ROWID;
CREATE TABLE objectives(id INTEGER, fidelity TEXT, name TEXT, value REAL, PRIMARY KEY(id, fidelity, name)) WITHOUT ROWID;
CREATE TABLE statistics(id INTEGER, fidelity TEXT, workload TEXT, name TEXT, value REAL,
    PRIMARY KEY(id, fidelity, workload, name)) WITHOUT ROWID;
)sql";
constexpr const char* kFormat = "1";

/// A killed run's processes need a moment to die.
constexpr int kLockAttempts = 30;
constexpr std::chrono::milliseconds kBetweenAttempts{100};

const char* name_of(Fidelity fidelity) {
    return fidelity == Fidelity::full ? "full" : "sampled";
}
const char* name_of(PointStatus status) {
    return status == PointStatus::done ? "done" : status == PointStatus::failed ? "failed" : "infeasible";
}

/// The number of a workload keeps two of the same name apart.
std::string numbered(std::size_t index, const std::string& name) {
    return std::to_string(index) + " " + name;
}

}  // namespace

struct Store::State {
    std::string path;
    sqlite3* handle = nullptr;
    int lock = -1;

    ~State() {
        sqlite3_close(handle);
        // After SQLite's own descriptors: closing any descriptor of a file gives up a process's locks of it.
        if (lock >= 0) ::close(lock);
    }

    [[noreturn]] void fail(int code) const {
        // What SQLite itself took no offence at is told in the words of the code.
        const bool of_sqlite = handle != nullptr && sqlite3_errcode(handle) != SQLITE_OK &&
                               sqlite3_errcode(handle) != SQLITE_ROW &&
                               sqlite3_errcode(handle) != SQLITE_DONE;
        const std::string text = of_sqlite ? sqlite3_errmsg(handle) : sqlite3_errstr(code);
        const SourceLocation where{path, 0, ""};
        switch (code & 0xff) {
            case SQLITE_FULL:
                throw Error("the disk is full", where,
                            "make room and go on with --resume: what was evaluated before is kept");
            case SQLITE_READONLY:
            case SQLITE_CANTOPEN:
            case SQLITE_PERM:
                throw Error("the exploration cannot be written: " + text, where,
                            "choose another folder with --out");
            case SQLITE_CORRUPT:
            case SQLITE_NOTADB:
                throw Error("this is no exploration, or a damaged one: " + text, where,
                            "it was left as it is; `sqlite3 FILE .recover` reads what can be read, and "
                            "another --out begins anew");
            case SQLITE_IOERR:
                throw Error("the disk cannot be written or read: " + text, where,
                            "mend it and go on with --resume: what was evaluated before is kept");
            default:
                throw Error("the exploration cannot be used: " + text, where, "");
        }
    }
    void check(int code) const {
        if (code != SQLITE_OK && code != SQLITE_DONE && code != SQLITE_ROW)
            fail(sqlite3_extended_errcode(handle));
    }
    void execute(const std::string& sql) const {
        check(sqlite3_exec(handle, sql.c_str(), nullptr, nullptr, nullptr));
    }

    void open(bool write) {
        // Readers too: what a killed run was in the middle of writing is taken back first. Where nothing may
        // be written, SQLite opens the file for reading.
        const int flags = write ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READWRITE;
        const int code = sqlite3_open_v2(path.c_str(), &handle, flags, nullptr);
        if (code != SQLITE_OK) fail(code);
        sqlite3_busy_timeout(handle, 5000);
    }

    void take_lock() {
        lock = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
        if (lock < 0)
            throw Error(std::string("the exploration cannot be written: ") + std::strerror(errno),
                        {path, 0, ""}, "choose another folder with --out");
        for (int attempt = 0; ::flock(lock, LOCK_EX | LOCK_NB) != 0; ++attempt) {
            if (attempt == kLockAttempts)
                throw Error(sim::name_of_holder(lock) + " is exploring into this file", {path, 0, ""},
                            "wait for it or end it, or choose another --out");
            std::this_thread::sleep_for(kBetweenAttempts);
        }
    }
};

namespace {

/// A prepared statement; resets and finalises itself.
class Statement {
  public:
    template <class State>
    Statement(const State& state, const std::string& sql) {
        state.check(sqlite3_prepare_v2(state.handle, sql.c_str(), -1, &statement_, nullptr));
    }
    ~Statement() { sqlite3_finalize(statement_); }
    Statement(const Statement&) = delete;
    Statement& operator=(const Statement&) = delete;

    Statement& bind(const std::string& text) {
        sqlite3_bind_text(statement_, ++column_, text.c_str(), static_cast<int>(text.size()),
                          SQLITE_TRANSIENT);
        return *this;
    }
    Statement& bind(double number) {
        sqlite3_bind_double(statement_, ++column_, number);
        return *this;
    }
    Statement& bind(std::uint64_t number) {
        sqlite3_bind_int64(statement_, ++column_, static_cast<sqlite3_int64>(number));
        return *this;
    }
    template <class State>
    bool step(const State& state) {
        const int code = sqlite3_step(statement_);
        state.check(code);
        return code == SQLITE_ROW;
    }
    void reset() {
        sqlite3_reset(statement_);
        column_ = 0;
    }
    std::string text(int column) const {
        const unsigned char* text = sqlite3_column_text(statement_, column);
        return text == nullptr ? "" : reinterpret_cast<const char*>(text);
    }
    /// Nothing where nothing stands, as SQLite keeps what is not a number.
    std::optional<double> number(int column) const {
        if (sqlite3_column_type(statement_, column) == SQLITE_NULL) return std::nullopt;
        return sqlite3_column_double(statement_, column);
    }
    std::uint64_t integer(int column) const {
        return static_cast<std::uint64_t>(sqlite3_column_int64(statement_, column));
    }

  private:
    sqlite3_stmt* statement_ = nullptr;
    int column_ = 0;
};

template <class State>
void set_meta(const State& state, const std::string& key, const std::string& value) {
    Statement insert(state, "INSERT OR REPLACE INTO meta VALUES(?, ?)");
    insert.bind(key).bind(value).step(state);
}

/// Throws when pages of the file are damaged.
template <class State>
void check_whole(const State& state) {
    Statement check(state, "PRAGMA quick_check(1)");
    if (check.step(state) && check.text(0) != "ok") state.fail(SQLITE_CORRUPT);
}

/// JSON that is no deeper than one is: differences are told by recursion.
bool is_specification(const std::string& text) {
    try {
        (void)parse_json<Json>(text);
        return true;
    } catch (const Error&) {
        return false;
    }
}

/// What differs between the specification of a file and the one of the command.
void check_same(const std::string& stored, const std::string& wanted, const std::string& path) {
    if (stored == wanted) return;
    const Json a = Json::parse(stored, nullptr, false), b = Json::parse(wanted);
    for (const auto& [key, value] : b.items()) {
        if (a.is_object() && a.contains(key) && a[key] == value) continue;
        throw Error("the exploration that is there is another one: `" + key + "` is " +
                        (a.is_object() && a.contains(key) ? a[key].dump() : "nothing") + " there and " +
                        value.dump() + " here",
                    {path, 0, ""}, "give the options that it was begun with, or choose another --out");
    }
    throw Error("the exploration that is there is another one", {path, 0, ""}, "choose another --out");
}

}  // namespace

Store::Store(std::unique_ptr<State> state) : state_(std::move(state)) {}
Store::Store(Store&&) noexcept = default;
Store& Store::operator=(Store&&) noexcept = default;
Store::~Store() = default;

Store Store::open(const std::string& path, const std::string& specification, const std::string& version,
                  const std::string& build, bool resume) {
    std::error_code ignored;
    const bool there = fs::exists(path, ignored);
    // Killed before it had written anything, a run leaves an empty file.
    if (there && fs::file_size(path, ignored) > 0 && !resume)
        throw Error("there is an exploration already", {path, 0, ""},
                    "go on with it: --resume; or choose another --out");
    if (!there && resume)
        throw Error("there is nothing to resume", {path, 0, ""},
                    "leave --resume out, or name the folder with --out");
    auto state = std::make_unique<State>();
    state->path = path;
    state->take_lock();
    state->open(true);
    Store store(std::move(state));
    const State& s = *store.state_;
    bool fresh = true;
    {
        Statement tables(s, "SELECT count(*) FROM sqlite_master");
        if (tables.step(s)) fresh = tables.integer(0) == 0;
    }
    if (fresh) {
        s.execute("BEGIN");
        s.execute(kSchema);
        set_meta(s, "format", kFormat);
        set_meta(s, "specification", specification);
        set_meta(s, "version", version);
        set_meta(s, "build", build);
        s.execute("COMMIT");
        return store;
    }
    check_whole(s);
    if (!is_specification(store.meta("specification"))) s.fail(SQLITE_CORRUPT);
    check_same(store.meta("specification"), specification, path);
    if (store.meta("build") != build)
        throw Error(
            "the exploration that is there was made by another build of Heddle, whose results may differ",
            {path, 0, ""}, "finish it with that build, or choose another --out");
    return store;
}

Store Store::open_to_read(const std::string& path) {
    std::error_code ignored;
    if (!fs::exists(path, ignored))
        throw Error("there is no such exploration", {path, 0, ""},
                    "name the folder that `heddle explore` wrote");
    auto state = std::make_unique<State>();
    state->path = path;
    state->open(false);
    Store store(std::move(state));
    if (store.meta("format") != kFormat)
        throw Error("this file is no exploration", {path, 0, ""},
                    "name the folder that `heddle explore` wrote");
    check_whole(*store.state_);
    if (!is_specification(store.meta("specification"))) store.state_->fail(SQLITE_CORRUPT);
    return store;
}

std::string Store::meta(const std::string& key) const {
    Statement select(*state_, "SELECT value FROM meta WHERE key = ?");
    select.bind(key);
    return select.step(*state_) ? select.text(0) : "";
}

void Store::add(const Point& point, const std::vector<Objective>& objectives,
                const std::string& configuration) {
    const State& s = *state_;
    const std::string fidelity = name_of(point.fidelity);
    Json derived = Json::object(), notes = Json::array(), values = Json::object();
    for (const auto& [name, value] : point.derived) derived[name] = value;
    for (std::size_t i = 0; i < point.objectives.size(); ++i)
        values[objectives[i].name] = point.objectives[i];
    for (const WorkloadResult& workload : point.workloads)
        notes.push_back(
            {{"workload", workload.workload}, {"weight", workload.weight}, {"notes", workload.notes}});
    s.execute("BEGIN");
    try {
        Statement insert(s, "INSERT OR REPLACE INTO points VALUES(?,?,?,?,?,?,?,?,?,?,?,?)");
        insert.bind(point.id).bind(fidelity).bind(std::string(name_of(point.status))).bind(point.error);
        insert.bind(Json(point.settings).dump())
            .bind(Json(point.values).dump())
            .bind(Json(point.shown).dump());
        insert.bind(derived.dump())
            .bind(Json(point.objectives).dump())
            .bind(configuration)
            .bind(notes.dump())
            .bind(point.wall_s);
        insert.step(s);
        Statement objective(s, "INSERT OR REPLACE INTO objectives VALUES(?,?,?,?)");
        for (std::size_t i = 0; i < point.objectives.size(); ++i) {
            objective.bind(point.id)
                .bind(fidelity)
                .bind(objectives[i].name)
                .bind(point.objectives[i])
                .step(s);
            objective.reset();
        }
        Statement statistic(s, "INSERT OR REPLACE INTO statistics VALUES(?,?,?,?,?)");
        for (std::size_t w = 0; w < point.workloads.size(); ++w) {
            for (const auto& [name, value] : point.workloads[w].statistics) {
                statistic.bind(point.id)
                    .bind(fidelity)
                    .bind(numbered(w, point.workloads[w].workload))
                    .bind(name)
                    .bind(value)
                    .step(s);
                statistic.reset();
            }
        }
        s.execute("COMMIT");
    } catch (...) {
        sqlite3_exec(s.handle, "ROLLBACK", nullptr, nullptr, nullptr);
        throw;
    }
}

void Store::forget_failed() {
    state_->execute("DELETE FROM points WHERE status = 'failed'");
}

void Store::complete() {
    set_meta(*state_, "complete", "1");
}

std::vector<Point> Store::points() const {
    const State& s = *state_;
    std::vector<Point> points;
    std::map<std::pair<std::uint64_t, std::string>, std::size_t> places;
    Statement select(s,
                     "SELECT id, fidelity, status, error, settings, value, shown, derived, objectives, "
                     "notes, wall_s FROM points "
                     "ORDER BY id, fidelity = 'full'");
    try {
        while (select.step(s)) {
            Point point;
            point.id = select.integer(0);
            point.fidelity = select.text(1) == "full" ? Fidelity::full : Fidelity::sampled;
            const std::string status = select.text(2);
            point.status = status == "done"     ? PointStatus::done
                           : status == "failed" ? PointStatus::failed
                                                : PointStatus::infeasible;
            point.error = select.text(3);
            point.settings = Json::parse(select.text(4)).get<std::vector<std::string>>();
            point.values = Json::parse(select.text(5)).get<std::vector<double>>();
            point.shown = Json::parse(select.text(6)).get<std::vector<std::string>>();
            const Json derived = Json::parse(select.text(7));
            for (const auto& [name, value] : derived.items()) point.derived[name] = value.get<double>();
            point.objectives = Json::parse(select.text(8)).get<std::vector<double>>();
            for (const Json& notes : Json::parse(select.text(9)))
                point.workloads.push_back({notes.at("workload").get<std::string>(),
                                           notes.at("weight").get<double>(),
                                           {},
                                           notes.at("notes").get<std::vector<std::string>>()});
            point.wall_s = select.number(10).value_or(0);
            if (!gates::kSeconds.admits(point.wall_s)) s.fail(SQLITE_CORRUPT);
            places[{point.id, select.text(1)}] = points.size();
            points.push_back(std::move(point));
        }
        Statement statistics(s, "SELECT id, fidelity, workload, name, value FROM statistics");
        while (statistics.step(s)) {
            const auto place = places.find({statistics.integer(0), statistics.text(1)});
            if (place == places.end()) continue;
            Point& point = points[place->second];
            const std::string name = statistics.text(2);  // "1 mlp"
            std::size_t workload = 0;
            if (std::from_chars(name.data(), name.data() + name.size(), workload).ec != std::errc())
                s.fail(SQLITE_CORRUPT);
            const std::optional<double> value = statistics.number(4);
            if (!value) continue;
            if (!gates::kFinite.admits(*value)) s.fail(SQLITE_CORRUPT);
            if (workload < point.workloads.size())
                point.workloads[workload].statistics[statistics.text(3)] = *value;
        }
    } catch (const Json::exception&) {
        s.fail(SQLITE_CORRUPT);
    }
    return points;
}

}  // namespace heddle::explore
