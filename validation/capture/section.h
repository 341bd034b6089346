// The parts of a capture, each of which can be asked for by itself and goes on where it was cut off.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "validation/capture/device.h"
#include "validation/capture/record.h"

namespace heddle::capture {

/// How much a section does.
enum class Extent : std::uint8_t {
    full,   ///< what a GPU is asked: the whole capture takes under 8 minutes on an H100
    quick,  ///< a few items of every kind, small: seconds, on a simulator too
};

/// What a section works with.
struct SectionContext {
    Device& device;
    Journal& journal;
    Extent extent = Extent::full;
    /// True when the section should stop after the present item: interrupted, or out of time.
    std::function<bool()> stop = [] { return false; };
    /// How far it has come, 0..1, and what it is doing.
    std::function<void(double, const std::string&)> progress = [](double, const std::string&) {};
};

struct Section {
    const char* name;         ///< "numerics": of the option and of the files
    const char* description;  ///< one line
    /// Adds the records that the journal lacks. Returns false when it was stopped before the end.
    bool (*run)(SectionContext& context);
};

/// All of them, in the order in which they run.
std::span<const Section> sections();

// Each in a file of its name in sections/.
bool capture_device(SectionContext& context);
bool capture_probes(SectionContext& context);
bool capture_order(SectionContext& context);
bool capture_numerics(SectionContext& context);
bool capture_kernels(SectionContext& context);
bool capture_timing(SectionContext& context);
bool capture_training(SectionContext& context);

}  // namespace heddle::capture
