// Chains of the CUDA cores, for whole tiles; private to this folder.
#pragma once

#include <cstddef>

namespace heddle::numerics {

/// How a CUDA core adds a product to a sum.
struct ScalarChain {
    bool fused = true;              ///< else the product is rounded too
    bool flush_subnormals = false;  ///< of operands and results, to zero of the same sign
};

/// sums[i][j] += a[i][l] * b[l][j], l ascending, every step rounded to nearest even.
template <typename T>
void add_products(const ScalarChain& chain, std::size_t m, std::size_t n, std::size_t k, const T* a,
                  const T* b, T* sums);

}  // namespace heddle::numerics
