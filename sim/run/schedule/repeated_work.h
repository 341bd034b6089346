// Time in which work is done again and again, of which one turn is scheduled.
#pragma once

#include <cstddef>
#include <vector>

#include "sim/run/schedule/streams.h"

namespace heddle::sim {

/// From times of a schedule that holds one turn of each loop to times at which the same happens when each of
/// these turns is done as often as it stands for. Between the end of the work before a turn and the end of
/// the turn, time goes on as many times slower. A host that takes longer to hand out the turns than the
/// device to do them lets it wait, once its lead is used up; all of that waiting is put before the turn.
class StretchedTime {
  public:
    /// `repeated`: as schedule_streams() takes them.
    StretchedTime(const std::vector<StreamWork>& work, const std::vector<WorkTimes>& times,
                  const std::vector<RepeatedWork>& repeated);
    /// When something ends or begins: only what begins has waited.
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
