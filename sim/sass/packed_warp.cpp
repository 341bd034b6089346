#include "sim/sass/packed_warp.h"

#include <bit>

namespace heddle::sass {
namespace {

// The byte that each step begins with.
enum Flag : std::uint8_t { same_lanes = 1, follows = 2, accesses = 4, even = 8 };

/// Small numbers of both signs as small numbers without one.
std::uint64_t fold(std::uint64_t value) {
    return value << 1 ^ (std::uint64_t{0} - (value >> 63));
}
std::uint64_t unfold(std::uint64_t value) {
    return value >> 1 ^ (std::uint64_t{0} - (value & 1));
}

std::uint64_t take(const std::uint8_t*& at) {
    std::uint64_t value = *at & 127u;
    for (unsigned shift = 7; (*at++ & 128u) != 0; shift += 7) value |= std::uint64_t{*at & 127u} << shift;
    return value;
}
std::uint64_t take_signed(const std::uint8_t*& at) {
    return unfold(take(at));
}

}  // namespace

void PackedWarp::put(std::uint64_t value) {
    for (; value > 127; value >>= 7) bytes_.push_back(static_cast<std::uint8_t>(value | 128u));
    bytes_.push_back(static_cast<std::uint8_t>(value));
}
void PackedWarp::put_signed(std::uint64_t value) {
    put(fold(value));
}

void PackedWarp::add(std::uint32_t row, std::uint32_t lanes, std::span<const std::uint64_t> addresses) {
    bool is_even = true;
    for (std::size_t i = 2; i < addresses.size() && is_even; ++i)
        is_even = addresses[i] - addresses[i - 1] == addresses[1] - addresses[0];
    bytes_.push_back(static_cast<std::uint8_t>((lanes == lanes_ ? same_lanes : 0) |
                                               (row == row_ + 1 ? follows : 0) |
                                               (addresses.empty() ? 0 : accesses) | (is_even ? even : 0)));
    if (row != row_ + 1) put(row);
    if (lanes != lanes_) put(lanes);
    row_ = row;
    lanes_ = lanes;
    ++steps_;
    if (addresses.empty()) return;
    std::uint64_t& last = last_[row % last_.size()];
    put_signed(addresses[0] - last);
    last = addresses[0];
    for (std::size_t i = 1; i < (is_even ? std::min<std::size_t>(2, addresses.size()) : addresses.size());
         ++i)
        put_signed(addresses[i] - addresses[i - 1]);
}

PackedWarp::Cursor PackedWarp::begin() const {
    Cursor cursor;
    cursor.at_ = bytes_.data();
    cursor.end_ = bytes_.data() + bytes_.size();
    return cursor;
}

std::uint32_t PackedWarp::Cursor::peek() const {
    if ((*at_ & follows) != 0) return row_ + 1;
    const std::uint8_t* at = at_ + 1;
    return static_cast<std::uint32_t>(take(at));
}

void PackedWarp::Cursor::next(ReplayStep& step) {
    const std::uint8_t flags = *at_++;
    row_ = (flags & follows) != 0 ? row_ + 1 : static_cast<std::uint32_t>(take(at_));
    if ((flags & same_lanes) == 0) lanes_ = static_cast<std::uint32_t>(take(at_));
    step.row = row_;
    step.lanes = lanes_;
    step.accesses = (flags & accesses) != 0;
    if (!step.accesses) return;
    std::uint64_t& last = last_[row_ % last_.size()];
    const auto count = static_cast<unsigned>(std::popcount(lanes_));
    std::uint64_t address = last += take_signed(at_);
    step.addresses[0] = address;
    if (count < 2) return;
    std::uint64_t difference = take_signed(at_);
    for (unsigned i = 1;; ++i) {
        step.addresses[i] = address += difference;
        if (i + 1 == count) return;
        if ((flags & even) == 0) difference = take_signed(at_);
    }
}

}  // namespace heddle::sass
