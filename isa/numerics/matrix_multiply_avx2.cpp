#include "isa/numerics/matrix_multiply.h"
namespace heddle::numerics {
bool avx2_can(const DotProductParameters&) {
    return false;
}
template <typename Input, typename Output>
void multiply_avx2(const MatrixArguments<Input, Output>& matrix) {
    multiply_portable(matrix);
}
template void multiply_avx2(const MatrixArguments<std::uint8_t, float>&);
template void multiply_avx2(const MatrixArguments<std::uint8_t, std::uint16_t>&);
template void multiply_avx2(const MatrixArguments<std::uint16_t, float>&);
template void multiply_avx2(const MatrixArguments<std::uint16_t, std::uint16_t>&);
template void multiply_avx2(const MatrixArguments<std::uint32_t, float>&);
template void multiply_avx2(const MatrixArguments<std::uint32_t, std::uint16_t>&);
}  // namespace heddle::numerics
