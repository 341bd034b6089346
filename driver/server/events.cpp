// What bounds time: events, waits, streams, ranges of NVTX and the profiler's switch.
#include <algorithm>
#include <cstring>

#include "driver/server/virtual_gpu.h"
#include "isa/common/error.h"

namespace heddle::driver {
namespace {

std::uint32_t device_of(std::uint32_t stream) {
    return stream >> kDeviceShift;
}

}  // namespace

void VirtualGpu::record_event(Reader& content, Answer&) {
    const auto event = content.get<std::uint32_t>();
    const auto stream = content.get<std::uint32_t>();
    timeline(stream).record(event, stream);
    event_devices_[event] = device_of(stream);
}

void VirtualGpu::wait_event(Reader& content, Answer&) {
    const auto stream = content.get<std::uint32_t>();
    last_launches_.erase(stream);
    wait(stream, content.get<std::uint32_t>());
}

// A value that a stream writes is an event for those that wait for it. It takes no time of its own.
void VirtualGpu::write_value(Reader& content, Answer&) {
    const auto stream = content.get<std::uint32_t>();
    const auto address = content.get<std::uint64_t>();
    const auto value = content.get<std::uint64_t>();
    const auto bytes = content.get<std::uint32_t>();
    std::byte written[sizeof value];
    std::memcpy(written, &value, sizeof value);
    memory_.write(address, {written, bytes == 8 ? 8u : 4u});
    // Numbers of the program's events count up from below.
    const auto [event, is_new] = value_events_.try_emplace(address, ~static_cast<std::uint32_t>(value_events_.size()));
    timeline(stream).record(event->second, stream);
    event_devices_[event->second] = device_of(stream);
}

void VirtualGpu::wait_value(Reader& content, Answer&) {
    const auto stream = content.get<std::uint32_t>();
    const auto event = value_events_.find(content.get<std::uint64_t>());
    last_launches_.erase(stream);
    if (event != value_events_.end()) wait(stream, event->second);
}

void VirtualGpu::synchronise(Reader& content, Answer&) {
    const auto all = content.get<std::uint32_t>();
    const auto stream = content.get<std::uint32_t>();
    if (all == 0)
        timeline(stream).synchronise(stream);
    else
        timeline(stream).synchronise_all();
}

void VirtualGpu::wait_host(Reader& content, Answer&) {
    const auto event = content.get<std::uint32_t>();
    timelines_[event_devices_[event]].synchronise_event(event);
}

void VirtualGpu::non_blocking(Reader& content, Answer&) {
    const auto stream = content.get<std::uint32_t>();
    timeline(stream).set_non_blocking(stream);
}

void VirtualGpu::profiler(Reader& content, Answer&) {
    profiling_ = content.get<std::uint32_t>() != 0;
}

void VirtualGpu::elapsed(Reader& content, Answer& answer) {
    const auto from = content.get<std::uint32_t>(), to = content.get<std::uint32_t>();
    const std::uint32_t device = event_devices_[from];
    if (device != event_devices_[to] || !timelines_[device].is_recorded(from) || !timelines_[device].is_recorded(to)) {
        answer.status = Status::invalid_handle;
        return;
    }
    answer.content.put(static_cast<float>(timelines_[device].elapsed(from, to)));
}

// A range ends what began last in its thread, as NVTX has it; one that was started ends by its id, in any thread.
void VirtualGpu::range(Reader& content, Answer&) {
    const auto action = content.get<std::uint32_t>();
    const auto id = content.get<std::uint64_t>();
    const auto thread = content.get<std::uint32_t>();
    const bool begins = action == 0 || action == 2;
    if (begins) {
        ranges_.push_back({thread, id, std::string(content.get_text())});
        seen_ranges_.insert(ranges_.back().name);
        return;
    }
    const auto found = std::find_if(ranges_.rbegin(), ranges_.rend(), [&](const Range& range) {
        return action == 1 ? range.id == 0 && range.thread == thread : range.id == id;
    });
    if (found != ranges_.rend()) ranges_.erase(std::next(found).base());
}

bool VirtualGpu::in_range() const {
    return std::any_of(ranges_.begin(), ranges_.end(), [&](const Range& range) { return range.name == options_.range; });
}

std::string VirtualGpu::innermost_range() const {
    return ranges_.empty() ? "" : ranges_.back().name;
}

DeviceTimeline& VirtualGpu::timeline(std::uint32_t stream) {
    const std::uint32_t device = device_of(stream);
    if (device >= timelines_.size()) throw Error("there is no device " + std::to_string(device));
    return timelines_[device];
}

// Devices have clocks of their own: one that waits for another goes on when that has done all that it was given.
void VirtualGpu::wait(std::uint32_t stream, std::uint32_t event) {
    const auto from = event_devices_.find(event);
    if (from == event_devices_.end()) return;  // as CUDA has it: what was never recorded is waited for in no time
    DeviceTimeline& waiting = timeline(stream);
    if (from->second == device_of(stream)) {
        waiting.wait(stream, event);
    } else {
        timelines_[from->second].synchronise_all();
        waiting.begin_no_earlier(timelines_[from->second].now_us());
    }
}

}  // namespace heddle::driver
