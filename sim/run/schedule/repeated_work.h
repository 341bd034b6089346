// Time for loops of which a schedule contains a single iteration.
#pragma once

#include <cstddef>
#include <vector>

#include "sim/run/schedule/streams.h"

namespace heddle::sim {

/// Maps times of a schedule that contains one iteration of each loop to the times at which the same events
/// happen when every iteration is executed. Between the end of the work before an iteration and the
/// iteration's end, time advances as many times more slowly as there are iterations. Where the host takes
/// longer to launch the iterations than the device to execute them, the device waits once the host's lead is
/// used up; all of that waiting is placed before the iteration.
class StretchedTime {
  public:
    /// `repeated`: as schedule_streams() takes them.
    StretchedTime(const std::vector<StreamWork>& work, const std::vector<WorkTimes>& times,
                  const std::vector<RepeatedWork>& repeated);
    /// Converts the time at which something ends or begins. The two differ in that only what begins has
    /// waited for the host.
    double end(double us) const;
    double begin(double us) const;

  private:
    /// One turn in the schedule.
    struct Turn {
        double begin = 0, end = 0;
        double turns = 1;
        double length = 0;                ///< with all turns of the loops within it
        double host_us = 0;               ///< that the host works for it, the same
        double waits_us = 0;              ///< for the host, in all turns together
        std::vector<std::size_t> within;  ///< loops within it, in order

        double total() const { return turns * length + waits_us; }
    };
    /// From `from` on, which becomes `to`, time goes on `slower` times slower.
    struct Piece {
        double from = 0, to = 0, slower = 1;
    };
    void add_pieces(const Turn& turn, double slower);

    std::vector<Turn> turns_;
    std::vector<Piece> pieces_{{}};
};

}  // namespace heddle::sim
