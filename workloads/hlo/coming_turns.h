// How the numbers of a program change from turn to turn of its loops, and for how many turns whatever they
// decide is decided alike.
//
// Counters rise evenly. What a comparison says of a number that rises evenly changes once on its way, at a
// turn that follows from where it begins and how fast it rises. So one turn that is evaluated with the steps
// of its counters tells how many turns to come take the same way through the program.
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

    /// Looks at the coming turns of one more loop, within those that are looked at already.
    void open();
    /// For the innermost loop: the number of iterations, this one included, in which all decisions are the
    /// same; infinite when nothing ever changes.
    double alike() const { return alike_.back(); }
    void close() { alike_.pop_back(); }
    /// Loops that are looked at.
    std::size_t depth() const { return alike_.size(); }

    /// The program goes on by whether `holds` is true of a number with these steps.
    void decide(double number, const Steps& steps, const std::function<bool(double)>& holds);
    /// The program goes on by the number itself.
    void decide(const Value& value);
    /// What an instruction over numbers adds to its result from turn to turn. Decides where the result itself
    /// has several ways: comparisons, minima, limits of its type.
    Steps steps_of(const Instruction& at, const std::vector<Value>& operands, const Value& result);

  private:
    Steps within_type(const Instruction& at, const Value& result, Steps steps);

    std::vector<double> alike_;  // by loop, outermost first
};

/// Whether the number is another one in some turn.
bool changes(const std::vector<double>& steps);

}  // namespace heddle::hlo
