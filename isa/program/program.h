// The second waist of the house: what the chip is told to do. GPU programs are lists of kernel launches over
// declared buffers; the TPU's are in isa/tpu/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "isa/ptx/extent.h"
#include "isa/target/tensor_map.h"

namespace heddle::program {

/// Position in GpuProgram::buffers.
using BufferId = std::uint32_t;

/// How a buffer whose values steer the machine is filled when the user supplies none. Deterministic by seed.
struct SteeringFill {
    /// The rule by which elements get their values.
    enum class Kind : std::uint8_t { zeros, iota, uniform_integers } kind = Kind::zeros;
    std::uint8_t element_bytes = 4;  ///< size of an integer: 1, 2, 4 or 8
    std::int64_t low = 0, high = 0;  ///< uniform_integers: low <= value < high
    std::uint64_t seed = 1;          ///< of uniform_integers
    /// iota: element i holds i / every % modulo; modulo 0: i / every.
    std::uint64_t every = 1, modulo = 0;
};

/// A region of device memory that launches refer to. Addresses are chosen at run time.
struct Buffer {
    std::string name;                      ///< for messages
    std::uint64_t bytes = 0;               ///< size
    std::optional<SteeringFill> steering;  ///< holds values in timing mode too
};

/// A pointer argument: a buffer plus a byte offset.
struct BufferArgument {
    BufferId buffer = 0;       ///< position in GpuProgram::buffers
    std::uint64_t offset = 0;  ///< bytes from the buffer's begin
    bool operator==(const BufferArgument&) const = default;
};

/// A scalar argument holds the parameter's bytes, little endian, in the low `size` bytes.
struct ScalarArgument {
    std::uint64_t bits = 0;  ///< little endian
    std::uint8_t size = 4;   ///< bytes, at most 8
    bool operator==(const ScalarArgument&) const = default;
};

/// A tensor map of the memory from `offset` bytes after the buffer's begin.
struct TensorMapArgument {
    BufferId buffer = 0;        ///< position in GpuProgram::buffers
    std::uint64_t offset = 0;   ///< bytes from the buffer's begin
    target::TensorMapSpec map;  ///< shape and layout; the address comes at run time
    bool operator==(const TensorMapArgument&) const = default;
};

/// One kernel parameter.
using Argument = std::variant<BufferArgument, ScalarArgument, TensorMapArgument>;

/// The buffer that an argument refers to, or nothing.
std::optional<BufferId> buffer_of(const Argument& argument);
/// The bytes of a pointer or scalar as the kernel gets them, with its buffer at `address` (scalars: any).
/// Tensor maps are the device's own business: ptx::make_tensor_map(), cuTensorMapEncodeTiled().
std::vector<std::byte> argument_bytes(const Argument& argument, std::uint64_t address);

/// A parameter of 4 bytes.
ScalarArgument scalar_u32(std::uint32_t value);

/// PTX text with the entry to call. Shared between launches; `text` is complete (.version, .target, ...).
struct KernelText {
    std::string text;   ///< a whole PTX module
    std::string entry;  ///< name of the kernel in it
};

/// One kernel launch. `op` is the index of the Trace op that it carries out.
struct KernelLaunch {
    std::shared_ptr<const KernelText> kernel;  ///< shared by launches of the same text
    ptx::Dim3 grid, block;                     ///< thread blocks in the grid, threads in a thread block
    ptx::Dim3 cluster;                         ///< thread blocks
    std::uint32_t dynamic_shared_bytes = 0;    ///< bytes per thread block
    std::vector<Argument> arguments;           ///< one for each parameter, in order
    std::uint32_t op = 0;                      ///< index of the op in the trace
    /// A programmatic dependent launch: it begins when the thread blocks of the launch before it have all
    /// performed griddepcontrol.launch_dependents or ended, and waits for its end in griddepcontrol.wait.
    bool programmatic = false;
};

/// What a GPU does for one trace, or a part of one.
struct GpuProgram {
    std::vector<Buffer> buffers;         ///< that launches refer to by BufferId
    std::vector<KernelLaunch> launches;  ///< in order, one stream
};

}  // namespace heddle::program
