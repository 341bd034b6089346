#include "sim/machine/kinds.h"

#include <algorithm>
#include <utility>

namespace heddle::sim {
namespace {

std::vector<MachineKind>& kinds() {
    static std::vector<MachineKind> all;
    return all;
}

}  // namespace

void add_machine_kind(MachineKind kind) {
    std::erase_if(kinds(), [&](const MachineKind& known) { return known.kind == kind.kind; });
    const auto place = std::find_if(kinds().begin(), kinds().end(),
                                    [&](const MachineKind& known) { return known.kind > kind.kind; });
    kinds().insert(place, std::move(kind));
}

const std::vector<MachineKind>& machine_kinds() {
    return kinds();
}

}  // namespace heddle::sim
