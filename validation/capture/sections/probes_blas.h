// The items of section "probes" that go through cublasLt: questions 7, 9, 10, 11 and 12.
#pragma once

#include <vector>

#include "validation/capture/sections/section_item.h"

namespace heddle::capture {

/// None when the device has no BLAS.
void add_blas_questions(const SectionContext& context, std::vector<SectionItem>& items);

/// Question 9: D = alpha * acc + beta * c, in fp32, one element.
enum class EpilogueRounding : std::uint8_t {
    fma_of_product,   ///< fma(alpha, acc, round(beta * c))
    fma_of_c,         ///< fma(beta, c, round(alpha * acc))
    three_roundings,  ///< round(round(alpha * acc) + round(beta * c))
    once,             ///< the exact value, rounded once
};
inline constexpr EpilogueRounding kEpilogueRoundings[] = {
    EpilogueRounding::fma_of_product, EpilogueRounding::fma_of_c, EpilogueRounding::three_roundings,
    EpilogueRounding::once};
const char* name_of(EpilogueRounding rounding);
float epilogue_value(EpilogueRounding rounding, float alpha, float accumulator, float beta, float c);

/// Question 12: row j of A holds 2^8 at 0 and 2^-6 at j, B ones, K products of fp8. `kept[j]`: the small one
/// is in the sum. Which way of accumulating that is; "none of those considered" when it is another.
std::string name_fp8_accumulation(const std::vector<bool>& kept);

}  // namespace heddle::capture
