// The FP64 tensor core. The host's rounding mode is set around the loops; the matrices are memory that the
// calls to fesetround() may change for all the compiler knows, so nothing moves across them. Compiled with
// -frounding-math.
#include <cfenv>
#include <cmath>
#include <stdexcept>

#include "isa/numerics/dot_product_unit.h"

namespace heddle::numerics {
namespace {

class RoundingScope {
  public:
    explicit RoundingScope(int mode) : previous_(std::fegetround()) { std::fesetround(mode); }
    ~RoundingScope() { std::fesetround(previous_); }
    RoundingScope(const RoundingScope&) = delete;
    RoundingScope& operator=(const RoundingScope&) = delete;

  private:
    int previous_;
};

int host_mode(Rounding rounding) {
    switch (rounding) {
        case Rounding::nearest_even:
            return FE_TONEAREST;
        case Rounding::toward_zero:
            return FE_TOWARDZERO;
        case Rounding::up:
            return FE_UPWARD;
        case Rounding::down:
            return FE_DOWNWARD;
        default:
            throw std::invalid_argument("no FP64 tensor core rounds to nearest away from zero");
    }
}

}  // namespace

void matrix_multiply_accumulate_fp64(std::size_t m, std::size_t n, std::size_t k, const double* a,
                                     const double* b, const double* c, double* d, Rounding rounding) {
    const RoundingScope scope(host_mode(rounding));
    for (std::size_t i = 0; i < m; ++i) {
        for (std::size_t j = 0; j < n; ++j) {
            double sum = c[i * n + j];
            for (std::size_t l = 0; l < k; ++l) sum = std::fma(a[i * k + l], b[j * k + l], sum);
            d[i * n + j] = sum;
        }
    }
}

}  // namespace heddle::numerics
