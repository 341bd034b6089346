#include "sim/kernel/tensor_map_argument.h"

namespace heddle::kernel {

std::vector<std::byte> encode_tensor_map(const TensorMapArgument&, std::uint64_t,
                                         const SourceLocation& where) {
    throw Error("tensor maps are not supported yet", where);
}

}  // namespace heddle::kernel
