#include "isa/tpu/element_type.h"

namespace heddle::tpu {

const char* name_of(ElementType type) {
    switch (type) {
        case ElementType::fp32:
            return "fp32";
        case ElementType::bf16:
            return "bf16";
        case ElementType::int32:
            return "int32";
        case ElementType::int8:
            return "int8";
        case ElementType::word8:
            return "word8";
        case ElementType::int16:
            return "int16";
        case ElementType::fp8_e4m3:
            return "fp8_e4m3";
        case ElementType::fp8_e5m2:
            return "fp8_e5m2";
    }
    return "?";
}

std::optional<ElementType> element_type_from_name(const std::string& name) {
    for (const ElementType type :
         {ElementType::fp32, ElementType::bf16, ElementType::int32, ElementType::int8, ElementType::word8,
          ElementType::int16, ElementType::fp8_e4m3, ElementType::fp8_e5m2}) {
        if (name == name_of(type)) return type;
    }
    return std::nullopt;
}

}  // namespace heddle::tpu
