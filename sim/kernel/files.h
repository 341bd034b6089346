// Files with a buffer's values: NumPy's .npy, or raw bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/kernel/element_type.h"

namespace heddle::kernel {

/// Returns the bytes of an .npy file. Types that NumPy does not have (bf16, e4m3, e5m2) are written as
/// unsigned integers of their width. Source: NumPy Enhancement Proposal 1, format version 1.0.
std::string npy_text(ElementType type, const std::vector<std::uint64_t>& shape,
                     std::span<const std::byte> values);

/// Values that were read from a file.
struct FileValues {
    std::vector<std::uint64_t> shape;  ///< for raw bytes: the number of elements
    std::vector<std::byte> values;
};

/// Reads an .npy file (recognised by its ending) or raw bytes as elements of `type`. Throws heddle::Error
/// when the file cannot be read, has another type, has big-endian or Fortran-ordered values, or is not a
/// whole number of elements.
FileValues read_values(const std::string& path, ElementType type);
/// Does the same with the bytes of an .npy file; `path` is named in errors.
FileValues parse_npy(const std::string& text, const std::string& path, ElementType type);

/// Writes a temporary file and renames it to `path`, so that nobody sees a partial file.
void write_file(const std::string& path, std::span<const std::byte> bytes);

}  // namespace heddle::kernel
