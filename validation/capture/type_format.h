// The number format of a BLAS type.
#pragma once

#include <optional>

#include "isa/numerics/formats.h"
#include "validation/capture/blas.h"

namespace heddle::capture {

/// Nothing for integers.
constexpr std::optional<numerics::Format> format_of(Type type) {
    switch (type) {
        case Type::f64:
            return numerics::Format::fp64;
        case Type::f32:
            return numerics::Format::fp32;
        case Type::f16:
            return numerics::Format::fp16;
        case Type::bf16:
            return numerics::Format::bf16;
        case Type::e4m3:
            return numerics::Format::e4m3;
        case Type::e5m2:
            return numerics::Format::e5m2;
        case Type::i8:
        case Type::i32:
            break;
    }
    return std::nullopt;
}

}  // namespace heddle::capture
