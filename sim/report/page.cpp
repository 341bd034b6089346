#include "sim/report/page.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "sim/report/assets.h"
#include "sim/report/chart_library.h"
#include "sim/report/colours.h"

namespace heddle::sim {
namespace {

std::string contents(const std::vector<PageSection>& sections) {
    std::string html = "<nav aria-label=\"Contents\"><ul>\n";
    for (const PageSection& section : sections)
        if (!section.html.empty())
            html += fmt::format("<li><a href=\"#{}\">{}</a></li>\n", section.id, escape_html(section.title));
    return html + "</ul></nav>\n";
}

constexpr const char* kNoLibrary =
    "<p class=\"note\" id=\"no-chart-js\">Chart.js was not found where this page was made: its charts are "
    "pictures "
    "without hover. To have it, install libjs-chart.js and make the page again.</p>\n";

}  // namespace

std::string escape_html(const std::string& text) {
    std::string escaped;
    for (const char c : text) {
        switch (c) {
            case '&':
                escaped += "&amp;";
                break;
            case '<':
                escaped += "&lt;";
                break;
            case '>':
                escaped += "&gt;";
                break;
            case '"':
                escaped += "&quot;";
                break;
            case '\'':
                escaped += "&#39;";
                break;
            default:
                escaped += c;
        }
    }
    return escaped;
}

std::string json_for_script(const nlohmann::ordered_json& json) {
    const std::string text = json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
    std::string safe;
    safe.reserve(text.size());
    for (const char c : text) {  // in JSON, < stands in strings only
        if (c == '<') {
            safe += "\\u003c";
        } else {
            safe += c;
        }
    }
    return safe;
}

HtmlTable::HtmlTable(const std::vector<std::string>& heading, std::vector<bool> right)
    : right_(std::move(right)), html_("<div class=\"scroll\"><table><thead>\n") {
    add(heading, "th");
    html_ += "</thead><tbody>\n";
}

void HtmlTable::add(const std::vector<std::string>& cells, const char* tag) {
    html_ += "<tr>";
    for (std::size_t i = 0; i < cells.size(); ++i) {
        html_ += fmt::format("<{0}{1}>{2}</{0}>", tag, i < right_.size() && right_[i] ? " class=\"r\"" : "",
                             escape_html(cells[i]));
    }
    html_ += "</tr>\n";
}

std::string html_figure(const std::string& name, const std::string& value) {
    return "<div><b>" + escape_html(value) + "</b><span class=\"faint\">" + escape_html(name) +
           "</span></div>\n";
}

std::string html_page(const std::string& title, const std::string& subtitle, const std::string& head,
                      const std::vector<PageSection>& sections) {
    const std::string library = chart_library();
    std::string html = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n";
    html += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
    html += "<meta name=\"color-scheme\" content=\"light dark\">\n";
    html += "<title>" + escape_html(title) + "</title>\n<style>" + std::string(kPageStyle) + colour_style() +
            "</style>\n</head>\n<body>\n<a class=\"skip\" href=\"#content\">Skip to the "
            "content</a>\n<header>\n<h1>" +
            escape_html(title) + "</h1>\n<p class=\"faint\">" + escape_html(subtitle) + "</p>\n</header>\n";
    html += contents(sections) + "<main id=\"content\" tabindex=\"-1\">\n" + head;
    if (library.empty()) html += kNoLibrary;
    for (const PageSection& section : sections) {
        if (section.html.empty()) continue;
        html +=
            fmt::format("<section id=\"{0}\" aria-labelledby=\"{0}-title\">\n<h2 id=\"{0}-title\">{1}</h2>\n",
                        section.id, escape_html(section.title)) +
            section.html + "</section>\n";
    }
    html += "</main>\n";
    if (!library.empty()) html += "<script>" + library + "</script>\n";
    return html + "<script>" + std::string(kPageScript) + "</script>\n</body>\n</html>\n";
}

}  // namespace heddle::sim
