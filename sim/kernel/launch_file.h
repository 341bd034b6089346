// The launch file of `heddle kernel`: buffers, launches, what to write and what to compare, as YAML.
// examples/kernels/ holds some; `heddle kernel --help` lists the keys.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "isa/common/error.h"
#include "isa/ptx/execution.h"
#include "sim/kernel/element_type.h"

namespace heddle::kernel {

// ---- how a buffer is filled ----

struct FillConstant {
    std::uint64_t bits = 0;  ///< zeros, ones and constant
};

/// Element i is start + i * step.
struct FillIota {
    double start = 0, step = 1;
};

/// Uniform random values: low <= value < high, before rounding to the type.
struct FillUniform {
    double low = 0, high = 1;
    std::uint64_t seed = 1;
};

/// Normal random values; buffers.h defines the generator.
struct FillNormal {
    double mean = 0, stddev = 1;
    std::uint64_t seed = 1;
};
struct FillFile {
    std::string path;
};
using Fill = std::variant<FillConstant, FillIota, FillUniform, FillNormal, FillFile>;

/// A buffer as the file declares it.
struct BufferDeclaration {
    std::string name;
    ElementType type = ElementType::f32;
    std::vector<std::uint64_t> shape;  ///< empty: the shape of the file with which it is filled
    Fill fill = FillConstant{};
    SourceLocation where;
};

// ---- arguments ----

struct BufferReference {
    std::size_t buffer = 0;  ///< index in LaunchFile::buffers
    std::uint64_t byte_offset = 0;
};

/// A CUtensorMap with the parameters of cuTensorMapEncodeTiled(). Dimensions and box are given innermost
/// first; strides are in bytes, for all dimensions except the innermost.
struct TensorMapArgument {
    BufferReference buffer;
    std::string type;
    std::vector<std::uint64_t> dimensions, strides, box, element_strides;
    std::string swizzle = "none", interleave = "none", l2_promotion = "none", fill = "zeros";
};

/// How far the neighbour's memory lies behind this device's own, as a u64: a buffer's address plus it is that of the neighbour's buffer
/// (models/gpu/peer_link.h).
struct PeerDistance {};

/// The bytes of a scalar or a struct.
using BytesArgument = std::vector<std::byte>;

struct ArgumentDeclaration {
    std::variant<BytesArgument, BufferReference, TensorMapArgument, PeerDistance> value;
    SourceLocation where;
};

/// CUDA's access policy window, which says how long lines of a part of a buffer stay in L2.
struct AccessPolicyWindow {
    BufferReference buffer;
    std::uint64_t bytes = 0;
    double hit_ratio = 1;
    ptx::CachePriority hit = ptx::CachePriority::none, miss = ptx::CachePriority::none;
};

/// One kernel launch as the file declares it.
struct LaunchDeclaration {
    std::string module;  ///< path, made relative to the working directory
    std::string entry;
    std::vector<std::string> nvcc_flags;
    ptx::Dim3 grid, block, cluster;
    std::uint32_t dynamic_shared_bytes = 0;
    std::uint32_t repetitions = 1;
    /// Programmatic dependent launch: the kernel starts when the previous launch allows it (griddepcontrol).
    bool programmatic = false;
    /// Cooperative launch, as with cudaLaunchCooperativeKernel(): all blocks run at the same time, so that
    /// the grid can have a barrier.
    bool cooperative = false;
    std::optional<AccessPolicyWindow> access_policy_window;
    std::uint32_t stream = 0;        ///< launches of one stream run one after the other
    int priority = 0;                ///< of the stream: the thread blocks of the lowest number come first
    std::vector<std::size_t> after;  ///< launches before this one in the file that must have ended, too: their numbers, from 0
    /// The SMs that it may use, as a green context or a partition of MPS has them: the first and the last. Nothing: all.
    std::optional<std::pair<std::uint32_t, std::uint32_t>> sms;
    std::vector<ArgumentDeclaration> arguments;
    SourceLocation where;         ///< of the launch
    SourceLocation module_where;  ///< place of its `module`
    SourceLocation entry_where;
};

// ---- what becomes of the values ----

/// A buffer that is written to a file after the last launch.
struct OutputDeclaration {
    std::size_t buffer = 0;
    std::string path;  ///< ends in .npy, or raw bytes
    SourceLocation where;
};

/// How far an element may be from its expected value: see compare().
struct Tolerance {
    double absolute = 0, relative = 0;
    std::uint64_t ulp = 0;
    bool bit_exact = false;
};

/// The expected value is alpha * A B + beta * C, computed in double precision.
struct MatmulReference {
    std::size_t a = 0, b = 0;      ///< as they are after the last launch
    std::optional<std::size_t> c;  ///< its values before the first launch, times `beta`, are added
    std::uint64_t m = 0, n = 0, k = 0;
    bool transpose_a = false;  ///< a is stored k x m
    bool transpose_b = false;  ///< b is stored n x k
    bool transpose_output = false;
    double alpha = 1, beta = 1;
};
struct FileReference {
    std::string path;
};
struct OtherBufferReference {
    std::size_t buffer = 0;
};
struct ExpressionReference {
    std::string text;
};

/// A comparison that is made after the last launch.
struct CompareDeclaration {
    std::size_t buffer = 0;
    std::variant<FileReference, OtherBufferReference, ExpressionReference, MatmulReference> reference;
    Tolerance tolerance;
    SourceLocation where;
};

/// The contents of a launch file.
struct LaunchFile {
    std::string path;
    std::vector<BufferDeclaration> buffers;
    std::vector<LaunchDeclaration> launches;
    std::vector<OutputDeclaration> outputs;
    std::vector<CompareDeclaration> comparisons;
    bool streams = false;  ///< some launch names a stream, a priority, SMs, or what it comes after
};

/// Reads a launch file. Throws heddle::Error that names file, line and key, what was expected and the nearest
/// key. Paths of modules, fills and references are relative to the launch file; those of outputs are not
/// changed.
LaunchFile read_launch_file(const std::string& path);
/// Does the same with text; `path` is named in errors, and relative paths start from its folder.
LaunchFile parse_launch_file(const std::string& text, const std::string& path);

}  // namespace heddle::kernel
