// One colour and one place for each part of a unit's time, in every chart.
#include "sim/report/colours.h"

#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "models/gpu/kernel_result.h"
#include "models/tpu/tpu_result.h"
#include "sample_result.h"
#include "sim/report/page.h"
#include "sim/report/stall_charts.h"

namespace heddle::sim {
namespace {

using Parts = std::map<std::string, double>;

std::vector<std::string> gpu_parts() {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < models::gpu::kCycleReasonCount; ++i)
        names.emplace_back(models::gpu::name_of(static_cast<models::gpu::CycleReason>(i)));
    return names;
}

/// Of matrix units and of the others, with what the charts add.
std::vector<std::string> tpu_parts() {
    std::set<std::string> names{"not used"};
    for (const auto& [name, share] : models::shares_of(models::MatrixBreakdown{})) names.insert(name);
    for (std::size_t state = 0; state < models::kUnitStates; ++state)
        names.insert(models::name_of(static_cast<models::UnitState>(state)));
    return {names.begin(), names.end()};
}

RunResult run_of(const std::string& kind, const Parts& parts) {
    RunResult result = sample_result();
    result.kernels.resize(1);
    result.kernels[0].kind = kind;
    result.kernels[0].time_by_reason = parts;
    result.kernels[0].time_by_unit = {{"matrix units", parts}};
    return result;
}

std::vector<Chart> stall_charts(const RunResult& result) {
    return {stalls_by_kind(result), stalls_by_kernel(result), stalls_by_unit(result)};
}

/// Distance in OKLab (Ottosson, 2020), where equal steps look equally large; black and white are 1 apart.
double distance(const std::string& a, const std::string& b) {
    const auto lab = [](const std::string& text) {
        std::array<double, 3> c{};
        for (std::size_t i = 0; i < 3; ++i) {
            const double v = std::stoi(text.substr(1 + 2 * i, 2), nullptr, 16) / 255.0;
            c[i] = v <= 0.04045 ? v / 12.92 : std::pow((v + 0.055) / 1.055, 2.4);
        }
        const double l = std::cbrt(0.4122214708 * c[0] + 0.5363325363 * c[1] + 0.0514459929 * c[2]);
        const double m = std::cbrt(0.2119034982 * c[0] + 0.6806995451 * c[1] + 0.1073969566 * c[2]);
        const double s = std::cbrt(0.0883024619 * c[0] + 0.2817188376 * c[1] + 0.6299787005 * c[2]);
        return std::array<double, 3>{0.2104542553 * l + 0.7936177850 * m - 0.0040720468 * s,
                                     1.9779984951 * l - 2.4285922050 * m + 0.4505937099 * s,
                                     0.0259040371 * l + 0.7827717662 * m - 0.8086757660 * s};
    };
    const auto x = lab(a), y = lab(b);
    return std::hypot(x[0] - y[0], x[1] - y[1], x[2] - y[2]);
}

void check_told_apart(const std::vector<std::string>& parts) {
    for (std::size_t i = 0; i < parts.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) {
            CAPTURE(parts[i], parts[j]);
            const Colour a = colours().at(static_cast<std::size_t>(colour_of_part(parts[i])));
            const Colour b = colours().at(static_cast<std::size_t>(colour_of_part(parts[j])));
            CHECK(distance(a.light, b.light) > 0.055);
            CHECK(distance(a.dark, b.dark) > 0.055);
        }
    }
}

}  // namespace

TEST_CASE("every part of a unit's time has a colour, and those of one device are told apart") {
    for (const auto& parts : {gpu_parts(), tpu_parts()}) {
        for (const std::string& part : parts) {
            CAPTURE(part);
            REQUIRE(colour_of_part(part) >= kPaletteSize);
        }
        check_told_apart(parts);
    }
    CHECK(colour_of_part("no such part") == -1);
    CHECK(colour_of_part("") == -1);
}

TEST_CASE("no two parts share a colour, on light pages or on dark ones") {
    std::set<std::string> names, light, dark;
    const auto parts = static_cast<std::ptrdiff_t>(kPaletteSize);
    for (auto colour = colours().begin() + parts; colour != colours().end(); ++colour) {
        CAPTURE(colour->name);
        CHECK(names.insert(colour->name).second);
        CHECK(light.insert(colour->light).second);
        CHECK(dark.insert(colour->dark).second);
        CHECK(std::regex_match(colour->light, std::regex("#[0-9a-f]{6}")));
        CHECK(std::regex_match(colour->dark, std::regex("#[0-9a-f]{6}")));
    }
}

TEST_CASE("a part keeps its colour and its place, however large it is and whatever is beside it") {
    const RunResult busy = run_of("matmul", {{"useful", 0.8}, {"no instruction", 0.15}, {"DMA wait", 0.05}});
    const RunResult idle = run_of("copy", {{"useful", 0.1}, {"no instruction", 0.7}, {"weight stall", 0.2}});
    std::map<std::string, int> known;
    for (const RunResult& result : {busy, idle}) {
        for (const Chart& chart : stall_charts(result)) {
            CAPTURE(chart.id);
            REQUIRE(chart.series.size() >= 3);
            for (std::size_t s = 0; s < chart.series.size(); ++s) {
                CAPTURE(chart.series[s].name);
                const int colour = colour_of(chart, s);
                CHECK(colour == colour_of_part(chart.series[s].name));
                CHECK(known.try_emplace(chart.series[s].name, colour).first->second == colour);
                if (s > 0) CHECK(colour > colour_of(chart, s - 1));
            }
            CHECK(chart.series.front().name == "useful");
            CHECK(chart.series.back().name == "no instruction");
        }
    }
}

TEST_CASE("all parts are shown, none as `other`") {
    for (const auto& names : {gpu_parts(), tpu_parts()}) {
        Parts parts;
        for (const std::string& name : names) parts[name] = 1.0 / static_cast<double>(names.size());
        Chart chart;
        add_stacked(chart, {{"row", parts}});
        CHECK(chart.series.size() == names.size());
    }
}

TEST_CASE("the picture, its legend, its script's data and the page's style agree on a part's colour") {
    const Chart chart = stalls_by_kind(run_of("matmul", {{"useful", 0.3}, {"no instruction", 0.7}}));
    const std::string html = chart_html(chart), page = html_page("Title", "", html, {});
    const std::string begin = "<script type=\"application/json\">";
    const std::size_t from = html.find(begin) + begin.size();
    const auto data = nlohmann::json::parse(html.substr(from, html.find("</script>", from) - from));
    for (std::size_t s = 0; s < chart.series.size(); ++s) {
        const std::string& name = chart.series[s].name;
        const int number = colour_of_part(name);
        const std::string id = "c" + std::to_string(number);
        CAPTURE(name, id);
        CHECK_THAT(html, Catch::Contains("class=\"" + id + "\"><title>" + name + ": "));
        CHECK_THAT(html, Catch::Contains("<i class=\"" + id + "\"></i>" + name + "</span>"));
        CHECK(data["series"][s]["name"] == name);
        CHECK(data["series"][s]["colour"] == number);
        const Colour& colour = colours()[static_cast<std::size_t>(number)];
        CHECK_THAT(page, Catch::Contains("--" + id + ": " + colour.light + ";"));
        CHECK_THAT(page, Catch::Contains("--" + id + ": " + colour.dark + ";"));
        CHECK_THAT(page, Catch::Contains("." + id + " { fill: var(--" + id + ")"));
    }
    // The script asks the style for each series' colour by its number.
    CHECK_THAT(page, Catch::Contains("style(\"--c\" + series.colour)"));
}

}  // namespace heddle::sim
