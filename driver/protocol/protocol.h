// What a program and its virtual GPU say to each other, over a Unix socket. The program's side is libcuda.so.1 (driver/cuda), the GPU's
// is `heddle run` (driver/server). Device memory is a region that both map, the
// program at the addresses that pointers have, so that a copy is a copy. This header needs nothing but the standard library: it is compiled into the libraries that programs load.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace heddle::driver {

/// The variable of the environment that holds the path of the socket.
inline constexpr const char* kSocketVariable = "HEDDLE_GPU";
/// Where it is set, calls say for how long the program has worked since the one before.
inline constexpr const char* kHostTimeVariable = "HEDDLE_GPU_HOST_TIME";
/// Both sides come from one build; the server refuses others.
inline constexpr std::uint32_t kVersion = 3;

/// Where memory of all virtual devices, and host memory that devices reach, lies in the program.
inline constexpr std::uint64_t kMemoryBase = 0x300000000000u;
inline constexpr std::uint64_t kMemoryBytes = std::uint64_t{1} << 40;

/// Numbers of CUresult (cuda.h).
enum class Status : std::uint32_t {
    success = 0,
    invalid_value = 1,
    out_of_memory = 2,
    not_initialized = 3,
    no_device = 100,
    invalid_device = 101,
    invalid_image = 200,
    invalid_context = 201,
    no_binary_for_gpu = 209,
    invalid_ptx = 218,
    unsupported_ptx_version = 222,
    invalid_source = 300,
    invalid_handle = 400,
    not_found = 500,
    not_ready = 600,
    illegal_address = 700,
    launch_out_of_resources = 701,
    misaligned_address = 716,
    assert = 710,
    launch_failed = 719,
    cooperative_launch_too_large = 720,
    not_supported = 801,
    unknown = 999,
};

/// What is asked. Those marked "sends" get no answer: what goes wrong is told by the next that does.
enum class Call : std::uint32_t {
    hello,           ///< version, process -> devices; the region's descriptor comes along
    allocate,        ///< device, bytes, MemoryKind -> address
    release,         ///< address
    memory_info,     ///< device -> free bytes, all bytes
    load_module,     ///< device, image -> module
    unload_module,   ///< module
    list_functions,  ///< module -> names
    function,        ///< module, name -> FunctionDescription, parameters
    variable,        ///< module, name -> address, bytes
    launch,          ///< sends LaunchRequest, parameters
    copy,            ///< sends CopyRequest: between devices, or told for its time alone
    fill,            ///< sends FillRequest
    record_event,    ///< sends event, stream
    wait_event,      ///< sends stream, event
    synchronise,     ///< waits until everything sent before is done, of a stream or of all
    wait_host,       ///< event: the host waits for it
    non_blocking,    ///< sends a stream that the default stream does not wait for
    tensor_map,      ///< parameters of cuTensorMapEncodeTiled -> 128 bytes
    elapsed,         ///< two events -> milliseconds
    occupancy,       ///< function, threads, shared bytes -> thread blocks for each SM
    set_limit,       ///< sends CUlimit, value
    blas,            ///< BlasHeader and a request (driver/protocol/blas.h) -> nothing
    range,           ///< sends action (0 push, 1 pop, 2 start, 3 end), id, thread, name: what the program marked by NVTX
    profiler,        ///< sends 1: start, 0: stop
    missing,         ///< sends the name of a function that is not there
    create_texture,  ///< ImageDescription, TextureDescription -> object
    create_surface,  ///< ImageDescription -> object
    destroy_texture, ///< sends a texture or surface object
    board,           ///< device -> BoardState
    reserve,         ///< bytes, alignment -> address; nothing lies there yet
    give_up,         ///< address, bytes that were reserved
    remap,           ///< address, bytes, from: reserved addresses lead to the bytes of `from`
    reachable,       ///< address, bytes, then ranges (address, bytes): these alone can be reached of what was reserved
    alias,           ///< address of the program, bytes, address: the first leads to the bytes of the second
    end_alias,       ///< address of the program
    import_memory,   ///< reserved address, bytes, process, descriptor, offset: leads from now on to memory of another program's devices
    end_import,      ///< address, bytes
    write_value,     ///< sends stream, address, value (64 bits), bytes: 4 or 8
    wait_value,      ///< sends stream, address: the stream goes on when the last value that was written there by one was
    without_effect,  ///< sends the name of something that was asked for, and changes no time here
    observe,         ///< sends Observation's bits: how launches are done from now on, and what is kept of them
    last_launch,     ///< -> the observed launches since the last question, as JSON
    forget_caches,   ///< sends nothing: later launches find nothing in L2
};

/// What Call::observe sends, a sum of these.
enum Observation : std::uint32_t {
    kObserveLaunches = 1,     ///< keep time, reasons and lines of each launch for Call::last_launch
    kObserveValuesAlone = 2,  ///< launches compute values and take no time
    kObserveCheck = 4,        ///< with kObserveValuesAlone: look for errors as isa/ptx/check.h does
    kObserveTimeAlone = 8,    ///< launches whose time depends on nothing in memory leave memory as it is
    kObserveSample = 16,      ///< with kObserveTimeAlone: leave out what repeats
};

/// The number of a stream begins with that of its device. The rest is 0 of the default stream, which all others but non-blocking ones wait for.
inline constexpr unsigned kDeviceShift = 24;

struct Header {
    Call call = Call::hello;
    std::uint32_t bytes = 0;  ///< of what follows
    float host_us = 0;        ///< processor time of the thread since its call before; 0: it is not measured
};

/// Before what an answer holds: text that kernels printed, and a message for people.
struct AnswerHeader {
    Status status = Status::success;
    std::uint32_t printed = 0, message = 0, bytes = 0;
};

enum class MemoryKind : std::uint32_t { device, host, managed };

struct DeviceDescription {
    char name[256];
    std::uint32_t compute_capability;  ///< times ten
    std::uint32_t sms, threads_per_sm, blocks_per_sm, registers_per_sm;
    std::uint32_t clock_khz, memory_clock_khz, memory_bus_bits;
    std::uint64_t memory_bytes, l2_bytes;
    std::uint32_t shared_per_sm, shared_per_block, shared_per_block_opt_in, shared_reserved;
};

/// What a monitor reads of a board, over everything that was simulated so far.
struct BoardState {
    std::uint64_t memory_bytes, free_bytes;
    std::uint32_t power_limit_mw, power_mw;  ///< the mean of all simulated time; without any, that of an idle board
    std::uint32_t busy_percent, memory_percent;  ///< of simulated time: in which a kernel ran; of the peak of the memory's bandwidth
};

struct FunctionDescription {
    std::uint32_t function, registers, shared_bytes, constant_bytes, local_bytes, maximum_threads, parameter_bytes, parameters;
    std::uint32_t ptx_architecture;  ///< the virtual architecture of its PTX, times ten
    std::uint32_t required_cluster[3];
};

/// Of each parameter.
struct ParameterDescription {
    std::uint32_t offset, bytes;
};

/// How long lines of a range stay in L2 (CUaccessPolicyWindow). No bytes: no window.
struct AccessWindow {
    std::uint64_t base = 0, bytes = 0;
    float hit_ratio = 0;
    std::uint32_t hit = 0, miss = 0;  ///< 0 normal, 1 streaming, 2 persisting
};

struct LaunchRequest {
    std::uint32_t function, stream;
    std::uint32_t grid[3], block[3], cluster[3];
    std::uint32_t shared_bytes;
    std::uint32_t cooperative, programmatic;
    std::int32_t priority;  ///< of the stream, or of the launch; below 0: before others
    AccessWindow window;
};

enum class CopyKind : std::uint32_t { host_to_device, device_to_host, device_to_device, peer, host_to_host };
struct CopyRequest {
    std::uint64_t to, from, bytes;
    std::uint32_t stream;
    CopyKind kind;
    std::uint32_t done;   ///< the program has moved the bytes already
    std::uint32_t waits;  ///< the host waits for its end
    std::uint64_t extent = 0;  ///< bytes from the first to the last that changes, where rows lie apart; 0: `bytes`
};

struct FillRequest {
    std::uint64_t to, pitch, width, height;  ///< width in elements
    std::uint32_t value, element_bytes, stream;
};

/// Texels in device memory, as isa/ptx/texture.h describes them.
struct ImageDescription {
    std::uint64_t address, pitch, plane_pitch;
    std::uint32_t format;  ///< CUarray_format
    std::uint32_t channels, dimensions, layered, cube, linear, width, height, planes;
};

struct TextureDescription {
    std::uint32_t address_modes[3];  ///< CUaddress_mode
    std::uint32_t filters, normalized, integers, srgb;
    float border[4];
};

/// Bytes of a message, one value after the other.
class Writer {
  public:
    template <class Value>
    Writer& put(const Value& value) {
        static_assert(std::is_trivially_copyable_v<Value>);
        const auto* first = reinterpret_cast<const char*>(&value);
        bytes_.insert(bytes_.end(), first, first + sizeof(Value));
        return *this;
    }
    Writer& put_bytes(const void* first, std::size_t count) {
        const auto* bytes = static_cast<const char*>(first);
        bytes_.insert(bytes_.end(), bytes, bytes + count);
        return *this;
    }
    Writer& put_text(std::string_view text) {
        put(static_cast<std::uint32_t>(text.size()));
        return put_bytes(text.data(), text.size());
    }
    const std::vector<char>& bytes() const { return bytes_; }

  private:
    std::vector<char> bytes_;
};

/// Reads them again. What is not there reads as zeros, and `failed()` says so.
class Reader {
  public:
    Reader(const char* first, std::size_t count) : at_(first), left_(count) {}
    template <class Value>
    Value get() {
        Value value{};
        if (take(sizeof(Value))) std::memcpy(&value, at_ - sizeof(Value), sizeof(Value));
        return value;
    }
    std::string_view get_bytes(std::size_t count) {
        return take(count) ? std::string_view(at_ - count, count) : std::string_view();
    }
    std::string_view get_text() { return get_bytes(get<std::uint32_t>()); }
    std::string_view rest() { return get_bytes(left_); }
    bool failed() const { return failed_; }

  private:
    bool take(std::size_t count) {
        if (failed_ || count > left_) {
            failed_ = true;
            return false;
        }
        at_ += count;
        left_ -= count;
        return true;
    }
    const char* at_;
    std::size_t left_;
    bool failed_ = false;
};

}  // namespace heddle::driver
