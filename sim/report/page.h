// A page for a browser, in one file without links to anything outside it: its style, and the parts that every
// report is made of.
#pragma once

#include <string>
#include <vector>

namespace heddle::sim {

/// Text with &, <, > and quotes replaced, safe between tags and in attributes.
std::string escape_html(const std::string& text);

/// A table: cells of columns marked `right` hold numbers.
class HtmlTable {
  public:
    explicit HtmlTable(const std::vector<std::string>& heading, std::vector<bool> right = {});
    void row(const std::vector<std::string>& cells) { add(cells, "td"); }
    std::string html() const { return html_ + "</table></div>\n"; }

  private:
    void add(const std::vector<std::string>& cells, const char* tag);
    std::vector<bool> right_;
    std::string html_;
};

/// A large number with its name beneath; stands in a <div class="figures">.
std::string html_figure(const std::string& name, const std::string& value);

/// The whole page. `title` is text, `body` is HTML. Follows the reader's choice of a light or dark screen.
std::string html_page(const std::string& title, const std::string& body);

}  // namespace heddle::sim
