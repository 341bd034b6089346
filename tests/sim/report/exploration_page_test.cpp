// The page of an exploration against designs whose answers are known beforehand.
#include "sim/report/exploration_page.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "sim/report/exploration_charts.h"

namespace heddle::sim {
namespace {

using explore::Exploration;
using explore::Fidelity;
using explore::Point;
using explore::PointStatus;

/// A grid of 4 x 3 designs: time = 12 / a, area = a + b. So b buys nothing: the front is b = 1.
Exploration grid() {
    Exploration exploration;
    exploration.hardware = "base";
    exploration.workloads = {"mlp </script> & \"more\""};
    exploration.strategy = "grid";
    exploration.complete = true;
    exploration.axes = {{"a", "1..4", "1", {1, 2, 3, 4}, {"1", "2", "3", "4"}, 1, 4, false},
                        {"b", "1..3", "1", {1, 2, 3}, {"1", "2", "3"}, 1, 3, false}};
    exploration.objectives = {{"time", "us", "of a step", false}, {"area", "mm2", "of the die", false}};
    std::uint64_t id = 0;
    for (int a = 1; a <= 4; ++a) {
        for (int b = 1; b <= 3; ++b) {
            Point point;
            point.id = id++;
            point.values = {double(a), double(b)};
            point.shown = {std::to_string(a), std::to_string(b)};
            point.objectives = {12.0 / a, double(a + b)};
            point.on_front = b == 1;
            point.workloads = {
                {"mlp", 2, {{"kind/matmul", 5.0 / a}, {"kind/copy", 1}, {"step_time_us", 12.0 / a}}, {}}};
            exploration.points.push_back(point);
        }
    }
    Point failed;
    failed.id = id;
    failed.status = PointStatus::failed;
    failed.error = "no such machine: <b>";
    failed.values = {9, 9};
    failed.shown = {"9", "9"};
    exploration.points.push_back(failed);
    return exploration;
}

const ChartSeries& series(const Chart& chart, const std::string& name) {
    for (const ChartSeries& one : chart.series)
        if (one.name == name) return one;
    FAIL("no series " << name);
    return chart.series.front();
}

}  // namespace

TEST_CASE("the front is drawn in order, the other points beside it") {
    const std::vector<Chart> charts = front_charts(grid());
    REQUIRE(charts.size() == 1);
    CHECK(series(charts[0], "front").x == std::vector<double>{3, 4, 6, 12});
    CHECK(series(charts[0], "front").y == std::vector<double>{5, 4, 3, 2});
    CHECK(series(charts[0], "front").line);
    CHECK(series(charts[0], "other points").y.size() == 8);
    CHECK(series(charts[0], "base: base").points == std::vector<std::string>{"0: a=1, b=1"});
}

TEST_CASE("a design that ran in full stands for its sampled run, and failures for nothing") {
    Exploration exploration = grid();
    Point full = exploration.points[11];
    full.fidelity = Fidelity::full;
    full.objectives = {3.25, 7};
    exploration.points.insert(exploration.points.begin() + 12, full);
    const auto points = shown_points(exploration);
    REQUIRE(points.size() == 12);
    CHECK(points.back()->objectives[0] == 3.25);
}

TEST_CASE("the winner of one objective is the best, of several the nearest to the best of all") {
    Exploration exploration = grid();
    // On the front, scaled: (1,0) (1/3,1/3) (1/9,2/3) (0,1): the second is nearest to (0,0).
    REQUIRE(exploration_winner(exploration) != nullptr);
    CHECK(exploration_winner(exploration)->values == std::vector<double>{2, 1});
    exploration.objectives.resize(1);
    for (Point& point : exploration.points) point.objectives.resize(point.objectives.empty() ? 0 : 1);
    CHECK(exploration_winner(exploration)->values[0] == 4);
    exploration.objectives[0].maximise = true;
    CHECK(exploration_winner(exploration)->values[0] == 1);
    exploration.points.resize(0);
    CHECK(exploration_winner(exploration) == nullptr);
    CHECK_FALSE(exploration_html(exploration).empty());
}

TEST_CASE("what an objective does not depend on explains none of its variance") {
    const Chart chart = sensitivity_chart(grid());
    REQUIRE(chart.labels == std::vector<std::string>{"a", "b"});
    CHECK(series(chart, "time").y[0] == Approx(1));
    CHECK(series(chart, "time").y[1] == Approx(0).margin(1e-12));
    // Variances of 1..4 and 1..3 are 5/4 and 2/3.
    CHECK(series(chart, "area").y[0] == Approx(1.25 / (1.25 + 2.0 / 3)));
    CHECK(series(chart, "area").y[1] == Approx(2.0 / 3 / (1.25 + 2.0 / 3)));
    // What is the same everywhere, up to the rounding of its mean, has no variance.
    Exploration constant = grid();
    for (Point& point : constant.points)
        if (!point.objectives.empty()) point.objectives[1] = 34359738368.1;
    CHECK(series(sensitivity_chart(constant), "area").y == std::vector<double>{0, 0});
}

TEST_CASE("one at a time: how far each parameter moves an objective from the base") {
    Exploration exploration = grid();
    std::erase_if(exploration.points, [](const Point& point) {
        return point.status != PointStatus::done || (point.values[0] != 1 && point.values[1] != 1);
    });
    const Chart chart = sensitivity_chart(exploration);
    CHECK(series(chart, "time, least").y[0] == Approx(-0.75));  // 3 instead of 12
    CHECK(series(chart, "time, most").y[0] == 0);
    CHECK(series(chart, "area, most").y[1] == Approx(1));  // 4 instead of 2
}

TEST_CASE("the winner stands beside the base") {
    const Exploration exploration = grid();
    CHECK(winner_chart(exploration).series.at(0).y[0] == Approx(-0.5));
    CHECK(winner_chart(exploration).series.at(0).y[1] == Approx(0.5));
    const Chart kinds = winner_kinds_chart(exploration);
    CHECK(kinds.labels == std::vector<std::string>{"matmul", "copy"});
    CHECK(series(kinds, "base").y == std::vector<double>{10, 2});  // weight 2
    CHECK(series(kinds, "winner").y == std::vector<double>{5, 2});
}

TEST_CASE("the page tells every point, and names cannot break it") {
    const std::string html = exploration_html(grid());
    CHECK_THAT(html, !Catch::Contains("mlp </script>") && !Catch::Contains("machine: <b>"));
    CHECK_THAT(html, Catch::Contains("mlp &lt;/script&gt; &amp; &quot;more&quot;"));
    const std::string begin = "<script type=\"application/json\">";
    const std::size_t from = html.rfind(begin) + begin.size();
    const auto data = nlohmann::json::parse(html.substr(from, html.find("</script>", from) - from));
    REQUIRE(data["rows"].size() == 13);
    CHECK(data["rows"][12].back() == "no such machine: <b>");
    CHECK(data["rows"][4][2] == nlohmann::json{2, "2"});
    std::size_t lines = 0;
    for (std::size_t at = html.find("<polyline class=\"front\""); at != std::string::npos;
         at = html.find("<polyline class=\"front\"", at + 1))
        ++lines;
    CHECK(lines == 4);
}

}  // namespace heddle::sim
