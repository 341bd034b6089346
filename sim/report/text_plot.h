// Curves as characters, for terminals.
#pragma once

#include <string>
#include <vector>

namespace heddle::sim {

/// A chart of characters, `width` x `height`, with the largest and the smallest value at its side. Several
/// values that fall into one column are averaged. Empty when no value is finite.
std::string text_plot(const std::vector<double>& y, std::size_t width = 64, std::size_t height = 8);

}  // namespace heddle::sim
