// How a comparison of trainings is shown.
#pragma once

#include <string>

#include "sim/learning/learning.h"

namespace heddle::sim {

/// Loss for people: the mean of the last tenth of the rounds.
double last_loss(const LearningCurve& curve);

/// Simulated seconds until the mean loss of so many rounds is at most `loss`; below 0: never.
double seconds_to(const LearningCurve& curve, double loss);

std::string format_learning(const LearningResult& result, std::size_t width);
std::string learning_json(const LearningResult& result);
/// round, then loss and seconds of each training.
std::string learning_csv(const LearningResult& result);
/// A page for a browser: loss over rounds, loss over simulated time, and the table.
std::string learning_page(const LearningResult& result);

}  // namespace heddle::sim
