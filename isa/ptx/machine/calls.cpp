#include "isa/ptx/machine/calls.h"

#include <bit>
#include <cstring>

namespace heddle::ptx {
namespace {

std::byte* local_bytes(const Warp::State& warp, unsigned lane, std::uint64_t offset) {
    Cta::Implementation& cta = *warp.cta;
    return cta.local.data() + (std::size_t{warp.index} * kWarpSize + lane) * cta.local_bytes + offset;
}

void call(Warp::State& warp, const DecodedInstruction& i, std::uint32_t mask) {
    const DecodedCall& site = warp.cta->program->calls[i.target];
    if (site.kind == CallSite::Kind::runtime) return call_runtime(warp, site, mask);
    fail_running(warp, static_cast<unsigned>(std::countr_zero(mask)),
                 "calls of functions that are not copied in place are not supported");
}

}  // namespace

std::uint64_t caller_frame(const Warp::State& warp, const DecodedCall& call, unsigned lane) {
    if (call.caller < 0) return 0;
    const DecodedFunction& function = warp.cta->program->functions[static_cast<std::size_t>(call.caller)];
    return read_value(warp, function.frame, 0, lane);
}

std::uint64_t read_value(const Warp::State& warp, const ValuePlace& place, std::uint64_t frame,
                         unsigned lane) {
    std::uint64_t value = 0;
    if (place.local) {
        std::memcpy(&value, local_bytes(warp, lane, frame + place.offset), place.bytes);
    } else if (place.row != ValuePlace::kNoRow) {
        std::memcpy(&value, warp.bank[0] + place.row + lane * (place.wide ? 8 : 4), place.bytes);
    }
    return value;
}

void write_value(Warp::State& warp, const ValuePlace& place, std::uint64_t frame, unsigned lane,
                 std::uint64_t value) {
    if (place.local) {
        std::memcpy(local_bytes(warp, lane, frame + place.offset), &value, place.bytes);
    } else if (place.row != ValuePlace::kNoRow) {
        const std::size_t size = place.wide ? 8 : 4;
        std::memcpy(warp.bank[0] + place.row + lane * size, &value, size);
    }
}

Handler select_call(const Instruction& instruction) {
    if (instruction.opcode == Opcode::call) return call;
    return nullptr;
}

}  // namespace heddle::ptx
