// Boxes of tensors, and a reference that looks at one element after the other, written from the PTX manual,
// "Tensors", and the driver API, cuTensorMapEncodeTiled.
#pragma once

#include <cstddef>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "async_launch.h"

namespace heddle::ptx::test {

inline constexpr std::size_t kBytes = 16384;  ///< of the tensor's memory, and of the box at most

/// CHECKs that `part` is in `text`.
bool contains(const std::string& text, const std::string& part);

unsigned element_size(TensorMapType type);  ///< bytes

/// An element of the box: where it lies in shared memory, from the start of the box at a multiple of 1024,
/// and in the tensor; nothing when that is out of bounds.
struct Element {
    std::size_t shared = 0;
    std::optional<std::size_t> global;
};
std::vector<Element> elements_of(const TensorMap& map, const std::vector<int>& start);

struct Case {
    TensorMap map;
    std::vector<int> start;
    std::string coordinates;
    std::size_t box_bytes = 0;
};

/// A tensor of at most kBytes that a box of at most kBytes hangs over on any side.
Case random_case(std::mt19937& random, unsigned rank, TensorMapType type, TensorMapSwizzle swizzle);
std::vector<std::byte> random_bytes(std::size_t count, unsigned seed);

/// All of the box, word by word, to `out`; before the copy it holds 0xABABABAB.
inline const std::string kPaint =
    "mov.b32 %n, %t; paint: mad.lo.u32 %w, %n, 4, %b; st.shared.b32 [%w], 0xABABABAB; add.u32 %n, %n, 128;\n"
    "setp.lt.u32 %q, %n, 4096; @%q bra paint; fence.proxy.async.shared::cta; bar.sync 0;\n";
inline const std::string kDump =
    "mov.b32 %n, %t; dump: mad.lo.u32 %w, %n, 4, %b; ld.shared.b32 %v, [%w]; mad.wide.u32 %a, %n, 4, %out;\n"
    "st.global.b32 [%a], %v; add.u32 %n, %n, 128; setp.lt.u32 %q, %n, 4096; @%q bra dump;\n";
/// The box is `in`.
inline const std::string kFill =
    "mov.b32 %n, %t; fill: mad.lo.u32 %w, %n, 4, %b; mad.wide.u32 %a, %n, 4, %in; ld.global.b32 %v, [%a];\n"
    "st.shared.b32 [%w], %v; add.u32 %n, %n, 128; setp.lt.u32 %q, %n, 4096; @%q bra fill;\n"
    "fence.proxy.async.shared::cta; bar.sync 0; setp.eq.u32 %p, %t, 0;\n";
inline const std::string kFlush = "@%p cp.async.bulk.commit_group; @%p cp.async.bulk.wait_group 0;\n";

std::string dimension(const Case& c);  ///< "3d"
std::string describe(const Case& c);

/// A kernel that loads the box, with this suffix and operand of the copy, and a run of it; what it must leave
/// in `out`.
std::string load_text(const Case& c, const std::string& suffix = "", const std::string& operand = "");
AsyncRun load_run(const Case& c);
std::vector<std::byte> expected_load(const Case& c, const std::vector<std::byte>& in);

}  // namespace heddle::ptx::test
