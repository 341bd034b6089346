// Correct rounding by exact integer arithmetic, without the host's floating point: the reference of
// arithmetic and conversions in every format and rounding mode.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace heddle::ptx::test {

/// (-1)^negative * magnitude * 2^exponent, of any size. Exact.
class Dyadic {
  public:
    Dyadic() = default;
    Dyadic(bool negative, std::uint64_t magnitude, int exponent);

    int sign() const;  ///< -1, 0 or 1
    friend Dyadic operator+(const Dyadic& a, const Dyadic& b);
    friend Dyadic operator*(const Dyadic& a, const Dyadic& b);
    Dyadic operator-() const;
    /// -1, 0 or 1 as a is below, equal to or above b.
    friend int compare(const Dyadic& a, const Dyadic& b);

  private:
    using Words = std::vector<std::uint64_t>;  // lowest first, without leading zeros
    static Words shifted(const Words& a, unsigned bits);
    static int compare_words(const Words& a, const Words& b);
    static Words add_words(const Words& a, const Words& b);
    static Words subtract_words(const Words& a, const Words& b);

    bool negative_ = false;
    Words words_;
    int exponent_ = 0;
};

/// A binary format; `infinite`: its largest exponent stands for infinity and NaN.
struct BinaryFormat {
    unsigned exponent_bits, fraction_bits;
    bool infinite = true;

    unsigned bits() const { return 1 + exponent_bits + fraction_bits; }
    std::uint64_t sign_bit() const { return std::uint64_t{1} << (exponent_bits + fraction_bits); }
    std::uint64_t largest() const;  ///< bits of the largest finite number
    std::uint64_t infinity() const { return largest() + 1; }
    bool is_nan(std::uint64_t bits) const;
    bool is_infinite(std::uint64_t bits) const;
    bool is_finite(std::uint64_t bits) const { return !is_nan(bits) && !is_infinite(bits); }
    bool is_subnormal(std::uint64_t bits) const;
    Dyadic value(std::uint64_t bits) const;  ///< of a finite number
};
inline constexpr BinaryFormat kHalf{5, 10}, kBfloat{8, 7}, kSingle{8, 23}, kDouble{11, 52}, kTf32{8, 10},
    kE5m2{5, 2}, kE4m3{4, 3, false};

enum class RoundTo { nearest, zero, down, up, nearest_away };

/// The sign of (exact value - y), for an exact value that is not zero.
using Against = std::function<int(const Dyadic& y)>;

/// Rounds the value that `against` describes, `negative` or not, to bits of the format. Overflow gives
/// infinity or the largest number as IEEE 754 says, or with `saturate` the largest number.
std::uint64_t round_exactly(const BinaryFormat& format, RoundTo mode, bool negative, const Against& against,
                            bool saturate = false);
/// The same for a value at hand. A zero keeps `zero_sign`.
std::uint64_t round_exactly(const BinaryFormat& format, RoundTo mode, const Dyadic& value, bool zero_sign,
                            bool saturate = false);

}  // namespace heddle::ptx::test
