// libFuzzer: any bytes as the database of an exploration, which is read and resumed; or, after a `t`, any
// lines as the texts in a database that is right.
#include <sqlite3.h>

#include <cstdlib>
#include <iterator>

#include "folder.h"
#include "sim/explore/store.h"

namespace {

using heddle::explore::Store;
using heddle::test::Folder;

constexpr const char* kSpecification = R"({"seed": 1})";

/// The bytes of an exploration with one point.
std::string small_exploration(const Folder& folder) {
    const std::string path = folder / "small.sqlite";
    {
        heddle::explore::Point point;
        point.settings = {"sm.count=66"};
        point.values = {66};
        point.shown = {"66"};
        point.derived = {{"area.total", 814}};
        point.objectives = {1.5};
        point.workloads = {{"mlp", 1, {{"step_time_us", 1.5}}, {"a note"}}};
        Store store = Store::open(path, kSpecification, "0.1", "build", false);
        store.add(point, {{"time", "us", "", false}}, "{}");
    }
    std::ifstream stream(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

/// Puts each line of `lines` into the next of the places that hold text.
void replace_texts(const std::string& path, std::string_view lines) {
    constexpr const char* kStatements[] = {
        "UPDATE points SET settings = ?",     "UPDATE points SET value = ?",
        "UPDATE points SET shown = ?",        "UPDATE points SET derived = ?",
        "UPDATE points SET objectives = ?",   "UPDATE points SET notes = ?",
        "UPDATE points SET status = ?",       "UPDATE points SET fidelity = ?",
        "UPDATE statistics SET fidelity = ?", "UPDATE statistics SET workload = ?",
        "UPDATE statistics SET value = ?",    "UPDATE meta SET value = ? WHERE key = 'specification'"};
    sqlite3* handle = nullptr;
    if (sqlite3_open(path.c_str(), &handle) != SQLITE_OK) std::abort();
    sqlite3_exec(handle, "PRAGMA synchronous = OFF; PRAGMA journal_mode = OFF; BEGIN", nullptr, nullptr,
                 nullptr);
    for (const char* text : kStatements) {
        if (lines.empty()) break;
        const std::string_view line = lines.substr(0, lines.find('\n'));
        lines.remove_prefix(std::min(lines.size(), line.size() + 1));
        if (line.empty()) continue;
        sqlite3_stmt* statement = nullptr;
        if (sqlite3_prepare_v2(handle, text, -1, &statement, nullptr) != SQLITE_OK) std::abort();
        sqlite3_bind_text(statement, 1, line.data(), static_cast<int>(line.size()), SQLITE_TRANSIENT);
        sqlite3_step(statement);
        sqlite3_finalize(statement);
    }
    sqlite3_exec(handle, "COMMIT", nullptr, nullptr, nullptr);
    sqlite3_close(handle);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const Folder folder("exploration");
    static const std::string small = small_exploration(folder);
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    const bool texts = size > 0 && bytes[0] == 't';
    const std::string path = folder.write("exploration.sqlite", texts ? std::string_view(small) : bytes);
    if (texts) replace_texts(path, bytes.substr(1));
    heddle::test::refuse_or_read([&] { (void)Store::open_to_read(path).points(); });
    heddle::test::refuse_or_read([&] {
        Store store = Store::open(path, kSpecification, "0.1", "build", true);
        (void)store.points();
        store.forget_failed();
        store.add({}, {{"time", "us", "", false}}, "{}");
    });
    for (const char* journal : {"-journal", "-wal", "-shm"}) {
        std::error_code ignored;
        std::filesystem::remove(path + journal, ignored);
    }
    return 0;
}
