// Texture and surface objects: the program describes what is behind them, kernels name them by their handles.
#include "driver/server/virtual_gpu.h"
#include "isa/ptx/tensor_map.h"
#include "isa/common/error.h"

namespace heddle::driver {
namespace {

ptx::TexelImage described_image(const ImageDescription& given) {
    ptx::TexelImage image;
    image.address = given.address;
    image.type = static_cast<ptx::TexelType>(given.format);
    image.channels = given.channels;
    image.dimensions = given.dimensions;
    image.layered = given.layered != 0;
    image.cube = given.cube != 0;
    image.linear = given.linear != 0;
    image.width = given.width;
    image.height = given.height;
    image.planes = given.planes;
    image.pitch = given.pitch;
    image.plane_pitch = given.plane_pitch;
    return image;
}

ptx::Texture described_texture(const ImageDescription& image, const TextureDescription& given) {
    ptx::Texture texture;
    texture.image = described_image(image);
    for (unsigned d = 0; d < 3; ++d) texture.address_modes[d] = static_cast<ptx::TextureAddressMode>(given.address_modes[d]);
    texture.filters = given.filters != 0;
    texture.normalized = given.normalized != 0;
    texture.reads_integers = given.integers != 0;
    texture.srgb = given.srgb != 0;
    std::copy(std::begin(given.border), std::end(given.border), texture.border.begin());
    return texture;
}

}  // namespace

void VirtualGpu::create_object(Reader& content, bool surface, Answer& answer) {
    const auto image = content.get<ImageDescription>();
    try {
        if (memory_.find(image.address, std::max<std::uint64_t>(1, described_image(image).bytes())) == nullptr)
            throw Error("this is no texture: its texels lie outside of all allocations");
        const std::uint64_t object =
            surface ? textures_.add_surface(described_image(image)) : textures_.add(described_texture(image, content.get<TextureDescription>()));
        answer.content.put(object);
    } catch (const Error& error) {
        answer.status = Status::invalid_value;
        answer.message = error.what();
    }
}

void VirtualGpu::create_texture(Reader& content, Answer& answer) {
    create_object(content, false, answer);
}

void VirtualGpu::create_surface(Reader& content, Answer& answer) {
    create_object(content, true, answer);
}

void VirtualGpu::destroy_texture(Reader& content, Answer&) {
    textures_.remove(content.get<std::uint64_t>());
}

void VirtualGpu::tensor_map(Reader& content, Answer& answer) {
    ptx::TensorMap map;
    map.type = static_cast<ptx::TensorMapType>(content.get<std::uint32_t>());
    map.rank = static_cast<std::uint8_t>(content.get<std::uint32_t>());
    map.address = content.get<std::uint64_t>();
    map.interleave = static_cast<std::uint8_t>(content.get<std::uint32_t>());
    map.swizzle = static_cast<ptx::TensorMapSwizzle>(content.get<std::uint32_t>());
    map.promotion = static_cast<ptx::TensorMapPromotion>(content.get<std::uint32_t>());
    map.fill = static_cast<ptx::TensorMapFill>(content.get<std::uint32_t>());
    for (unsigned i = 0; i < map.rank && i < ptx::kMaximumTensorRank; ++i) {
        map.sizes[i] = content.get<std::uint64_t>();
        const auto stride = content.get<std::uint64_t>();
        if (i + 1 < map.rank) map.strides[i] = stride;
        map.box[i] = content.get<std::uint32_t>();
        map.element_strides[i] = content.get<std::uint32_t>();
    }
    try {
        answer.content.put(map.encode());
    } catch (const Error& error) {
        answer.status = Status::invalid_value;
        answer.message = error.what();
    }
}

}  // namespace heddle::driver
