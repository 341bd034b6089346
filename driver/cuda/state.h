// What the program's side of the virtual GPU knows: the connection, devices, contexts, modules, streams. It thinks as little as possible; what a call
// means is the server's business.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "driver/cuda/types.h"
#include "driver/protocol/protocol.h"

#define HEDDLE_API extern "C" __attribute__((visibility("default")))

struct Context {
    CUdevice device = 0;
    unsigned flags = 0;
    bool primary = false;
};

struct Function {
    Module* module = nullptr;
    std::string name;
    heddle::driver::FunctionDescription description{};
    std::vector<heddle::driver::ParameterDescription> parameters;
    int shared_limit = 48 << 10;  ///< dynamic shared memory that a launch may ask for
};

struct Module {
    std::uint32_t number = 0;
    std::map<std::string, std::unique_ptr<Function>, std::less<>> functions;
};

/// Something that a stream does, now or when a graph is launched.
using Work = std::function<CUresult(Stream&)>;

/// The shape of a launch.
struct Shape {
    std::uint32_t grid[3], block[3], cluster[3] = {1, 1, 1};
    std::uint32_t shared_bytes = 0;
    bool cooperative = false, programmatic = false, has_priority = false;
    int priority = 0;  ///< instead of the stream's
    heddle::driver::AccessWindow window{};
};

/// Memory that a graph allocated: it lives as long as a graph or an executable graph knows it, at one address.
struct GraphMemory {
    CUdeviceptr address = 0;
    std::size_t bytes = 0;
    GraphMemory() = default;
    GraphMemory(const GraphMemory&) = delete;
    GraphMemory& operator=(const GraphMemory&) = delete;
    ~GraphMemory();
};

/// What the program asked to be destroyed with the last graph that holds it.
struct UserObject {
    void* data;
    void (*destroy)(void*);
    unsigned count;
};

struct Graph {
    struct Node {
        /// CUgraphNodeType: 0 kernel, 1 copy, 2 fill, 3 host function, 4 graph, 5 empty, 6 wait for an event, 7 record an event, 10 allocate, 11 free.
        unsigned type = 5;
        Graph* graph = nullptr;
        CUdevice device = 0;
        Work work;
        std::vector<Node*> after;
        const Node* original = nullptr;  ///< of a clone
        bool enabled = true;
        // What the work was made of, by the type; for those who ask for it, or change it.
        struct Kernel {
            CUfunction function = nullptr;
            Shape shape{};
            std::vector<std::uint8_t> bytes;    ///< of all parameters
            std::vector<void*> parameters;  ///< into `bytes`, for those who ask
        } kernel;
        CUDA_MEMCPY3D copy{};
        CUDA_MEMSET_NODE_PARAMS fill{};
        CUDA_HOST_NODE_PARAMS host{};
        std::shared_ptr<Graph> child;
        std::shared_ptr<GraphExec> child_executable;
        CUevent event = nullptr;
        std::shared_ptr<GraphMemory> memory;
        CUdeviceptr freed = 0;

        CUresult set_kernel(Kernel given);
        CUresult set_copy(const CUDA_MEMCPY3D& given);
        CUresult set_fill(const CUDA_MEMSET_NODE_PARAMS& given);
        CUresult set_host(const CUDA_HOST_NODE_PARAMS& given);
        CUresult set_event(CUevent given);
        CUresult set_child(const Graph& given);
    };
    std::vector<std::unique_ptr<Node>> nodes;
    std::vector<Stream*> capturing;  ///< streams whose work goes into this graph now
    std::vector<UserObject*> objects;
    ~Graph();
};

struct Stream {
    std::uint32_t number = 0;
    unsigned flags = 0;  ///< 1: non-blocking
    int priority = 0;
    heddle::driver::AccessWindow window{};  ///< of its launches
    /// Work behind something that has not come about yet, as a value in memory: what it waits for (nullptr: only for those before it), and itself.
    struct Held {
        std::function<bool()> ready;
        Work work;
    };
    std::deque<Held> held{};
    Graph* capture = nullptr;
    bool began_capture = false;  ///< this one ends it, too
    bool into_given = false;     ///< the graph was the program's before
    std::vector<Graph::Node*> last{};  ///< in the capture: what the next work comes after
};

/// A graph in the order in which it runs, spread over streams: what does not depend on one another may run at the same time.
struct GraphExec {
    std::unique_ptr<Graph> graph;
    unsigned long long flags = 0;
    std::vector<Graph::Node*> order;    ///< each after those that it waits for
    std::vector<unsigned> branch;       ///< of each in `order`: 0 is the stream that the graph is launched into, others are `streams`
    std::vector<std::uint32_t> events;  ///< of each in `order`: recorded behind it; 0: nobody waits for it
    std::vector<std::vector<std::uint32_t>> waits;  ///< of each in `order`: events of other branches
    std::vector<std::unique_ptr<Stream>> streams;
    std::vector<std::size_t> ends;      ///< the last of each of `streams`, in `order`
    std::uint32_t begin_event = 0;
};

struct Event {
    std::uint32_t number = 0;
    bool recorded = false, timed = true;
    unsigned held = 0;  ///< records that a stream still holds
    Graph* capture = nullptr;  ///< recorded in a stream that is being captured
    std::vector<Graph::Node*> last;
};

namespace heddle::driver {

/// An answer of the server.
struct Received {
    CUresult status = CUDA_ERROR_UNKNOWN;
    std::vector<char> content;
    Reader reader() const { return {content.data(), content.size()}; }
};

class Client {
  public:
    static Client& get();

    /// Connects when it has not, and again in a process that a fork made.
    CUresult connect();
    Received ask(Call call, const Writer& content);
    /// Without an answer.
    CUresult tell(Call call, const Writer& content);
    /// Everything that was told before is done. `stream`: the host waits for that one alone; nullptr: for all.
    CUresult synchronise(const Stream* stream = nullptr);

    /// The same for a stream, where anything was told since the last time.
    CUresult wait_for_order(const Stream& stream);
    /// What was told before is in memory; the host waits for nothing in simulated time.
    CUresult flush();

    /// Pages of the program lead from now on to the bytes of `from`, an address of shared memory. False: the system refuses.
    bool remap(void* address, std::size_t bytes, std::uint64_t from);

    /// The same for a file that another process has open.
    bool remap_file(void* address, std::size_t bytes, const std::string& path, std::uint64_t offset);
    int process() const { return process_; }
    int memory_descriptor() const { return memory_; }

    const std::vector<DeviceDescription>& devices() const { return devices_; }
    std::recursive_mutex mutex;

  private:
    bool send(Call call, const Writer& content);
    bool receive(void* bytes, std::size_t count);
    int socket_ = -1;
    int process_ = 0;
    int memory_ = -1;  ///< the descriptor of shared memory
    bool outstanding_ = false;
    CUresult failure_ = CUDA_SUCCESS;
    std::vector<DeviceDescription> devices_;
};

/// The context of this thread; nullptr: none.
Context*& current_context();
Context& primary_context(CUdevice device);
/// The current device; 0 where there is no context.
CUdevice current_device();
/// CUDA_SUCCESS when the virtual GPU is there and initialised.
CUresult ready();

/// A stream of the program's, the legacy default stream (nullptr, 1), or that of the thread (2, and nullptr in functions of per_thread.h).
Stream& stream_of(CUstream stream);
/// Does the work now, or puts it into the graph that the stream is being captured into.
CUresult submit(CUstream stream, unsigned type, Work work);

/// Puts work into a stream behind what it holds; work that has to wait for something besides is held until `is_ready`.
CUresult hold(Stream& stream, std::function<bool()> is_ready, Work work);
/// Carries out what streams hold and what has come about. Nearly free where no stream holds anything.
CUresult go_on_with_held();
/// Waits until a stream holds nothing; nullptr: all streams of the current device.
CUresult wait_for_held(const Stream* stream);
CUresult wait_for_event(const Event& event);
bool holds(const Stream& stream);

/// A new node of a graph, of the current device, after nothing.
Graph::Node& add_to(Graph& graph, unsigned type, Work work);
/// Memory that lives as long as the graphs that have a copy of this node.
CUresult allocate_in(Graph::Node& node, std::size_t bytes, CUdeviceptr* address);
/// A copy; each node knows its original.
std::unique_ptr<Graph> clone(const Graph& graph);
CUresult make_executable(const Graph& graph, unsigned long long flags, std::unique_ptr<GraphExec>* executable);
CUresult run(GraphExec& executable, Stream& on);
/// Whether work of any stream goes into this graph now.
bool is_capturing(const Graph* graph);
/// Waits for all before it in the stream, and calls.
CUresult run_on_host(void (*function)(void*), void* data, const Stream& after);
/// A number of a stream of the current device, and one that no stream or event has.
std::uint32_t numbered(std::uint32_t number);
std::uint32_t fresh_number();
/// A node that allocates, or frees, memory in the graph that a stream is captured into.
CUresult capture_allocation(Stream& stream, std::size_t bytes, CUdeviceptr* address);
CUresult capture_release(Stream& stream, CUdeviceptr address);
/// Whether a graph holds the memory at an address.
bool is_of_graph(CUdeviceptr address);

bool is_shared(const void* address, std::size_t bytes = 1);
std::uint64_t allocate(std::uint64_t bytes, MemoryKind kind, CUresult& status);
/// The allocation that an address lies in: its begin and size; 0: none.
struct Range {
    std::uint64_t base = 0, bytes = 0;
    MemoryKind kind = MemoryKind::device;
    CUdevice device = 0;
};
Range range_of(std::uint64_t address);
/// All allocations that the program knows, by address.
std::map<std::uint64_t, Range>& ranges();
/// Ends what allocate() gave.
CUresult release(std::uint64_t address);
/// Where a device reaches memory of the host that was registered; 0: it was not.
std::uint64_t registered_address(const void* address);
/// Rows of a copy in two dimensions, in bytes.
struct Rows {
    const char* from;
    char* to;
    std::size_t from_pitch, to_pitch, width, height;
};
CUresult copy_rows(const Rows& rows, CUstream stream, bool wait);
CUresult fill(CUdeviceptr to, std::size_t pitch, unsigned value, unsigned bytes, std::size_t width, std::size_t height, CUstream stream);
CUresult copy(void* to, const void* from, std::size_t bytes, CUstream stream, bool wait);

CUresult load_module(const void* image, CUmodule* module);
CUresult find_function(CUmodule module, std::string_view name, CUfunction* function);
CUresult find_variable(CUmodule module, std::string_view name, CUdeviceptr* address, std::size_t* bytes);
/// Bytes of all parameters, as a launch sends them, after everything about the launch was checked.
CUresult arguments_of(CUfunction function, const Shape& shape, void** given, void** extra, std::vector<std::uint8_t>& parameters);
Work work_of(CUfunction function, const Shape& shape, std::vector<std::uint8_t> parameters);
CUresult launch(CUfunction function, const Shape& shape, void** parameters, void** extra, CUstream stream);

/// Says once that a function is not there, and returns CUDA_ERROR_NOT_SUPPORTED.
CUresult missing(const char* name);
/// What the program asks for changes no time here: it is named in the notes of the run. CUDA_SUCCESS.
CUresult without_effect(const char* name);
/// A line on standard error, once for each text.
void complain(const std::string& text);
CUresult device_attribute(int* value, int attribute, CUdevice device);
/// The function of this library that a name means to a program of a version of CUDA (12080: 12.8); nullptr: none. `per_thread`: with the default stream of the thread.
void* find_entry(const char* name, int version, bool per_thread);

}  // namespace heddle::driver
