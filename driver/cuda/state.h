// What the program's side of the virtual GPU knows: the connection, devices, contexts, modules, streams. It thinks as little as possible; what a call
// means is the server's business.
#pragma once

#include <cstdint>
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

/// Something that a stream does, now or when a graph that was captured is launched into a stream.
using Work = std::function<CUresult(Stream&)>;

struct Graph {
    struct Node {
        Graph* graph;
        unsigned type;  ///< CUgraphNodeType: 0 kernel, 1 memcpy, 2 memset, 3 host, 5 empty
        Work work;
        std::vector<Node*> after;
        std::vector<std::uint8_t> parameters;  ///< of a kernel node, for those who ask for them
    };
    std::vector<std::unique_ptr<Node>> nodes;  ///< each after those that it waits for
};
struct GraphExec {
    std::vector<Work> works;
    std::vector<const Graph::Node*> of;  ///< the nodes that they were made of
};

struct Stream {
    std::uint32_t number = 0;
    unsigned flags = 0;  ///< 1: non-blocking
    int priority = 0;
    Graph* capture = nullptr;
    bool began_capture = false;  ///< this one ends it, too
    Graph::Node* last = nullptr;  ///< in the capture
};

struct Event {
    std::uint32_t number = 0;
    bool recorded = false, timed = true;
    Graph* capture = nullptr;  ///< recorded in a stream that is being captured
    Graph::Node* last = nullptr;
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

    const std::vector<DeviceDescription>& devices() const { return devices_; }
    std::recursive_mutex mutex;

  private:
    bool send(Call call, const Writer& content);
    bool receive(void* bytes, std::size_t count);
    int socket_ = -1;
    int process_ = 0;
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

bool is_shared(const void* address, std::size_t bytes = 1);
std::uint64_t allocate(std::uint64_t bytes, MemoryKind kind, CUresult& status);
/// The allocation that an address lies in: its begin and size; 0: none.
struct Range {
    std::uint64_t base = 0, bytes = 0;
    MemoryKind kind = MemoryKind::device;
    CUdevice device = 0;
};
Range range_of(std::uint64_t address);
CUresult copy(void* to, const void* from, std::size_t bytes, CUstream stream, bool wait);

CUresult load_module(const void* image, CUmodule* module);
CUresult find_function(CUmodule module, std::string_view name, CUfunction* function);
CUresult find_variable(CUmodule module, std::string_view name, CUdeviceptr* address, std::size_t* bytes);
struct Shape {
    std::uint32_t grid[3], block[3], cluster[3] = {1, 1, 1};
    std::uint32_t shared_bytes = 0;
    bool cooperative = false, programmatic = false;
};
CUresult launch(CUfunction function, const Shape& shape, void** parameters, void** extra, CUstream stream);

/// Says once that a function is not there, and returns CUDA_ERROR_NOT_SUPPORTED.
CUresult missing(const char* name);
/// A line on standard error, once for each text.
void complain(const std::string& text);
CUresult device_attribute(int* value, int attribute, CUdevice device);
/// The function of this library that a name means to a program of a version of CUDA (12080: 12.8); nullptr: none. `per_thread`: with the default stream of the thread.
void* find_entry(const char* name, int version, bool per_thread);

}  // namespace heddle::driver
