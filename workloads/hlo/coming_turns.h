// How the numbers of a program change from iteration to iteration of its loops, and for how many iterations
// all decisions that depend on them are the same.
//
// Counters rise evenly. The result of a comparison of an evenly rising number changes at most once, in an
// iteration that follows from its start and its step. Therefore one iteration that is evaluated with the
// steps of its counters determines how many further iterations take the same path through the program.
#pragma once

#include <functional>
#include <vector>

#include "workloads/hlo/module.h"
#include "workloads/hlo/value.h"

namespace heddle::hlo {

/// The loops that are being evaluated, and how the counters of each change.
class ComingTurns {
  public:
    using Steps = std::vector<double>;

    /// Begins to track one more loop, within those that are tracked already.
    void open();
    /// For the innermost loop: the number of iterations, this one included, in which all decisions are the
    /// same; infinite when nothing ever changes.
    double alike() const { return alike_.back(); }
    void close() { alike_.pop_back(); }
    /// The number of tracked loops.
    std::size_t depth() const { return alike_.size(); }

    /// Records that the program's path depends on whether `holds` is true of a number with these steps.
    void decide(double number, const Steps& steps, const std::function<bool(double)>& holds);
    /// Records that the program's path depends on the number itself.
    void decide(const Value& value);
    /// Returns by how much the result of an instruction on numbers changes from iteration to iteration. Where
    /// the result itself can take several forms (comparisons, minima, limits of its type), it records the
    /// decision.
    Steps steps_of(const Instruction& at, const std::vector<Value>& operands, const Value& result);

  private:
    Steps within_type(const Instruction& at, const Value& result, Steps steps);

    std::vector<double> alike_;  // by loop, outermost first
};

/// Returns whether the number differs in some iteration.
bool changes(const std::vector<double>& steps);

}  // namespace heddle::hlo
