// Which recorded training steps the framework's figures (training_fit.h) were fitted to. A step is known by
// what it is, never by where it stands in a file: tables are sorted, cut and extended.
#pragma once

#include <cstdint>
#include <span>

namespace heddle::validation {

/// What tells one recorded step from all others: a hash of the numbers that it was recorded with, the time
/// among them, each as its table has it and always in one order.
std::uint64_t fingerprint_of_step(std::span<const double> numbers);

/// framework_figures() were fitted to the step with this fingerprint, among others.
bool framework_was_fitted_to(std::uint64_t fingerprint);

}  // namespace heddle::validation
