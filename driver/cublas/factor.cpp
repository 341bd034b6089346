// Scalars of calls, in the host's memory or the device's.
#include <cstring>

#include "driver/cublas/call.h"

namespace heddle::driver {

double host_value(const void* value, Number type) {
    switch (type) {
        case Number::f64: {
            double number;
            std::memcpy(&number, value, sizeof number);
            return number;
        }
        case Number::f32: {
            float number;
            std::memcpy(&number, value, sizeof number);
            return number;
        }
        case Number::i32: {
            std::int32_t number;
            std::memcpy(&number, value, sizeof number);
            return number;
        }
        case Number::bf16: {
            std::uint16_t bits;
            std::memcpy(&bits, value, sizeof bits);
            const std::uint32_t wide = std::uint32_t{bits} << 16;
            float number;
            std::memcpy(&number, &wide, sizeof number);
            return number;
        }
        case Number::f16: {
            std::uint16_t bits;
            std::memcpy(&bits, value, sizeof bits);
            const int exponent = bits >> 10 & 0x1f, fraction = bits & 0x3ff;
            const double magnitude = exponent == 0    ? fraction * 0x1p-24
                                     : exponent == 31 ? (fraction == 0 ? __builtin_inf() : __builtin_nan(""))
                                                      : __builtin_ldexp(fraction + 1024, exponent - 25);
            return (bits & 0x8000) != 0 ? -magnitude : magnitude;
        }
        default:
            return 0;
    }
}

Factor factor_of(const void* value, Number type, bool on_device) {
    Factor factor;
    factor.type = type;
    if (on_device)
        factor.address = address_of(value);
    else
        factor.value = host_value(value, type);
    return factor;
}

}  // namespace heddle::driver

/// What a routine returns that is named and not there.
extern "C" cublasStatus_t heddle_missing_blas(const char* name) {
    heddle_missing(name);
    return CUBLAS_STATUS_NOT_SUPPORTED;
}
