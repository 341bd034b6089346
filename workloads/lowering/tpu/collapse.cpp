#include "workloads/lowering/tpu/collapse.h"

namespace heddle::lowering::on_tpu {

Axes collapse(const std::vector<std::int64_t>& shape, const std::vector<std::vector<std::int64_t>>& strides,
              const std::vector<bool>& marks) {
    Axes axes;
    axes.strides.resize(strides.size());
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        if (shape[axis] == 1) continue;
        const bool mark = !marks.empty() && marks[axis];
        bool joined = !axes.shape.empty() && axes.marked.back() == mark;
        for (std::size_t i = 0; joined && i < strides.size(); ++i) {
            joined = axes.strides[i].back() == strides[i][axis] * shape[axis];
        }
        if (joined) {
            axes.shape.back() *= shape[axis];
            for (std::size_t i = 0; i < strides.size(); ++i) axes.strides[i].back() = strides[i][axis];
            continue;
        }
        axes.shape.push_back(shape[axis]);
        axes.marked.push_back(mark);
        for (std::size_t i = 0; i < strides.size(); ++i) axes.strides[i].push_back(strides[i][axis]);
    }
    if (axes.shape.empty()) {
        axes.shape.push_back(1);
        axes.marked.push_back(!marks.empty() && marks.back());
        for (auto& list : axes.strides) list.push_back(1);
    }
    return axes;
}

}  // namespace heddle::lowering::on_tpu
