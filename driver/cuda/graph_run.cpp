// How a graph runs: the order of its nodes, the streams over which they are spread, and what each of them does.
#include <algorithm>
#include <set>

#include "driver/cuda/state.h"

using namespace heddle::driver;

extern "C" {
CUresult cuEventRecord(CUevent, CUstream);
CUresult cuStreamWaitEvent(CUstream, CUevent, unsigned);
}

namespace {

std::set<CUdeviceptr>& memory_of_graphs() {
    static auto* const all = new std::set<CUdeviceptr>;
    return *all;
}

/// A copy in three dimensions, plane by plane.
CUresult copy_planes(const CUDA_MEMCPY3D& c, Stream& on) {
    const std::size_t from_pitch = c.srcPitch != 0 ? c.srcPitch : c.WidthInBytes, to_pitch = c.dstPitch != 0 ? c.dstPitch : c.WidthInBytes;
    const std::size_t from_rows = c.srcHeight != 0 ? c.srcHeight : c.Height, to_rows = c.dstHeight != 0 ? c.dstHeight : c.Height;
    const auto* from = c.srcMemoryType == 1 ? static_cast<const char*>(c.srcHost) : reinterpret_cast<const char*>(c.srcDevice);
    auto* to = c.dstMemoryType == 1 ? static_cast<char*>(c.dstHost) : reinterpret_cast<char*>(c.dstDevice);
    for (std::size_t z = 0; z < c.Depth; ++z) {
        const Rows plane{from + ((c.srcZ + z) * from_rows + c.srcY) * from_pitch + c.srcXInBytes, to + ((c.dstZ + z) * to_rows + c.dstY) * to_pitch + c.dstXInBytes,
                         from_pitch, to_pitch, c.WidthInBytes, c.Height};
        if (const CUresult status = copy_rows(plane, &on, false); status != CUDA_SUCCESS) return status;
    }
    return CUDA_SUCCESS;
}

}  // namespace

GraphMemory::~GraphMemory() {
    if (address == 0) return;
    memory_of_graphs().erase(address);
    if (Client::get().synchronise() == CUDA_SUCCESS) release(address);
}

CUresult Graph::Node::set_kernel(Kernel given) {
    if (given.function == nullptr) return missing("a change of a library's routine in a graph");
    kernel = std::move(given);
    kernel.parameters.clear();
    for (const ParameterDescription& parameter : kernel.function->parameters) kernel.parameters.push_back(kernel.bytes.data() + parameter.offset);
    work = work_of(kernel.function, kernel.shape, kernel.bytes);
    return CUDA_SUCCESS;
}
CUresult Graph::Node::set_copy(const CUDA_MEMCPY3D& given) {
    if (given.srcMemoryType == 3 || given.dstMemoryType == 3) return missing("copies of arrays in graphs");
    copy = given;
    work = [given](Stream& on) { return copy_planes(given, on); };
    return CUDA_SUCCESS;
}
CUresult Graph::Node::set_fill(const CUDA_MEMSET_NODE_PARAMS& given) {
    if ((given.elementSize != 1 && given.elementSize != 2 && given.elementSize != 4) || !is_shared(reinterpret_cast<void*>(given.dst))) return CUDA_ERROR_INVALID_VALUE;
    fill = given;
    work = [given](Stream& on) { return heddle::driver::fill(given.dst, given.pitch, given.value, given.elementSize, given.width, given.height, &on); };
    return CUDA_SUCCESS;
}
CUresult Graph::Node::set_host(const CUDA_HOST_NODE_PARAMS& given) {
    if (given.fn == nullptr) return CUDA_ERROR_INVALID_VALUE;
    host = given;
    work = [given](Stream& on) { return run_on_host(given.fn, given.userData, on); };
    return CUDA_SUCCESS;
}
CUresult Graph::Node::set_event(CUevent given) {
    if (given == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    event = given;
    if (type == 7)
        work = [given](Stream& on) { return cuEventRecord(given, &on); };
    else
        work = [given](Stream& on) { return cuStreamWaitEvent(&on, given, 0); };
    return CUDA_SUCCESS;
}
CUresult Graph::Node::set_child(const Graph& given) {
    child = clone(given);
    return CUDA_SUCCESS;
}
Graph::~Graph() {
    for (UserObject* const object : objects)
        if (--object->count == 0) {
            object->destroy(object->data);
            delete object;
        }
}

namespace heddle::driver {

Graph::Node& add_to(Graph& graph, unsigned type, Work work) {
    auto node = std::make_unique<Graph::Node>();
    node->type = type;
    node->graph = &graph;
    node->device = current_device();
    node->work = std::move(work);
    graph.nodes.push_back(std::move(node));
    return *graph.nodes.back();
}

bool is_of_graph(CUdeviceptr address) {
    return memory_of_graphs().count(address) != 0;
}

CUresult allocate_in(Graph::Node& node, std::size_t bytes, CUdeviceptr* address) {
    CUresult status = CUDA_SUCCESS;
    auto memory = std::make_shared<GraphMemory>();
    memory->address = allocate(bytes, MemoryKind::device, status);
    memory->bytes = bytes;
    if (status != CUDA_SUCCESS) return status;
    memory_of_graphs().insert(memory->address);
    *address = memory->address;
    node.memory = std::move(memory);
    return CUDA_SUCCESS;
}

CUresult capture_allocation(Stream& stream, std::size_t bytes, CUdeviceptr* address) {
    if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
    submit(&stream, 10, nullptr);
    return allocate_in(*stream.last.front(), bytes, address);
}

CUresult capture_release(Stream& stream, CUdeviceptr address) {
    if (!is_of_graph(address)) return missing("to free memory in a graph that no graph allocated");
    submit(&stream, 11, nullptr);
    stream.last.front()->freed = address;
    return CUDA_SUCCESS;
}

std::unique_ptr<Graph> clone(const Graph& graph) {
    auto copy = std::make_unique<Graph>();
    std::map<const Graph::Node*, Graph::Node*> copies;
    for (const auto& node : graph.nodes) {
        auto made = std::make_unique<Graph::Node>(*node);
        made->graph = copy.get();
        made->original = node.get();
        if (node->kernel.function != nullptr) made->set_kernel(node->kernel);  // with parameters of its own; none: a routine of a library
        if (node->child) made->child = clone(*node->child);
        made->child_executable.reset();
        copies[node.get()] = made.get();
        copy->nodes.push_back(std::move(made));
    }
    for (const auto& node : copy->nodes)
        for (Graph::Node*& before : node->after) before = copies[before];
    copy->objects = graph.objects;
    for (UserObject* const object : copy->objects) ++object->count;
    return copy;
}

// A node goes on in the stream of one that it waits for, if that was the last there; else it begins a stream.
CUresult make_executable(const Graph& graph, unsigned long long flags, std::unique_ptr<GraphExec>* executable) {
    auto made = std::make_unique<GraphExec>();
    made->graph = clone(graph);
    made->flags = flags;
    std::map<const Graph::Node*, std::size_t> place;
    const auto& nodes = made->graph->nodes;
    while (made->order.size() < nodes.size()) {
        const std::size_t before = made->order.size();
        for (const auto& node : nodes) {
            const auto done = [&](const Graph::Node* other) { return place.count(other) != 0; };
            if (done(node.get()) || !std::all_of(node->after.begin(), node->after.end(), done)) continue;
            place[node.get()] = made->order.size();
            made->order.push_back(node.get());
        }
        if (made->order.size() == before) return CUDA_ERROR_INVALID_VALUE;  // a circle
    }
    constexpr std::size_t none = ~std::size_t{0};
    std::vector<std::size_t> ends;  // by branch
    made->branch.resize(made->order.size());
    made->events.resize(made->order.size());
    made->waits.resize(made->order.size());
    std::vector<CUdevice> devices;
    for (std::size_t i = 0; i < made->order.size(); ++i) {
        Graph::Node& node = *made->order[i];
        if (node.type == 4) {
            std::unique_ptr<GraphExec> child;
            if (const CUresult status = make_executable(*node.child, 0, &child); status != CUDA_SUCCESS) return status;
            node.child_executable = std::move(child);
        }
        std::size_t chosen = none;
        for (const Graph::Node* const before : node.after) {
            const unsigned branch = made->branch[place[before]];
            if (chosen == none && ends[branch] == place[before] && devices[branch] == node.device) chosen = branch;
        }
        if (chosen == none) {
            chosen = ends.size();
            ends.push_back(i);
            devices.push_back(node.device);
        }
        ends[chosen] = i;
        made->branch[i] = static_cast<unsigned>(chosen);
        for (const Graph::Node* const before : node.after) {
            if (made->branch[place[before]] == chosen) continue;
            std::uint32_t& event = made->events[place[before]];
            if (event == 0) event = fresh_number();
            made->waits[i].push_back(event);
        }
    }
    for (std::size_t branch = 1; branch < ends.size(); ++branch) {
        auto stream = std::make_unique<Stream>();
        stream->number = static_cast<std::uint32_t>(devices[branch]) << kDeviceShift | fresh_number();
        stream->flags = 1;
        if (const CUresult status = Client::get().tell(Call::non_blocking, Writer().put(stream->number)); status != CUDA_SUCCESS) return status;
        made->streams.push_back(std::move(stream));
        made->ends.push_back(ends[branch]);
        if (std::uint32_t& event = made->events[ends[branch]]; event == 0) event = fresh_number();
    }
    if (!made->streams.empty()) made->begin_event = fresh_number();
    *executable = std::move(made);
    return CUDA_SUCCESS;
}

CUresult run(GraphExec& executable, Stream& on) {
    Client& client = Client::get();
    const auto record = [&](std::uint32_t event, const Stream& stream) { client.tell(Call::record_event, Writer().put(event).put(stream.number)); };
    const auto wait = [&](const Stream& stream, std::uint32_t event) { client.tell(Call::wait_event, Writer().put(stream.number).put(event)); };
    if (executable.begin_event != 0) record(executable.begin_event, on);
    for (const auto& stream : executable.streams) wait(*stream, executable.begin_event);
    for (std::size_t i = 0; i < executable.order.size(); ++i) {
        const Graph::Node& node = *executable.order[i];
        Stream& stream = executable.branch[i] == 0 ? on : *executable.streams[executable.branch[i] - 1];
        for (const std::uint32_t event : executable.waits[i]) wait(stream, event);
        CUresult status = CUDA_SUCCESS;
        if (node.child_executable)
            status = run(*node.child_executable, stream);
        else if (node.enabled && node.work)
            status = node.work(stream);
        if (status != CUDA_SUCCESS) return status;
        if (executable.events[i] != 0) record(executable.events[i], stream);
    }
    for (const std::size_t end : executable.ends) wait(on, executable.events[end]);
    return CUDA_SUCCESS;
}

}  // namespace heddle::driver
