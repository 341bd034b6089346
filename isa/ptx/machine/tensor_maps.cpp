#include "isa/ptx/machine/tensor_maps.h"

#include <cstring>

#include "isa/common/error.h"
#include "isa/common/hexadecimal.h"
#include "isa/ptx/machine/copy_targets.h"
#include "isa/ptx/machine/memory_slow_path.h"

namespace heddle::ptx {
namespace {

constexpr std::uint64_t kTensorMapsAlignment = 64;  // PTX manual, "Tensor-map"

// What tensormap.replace replaces.
enum class Field : std::uint8_t {
    address,
    rank,
    box,
    size,
    stride,
    element_stride,
    type,
    interleave,
    swizzle,
    fill,
};

std::span<const std::byte> inside(std::span<const std::byte> memory, std::uint64_t offset) {
    if (memory.size() < kTensorMapBytes || offset > memory.size() - kTensorMapBytes) return {};
    return memory.subspan(offset, kTensorMapBytes);
}

std::span<const std::byte> find_bytes(const Warp::State& warp, unsigned lane, std::uint64_t address) {
    const Cta::Implementation& cta = *warp.cta;
    if (address >= kParameterWindow && address < kConstantWindow)
        return inside(cta.launch.parameters, address - kParameterWindow);
    if (address >= kConstantWindow && address < kSharedWindow)
        return inside(constant_bank_of(cta), address - kConstantWindow);
    if (address >= kSharedWindow && address < kGlobalWindow) return {};
    const Allocation& allocation =
        find_global(warp, lane, address, kTensorMapBytes, kTensorMapsAlignment, true, "a tensor map");
    return inside(allocation.data, address - allocation.base);
}

TensorMap decode_or_fail(const Warp::State& warp, unsigned lane, std::span<const std::byte> bytes,
                         bool whole) {
    try {
        const TensorMap map = TensorMap::decode(bytes.first<kTensorMapBytes>());
        if (whole) map.check();
        return map;
    } catch (const Error& error) {
        fail_running(warp, lane, error.problem(), error.remedy());
    }
}

// The bytes of a map that a kernel changes, in shared or global memory.
std::byte* find_writable(const Warp::State& warp, unsigned lane, StateSpace space, std::uint64_t address) {
    const bool shared_window = address >= kSharedWindow && address < kLocalWindow;
    if (space == StateSpace::shared || (space == StateSpace::generic && shared_window)) {
        const SharedPlace place =
            find_shared(warp, lane, space, address, kTensorMapBytes, kTensorMapsAlignment, "a tensor map");
        return place.cta->shared.data() + place.offset;
    }
    return bytes_at(find_global(warp, lane, address, kTensorMapBytes, kTensorMapsAlignment, true, "a tensor map"),
                    address);
}

void set_field(TensorMap& map, Field field, unsigned ordinal, std::uint64_t value) {
    // .elemtype counts differently from CUtensorMapDataType: PTX manual, "tensormap.replace".
    static constexpr std::array<TensorMapType, 13> kTypes = {
        TensorMapType::uint8,           TensorMapType::uint16,   TensorMapType::uint32,
        TensorMapType::int32,           TensorMapType::uint64,   TensorMapType::int64,
        TensorMapType::float16,         TensorMapType::float32,  TensorMapType::float32_flushed,
        TensorMapType::float64,         TensorMapType::bfloat16, TensorMapType::tfloat32,
        TensorMapType::tfloat32_flushed};
    switch (field) {
        case Field::address:
            map.address = value;
            break;
        case Field::rank:
            map.rank = static_cast<std::uint8_t>(value + 1);
            break;
        case Field::box:
            map.box[ordinal] = static_cast<std::uint32_t>(value);
            break;
        case Field::size:
            map.sizes[ordinal] = value;
            break;
        case Field::stride:
            map.strides[ordinal] = value;
            break;
        case Field::element_stride:
            map.element_strides[ordinal] = static_cast<std::uint32_t>(value);
            break;
        case Field::type:
            map.type = kTypes[value];
            break;
        case Field::interleave:
            map.interleave = static_cast<std::uint8_t>(value);
            break;
        case Field::swizzle:
            map.swizzle = static_cast<TensorMapSwizzle>(value);
            break;
        case Field::fill:
            map.fill = static_cast<TensorMapFill>(value);
            break;
    }
}

Field field_of(const Instruction& n) {
    if (n.has(Modifier::global_address)) return Field::address;
    if (n.has(Modifier::rank)) return Field::rank;
    if (n.has(Modifier::box_dim)) return Field::box;
    if (n.has(Modifier::global_dim)) return Field::size;
    if (n.has(Modifier::global_stride)) return Field::stride;
    if (n.has(Modifier::element_stride)) return Field::element_stride;
    if (n.has(Modifier::elemtype)) return Field::type;
    if (n.has(Modifier::interleave_layout)) return Field::interleave;
    return n.has(Modifier::swizzle_mode) ? Field::swizzle : Field::fill;
}

// Slots: address, value. `immediate`: the ordinal, or the value of a field that is given as a constant.
template <Field kField>
void replace_field(Warp::State& warp, const DecodedInstruction& i, std::uint32_t mask) {
    const StateSpace space = details_of(i).space;
    for_each_lane(mask, [&](unsigned lane) {
        std::byte* const bytes = find_writable(warp, lane, space, lane_address(warp, i.operand[0], lane));
        TensorMap map = decode_or_fail(warp, lane, {bytes, kTensorMapBytes}, false);
        constexpr bool wide = kField == Field::address || kField == Field::stride;
        const std::uint64_t value = kField >= Field::type ? i.immediate
                                    : wide                ? wide_lane(warp, i.operand[1], lane)
                                                          : narrow_lane(warp, i.operand[1], lane);
        if (kField == Field::rank && value >= kMaximumTensorRank)
            fail_running(warp, lane, "a tensor map of rank " + std::to_string(value + 1));
        set_field(map, kField, i.immediate, value);
        const auto packed = map.pack();
        std::memcpy(bytes, packed.data(), packed.size());
    });
}

// Slots: destination in global memory, source in shared memory.
void copy_map(Warp::State& warp, const DecodedInstruction& i, std::uint32_t mask) {
    for_each_lane(mask, [&](unsigned lane) {
        const std::uint64_t to = lane_address(warp, i.operand[0], lane);
        const std::byte* from =
            find_writable(warp, lane, StateSpace::shared, lane_address(warp, i.operand[1], lane));
        std::memcpy(
            bytes_at(find_global(warp, lane, to, kTensorMapBytes, kTensorMapsAlignment, true, "a tensor map"), to),
            from, kTensorMapBytes);
    });
}

Handler choose_field(Field field) {
    switch (field) {
        case Field::address:
            return replace_field<Field::address>;
        case Field::rank:
            return replace_field<Field::rank>;
        case Field::box:
            return replace_field<Field::box>;
        case Field::size:
            return replace_field<Field::size>;
        case Field::stride:
            return replace_field<Field::stride>;
        case Field::element_stride:
            return replace_field<Field::element_stride>;
        case Field::type:
            return replace_field<Field::type>;
        case Field::interleave:
            return replace_field<Field::interleave>;
        case Field::swizzle:
            return replace_field<Field::swizzle>;
        default:
            return replace_field<Field::fill>;
    }
}

void require_constant(const Instruction& n, Field field) {
    std::uint64_t limit = 0;
    switch (field) {
        case Field::box:
        case Field::size:
        case Field::element_stride:
            limit = kMaximumTensorRank;
            break;
        case Field::stride:
            limit = kMaximumTensorRank - 1;
            break;
        case Field::type:
            limit = 13;
            break;
        case Field::interleave:
            limit = 3;
            break;
        case Field::swizzle:
            limit = 4;
            break;
        case Field::fill:
            limit = 2;
            break;
        default:
            return;
    }
    if (n.operands[1].bits >= limit) {
        throw Error("tensormap.replace with the constant " + std::to_string(n.operands[1].bits), {},
                    "it must be below " + std::to_string(limit));
    }
}

// The whole warp takes part in the copy of one map; nothing depends on it in timing mode when not evaluated.
void skip(Warp::State&, const DecodedInstruction&, std::uint32_t) {}

}  // namespace

TensorMap read_tensor_map(const Warp::State& warp, unsigned lane, std::uint64_t address) {
    const std::span<const std::byte> bytes = find_bytes(warp, lane, address);
    if (bytes.empty() || address % kTensorMapsAlignment != 0) {
        fail_running(warp, lane, "a tensor map at generic address " + hexadecimal(address),
                     "it must lie in parameters, constant or global memory, at a multiple of 64 bytes",
                     Error::Kind::misaligned);
    }
    return decode_or_fail(warp, lane, bytes, true);
}

Handler select_tensor_map(const Instruction& n, bool evaluate) {
    if (!n.has(Modifier::replace)) return evaluate ? copy_map : skip;
    const Field field = field_of(n);
    require_constant(n, field);
    return evaluate ? choose_field(field) : skip;
}

}  // namespace heddle::ptx
