// The folder of a run: complete or not there, and readable by the tools that its formats are for.
#include "sim/report/run_directory.h"

#include <sqlite3.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "isa/common/error.h"
#include "sample_result.h"
#include "sim/report/kernels_csv.h"
#include "sim/report/run_page.h"
#include "sim/report/step_picture.h"
#include "sim/report/summary.h"
#include "support/folder.h"

using heddle::Error;
using namespace heddle::sim;
namespace fs = std::filesystem;

using heddle::tests::Folder;
using heddle::tests::text_of;

namespace {

std::set<std::string> names_in(const Folder& folder) {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder.path()))
        names.insert(entry.path().filename().string());
    return names;
}

/// The first column of the only row of a query.
std::string query(const fs::path& database, const std::string& sql) {
    sqlite3* handle = nullptr;
    sqlite3_stmt* statement = nullptr;
    std::string answer = "no answer";
    if (sqlite3_open_v2(database.c_str(), &handle, SQLITE_OPEN_READONLY, nullptr) == SQLITE_OK &&
        sqlite3_prepare_v2(handle, sql.c_str(), -1, &statement, nullptr) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW) {
        const auto* text = sqlite3_column_text(statement, 0);
        answer = text == nullptr ? "null" : reinterpret_cast<const char*>(text);
    }
    sqlite3_finalize(statement);
    sqlite3_close(handle);
    return answer;
}

/// RFC 4180, read independently of the writer.
std::vector<std::vector<std::string>> parse_csv(const std::string& text) {
    std::vector<std::vector<std::string>> rows(1, std::vector<std::string>(1));
    bool quoted = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (quoted && c == '"' && i + 1 < text.size() && text[i + 1] == '"') {
            rows.back().back() += '"';
            ++i;
        } else if (c == '"') {
            quoted = !quoted;
        } else if (c == ',' && !quoted) {
            rows.back().emplace_back();
        } else if (c == '\n' && !quoted) {
            rows.emplace_back(1);
        } else {
            rows.back().back() += c;
        }
    }
    rows.pop_back();
    return rows;
}

std::string cell(const std::vector<std::vector<std::string>>& rows, std::size_t row,
                 const std::string& column) {
    for (std::size_t i = 0; i < rows[0].size(); ++i) {
        if (rows[0][i] == column) return rows[row].at(i);
    }
    return "no such column";
}

}  // namespace

TEST_CASE("a run leaves its files and nothing beside them") {
    Folder folder;
    const fs::path out = folder / "run";
    write_run_directory(sample_result(), out.string());
    CHECK(names_in(folder) == std::set<std::string>{"run"});
    std::set<std::string> files;
    for (const auto& entry : fs::directory_iterator(out)) files.insert(entry.path().filename().string());
    CHECK(files == std::set<std::string>{"summary.json", "kernels.csv", "stats.sqlite", "timeline.json",
                                         "timeline.svg", "report.html", ".heddle-results"});
    CHECK(text_of(out / "summary.json") == summary_json(sample_result()));
}

TEST_CASE("two runs leave the same bytes outside summary.json") {
    Folder folder;
    RunResult other = sample_result();
    other.simulation = {97.25, 0, 5, 1, 0};
    write_run_directory(sample_result(), (folder / "first").string());
    write_run_directory(other, (folder / "second").string());
    for (const char* name : {"kernels.csv", "stats.sqlite", "timeline.json", "timeline.svg", "report.html"}) {
        CAPTURE(name);
        CHECK(text_of(folder / "first" / name) == text_of(folder / "second" / name));
    }
}

TEST_CASE("an earlier run is replaced, anything else is kept") {
    Folder folder;
    write_run_directory(sample_result(), (folder / "run").string());
    RunResult other = sample_result();
    other.workload = "lstm";
    write_run_directory(other, (folder / "run/").string());
    CHECK_THAT(text_of(folder / "run" / "summary.json"), Catch::Contains("lstm"));
    CHECK(names_in(folder) == std::set<std::string>{"run"});

    fs::create_directories(folder / "thesis");
    std::ofstream(folder / "thesis" / "chapter1.tex") << "precious";
    CHECK_THROWS_WITH(write_run_directory(other, (folder / "thesis").string()), Catch::Contains("none that says that Heddle wrote them"));
    CHECK(text_of(folder / "thesis" / "chapter1.tex") == "precious");
    // A file of the same name makes no folder Heddle's.
    std::ofstream(folder / "thesis" / "summary.json") << "{}";
    CHECK_THROWS_AS(check_run_directory((folder / "thesis").string()), Error);
    CHECK_THROWS_AS(write_run_directory(other, (folder / "thesis").string()), Error);
    CHECK(text_of(folder / "thesis" / "chapter1.tex") == "precious");
    CHECK(text_of(folder / "thesis" / "summary.json") == "{}");
    std::ofstream(folder / "file") << "precious";
    CHECK_THROWS_WITH(check_run_directory((folder / "file").string()), Catch::Contains("not a folder"));
    CHECK_THROWS_AS(write_run_directory(other, ""), Error);
    CHECK(names_in(folder) == std::set<std::string>{"run", "thesis", "file"});
}

TEST_CASE("folders above the run's are made, an empty one is used") {
    Folder folder;
    write_run_directory(sample_result(), (folder / "a/b/run").string());
    CHECK(fs::exists(folder / "a/b/run" / "summary.json"));
    fs::create_directories(folder / "empty");
    write_run_directory(sample_result(), (folder / "empty").string());
    CHECK(fs::exists(folder / "empty" / "summary.json"));
}

TEST_CASE("a link to a folder is followed and stays, whether the folder is there or not") {
    Folder folder;
    fs::create_directories(folder / "elsewhere/with room");
    fs::create_directories(folder / "here");
    fs::create_symlink("../elsewhere/with room/", folder / "here/run");
    fs::create_symlink(folder / "elsewhere/not yet", folder / "here/later");
    for (const char* workload : {"mlp", "lstm"}) {
        RunResult result = sample_result();
        result.workload = workload;
        write_run_directory(result, (folder / "here/run").string());
        write_run_directory(result, (folder / "here/later/").string());
        for (const char* link : {"here/run", "here/later"}) {
            CHECK(fs::is_symlink(folder / link));
            CHECK_THAT(text_of(folder / link / "summary.json"), Catch::Contains(workload));
        }
    }
    CHECK(text_of(folder / "elsewhere/with room/summary.json") == text_of(folder / "here/run/summary.json"));
    CHECK(std::distance(fs::directory_iterator(folder / "elsewhere"), {}) == 2);
    CHECK(std::distance(fs::directory_iterator(folder / "here"), {}) == 2);
    // What a link leads to is judged as if it were named.
    std::ofstream(folder / "file") << "precious";
    fs::create_symlink("file", folder / "to a file");
    CHECK_THROWS_WITH(check_run_directory((folder / "to a file").string()), Catch::Contains("not a folder"));
    fs::create_symlink("round", folder / "round");
    CHECK_THROWS_WITH(check_run_directory((folder / "round").string()), Catch::Contains("leads to itself"));
    CHECK(text_of(folder / "file") == "precious");
}

TEST_CASE("kernels.csv is read back by the rules of RFC 4180") {
    const auto rows = parse_csv(kernels_csv(sample_result()));
    REQUIRE(rows.size() == 4);
    for (const auto& row : rows) CHECK(row.size() == rows[0].size());
    CHECK(cell(rows, 1, "recorded_kernel") == "sm90_gemm<128, \"x\">");
    CHECK(cell(rows, 1, "grid") == "132x2x1");
    CHECK(cell(rows, 1, "measured_us") == "45");
    CHECK(cell(rows, 2, "measured_us").empty());
    CHECK(cell(rows, 2, "start_us") == "50");
    CHECK(cell(rows, 2, "gap_us") == "1.25");
    CHECK(cell(rows, 1, "time: memory") == "0.5");
    CHECK(cell(rows, 3, "time: memory").empty());
    CHECK(cell(rows, 1, "utilisation: tensor") == "0.8");
    CHECK(cell(rows, 3, "op") == "relu <4096> & \"more\"");
    CHECK(cell(rows, 3, "grid").empty());
    CHECK(cell(rows, 3, "fidelity") == "estimated");
}

TEST_CASE("stats.sqlite answers questions") {
    Folder folder;
    write_run_directory(sample_result(), (folder / "run").string());
    const fs::path database = folder / "run" / "stats.sqlite";
    CHECK(query(database, "PRAGMA integrity_check") == "ok");
    CHECK(query(database, "SELECT value FROM run WHERE key = 'step_time_us'") == "200.0");
    CHECK(query(database, "SELECT sum(time_us) FROM ops WHERE kind = 'matmul'") == "150.0");
    CHECK(query(database, "SELECT count(*) FROM ops WHERE measured_us IS NULL") == "1");
    CHECK(query(database, "SELECT max(start_us + time_us) FROM kernels") == "110.0");
    CHECK(query(database, "SELECT sum(fraction) FROM kernel_time WHERE kernel = 0") == "1.0");
    CHECK(query(database,
                "SELECT fraction FROM kernel_utilisation WHERE kernel = 1 AND resource = 'tensor'") == "0.8");
    CHECK(query(database, "SELECT fraction FROM utilisation WHERE resource = 'tensor'") == "0.61");
    CHECK(query(database, "SELECT sum(gap_us) FROM kernels") == "1.25");
    CHECK(query(database, "SELECT grid_y FROM kernels WHERE id = 0") == "2");
    CHECK(query(database, "SELECT text FROM notes") == "labels are drawn from a uniform distribution");
}

namespace {

/// The environment variable for as long as this lives.
class ChartLibrary {
  public:
    explicit ChartLibrary(const std::string& path) { setenv("HEDDLE_CHART_JS", path.c_str(), 1); }
    ~ChartLibrary() { unsetenv("HEDDLE_CHART_JS"); }
};

std::size_t count(const std::string& text, const std::string& what) {
    std::size_t found = 0;
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
    return found;
}

/// What stands in the page's <script type="application/json"> elements.
std::vector<nlohmann::json> data_of(const std::string& html) {
    const std::string begin = "<script type=\"application/json\">";
    std::vector<nlohmann::json> data;
    for (std::size_t at = html.find(begin); at != std::string::npos; at = html.find(begin, at + 1)) {
        const std::size_t from = at + begin.size();
        data.push_back(nlohmann::json::parse(html.substr(from, html.find("</script>", from) - from)));
    }
    return data;
}

}  // namespace

TEST_CASE("report.html needs nothing outside itself and can be read without a script") {
    const ChartLibrary none("none");
    const std::string html = report_html(sample_result());
    for (const char* link : {"http:", "https:", "src=", "url(", "@import", "<link"}) {
        CAPTURE(link);
        CHECK_THAT(html, !Catch::Contains(link));
    }
    CHECK(count(html, "href=") == count(html, "href=\"#"));
    CHECK_THAT(html, Catch::Contains("relu &lt;4096&gt; &amp; &quot;more&quot;"));
    CHECK_THAT(html, !Catch::Contains("relu <4096>"));
    CHECK_THAT(html, Catch::Contains("<svg") && Catch::Contains("1.83 PFLOP/s"));
    CHECK_THAT(html, Catch::Contains("install libjs-chart.js"));
    // For keyboards and those who hear the page: a way past the contents, headings, regions that scroll.
    CHECK_THAT(html, Catch::Contains("<a class=\"skip\" href=\"#content\">") &&
                         Catch::Contains("<html lang=\"en\">") && Catch::Contains("<main id=\"content\"") &&
                         Catch::Contains("aria-label=\"Ops\""));
    CHECK(count(html, "<h1>") == 1);
    // Every element that is opened is closed, every id is there once, every link leads somewhere.
    const std::string visible = html.substr(0, html.rfind("<script>"));
    for (const char* tag : {"table", "tr", "td", "th", "svg", "text", "div", "p", "h2", "h3", "section",
                            "figure", "details", "nav", "ul", "li", "main", "header", "span"}) {
        CAPTURE(tag);
        CHECK(count(visible, "<" + std::string(tag) + ">") + count(visible, "<" + std::string(tag) + " ") ==
              count(visible, "</" + std::string(tag) + ">"));
    }
    for (const char* section : {"step", "time", "stalls", "ops", "kernels"}) {
        CAPTURE(section);
        CHECK(count(html, "id=\"" + std::string(section) + "\"") == 1);
        CHECK(count(html, "href=\"#" + std::string(section) + "\"") == 1);
    }
}

TEST_CASE("Chart.js stands in the page where there is one, and only then") {
    Folder folder;
    std::ofstream(folder / "chart.js") << "/*! Chart.js v3.9.1 */ window.Chart = 1;";
    std::ofstream(folder / "other.js") << "something else";
    std::ofstream(folder / "bad.js") << "/*! Chart.js v3.9.1 */ '</script>'";
    {
        const ChartLibrary found((folder / "chart.js").string());
        CHECK_THAT(report_html(sample_result()),
                   Catch::Contains("window.Chart = 1;</script>") && !Catch::Contains("no-chart-js"));
    }
    for (const char* name : {"other.js", "bad.js", "missing.js"}) {
        const ChartLibrary wrong((folder / name).string());
        CHECK_THAT(report_html(sample_result()), Catch::Contains("no-chart-js"));
    }
}

TEST_CASE("names that look like HTML, script or nothing at all stay names") {
    const ChartLibrary none("none");
    const std::string hostile = "</script><img src=x onerror=\"alert('1')\"><!-- \u00e9\u4e2d ${x} \\u003c";
    RunResult result = sample_result();
    result.workload = result.hardware = result.hardware_description = hostile;
    result.notes = {hostile};
    for (OpSummary& op : result.ops) op.name = op.kind = hostile;
    for (KernelResult& kernel : result.kernels) {
        kernel.name = kernel.op_name = kernel.kind = hostile;
        kernel.time_by_reason = {{hostile, 1}};
    }
    const std::string html = report_html(result);
    CHECK(count(html, "<img") == 0);
    CHECK(count(html, "<!--") == 0);
    CHECK(count(html, "<script") == count(html, "</script>"));
    bool found = false;
    for (const nlohmann::json& data : data_of(html))
        if (data.contains("rows") && data["id"] == "ops") {
            found = true;
            CHECK(data["rows"][0][0] == hostile);
        }
    CHECK(found);
    // What is not UTF-8 is replaced, never an error.
    result.ops[0].name = "caf\xe9";
    CHECK_NOTHROW(report_html(result));
    CHECK_NOTHROW(timeline_json(result));
    const std::string svg = timeline_svg(result);
    CHECK(count(svg, "<img") == 0);
}

TEST_CASE("ten thousand ops are in the page, a hundred of them without the script") {
    const ChartLibrary none("none");
    RunResult result = sample_result();
    const OpSummary op = result.ops[0];
    for (int i = 0; i < 10000; ++i) {
        result.ops.push_back(op);
        result.ops.back().name = "op " + std::to_string(i);
    }
    const std::string html = report_html(result);
    CHECK(count(html, "<tr>") < 500);
    CHECK(html.size() < 2'500'000);
    for (const nlohmann::json& data : data_of(html))
        if (data.contains("rows") && data["id"] == "ops") CHECK(data["rows"].size() == 10004);
}
