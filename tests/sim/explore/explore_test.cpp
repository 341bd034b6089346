// Whole explorations with an evaluator that computes a known function: any number of workers, crashes, kills.
#include "sim/explore/explore.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <random>

#include "isa/common/error.h"
#include "sim/explore/export.h"
#include "sim/hardware/load_hardware.h"

using namespace heddle::explore;
namespace fs = std::filesystem;

namespace {

class Folder {
  public:
    Folder() : path_(fs::temp_directory_path() / ("heddle-explore-test-" + std::to_string(getpid()))) {
        fs::remove_all(path_);
        fs::create_directories(path_);
    }
    ~Folder() { fs::remove_all(path_); }
    std::string file(const std::string& name) const { return (path_ / name).string(); }

  private:
    fs::path path_;
};

double setting(const Task& task, const std::string& name, double otherwise) {
    for (const std::string& text : task.settings)
        if (text.rfind(name + "=", 0) == 0) return std::strtod(text.c_str() + name.size() + 1, nullptr);
    return otherwise;
}

/// A step whose time falls with SMs and bandwidth and has its optimum at 144 SMs with 5 TB/s.
class KnownFunction : public Evaluator {
  public:
    Answer evaluate(const Task& task) override {
        const double sms = setting(task, "sm.count", 132), bandwidth = setting(task, "hbm.bandwidth", 3.35);
        if (sms == 72) std::abort();
        if (sms == 96) throw heddle::Error("96 is not liked here");
        if (sms == 120) ::_exit(0);
        if (task.fidelity == Fidelity::sampled)
            ::usleep(static_cast<useconds_t>(std::fmod(sms * 977 + bandwidth * 1e3, 3000)));
        const double time = 100 + std::pow(sms - 144, 2) / 100 + std::pow(bandwidth - 5, 2) +
                            (task.fidelity == Fidelity::full ? 0.001 : 0);
        return {"", {{"known", 1, {{"step_time_us", time}, {"third", time / 3}}, {}}}};
    }
};

Space space_of() {
    return Space("h100-sxm", {}, {"sm.count=24..240:24", "hbm.bandwidth=1..8TB/s:1"}, {},
                 {"sm.count <= 216"});
}

const std::vector<Objective>& objectives() {
    static const std::vector<Objective> two =
        choose_objectives("time,area", "", heddle::sim::load_hardware("h100-sxm"));
    return two;
}

ExploreOptions options_of(const std::string& strategy, FidelityPlan fidelity = FidelityPlan::sampled) {
    ExploreOptions options;
    options.strategy.name = strategy;
    options.strategy.points = 40;
    options.fidelity = fidelity;
    return options;
}

/// Runs, or goes on with, an exploration into a file. Returns its canonical export.
std::string run(const std::string& file, const ExploreOptions& options, unsigned workers) {
    const Space space = space_of();
    KnownFunction function;
    LocalWorkers pool(workers, [&function](const std::string& task) { return answer_text(function, task); });
    Store store = Store::open(file, specification_of(space, objectives(), options, {"known"}, ""), "test",
                              "build", fs::exists(file));
    explore(space, objectives(), options, store, pool);
    return exploration_json(read_exploration(store));
}

}  // namespace

TEST_CASE("an exploration finds the known optimum, whoever evaluates, and failures are rows") {
    const Folder folder;
    const std::string one = run(folder.file("one"), options_of("grid"), 1);
    CHECK(one == run(folder.file("four"), options_of("grid"), 4));
    const Exploration found = read_exploration(Store::open_to_read(folder.file("four")));
    REQUIRE(found.points.size() == 1 + 80);
    CHECK(found.complete);
    const Point* best = nullptr;
    unsigned died = 0, refused = 0, silent = 0, infeasible = 0;
    for (const Point& point : found.points) {
        infeasible += point.status == PointStatus::infeasible ? 1 : 0;
        died += point.error.find("signal 6") != std::string::npos ? 1 : 0;
        refused += point.error.find("not liked") != std::string::npos ? 1 : 0;
        silent += point.error.find("without an answer") != std::string::npos ? 1 : 0;
        if (point.status == PointStatus::done &&
            (best == nullptr || point.objectives[0] < best->objectives[0]))
            best = &point;
    }
    CHECK(died == 8);
    CHECK(refused == 8);
    CHECK(silent == 8);
    CHECK(infeasible == 8);  // 240 SMs
    REQUIRE(best != nullptr);
    CHECK(best->shown == std::vector<std::string>{"144", "5 TB/s"});
    CHECK(best->on_front);
    REQUIRE(found.base() != nullptr);
    CHECK(found.base()->objectives[0] == Approx(100 + 1.44 + 1.65 * 1.65));
}

TEST_CASE("NSGA-II asks the same whatever the number of workers") {
    const Folder folder;
    const std::string one = run(folder.file("one"), options_of("nsga2"), 1);
    CHECK(one == run(folder.file("three"), options_of("nsga2"), 3));
    const Exploration found = read_exploration(Store::open_to_read(folder.file("one")));
    std::size_t evaluated = 0;
    for (const Point& point : found.points) evaluated += point.status == PointStatus::infeasible ? 0 : 1;
    CHECK(evaluated <= 41);
    CHECK(evaluated >= 30);
}

TEST_CASE("a run that is killed at random moments and resumed ends as one that was not") {
    const Folder folder;
    std::mt19937 random(20);
    for (const char* strategy : {"grid", "nsga2"}) {
        const ExploreOptions options = options_of(strategy, FidelityPlan::front);
        const std::string undisturbed = run(folder.file(std::string(strategy) + "-whole"), options, 4);
        const std::string file = folder.file(std::string(strategy) + "-killed");
        unsigned kills = 0;
        for (unsigned attempt = 0; attempt < 3; ++attempt) {
            const pid_t child = ::fork();
            if (child == 0) {
                try {
                    (void)run(file, options, attempt % 2 == 0 ? 4 : 1);
                } catch (...) {
                    ::_exit(1);
                }
                ::_exit(0);
            }
            ::usleep(20000 + random() % 100000);
            ::kill(child, SIGKILL);
            int status = 0;
            ::waitpid(child, &status, 0);
            kills += WIFSIGNALED(status) ? 1 : 0;
        }
        CHECK(kills > 0);
        CHECK(run(file, options, 2) == undisturbed);
    }
}

TEST_CASE("nothing is evaluated twice") {
    const Folder folder;
    const ExploreOptions options = options_of("grid");
    const std::string first = run(folder.file("a"), options, 4);
    const Space space = space_of();
    // Whoever is asked now dies, and every point would be a failure.
    LocalWorkers broken(2, [](const std::string&) -> std::string { ::_exit(7); });
    Store store = Store::open(folder.file("a"), specification_of(space, objectives(), options, {"known"}, ""),
                              "test", "build", true);
    explore(space, objectives(), options, store, broken);
    CHECK(exploration_json(read_exploration(store)) == first);
}

TEST_CASE("the front is run again in full") {
    const Folder folder;
    (void)run(folder.file("front"), options_of("grid", FidelityPlan::front), 4);
    const Exploration found = read_exploration(Store::open_to_read(folder.file("front")));
    std::size_t sampled_front = 0, full = 0;
    for (const Point& point : found.points) {
        if (point.fidelity == Fidelity::sampled) sampled_front += point.on_front && point.id != 0 ? 1 : 0;
        if (point.fidelity == Fidelity::full) full += point.id != 0 ? 1 : 0;
    }
    CHECK(full == sampled_front);
    CHECK(full >= 2);
    CHECK(found.base()->fidelity == Fidelity::full);
}

TEST_CASE("a base device that fails ends the run with its error") {
    const Folder folder;
    const Space space = space_of();
    const ExploreOptions options = options_of("grid");
    LocalWorkers broken(2, [](const std::string&) { return Answer{"no such thing", {}}.to_text(); });
    Store store = Store::open(folder.file("b"), "{}", "test", "build", false);
    try {
        explore(space, objectives(), options, store, broken);
        FAIL("no error");
    } catch (const heddle::Error& error) {
        CHECK(std::string(error.what()).find("no such thing") != std::string::npos);
    }
}

TEST_CASE("objectives weigh workloads and name what they lack") {
    const std::vector<WorkloadResult> two{
        {"a",
         2,
         {{"step_time_us", 10}, {"energy_j", 3}, {"memory_capacity_bytes", 100}, {"memory_peak_bytes", 60}},
         {}},
        {"b",
         1,
         {{"step_time_us", 5}, {"energy_j", 1}, {"memory_capacity_bytes", 100}, {"memory_peak_bytes", 90}},
         {}}};
    const heddle::sim::Hardware base = heddle::sim::load_hardware("h100-sxm", {"price.hour=3.6"});
    const auto values = evaluate_objectives(choose_objectives("time,energy,edp,area,cost,training-cost",
                                                              "throughput-per-dollar,memory-headroom", base),
                                            two, {{"area.total", 814}, {"price.hour", 3.6}}, 1e6);
    CHECK(values[0] == 25);
    CHECK(values[1] == 7);
    CHECK(values[2] == Approx(7 * 25e-6));
    CHECK(values[3] == 814);
    CHECK(values[4] == Approx(25e-6 / 3600 * 3.6));
    CHECK(values[5] == Approx(25e-6 / 3600 * 3.6 * 1e6));
    CHECK(values[6] == Approx(1 / (25e-6 / 3600 * 3.6)));
    CHECK(values[7] == 10);
    CHECK_THROWS_AS(choose_objectives("tme", "", base), heddle::Error);
    CHECK_THROWS_AS(choose_objectives("", "time", base), heddle::Error);
    CHECK_THROWS_AS(choose_objectives("time,time", "", base), heddle::Error);
    CHECK_THROWS_AS(choose_objectives("energy", "", heddle::sim::load_hardware("tpu-v4")), heddle::Error);
    CHECK_THROWS_AS(choose_objectives("cost", "", heddle::sim::load_hardware("tpu-v1")), heddle::Error);
}
