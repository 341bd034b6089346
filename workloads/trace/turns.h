// Loops whose iterations (turns) are all alike: a trace contains one iteration and the number of iterations
// that it represents.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/trace/trace.h"

namespace heddle::trace {

// keys::any.turns of an op in such an iteration has, for each loop around the op, the outermost first, the
// number of the iteration (equal numbers belong to one iteration) and the number of iterations that it
// represents. Ops of different iterations are never fused, even where each represents only itself.

/// Returns how many iterations, of all loops around it together, the op represents: 1 outside such loops.
double turns_of(const Op& op);
/// Returns the same as a whole number, at most 2^53.
std::uint64_t count_of_turns(const Op& op);

/// Returns whether both ops belong to the same iterations; only such ops may be fused.
bool are_in_one_turn(const Op& a, const Op& b);

/// An iteration that a trace contains: the ops [first, last) are executed `turns` times in sequence.
struct HeldTurn {
    std::size_t first = 0, last = 0;
    double turns = 1;
    bool operator==(const HeldTurn&) const = default;
};

/// Returns all of them ordered by their first ops, outer loops before the loops within them.
std::vector<HeldTurn> held_turns(const Trace& trace);

/// Throws heddle::Error that names the op when the attribute is invalid. It must consist of pairs of a number
/// and of 1 to 2^53 iterations, and the ops of an iteration must be contiguous and lie within one iteration
/// of the loop around it.
void check_turns(const Trace& trace);

}  // namespace heddle::trace
