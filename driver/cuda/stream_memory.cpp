// Streams that wait for values in memory, and write them. Everything else that a program asks for is carried out when it asks; a stream that waits for a value
// that is not there yet holds what comes behind, and each later call of the program, and each wait of the host, looks whether it can go on.
#include <sched.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "driver/cuda/per_thread.h"
#include "driver/cuda/state.h"

using namespace heddle::driver;

#define HEDDLE_CALL                                                  \
    const std::lock_guard<std::recursive_mutex> lock(Client::get().mutex); \
    if (const CUresult status = ready(); status != CUDA_SUCCESS) return status

namespace heddle::driver {
namespace {

/// Streams that hold something, in the order in which they began to.
std::vector<Stream*>& holding() {
    static auto* const all = new std::vector<Stream*>;
    return *all;
}

bool going_on = false;

bool is_legacy(const Stream& stream) {
    return (stream.number & ((1u << kDeviceShift) - 1)) == 0;
}

/// Whether another stream holds what this one runs after: the default stream and those that block with it.
bool waits_for_another(const Stream& stream) {
    return std::any_of(holding().begin(), holding().end(), [&](const Stream* other) {
        if (other == &stream || other->number >> kDeviceShift != stream.number >> kDeviceShift) return false;
        return is_legacy(stream) ? (other->flags & 1) == 0 : is_legacy(*other) && (stream.flags & 1) == 0;
    });
}

/// Lets other threads of the program call, and looks again.
template <class Done>
CUresult wait_until(Done done) {
    Client& client = Client::get();
    for (;;) {
        if (const CUresult status = go_on_with_held(); status != CUDA_SUCCESS) return status;
        if (done()) return CUDA_SUCCESS;
        client.mutex.unlock();
        sched_yield();
        client.mutex.lock();
    }
}

}  // namespace

bool holds(const Stream& stream) {
    return !holding().empty() && (!stream.held.empty() || waits_for_another(stream));
}

CUresult hold(Stream& stream, std::function<bool()> is_ready, Work work) {
    if (stream.held.empty()) {
        // The order of the default stream and of others is that in which they began to hold.
        if (waits_for_another(stream)) {
            const std::vector<Stream*> others = holding();
            is_ready = [others, &stream, is_ready = std::move(is_ready)] {
                const bool free = std::none_of(others.begin(), others.end(), [&](const Stream* other) {
                    return other != &stream && std::find(holding().begin(), holding().end(), other) != holding().end();
                });
                return free && (!is_ready || is_ready());
            };
        }
        holding().push_back(&stream);
    }
    stream.held.push_back({std::move(is_ready), std::move(work)});
    return CUDA_SUCCESS;
}

CUresult go_on_with_held() {
    if (holding().empty() || going_on) return CUDA_SUCCESS;
    going_on = true;
    CUresult status = Client::get().flush();
    for (bool moved = true; moved && status == CUDA_SUCCESS;) {
        moved = false;
        const std::vector<Stream*> streams = holding();
        for (Stream* const stream : streams) {
            while (status == CUDA_SUCCESS && !stream->held.empty() && (!stream->held.front().ready || stream->held.front().ready())) {
                const Work work = std::move(stream->held.front().work);
                stream->held.pop_front();
                status = work(*stream);
                if (status == CUDA_SUCCESS) status = Client::get().flush();
                moved = true;
            }
            if (stream->held.empty()) std::erase(holding(), stream);
        }
    }
    going_on = false;
    return status;
}

CUresult wait_for_held(const Stream* stream) {
    if (holding().empty() || going_on) return CUDA_SUCCESS;
    const auto device = static_cast<std::uint32_t>(current_device());
    return wait_until([&] {
        return std::none_of(holding().begin(), holding().end(), [&](const Stream* one) { return stream != nullptr ? one == stream : one->number >> kDeviceShift == device; });
    });
}

CUresult wait_for_event(const Event& event) {
    return event.held == 0 ? CUDA_SUCCESS : wait_until([&] { return event.held == 0; });
}

}  // namespace heddle::driver

namespace {

struct Value {
    CUdeviceptr address;
    std::uint64_t value;
    unsigned bytes;
};

std::uint64_t read(const Value& at) {
    std::uint64_t value = 0;
    std::memcpy(&value, reinterpret_cast<const void*>(at.address), at.bytes);
    return value;
}

/// Conditions: 0 at least, in a circle; 1 equal; 2 a common bit; 3 a bit that neither has.
bool is_met(const Value& wanted, unsigned condition) {
    const std::uint64_t value = read(wanted);
    switch (condition) {
        case 0:
            return wanted.bytes == 4 ? static_cast<std::int32_t>(static_cast<std::uint32_t>(value) - static_cast<std::uint32_t>(wanted.value)) >= 0
                                     : static_cast<std::int64_t>(value - wanted.value) >= 0;
        case 1:
            return value == wanted.value;
        case 2:
            return (value & wanted.value) != 0;
        default:
            return (~(value | wanted.value) & (wanted.bytes == 4 ? 0xffffffffu : ~std::uint64_t{0})) != 0;
    }
}

/// The address that both sides have; 0: there is none, or it is no multiple of the size.
CUdeviceptr address_of(CUdeviceptr address, unsigned bytes) {
    if (const std::uint64_t registered = registered_address(reinterpret_cast<void*>(address)); registered != 0) address = registered;
    return address % bytes == 0 && is_shared(reinterpret_cast<void*>(address), bytes) ? address : 0;
}

CUresult write(CUstream stream, Value value, unsigned flags) {
    HEDDLE_CALL;
    value.address = address_of(value.address, value.bytes);
    if (value.address == 0 || flags > 1) return CUDA_ERROR_INVALID_VALUE;
    return submit(stream, 12, [value](Stream& on) { return Client::get().tell(Call::write_value, Writer().put(on.number).put(value.address).put(value.value).put(value.bytes)); });
}

CUresult wait(CUstream stream, Value value, unsigned flags) {
    HEDDLE_CALL;
    value.address = address_of(value.address, value.bytes);
    const unsigned condition = flags & ~(1u << 30);
    if (value.address == 0 || condition > 3) return CUDA_ERROR_INVALID_VALUE;
    const auto goes_on = [value](Stream& on) { return Client::get().tell(Call::wait_value, Writer().put(on.number).put(value.address)); };
    const auto is_ready = [value, condition] { return is_met(value, condition); };
    if (Stream& on = stream_of(stream); on.capture == nullptr) return hold(on, is_ready, goes_on) == CUDA_SUCCESS ? go_on_with_held() : CUDA_ERROR_UNKNOWN;
    // A graph goes on with its next node at once: it waits here, as the host does for a function of its own.
    return submit(stream, 12, [=](Stream& on) {
        if (const CUresult status = Client::get().flush(); status != CUDA_SUCCESS) return status;
        if (!is_ready()) return missing("a node of a graph that waits for a value that is not there yet");
        return goes_on(on);
    });
}

/// CUstreamBatchMemOpParams.
struct Operation {
    unsigned type;
    CUdeviceptr address;
    std::uint64_t value;
    unsigned flags;
    CUdeviceptr alias, rest;
};
static_assert(sizeof(Operation) == 48);

}  // namespace

HEDDLE_API CUresult cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr address, std::uint32_t value, unsigned flags) { return write(stream, {address, value, 4}, flags); }
HEDDLE_API CUresult cuStreamWriteValue64_v2(CUstream stream, CUdeviceptr address, std::uint64_t value, unsigned flags) { return write(stream, {address, value, 8}, flags); }
HEDDLE_API CUresult cuStreamWaitValue32_v2(CUstream stream, CUdeviceptr address, std::uint32_t value, unsigned flags) { return wait(stream, {address, value, 4}, flags); }
HEDDLE_API CUresult cuStreamWaitValue64_v2(CUstream stream, CUdeviceptr address, std::uint64_t value, unsigned flags) { return wait(stream, {address, value, 8}, flags); }
// Barriers and flushes: everything is carried out in order.
HEDDLE_API CUresult cuStreamBatchMemOp_v2(CUstream stream, unsigned count, const Operation* operations, unsigned flags) {
    if (operations == nullptr || count == 0 || count > 256 || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < count; ++i) {
        const Operation& one = operations[i];
        const bool wide = one.type == 4 || one.type == 5;
        const Value value{one.address, wide ? one.value : static_cast<std::uint32_t>(one.value), wide ? 8u : 4u};
        CUresult status = CUDA_SUCCESS;
        if (one.type == 1 || one.type == 4)
            status = wait(stream, value, one.flags);
        else if (one.type == 2 || one.type == 5)
            status = write(stream, value, one.flags);
        else if (one.type != 3 && one.type != 6)
            status = CUDA_ERROR_INVALID_VALUE;
        if (status != CUDA_SUCCESS) return status;
    }
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuStreamWriteValue32(CUstream stream, CUdeviceptr address, std::uint32_t value, unsigned flags) { return cuStreamWriteValue32_v2(stream, address, value, flags); }
HEDDLE_API CUresult cuStreamWriteValue64(CUstream stream, CUdeviceptr address, std::uint64_t value, unsigned flags) { return cuStreamWriteValue64_v2(stream, address, value, flags); }
HEDDLE_API CUresult cuStreamWaitValue32(CUstream stream, CUdeviceptr address, std::uint32_t value, unsigned flags) { return cuStreamWaitValue32_v2(stream, address, value, flags); }
HEDDLE_API CUresult cuStreamWaitValue64(CUstream stream, CUdeviceptr address, std::uint64_t value, unsigned flags) { return cuStreamWaitValue64_v2(stream, address, value, flags); }
HEDDLE_API CUresult cuStreamBatchMemOp(CUstream stream, unsigned count, const Operation* operations, unsigned flags) { return cuStreamBatchMemOp_v2(stream, count, operations, flags); }

// Also for the default streams of threads.
HEDDLE_PER_THREAD(cuStreamBatchMemOp, _ptsz)
HEDDLE_PER_THREAD(cuStreamBatchMemOp_v2, _ptsz)
HEDDLE_PER_THREAD(cuStreamWaitValue32, _ptsz)
HEDDLE_PER_THREAD(cuStreamWaitValue32_v2, _ptsz)
HEDDLE_PER_THREAD(cuStreamWaitValue64, _ptsz)
HEDDLE_PER_THREAD(cuStreamWaitValue64_v2, _ptsz)
HEDDLE_PER_THREAD(cuStreamWriteValue32, _ptsz)
HEDDLE_PER_THREAD(cuStreamWriteValue32_v2, _ptsz)
HEDDLE_PER_THREAD(cuStreamWriteValue64, _ptsz)
HEDDLE_PER_THREAD(cuStreamWriteValue64_v2, _ptsz)
