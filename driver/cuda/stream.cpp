// Streams and events.
#include <algorithm>
#include <cstring>

#include "driver/cuda/per_thread.h"
#include "driver/cuda/state.h"

using namespace heddle::driver;

#define HEDDLE_CALL                                                  \
    const std::lock_guard<std::recursive_mutex> lock(Client::get().mutex); \
    if (const CUresult status = ready(); status != CUDA_SUCCESS) return status

namespace heddle::driver {

std::uint32_t numbered(std::uint32_t number) {
    return static_cast<std::uint32_t>(current_device()) << kDeviceShift | number;
}

std::uint32_t fresh_number() {
    static std::uint32_t next = 2;
    return next++;
}

namespace {

/// What the null stream means in this thread: its own default stream, or the legacy one.
thread_local bool null_is_own = false;

/// The default stream of this thread, on the current device.
Stream& stream_of_thread() {
    thread_local auto* const own = new std::map<CUdevice, Stream>;  // programs call until their very end
    Stream& chosen = (*own)[current_device()];
    if (chosen.number == 0) chosen.number = numbered(fresh_number());
    return chosen;
}

}  // namespace

Stream& stream_of(CUstream stream) {
    const auto name = reinterpret_cast<std::uintptr_t>(stream);
    if (name > 2) return *stream;
    if (name == 2 || (name == 0 && null_is_own)) return stream_of_thread();
    static auto* const defaults = new std::map<CUdevice, Stream>;
    Stream& chosen = (*defaults)[current_device()];
    chosen.number = numbered(0);
    return chosen;
}

CUresult submit(CUstream given, unsigned type, Work work) {
    Stream& stream = stream_of(given);
    if (stream.capture == nullptr) return holds(stream) ? hold(stream, nullptr, std::move(work)) : work(stream);
    Graph::Node& node = add_to(*stream.capture, type, std::move(work));
    node.after = std::move(stream.last);
    stream.last = {&node};
    return CUDA_SUCCESS;
}

}  // namespace heddle::driver

extern "C" int heddle_default_stream(int per_thread) {
    const bool before = null_is_own;
    null_is_own = per_thread != 0;
    return before;
}

namespace heddle::driver {

CUresult run_on_host(void (*function)(void*), void* data, const Stream& after) {
    const CUresult status = Client::get().synchronise(&after);
    if (status == CUDA_SUCCESS) function(data);
    return status;
}

}  // namespace heddle::driver

HEDDLE_API CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned flags, int priority) {
    HEDDLE_CALL;
    *stream = new Stream{numbered(fresh_number()), flags, std::min(0, std::max(-5, priority))};
    if ((flags & 1) != 0) return Client::get().tell(Call::non_blocking, Writer().put((*stream)->number));
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuStreamCreate(CUstream* stream, unsigned flags) { return cuStreamCreateWithPriority(stream, flags, 0); }
HEDDLE_API CUresult cuStreamDestroy_v2(CUstream stream) {
    HEDDLE_CALL;
    if (reinterpret_cast<std::uintptr_t>(stream) <= 2) return CUDA_ERROR_INVALID_HANDLE;
    if (const CUresult status = wait_for_held(stream); status != CUDA_SUCCESS) return status;
    if (stream->capture != nullptr) std::erase(stream->capture->capturing, stream);
    delete stream;
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuStreamDestroy(CUstream stream) { return cuStreamDestroy_v2(stream); }
HEDDLE_API CUresult cuStreamSynchronize(CUstream stream) {
    HEDDLE_CALL;
    if (stream_of(stream).capture != nullptr) return 900;  // CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
    return Client::get().synchronise(&stream_of(stream));
}
// Everything told before is done when an answer comes.
HEDDLE_API CUresult cuStreamQuery(CUstream stream) {
    HEDDLE_CALL;
    if (holds(stream_of(stream))) return CUDA_ERROR_NOT_READY;
    return Client::get().ask(Call::memory_info, Writer().put(std::uint32_t{0})).status;
}
HEDDLE_API CUresult cuStreamGetFlags(CUstream stream, unsigned* flags) {
    *flags = stream_of(stream).flags;
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuStreamGetPriority(CUstream stream, int* priority) {
    *priority = stream_of(stream).priority;
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuStreamGetId(CUstream stream, unsigned long long* id) {
    *id = stream_of(stream).number;
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuStreamGetCtx(CUstream, CUcontext* context) {
    *context = current_context();
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuStreamGetCtx_v2(CUstream stream, CUcontext* context, void** green) {
    if (green != nullptr) *green = nullptr;  // there are no green contexts
    return cuStreamGetCtx(stream, context);
}
HEDDLE_API CUresult cuStreamGetDevice(CUstream, CUdevice* device) {
    *device = current_device();
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuStreamAttachMemAsync(CUstream, CUdeviceptr, std::size_t, unsigned) {
    HEDDLE_CALL;
    return without_effect("cuStreamAttachMemAsync");
}

HEDDLE_API CUresult cuEventCreate(CUevent* event, unsigned flags) {
    HEDDLE_CALL;
    *event = new Event;
    (*event)->number = fresh_number();
    (*event)->timed = (flags & 2) == 0;
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuEventDestroy_v2(CUevent event) {
    HEDDLE_CALL;
    if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (const CUresult status = wait_for_event(*event); status != CUDA_SUCCESS) return status;
    delete event;
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuEventDestroy(CUevent event) { return cuEventDestroy_v2(event); }
HEDDLE_API CUresult cuEventRecord(CUevent event, CUstream stream) {
    HEDDLE_CALL;
    if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    Stream& on = stream_of(stream);
    event->capture = on.capture;
    event->last = on.last;
    if (on.capture != nullptr) return CUDA_SUCCESS;
    event->recorded = true;
    ++event->held;
    return submit(stream, 7, [event](Stream& of) {
        --event->held;
        return Client::get().tell(Call::record_event, Writer().put(event->number).put(of.number));
    });
}
HEDDLE_API CUresult cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned) { return cuEventRecord(event, stream); }
HEDDLE_API CUresult cuEventQuery(CUevent event) {
    HEDDLE_CALL;
    if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (event->held != 0) return CUDA_ERROR_NOT_READY;
    return Client::get().ask(Call::memory_info, Writer().put(std::uint32_t{0})).status;
}
HEDDLE_API CUresult cuEventSynchronize(CUevent event) {
    HEDDLE_CALL;
    if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (const CUresult status = wait_for_event(*event); status != CUDA_SUCCESS) return status;
    return Client::get().ask(Call::wait_host, Writer().put(event->number)).status;
}
HEDDLE_API CUresult cuEventElapsedTime_v2(float* milliseconds, CUevent from, CUevent to) {
    HEDDLE_CALL;
    if (from == nullptr || to == nullptr || !from->recorded || !to->recorded || !from->timed || !to->timed) return CUDA_ERROR_INVALID_HANDLE;
    if (from->held != 0 || to->held != 0) return CUDA_ERROR_NOT_READY;
    const Received received = Client::get().ask(Call::elapsed, Writer().put(from->number).put(to->number));
    *milliseconds = received.reader().get<float>();
    return received.status;
}
HEDDLE_API CUresult cuEventElapsedTime(float* milliseconds, CUevent from, CUevent to) { return cuEventElapsedTime_v2(milliseconds, from, to); }
HEDDLE_API CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned) {
    HEDDLE_CALL;
    if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    Stream& waiting = stream_of(stream);
    if (event->capture != nullptr) {
        if (!is_capturing(event->capture)) return CUDA_SUCCESS;  // the capture has ended
        // A stream that waits for one that is being captured is captured, too.
        if (waiting.capture == nullptr) {
            waiting.capture = event->capture;
            waiting.last.clear();
            event->capture->capturing.push_back(&waiting);
        }
        if (waiting.capture != event->capture) return 902;  // CUDA_ERROR_STREAM_CAPTURE_MERGE
        for (Graph::Node* const node : event->last)
            if (std::find(waiting.last.begin(), waiting.last.end(), node) == waiting.last.end()) waiting.last.push_back(node);
        return CUDA_SUCCESS;
    }
    if (!event->recorded) return CUDA_SUCCESS;
    const auto work = [event](Stream& of) { return Client::get().tell(Call::wait_event, Writer().put(of.number).put(event->number)); };
    if (event->held == 0 && !holds(waiting)) return work(waiting);
    return hold(waiting, [event] { return event->held == 0; }, work);
}
HEDDLE_API CUresult cuLaunchHostFunc(CUstream stream, void (*function)(void*), void* data) {
    const std::unique_lock<std::recursive_mutex> lock(Client::get().mutex);
    if (const CUresult status = ready(); status != CUDA_SUCCESS) return status;
    if (Stream& on = stream_of(stream); on.capture != nullptr) {
        submit(stream, 3, nullptr);
        return on.last.front()->set_host({function, data});
    }
    return submit(stream, 3, [=](Stream& on) { return run_on_host(function, data, on); });
}
HEDDLE_API CUresult cuStreamAddCallback(CUstream stream, void (*function)(CUstream, CUresult, void*), void* data, unsigned) {
    HEDDLE_CALL;
    return submit(stream, 3, [=](Stream& on) {
        const CUresult status = Client::get().synchronise(&on);
        function(stream, status, data);
        return status;
    });
}

HEDDLE_API CUresult cuThreadExchangeStreamCaptureMode(int*) { return CUDA_SUCCESS; }

// Also for the default streams of threads.
HEDDLE_PER_THREAD(cuEventRecord, _ptsz)
HEDDLE_PER_THREAD(cuEventRecordWithFlags, _ptsz)
HEDDLE_PER_THREAD(cuLaunchHostFunc, _ptsz)
HEDDLE_PER_THREAD(cuStreamAddCallback, _ptsz)
HEDDLE_PER_THREAD(cuStreamAttachMemAsync, _ptsz)
HEDDLE_PER_THREAD(cuStreamGetCtx, _ptsz)
HEDDLE_PER_THREAD(cuStreamGetCtx_v2, _ptsz)
HEDDLE_PER_THREAD(cuStreamGetDevice, _ptsz)
HEDDLE_PER_THREAD(cuStreamGetFlags, _ptsz)
HEDDLE_PER_THREAD(cuStreamGetId, _ptsz)
HEDDLE_PER_THREAD(cuStreamGetPriority, _ptsz)
HEDDLE_PER_THREAD(cuStreamQuery, _ptsz)
HEDDLE_PER_THREAD(cuStreamSynchronize, _ptsz)
HEDDLE_PER_THREAD(cuStreamWaitEvent, _ptsz)
