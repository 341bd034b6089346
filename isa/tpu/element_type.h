// The element types that a TPU core moves and computes with.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace heddle::tpu {

/// In VMEM and HBM elements lie densely, little endian. `word8` is a bare byte (booleans), zero-extended when
/// read. The two formats of 8 bits are those of OCP; every number of theirs is a bf16 number.
enum class ElementType : std::uint8_t { fp32, bf16, int32, int8, word8, int16, fp8_e4m3, fp8_e5m2 };

/// Size in memory; 1, 2 or 4.
constexpr unsigned bytes_of(ElementType type) {
    switch (type) {
        case ElementType::fp32:
            return 4;
        case ElementType::bf16:
            return 2;
        case ElementType::int32:
            return 4;
        case ElementType::int8:
            return 1;
        case ElementType::word8:
            return 1;
        case ElementType::int16:
            return 2;
        case ElementType::fp8_e4m3:
        case ElementType::fp8_e5m2:
            return 1;
    }
    return 0;
}

/// Spelling in assembly text, and back; nothing for an unknown name.
const char* name_of(ElementType type);
std::optional<ElementType> element_type_from_name(const std::string& name);

}  // namespace heddle::tpu
