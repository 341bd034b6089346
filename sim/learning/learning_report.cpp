#include "sim/learning/learning_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "isa/common/foreign_text.h"
#include "sim/report/chart.h"
#include "sim/report/numbers.h"
#include "sim/report/page.h"
#include "sim/report/text_plot.h"
#include "sim/report/text_table.h"

namespace heddle::sim {
namespace {

using Json = nlohmann::ordered_json;

/// Rounds over which losses are averaged for people.
std::size_t tenth(const LearningCurve& curve) {
    return std::max<std::size_t>(1, curve.loss.size() / 10);
}

/// Means of `tenth()` rounds up to and with each.
std::vector<double> smoothed(const LearningCurve& curve) {
    std::vector<double> means;
    const std::size_t window = tenth(curve);
    double sum = 0;
    for (std::size_t i = 0; i < curve.loss.size(); ++i) {
        sum += curve.loss[i];
        if (i >= window) sum -= curve.loss[i - window];
        means.push_back(sum / static_cast<double>(std::min(i + 1, window)));
    }
    return means;
}

/// The loss that every training is asked for: the highest of their last ones.
double common_loss(const LearningResult& result) {
    double loss = 0;
    for (const LearningCurve& curve : result.curves) loss = std::max(loss, last_loss(curve));
    return loss;
}

std::vector<std::vector<std::string>> table_rows(const LearningResult& result) {
    const double goal = common_loss(result);
    std::vector<std::vector<std::string>> rows{{"training", "last loss", "time of a round", "time in all",
                                                fmt::format("to a loss of {:.3f}", goal), "weights",
                                                "staleness"}};
    for (const LearningCurve& curve : result.curves) {
        const bool reference = &curve == &result.curves.front();
        const auto rounds = static_cast<double>(curve.seconds.size());
        const double reached = seconds_to(curve, goal);
        rows.push_back({curve.name, fmt::format("{:.4f}", last_loss(curve)),
                        reference ? "" : format_microseconds(1e6 * curve.seconds.back() / rounds),
                        reference ? "" : format_microseconds(1e6 * curve.seconds.back()),
                        reference     ? ""
                        : reached < 0 ? "never"
                                      : format_microseconds(1e6 * reached),
                        curve.same_bits ? "those of one device" : fmt::format("{:.2g} away", curve.distance),
                        curve.largest_staleness == 0 ? ""
                                                     : fmt::format("{:.1f}, at most {}", curve.mean_staleness,
                                                                   curve.largest_staleness)});
    }
    return rows;
}

std::string headline(const LearningResult& result) {
    return fmt::format("{} on {} workers of {} ({}): {} rounds, {}", result.model, result.workers,
                       result.cluster, result.hardware, result.curves.front().loss.size(), result.data);
}

std::string times_line(const LearningResult& result) {
    const auto text = [](double seconds) { return format_microseconds(1e6 * seconds); };
    const RoundTimes& t = result.times;
    std::string line = fmt::format("a worker's passes {}, update {}", text(t.passes), text(t.update));
    if (result.workers > 1)
        line += fmt::format(", all-reduce of gradients ({}) {}, to a parameter server {} and back {}",
                            result.algorithm, text(t.all_reduce), text(t.gradient_message),
                            text(t.weight_message));
    return line;
}

Chart loss_chart(const LearningResult& result, bool over_time) {
    Chart chart;
    chart.kind = Chart::Kind::plot;
    chart.id = over_time ? "loss-over-time" : "loss-over-rounds";
    chart.title = over_time ? "Loss over simulated time" : "Loss over rounds";
    chart.reading = over_time
                        ? "Which training is at a loss first: what a round teaches, and how long it takes."
                        : "What a round teaches: means of a tenth of all rounds.";
    chart.x = over_time ? ChartAxis{"simulated time", "s"} : ChartAxis{"round"};
    chart.y = {"loss"};
    for (std::size_t i = over_time ? 1 : 0; i < result.curves.size(); ++i) {
        const LearningCurve& curve = result.curves[i];
        ChartSeries series{.name = curve.name, .y = smoothed(curve), .line = true};
        for (std::size_t round = 0; round < curve.loss.size(); ++round)
            series.x.push_back(over_time ? curve.seconds[round] : static_cast<double>(round + 1));
        chart.series.push_back(std::move(series));
    }
    return chart;
}

}  // namespace

double last_loss(const LearningCurve& curve) {
    return smoothed(curve).back();
}

double seconds_to(const LearningCurve& curve, double loss) {
    const std::vector<double> means = smoothed(curve);
    for (std::size_t i = tenth(curve) - 1; i < means.size(); ++i)
        if (means[i] <= loss) return curve.seconds[i];
    return -1;
}

std::string format_learning(const LearningResult& result, std::size_t width) {
    std::string text = headline(result) + "\n" + times_line(result) + "\n\n";
    text += fit_columns(table_rows(result), {false, true, true, true, true}, width);
    for (const LearningCurve& curve : result.curves) {
        if (&curve == &result.curves.front()) continue;
        text += "\nloss, " + curve.name + "\n" + text_plot(curve.loss, 64, 5);
    }
    return text;
}

std::string learning_json(const LearningResult& result) {
    const RoundTimes& t = result.times;
    Json json{{"model", result.model},
              {"hardware", result.hardware},
              {"cluster", result.cluster},
              {"data", result.data},
              {"workers", result.workers},
              {"algorithm", result.algorithm},
              {"seconds",
               {{"passes", t.passes},
                {"update", t.update},
                {"all_reduce", t.all_reduce},
                {"average", t.average},
                {"gradient_message", t.gradient_message},
                {"weight_message", t.weight_message}}}};
    json["trainings"] = Json::array();
    for (const LearningCurve& curve : result.curves)
        json["trainings"].push_back({{"name", curve.name},
                                     {"loss", curve.loss},
                                     {"seconds", curve.seconds},
                                     {"last_loss", last_loss(curve)},
                                     {"mean_staleness", curve.mean_staleness},
                                     {"largest_staleness", curve.largest_staleness},
                                     {"weights", curve.weights},
                                     {"distance", curve.distance},
                                     {"same_bits", curve.same_bits}});
    return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::string learning_csv(const LearningResult& result) {
    std::string text = "round";
    for (const LearningCurve& curve : result.curves)
        text += "," + csv_cell(curve.name + " loss") + "," + csv_cell(curve.name + " seconds");
    text += "\n";
    for (std::size_t round = 0; round < result.curves.front().loss.size(); ++round) {
        text += std::to_string(round + 1);
        for (const LearningCurve& curve : result.curves)
            text += fmt::format(",{},{}", curve.loss[round], curve.seconds[round]);
        text += "\n";
    }
    return text;
}

std::string learning_page(const LearningResult& result) {
    const auto rows = table_rows(result);
    HtmlTable table(rows.front(), {false, true, true, true, true, false, false});
    for (std::size_t i = 1; i < rows.size(); ++i) table.row(rows[i]);
    return html_page("What " + std::to_string(result.workers) + " workers learn", headline(result),
                     "<p>" + escape_html(times_line(result)) + "</p>",
                     {{"time", "Loss over simulated time", chart_html(loss_chart(result, true))},
                      {"rounds", "Loss over rounds", chart_html(loss_chart(result, false))},
                      {"trainings", "Trainings", table.html()}});
}

}  // namespace heddle::sim
