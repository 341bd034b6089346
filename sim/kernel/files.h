// Files that hold a buffer's values: NumPy's .npy, or raw bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/kernel/element_type.h"

namespace heddle::kernel {

/// The bytes of an .npy file. Types that NumPy lacks (bf16, e4m3, e5m2) are written as unsigned integers of
/// their width. Source: NumPy Enhancement Proposal 1, format version 1.0.
std::string npy_text(ElementType type, const std::vector<std::uint64_t>& shape,
                     std::span<const std::byte> values);

struct FileValues {
    std::vector<std::uint64_t> shape;  ///< of raw bytes: their number of elements
    std::vector<std::byte> values;
};

/// Reads an .npy file (by its ending) or raw bytes as elements of `type`. Throws heddle::Error when the file
/// cannot be read, holds another type, big-endian or Fortran-ordered values, or no whole number of elements.
FileValues read_values(const std::string& path, ElementType type);
/// The same from the bytes of an .npy file.
FileValues parse_npy(const std::string& text, const std::string& path, ElementType type);

/// Writes beside `path` and renames, so that nobody sees half a file.
void write_file(const std::string& path, std::span<const std::byte> bytes);

}  // namespace heddle::kernel
