// vprintf, __assertfail, malloc and free: what the CUDA device runtime supplies to kernels.
#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>

#include "isa/ptx/machine/calls.h"
#include "isa/ptx/machine/memory_slow_path.h"
#include "isa/ptx/machine/printf_format.h"

namespace heddle::ptx {
namespace {

constexpr std::size_t kMaximumText = std::size_t{1} << 20;

// One thread's view of memory through generic addresses.
class ThreadMemory {
  public:
    ThreadMemory(Warp::State& warp, unsigned lane) : warp_(warp), lane_(lane) {}

    void read(std::uint64_t address, std::size_t count, void* to) const {
        const std::byte* bytes = find(address, count);
        if (bytes == nullptr) fail(address);
        std::memcpy(to, bytes, count);
    }

    // A string that ends with zero, or its first `limit` characters.
    std::string text(std::uint64_t address, std::size_t limit) const {
        std::string result;
        while (result.size() < limit) {
            char character = 0;
            read(address + result.size(), 1, &character);
            if (character == 0) break;
            result += character;
            if (result.size() > kMaximumText) fail_running(warp_, lane_, "a string without an end");
        }
        return result;
    }

  private:
    const std::byte* find(std::uint64_t address, std::size_t count) const {
        Cta::Implementation& cta = *warp_.cta;
        const auto inside = [&](std::uint64_t window, std::size_t size) {
            return address >= window && address - window < size && count <= size - (address - window);
        };
        if (inside(kLocalWindow, cta.local_bytes)) {
            const std::size_t thread = std::size_t{warp_.index} * kWarpSize + lane_;
            return cta.local.data() + thread * cta.local_bytes + (address - kLocalWindow);
        }
        if (inside(kSharedWindow, cta.shared.size())) return cta.shared.data() + (address - kSharedWindow);
        const std::vector<std::byte>& constants = constant_bank_of(cta);
        if (inside(kConstantWindow, constants.size())) return constants.data() + (address - kConstantWindow);
        const Allocation* allocation = cta.launch.memory->find(address, count);
        if (allocation == nullptr || !allocation->backed) return nullptr;
        return allocation->data.data() + (address - allocation->base);
    }

    [[noreturn]] void fail(std::uint64_t address) const {
        char text[32];
        std::snprintf(text, sizeof(text), "0x%llx", static_cast<unsigned long long>(address));
        fail_running(warp_, lane_,
                     std::string("the device runtime reads address ") + text +
                         ", where there is no memory with values",
                     "", Error::Kind::out_of_bounds);
    }

    Warp::State& warp_;
    unsigned lane_;
};

class Runtime {
  public:
    Runtime(Warp::State& warp, const DecodedCall& call) : warp_(warp), call_(call) {}

    void perform(unsigned lane) {
        lane_ = lane;
        frame_ = caller_frame(warp_, call_, lane);
        switch (call_.runtime) {
            case RuntimeFunction::vprintf:
                return set_result(static_cast<std::uint32_t>(print()));
            case RuntimeFunction::assertfail:
                return fail_assertion();
            case RuntimeFunction::allocate:
                return set_result(allocate(argument(0), kAlignment));
            case RuntimeFunction::allocate_aligned:
                return set_result(allocate_aligned());
            case RuntimeFunction::release:
                return release(argument(0));
        }
    }

  private:
    static constexpr std::uint64_t kAlignment =
        16;  // CUDA C++ Programming Guide, "Dynamic Global Memory Allocation"

    std::uint64_t argument(std::size_t index) const {
        return read_value(warp_, call_.arguments[index], frame_, lane_);
    }
    void set_result(std::uint64_t value) { write_value(warp_, call_.results[0], frame_, lane_, value); }
    std::uint32_t line() const { return warp_.information[warp_.pc - 1].line; }

    // The number of arguments, or -1 without a format.
    std::int32_t print() {
        const ThreadMemory memory(warp_, lane_);
        if (argument(0) == 0) return -1;
        const std::string format = memory.text(argument(0), kMaximumText);
        std::uint64_t next = call_.silent ? 0 : argument(1);
        PrintfSource source;
        source.argument = [&](unsigned bytes) -> std::uint64_t {
            if (call_.silent) return 0;
            next = (next + bytes - 1) / bytes * bytes;
            std::uint64_t value = 0;
            memory.read(next, bytes, &value);
            next += bytes;
            return value;
        };
        source.text = [&](std::uint64_t address, std::size_t limit) -> std::string {
            if (call_.silent) return "";
            return address == 0 ? "(null)" : memory.text(address, limit);
        };
        const Printed printed = format_printf(format, source);
        if (!printed.problem.empty()) {
            fail_running(warp_, lane_, "printf does not know the conversion " + printed.problem,
                         "in the format \"" + format + "\"");
        }
        const auto& sink = warp_.cta->launch.print;
        if (call_.silent) return static_cast<std::int32_t>(printed.arguments);
        if (sink)
            sink(printed.text);
        else
            std::fwrite(printed.text.data(), 1, printed.text.size(), stdout);
        return static_cast<std::int32_t>(printed.arguments);
    }

    [[noreturn]] void fail_assertion() const {
        const ThreadMemory memory(warp_, lane_);
        const auto text = [&](std::size_t index) {
            return argument(index) == 0 ? std::string() : memory.text(argument(index), kMaximumText);
        };
        const Dim3& block = warp_.cta->launch.block;
        const std::uint32_t thread = warp_.index * kWarpSize + lane_;
        fail_running(warp_, lane_,
                     text(1) + ":" + std::to_string(static_cast<std::uint32_t>(argument(2))) + ": " +
                         text(3) + ": thread (" + std::to_string(thread % block.x) + ", " +
                         std::to_string(thread / block.x % block.y) + ", " +
                         std::to_string(thread / block.x / block.y) + "): assertion `" + text(0) +
                         "` failed",
                     "", Error::Kind::assertion);
    }

    // nullptr when there is no room.
    std::uint64_t allocate(std::uint64_t bytes, std::uint64_t alignment) {
        const std::string name = "malloc of line " + std::to_string(line());
        return warp_.cta->launch.memory->allocate_heap(name, bytes, alignment, warp_.cta->launch.heap_bytes);
    }

    std::uint64_t allocate_aligned() {
        const std::uint64_t alignment = argument(1);
        if (!std::has_single_bit(alignment)) return 0;
        return allocate(argument(0), std::max(alignment, kAlignment));
    }

    void release(std::uint64_t address) {
        if (address == 0) return;
        const HeapRelease result = warp_.cta->launch.memory->release_heap(address);
        if (result == HeapRelease::released) return;
        fail_running(warp_, lane_,
                     result == HeapRelease::twice ? "free of memory that has been freed already"
                                                  : "free of an address that malloc did not return");
    }

    Warp::State& warp_;
    const DecodedCall& call_;
    unsigned lane_ = 0;
    std::uint64_t frame_ = 0;
};

}  // namespace

void call_runtime(Warp::State& warp, const DecodedCall& call, std::uint32_t mask) {
    Runtime runtime(warp, call);
    for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1)
        runtime.perform(static_cast<unsigned>(std::countr_zero(rest)));
}

}  // namespace heddle::ptx
