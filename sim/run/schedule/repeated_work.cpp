#include "sim/run/schedule/repeated_work.h"

#include <algorithm>

namespace heddle::sim {

StretchedTime::StretchedTime(const std::vector<StreamWork>& work, const std::vector<WorkTimes>& times,
                             const std::vector<RepeatedWork>& repeated) {
    // By work: when all before it has ended, and how long the host has worked for that.
    std::vector<double> ended{0}, host{0};
    for (std::size_t i = 0; i < work.size(); ++i) {
        ended.push_back(std::max(ended[i], times[i].end_us));
        host.push_back(host[i] + work[i].host_us);
    }
    std::vector<std::size_t> outermost, open;
    for (std::size_t i = 0; i < repeated.size(); ++i) {
        const RepeatedWork& one = repeated[i];
        Turn turn;
        turn.begin = ended[one.first];
        turn.end = ended[one.last];
        turn.turns = one.turns;
        turn.length = turn.end - turn.begin;
        turn.host_us = host[one.last] - host[one.first];
        turns_.push_back(turn);
        while (!open.empty() && repeated[open.back()].last <= one.first) open.pop_back();
        (open.empty() ? outermost : turns_[open.back()].within).push_back(i);
        open.push_back(i);
    }
    // `lead`: of the host when the device begins with the first turn.
    const auto set_waiting = [](Turn& turn, double lead) {
        turn.waits_us =
            std::max(0.0, turn.turns * turn.host_us - std::max(lead, 0.0) - turn.turns * turn.length);
    };
    for (std::size_t i = turns_.size(); i-- > 0;) {
        for (const std::size_t inner : turns_[i].within) {
            const Turn& loop = turns_[inner];
            turns_[i].length += loop.total() - (loop.end - loop.begin);
            turns_[i].host_us += (loop.turns - 1) * loop.host_us;
        }
        set_waiting(turns_[i], 0);
    }
    double late = 0, host_late = 0;  // against the schedule, by the loops so far
    for (const std::size_t i : outermost) {
        Turn& turn = turns_[i];
        set_waiting(turn, turn.begin + late - host[repeated[i].first] - host_late);
        late += turn.total() - (turn.end - turn.begin);
        host_late += (turn.turns - 1) * turn.host_us;
        add_pieces(turn, 1);
    }
}

void StretchedTime::add_pieces(const Turn& turn, double slower) {
    pieces_.push_back({turn.begin, begin(turn.begin) + slower * turn.waits_us, slower * turn.turns});
    for (const std::size_t inner : turn.within) add_pieces(turns_[inner], slower * turn.turns);
    pieces_.push_back({turn.end, begin(turn.end), slower});
}

double StretchedTime::begin(double us) const {
    const auto behind = std::upper_bound(pieces_.begin() + 1, pieces_.end(), us,
                                         [](double time, const Piece& piece) { return time < piece.from; });
    const Piece& piece = *(behind - 1);
    return piece.to + (us - piece.from) * piece.slower;
}

double StretchedTime::end(double us) const {
    const auto behind = std::lower_bound(pieces_.begin() + 1, pieces_.end(), us,
                                         [](const Piece& piece, double time) { return piece.from < time; });
    const Piece& piece = *(behind - 1);
    return piece.to + (us - piece.from) * piece.slower;
}

}  // namespace heddle::sim
