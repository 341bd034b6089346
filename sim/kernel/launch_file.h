// The launch file of `heddle kernel`: buffers, launches, what to write and what to compare, as YAML.
// examples/kernels/ holds some; `heddle kernel --help` lists the keys.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
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
struct FillIota {
    double start = 0, step = 1;
};
/// Integers: low <= value < high; numbers likewise, before they are rounded to the type.
struct FillUniform {
    double low = 0, high = 1;
    std::uint64_t seed = 1;
};
struct FillNormal {
    double mean = 0, stddev = 1;
    std::uint64_t seed = 1;
};
struct FillFile {
    std::string path;
};
using Fill = std::variant<FillConstant, FillIota, FillUniform, FillNormal, FillFile>;

struct BufferDeclaration {
    std::string name;
    ElementType type = ElementType::f32;
    std::vector<std::uint64_t> shape;  ///< empty: that of the file it is filled from
    Fill fill = FillConstant{};
    SourceLocation where;
};

// ---- arguments ----

struct BufferReference {
    std::size_t buffer = 0;  ///< index in LaunchFile::buffers
    std::uint64_t byte_offset = 0;
};

/// A CUtensorMap: what cuTensorMapEncodeTiled() takes. Dimensions and box: innermost first; strides in bytes,
/// of all dimensions but the innermost.
struct TensorMapArgument {
    BufferReference buffer;
    std::string type;
    std::vector<std::uint64_t> dimensions, strides, box, element_strides;
    std::string swizzle = "none", interleave = "none", l2_promotion = "none", fill = "zeros";
};

/// Raw bytes: scalars, structs.
using BytesArgument = std::vector<std::byte>;

struct ArgumentDeclaration {
    std::variant<BytesArgument, BufferReference, TensorMapArgument> value;
    SourceLocation where;
};

/// CUDA's access policy window: how long lines of a part of a buffer stay in L2.
struct AccessPolicyWindow {
    BufferReference buffer;
    std::uint64_t bytes = 0;
    double hit_ratio = 1;
    ptx::CachePriority hit = ptx::CachePriority::none, miss = ptx::CachePriority::none;
};

struct LaunchDeclaration {
    std::string module;  ///< path, made relative to the working directory
    std::string entry;
    std::vector<std::string> nvcc_flags;
    ptx::Dim3 grid, block, cluster;
    std::uint32_t dynamic_shared_bytes = 0;
    std::uint32_t repetitions = 1;
    /// Programmatic dependent launch: starts when the launch before it allows it, see griddepcontrol.
    bool programmatic = false;
    /// As cudaLaunchCooperativeKernel() launches: all blocks run at once, so that the grid has a barrier.
    bool cooperative = false;
    std::optional<AccessPolicyWindow> access_policy_window;
    std::vector<ArgumentDeclaration> arguments;
    SourceLocation where;         ///< of the launch
    SourceLocation module_where;  ///< of its `module`
    SourceLocation entry_where;
};

// ---- what becomes of the values ----

struct OutputDeclaration {
    std::size_t buffer = 0;
    std::string path;  ///< ends in .npy, or raw bytes
    SourceLocation where;
};

struct Tolerance {
    double absolute = 0, relative = 0;
    std::uint64_t ulp = 0;
    bool bit_exact = false;
};

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

struct CompareDeclaration {
    std::size_t buffer = 0;
    std::variant<FileReference, OtherBufferReference, ExpressionReference, MatmulReference> reference;
    Tolerance tolerance;
    SourceLocation where;
};

struct LaunchFile {
    std::string path;
    std::vector<BufferDeclaration> buffers;
    std::vector<LaunchDeclaration> launches;
    std::vector<OutputDeclaration> outputs;
    std::vector<CompareDeclaration> comparisons;
};

/// Throws heddle::Error naming file, line and key, what was expected and the nearest key. Paths of modules,
/// fills and references are relative to the launch file; those of outputs are left as they are.
LaunchFile read_launch_file(const std::string& path);
/// The same from text; `path` is named in errors, and relative paths start from its folder.
LaunchFile parse_launch_file(const std::string& text, const std::string& path);

}  // namespace heddle::kernel
