#include "sim/report/run_directory.h"

#include "isa/common/result_folder.h"
#include "sim/report/database.h"
#include "sim/report/kernels_csv.h"
#include "sim/report/run_page.h"
#include "sim/report/step_picture.h"
#include "sim/report/summary.h"

namespace heddle::sim {
namespace {

/// What the marker calls the folder of a run.
constexpr const char* kKind = "run";

}  // namespace

void check_run_directory(const std::string& path) {
    const ResultFolder folder(path, kKind, "--out");
    folder.check({"summary.json", "kernels.csv", "timeline.json", "report.html", "timeline.svg", "stats.sqlite"});
}

void write_run_directory(const RunResult& result, const std::string& path,
                         const std::map<std::string, std::string>& more) {
    ResultFolder folder(path, kKind, "--out");
    folder.stage("summary.json", summary_json(result));
    folder.stage("kernels.csv", kernels_csv(result));
    folder.stage("timeline.json", timeline_json(result));
    folder.stage("report.html", report_html(result));
    if (const std::string picture = timeline_svg(result); !picture.empty())
        folder.stage("timeline.svg", picture);
    write_database(result, (folder.staging() / "stats.sqlite").string());
    for (const auto& [name, text] : more) folder.stage(name, text);
    folder.commit();
}

}  // namespace heddle::sim
