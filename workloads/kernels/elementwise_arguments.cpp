// Grids and arguments of elementwise kernels.
#include <algorithm>

#include "isa/common/error.h"
#include "workloads/kernels/elementwise_parts.h"

namespace heddle::kernels {

Extent3 elementwise_grid(const ElementwiseSpec& spec, std::uint64_t elements, unsigned sm_count) {
    if (elements > 0x7fffffffull) {
        throw Error("an elementwise kernel takes at most 2^31 - 1 elements, not " + std::to_string(elements),
                    {}, "split the tensor");
    }
    const std::uint64_t per_cta = spec.form == ElementwiseForm::chunks
                                      ? spec.chunk_elements
                                      : std::uint64_t{spec.threads} * spec.elements_per_thread;
    const std::uint32_t ctas = std::max(1u, divide_up(elements, per_cta));
    if (!spec.grid_stride || sm_count == 0) return {ctas, 1, 1};
    return {std::min(ctas, sm_count * std::max(1u, 2048 / spec.threads)), 1, 1};
}

void add_type_arguments(std::vector<KernelArgument>& arguments, const ElementwiseSpec& spec) {
    const auto add = [&arguments](const std::string& operand, ElementType type) {
        arguments.push_back(integer_argument(operand + "_type", cast_number(type, operand)));
        arguments.push_back(integer_argument(operand + "_bytes", bytes_of(type)));
    };
    for (std::size_t i = 0; i < spec.inputs.size(); ++i) add("x" + std::to_string(i), spec.inputs[i].type);
    for (std::size_t i = 0; i < spec.outputs.size(); ++i) add("y" + std::to_string(i), spec.outputs[i]);
}

void add_offset_arguments(std::vector<KernelArgument>& arguments, const ElementwiseSpec& spec,
                          const std::vector<std::uint32_t>& shape,
                          const std::vector<std::vector<std::uint32_t>>& strides) {
    if (shape.size() != spec.dimensions || strides.size() != spec.inputs.size()) {
        throw Error("shape and strides do not fit the kernel's " + std::to_string(spec.dimensions) +
                    " dimensions and " + std::to_string(spec.inputs.size()) + " inputs");
    }
    const bool counts = counts_dimensions(spec);
    for (unsigned d = 0; d + (counts ? 0 : 1) < spec.dimensions; ++d) {
        add_divider_arguments(arguments, "size" + std::to_string(d), shape[spec.dimensions - 1 - d]);
    }
    if (counts) arguments.push_back(integer_argument("dimensions", spec.dimensions));
    for (std::size_t o = 0; o < spec.outputs.size() && counts; ++o) {
        std::uint32_t stride = 1;
        for (unsigned d = 0; d < spec.dimensions; ++d) {
            arguments.push_back(
                integer_argument("y" + std::to_string(o) + "_stride" + std::to_string(d), stride));
            stride *= shape[spec.dimensions - 1 - d];
        }
    }
    for (std::size_t i = 0; i < spec.inputs.size(); ++i) {
        if (spec.inputs[i].access != AccessPattern::strided) continue;
        if (strides[i].size() != spec.dimensions) throw Error("a strided input needs a stride per dimension");
        for (unsigned d = 0; d < spec.dimensions; ++d) {
            arguments.push_back(integer_argument("x" + std::to_string(i) + "_stride" + std::to_string(d),
                                                 strides[i][spec.dimensions - 1 - d]));
        }
    }
}

}  // namespace heddle::kernels
