#include "sim/kernel/tensor_map_argument.h"

#include <algorithm>
#include <array>

#include "isa/ptx/tensor_map.h"

namespace heddle::kernel {
namespace {

struct TypeName {
    const char* name;
    ptx::TensorMapType type;
};

/// Copies move bits, so types that tensor maps lack travel as unsigned integers of their width.
constexpr std::array<TypeName, 17> kTypes{{
    {"u8", ptx::TensorMapType::uint8},
    {"s8", ptx::TensorMapType::uint8},
    {"e4m3", ptx::TensorMapType::uint8},
    {"e5m2", ptx::TensorMapType::uint8},
    {"u16", ptx::TensorMapType::uint16},
    {"s16", ptx::TensorMapType::uint16},
    {"u32", ptx::TensorMapType::uint32},
    {"s32", ptx::TensorMapType::int32},
    {"u64", ptx::TensorMapType::uint64},
    {"s64", ptx::TensorMapType::int64},
    {"f16", ptx::TensorMapType::float16},
    {"f32", ptx::TensorMapType::float32},
    {"f64", ptx::TensorMapType::float64},
    {"bf16", ptx::TensorMapType::bfloat16},
    {"f32_ftz", ptx::TensorMapType::float32_flushed},
    {"tf32", ptx::TensorMapType::tfloat32},
    {"tf32_ftz", ptx::TensorMapType::tfloat32_flushed},
}};

ptx::TensorMapType type_named(const std::string& name, const SourceLocation& where) {
    std::string known;
    for (const TypeName& candidate : kTypes) {
        if (name == candidate.name) return candidate.type;
        known += std::string(known.empty() ? "" : ", ") + candidate.name;
    }
    throw Error("`" + name + "` is not a type of a tensor map", where, "known: " + known);
}

/// The place of a word in a list, which is its number in the driver's enumerations.
std::uint8_t number_of(const std::string& word, std::initializer_list<const char*> words) {
    return static_cast<std::uint8_t>(std::find(words.begin(), words.end(), word) - words.begin());
}

template <typename To, std::size_t N>
void copy(const std::vector<std::uint64_t>& from, std::array<To, N>& to, const SourceLocation& where) {
    for (std::size_t i = 0; i < from.size(); ++i) {
        to[i] = static_cast<To>(from[i]);
        if (to[i] != from[i]) throw Error("an extent of the tensor map is too large", where);
    }
}

}  // namespace

std::vector<std::byte> encode_tensor_map(const TensorMapArgument& argument, std::uint64_t address,
                                         const SourceLocation& where) {
    ptx::TensorMap map;
    map.type = type_named(argument.type, where);
    map.rank = static_cast<std::uint8_t>(argument.dimensions.size());
    map.address = address;
    copy(argument.dimensions, map.sizes, where);
    copy(argument.strides, map.strides, where);
    copy(argument.box, map.box, where);
    copy(argument.element_strides, map.element_strides, where);
    map.interleave = number_of(argument.interleave, {"none", "16B", "32B"});
    map.swizzle =
        static_cast<ptx::TensorMapSwizzle>(number_of(argument.swizzle, {"none", "32B", "64B", "128B"}));
    map.promotion = static_cast<ptx::TensorMapPromotion>(
        number_of(argument.l2_promotion, {"none", "64B", "128B", "256B"}));
    map.fill = static_cast<ptx::TensorMapFill>(number_of(argument.fill, {"zeros", "nan"}));
    try {
        const auto bytes = map.encode();
        return {bytes.begin(), bytes.end()};
    } catch (const Error& failure) {
        throw Error(failure.problem(), where, failure.remedy());
    }
}

}  // namespace heddle::kernel
