#include "workloads/kernels/kernel.h"

#include <bit>

#include "isa/common/error.h"

namespace heddle::kernels {

unsigned bytes_of(ElementType type) {
    switch (type) {
        case ElementType::f64:
        case ElementType::i64:
            return 8;
        case ElementType::f32:
        case ElementType::i32:
            return 4;
        case ElementType::f16:
        case ElementType::bf16:
            return 2;
        default:
            return 1;
    }
}

std::string name_of(ElementType type) {
    switch (type) {
        case ElementType::f64:
            return "f64";
        case ElementType::f32:
            return "f32";
        case ElementType::f16:
            return "f16";
        case ElementType::bf16:
            return "bf16";
        case ElementType::e4m3:
            return "e4m3";
        case ElementType::e5m2:
            return "e5m2";
        case ElementType::i64:
            return "i64";
        case ElementType::i32:
            return "i32";
        case ElementType::i8:
            return "i8";
        case ElementType::u8:
            return "u8";
        case ElementType::boolean:
            return "boolean";
    }
    return "unknown";
}

unsigned tensor_map_type(ElementType type) {
    switch (type) {
        case ElementType::u8:
        case ElementType::i8:
        case ElementType::boolean:
        case ElementType::e4m3:
        case ElementType::e5m2:
            return 0;
        case ElementType::i32:
            return 3;
        case ElementType::i64:
            return 5;
        case ElementType::f16:
            return 6;
        case ElementType::f32:
            return 7;
        case ElementType::f64:
            return 8;
        case ElementType::bf16:
            return 9;
    }
    throw Error("no tensor map has elements of " + name_of(type));
}

bool is_integer(ElementType type) {
    return type >= ElementType::i64;
}

KernelArgument pointer_argument(std::string parameter, std::uint32_t buffer, std::uint64_t byte_offset) {
    return {std::move(parameter), true, buffer, byte_offset, 0};
}

KernelArgument tensor_map_argument(std::string parameter, const KernelArgument& memory, TensorMapSpec map) {
    return {std::move(parameter), true, memory.buffer, memory.byte_offset, 0, map};
}

KernelArgument integer_argument(std::string parameter, std::uint64_t value) {
    return {std::move(parameter), false, 0, 0, value};
}

KernelArgument f32_argument(std::string parameter, float value) {
    return {std::move(parameter), false, 0, 0, std::bit_cast<std::uint32_t>(value)};
}

KernelArgument f64_argument(std::string parameter, double value) {
    return {std::move(parameter), false, 0, 0, std::bit_cast<std::uint64_t>(value)};
}

std::vector<KernelArgument> order_arguments(const GeneratedKernel& kernel,
                                            const std::vector<KernelArgument>& arguments) {
    std::vector<KernelArgument> ordered;
    std::size_t used = 0;
    for (const KernelParameter& parameter : kernel.parameters) {
        KernelArgument value{parameter.name, parameter.pointer, kNoBuffer, 0, 0};
        for (const KernelArgument& argument : arguments) {
            if (argument.parameter != parameter.name) continue;
            if (argument.tensor_map.has_value() != (parameter.bytes == kTensorMapBytes)) {
                throw Error(argument.tensor_map ? "a tensor map was given for another parameter"
                                                : "the parameter wants a tensor map",
                            {.key = kernel.entry + " parameter " + parameter.name});
            }
            if (argument.pointer != parameter.pointer) {
                throw Error(argument.pointer ? "a pointer was given for a scalar parameter"
                                             : "a scalar was given for a pointer parameter",
                            {.key = kernel.entry + " parameter " + parameter.name});
            }
            value = argument;
            ++used;
            break;
        }
        ordered.push_back(value);
    }
    if (used == arguments.size()) return ordered;
    for (const KernelArgument& argument : arguments) {
        bool known = false;
        for (const KernelParameter& parameter : kernel.parameters)
            known |= parameter.name == argument.parameter;
        if (!known) {
            throw Error("the kernel has no parameter '" + argument.parameter + "'", {.key = kernel.entry},
                        "see the parameter list in the generator's header");
        }
    }
    throw Error("a parameter was given twice", {.key = kernel.entry});
}

FastDivider make_fast_divider(std::uint32_t divisor) {
    if (divisor == 0 || divisor > 0x7fffffffu) {
        throw Error("a fast divider needs a divisor between 1 and 2^31 - 1, not " + std::to_string(divisor));
    }
    std::uint32_t shift = 0;
    while ((std::uint64_t{1} << shift) < divisor) ++shift;
    const std::uint64_t multiplier =
        ((std::uint64_t{1} << 32) * ((std::uint64_t{1} << shift) - divisor)) / divisor + 1;
    return {divisor, static_cast<std::uint32_t>(multiplier), shift};
}

void add_divider_arguments(std::vector<KernelArgument>& arguments, const std::string& prefix,
                           std::uint32_t divisor) {
    const FastDivider divider = make_fast_divider(divisor);
    arguments.push_back(integer_argument(prefix, divider.divisor));
    arguments.push_back(integer_argument(prefix + "_multiplier", divider.multiplier));
    arguments.push_back(integer_argument(prefix + "_shift", divider.shift));
}

}  // namespace heddle::kernels
