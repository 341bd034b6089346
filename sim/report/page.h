// A page for a browser, in one file without links to anything outside it: its style, its script, and the
// parts of which every report consists. Everything can be read without the script, which adds sorting,
// filters, CSV files, hover and the choice of a light or dark page.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace heddle::sim {

/// Replaces &, <, > and quotes, so that the text is safe between tags and in attributes.
std::string escape_html(const std::string& text);

/// Formats JSON for a <script type="application/json"> so that no text in it can end the element. Bytes that
/// are not UTF-8 are replaced.
std::string json_for_script(const nlohmann::ordered_json& json);

/// A short table that needs no script. Columns marked `right` contain numbers. Cells and headings are text
/// and are escaped.
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

/// Returns a large number with its name below it, to be placed in a <div class="figures">.
std::string html_figure(const std::string& name, const std::string& value);

/// A part of the page with a heading, which the list at the page's top names. `id` consists of letters,
/// digits and hyphens.
struct PageSection {
    std::string id, title;  ///< `title` is text
    std::string html;       ///< sections without any are left out
};

/// Returns the whole page. `title` and `subtitle` are text; `head` is HTML that comes before the sections.
/// The page follows the reader's choice of light or dark. It contains Chart.js where that was found
/// (chart_library.h); otherwise it says so and shows its charts as SVG.
std::string html_page(const std::string& title, const std::string& subtitle, const std::string& head,
                      const std::vector<PageSection>& sections);

}  // namespace heddle::sim
