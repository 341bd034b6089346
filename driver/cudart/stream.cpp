// Streams and events, as the runtime names them.
#include "driver/cuda/per_thread.h"
#include "driver/cudart/runtime.h"

using namespace heddle::runtime;

HEDDLE_PASS(cudaStreamCreateWithPriority, (CUstream* stream, unsigned flags, int priority), cuStreamCreateWithPriority(stream, flags, priority))
HEDDLE_API cudaError_t cudaStreamCreateWithFlags(CUstream* stream, unsigned flags) { return cudaStreamCreateWithPriority(stream, flags, 0); }
HEDDLE_API cudaError_t cudaStreamCreate(CUstream* stream) { return cudaStreamCreateWithPriority(stream, 0, 0); }
HEDDLE_API cudaError_t cudaStreamDestroy(CUstream stream) { return remember(cuStreamDestroy_v2(stream)); }
HEDDLE_PASS(cudaStreamSynchronize, (CUstream stream), cuStreamSynchronize(stream))
HEDDLE_PASS(cudaStreamQuery, (CUstream stream), cuStreamQuery(stream))
HEDDLE_API cudaError_t cudaStreamGetFlags(CUstream stream, unsigned* flags) { return remember(cuStreamGetFlags(stream, flags)); }
HEDDLE_API cudaError_t cudaStreamGetPriority(CUstream stream, int* priority) { return remember(cuStreamGetPriority(stream, priority)); }
HEDDLE_API cudaError_t cudaStreamGetId(CUstream stream, unsigned long long* id) { return remember(cuStreamGetId(stream, id)); }
HEDDLE_API cudaError_t cudaStreamGetDevice(CUstream stream, int* device) { return remember(cuStreamGetDevice(stream, device)); }
HEDDLE_API cudaError_t cudaStreamWaitEvent(CUstream stream, CUevent event, unsigned flags) { return remember(cuStreamWaitEvent(stream, event, flags)); }
HEDDLE_API cudaError_t cudaStreamAddCallback(CUstream stream, void (*function)(CUstream, CUresult, void*), void* data, unsigned flags) { return remember(cuStreamAddCallback(stream, function, data, flags)); }
HEDDLE_PASS(cudaStreamAttachMemAsync, (CUstream stream, void* address, std::size_t bytes, unsigned flags), cuStreamAttachMemAsync(stream, number(address), bytes, flags))
HEDDLE_PASS(cudaLaunchHostFunc, (CUstream stream, void (*function)(void*), void* data), cuLaunchHostFunc(stream, function, data))
HEDDLE_PASS(cudaEventCreateWithFlags, (CUevent* event, unsigned flags), cuEventCreate(event, flags))
HEDDLE_API cudaError_t cudaEventCreate(CUevent* event) { return cudaEventCreateWithFlags(event, 0); }
HEDDLE_API cudaError_t cudaEventDestroy(CUevent event) { return remember(cuEventDestroy_v2(event)); }
HEDDLE_API cudaError_t cudaEventRecord(CUevent event, CUstream stream) { return remember(cuEventRecord(event, stream)); }
HEDDLE_API cudaError_t cudaEventRecordWithFlags(CUevent event, CUstream stream, unsigned) { return remember(cuEventRecord(event, stream)); }
HEDDLE_API cudaError_t cudaEventQuery(CUevent event) { return remember(cuEventQuery(event)); }
HEDDLE_API cudaError_t cudaEventSynchronize(CUevent event) { return remember(cuEventSynchronize(event)); }
HEDDLE_API cudaError_t cudaEventElapsedTime(float* milliseconds, CUevent from, CUevent to) { return remember(cuEventElapsedTime_v2(milliseconds, from, to)); }


// Also for the default streams of threads.
HEDDLE_PER_THREAD(cudaEventRecord, _ptsz)
HEDDLE_PER_THREAD(cudaEventRecordWithFlags, _ptsz)
HEDDLE_PER_THREAD(cudaLaunchHostFunc, _ptsz)
HEDDLE_PER_THREAD(cudaStreamAddCallback, _ptsz)
HEDDLE_PER_THREAD(cudaStreamAttachMemAsync, _ptsz)
HEDDLE_PER_THREAD(cudaStreamGetDevice, _ptsz)
HEDDLE_PER_THREAD(cudaStreamGetFlags, _ptsz)
HEDDLE_PER_THREAD(cudaStreamGetId, _ptsz)
HEDDLE_PER_THREAD(cudaStreamGetPriority, _ptsz)
HEDDLE_PER_THREAD(cudaStreamQuery, _ptsz)
HEDDLE_PER_THREAD(cudaStreamSynchronize, _ptsz)
HEDDLE_PER_THREAD(cudaStreamWaitEvent, _ptsz)
