// The information in the name of a GPU kernel: function, template arguments, and numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace heddle::importers {

/// "void at::native::vectorized_elementwise_kernel<4, F, A>(int, F, A)" -> function
/// "vectorized_elementwise_kernel", arguments {"4", "F", "A"}.
struct KernelName {
    std::string function;                ///< without namespaces
    std::vector<std::string> arguments;  ///< template arguments, as written
    std::string full;

    bool contains(const std::string& text) const { return full.find(text) != std::string::npos; }
    /// The nth template argument as an integer ("768u" is 768).
    std::optional<std::int64_t> integer(std::size_t index) const;
    std::optional<bool> boolean(std::size_t index) const;
};

/// Parses a demangled or mangled kernel name; parts that are not recognised stay empty.
KernelName parse_kernel_name(const std::string& name);

/// Reads a template argument such as "768u" or "64"; nothing when it is not an integer.
std::optional<std::int64_t> integer_argument(const std::string& text);

/// Returns the tile of a matrix kernel (rows, columns, depth) from "tilesize128x128x64", "128x128_32x5",
/// "_128x64x32_", or CUTLASS's first GemmShape in a mangled name (also one that cannot be demangled); empty
/// when the name has none. cuBLAS counts the columns of the column-major result first.
std::vector<std::int64_t> tile_of(const std::string& name);

/// Returns the number of tiles that such a kernel keeps in shared memory: "..._stage4_...", "128x128_32x4"; 0
/// when the name does not contain it.
std::int64_t stages_of(const std::string& name);

/// Returns how many elements CUTLASS's kernels copy at a time, for all operands ("..._tn_align4"); 0 when the
/// name does not contain it.
std::int64_t alignment_of(const std::string& name);

/// Returns how many warpgroups multiply a tile of such a kernel together: "..._warpgroupsize1x1x1_..."; 0
/// when the name does not contain it.
std::int64_t warpgroups_of(const std::string& name);

/// Returns the template arguments at the top level of "name<a, b<c, d>>" where `name` occurs in `text`.
std::vector<std::string> template_arguments(const std::string& text, const std::string& name);

}  // namespace heddle::importers
