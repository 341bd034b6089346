// Reports of a comparison of trainings.
#pragma once

#include <string>

#include "sim/learning/learning.h"

namespace heddle::sim {

/// Returns the loss that reports show: the mean over the last tenth of the rounds.
double last_loss(const LearningCurve& curve);

/// Returns the simulated seconds until the loss, averaged over a tenth of the rounds, is at most `loss`;
/// -1 when it never is.
double seconds_to(const LearningCurve& curve, double loss);

/// Format the result for people, in lines of `width` columns, and as JSON.
std::string format_learning(const LearningResult& result, std::size_t width);
std::string learning_json(const LearningResult& result);
/// Returns CSV with the round, then loss and seconds of each training.
std::string learning_csv(const LearningResult& result);
/// Returns a page for a browser with the loss over rounds, the loss over simulated time, and the table.
std::string learning_page(const LearningResult& result);

}  // namespace heddle::sim
