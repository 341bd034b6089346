// Whole runs of the program's core, with sections made up here on a device that only counts.
#include "validation/capture/program.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <thread>

#include "functional_device.h"
#include "isa/common/error.h"
#include "validation/capture/arguments.h"
#include "validation/capture/files.h"
#include "validation/capture/manifest.h"
#include "validation/capture/sections/section_item.h"
#include "validation/capture/supervisor.h"
#include "validation/capture/watchdog.h"

using namespace heddle;
using namespace heddle::capture;
using nlohmann::json;

namespace {

/// A device with a name, that loses itself when it is told to.
class NamedDevice : public test::FunctionalDevice {
  public:
    explicit NamedDevice(std::string name) : FunctionalDevice(90), name_(std::move(name)) {}
    Record describe() const override {
        return Record().text("name", name_).integer("compute_capability", 90).text("driver_version", "1.2");
    }
    /// Sections here ask it before each item: 0 goes well, 1 fails, 2 loses the device.
    std::uint64_t free_bytes() const override { return trouble; }
    std::uint64_t trouble = 0;

  private:
    std::string name_;
};

/// Five records; item 3 asks the device.
bool five(SectionContext& context) {
    for (int i = 0; i < 5; ++i) {
        const std::string id = "item " + std::to_string(i);
        if (context.journal.has(id)) continue;
        if (context.stop()) return false;
        if (i == 3 && context.device.free_bytes() != 0)
            throw DeviceError("item 3 went wrong", context.device.free_bytes() == 2);
        const std::byte value{static_cast<unsigned char>(i)};
        context.journal.add(id, Record().integer("i", i), std::span(&value, 1));
        context.progress(i / 5.0, id);
    }
    return true;
}

bool one_with_error(SectionContext& context) {
    if (!context.journal.has("x")) context.journal.add("x", Record().text("error", "no such instruction"));
    return true;
}

constexpr Section kSections[] = {{"five", "five records", five}, {"one", "one error", one_with_error}};

struct Fixture {
    Fixture()
        : folder(std::filesystem::temp_directory_path() /
                 ("heddle-program-test-" + std::to_string(::getpid()))) {
        std::filesystem::remove_all(folder);
        run.output = folder;
        run.command_line = "heddle-capture --output \"x\"";
    }
    ~Fixture() { std::filesystem::remove_all(folder); }
    json manifest() const {
        std::ifstream stream(folder / "manifest.json");
        return json::parse(stream);
    }
    std::size_t lines(const std::string& section) const {
        std::ifstream stream(folder / (section + ".jsonl"));
        std::size_t count = 0;
        for (std::string line; std::getline(stream, line); ++count) CHECK(json::accept(line));
        return count;
    }

    std::filesystem::path folder;
    CaptureRun run;
    NamedDevice device{"A device"};
    Progress progress{false};
};

std::string message_of(const std::vector<std::string>& words) {
    try {
        parse_arguments(words, kSections);
    } catch (const Error& error) {
        return error.what();
    }
    return "";
}

}  // namespace

TEST_CASE_METHOD(Fixture, "a run to the end says so in the manifest") {
    CHECK(run_capture(device, kSections, run, progress) == Outcome::complete);
    const json written = manifest();
    CHECK(written.at("format") == "heddle-capture");
    CHECK(written.at("schema") == kSchema);
    CHECK(written.at("silicon") == false);
    CHECK(written.at("extent") == "full");
    CHECK(written.at("device").at("name") == "A device");
    CHECK(written.at("order") == json({"five", "one"}));
    CHECK(written.at("sections").at("five").at("complete") == true);
    CHECK(written.at("sections").at("five").at("records") == 5);
    CHECK(written.at("sections").at("five").at("errors") == 0);
    CHECK(written.at("sections").at("one").at("errors") == 1);
    CHECK(written.at("runs").at(0).at("command_line") == run.command_line);
    CHECK(written.at("runs").at(0).at("outcome") == "complete");
    CHECK(written.at("date").get<std::string>().size() == 20);
    CHECK_FALSE(std::filesystem::exists(folder / "manifest.json.part"));
}

TEST_CASE("a log has lines within a section, and no line that is drawn over") {
    std::FILE* const log = std::tmpfile();
    const int before = ::dup(STDERR_FILENO);
    ::dup2(::fileno(log), STDERR_FILENO);
    {
        Progress rare(false, std::chrono::hours(1));
        rare.begin("order", 0);
        rare.update(0.5, "not yet");
        Progress frequent(false, std::chrono::milliseconds(1));
        frequent.begin("timing", 0);
        ::usleep(10000);
        frequent.update(0.25, "gemm-7");
    }
    ::dup2(before, STDERR_FILENO);
    ::close(before);
    std::rewind(log);
    char text[400] = "";
    const std::string all(text, std::fread(text, 1, sizeof text, log));
    std::fclose(log);
    CHECK(all == "order: begins\ntiming: begins\ntiming 25 %: gemm-7\n");
}

TEST_CASE_METHOD(Fixture, "an interrupted run keeps its items, and the next one adds the others") {
    int questions = 0;
    run.interrupted = [&] { return ++questions > 3; };  // one before the section, then one for each item
    CHECK(run_capture(device, kSections, run, progress) == Outcome::stopped);
    CHECK(lines("five") == 2);
    CHECK(manifest().at("sections").at("five").at("complete") == false);
    CHECK_FALSE(std::filesystem::exists(folder / "one.jsonl"));
    run.interrupted = [] { return false; };
    CHECK(run_capture(device, kSections, run, progress) == Outcome::complete);
    CHECK(lines("five") == 5);
    const json written = manifest();
    CHECK(written.at("runs").size() == 2);
    CHECK(written.at("runs").at(0).at("outcome") == "stopped");
    // And once more: nothing is to be done, nothing changes.
    CHECK(run_capture(device, kSections, run, progress) == Outcome::complete);
    CHECK(lines("five") == 5);
    CHECK(manifest().at("sections").at("five") == written.at("sections").at("five"));
}

TEST_CASE_METHOD(Fixture, "out of time stops before the next item") {
    run.limit_in_minutes = 1e-9;
    CHECK(run_capture(device, kSections, run, progress) == Outcome::stopped);
    CHECK(manifest().at("runs").at(0).at("outcome") == "stopped");
}

TEST_CASE_METHOD(Fixture, "a section that fails does not cost the others") {
    device.trouble = 1;
    CHECK(run_capture(device, kSections, run, progress) == Outcome::failed);
    const json written = manifest();
    CHECK(written.at("sections").at("five").at("complete") == false);
    CHECK(written.at("sections").at("five").at("records") == 3);
    CHECK(written.at("sections").at("five").at("failure") == "item 3 went wrong");
    CHECK(written.at("sections").at("one").at("complete") == true);
}

TEST_CASE_METHOD(Fixture, "a lost device ends the run, and names the section only when it got no further") {
    device.trouble = 2;
    std::string stuck;
    CHECK(run_capture(device, kSections, run, progress, {}, &stuck) == Outcome::device_lost);
    CHECK(stuck.empty());
    CHECK(run_capture(device, kSections, run, progress, {}, &stuck) == Outcome::device_lost);
    CHECK(stuck == "five");
    CHECK(run_capture(device, kSections, run, progress, {stuck}, &stuck) == Outcome::failed);
    CHECK(manifest().at("sections").at("one").at("complete") == true);
    device.trouble = 0;
    CHECK(run_capture(device, kSections, run, progress) == Outcome::complete);
    CHECK(lines("five") == 5);
}

TEST_CASE_METHOD(Fixture, "an item that loses the device is recorded with its error and not taken again") {
    const auto items = [](SectionContext& context) {
        const auto add = [](SectionContext& c, const std::string& id) { c.journal.add(id, Record()); };
        const auto lose = [](SectionContext&, const std::string&) { throw DeviceError("no end", true); };
        return run_items(context, {{"a", add}, {"b", lose}, {"c", lose}, {"d", add}});
    };
    const Section section{"items", "four items", items};
    std::string stuck;
    CHECK(run_capture(device, {&section, 1}, run, progress, {}, &stuck) == Outcome::device_lost);
    CHECK(run_capture(device, {&section, 1}, run, progress, {}, &stuck) == Outcome::device_lost);
    CHECK(stuck.empty());
    CHECK(run_capture(device, {&section, 1}, run, progress, {}, &stuck) == Outcome::complete);
    CHECK(manifest().at("sections").at("items").at("errors") == 2);
    CHECK(lines("items") == 4);
}

TEST_CASE_METHOD(Fixture,
                 "an item that ended its process twice is passed over, and one that did so once is not") {
    const auto mark = folder / "five.doing";
    std::filesystem::create_directories(folder);
    for (const auto& [tries, expected] : {std::pair{"1", 0}, {"2", 1}}) {
        std::filesystem::remove(folder / "five.jsonl");
        std::filesystem::remove(folder / "five.bin.gz");
        std::filesystem::remove(folder / "manifest.json");
        std::ofstream(mark) << tries << " item 3\n";
        int beats = 0;
        run.beat = [&] {
            ++beats;
            CHECK(std::filesystem::exists(mark));
        };
        device.trouble = expected == 1 ? 2 : 0;  // asked again, the item would lose the device
        CHECK(run_capture(device, kSections, run, progress) == Outcome::complete);
        CHECK(lines("five") == 5);
        CHECK(beats == 5 - expected);
        CHECK(manifest().at("sections").at("five").at("errors") == expected);
        CHECK_FALSE(std::filesystem::exists(mark));
    }
}

TEST_CASE("a watchdog bites when nothing goes on, and not before") {
    std::atomic<int> bites = 0;
    {
        Watchdog calm(std::chrono::minutes(10), [&] { ++bites; });
        calm.beat();
    }
    CHECK(bites == 0);
    Watchdog watchdog(std::chrono::milliseconds(20), [&] { ++bites; });
    for (int i = 0; i < 500 && bites == 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    CHECK(bites == 1);
}

TEST_CASE("a child that crashes is followed by another, one that was asked to end is not") {
    const auto trace =
        std::filesystem::temp_directory_path() / ("heddle-crash-test-" + std::to_string(::getpid()));
    for (const auto& [signal, processes] : {std::pair{SIGKILL, 3}, {SIGTERM, 1}}) {
        std::filesystem::remove(trace);
        supervise(
            [&, which = signal](const auto&) {
                std::ofstream(trace, std::ios::app) << "process\n";
                ::signal(which, SIG_DFL);  // not the test program's own
                ::raise(which);
                return ChildReport{};
            },
            3);
        std::ifstream stream(trace);
        CHECK(std::count(std::istreambuf_iterator<char>(stream), {}, '\n') == processes);
    }
    std::filesystem::remove(trace);
}

TEST_CASE_METHOD(Fixture, "sections can be asked for alone") {
    run.sections = {"one"};
    CHECK(run_capture(device, kSections, run, progress) == Outcome::complete);
    CHECK(manifest().at("order") == json({"one"}));
}

TEST_CASE_METHOD(Fixture, "a folder of another device or extent is refused") {
    CHECK(run_capture(device, kSections, run, progress) == Outcome::complete);
    NamedDevice other("Another");
    CHECK_THROWS_WITH(run_capture(other, kSections, run, progress), Catch::Contains("`A device`") &&
                                                                        Catch::Contains("`Another`") &&
                                                                        Catch::Contains("--output"));
    run.extent = Extent::quick;
    CHECK_THROWS_WITH(run_capture(device, kSections, run, progress), Catch::Contains("extent"));
}

TEST_CASE_METHOD(Fixture, "a manifest that is none, or of another schema, is refused") {
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "manifest.json") << "{\"schema\": 1}";
    CHECK_THROWS_WITH(run_capture(device, kSections, run, progress),
                      Catch::Contains("not the manifest of a capture"));
    std::ofstream(folder / "manifest.json") << R"({"format": "heddle-capture", "schema": 99})";
    CHECK_THROWS_WITH(run_capture(device, kSections, run, progress), Catch::Contains("another schema"));
}

TEST_CASE_METHOD(Fixture, "two programs do not write into one folder") {
    std::filesystem::create_directories(folder);
    {
        const FolderLock other(folder);
        CHECK_THROWS_WITH(run_capture(device, kSections, run, progress), Catch::Contains("another process"));
    }
    CHECK(run_capture(device, kSections, run, progress) == Outcome::complete);
}

TEST_CASE("arguments") {
    const Arguments given = parse_arguments(
        {"-o", "folder", "--device=cuda:1", "--sections", "one,five", "--time-limit", "2.5", "--quick"},
        kSections);
    CHECK(given.output == "folder");
    CHECK(given.device == "cuda:1");
    CHECK(given.sections == std::vector<std::string>{"one", "five"});
    CHECK(given.limit_in_minutes == 2.5);
    CHECK(given.extent == Extent::quick);
    CHECK(parse_arguments({"--list"}, kSections).list);
}

TEST_CASE("wrong arguments say what is wrong and how to mend it") {
    CHECK_THAT(message_of({}), Catch::Contains("--output"));
    CHECK_THAT(message_of({"--output"}), Catch::Contains("--output needs a value"));
    CHECK_THAT(message_of({"--output", "x", "--qick"}), Catch::Contains("did you mean `--quick`?"));
    CHECK_THAT(message_of({"--output", "x", "--sections", "fife"}), Catch::Contains("did you mean `five`?"));
    CHECK_THAT(message_of({"--output", "x", "--sections", ""}), Catch::Contains("unknown section"));
    CHECK_THAT(message_of({"--output", "x", "--time-limit", "soon"}), Catch::Contains("`soon`"));
    CHECK_THAT(message_of({"--output", "x", "--time-limit", "-1"}), Catch::Contains("`-1`"));
    CHECK_THAT(message_of({"--output", "x", "--device", "tpu"}), Catch::Contains("unknown device `tpu`"));
    CHECK_THAT(message_of({"x"}), Catch::Contains("unknown option `x`"));
}

TEST_CASE("children that lose their device are followed by others, with stuck sections left out") {
    const auto trace =
        std::filesystem::temp_directory_path() / ("heddle-supervisor-test-" + std::to_string(::getpid()));
    std::filesystem::remove(trace);
    const auto child = [&](const std::vector<std::string>& left_out) {
        std::ofstream(trace, std::ios::app) << left_out.size() << '\n';  // each in a process of its own
        ChildReport report;
        report.device_lost = left_out.size() < 2;
        report.stuck = report.device_lost ? "section " + std::to_string(left_out.size()) : "";
        report.exit_code = report.device_lost ? 3 : 17;
        return report;
    };
    CHECK(supervise(child, 10) == 17);
    std::ifstream stream(trace);
    const std::string text{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
    CHECK(text == "0\n1\n2\n");
    CHECK(supervise([](const auto&) { return ChildReport{3, true, ""}; }, 3) == 3);
    std::filesystem::remove(trace);
}
