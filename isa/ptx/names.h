// Names of kernels: the symbol in the PTX text, and what a C++ programmer calls it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace heddle::ptx {

/// Demangles a C++ name: "_Z5saxpyIfEviPT_" becomes "void saxpy<float>(int, float*)". A name that is not
/// mangled is returned as it is.
std::string demangle(const std::string& symbol);

/// The position in `symbols` of the one that `name` means, or -1. A name is the symbol itself, or its C++
/// name: whole, without the return type, without parameters, without template arguments, or without
/// namespaces. The more it says, the better the match. Throws heddle::Error that lists the candidates when
/// the best match is not unique. Spaces do not count.
std::ptrdiff_t find_name(std::string_view name, const std::vector<std::string>& symbols);

}  // namespace heddle::ptx
