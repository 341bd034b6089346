#include "isa/ptx/machine/calls.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>

#include "isa/ptx/machine/paths.h"
#include "isa/ptx/names.h"

namespace heddle::ptx {
namespace {

std::byte* local_bytes(const Warp::State& warp, unsigned lane, std::uint64_t offset) {
    Cta::Implementation& cta = *warp.cta;
    return cta.local.data() + (std::size_t{warp.index} * kWarpSize + lane) * cta.local_bytes + offset;
}

std::uint64_t round_up(std::uint64_t value, std::uint64_t alignment) {
    return (value + alignment - 1) / alignment * alignment;
}

// Lanes that call one function together.
class FunctionCall {
  public:
    FunctionCall(Warp::State& warp, std::uint32_t call, std::uint32_t function, std::uint32_t lanes)
        : warp_(warp),
          call_(call),
          function_(function),
          site_(warp.cta->program->calls[call]),
          callee_(warp.cta->program->functions[function]),
          lanes_(lanes) {}

    void perform(std::uint32_t return_pc) {
        find_frames();
        read_arguments();
        const std::uint16_t frame = add_frame(return_pc);
        write_arguments();
        begin_call(warp_, lanes_, frame, callee_.first_instruction);
    }

  private:
    template <class Body>
    void for_lanes(Body body) const {
        for (std::uint32_t rest = lanes_; rest != 0; rest &= rest - 1)
            body(static_cast<unsigned>(std::countr_zero(rest)));
    }

    // The callee's local variables lie behind the caller's.
    void find_frames() {
        const Cta::Implementation& cta = *warp_.cta;
        const std::uint64_t kernel_bytes =
            round_up(cta.kernel->kernel.local_bytes, cta.program->frame_alignment);
        const std::uint64_t caller_bytes =
            site_.caller < 0 ? kernel_bytes
                             : cta.program->functions[static_cast<std::size_t>(site_.caller)].frame_bytes;
        std::uint64_t end = 0;
        for_lanes([&](unsigned lane) {
            from_[lane] = caller_frame(warp_, site_, lane);
            to_[lane] = from_[lane] + caller_bytes;
            end = std::max(end, to_[lane] + callee_.frame_bytes);
        });
        if (end - kernel_bytes > cta.launch.stack_bytes) {
            fail_running(warp_, static_cast<unsigned>(std::countr_zero(lanes_)),
                         "stack overflow in function " + demangle(callee_.name) + ": more than " +
                             std::to_string(cta.launch.stack_bytes) + " bytes per thread",
                         "does it call itself for ever? Else launch with a larger stack");
        }
        grow_local_memory(*warp_.cta, end);
    }

    // All are read before one is written: a function that calls itself reads from the rows it writes to.
    void read_arguments() {
        values_.resize(site_.arguments.size());
        for (std::size_t a = 0; a < values_.size(); ++a) {
            if (site_.arguments[a].bytes > sizeof(std::uint64_t)) continue;
            for_lanes([&](unsigned lane) {
                values_[a][lane] = read_value(warp_, site_.arguments[a], from_[lane], lane);
            });
        }
    }

    void write_arguments() {
        for_lanes([&](unsigned lane) { write_value(warp_, callee_.frame, 0, lane, to_[lane]); });
        for (std::size_t a = 0; a < values_.size(); ++a) {
            const ValuePlace& place = callee_.arguments[a];
            const bool small = place.bytes <= sizeof(std::uint64_t);
            for_lanes([&](unsigned lane) {
                if (small)
                    write_value(warp_, place, to_[lane], lane, values_[a][lane]);
                else
                    std::memcpy(local_bytes(warp_, lane, to_[lane] + place.offset),
                                local_bytes(warp_, lane, from_[lane] + site_.arguments[a].offset),
                                place.bytes);
            });
        }
    }

    std::uint16_t add_frame(std::uint32_t return_pc) {
        const auto unused = std::find_if(warp_.frames.begin(), warp_.frames.end(),
                                         [](const CallFrame& frame) { return !frame.used; });
        const auto index = static_cast<std::uint16_t>(unused - warp_.frames.begin());
        if (unused == warp_.frames.end()) {
            if (warp_.frames.size() >= kNoFrame)
                fail_running(warp_, static_cast<unsigned>(std::countr_zero(lanes_)),
                             "too many calls are open at once");
            warp_.frames.emplace_back();
        }
        CallFrame& frame = warp_.frames[index];
        frame.used = true;
        frame.call = call_;
        frame.function = function_;
        frame.return_pc = return_pc;
        const std::byte* rows = warp_.bank[0];
        frame.saved.clear();
        if (callee_.recursive) frame.saved.assign(rows + callee_.first_row, rows + callee_.end_row);
        return index;
    }

    Warp::State& warp_;
    std::uint32_t call_, function_;
    const DecodedCall& site_;
    const DecodedFunction& callee_;
    std::uint32_t lanes_;
    std::array<std::uint64_t, kWarpSize> from_{}, to_{};  // frames of caller and callee
    std::vector<std::array<std::uint64_t, kWarpSize>> values_;
};

// The function that a pointer points to, with the arguments of this call.
std::uint32_t find_function(const Warp::State& warp, const DecodedCall& site, unsigned lane) {
    std::uint64_t address = 0;
    std::memcpy(&address, warp.bank[0] + site.pointer + lane * sizeof(address), sizeof(address));
    const std::vector<DecodedFunction>& functions = warp.cta->program->functions;
    for (std::uint32_t f = 0; f < functions.size(); ++f) {
        if (functions[f].address == address && functions[f].result_bytes == site.result_bytes &&
            functions[f].argument_bytes == site.argument_bytes) {
            return f;
        }
    }
    char text[32];
    std::snprintf(text, sizeof(text), "0x%llx", static_cast<unsigned long long>(address));
    fail_running(warp, lane,
                 std::string("a call through the pointer ") + text +
                     ", which points to no function with such arguments and results",
                 "only functions of the kernel's module can be called");
}

void call_through_pointer(Warp::State& warp, std::uint32_t call, std::uint32_t lanes) {
    const DecodedCall& site = warp.cta->program->calls[call];
    std::vector<std::pair<std::uint32_t, std::uint32_t>> targets;  // function, lanes
    for (std::uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
        const auto lane = static_cast<unsigned>(std::countr_zero(rest));
        const std::uint32_t function = find_function(warp, site, lane);
        const auto known = std::find_if(targets.begin(), targets.end(),
                                        [&](const auto& target) { return target.first == function; });
        if (known == targets.end())
            targets.emplace_back(function, 1u << lane);
        else
            known->second |= 1u << lane;
    }
    const std::uint32_t return_pc = warp.pc;
    if (targets.size() > 1) open_meeting(warp, return_pc);
    // The last one runs first; the others become paths that wait for their turn.
    for (const auto& [function, together] : targets)
        FunctionCall(warp, call, function, together).perform(return_pc);
}

void call(Warp::State& warp, const DecodedInstruction& i, std::uint32_t mask) {
    const DecodedCall& site = warp.cta->program->calls[i.target];
    switch (site.kind) {
        case CallSite::Kind::runtime:
            return call_runtime(warp, site, mask);
        case CallSite::Kind::pointer:
            return call_through_pointer(warp, i.target, mask);
        case CallSite::Kind::function:
            return FunctionCall(warp, i.target, site.function, mask).perform(warp.pc);
    }
}

void return_from_function(Warp::State& warp, const DecodedInstruction&, std::uint32_t mask) {
    return_from_call(warp, mask);
}

// Puts the lanes of `lanes` back into a function's rows.
void restore_rows(Warp::State& warp, const DecodedFunction& function, const std::vector<std::byte>& saved,
                  std::uint32_t lanes) {
    const auto each_lane = [&](std::size_t row, std::size_t size) {
        for (std::uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
            const std::size_t at = row + static_cast<std::size_t>(std::countr_zero(rest)) * size;
            std::memcpy(warp.bank[0] + at, saved.data() + (at - function.first_row), size);
        }
    };
    for (std::size_t row = function.first_row; row < function.first_narrow_row; row += kPredicateRow) {
        std::uint32_t now = 0, before = 0;
        std::memcpy(&now, warp.bank[0] + row, sizeof(now));
        std::memcpy(&before, saved.data() + (row - function.first_row), sizeof(before));
        now = (now & ~lanes) | (before & lanes);
        std::memcpy(warp.bank[0] + row, &now, sizeof(now));
    }
    for (std::size_t row = function.first_narrow_row; row < function.first_wide_row; row += kNarrowRow)
        each_lane(row, 4);
    for (std::size_t row = function.first_wide_row; row < function.end_row; row += kWideRow)
        each_lane(row, 8);
}

}  // namespace

void grow_local_memory(Cta::Implementation& cta, std::uint64_t needed) {
    if (needed <= cta.local_bytes) return;
    const std::uint64_t old_bytes = cta.local_bytes;
    const std::uint64_t new_bytes =
        std::min(std::max(needed, 2 * old_bytes), std::max(needed, cta.local_stride));
    const std::size_t threads = cta.warps.size() * kWarpSize;
    std::vector<std::byte> grown(threads * new_bytes);
    for (std::size_t t = 0; t < threads && old_bytes != 0; ++t)
        std::memcpy(grown.data() + t * new_bytes, cta.local.data() + t * old_bytes, old_bytes);
    cta.local = std::move(grown);
    cta.local_bytes = static_cast<std::uint32_t>(new_bytes);
}

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

std::uint32_t finish_call(Warp::State& warp, std::uint16_t index, std::uint32_t lanes, bool last) {
    CallFrame& frame = warp.frames[index];
    const DecodedCall& site = warp.cta->program->calls[frame.call];
    const DecodedFunction& callee = warp.cta->program->functions[frame.function];
    std::vector<std::array<std::uint64_t, kWarpSize>> values(site.results.size());
    std::array<std::uint64_t, kWarpSize> from{};
    const auto for_lanes = [&](auto body) {
        for (std::uint32_t rest = lanes; rest != 0; rest &= rest - 1)
            body(static_cast<unsigned>(std::countr_zero(rest)));
    };
    for_lanes([&](unsigned lane) {
        from[lane] = read_value(warp, callee.frame, 0, lane);
        for (std::size_t r = 0; r < values.size(); ++r) {
            if (callee.results[r].bytes <= sizeof(std::uint64_t))
                values[r][lane] = read_value(warp, callee.results[r], from[lane], lane);
        }
    });
    if (!frame.saved.empty()) restore_rows(warp, callee, frame.saved, lanes);
    for_lanes([&](unsigned lane) {
        const std::uint64_t to = caller_frame(warp, site, lane);
        for (std::size_t r = 0; r < values.size(); ++r) {
            const ValuePlace& place = site.results[r];
            if (place.bytes <= sizeof(std::uint64_t))
                write_value(warp, place, to, lane, values[r][lane]);
            else
                std::memcpy(local_bytes(warp, lane, to + place.offset),
                            local_bytes(warp, lane, from[lane] + callee.results[r].offset), place.bytes);
        }
    });
    if (last) frame.used = false;
    return frame.return_pc;
}

Handler select_call(const Instruction& instruction) {
    if (instruction.opcode == Opcode::call) return call;
    if (instruction.opcode == Opcode::ret && !instruction.operands.empty()) return return_from_function;
    return nullptr;
}

}  // namespace heddle::ptx
