#include "exact_rounding.h"

#include <algorithm>

namespace heddle::ptx::test {
namespace {

std::uint64_t low_mask(unsigned bits) {
    return bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
}

}  // namespace

Dyadic::Dyadic(bool negative, std::uint64_t magnitude, int exponent)
    : negative_(negative && magnitude != 0), exponent_(exponent) {
    if (magnitude != 0) words_.push_back(magnitude);
}

int Dyadic::sign() const {
    return words_.empty() ? 0 : negative_ ? -1 : 1;
}

Dyadic::Words Dyadic::shifted(const Words& a, unsigned bits) {
    if (a.empty()) return {};
    Words result(bits / 64, 0);
    const unsigned rest = bits % 64;
    std::uint64_t carry = 0;
    for (const std::uint64_t word : a) {
        result.push_back(word << rest | carry);
        carry = rest == 0 ? 0 : word >> (64 - rest);
    }
    if (carry != 0) result.push_back(carry);
    return result;
}

int Dyadic::compare_words(const Words& a, const Words& b) {
    if (a.size() != b.size()) return a.size() < b.size() ? -1 : 1;
    for (std::size_t n = a.size(); n-- > 0;) {
        if (a[n] != b[n]) return a[n] < b[n] ? -1 : 1;
    }
    return 0;
}

Dyadic::Words Dyadic::add_words(const Words& a, const Words& b) {
    Words result;
    std::uint64_t carry = 0;
    for (std::size_t n = 0; n < std::max(a.size(), b.size()); ++n) {
        const std::uint64_t x = n < a.size() ? a[n] : 0, y = n < b.size() ? b[n] : 0;
        const std::uint64_t sum = x + y, total = sum + carry;
        carry = (sum < x ? 1u : 0u) + (total < sum ? 1u : 0u);
        result.push_back(total);
    }
    if (carry != 0) result.push_back(carry);
    return result;
}

// a - b for a >= b.
Dyadic::Words Dyadic::subtract_words(const Words& a, const Words& b) {
    Words result;
    std::uint64_t borrow = 0;
    for (std::size_t n = 0; n < a.size(); ++n) {
        const std::uint64_t y = n < b.size() ? b[n] : 0;
        const std::uint64_t difference = a[n] - y, total = difference - borrow;
        borrow = (a[n] < y ? 1u : 0u) + (difference < borrow ? 1u : 0u);
        result.push_back(total);
    }
    while (!result.empty() && result.back() == 0) result.pop_back();
    return result;
}

Dyadic Dyadic::operator-() const {
    Dyadic result = *this;
    result.negative_ = !negative_ && !words_.empty();
    return result;
}

Dyadic operator+(const Dyadic& a, const Dyadic& b) {
    if (a.words_.empty()) return b;
    if (b.words_.empty()) return a;
    Dyadic result;
    result.exponent_ = std::min(a.exponent_, b.exponent_);
    const Dyadic::Words x = Dyadic::shifted(a.words_, static_cast<unsigned>(a.exponent_ - result.exponent_));
    const Dyadic::Words y = Dyadic::shifted(b.words_, static_cast<unsigned>(b.exponent_ - result.exponent_));
    if (a.negative_ == b.negative_) {
        result.words_ = Dyadic::add_words(x, y);
        result.negative_ = a.negative_;
    } else {
        const bool a_larger = Dyadic::compare_words(x, y) >= 0;
        result.words_ = a_larger ? Dyadic::subtract_words(x, y) : Dyadic::subtract_words(y, x);
        result.negative_ = !result.words_.empty() && (a_larger ? a.negative_ : b.negative_);
    }
    return result;
}

Dyadic operator*(const Dyadic& a, const Dyadic& b) {
    Dyadic result;
    if (a.words_.empty() || b.words_.empty()) return result;
    result.exponent_ = a.exponent_ + b.exponent_;
    result.negative_ = a.negative_ != b.negative_;
    result.words_.assign(a.words_.size() + b.words_.size(), 0);
    for (std::size_t i = 0; i < a.words_.size(); ++i) {
        std::uint64_t carry = 0;
        for (std::size_t j = 0; j < b.words_.size(); ++j) {
            __extension__ using Wide = unsigned __int128;
            const Wide total = Wide{a.words_[i]} * b.words_[j] + result.words_[i + j] + carry;
            result.words_[i + j] = static_cast<std::uint64_t>(total);
            carry = static_cast<std::uint64_t>(total >> 64);
        }
        result.words_[i + b.words_.size()] = carry;
    }
    while (result.words_.back() == 0) result.words_.pop_back();
    return result;
}

int compare(const Dyadic& a, const Dyadic& b) {
    return (a + -b).sign();
}

std::uint64_t BinaryFormat::largest() const {
    const std::uint64_t all = low_mask(exponent_bits + fraction_bits);
    return infinite ? all - (std::uint64_t{1} << fraction_bits) : all - 1;
}

bool BinaryFormat::is_infinite(std::uint64_t bits) const {
    return infinite && (bits & (sign_bit() - 1)) == infinity();
}
bool BinaryFormat::is_nan(std::uint64_t bits) const {
    return (bits & (sign_bit() - 1)) > (infinite ? infinity() : largest());
}
bool BinaryFormat::is_subnormal(std::uint64_t bits) const {
    const std::uint64_t magnitude = bits & (sign_bit() - 1);
    return magnitude != 0 && magnitude >> fraction_bits == 0;
}

Dyadic BinaryFormat::value(std::uint64_t bits) const {
    const std::uint64_t field = bits >> fraction_bits & low_mask(exponent_bits);
    const std::uint64_t fraction = bits & low_mask(fraction_bits);
    const int bias = (1 << (exponent_bits - 1)) - 1;
    const std::uint64_t magnitude = field == 0 ? fraction : fraction | std::uint64_t{1} << fraction_bits;
    return {(bits & sign_bit()) != 0, magnitude,
            static_cast<int>(field == 0 ? 1 : field) - bias - static_cast<int>(fraction_bits)};
}

std::uint64_t round_exactly(const BinaryFormat& format, RoundTo mode, bool negative, const Against& against,
                            bool saturate) {
    // Magnitudes are in the order of their bits. Infinity counts as the power of two after the largest
    // number.
    const auto signed_value = [&](std::uint64_t magnitude) {
        const Dyadic value = format.value(magnitude);
        return negative ? -value : value;
    };
    const auto reaches = [&](const Dyadic& y) {  // |exact| >= |y|
        const int sign = against(y);
        return negative ? sign <= 0 : sign >= 0;
    };
    std::uint64_t low = 0, high = format.largest() + 1;  // |exact| >= low; what is not below `high` overflows
    if (reaches(signed_value(high))) {
        low = high;
    } else {
        while (high - low > 1) {
            const std::uint64_t middle = low + (high - low) / 2;
            (reaches(signed_value(middle)) ? low : high) = middle;
        }
    }
    std::uint64_t result = low;
    if (low <= format.largest() && against(signed_value(low)) != 0) {
        const Dyadic half(false, 1, -1);
        const Dyadic middle = (signed_value(low) + signed_value(low + 1)) * half;
        const int beyond = negative ? -against(middle) : against(middle);
        const bool away = mode == RoundTo::up             ? !negative
                          : mode == RoundTo::down         ? negative
                          : mode == RoundTo::zero         ? false
                          : mode == RoundTo::nearest_away ? beyond >= 0
                                                          : beyond > 0 || (beyond == 0 && (low & 1) != 0);
        if (away) ++result;
    }
    if (result > format.largest()) {
        const bool to_largest = mode == RoundTo::zero || (mode == RoundTo::up && negative) ||
                                (mode == RoundTo::down && !negative);
        result = saturate || to_largest ? format.largest() : format.largest() + 1;
    }
    return negative ? result | format.sign_bit() : result;
}

std::uint64_t round_exactly(const BinaryFormat& format, RoundTo mode, const Dyadic& value, bool zero_sign,
                            bool saturate) {
    if (value.sign() == 0) return zero_sign ? format.sign_bit() : 0;
    return round_exactly(
        format, mode, value.sign() < 0, [&](const Dyadic& y) { return compare(value, y); }, saturate);
}

}  // namespace heddle::ptx::test
