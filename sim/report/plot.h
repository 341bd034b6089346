// Curves over an axis, as inline SVG and as characters.
#pragma once

#include <string>
#include <vector>

namespace heddle::sim {

struct Curve {
    std::string name;
    std::vector<double> y;  ///< values that are not finite leave a hole
};

/// Curves over the same x, one colour each. `x` has as many values as each curve; the axis begins at 0 when
/// `from_zero`.
std::string line_plot(const std::vector<double>& x, const std::vector<Curve>& curves,
                      const std::string& x_name, bool from_zero = false);

/// Curves on top of each other, filled; each value holds until the next x. `limit` is drawn as a line when
/// above 0.
std::string area_plot(const std::vector<double>& x, const std::vector<Curve>& curves, double limit,
                      const std::string& x_name);

/// A chart of characters, `width` x `height`, with the largest and the smallest value at its side. Several
/// values that fall into one column are averaged. Empty when no value is finite.
std::string text_plot(const std::vector<double>& y, std::size_t width = 64, std::size_t height = 8);

}  // namespace heddle::sim
