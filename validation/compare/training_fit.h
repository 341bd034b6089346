// The figures of a framework that a table of recorded steps was fitted to, and how: so that anybody can
// repeat it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "validation/compare/training_table.h"

namespace heddle::validation {

/// What is not in a hardware description: the framework's host, and products of odd vocabularies.
struct FrameworkFigures {
    double forward_op = 0, backward_op = 0;  ///< seconds of the host for an op, sim::HostConfig
    double collective = 0;                   ///< seconds that the device idles before a collective of a layer
    double unaligned = 0;                    ///< sim::ClosedFormConfig
};
/// Those in use.
FrameworkFigures framework_figures();

/// The figures with the least mean error over `rows`: one after the other is moved up and down in steps of
/// 10, 5 and 2.5 per cent of itself until no move helps, beginning at `start`. The same rows give the same
/// figures. `tell` is called for every improvement, with the error as a part.
FrameworkFigures fit_framework(const std::vector<TrainingRow>& rows, const std::string& cluster,
                               const FrameworkFigures& start,
                               const std::function<void(const FrameworkFigures&, double)>& tell);

}  // namespace heddle::validation
