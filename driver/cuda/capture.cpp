// Graphs captured from streams: what is put into a stream becomes nodes.
#include <algorithm>
#include <set>

#include "driver/cuda/graph.h"
#include "driver/cuda/per_thread.h"

using namespace heddle::driver;

namespace {

constexpr CUresult kUnjoined = 904;

std::set<const Graph*>& captures() {
    static auto* const all = new std::set<const Graph*>;
    return *all;
}

CUresult begin_capture(Stream& on, Graph* graph) {
    if (on.capture != nullptr) return CUDA_ERROR_ILLEGAL_STATE;
    on.into_given = graph != nullptr;
    on.capture = on.into_given ? graph : new Graph;
    on.began_capture = true;
    on.last.clear();
    on.capture->capturing = {&on};
    captures().insert(on.capture);
    return CUDA_SUCCESS;
}

}  // namespace

namespace heddle::driver {

bool is_capturing(const Graph* graph) {
    return captures().count(graph) != 0;
}

}  // namespace heddle::driver

HEDDLE_API CUresult cuStreamBeginCapture_v2(CUstream stream, int mode) {
    HEDDLE_CALL;
    if (mode < 0 || mode > 2) return CUDA_ERROR_INVALID_VALUE;
    return begin_capture(stream_of(stream), nullptr);
}
HEDDLE_API CUresult cuStreamBeginCapture(CUstream stream) { return cuStreamBeginCapture_v2(stream, 0); }
HEDDLE_API CUresult cuStreamBeginCaptureToGraph(CUstream stream, Graph* graph, GraphNode* const* after, const CUgraphEdgeData*, std::size_t count, int) {
    HEDDLE_CALL;
    if (graph == nullptr || is_capturing(graph)) return CUDA_ERROR_INVALID_VALUE;
    Stream& on = stream_of(stream);
    const CUresult status = begin_capture(on, graph);
    if (status == CUDA_SUCCESS && count != 0) on.last.assign(after, after + count);
    return status;
}
HEDDLE_API CUresult cuStreamEndCapture(CUstream stream, Graph** graph) {
    HEDDLE_CALL;
    Stream& on = stream_of(stream);
    if (on.capture == nullptr || graph == nullptr) return CUDA_ERROR_ILLEGAL_STATE;
    if (!on.began_capture) return 903;  // CUDA_ERROR_STREAM_CAPTURE_UNMATCHED
    Graph* const captured = on.capture;
    // What other streams did must lead back to this one.
    std::set<const GraphNode*> joined;
    std::vector<const GraphNode*> open(on.last.begin(), on.last.end());
    while (!open.empty()) {
        const GraphNode* const node = open.back();
        open.pop_back();
        if (joined.insert(node).second) open.insert(open.end(), node->after.begin(), node->after.end());
    }
    bool whole = true;
    for (Stream* const other : captured->capturing) {
        for (const GraphNode* const node : other->last) whole = whole && joined.count(node) != 0;
        other->capture = nullptr;
        other->last.clear();
        other->began_capture = false;
    }
    captured->capturing.clear();
    captures().erase(captured);
    *graph = whole ? captured : nullptr;
    if (!whole && !on.into_given) delete captured;
    return whole ? CUDA_SUCCESS : kUnjoined;
}
HEDDLE_API CUresult cuStreamIsCapturing(CUstream stream, int* state) {
    HEDDLE_CALL;
    *state = stream_of(stream).capture != nullptr;
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuStreamGetCaptureInfo_v3(CUstream stream, int* state, std::uint64_t* id, Graph** graph, GraphNode* const** after, const CUgraphEdgeData** edges, std::size_t* count) {
    HEDDLE_CALL;
    static const CUgraphEdgeData plain[64] = {};
    Stream& on = stream_of(stream);
    if (edges != nullptr && on.last.size() > std::size(plain)) return missing("edges of more than 64 dependencies of a capture");
    *state = on.capture != nullptr;
    if (on.capture == nullptr) return CUDA_SUCCESS;
    if (id != nullptr) *id = reinterpret_cast<std::uintptr_t>(on.capture);
    if (graph != nullptr) *graph = on.capture;
    if (after != nullptr) *after = on.last.data();
    if (edges != nullptr) *edges = plain;
    if (count != nullptr) *count = on.last.size();
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuStreamGetCaptureInfo_v2(CUstream stream, int* state, std::uint64_t* id, Graph** graph, GraphNode* const** after, std::size_t* count) {
    return cuStreamGetCaptureInfo_v3(stream, state, id, graph, after, nullptr, count);
}
HEDDLE_API CUresult cuStreamGetCaptureInfo(CUstream stream, int* state, std::uint64_t* id) { return cuStreamGetCaptureInfo_v3(stream, state, id, nullptr, nullptr, nullptr, nullptr); }
HEDDLE_API CUresult cuStreamUpdateCaptureDependencies_v2(CUstream stream, GraphNode* const* after, const CUgraphEdgeData*, std::size_t count, unsigned flags) {
    HEDDLE_CALL;
    Stream& on = stream_of(stream);
    if (on.capture == nullptr) return CUDA_ERROR_ILLEGAL_STATE;
    if (flags > 1 || (count != 0 && after == nullptr)) return CUDA_ERROR_INVALID_VALUE;
    if (flags == 1) on.last.clear();
    for (std::size_t i = 0; i < count; ++i)
        if (std::find(on.last.begin(), on.last.end(), after[i]) == on.last.end()) on.last.push_back(after[i]);
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuStreamUpdateCaptureDependencies(CUstream stream, GraphNode* const* after, std::size_t count, unsigned flags) {
    return cuStreamUpdateCaptureDependencies_v2(stream, after, nullptr, count, flags);
}

// Also for the default streams of threads.
HEDDLE_PER_THREAD(cuStreamBeginCapture, _ptsz)
HEDDLE_PER_THREAD(cuStreamBeginCaptureToGraph, _ptsz)
HEDDLE_PER_THREAD(cuStreamBeginCapture_v2, _ptsz)
HEDDLE_PER_THREAD(cuStreamEndCapture, _ptsz)
HEDDLE_PER_THREAD(cuStreamGetCaptureInfo, _ptsz)
HEDDLE_PER_THREAD(cuStreamGetCaptureInfo_v2, _ptsz)
HEDDLE_PER_THREAD(cuStreamGetCaptureInfo_v3, _ptsz)
HEDDLE_PER_THREAD(cuStreamIsCapturing, _ptsz)
HEDDLE_PER_THREAD(cuStreamUpdateCaptureDependencies, _ptsz)
HEDDLE_PER_THREAD(cuStreamUpdateCaptureDependencies_v2, _ptsz)
