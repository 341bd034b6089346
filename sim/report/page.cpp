#include "sim/report/page.h"

#include <fmt/format.h>

namespace heddle::sim {
namespace {

constexpr const char* kStyle = R"css(
:root { --ink: #1c2430; --paper: #ffffff; --faint: #667085; --line: #d9dee7;
  --c0: #2f6fde; --c1: #e08a1e; --c2: #2a9d6f; --c3: #b5475d; --c4: #7a5fc7; --c5: #2aa5b8; --c6: #8a8f3c; --c7: #9aa3b2; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ef; --paper: #14181f; --faint: #98a2b3; --line: #333b48;
  --c0: #6ea0ff; --c1: #f0ad52; --c2: #58c79a; --c3: #e07a8f; --c4: #a892ea; --c5: #63cbdb; --c6: #bcc063; --c7: #737d8d; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 2rem auto;
  max-width: 1240px; padding: 0 1rem; }
h1 { font-size: 1.5rem; margin-bottom: 0; } h2 { font-size: 1.1rem; margin-top: 2rem; }
.faint { color: var(--faint); } .figures { display: flex; flex-wrap: wrap; gap: 1rem 2.5rem; margin: 1rem 0; }
.figures div b { display: block; font-size: 1.35rem; font-weight: 600; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 13px; }
th, td { padding: 2px 10px; border-bottom: 1px solid var(--line); text-align: left; white-space: nowrap; }
th { color: var(--faint); font-weight: 600; } td.r, th.r { text-align: right; }
svg { max-width: 100%; height: auto; } svg text { font-size: 12px; fill: var(--ink); }
svg text.name { text-anchor: end; } .legend span { margin-right: 1rem; font-size: 13px; white-space: nowrap; }
.legend i { display: inline-block; width: 11px; height: 11px; margin-right: 5px; }
.c0 { fill: var(--c0); background: var(--c0); } .c1 { fill: var(--c1); background: var(--c1); }
.c2 { fill: var(--c2); background: var(--c2); } .c3 { fill: var(--c3); background: var(--c3); }
.c4 { fill: var(--c4); background: var(--c4); } .c5 { fill: var(--c5); background: var(--c5); }
.c6 { fill: var(--c6); background: var(--c6); } .c7 { fill: var(--c7); background: var(--c7); }
)css";

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
            default:
                escaped += c;
        }
    }
    return escaped;
}

HtmlTable::HtmlTable(const std::vector<std::string>& heading, std::vector<bool> right)
    : right_(std::move(right)), html_("<div class=\"scroll\"><table>\n") {
    add(heading, "th");
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

std::string html_page(const std::string& title, const std::string& body) {
    std::string html = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n";
    html += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
    html += "<title>" + escape_html(title) + "</title>\n<style>" + kStyle + "</style>\n</head>\n<body>\n";
    return html + body + "</body>\n</html>\n";
}

}  // namespace heddle::sim
