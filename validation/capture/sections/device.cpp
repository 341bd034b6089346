// What the device is, and the clock and power that it has at rest and under load.
#include <algorithm>
#include <chrono>
#include <exception>
#include <string>
#include <vector>

#include "validation/capture/section.h"

namespace heddle::capture {
namespace {

constexpr std::uint32_t kDeviceThreads = 256;
constexpr std::uint32_t kFmasPerTrip = 64;

/// Every thread of the device multiplies and adds: eight independent chains, so that the pipe is full.
std::string load_ptx() {
    std::string text = R"(.version 6.0
.target sm_70
.address_size 64
.visible .entry load(.param .u64 out, .param .u32 trips)
{
    .reg .pred %p;
    .reg .b32 %r<4>;
    .reg .b64 %rd<2>;
    .reg .f32 %f<10>;
    ld.param.u32 %r0, [trips];
    mov.u32 %r1, %tid.x;
    cvt.rn.f32.u32 %f8, %r1;
    mov.f32 %f9, 0f3F7FFFFF;
)";
    for (int chain = 0; chain < 8; ++chain)
        text += "    add.f32 %f" + std::to_string(chain) + ", %f8, 0f3F800000;\n";
    text += "LOOP:\n";
    const auto chain = [](std::uint32_t i) { return "%f" + std::to_string(i % 8); };
    for (std::uint32_t i = 0; i < kFmasPerTrip; ++i)
        text += "    fma.rn.f32 " + chain(i) + ", " + chain(i) + ", %f9, %f8;\n";
    text += R"(    sub.u32 %r0, %r0, 1;
    setp.ne.u32 %p, %r0, 0;
    @%p bra LOOP;
)";
    for (int chain = 1; chain < 8; ++chain)
        text += "    add.f32 %f0, %f0, %f" + std::to_string(chain) + ";\n";
    // A value that no chain reaches: the sums are kept by the compiler, and nothing is written.
    text += R"(    setp.ne.f32 %p, %f0, 0f00000001;
    @%p ret;
    ld.param.u64 %rd0, [out];
    st.global.f32 [%rd0], %f0;
    ret;
}
)";
    return text;
}

double seconds_from(std::chrono::steady_clock::time_point begin) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// Telemetry while the device computes, one record for each launch that was seen running.
std::vector<Record> under_load(Device& device, double seconds, std::uint32_t trips, std::size_t maximum) {
    const DeviceBuffer out(device, 256);
    Launch launch;
    launch.kernel = device.load(load_ptx(), "load");
    launch.grid = {device.sm_count() * 4, 1, 1};
    launch.block = {kDeviceThreads, 1, 1};
    launch.parameters = {parameter(out.address()), parameter(trips)};
    std::vector<Record> seen;
    const auto begin = std::chrono::steady_clock::now();
    do {
        for (int i = 0; i < 4; ++i) device.launch(launch);
        seen.push_back(device.telemetry());
        device.synchronise();
    } while (seconds_from(begin) < seconds && seen.size() < maximum);
    return seen;
}

/// Adds the record `id` that `make` gives, or what went wrong with it.
template <typename Make>
void add(SectionContext& context, const std::string& id, Make make) {
    if (context.journal.has(id)) return;
    Record record;
    std::exception_ptr lost;
    try {
        record = make();
    } catch (const DeviceError& error) {
        record.text("error", error.what());
        if (error.lost) lost = std::current_exception();
    }
    context.journal.add(id, record);
    if (lost) std::rethrow_exception(lost);
}

}  // namespace

bool capture_device(SectionContext& context) {
    Device& device = context.device;
    const bool full = context.extent == Extent::full;
    add(context, "description", [&] { return device.describe(); });
    add(context, "at rest", [&] { return device.telemetry(); });
    context.progress(0.2, "clocks and power under load");
    if (context.stop()) return false;
    // About 1.3e5 * 64 FMAs a thread: some 30 ms a launch on a GPU. A simulator gets a hundredth of a trip.
    const std::uint32_t trips = device.is_silicon() ? 131072 : 4;
    add(context, "under load",
        [&] { return Record().objects("telemetry", under_load(device, full ? 1.5 : 0.2, trips, 64)); });
    context.progress(0.9, "clocks and power after");
    add(context, "after load", [&] { return device.telemetry(); });
    return true;
}

}  // namespace heddle::capture
