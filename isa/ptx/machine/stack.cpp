#include "isa/ptx/machine/stack.h"

#include <algorithm>
#include <bit>

#include "isa/ptx/machine/calls.h"

namespace heddle::ptx {
namespace {

constexpr std::uint64_t kSmallestAlignment = 16;

std::uint64_t round_up(std::uint64_t value, std::uint64_t alignment) {
    return (value + alignment - 1) / alignment * alignment;
}

std::uint64_t bottom_of(const Cta::Implementation& cta) {
    const std::uint64_t frames = cta.program->functions.empty() ? 0 : cta.launch.stack_bytes;
    return round_up(round_up(cta.kernel->kernel.local_bytes, cta.program->frame_alignment) + frames,
                    kSmallestAlignment);
}

template <class T>
T* row(Warp::State& warp, std::uint32_t operand) {
    return reinterpret_cast<T*>(warp.bank[operand >> 31] + (operand & ~kConstantBank));
}

template <class Body>
void for_lanes(std::uint32_t mask, Body body) {
    for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1)
        body(static_cast<unsigned>(std::countr_zero(rest)));
}

// What grows is Warp::State::stack_bytes, the bytes taken of each lane.
template <class T>
void allocate(Warp::State& warp, const DecodedInstruction& i, std::uint32_t mask) {
    Cta::Implementation& cta = *warp.cta;
    const std::uint64_t bottom = bottom_of(cta),
                        alignment = std::max<std::uint64_t>(i.target, kSmallestAlignment);
    T* const result = row<T>(warp, i.operand[0]);
    const T* const size = row<T>(warp, i.operand[1]);
    std::uint64_t highest = 0;
    for_lanes(mask, [&](unsigned lane) {
        const std::uint64_t start = round_up(bottom + warp.stack_bytes[lane], alignment);
        const std::uint64_t available = bottom + cta.launch.stack_bytes;
        if (start > available || std::uint64_t{size[lane]} > available - start) {
            fail_running(warp, lane,
                         "alloca of " + std::to_string(size[lane]) + " bytes: the stack has " +
                             std::to_string(cta.launch.stack_bytes) + " bytes per thread",
                         "launch with a larger stack");
        }
        warp.stack_bytes[lane] = start + size[lane] - bottom;
        highest = std::max(highest, start + size[lane]);
        result[lane] = static_cast<T>(start);
    });
    grow_local_memory(cta, highest);
}

template <class T>
void save(Warp::State& warp, const DecodedInstruction& i, std::uint32_t mask) {
    const std::uint64_t bottom = bottom_of(*warp.cta);
    T* const result = row<T>(warp, i.operand[0]);
    for_lanes(mask, [&](unsigned lane) { result[lane] = static_cast<T>(bottom + warp.stack_bytes[lane]); });
}

template <class T>
void restore(Warp::State& warp, const DecodedInstruction& i, std::uint32_t mask) {
    const std::uint64_t bottom = bottom_of(*warp.cta);
    const T* const saved = row<T>(warp, i.operand[0]);
    for_lanes(mask, [&](unsigned lane) {
        if (saved[lane] < bottom || saved[lane] - bottom > warp.stack_bytes[lane])
            fail_running(warp, lane, "stackrestore of a value that stacksave did not give");
        warp.stack_bytes[lane] = saved[lane] - bottom;
    });
}

}  // namespace

Handler select_stack(const Instruction& n) {
    const bool wide = bits_of(n.type()) == 64;
    switch (n.opcode) {
        case Opcode::alloca:
            return wide ? allocate<std::uint64_t> : allocate<std::uint32_t>;
        case Opcode::stacksave:
            return wide ? save<std::uint64_t> : save<std::uint32_t>;
        case Opcode::stackrestore:
            return wide ? restore<std::uint64_t> : restore<std::uint32_t>;
        default:
            return nullptr;
    }
}

bool uses_stack(const Kernel& kernel) {
    return std::any_of(kernel.instructions.begin(), kernel.instructions.end(),
                       [](const Instruction& n) { return n.opcode == Opcode::alloca; });
}

}  // namespace heddle::ptx
