// Wrong PTX made from right PTX, for tests that want the parser and the loader to refuse it politely.
#pragma once

#include <cstddef>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::ptx::test {

/// Modules of one kernel each, cut out of a module: what comes before the first kernel, and the kernel.
std::vector<std::string> split_kernels(const std::string& module);

/// `text` with a few changes: bytes flipped, inserted or removed; words removed, repeated, exchanged or
/// replaced by words of `other`; lines taken over from `other`; the end cut off.
std::string mutate(const std::string& text, const std::string& other, std::mt19937& generator);

/// Parses `text` and loads every kernel. True when it could be loaded, false when it was refused with
/// heddle::Error; anything else that happens is a defect.
bool load_all(std::string_view text);

}  // namespace heddle::ptx::test
