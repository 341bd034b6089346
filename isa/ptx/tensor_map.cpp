#include "isa/ptx/tensor_map.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

#include "isa/common/error.h"

namespace heddle::ptx {
namespace {

constexpr std::array<char, 4> kMagic = {'H', 'T', 'M', '1'};
constexpr std::uint64_t kMaximumSize = std::uint64_t{1} << 32, kMaximumStride = std::uint64_t{1} << 40;
constexpr std::uint32_t kMaximumBox = 256, kMaximumElementStride = 8;
constexpr std::uint64_t kTensorMapAlignment = 16;
constexpr std::size_t kHeader = 4, kAddress = 16, kSizes = 24, kStrides = 64, kBox = 96, kSteps = 106;

[[noreturn]] void refuse(const std::string& problem, const std::string& remedy = "") {
    throw Error("tensor map: " + problem, {}, remedy);
}

std::string at(const char* what, unsigned dimension) {
    return std::string(what) + "[" + std::to_string(dimension) + "]";
}

template <class T>
void put(std::array<std::byte, kTensorMapBytes>& bytes, std::size_t position, T value) {
    static_assert(std::endian::native == std::endian::little);
    std::memcpy(bytes.data() + position, &value, sizeof(T));
}
template <class T>
T get(std::span<const std::byte, kTensorMapBytes> bytes, std::size_t position) {
    T value;
    std::memcpy(&value, bytes.data() + position, sizeof(T));
    return value;
}

}  // namespace

unsigned bytes_of(TensorMapType type) {
    switch (type) {
        case TensorMapType::uint8:
            return 1;
        case TensorMapType::uint16:
        case TensorMapType::float16:
        case TensorMapType::bfloat16:
            return 2;
        case TensorMapType::uint64:
        case TensorMapType::int64:
        case TensorMapType::float64:
            return 8;
        default:
            return 4;
    }
}

bool is_float(TensorMapType type) {
    return type >= TensorMapType::float16;
}

Type element_type(TensorMapType type) {
    static constexpr std::array<Type, 13> kTypes = {Type::u8,  Type::u16, Type::u32, Type::s32, Type::u64,
                                                    Type::s64, Type::f16, Type::f32, Type::f64, Type::bf16,
                                                    Type::f32, Type::f32, Type::f32};
    return kTypes[static_cast<std::size_t>(type)];
}

std::uint32_t TensorMap::count(unsigned dimension) const {
    const std::uint32_t step = dimension == 0 ? 1 : std::max(1u, element_strides[dimension]);
    return (box[dimension] + step - 1) / step;
}

std::uint64_t TensorMap::box_bytes() const {
    std::uint64_t bytes = bytes_of(type);
    for (unsigned d = 0; d < rank; ++d) bytes *= count(d);
    return bytes;
}

void TensorMap::check() const {
    if (type > TensorMapType::tfloat32_flushed) refuse("this data type needs a later device");
    if (rank == 0 || rank > kMaximumTensorRank)
        refuse("rank " + std::to_string(rank), "use 1 to 5 dimensions");
    if (interleave != 0) refuse("interleaved layouts are not supported", "use CU_TENSOR_MAP_INTERLEAVE_NONE");
    if (swizzle > TensorMapSwizzle::bytes_128) refuse("this swizzle needs a later device");
    if (promotion > TensorMapPromotion::bytes_256) refuse("there is no such L2 promotion");
    if (fill > TensorMapFill::nan) refuse("there is no such fill of what is out of bounds");
    if (fill == TensorMapFill::nan && !is_float(type)) refuse("an integer tensor cannot be filled with NaN");
    if (address % kTensorMapAlignment != 0) refuse("the global address is no multiple of 16");
    for (unsigned d = 0; d < rank; ++d) {
        if (sizes[d] == 0 || sizes[d] > kMaximumSize) {
            refuse(at("globalDim", d) + " is " + std::to_string(sizes[d]), "use 1 to 2^32 elements");
        }
        if (box[d] == 0 || box[d] > kMaximumBox) {
            refuse(at("boxDim", d) + " is " + std::to_string(box[d]), "use 1 to 256 elements");
        }
        if (element_strides[d] == 0 || element_strides[d] > kMaximumElementStride) {
            refuse(at("elementStrides", d) + " is " + std::to_string(element_strides[d]), "use 1 to 8");
        }
        if (d + 1 < rank && (strides[d] % kTensorMapAlignment != 0 || strides[d] >= kMaximumStride)) {
            refuse(at("globalStrides", d) + " is " + std::to_string(strides[d]) + " bytes",
                   "use a multiple of 16 below 2^40");
        }
    }
    const std::uint64_t inner = std::uint64_t{box[0]} * bytes_of(type);
    if (inner % kTensorMapAlignment != 0) {
        refuse("the box is " + std::to_string(inner) + " bytes wide",
               "boxDim[0] must be a multiple of 16 bytes");
    }
    const std::uint64_t width = std::uint64_t{16} << static_cast<unsigned>(swizzle);
    if (swizzle != TensorMapSwizzle::none && inner > width) {
        refuse(
            "the box is " + std::to_string(inner) + " bytes wide, the swizzle only " + std::to_string(width),
            "make boxDim[0] smaller");
    }
}

std::array<std::byte, kTensorMapBytes> TensorMap::encode() const {
    check();
    return pack();
}

std::array<std::byte, kTensorMapBytes> TensorMap::pack() const {
    std::array<std::byte, kTensorMapBytes> bytes{};
    put(bytes, 0, kMagic);
    const std::array<std::uint8_t, 6> header = {static_cast<std::uint8_t>(type),
                                                rank,
                                                interleave,
                                                static_cast<std::uint8_t>(swizzle),
                                                static_cast<std::uint8_t>(promotion),
                                                static_cast<std::uint8_t>(fill)};
    put(bytes, kHeader, header);
    put(bytes, kAddress, address);
    put(bytes, kSizes, sizes);
    put(bytes, kStrides, strides);
    for (unsigned d = 0; d < kMaximumTensorRank; ++d) {
        put(bytes, kBox + 2 * d, static_cast<std::uint16_t>(std::min(box[d], 0xFFFFu)));
        put(bytes, kSteps + d, static_cast<std::uint8_t>(std::min(element_strides[d], 0xFFu)));
    }
    return bytes;
}

TensorMap TensorMap::decode(std::span<const std::byte, kTensorMapBytes> bytes) {
    const bool empty = std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
    if (empty) return {};
    if (get<std::array<char, 4>>(bytes, 0) != kMagic) {
        refuse("these 128 bytes are none", "make them with TensorMap::encode()");
    }
    const auto header = get<std::array<std::uint8_t, 6>>(bytes, kHeader);
    TensorMap map;
    map.type = static_cast<TensorMapType>(header[0]);
    map.rank = header[1];
    map.interleave = header[2];
    map.swizzle = static_cast<TensorMapSwizzle>(header[3]);
    map.promotion = static_cast<TensorMapPromotion>(header[4]);
    map.fill = static_cast<TensorMapFill>(header[5]);
    map.address = get<std::uint64_t>(bytes, kAddress);
    map.sizes = get<decltype(map.sizes)>(bytes, kSizes);
    map.strides = get<decltype(map.strides)>(bytes, kStrides);
    for (unsigned d = 0; d < kMaximumTensorRank; ++d) {
        map.box[d] = get<std::uint16_t>(bytes, kBox + 2 * d);
        map.element_strides[d] = get<std::uint8_t>(bytes, kSteps + d);
    }
    return map;
}

TensorMap make_tensor_map(const target::TensorMapSpec& spec, std::uint64_t address) {
    TensorMap map;
    map.type = static_cast<TensorMapType>(spec.data_type);
    map.rank = static_cast<std::uint8_t>(spec.rank);
    map.address = address;
    map.sizes = spec.sizes;
    map.strides = spec.strides;
    map.box = spec.box;
    map.swizzle = static_cast<TensorMapSwizzle>(spec.swizzle);
    map.promotion = static_cast<TensorMapPromotion>(spec.l2_promotion);
    return map;
}

}  // namespace heddle::ptx
