// A page for a browser, in one file without links to anything outside it: its style, its script, and the
// parts that every report is made of. Everything can be read without the script, which adds sorting, filters,
// CSV files, hover and the choice of a light or dark screen.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace heddle::sim {

/// Text with &, <, > and quotes replaced, safe between tags and in attributes.
std::string escape_html(const std::string& text);

/// JSON for a <script type="application/json">: no text in it can end the element. What is not UTF-8 is
/// replaced.
std::string json_for_script(const nlohmann::ordered_json& json);

/// A short table that needs no script: cells of columns marked `right` hold numbers.
class HtmlTable {
  public:
    explicit HtmlTable(const std::vector<std::string>& heading, std::vector<bool> right = {});
    void row(const std::vector<std::string>& cells) { add(cells, "td"); }
    std::string html() const { return html_ + "</tbody></table></div>\n"; }

  private:
    void add(const std::vector<std::string>& cells, const char* tag);
    std::vector<bool> right_;
    std::string html_;
};

/// A large number with its name beneath; stands in a <div class="figures">.
std::string html_figure(const std::string& name, const std::string& value);

/// A part of the page with a heading, listed at its top. `id`: letters, digits, hyphens.
struct PageSection {
    std::string id, title;  ///< `title` is text
    std::string html;       ///< sections without any are left out
};

/// The whole page. `title` and `subtitle` are text, `head` is HTML that stands before the sections. Follows
/// the reader's choice of a light or dark screen. Chart.js is in it where it was found (chart_library.h);
/// where not, the page says so and shows its charts as SVG.
std::string html_page(const std::string& title, const std::string& subtitle, const std::string& head,
                      const std::vector<PageSection>& sections);

}  // namespace heddle::sim
