#include "validation/capture/section.h"

namespace heddle::capture {

std::span<const Section> sections() {
    // The most valuable first: a capture that is cut short has the facts that nothing else can give.
    static constexpr Section kSections[] = {
        {"device", "properties, versions, clocks and power at rest and under load", capture_device},
    };
    return kSections;
}

}  // namespace heddle::capture
