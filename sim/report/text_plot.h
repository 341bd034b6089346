// Curves drawn with characters, for terminals.
#pragma once

#include <string>
#include <vector>

namespace heddle::sim {

/// Returns a chart of `width` x `height` characters, with the largest and the smallest value at its side.
/// Values that fall into the same column are averaged. Empty when no value is finite.
std::string text_plot(const std::vector<double>& y, std::size_t width = 64, std::size_t height = 8);

}  // namespace heddle::sim
