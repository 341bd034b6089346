// Streams, events, launches and graphs.
#include <algorithm>
#include <cstring>

#include "driver/cuda/per_thread.h"
#include "driver/cuda/state.h"

using namespace heddle::driver;

#define HEDDLE_CALL                                                  \
    const std::lock_guard<std::recursive_mutex> lock(Client::get().mutex); \
    if (const CUresult status = ready(); status != CUDA_SUCCESS) return status

namespace heddle::driver {

namespace {

/// Of the current device.
std::uint32_t numbered(std::uint32_t number) {
    return static_cast<std::uint32_t>(current_device()) << kDeviceShift | number;
}

}  // namespace

namespace {

std::uint32_t next_number = 2;
/// What the null stream means in this thread: its own default stream, or the legacy one.
thread_local bool null_is_own = false;

/// The default stream of this thread, on the current device.
Stream& stream_of_thread() {
    thread_local auto* const own = new std::map<CUdevice, Stream>;  // programs call until their very end
    Stream& chosen = (*own)[current_device()];
    if (chosen.number == 0) chosen.number = numbered(next_number++);
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
    if (stream.capture == nullptr) return work(stream);
    auto node = std::make_unique<Graph::Node>(Graph::Node{stream.capture, type, std::move(work), {}, {}});
    if (stream.last != nullptr) node->after.push_back(stream.last);
    stream.last = node.get();
    stream.capture->nodes.push_back(std::move(node));
    return CUDA_SUCCESS;
}

namespace {

/// Both sides are of one build: a launch travels as it is.
Work work_of(CUfunction function, const Shape& shape, std::vector<std::uint8_t> parameters) {
    return [=, parameters = std::move(parameters)](Stream& on) {
        LaunchRequest request{};
        request.function = function->description.function;
        request.stream = on.number;
        std::copy(std::begin(shape.grid), std::end(shape.grid), request.grid);
        std::copy(std::begin(shape.block), std::end(shape.block), request.block);
        std::copy(std::begin(shape.cluster), std::end(shape.cluster), request.cluster);
        request.shared_bytes = shape.shared_bytes;
        request.cooperative = shape.cooperative;
        request.programmatic = shape.programmatic;
        return Client::get().tell(Call::launch, Writer().put(request).put_bytes(parameters.data(), parameters.size()));
    };
}

/// Launches since the last answer: errors of a launch come with the next call that waits, at the latest after so many.
unsigned launched = 0;

}  // namespace

CUresult launch(CUfunction function, const Shape& shape, void** given, void** extra, CUstream stream) {
    if (function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    const DeviceDescription& device = Client::get().devices()[0];
    std::uint64_t threads = 1;
    for (unsigned i = 0; i < 3; ++i) {
        if (shape.grid[i] == 0 || shape.block[i] == 0 || (i > 0 && shape.grid[i] > 65535)) return CUDA_ERROR_INVALID_VALUE;
        threads *= shape.block[i];
    }
    if (threads > 1024 || shape.block[2] > 64) return CUDA_ERROR_INVALID_VALUE;
    if (threads > function->description.maximum_threads) return 701;  // CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES
    if (static_cast<int>(shape.shared_bytes) > std::max(function->shared_limit, static_cast<int>(device.shared_per_block - function->description.shared_bytes)))
        return CUDA_ERROR_INVALID_VALUE;
    std::vector<std::uint8_t> parameters(function->description.parameter_bytes);
    if (extra != nullptr) {
        const void* bytes = nullptr;
        std::size_t count = 0;
        for (; *extra != nullptr; extra += 2) {
            if (reinterpret_cast<std::uintptr_t>(extra[0]) == 1) bytes = extra[1];
            if (reinterpret_cast<std::uintptr_t>(extra[0]) == 2) std::memcpy(&count, extra[1], sizeof count);
        }
        if (bytes != nullptr) std::memcpy(parameters.data(), bytes, std::min(count, parameters.size()));
    } else if (!function->parameters.empty()) {
        if (given == nullptr) return CUDA_ERROR_INVALID_VALUE;
        for (std::size_t i = 0; i < function->parameters.size(); ++i)
            std::memcpy(parameters.data() + function->parameters[i].offset, given[i], function->parameters[i].bytes);
    }
    if (const CUresult status = submit(stream, 0, work_of(function, shape, std::move(parameters))); status != CUDA_SUCCESS) return status;
    // So that a program that never waits does not run ahead without bound.
    if (stream_of(stream).capture == nullptr && ++launched % 1024 == 0) return Client::get().ask(Call::memory_info, Writer().put(std::uint32_t{0})).status;
    return CUDA_SUCCESS;
}

}  // namespace heddle::driver

extern "C" int heddle_default_stream(int per_thread) {
    const bool before = null_is_own;
    null_is_own = per_thread != 0;
    return before;
}

HEDDLE_API CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned flags, int priority) {
    HEDDLE_CALL;
    *stream = new Stream{numbered(next_number++), flags, std::min(0, std::max(-5, priority))};
    if ((flags & 1) != 0) return Client::get().tell(Call::non_blocking, Writer().put((*stream)->number));
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuStreamCreate(CUstream* stream, unsigned flags) { return cuStreamCreateWithPriority(stream, flags, 0); }
HEDDLE_API CUresult cuStreamDestroy_v2(CUstream stream) {
    HEDDLE_CALL;
    if (reinterpret_cast<std::uintptr_t>(stream) <= 2) return CUDA_ERROR_INVALID_HANDLE;
    delete stream;
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuStreamSynchronize(CUstream stream) {
    HEDDLE_CALL;
    if (stream_of(stream).capture != nullptr) return 900;  // CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
    return Client::get().synchronise(&stream_of(stream));
}
// Everything told before is done when an answer comes.
HEDDLE_API CUresult cuStreamQuery(CUstream) {
    HEDDLE_CALL;
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
HEDDLE_API CUresult cuStreamGetDevice(CUstream, CUdevice* device) {
    *device = current_device();
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuStreamSetAttribute(CUstream, int, const void*) { return CUDA_SUCCESS; }
HEDDLE_API CUresult cuStreamGetAttribute(CUstream, int, void* value) {
    std::memset(value, 0, 64);
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuStreamCopyAttributes(CUstream, CUstream) { return CUDA_SUCCESS; }
HEDDLE_API CUresult cuStreamAttachMemAsync(CUstream, CUdeviceptr, std::size_t, unsigned) { return CUDA_SUCCESS; }

HEDDLE_API CUresult cuEventCreate(CUevent* event, unsigned flags) {
    HEDDLE_CALL;
    *event = new Event;
    (*event)->number = next_number++;
    (*event)->timed = (flags & 2) == 0;
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuEventDestroy_v2(CUevent event) {
    HEDDLE_CALL;
    delete event;
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuEventRecord(CUevent event, CUstream stream) {
    HEDDLE_CALL;
    if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    Stream& on = stream_of(stream);
    event->capture = on.capture;
    event->last = on.last;
    if (on.capture != nullptr) return CUDA_SUCCESS;
    event->recorded = true;
    return Client::get().tell(Call::record_event, Writer().put(event->number).put(on.number));
}
HEDDLE_API CUresult cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned) { return cuEventRecord(event, stream); }
HEDDLE_API CUresult cuEventQuery(CUevent) { return cuStreamQuery(nullptr); }
HEDDLE_API CUresult cuEventSynchronize(CUevent event) {
    HEDDLE_CALL;
    return Client::get().ask(Call::wait_host, Writer().put(event->number)).status;
}
HEDDLE_API CUresult cuEventElapsedTime_v2(float* milliseconds, CUevent from, CUevent to) {
    HEDDLE_CALL;
    if (from == nullptr || to == nullptr || !from->recorded || !to->recorded || !from->timed || !to->timed) return CUDA_ERROR_INVALID_HANDLE;
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
        // A stream that waits for one that is being captured is captured, too.
        if (waiting.capture == nullptr) {
            waiting.capture = event->capture;
            waiting.last = event->last;
            return CUDA_SUCCESS;
        }
        auto node = std::make_unique<Graph::Node>(Graph::Node{waiting.capture, 5, [](Stream&) { return CUDA_SUCCESS; }, {}, {}});
        for (Graph::Node* before : {waiting.last, event->last})
            if (before != nullptr) node->after.push_back(before);
        waiting.last = node.get();
        waiting.capture->nodes.push_back(std::move(node));
        return CUDA_SUCCESS;
    }
    if (!event->recorded) return CUDA_SUCCESS;
    return Client::get().tell(Call::wait_event, Writer().put(waiting.number).put(event->number));
}
HEDDLE_API CUresult cuLaunchHostFunc(CUstream stream, void (*function)(void*), void* data) {
    const std::unique_lock<std::recursive_mutex> lock(Client::get().mutex);
    if (const CUresult status = ready(); status != CUDA_SUCCESS) return status;
    return submit(stream, 3, [=](Stream& on) {
        const CUresult status = Client::get().synchronise(&on);
        if (status == CUDA_SUCCESS) function(data);
        return status;
    });
}
HEDDLE_API CUresult cuStreamAddCallback(CUstream stream, void (*function)(CUstream, CUresult, void*), void* data, unsigned) {
    HEDDLE_CALL;
    return submit(stream, 3, [=](Stream& on) {
        const CUresult status = Client::get().synchronise(&on);
        function(stream, status, data);
        return status;
    });
}

HEDDLE_API CUresult cuLaunchKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, CUstream stream,
                                   void** parameters, void** extra) {
    HEDDLE_CALL;
    Shape shape{{gx, gy, gz}, {bx, by, bz}};
    shape.shared_bytes = shared;
    return launch(function, shape, parameters, extra, stream);
}
HEDDLE_API CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, CUstream stream,
                                              void** parameters) {
    HEDDLE_CALL;
    Shape shape{{gx, gy, gz}, {bx, by, bz}};
    shape.shared_bytes = shared;
    shape.cooperative = true;
    return launch(function, shape, parameters, nullptr, stream);
}
HEDDLE_API CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** parameters, void** extra) {
    HEDDLE_CALL;
    Shape shape{{config->gridDimX, config->gridDimY, config->gridDimZ}, {config->blockDimX, config->blockDimY, config->blockDimZ}};
    shape.shared_bytes = config->sharedMemBytes;
    for (unsigned i = 0; i < config->numAttrs; ++i) {
        const CUlaunchAttribute& attribute = config->attrs[i];
        if (attribute.id == kAttributeCooperative) shape.cooperative = attribute.value.cooperative != 0;
        if (attribute.id == kAttributeCluster) std::copy(std::begin(attribute.value.cluster), std::end(attribute.value.cluster), shape.cluster);
        if (attribute.id == kAttributeProgrammatic) shape.programmatic = attribute.value.programmatic != 0;
    }
    return launch(function, shape, parameters, extra, config->hStream);
}

HEDDLE_API CUresult cuStreamBeginCapture_v2(CUstream stream, int) {
    HEDDLE_CALL;
    Stream& on = stream_of(stream);
    if (on.capture != nullptr) return CUDA_ERROR_ILLEGAL_STATE;
    on.capture = new Graph;
    on.began_capture = true;
    on.last = nullptr;
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuStreamEndCapture(CUstream stream, Graph** graph) {
    HEDDLE_CALL;
    Stream& on = stream_of(stream);
    if (on.capture == nullptr || !on.began_capture) return CUDA_ERROR_ILLEGAL_STATE;
    *graph = on.capture;
    on.capture = nullptr;
    on.began_capture = false;
    on.last = nullptr;
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuStreamIsCapturing(CUstream stream, int* state) {
    *state = stream_of(stream).capture != nullptr;
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuStreamGetCaptureInfo_v2(CUstream stream, int* state, std::uint64_t* id, Graph** graph, void*, std::size_t* count) {
    Stream& on = stream_of(stream);
    *state = on.capture != nullptr;
    if (id != nullptr) *id = reinterpret_cast<std::uintptr_t>(on.capture);
    if (graph != nullptr) *graph = on.capture;
    if (count != nullptr) *count = 0;
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuThreadExchangeStreamCaptureMode(int*) { return CUDA_SUCCESS; }

namespace {
CUresult add_node(Graph::Node** node, Graph* graph, Graph::Node* const* after, std::size_t count, unsigned type, Work work) {
    auto made = std::make_unique<Graph::Node>(Graph::Node{graph, type, std::move(work), {}, {}});
    made->after.assign(after, after + count);
    *node = made.get();
    graph->nodes.push_back(std::move(made));
    return CUDA_SUCCESS;
}
/// CUDA_KERNEL_NODE_PARAMS of both versions: the second has a kernel and a context behind.
struct KernelNode {
    CUfunction function;
    unsigned grid[3], block[3], shared_bytes;
    void** parameters;
    void** extra;
    CUfunction kernel;
    CUcontext context;
};
CUresult kernel_work(const KernelNode* given, Work* work) {
    Stream recorder;
    Graph graph;
    recorder.number = 1;
    recorder.capture = &graph;
    Shape shape{{given->grid[0], given->grid[1], given->grid[2]}, {given->block[0], given->block[1], given->block[2]}};
    shape.shared_bytes = given->shared_bytes;
    const CUresult status = launch(given->function, shape, given->parameters, given->extra, &recorder);
    if (status == CUDA_SUCCESS) *work = std::move(graph.nodes.front()->work);
    return status;
}
}  // namespace

HEDDLE_API CUresult cuGraphCreate(Graph** graph, unsigned) {
    *graph = new Graph;
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuGraphDestroy(Graph* graph) {
    delete graph;
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuGraphAddKernelNode_v2(Graph::Node** node, Graph* graph, Graph::Node* const* after, std::size_t count, const KernelNode* given) {
    HEDDLE_CALL;
    Work work;
    if (const CUresult status = kernel_work(given, &work); status != CUDA_SUCCESS) return status;
    return add_node(node, graph, after, count, 0, std::move(work));
}
HEDDLE_API CUresult cuGraphAddEmptyNode(Graph::Node** node, Graph* graph, Graph::Node* const* after, std::size_t count) {
    return add_node(node, graph, after, count, 5, [](Stream&) { return CUDA_SUCCESS; });
}
HEDDLE_API CUresult cuGraphAddHostNode(Graph::Node** node, Graph* graph, Graph::Node* const* after, std::size_t count, void* const* given) {
    const auto function = reinterpret_cast<void (*)(void*)>(given[0]);
    void* const data = given[1];
    return add_node(node, graph, after, count, 3, [=](Stream& on) {
        const CUresult status = Client::get().synchronise(&on);
        if (status == CUDA_SUCCESS) function(data);
        return status;
    });
}
HEDDLE_API CUresult cuGraphAddDependencies(Graph*, Graph::Node* const* from, Graph::Node* const* to, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) to[i]->after.push_back(from[i]);
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuGraphGetNodes(Graph* graph, Graph::Node** nodes, std::size_t* count) {
    if (nodes != nullptr)
        for (std::size_t i = 0; i < *count && i < graph->nodes.size(); ++i) nodes[i] = graph->nodes[i].get();
    *count = graph->nodes.size();
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuGraphNodeGetType(Graph::Node* node, unsigned* type) {
    *type = node->type;
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuGraphInstantiateWithFlags(GraphExec** executable, Graph* graph, unsigned long long) {
    // Each after those that it waits for; else in the order in which they were added.
    *executable = new GraphExec;
    std::vector<const Graph::Node*>& order = (*executable)->of;
    while (order.size() < graph->nodes.size()) {
        const std::size_t before = order.size();
        for (const auto& node : graph->nodes) {
            const auto done = [&](const Graph::Node* other) { return std::find(order.begin(), order.end(), other) != order.end(); };
            if (!done(node.get()) && std::all_of(node->after.begin(), node->after.end(), done)) order.push_back(node.get());
        }
        if (order.size() == before) return CUDA_ERROR_INVALID_VALUE;  // a circle
    }
    for (const Graph::Node* node : order) (*executable)->works.push_back(node->work);
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuGraphInstantiateWithParams(GraphExec** executable, Graph* graph, void*) { return cuGraphInstantiateWithFlags(executable, graph, 0); }
HEDDLE_API CUresult cuGraphExecUpdate_v2(GraphExec* executable, Graph* graph, unsigned* result) {
    GraphExec* fresh = nullptr;
    const CUresult status = cuGraphInstantiateWithFlags(&fresh, graph, 0);
    if (status == CUDA_SUCCESS) *executable = *fresh;
    delete fresh;
    if (result != nullptr) *result = status == CUDA_SUCCESS ? 0 : 1;
    return status;
}
HEDDLE_API CUresult cuGraphExecKernelNodeSetParams_v2(GraphExec* executable, Graph::Node* node, const KernelNode* given) {
    HEDDLE_CALL;
    for (std::size_t i = 0; i < executable->of.size(); ++i)
        if (executable->of[i] == node) return kernel_work(given, &executable->works[i]);
    return CUDA_ERROR_INVALID_VALUE;
}
HEDDLE_API CUresult cuGraphExecDestroy(GraphExec* executable) {
    delete executable;
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuGraphUpload(GraphExec*, CUstream) { return CUDA_SUCCESS; }
HEDDLE_API CUresult cuGraphLaunch(GraphExec* executable, CUstream stream) {
    HEDDLE_CALL;
    for (const Work& work : executable->works)
        if (const CUresult status = submit(stream, 0, work); status != CUDA_SUCCESS) return status;
    return CUDA_SUCCESS;
}

// Also for the default streams of threads.
HEDDLE_PER_THREAD(cuEventRecord, _ptsz)
HEDDLE_PER_THREAD(cuEventRecordWithFlags, _ptsz)
HEDDLE_PER_THREAD(cuGraphInstantiateWithParams, _ptsz)
HEDDLE_PER_THREAD(cuGraphLaunch, _ptsz)
HEDDLE_PER_THREAD(cuGraphUpload, _ptsz)
HEDDLE_PER_THREAD(cuLaunchCooperativeKernel, _ptsz)
HEDDLE_PER_THREAD(cuLaunchHostFunc, _ptsz)
HEDDLE_PER_THREAD(cuLaunchKernel, _ptsz)
HEDDLE_PER_THREAD(cuLaunchKernelEx, _ptsz)
HEDDLE_PER_THREAD(cuStreamAddCallback, _ptsz)
HEDDLE_PER_THREAD(cuStreamAttachMemAsync, _ptsz)
HEDDLE_PER_THREAD(cuStreamBeginCapture_v2, _ptsz)
HEDDLE_PER_THREAD(cuStreamCopyAttributes, _ptsz)
HEDDLE_PER_THREAD(cuStreamEndCapture, _ptsz)
HEDDLE_PER_THREAD(cuStreamGetAttribute, _ptsz)
HEDDLE_PER_THREAD(cuStreamGetCaptureInfo_v2, _ptsz)
HEDDLE_PER_THREAD(cuStreamGetCtx, _ptsz)
HEDDLE_PER_THREAD(cuStreamGetDevice, _ptsz)
HEDDLE_PER_THREAD(cuStreamGetFlags, _ptsz)
HEDDLE_PER_THREAD(cuStreamGetId, _ptsz)
HEDDLE_PER_THREAD(cuStreamGetPriority, _ptsz)
HEDDLE_PER_THREAD(cuStreamIsCapturing, _ptsz)
HEDDLE_PER_THREAD(cuStreamQuery, _ptsz)
HEDDLE_PER_THREAD(cuStreamSetAttribute, _ptsz)
HEDDLE_PER_THREAD(cuStreamSynchronize, _ptsz)
HEDDLE_PER_THREAD(cuStreamWaitEvent, _ptsz)
