// Textures and surfaces: what the object behind a handle says. Kernels read texels through tex and tld4, and
// read and write them through suld, sust and sured. The rules are those of the CUDA C++ Programming Guide,
// appendix "Texture Fetching".
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>

namespace heddle::ptx {

/// What a channel of a texel is, by the numbers of CUarray_format.
enum class TexelType : std::uint8_t {
    u8 = 1,
    u16 = 2,
    u32 = 3,
    s8 = 8,
    s16 = 9,
    s32 = 10,
    f16 = 16,
    f32 = 32
};
unsigned bytes_of(TexelType type);         ///< of a channel; 0: there is no such type
bool is_signed(TexelType type);            ///< s8, s16, s32
bool is_float(TexelType type);             ///< f16, f32
std::string_view name_of(TexelType type);  ///< "u8"

/// What a coordinate outside of the image leads to, by the numbers of CUaddress_mode. wrap and mirror hold
/// for normalised coordinates and are clamp for others.
enum class TextureAddressMode : std::uint8_t { wrap, clamp, mirror, border };

/// Texels in global memory: rows one after the other, and planes of rows.
struct TexelImage {
    std::uint64_t address = 0;
    TexelType type = TexelType::u8;
    unsigned channels = 1;    ///< 1, 2 or 4
    unsigned dimensions = 1;  ///< 1 to 3; 2 of the faces of a cube; layers do not count
    bool layered = false;     ///< planes are layers
    bool cube = false;    ///< planes are faces: +x, -x, +y, -y, +z, -z, of each layer if it is layered, too
    bool linear = false;  ///< one row of memory that is no array: fetched by index, unfiltered, and 0 outside
    std::uint32_t width = 0, height = 1, planes = 1;  ///< in texels; planes: depth, layers, faces
    std::uint64_t pitch = 0, plane_pitch = 0;         ///< bytes from a row, and from a plane, to the next

    unsigned texel_bytes() const { return bytes_of(type) * channels; }
    std::uint64_t bytes() const;  ///< from the first texel to the end of the last
};

struct Texture {
    TexelImage image;
    std::array<TextureAddressMode, 3> address_modes{TextureAddressMode::clamp, TextureAddressMode::clamp,
                                                    TextureAddressMode::clamp};
    bool filters = false;         ///< linear interpolation between texels; else the nearest one
    bool normalized = false;      ///< coordinates run from 0 to 1 in place of 0 to the size
    bool reads_integers = false;  ///< channels of integers stay such; else those of 8 and 16 bits become
                                  ///< numbers from 0 or -1 to 1
    bool srgb = false;            ///< channels of u8 but the fourth hold sRGB and are made linear
    std::array<float, 4> border{};
};

/// What is wrong with an image or a texture, in words; empty: nothing.
std::string problem_of(const TexelImage& image);
std::string problem_of(const Texture& texture);

/// The textures and surfaces of a device. A handle says nothing to the program, and is not used again.
class TextureTable {
  public:
    /// Throws heddle::Error with what is wrong with it.
    std::uint64_t add(const Texture& texture);
    std::uint64_t add_surface(const TexelImage& image);
    /// False: there is no such object.
    bool remove(std::uint64_t handle) { return objects_.erase(handle) != 0; }
    /// nullptr: the handle is none of a texture, or of a surface.
    const Texture* texture(std::uint64_t handle) const;
    const TexelImage* surface(std::uint64_t handle) const;
    /// The texels of a texture or a surface; nullptr: it is neither.
    const TexelImage* image(std::uint64_t handle) const;

  private:
    std::map<std::uint64_t, std::variant<Texture, TexelImage>> objects_;
    std::uint64_t next_ = 1;
};

/// Where a lane reads, in the units of the instruction.
struct TexturePoint {
    std::array<double, 3> at{};  ///< x, y, z
    std::uint32_t layer = 0;
    bool by_index = false;  ///< coordinates are integers: texels, unfiltered and not normalised
};

/// The texels that a lane reads, and what each adds to the result. Those of a border lie in no memory.
struct TexelSample {
    static constexpr unsigned kMost = 8;
    unsigned count = 0;  ///< 1, 2, 4 or 8: x first
    struct Part {
        bool border = false;
        std::uint64_t address = 0;
        double weight = 1;
    };
    std::array<Part, kMost> parts;
};

/// The texels of tex, by the texture's filter, or of tld4 (`gathers`): the four of a linear filter in two
/// dimensions, in the order (0, 0), (1, 0), (0, 1), (1, 1) of x and y.
TexelSample sample_texels(const Texture& texture, const TexturePoint& point, bool gathers);

/// The channels of a texel as a kernel gets them: bits of f32, or of s32 and u32 where the texture reads
/// integers of those. Channels that the image has not are 0, the fourth 1. `bytes`: of the texel; nullptr:
/// that of the border.
std::array<std::uint32_t, 4> read_texel(const Texture& texture, const std::byte* bytes);

/// Whether kernels get integers.
bool gives_integers(const Texture& texture);

/// What surface instructions do outside of the image.
enum class SurfaceBoundary : std::uint8_t { trap, clamp, zero };

/// Where `bytes` of a surface lie. x counts bytes, y and z rows and planes.
struct SurfacePlace {
    bool inside = true;
    std::uint64_t address = 0;
};
SurfacePlace locate_in_surface(const TexelImage& image, std::array<std::int32_t, 3> at, unsigned bytes,
                               SurfaceBoundary boundary);

}  // namespace heddle::ptx
