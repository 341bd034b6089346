// What a kernel generator returns: PTX text with the geometry that it was written for.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "isa/target/tensor_map.h"

namespace heddle::kernels {

/// Types of elements in memory that the kernels read and write.
enum class ElementType : std::uint8_t { f64, f32, f16, bf16, e4m3, e5m2, i64, i32, i8, u8, boolean };
unsigned bytes_of(ElementType type);
std::string name_of(ElementType type);  ///< "bf16"
bool is_integer(ElementType type);      ///< i64 ... boolean

using Extent3 = std::array<std::uint32_t, 3>;

/// A kernel parameter, in the order of declaration. Pointers are 8 bytes; a tensor map is a pointer of
/// kTensorMapBytes.
struct KernelParameter {
    std::string name;
    std::uint8_t bytes = 8;
    bool pointer = false;
};

/// A complete PTX module (.version, .target, one .entry). Problem sizes are parameters; what changes the code
/// (types, tiles, layouts) is fixed. The grid depends on the problem size and comes from a function beside
/// the generator.
struct GeneratedKernel {
    std::string text;
    std::string entry;
    Extent3 block{1, 1, 1};
    std::uint32_t dynamic_shared_bytes = 0;
    std::vector<KernelParameter> parameters;
    Extent3 cluster{1, 1, 1};  ///< thread blocks; what .reqnctapercluster says
};

using target::TensorMapSpec;
inline constexpr unsigned kTensorMapBytes = 128;
/// CUtensorMapDataType. Throws heddle::Error for types that tensor maps do not have.
unsigned tensor_map_type(ElementType type);

/// A value for a parameter: the index of a buffer (pointers) or the bits of a scalar, little endian.
struct KernelArgument {
    std::string parameter;
    bool pointer = false;
    std::uint32_t buffer = 0;  ///< pointers: the caller's number of a buffer; kNoBuffer passes a null pointer
    std::uint64_t byte_offset = 0;
    std::uint64_t bits = 0;
    /// A tensor map of the memory at `buffer` and `byte_offset`; `pointer` is true as well.
    std::optional<TensorMapSpec> tensor_map = {};
};

/// log2(e) and ln(2) to the precision of a double: exponentials of kernels are powers of two.
inline constexpr double kLog2E = 1.4426950408889634, kLn2 = 0.6931471805599453;

inline constexpr std::uint32_t kNoBuffer = 0xffffffffu;

/// Make arguments of a launch: a pointer into a buffer, a tensor map over memory, or a number.
KernelArgument pointer_argument(std::string parameter, std::uint32_t buffer, std::uint64_t byte_offset = 0);
KernelArgument tensor_map_argument(std::string parameter, const KernelArgument& memory, TensorMapSpec map);
KernelArgument integer_argument(std::string parameter, std::uint64_t value);
KernelArgument f32_argument(std::string parameter, float value);
KernelArgument f64_argument(std::string parameter, double value);

/// Puts named arguments into the order of the kernel's parameters. Parameters that no argument names get
/// zero, or a null pointer. Throws heddle::Error for a name that the kernel does not have, or a pointer given
/// for a scalar.
std::vector<KernelArgument> order_arguments(const GeneratedKernel& kernel,
                                            const std::vector<KernelArgument>& arguments);

/// Division of 32-bit unsigned n < 2^31 by a constant, as one multiply, one add and one shift:
/// q = (high32(n * multiplier) + n) >> shift. Granlund and Montgomery, PLDI 1994.
struct FastDivider {
    std::uint32_t divisor = 1, multiplier = 0, shift = 0;
};
FastDivider make_fast_divider(std::uint32_t divisor);
/// Adds the three parameters "<prefix>", "<prefix>_multiplier", "<prefix>_shift" to `arguments`.
void add_divider_arguments(std::vector<KernelArgument>& arguments, const std::string& prefix,
                           std::uint32_t divisor);

/// Divides and rounds up.
inline std::uint32_t divide_up(std::uint64_t a, std::uint64_t b) {
    return static_cast<std::uint32_t>((a + b - 1) / b);
}

}  // namespace heddle::kernels
