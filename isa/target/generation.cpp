#include "isa/target/generation.h"

#include <algorithm>
#include <array>
#include <stdexcept>

#include "isa/target/generations/ada.h"
#include "isa/target/generations/ampere.h"
#include "isa/target/generations/blackwell.h"
#include "isa/target/generations/hopper.h"
#include "isa/target/generations/rtx_blackwell.h"
#include "isa/target/generations/turing.h"
#include "isa/target/generations/volta.h"

namespace heddle::target {
namespace {

template <std::size_t... kCounts>
constexpr auto joined(const std::array<Generation, kCounts>&... files) {
    std::array<const Generation*, (kCounts + ...)> all{};
    std::size_t next = 0;
    const auto append = [&](const auto& rows) {
        for (const Generation& row : rows) all[next++] = &row;
    };
    (append(files), ...);
    return all;
}

constexpr auto kGenerations = joined(kVolta, kTuring, kAmpere, kAda, kHopper, kBlackwell, kRtxBlackwell);
static_assert(std::ranges::is_sorted(kGenerations, {}, &Generation::compute_capability));

}  // namespace

const Generation& Generation::volta = kVolta.front();
const Generation& Generation::turing = kTuring.front();
const Generation& Generation::ampere = kAmpere.front();
const Generation& Generation::ada = kAda.front();
const Generation& Generation::hopper = kHopper.front();
const Generation& Generation::blackwell = kBlackwell.front();
const Generation& Generation::rtx_blackwell = kRtxBlackwell.front();

std::span<const Generation* const> generations() {
    return kGenerations;
}

const Generation* find_generation(unsigned compute_capability) {
    for (const Generation* generation : kGenerations)
        if (generation->compute_capability == compute_capability) return generation;
    return nullptr;
}

const Generation& generation_of(unsigned compute_capability) {
    if (const Generation* generation = find_generation(compute_capability)) return *generation;
    throw std::invalid_argument("no GPU is known of compute capability " +
                                capability_text(compute_capability) + "; known are " + known_capabilities());
}

const Generation& nearest_generation(unsigned compute_capability) {
    const Generation* nearest = kGenerations.front();
    for (const Generation* generation : kGenerations)
        if (runs_ptx(compute_capability, generation->compute_capability)) nearest = generation;
    return *nearest;
}

unsigned first_with(Feature feature) {
    for (const Generation* generation : kGenerations)
        if (generation->*feature) return generation->compute_capability;
    return 0;
}

bool runs_ptx(unsigned compute_capability, unsigned ptx_target, bool architecture_specific) {
    return architecture_specific ? compute_capability == ptx_target : compute_capability >= ptx_target;
}

std::string specific_target(unsigned compute_capability) {
    return "sm_" + std::to_string(compute_capability) + "a";
}

std::string capability_text(unsigned compute_capability) {
    return std::to_string(compute_capability / 10) + "." + std::to_string(compute_capability % 10);
}

std::string known_capabilities() {
    std::string text;
    for (const Generation* generation : kGenerations) {
        if (!text.empty()) text += generation == kGenerations.back() ? " and " : ", ";
        text += capability_text(generation->compute_capability);
    }
    return text;
}

}  // namespace heddle::target
