#include "isa/ptx/texture.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "isa/common/error.h"
#include "isa/numerics/formats.h"

namespace heddle::ptx {
namespace {

/// Handles begin here, so that small numbers and pointers are none.
constexpr std::uint64_t kFirstHandle = 0x5445580000000000u;

/// One or two neighbours along an axis.
struct AxisTexels {
    unsigned count = 1;
    std::array<std::int64_t, 2> index{};
    std::array<bool, 2> border{};
    std::array<double, 2> weight{1, 0};
};

double within_reach(double x) {
    constexpr double kFar = 1u << 30;  // wider than any image
    return std::isnan(x) ? 0 : std::clamp(x, -kFar, kFar);
}

/// The place of a texel that lies outside.
std::int64_t bring_inside(std::int64_t index, std::int64_t size, TextureAddressMode mode) {
    if (index >= 0 && index < size) return index;
    switch (mode) {
        case TextureAddressMode::wrap:
            return ((index % size) + size) % size;
        case TextureAddressMode::mirror: {
            const std::int64_t folded = ((index % (2 * size)) + 2 * size) % (2 * size);
            return folded < size ? folded : 2 * size - 1 - folded;
        }
        default:
            return std::clamp<std::int64_t>(index, 0, size - 1);
    }
}

/// Weights are numbers of 9 bits, 8 of them behind the point, so that 1 is one of them. The guide does not
/// say how the rest is rounded: here to the nearest.
AxisTexels resolve_axis(double x, std::uint32_t size, TextureAddressMode mode, bool normalized,
                        bool filters) {
    constexpr double kSteps = 256;
    if (!normalized && (mode == TextureAddressMode::wrap || mode == TextureAddressMode::mirror))
        mode = TextureAddressMode::clamp;
    if (normalized) {
        const double whole = std::floor(x), part = x - whole;
        if (mode == TextureAddressMode::wrap) x = part;
        if (mode == TextureAddressMode::mirror) x = std::fmod(whole, 2) == 0 ? part : 1 - part;
        x *= size;
    }
    x = within_reach(x);
    AxisTexels texels;
    if (filters) {
        const double from_centre = x - 0.5, first = std::floor(from_centre);
        const double weight = std::floor((from_centre - first) * kSteps + 0.5) / kSteps;
        texels.count = 2;
        texels.index = {static_cast<std::int64_t>(first), static_cast<std::int64_t>(first) + 1};
        texels.weight = {1 - weight, weight};
    } else {
        texels.index[0] = static_cast<std::int64_t>(std::floor(x));
    }
    for (unsigned i = 0; i < texels.count; ++i) {
        const bool outside = texels.index[i] < 0 || texels.index[i] >= std::int64_t{size};
        texels.border[i] = outside && mode == TextureAddressMode::border;
        texels.index[i] = bring_inside(texels.index[i], size, mode);
    }
    return texels;
}

/// Face and coordinates from 0 to 1 on it, by the table of the guide's appendix.
struct FacePoint {
    unsigned face;
    double s, t;
};
FacePoint face_of(const std::array<double, 3>& at) {
    const auto [x, y, z] = at;
    const double ax = std::abs(x), ay = std::abs(y), az = std::abs(z);
    unsigned face = 0;
    double major = 0, s = 0, t = 0;
    if (ax >= ay && ax >= az) {
        face = x >= 0 ? 0 : 1;
        major = ax, s = x >= 0 ? -z : z, t = -y;
    } else if (ay >= az) {
        face = y >= 0 ? 2 : 3;
        major = ay, s = x, t = y >= 0 ? z : -z;
    } else {
        face = z >= 0 ? 4 : 5;
        major = az, s = z >= 0 ? x : -x, t = -y;
    }
    if (major == 0) return {face, 0.5, 0.5};
    return {face, (s / major + 1) / 2, (t / major + 1) / 2};
}

template <class Value>
Value value_at(const std::byte* bytes) {
    Value value;
    std::memcpy(&value, bytes, sizeof value);
    return value;
}

/// Of integers: with their sign, for those that have one.
std::int64_t integer_at(TexelType type, const std::byte* bytes) {
    switch (type) {
        case TexelType::u8:
            return value_at<std::uint8_t>(bytes);
        case TexelType::u16:
            return value_at<std::uint16_t>(bytes);
        case TexelType::u32:
            return value_at<std::uint32_t>(bytes);
        case TexelType::s8:
            return value_at<std::int8_t>(bytes);
        case TexelType::s16:
            return value_at<std::int16_t>(bytes);
        default:
            return value_at<std::int32_t>(bytes);
    }
}

/// IEC 61966-2-1.
float linear_of_srgb(float value) {
    const double v = value;
    return static_cast<float>(v <= 0.04045 ? v / 12.92 : std::pow((v + 0.055) / 1.055, 2.4));
}

float float_at(const Texture& texture, unsigned channel, const std::byte* bytes) {
    const TexelType type = texture.image.type;
    if (type == TexelType::f32) return value_at<float>(bytes);
    if (type == TexelType::f16) return numerics::fp16_to_fp32(value_at<std::uint16_t>(bytes));
    const double greatest =
        static_cast<double>((std::uint64_t{1} << (8 * bytes_of(type) - (is_signed(type) ? 1 : 0))) - 1);
    const auto value =
        static_cast<float>(std::max(-1.0, static_cast<double>(integer_at(type, bytes)) / greatest));
    return texture.srgb && channel < 3 ? linear_of_srgb(value) : value;
}

}  // namespace

unsigned bytes_of(TexelType type) {
    switch (type) {
        case TexelType::u8:
        case TexelType::s8:
            return 1;
        case TexelType::u16:
        case TexelType::s16:
        case TexelType::f16:
            return 2;
        case TexelType::u32:
        case TexelType::s32:
        case TexelType::f32:
            return 4;
    }
    return 0;
}

bool is_signed(TexelType type) {
    return type == TexelType::s8 || type == TexelType::s16 || type == TexelType::s32;
}

bool is_float(TexelType type) {
    return type == TexelType::f16 || type == TexelType::f32;
}

std::string_view name_of(TexelType type) {
    switch (type) {
        case TexelType::u8:
            return "u8";
        case TexelType::u16:
            return "u16";
        case TexelType::u32:
            return "u32";
        case TexelType::s8:
            return "s8";
        case TexelType::s16:
            return "s16";
        case TexelType::s32:
            return "s32";
        case TexelType::f16:
            return "f16";
        case TexelType::f32:
            return "f32";
    }
    return "";
}

std::uint64_t TexelImage::bytes() const {
    return (planes - std::uint64_t{1}) * plane_pitch + (height - std::uint64_t{1}) * pitch +
           std::uint64_t{width} * texel_bytes();
}

std::string problem_of(const TexelImage& image) {
    constexpr std::uint64_t kWidestArray = 1u << 20, kWidestRow = 1u << 28;
    constexpr std::uint64_t kWidestPitch = std::uint64_t{1} << 32, kWidestPlane = std::uint64_t{1} << 42;
    if (bytes_of(image.type) == 0)
        return "there is no texel of format " + std::to_string(static_cast<unsigned>(image.type));
    if (image.channels != 1 && image.channels != 2 && image.channels != 4)
        return "a texel has 1, 2 or 4 channels, not " + std::to_string(image.channels);
    if (image.dimensions < 1 || image.dimensions > 3)
        return "an image has 1 to 3 dimensions, not " + std::to_string(image.dimensions);
    if (image.width == 0 || image.height == 0 || image.planes == 0) return "an image has at least one texel";
    if (image.width > (image.linear ? kWidestRow : kWidestArray) || image.height > kWidestArray ||
        image.planes > kWidestArray)
        return "the image is too large: " + std::to_string(image.width) + " x " +
               std::to_string(image.height) + " x " + std::to_string(image.planes);
    if (image.pitch > kWidestPitch || image.plane_pitch > kWidestPlane)
        return "rows or planes are too far apart";
    if (image.dimensions == 1 && image.height != 1) return "an image of one dimension has one row";
    if (image.dimensions < 3 && !image.layered && !image.cube && image.planes != 1)
        return "only layers, faces and depth make planes";
    if (image.cube && (image.dimensions != 2 || image.width != image.height || image.planes % 6 != 0 ||
                       (!image.layered && image.planes != 6)))
        return "a cube has six square faces for each layer";
    if (image.layered && image.dimensions == 3) return "layers have one or two dimensions";
    if (image.address == 0 || image.address % image.texel_bytes() != 0)
        return "the texels do not begin at a multiple of their size";
    if (image.pitch % image.texel_bytes() != 0 || image.plane_pitch % image.texel_bytes() != 0)
        return "rows and planes are no multiple of a texel apart";
    if (image.height > 1 && image.pitch < std::uint64_t{image.width} * image.texel_bytes())
        return "the pitch is smaller than a row";
    return "";
}

std::string problem_of(const Texture& texture) {
    if (std::string problem = problem_of(texture.image); !problem.empty()) return problem;
    if (texture.filters && gives_integers(texture))
        return "integers are not filtered: read them as normalised numbers";
    if (texture.srgb && texture.image.type != TexelType::u8)
        return "sRGB has channels of 8 bits without a sign";
    if (texture.srgb && texture.reads_integers) return "sRGB is read as normalised numbers";
    return "";
}

std::uint64_t TextureTable::add(const Texture& texture) {
    if (const std::string problem = problem_of(texture); !problem.empty())
        throw Error("this is no texture: " + problem);
    const std::uint64_t handle = kFirstHandle + next_++;
    objects_.emplace(handle, texture);
    return handle;
}

std::uint64_t TextureTable::add_surface(const TexelImage& image) {
    if (const std::string problem = problem_of(image); !problem.empty())
        throw Error("this is no surface: " + problem);
    const std::uint64_t handle = kFirstHandle + next_++;
    objects_.emplace(handle, image);
    return handle;
}

const Texture* TextureTable::texture(std::uint64_t handle) const {
    const auto found = objects_.find(handle);
    return found == objects_.end() ? nullptr : std::get_if<Texture>(&found->second);
}

const TexelImage* TextureTable::surface(std::uint64_t handle) const {
    const auto found = objects_.find(handle);
    return found == objects_.end() ? nullptr : std::get_if<TexelImage>(&found->second);
}

const TexelImage* TextureTable::image(std::uint64_t handle) const {
    if (const Texture* const found = texture(handle)) return &found->image;
    return surface(handle);
}

TexelSample sample_texels(const Texture& texture, const TexturePoint& point, bool gathers) {
    const TexelImage& image = texture.image;
    const bool by_index = point.by_index || image.linear;
    const bool filters = gathers || (texture.filters && !by_index);
    const bool normalized = (texture.normalized || image.cube) && !by_index;
    std::array<double, 3> at = point.at;
    std::uint64_t plane = 0;
    std::array<TextureAddressMode, 3> modes = texture.address_modes;
    if (image.linear) modes.fill(TextureAddressMode::border);
    if (image.cube) {
        const FacePoint face = face_of(at);
        at = {face.s, face.t, 0};
        plane = face.face;
        modes.fill(TextureAddressMode::clamp);
    }
    if (image.layered) {
        const std::uint32_t faces = image.cube ? 6 : 1;
        plane += std::uint64_t{std::min(point.layer, image.planes / faces - 1)} * faces;
    }
    const std::array<std::uint32_t, 3> sizes{image.width, image.height, image.planes};
    std::array<AxisTexels, 3> axes;
    for (unsigned d = 0; d < image.dimensions; ++d)
        axes[d] = resolve_axis(at[d], sizes[d], modes[d], normalized, filters);
    TexelSample sample;
    for (unsigned z = 0; z < axes[2].count; ++z)
        for (unsigned y = 0; y < axes[1].count; ++y)
            for (unsigned x = 0; x < axes[0].count; ++x) {
                TexelSample::Part& part = sample.parts[sample.count++];
                part.border = axes[0].border[x] || axes[1].border[y] || axes[2].border[z];
                part.weight = axes[0].weight[x] * axes[1].weight[y] * axes[2].weight[z];
                part.address = image.address +
                               (plane + static_cast<std::uint64_t>(axes[2].index[z])) * image.plane_pitch +
                               static_cast<std::uint64_t>(axes[1].index[y]) * image.pitch +
                               static_cast<std::uint64_t>(axes[0].index[x]) * image.texel_bytes();
            }
    return sample;
}

bool gives_integers(const Texture& texture) {
    const TexelType type = texture.image.type;
    return !is_float(type) && (texture.reads_integers || bytes_of(type) == 4);
}

std::array<std::uint32_t, 4> read_texel(const Texture& texture, const std::byte* bytes) {
    const TexelImage& image = texture.image;
    const bool integers = gives_integers(texture);
    std::array<std::uint32_t, 4> result{0, 0, 0, integers ? 1u : std::bit_cast<std::uint32_t>(1.0f)};
    for (unsigned channel = 0; channel < image.channels; ++channel) {
        if (bytes == nullptr) {
            result[channel] = image.linear ? 0 : std::bit_cast<std::uint32_t>(texture.border[channel]);
            continue;
        }
        const std::byte* const at = bytes + std::size_t{channel} * bytes_of(image.type);
        result[channel] = integers ? static_cast<std::uint32_t>(integer_at(image.type, at))
                                   : std::bit_cast<std::uint32_t>(float_at(texture, channel, at));
    }
    return result;
}

SurfacePlace locate_in_surface(const TexelImage& image, std::array<std::int32_t, 3> at, unsigned bytes,
                               SurfaceBoundary boundary) {
    const std::int64_t row = std::int64_t{image.width} * image.texel_bytes();
    const std::array<std::int64_t, 3> most{std::max<std::int64_t>(0, row - bytes),
                                           std::int64_t{image.height} - 1, std::int64_t{image.planes} - 1};
    std::array<std::int64_t, 3> place{};
    for (unsigned d = 0; d < 3; ++d) {
        place[d] = std::clamp<std::int64_t>(at[d], 0, most[d]);
        if (place[d] != at[d] && boundary != SurfaceBoundary::clamp) return {false, 0};
    }
    return {row >= std::int64_t{bytes},
            image.address + static_cast<std::uint64_t>(place[2]) * image.plane_pitch +
                static_cast<std::uint64_t>(place[1]) * image.pitch + static_cast<std::uint64_t>(place[0])};
}

}  // namespace heddle::ptx
