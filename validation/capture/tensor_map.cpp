#include "validation/capture/device.h"

namespace heddle::capture {

TensorMapDescription describe_tensor_map(const target::TensorMapSpec& spec, Address address) {
    TensorMapDescription description;
    description.data_type = spec.data_type;
    description.rank = spec.rank;
    description.address = address;
    description.sizes = spec.sizes;
    description.strides = spec.strides;
    description.box = spec.box;
    description.swizzle = spec.swizzle;
    description.l2_promotion = spec.l2_promotion;
    return description;
}

}  // namespace heddle::capture
