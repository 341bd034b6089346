#include "elements.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "isa/numerics/formats.h"

namespace heddle::virtual_cuda {

using numerics::convert;
using numerics::Format;
using numerics::to_double;

unsigned size_of(cudaDataType_t type) {
    switch (type) {
        case CUDA_R_64F:
            return 8;
        case CUDA_R_32F:
        case CUDA_R_32I:
            return 4;
        case CUDA_R_16F:
        case CUDA_R_16BF:
            return 2;
        default:
            return 1;
    }
}

double decoded(cudaDataType_t type, const std::byte* from) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, from, size_of(type));
    switch (type) {
        case CUDA_R_64F:
            return std::bit_cast<double>(bits);
        case CUDA_R_32F:
            return to_double(Format::fp32, bits);
        case CUDA_R_16F:
            return to_double(Format::fp16, bits);
        case CUDA_R_16BF:
            return to_double(Format::bf16, bits);
        case CUDA_R_8F_E4M3:
            return to_double(Format::e4m3, bits);
        case CUDA_R_8F_E5M2:
            return to_double(Format::e5m2, bits);
        case CUDA_R_8I:
            return static_cast<std::int8_t>(bits);
        case CUDA_R_32I:
            return static_cast<std::int32_t>(bits);
        default:
            return std::nan("");
    }
}

void encode(cudaDataType_t type, double value, std::byte* to) {
    std::uint64_t bits = std::bit_cast<std::uint64_t>(value);
    const auto rounded = [&](Format format) { return convert(format, Format::fp64, bits); };
    switch (type) {
        case CUDA_R_64F:
            break;
        case CUDA_R_32F:
            bits = rounded(Format::fp32);
            break;
        case CUDA_R_16F:
            bits = rounded(Format::fp16);
            break;
        case CUDA_R_16BF:
            bits = rounded(Format::bf16);
            break;
        case CUDA_R_8F_E4M3:
            bits = rounded(Format::e4m3);
            break;
        case CUDA_R_8F_E5M2:
            bits = rounded(Format::e5m2);
            break;
        case CUDA_R_8I:
            bits = static_cast<std::uint8_t>(
                static_cast<std::int8_t>(std::clamp(std::nearbyint(value), -128.0, 127.0)));
            break;
        default:
            bits = static_cast<std::uint32_t>(static_cast<std::int32_t>(value));
            break;
    }
    std::memcpy(to, &bits, size_of(type));
}

bool is_fp8(cudaDataType_t type) {
    return type == CUDA_R_8F_E4M3 || type == CUDA_R_8F_E5M2;
}

}  // namespace heddle::virtual_cuda
