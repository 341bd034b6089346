#include "models/tpu/unit_statistics.h"

namespace heddle::models {

const char* name_of(UnitState state) {
    switch (state) {
        case UnitState::empty:
            return "no instruction";
        case UnitState::working:
            return "working";
        case UnitState::sync_flag:
            return "sync flag";
        case UnitState::weights:
            return "weights";
        case UnitState::weight_shift:
            return "weight shift";
        case UnitState::accumulator:
            return "accumulator";
        case UnitState::on_chip_memory:
            return "on-chip memory";
        case UnitState::outstanding:
            return "outstanding transfers";
        case UnitState::queue_full:
            return "queue full";
        case UnitState::results:
            return "RAW";
        case UnitState::input:
            return "input";
        case UnitState::transfer:
            return "DMA";
    }
    return "?";
}

SignalDeclaration state_signal(const std::string& name, const std::string& unit) {
    std::string states;
    for (std::size_t i = 0; i < kUnitStates; ++i)
        states += (i == 0 ? "" : ", ") + std::to_string(i) + " " + name_of(static_cast<UnitState>(i));
    return {name, 4, "", "What " + unit + " does or waits for: " + states + "."};
}

}  // namespace heddle::models
