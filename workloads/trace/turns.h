// Loops whose turns are all alike: a trace holds one of these turns and says for how many it stands.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/trace/trace.h"

namespace heddle::trace {

// keys::any.turns of an op in a turn that is held: for each loop around it, the outermost first, the number
// of the turn (equal numbers belong to one turn) and for how many turns it stands. Ops of different turns are
// never fused, also where each stands for itself.

/// Returns how many iterations, of all loops around it together, the op represents: 1 outside such loops.
double turns_of(const Op& op);
/// Returns the same as a whole number, at most 2^53.
std::uint64_t count_of_turns(const Op& op);

/// Whether both are parts of the same turns: only such ops may become one.
bool are_in_one_turn(const Op& a, const Op& b);

/// A turn that is held: the ops from `first` up to, not including, `last` are done `turns` times, one turn
/// after the other.
struct HeldTurn {
    std::size_t first = 0, last = 0;
    double turns = 1;
    bool operator==(const HeldTurn&) const = default;
};

/// All of a trace by their first ops, those of loops before those of the loops within them.
std::vector<HeldTurn> held_turns(const Trace& trace);

/// Throws heddle::Error that names the op when the attribute is not what it should be: pairs of a number and
/// of 1 to 2^53 turns, a turn's ops one behind the other, within one turn of the loop around it.
void check_turns(const Trace& trace);

}  // namespace heddle::trace
