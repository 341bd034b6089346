// What an exploration keeps on disk, and what happens to it when things go wrong.
#include "sim/explore/store.h"

#include <sqlite3.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "isa/common/error.h"

using namespace heddle::explore;
namespace fs = std::filesystem;

namespace {

class Folder {
  public:
    Folder() : path_(fs::temp_directory_path() / ("heddle-store-test-" + std::to_string(getpid()))) {
        fs::remove_all(path_);
        fs::create_directories(path_);
    }
    ~Folder() { fs::remove_all(path_); }
    std::string file() const { return (path_ / "exploration.sqlite").string(); }

  private:
    fs::path path_;
};

const std::vector<Objective> kObjectives{{"time", "us", "", false}};

Point point_of(std::uint64_t id) {
    Point point;
    point.id = id;
    point.values = {0.1 + static_cast<double>(id), 1.0 / 3};
    point.shown = {"a \"quoted\" value", "1"};
    point.settings = {"sm.count=" + std::to_string(id)};
    point.derived = {{"area.total", 814.123456789012345}};
    point.objectives = {1e-300 * static_cast<double>(id + 1)};
    point.workloads = {{"mlp", 2, {{"step_time_us", 0.1}, {"op/matmul", 1.0 / 7}}, {"a note"}},
                       {"mlp", 1, {{"step_time_us", 3}}, {}}};
    return point;
}

std::string error_of(const std::function<void()>& action) {
    try {
        action();
    } catch (const heddle::Error& error) {
        return error.what();
    }
    return "";
}

std::string bytes_of(const std::string& path) {
    std::ifstream stream(path, std::ios::binary);
    std::ostringstream text;
    text << stream.rdbuf();
    return text.str();
}

bool says(const std::string& text, const std::string& part) {
    INFO(text);
    CHECK(text.find(part) != std::string::npos);
    return true;
}

}  // namespace

TEST_CASE("points come back as they were, to the last bit") {
    const Folder folder;
    {
        Store store = Store::open(folder.file(), "{\"a\":1}", "0.1", "build", false);
        for (const std::uint64_t id : {2u, 0u, 1u}) store.add(point_of(id), kObjectives, "{}");
        Point failed = point_of(3);
        failed.status = PointStatus::failed;
        failed.error = "died";
        failed.objectives.clear();
        failed.workloads.clear();
        store.add(failed, kObjectives, "{}");
        Point full = point_of(1);
        full.fidelity = Fidelity::full;
        store.add(full, kObjectives, "{}");
    }
    const Store store = Store::open_to_read(folder.file());
    const std::vector<Point> points = store.points();
    REQUIRE(points.size() == 5);
    CHECK(points[2].fidelity == Fidelity::full);
    CHECK(points[1].id == 1);
    for (const Point& point : {points[0], points[1], points[3]}) {
        const Point expected = point_of(point.id);
        CHECK(point.values == expected.values);
        CHECK(point.shown == expected.shown);
        CHECK(point.settings == expected.settings);
        CHECK(point.derived == expected.derived);
        CHECK(point.objectives == expected.objectives);
        REQUIRE(point.workloads.size() == 2);
        CHECK(point.workloads[0].statistics == expected.workloads[0].statistics);
        CHECK(point.workloads[1].statistics == expected.workloads[1].statistics);
        CHECK(point.workloads[0].weight == 2);
        CHECK(point.workloads[0].notes == expected.workloads[0].notes);
    }
    CHECK(points[4].error == "died");
    CHECK(!store.is_complete());
}

TEST_CASE("a file is begun once, resumed by the same question only, and written by one") {
    const Folder folder;
    const auto open = [&](const std::string& question, const std::string& build, bool resume) {
        return error_of([&] { (void)Store::open(folder.file(), question, "0.1", build, resume); });
    };
    says(open("{\"seed\":1}", "b", true), "nothing to resume");
    // What a run leaves that was killed before it wrote anything.
    std::ofstream(folder.file()).close();
    CHECK(open("{\"seed\":1}", "b", true).empty());
    fs::remove(folder.file());
    CHECK(open("{\"seed\":1}", "b", false).empty());
    says(open("{\"seed\":1}", "b", false), "--resume");
    CHECK(open("{\"seed\":1}", "b", true).empty());
    says(open("{\"seed\":2}", "b", true), "`seed` is 1 there and 2 here");
    says(open("{\"seed\":1}", "another", true), "another build");
    const Store first = Store::open(folder.file(), "{\"seed\":1}", "0.1", "b", true);
    says(open("{\"seed\":1}", "b", true), "PID " + std::to_string(::getpid()) + " is exploring into this file");
}

TEST_CASE("a file that is no exploration, and one that is damaged, are left as they are") {
    const Folder folder;
    const std::string nonsense =
        "this is a letter to a friend, and a long one at that; it is no database at all";
    std::ofstream(folder.file()) << nonsense;
    says(error_of([&] { (void)Store::open(folder.file(), "{}", "0.1", "b", true); }),
         "no exploration, or a damaged one");
    says(error_of([&] { (void)Store::open_to_read(folder.file()); }), "no exploration, or a damaged one");
    CHECK(bytes_of(folder.file()) == nonsense);
    fs::remove(folder.file());
    {
        Store store = Store::open(folder.file(), "{}", "0.1", "b", false);
        for (std::uint64_t id = 0; id < 200; ++id)
            store.add(point_of(id), kObjectives, std::string(500, 'x'));
    }
    {
        // A disk that gave back rubbish for a few pages.
        std::fstream file(folder.file(), std::ios::in | std::ios::out | std::ios::binary);
        file.seekp(4096 * 5);
        file << std::string(4096 * 8, '\x5a');
    }
    const std::string damaged = bytes_of(folder.file());
    says(error_of([&] { (void)Store::open(folder.file(), "{}", "0.1", "b", true); }), "damaged");
    CHECK(bytes_of(folder.file()) == damaged);
    says(error_of([&] { (void)Store::open_to_read(folder.file()).points(); }), "damaged");
    // Whole pages whose text is rubbish.
    fs::remove(folder.file());
    (void)Store::open(folder.file(), "{\"question\": \"what to build\"}", "0.1", "b", false);
    std::string bytes = bytes_of(folder.file());
    const std::size_t place = bytes.find("{\"question\"");
    REQUIRE(place != std::string::npos);
    bytes.replace(place, 5, "\xa5\xa5\xa5\xa5\xa5");
    std::ofstream(folder.file(), std::ios::binary) << bytes;
    says(error_of([&] { (void)Store::open(folder.file(), "{}", "0.1", "b", true); }), "damaged");
    says(error_of([&] { (void)Store::open_to_read(folder.file()); }), "damaged");
    CHECK(bytes_of(folder.file()) == bytes);
}

TEST_CASE("folders that are not there or cannot be written are told before anything is evaluated") {
    says(error_of([] { (void)Store::open("/nowhere/at/all.sqlite", "{}", "0.1", "b", false); }),
         "cannot be written");
    says(error_of([] { (void)Store::open("/proc/all.sqlite", "{}", "0.1", "b", false); }),
         "cannot be written");
    says(error_of([] { (void)Store::open_to_read("/nowhere/at/all.sqlite"); }), "no such exploration");
}

TEST_CASE("a file whose texts were changed is told to be damaged") {
    const Folder folder;
    for (const char* change :
         {"UPDATE statistics SET workload = 'mlp' WHERE workload = '0 mlp'",
          "UPDATE statistics SET workload = '99999999999999999999 mlp' WHERE workload = '0 mlp'",
          "UPDATE points SET settings = '{}'", "UPDATE points SET value = '[null]'",
          "UPDATE points SET notes = '7'", "UPDATE points SET derived = '[1'",
          "UPDATE meta SET value = '{\"a\": ' || replace(hex(zeroblob(50000)), '00', '[') || "
          "replace(hex(zeroblob(50000)), '00', ']') || '}' WHERE key = 'specification'"}) {
        INFO(change);
        fs::remove(folder.file());
        Store::open(folder.file(), "{}", "0.1", "b", false).add(point_of(1), kObjectives, "{}");
        sqlite3* handle = nullptr;
        REQUIRE(sqlite3_open(folder.file().c_str(), &handle) == SQLITE_OK);
        CHECK(sqlite3_exec(handle, change, nullptr, nullptr, nullptr) == SQLITE_OK);
        sqlite3_close(handle);
        says(error_of([&] { (void)Store::open(folder.file(), "{}", "0.1", "b", true).points(); }), "damaged");
    }
}
