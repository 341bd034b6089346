#include "workloads/trace/products.h"

namespace heddle::trace {

bool is_product(OpKind kind) {
    switch (kind) {
        case OpKind::matmul:
        case OpKind::attention:
        case OpKind::attention_grad:
        case OpKind::convolution:
        case OpKind::convolution_data_grad:
        case OpKind::convolution_weight_grad:
            return true;
        default:
            return false;
    }
}

}  // namespace heddle::trace
