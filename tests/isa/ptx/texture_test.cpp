// Textures and surfaces: every shape, filter, address mode and format against a reference that is written out
// from the rules of the CUDA C++ Programming Guide, and objects that do not fit.
#include "isa/ptx/texture.h"

#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>

#include "isa/common/error.h"
#include "isa/numerics/formats.h"
#include "launch.h"

using namespace heddle;
using namespace heddle::ptx;
using namespace heddle::ptx::test;

namespace {

using Mode4 = TextureAddressMode;

/// Rows of random texels with a gap behind each row.
class TexelMemory {
  public:
    TexelMemory(TexelType type, unsigned channels, std::uint32_t width, std::uint32_t height,
                std::uint32_t planes, unsigned seed) {
        image.type = type;
        image.channels = channels;
        image.width = width;
        image.height = height;
        image.planes = planes;
        image.pitch = (std::uint64_t{width} * image.texel_bytes() + 31) / 32 * 32 + 32;
        image.plane_pitch = image.pitch * height + 64;
        std::mt19937 random(seed);
        bytes.resize(image.plane_pitch * planes);
        for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random());
        if (type == TexelType::f32 || type == TexelType::f16) fill_floats(random);
    }
    /// Raw bits of a channel.
    std::uint32_t raw(std::int64_t x, std::int64_t y, std::int64_t z, unsigned channel) const {
        const unsigned size = bytes_of(image.type);
        std::uint32_t value = 0;
        const std::size_t at =
            static_cast<std::size_t>(z) * image.plane_pitch + static_cast<std::size_t>(y) * image.pitch +
            static_cast<std::size_t>(x) * image.texel_bytes() + std::size_t{channel} * size;
        std::memcpy(&value, bytes.data() + at, size);
        return value;
    }
    TexelImage image;
    std::vector<std::uint8_t> bytes;

  private:
    void fill_floats(std::mt19937& random) {
        std::uniform_real_distribution<float> number(-8, 8);
        const bool half = image.type == TexelType::f16;
        for (std::size_t at = 0; at + 4 <= bytes.size(); at += half ? 2 : 4) {
            const float value = number(random);
            const std::uint32_t bits =
                half ? numerics::fp32_to_fp16(value) : std::bit_cast<std::uint32_t>(value);
            std::memcpy(bytes.data() + at, &bits, half ? 2 : 4);
        }
    }
};

/// The number that a channel of bits stands for, when it is read as one.
double number_of_bits(TexelType type, std::uint32_t bits, bool srgb) {
    double value = 0;
    switch (type) {
        case TexelType::u8:
            value = static_cast<float>(bits / 255.0);
            break;
        case TexelType::u16:
            value = static_cast<float>(bits / 65535.0);
            break;
        case TexelType::s8:
            value = static_cast<float>(std::max(-1.0, static_cast<std::int8_t>(bits) / 127.0));
            break;
        case TexelType::s16:
            value = static_cast<float>(std::max(-1.0, static_cast<std::int16_t>(bits) / 32767.0));
            break;
        case TexelType::f16: {
            const int exponent = static_cast<int>(bits >> 10 & 31), fraction = static_cast<int>(bits & 1023);
            value = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
            if ((bits & 0x8000u) != 0) value = -value;
            break;
        }
        default:
            value = static_cast<double>(std::bit_cast<float>(bits));
    }
    if (srgb)
        value = static_cast<float>(value <= 0.04045 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4));
    return value;
}

/// A texel's place on an axis; -1: it belongs to the border.
std::int64_t place_on_axis(std::int64_t i, std::int64_t n, Mode4 mode) {
    if (mode == Mode4::border) return i < 0 || i >= n ? -1 : i;
    if (mode == Mode4::wrap) {
        while (i < 0) i += n;
        while (i >= n) i -= n;
        return i;
    }
    if (mode == Mode4::mirror) {
        while (i < 0 || i >= n) i = i < 0 ? -1 - i : 2 * n - 1 - i;
        return i;
    }
    return i < 0 ? 0 : i >= n ? n - 1 : i;
}

struct Reference {
    const TexelMemory& memory;
    const Texture& texture;

    double number(std::int64_t x, std::int64_t y, std::int64_t z, unsigned c) const {
        const TexelImage& image = memory.image;
        const auto mode = [&](unsigned d) {
            const Mode4 given = texture.address_modes[d];
            return !texture.normalized && (given == Mode4::wrap || given == Mode4::mirror) ? Mode4::clamp
                                                                                           : given;
        };
        const std::int64_t px = place_on_axis(x, image.width, mode(0)),
                           py = image.dimensions > 1 ? place_on_axis(y, image.height, mode(1)) : 0,
                           pz = image.dimensions > 2 ? place_on_axis(z, image.planes, mode(2)) : z;
        if (px < 0 || py < 0 || pz < 0) return static_cast<double>(texture.border[c]);
        return number_of_bits(image.type, memory.raw(px, py, pz, c), texture.srgb && c < 3);
    }

    /// One channel at coordinates of the kernel. `layer` is the plane of images without depth.
    float read(const std::array<float, 3>& at, std::int64_t layer, unsigned c) const {
        const TexelImage& image = memory.image;
        const std::array<std::uint32_t, 3> sizes{image.width, image.height, image.planes};
        std::array<double, 3> u{};
        for (unsigned d = 0; d < image.dimensions; ++d)
            u[d] = texture.normalized ? double{at[d]} * sizes[d] : double{at[d]};
        if (!texture.filters) {
            const auto floor_of = [&](unsigned d) { return static_cast<std::int64_t>(std::floor(u[d])); };
            return static_cast<float>(
                number(floor_of(0), floor_of(1), image.dimensions > 2 ? floor_of(2) : layer, c));
        }
        // Weights in units of 1/256.
        std::array<std::int64_t, 3> first{0, 0, layer}, weight{};
        for (unsigned d = 0; d < image.dimensions; ++d) {
            first[d] = static_cast<std::int64_t>(std::floor(u[d] - 0.5));
            weight[d] = static_cast<std::int64_t>(
                std::floor((u[d] - 0.5 - static_cast<double>(first[d])) * 256 + 0.5));
        }
        double sum = 0;
        for (int z = 0; z < (image.dimensions > 2 ? 2 : 1); ++z)
            for (int y = 0; y < (image.dimensions > 1 ? 2 : 1); ++y)
                for (int x = 0; x < 2; ++x) {
                    const auto part = [&](unsigned d, int upper) {
                        return upper != 0 ? weight[d] : 256 - weight[d];
                    };
                    const std::int64_t units = part(0, x) * (image.dimensions > 1 ? part(1, y) : 256) *
                                               (image.dimensions > 2 ? part(2, z) : 256);
                    sum += std::ldexp(static_cast<double>(units), -24) *
                           number(first[0] + x, first[1] + y, first[2] + z, c);
                }
        return static_cast<float>(sum);
    }
};

/// Runs `instruction` once per thread: %h is the object, %x, %y and %z the coordinates as floats, %l the
/// layer, %i, %j and %k the coordinates as integers; it writes %r0 to %r3.
std::vector<std::uint32_t> run_instruction(const std::string& instruction, const TextureTable& table,
                                           std::uint64_t handle, Device& device,
                                           const std::vector<std::array<float, 3>>& points,
                                           const std::vector<std::uint32_t>& layers) {
    const auto count = static_cast<unsigned>(points.size());
    std::vector<float> at;
    for (const auto& point : points) at.insert(at.end(), point.begin(), point.end());
    const std::string body =
        ".reg .b64 %h, %p, %q, %a; .reg .b32 %t, %n, %l, %i, %j, %k, %r<4>; .reg .f32 %x, %y, %z; .reg .b16 "
        "%s<4>; .reg .pred %m; .reg .b64 %w;\n"
        "ld.param.u64 %h, [h]; ld.param.u64 %p, [p]; ld.param.u64 %q, [q]; ld.param.u64 %a, [l]; mov.u32 %t, "
        "%tid.x; mov.u32 %n, %ctaid.x;\n"
        "mad.lo.u32 %t, %n, 64, %t; ld.param.u32 %n, [n]; setp.ge.u32 %m, %t, %n; @%m ret;\n"
        "mul.wide.u32 %w, %t, 4; add.u64 %a, %a, %w; ld.global.u32 %l, [%a];\n"
        "mul.wide.u32 %w, %t, 12; add.u64 %p, %p, %w; ld.global.f32 %x, [%p]; ld.global.f32 %y, [%p+4]; "
        "ld.global.f32 %z, [%p+8];\n"
        "cvt.rmi.s32.f32 %i, %x; cvt.rmi.s32.f32 %j, %y; cvt.rmi.s32.f32 %k, %z; mov.b32 %r0, 0; mov.b32 "
        "%r1, 0; mov.b32 %r2, 0; mov.b32 %r3, 0;\n" +
        instruction +
        "\nmul.wide.u32 %w, %t, 16; add.u64 %q, %q, %w; st.global.v4.b32 [%q], {%r0, %r1, %r2, %r3}; ret;";
    const Program program(
        module_text(".param .u64 h, .param .u64 p, .param .u64 q, .param .u64 l, .param .u32 n", body),
        "test");
    const auto p = device.upload("points", at), l = device.upload("layers", layers);
    const auto q = device.upload("results", std::vector<std::uint32_t>(std::size_t{4} * count));
    LaunchContext launch =
        program.launch(device, {(count + 63) / 64}, {64},
                       {argument(handle), argument(p), argument(q), argument(l), argument(count)});
    launch.textures = &table;
    run_functionally(launch);
    return device.download<std::uint32_t>(q, std::size_t{4} * count);
}

std::vector<std::array<float, 3>> random_points(const Texture& texture, std::size_t count, unsigned seed) {
    std::mt19937 random(seed);
    std::vector<std::array<float, 3>> points(count);
    const std::array<std::uint32_t, 3> sizes{texture.image.width, texture.image.height, texture.image.planes};
    for (auto& point : points)
        for (unsigned d = 0; d < 3; ++d) {
            const float span = texture.normalized ? 1.0f : static_cast<float>(sizes[d]);
            // Some lie on the middle of a texel, where the weight of the other is 0.
            std::uniform_real_distribution<float> anywhere(-1.3f * span, 2.3f * span);
            point[d] = random() % 4 == 0 ? (static_cast<float>(random() % sizes[d]) + 0.5f) *
                                               (span / static_cast<float>(sizes[d]))
                                         : anywhere(random);
        }
    return points;
}

struct Shape {
    unsigned dimensions;
    bool layered;
    const char* suffix;
    const char* coordinates;
};
constexpr Shape kShapes[] = {{1, false, "1d", "{%x}"},
                             {2, false, "2d", "{%x, %y}"},
                             {3, false, "3d", "{%x, %y, %z, %z}"},
                             {1, true, "a1d", "{%l, %x}"},
                             {2, true, "a2d", "{%l, %x, %y, %y}"}};

}  // namespace

TEST_CASE("Texels are what the rules of the guide say", "[ptx][texture]") {
    const TexelType types[] = {TexelType::u8,  TexelType::s8,  TexelType::u16,
                               TexelType::s16, TexelType::f16, TexelType::f32};
    unsigned seed = 1;
    for (const Shape& shape : kShapes)
        for (const TexelType type : types)
            for (const bool filters : {false, true})
                for (const bool normalized : {false, true})
                    for (const Mode4 mode : {Mode4::wrap, Mode4::clamp, Mode4::mirror, Mode4::border}) {
                        ++seed;
                        const unsigned channels = 1u << seed % 3;
                        TexelMemory memory(type, channels, 5 + seed % 4,
                                           shape.dimensions > 1 ? 3 + seed % 3 : 1,
                                           shape.layered || shape.dimensions == 3 ? 4 : 1, seed);
                        Device device;
                        memory.image.dimensions = shape.dimensions;
                        memory.image.layered = shape.layered;
                        memory.image.address = device.upload("texels", memory.bytes);
                        Texture texture;
                        texture.image = memory.image;
                        texture.address_modes.fill(mode);
                        texture.filters = filters;
                        texture.normalized = normalized;
                        texture.srgb = type == TexelType::u8 && seed % 2 == 0;
                        texture.border = {0.25f, -2, 3, 0.5f};
                        TextureTable table;
                        const std::uint64_t handle = table.add(texture);
                        const auto points = random_points(texture, 75, seed);
                        std::vector<std::uint32_t> layers;
                        for (std::size_t i = 0; i < points.size(); ++i)
                            layers.push_back(static_cast<std::uint32_t>(i % 6));
                        const auto results = run_instruction(std::string("tex.") + shape.suffix +
                                                                 ".v4.f32.f32 {%r0, %r1, %r2, %r3}, [%h, " +
                                                                 shape.coordinates + "];",
                                                             table, handle, device, points, layers);
                        const Reference reference{memory, texture};
                        INFO(shape.suffix << " " << name_of(type) << " filters " << filters << " normalized "
                                          << normalized << " mode " << static_cast<int>(mode) << " channels "
                                          << channels);
                        for (std::size_t i = 0; i < points.size(); ++i) {
                            const std::int64_t layer =
                                shape.layered ? std::min<std::int64_t>(layers[i], 3) : 0;
                            for (unsigned c = 0; c < 4; ++c) {
                                const float expected = c < channels ? reference.read(points[i], layer, c)
                                                       : c == 3     ? 1.0f
                                                                    : 0.0f;
                                const float found = std::bit_cast<float>(results[4 * i + c]);
                                INFO("point " << i << ": " << points[i][0] << ", " << points[i][1] << ", "
                                              << points[i][2] << " channel " << c);
                                // mirror takes the weight from the other side, where a tie is rounded the
                                // other way: a unit of numbers 16 apart.
                                const float slack =
                                    filters && normalized && mode == Mode4::mirror ? 16.0f / 256 : 0.0f;
                                REQUIRE(std::abs(found - expected) <= slack);
                            }
                        }
                    }
}

TEST_CASE("A filter's weights have 8 bits behind the point", "[ptx][texture]") {
    TexelMemory memory(TexelType::f32, 1, 2, 1, 1, 1);
    const std::array<float, 2> texels{0.0f, 65536.0f};
    std::memcpy(memory.bytes.data(), texels.data(), sizeof texels);
    Device device;
    memory.image.address = device.upload("texels", memory.bytes);
    Texture texture;
    texture.image = memory.image;
    texture.filters = true;
    TextureTable table;
    const std::uint64_t handle = table.add(texture);
    const auto results =
        run_instruction("tex.1d.v4.f32.f32 {%r0, %r1, %r2, %r3}, [%h, %x];", table, handle, device,
                        {{0.5f, 0, 0},
                         {0.5f + 1.0f / 256, 0, 0},
                         {0.5f + 1.4f / 256, 0, 0},
                         {0.5f + 1.6f / 256, 0, 0},
                         {1.4999f, 0, 0},
                         {1.5f, 0, 0},
                         {9.0f, 0, 0}},
                        std::vector<std::uint32_t>(7));
    const std::vector<float> expected{0, 256, 256, 512, 65536, 65536, 65536};
    for (std::size_t i = 0; i < expected.size(); ++i)
        CHECK(std::bit_cast<float>(results[4 * i]) == expected[i]);
}

TEST_CASE("Integers are read as they are", "[ptx][texture]") {
    for (const TexelType type :
         {TexelType::u8, TexelType::s8, TexelType::u16, TexelType::s16, TexelType::u32, TexelType::s32}) {
        TexelMemory memory(type, 2, 7, 5, 1, 3);
        Device device;
        memory.image.dimensions = 2;
        memory.image.address = device.upload("texels", memory.bytes);
        Texture texture;
        texture.image = memory.image;
        texture.reads_integers = true;
        TextureTable table;
        const std::uint64_t handle = table.add(texture);
        std::vector<std::array<float, 3>> points;
        for (float y = 0; y < 5; ++y)
            for (float x = 0; x < 7; ++x) points.push_back({x, y, 0});
        for (const char* const coordinates :
             {"f32 {%r0, %r1, %r2, %r3}, [%h, {%x, %y}];", "s32 {%r0, %r1, %r2, %r3}, [%h, {%i, %j}];"}) {
            const auto results = run_instruction(std::string("tex.2d.v4.s32.") + coordinates, table, handle,
                                                 device, points, std::vector<std::uint32_t>(points.size()));
            for (std::size_t i = 0; i < points.size(); ++i) {
                for (unsigned c = 0; c < 2; ++c) {
                    std::uint32_t expected =
                        memory.raw(static_cast<std::int64_t>(i % 7), static_cast<std::int64_t>(i / 7), 0, c);
                    if (type == TexelType::s8)
                        expected =
                            static_cast<std::uint32_t>(std::int32_t{static_cast<std::int8_t>(expected)});
                    if (type == TexelType::s16)
                        expected =
                            static_cast<std::uint32_t>(std::int32_t{static_cast<std::int16_t>(expected)});
                    CHECK(results[4 * i + c] == expected);
                }
                CHECK(results[4 * i + 2] == 0);
                CHECK(results[4 * i + 3] == 1);
            }
        }
    }
}

TEST_CASE("Linear memory is read by index and is 0 outside", "[ptx][texture]") {
    TexelMemory memory(TexelType::f32, 1, 100, 1, 1, 5);
    Device device;
    memory.image.linear = true;
    memory.image.address = device.upload("texels", memory.bytes);
    Texture texture;
    texture.image = memory.image;
    TextureTable table;
    const std::uint64_t handle = table.add(texture);
    std::vector<std::array<float, 3>> points;
    for (float x = -3; x < 104; ++x) points.push_back({x, 0, 0});
    const auto results = run_instruction("tex.1d.v4.f32.s32 {%r0, %r1, %r2, %r3}, [%h, {%i}];", table, handle,
                                         device, points, std::vector<std::uint32_t>(points.size()));
    for (std::size_t i = 0; i < points.size(); ++i) {
        const auto x = static_cast<std::int64_t>(i) - 3;
        CHECK(results[4 * i] == (x < 0 || x >= 100 ? 0 : memory.raw(x, 0, 0, 0)));
    }
}

TEST_CASE("Cubes, levels, gradients, halves and tld4", "[ptx][texture]") {
    TexelMemory memory(TexelType::f16, 4, 4, 4, 12, 7);
    Device device;
    memory.image.dimensions = 2;
    memory.image.cube = memory.image.layered = true;
    memory.image.address = device.upload("texels", memory.bytes);
    Texture texture;
    texture.image = memory.image;
    TextureTable table;
    const std::uint64_t cubes = table.add(texture);
    // The middle of the texel (s, t) of each face, by the table of the guide.
    struct Direction {
        std::array<float, 3> at;
        std::int64_t face, s, t;
    };
    const std::vector<Direction> directions{{{2, -0.5f, 1.5f}, 0, 0, 2}, {{-2, 1.5f, 0.5f}, 1, 2, 0},
                                            {{0.5f, 2, -1.5f}, 2, 2, 0}, {{0.5f, -2, -1.5f}, 3, 2, 3},
                                            {{1.5f, -1.5f, 2}, 4, 3, 3}, {{1.5f, 0.5f, -2}, 5, 0, 1}};
    std::vector<std::array<float, 3>> points;
    for (const Direction& direction : directions) points.push_back(direction.at);
    const std::vector<std::uint32_t> second(points.size(), 1);
    const auto faces = run_instruction("tex.acube.v4.f32.f32 {%r0, %r1, %r2, %r3}, [%h, {%l, %x, %y, %z}];",
                                       table, cubes, device, points, second);
    for (std::size_t i = 0; i < directions.size(); ++i)
        for (unsigned c = 0; c < 4; ++c) {
            INFO("face " << i);
            CHECK(std::bit_cast<float>(faces[4 * i + c]) ==
                  static_cast<float>(number_of_bits(
                      TexelType::f16, memory.raw(directions[i].s, directions[i].t, 6 + directions[i].face, c),
                      false)));
        }

    texture.image.cube = texture.image.layered = false;
    texture.image.planes = 1;
    const std::uint64_t flat = table.add(texture);
    const auto raw = [&](std::int64_t x, std::int64_t y, unsigned c) { return memory.raw(x, y, 0, c); };
    const std::vector<std::array<float, 3>> inside{{1.5f, 2.5f, 0}, {2.5f, 0.5f, 7}};
    const std::vector<std::uint32_t> none(inside.size());
    const std::vector<std::string> same{
        "tex.2d.v4.f16.f32 {%s0, %s1, %s2, %s3}, [%h, {%x, %y}]; cvt.u32.u16 %r0, %s0; cvt.u32.u16 %r1, %s1; "
        "cvt.u32.u16 %r2, %s2; cvt.u32.u16 %r3, %s3;",
        "tex.level.2d.v4.f16.f32 {%s0, %s1, %s2, %s3}, [%h, {%x, %y}], %z; cvt.u32.u16 %r0, %s0; cvt.u32.u16 "
        "%r1, %s1; cvt.u32.u16 %r2, %s2; cvt.u32.u16 %r3, %s3;",
        "tex.grad.2d.v4.f16.f32 {%s0, %s1, %s2, %s3}, [%h, {%x, %y}], {%x, %y}, {%z, %z}; cvt.u32.u16 %r0, "
        "%s0; cvt.u32.u16 %r1, %s1; cvt.u32.u16 %r2, %s2; cvt.u32.u16 "
        "%r3, %s3;",
        "tex.2d.v2.f16x2.f32 {%r0, %r2}, [%h, {%x, %y}]; shr.u32 %r1, %r0, 16; shr.u32 %r3, %r2, 16; and.b32 "
        "%r0, %r0, 65535; and.b32 %r2, %r2, 65535;"};
    for (const std::string& instruction : same) {
        const auto halves = run_instruction(instruction, table, flat, device, inside, none);
        INFO(instruction);
        for (unsigned c = 0; c < 4; ++c) {
            CHECK(halves[c] == raw(1, 2, c));
            CHECK(halves[4 + c] == raw(2, 0, c));
        }
    }
    const char* const components = "rgba";
    for (unsigned c = 0; c < 4; ++c) {
        const auto quad = run_instruction(
            std::string("tld4.") + components[c] + ".2d.v4.f32.f32 {%r0, %r1, %r2, %r3}, [%h, {%x, %y}];",
            table, flat, device, {{2.1f, 2.2f, 0}}, {0});
        const std::array<std::pair<int, int>, 4> order{{{1, 2}, {2, 2}, {2, 1}, {1, 1}}};
        for (unsigned i = 0; i < 4; ++i)
            CHECK(std::bit_cast<float>(quad[i]) ==
                  static_cast<float>(
                      number_of_bits(TexelType::f16, raw(order[i].first, order[i].second, c), false)));
    }
}

TEST_CASE("Surfaces are read, written and reduced", "[ptx][texture]") {
    TexelMemory memory(TexelType::u32, 2, 8, 4, 3, 9);
    Device device;
    memory.image.dimensions = 3;
    memory.image.address = device.upload("texels", memory.bytes);
    TextureTable table;
    const std::uint64_t deep = table.add_surface(memory.image);
    memory.image.dimensions = 2;
    memory.image.layered = true;
    const std::uint64_t layered = table.add_surface(memory.image);
    std::vector<std::array<float, 3>> points;
    for (int z = 0; z < 3; ++z)
        for (int y = 0; y < 4; ++y)
            for (int x = 0; x < 8; ++x)
                points.push_back({static_cast<float>(x), static_cast<float>(y), static_cast<float>(z)});
    const std::vector<std::uint32_t> none(points.size());
    const auto texel = [&](std::size_t i) {
        return std::array<std::int64_t, 3>{static_cast<std::int64_t>(i % 8),
                                           static_cast<std::int64_t>(i / 8 % 4),
                                           static_cast<std::int64_t>(i / 32)};
    };

    SECTION("reads") {
        const auto pairs =
            run_instruction("shl.b32 %i, %i, 3; suld.b.3d.v2.b32.trap {%r0, %r1}, [%h, {%i, %j, %k, %k}];",
                            table, deep, device, points, none);
        const auto words = run_instruction(
            "shl.b32 %i, %i, 3; suld.b.a2d.v4.b16.trap {%s0, %s1, %s2, %s3}, [%h, {%k, %i, %j, %j}]; mov.b32 "
            "%r0, {%s0, %s1}; mov.b32 %r1, {%s2, %s3};",
            table, layered, device, points, none);
        const auto byte =
            run_instruction("shl.b32 %i, %i, 3; suld.b.a2d.b8.trap {%r0}, [%h, {%k, %i, %j, %j}];", table,
                            layered, device, points, none);
        const auto wide = run_instruction(
            "shl.b32 %i, %i, 3; suld.b.3d.ca.b64.trap %w, [%h, {%i, %j, %k, %k}]; mov.b64 {%r0, %r1}, %w;",
            table, deep, device, points, none);
        for (std::size_t i = 0; i < points.size(); ++i) {
            const auto [x, y, z] = texel(i);
            for (unsigned c = 0; c < 2; ++c) {
                CHECK(pairs[4 * i + c] == memory.raw(x, y, z, c));
                CHECK(words[4 * i + c] == memory.raw(x, y, z, c));
                CHECK(wide[4 * i + c] == memory.raw(x, y, z, c));
            }
            CHECK(byte[4 * i] == (memory.raw(x, y, z, 0) & 255u));
        }
    }
    SECTION("outside") {
        const std::vector<std::array<float, 3>> outside{{-1, 0, 0}, {8, 3, 2}, {3, 9, 1}, {2, 1, -4}};
        const std::vector<std::uint32_t> few(outside.size());
        const auto zero = run_instruction(
            "shl.b32 %i, %i, 3; mov.b32 %r0, 7; suld.b.3d.b32.zero %r0, [%h, {%i, %j, %k, %k}];", table, deep,
            device, outside, few);
        const auto clamp =
            run_instruction("shl.b32 %i, %i, 3; suld.b.3d.v2.b32.clamp {%r0, %r1}, [%h, {%i, %j, %k, %k}];",
                            table, deep, device, outside, few);
        const std::int64_t nearest[][3] = {{0, 0, 0}, {7, 3, 2}, {3, 3, 1}, {2, 1, 0}};
        for (std::size_t i = 0; i < outside.size(); ++i) {
            CHECK(zero[4 * i] == 0);
            CHECK(clamp[4 * i + 1] == memory.raw(nearest[i][0], nearest[i][1], nearest[i][2], 1));
        }
        run_instruction(
            "shl.b32 %i, %i, 3; mov.b32 %r0, 7; sust.b.3d.b32.zero [%h, {%i, %j, %k, %k}], {%r0};", table,
            deep, device, outside, few);
        CHECK(device.download<std::uint8_t>(memory.image.address, memory.bytes.size()) == memory.bytes);
        CHECK_THROWS_WITH(
            run_instruction("shl.b32 %i, %i, 3; suld.b.3d.b32.trap %r0, [%h, {%i, %j, %k, %k}];", table, deep,
                            device, outside, few),
            Catch::Contains("byte -8 of row 0 of plane 0 is out of bounds of surface object") &&
                Catch::Contains("64 bytes"));
        CHECK_THROWS_WITH(
            run_instruction("suld.b.3d.b32.trap %r0, [%h, {2, 0, 0, 0}];", table, deep, device, outside, few),
            Catch::Contains("misaligned"));
    }
    SECTION("writes") {
        const auto written = [&](const std::string& instruction,
                                 const std::function<void(TexelMemory&, std::size_t)>& change) {
            run_instruction(instruction, table, deep, device, points, none);
            TexelMemory expected = memory;
            for (std::size_t i = 0; i < points.size(); ++i) change(expected, i);
            INFO(instruction);
            CHECK(device.download<std::uint8_t>(memory.image.address, memory.bytes.size()) == expected.bytes);
            memory = expected;
        };
        const auto put = [&](TexelMemory& to, std::size_t i, std::size_t offset, std::uint64_t value,
                             std::size_t size) {
            const auto [x, y, z] = texel(i);
            std::memcpy(to.bytes.data() + static_cast<std::size_t>(z) * to.image.plane_pitch +
                            static_cast<std::size_t>(y) * to.image.pitch + static_cast<std::size_t>(x) * 8 +
                            offset,
                        &value, size);
        };
        written("shl.b32 %i, %i, 3; sust.b.3d.v2.b32.trap [%h, {%i, %j, %k, %k}], {%t, %i};",
                [&](TexelMemory& to, std::size_t i) {
                    put(to, i, 0, i, 4);
                    put(to, i, 4, i % 8 * 8, 4);
                });
        written(
            "mad.lo.u32 %i, %i, 8, 2; cvt.u16.u32 %s0, %t; sust.b.3d.b16.trap [%h, {%i, %j, %k, %k}], {%s0};",
            [&](TexelMemory& to, std::size_t i) { put(to, i, 2, i, 2); });
        written(
            "mad.lo.u32 %i, %i, 8, 5; cvt.u16.u32 %s0, %t; sust.b.3d.b8.trap [%h, {%i, %j, %k, %k}], {%s0};",
            [&](TexelMemory& to, std::size_t i) { put(to, i, 5, i, 1); });
        written("shl.b32 %i, %i, 3; cvt.u64.u32 %w, %t; sust.b.3d.b64.trap [%h, {%i, %j, %k, %k}], {%w};",
                [&](TexelMemory& to, std::size_t i) { put(to, i, 0, i, 8); });
        written("shl.b32 %i, %i, 3; sured.b.add.3d.u32.trap [%h, {%i, %j, %k, %k}], 5;",
                [&](TexelMemory& to, std::size_t i) { put(to, i, 0, i + 5, 4); });
        written("shl.b32 %i, %i, 3; sured.b.min.3d.s32.trap [%h, {%i, %j, %k, %k}], -2;",
                [&](TexelMemory& to, std::size_t i) { put(to, i, 0, 0xFFFFFFFEu, 4); });
        written("shl.b32 %i, %i, 3; sured.b.max.3d.s32.trap [%h, {%i, %j, %k, %k}], %t;",
                [&](TexelMemory& to, std::size_t i) { put(to, i, 0, i, 4); });
        written("shl.b32 %i, %i, 3; sured.b.or.3d.b32.trap [%h, {%i, %j, %k, %k}], 256;",
                [&](TexelMemory& to, std::size_t i) { put(to, i, 0, i | 256, 4); });
        written("shl.b32 %i, %i, 3; sured.b.and.3d.b32.trap [%h, {%i, %j, %k, %k}], 257;",
                [&](TexelMemory& to, std::size_t i) { put(to, i, 0, (i | 256) & 257, 4); });
        // All lanes at one place: none is lost.
        run_instruction("sured.b.add.3d.u64.trap [%h, {8, 1, 0, 0}], 1;", table, deep, device, points, none);
        std::uint64_t before = 0;
        std::memcpy(&before, memory.bytes.data() + memory.image.pitch + 8, 8);
        CHECK(device.download<std::uint64_t>(memory.image.address + memory.image.pitch + 8, 1)[0] ==
              before + points.size());
    }
}

TEST_CASE("Textures and surfaces say what they are", "[ptx][texture]") {
    TexelMemory memory(TexelType::s16, 2, 6, 5, 4, 11);
    Device device;
    memory.image.dimensions = 2;
    memory.image.layered = true;
    memory.image.address = device.upload("texels", memory.bytes);
    Texture texture;
    texture.image = memory.image;
    texture.filters = texture.normalized = true;
    texture.address_modes = {Mode4::wrap, Mode4::mirror, Mode4::border};
    TextureTable table;
    const std::uint64_t object = table.add(texture), surface = table.add_surface(memory.image);
    const auto ask = [&](const std::string& question, std::uint64_t handle) {
        return run_instruction(question + " %r0, [%h];", table, handle, device, {{0, 0, 0}}, {0})[0];
    };
    CHECK(ask("txq.width.b32", object) == 6);
    CHECK(ask("txq.height.b32", object) == 5);
    CHECK(ask("txq.depth.b32", object) == 0);
    CHECK(ask("txq.array_size.b32", object) == 4);
    CHECK(ask("txq.channel_data_type.b32", object) == 0x10D1);
    CHECK(ask("txq.channel_order.b32", object) == 0x10B2);
    CHECK(ask("txq.normalized_coords.b32", object) == 1);
    CHECK(ask("txq.filter_mode.b32", object) == 1);
    CHECK(ask("txq.addr_mode_0.b32", object) == 0);
    CHECK(ask("txq.addr_mode_1.b32", object) == 1);
    CHECK(ask("txq.addr_mode_2.b32", object) == 4);
    CHECK(ask("txq.num_mipmap_levels.b32", object) == 1);
    CHECK(ask("suq.width.b32", surface) == 6);
    CHECK(ask("suq.array_size.b32", surface) == 4);
    CHECK(ask("suq.channel_data_type.b32", surface) == 0x10D8);
}

TEST_CASE("What is wrong with a texture is said", "[ptx][texture]") {
    TexelMemory memory(TexelType::u8, 1, 6, 5, 1, 11);
    Device device;
    memory.image.dimensions = 2;
    memory.image.address = device.upload("texels", memory.bytes);
    TextureTable table;
    Texture texture;
    texture.image = memory.image;
    const std::uint64_t good = table.add(texture), surface = table.add_surface(memory.image);
    const auto run = [&](const std::string& line, std::uint64_t handle) {
        run_instruction(line, table, handle, device, {{0, 0, 0}}, {0});
    };
    const std::string fetch = "tex.2d.v4.f32.f32 {%r0, %r1, %r2, %r3}, [%h, {%x, %y}];";
    CHECK_NOTHROW(run(fetch, good));
    CHECK_NOTHROW(run("tex.2d.v4.f32.f32 {%r0, %r1, %r2, %r3}, [%h+1, {%x, %y}];", good - 1));
    CHECK_THROWS_WITH(run("tex.2d.v4.f32.f32 {%r0, %r1, %r2, %r3}, [%t, {%x, %y}];", good),
                      Catch::Contains("a register of 64 bits that holds its object"));
    CHECK_THROWS_WITH(run(fetch, 0),
                      Catch::Contains("there is no texture object 0x0") && Catch::Contains("test.ptx:"));
    CHECK_THROWS_WITH(run(fetch, surface), Catch::Contains("there is no texture object"));
    CHECK_THROWS_WITH(run("tex.1d.v4.f32.f32 {%r0, %r1, %r2, %r3}, [%h, {%x}];", good),
                      Catch::Contains("this instruction is for .1d") && Catch::Contains("is .2d"));
    CHECK_THROWS_WITH(run("suld.b.2d.b8.trap %r0, [%h, {%i, %j}];", good),
                      Catch::Contains("there is no surface object"));
    CHECK_THROWS_WITH(run("txq.width.b32 %r0, [%h];", 5), Catch::Contains("there is no texture object 0x5"));
    texture.reads_integers = true;
    const std::uint64_t integers = table.add(texture);
    CHECK_THROWS_WITH(run("tex.2d.v2.f16x2.f32 {%r0, %r1}, [%h, {%x, %y}];", integers),
                      Catch::Contains("a texture of integers is read as .f16"));
    CHECK(table.remove(integers));
    CHECK_FALSE(table.remove(integers));
    CHECK_THROWS_WITH(run(fetch, integers), Catch::Contains("there is no texture object"));
    device.memory.release(memory.image.address);
    CHECK_THROWS_WITH(run(fetch, good), Catch::Contains("outside of all allocations"));

    texture.filters = true;
    CHECK_THROWS_WITH(table.add(texture), Catch::Contains("integers are not filtered"));
    texture.filters = false;
    texture.image.pitch = ~std::uint64_t{0} - 31;
    CHECK_THROWS_WITH(table.add(texture), Catch::Contains("too far apart"));
    texture.image.pitch = memory.image.pitch;
    texture.image.channels = 3;
    CHECK_THROWS_WITH(table.add(texture), Catch::Contains("1, 2 or 4 channels"));
    CHECK_THROWS_WITH(Program(module_text("",
                                          ".reg .f32 %f<4>; .reg .b32 %r; tex.1d.v4.f32.s32 {%f0, %f1, %f2, "
                                          "%f3}, [texture, {%r}]; ret;",
                                          ".global .texref texture;"),
                              "test"),
                      Catch::Contains("references to textures and surfaces are not supported"));
}

TEST_CASE("In timing mode texels without values are addresses alone", "[ptx][texture]") {
    TexelMemory memory(TexelType::f32, 1, 64, 64, 1, 2);
    Device device;
    memory.image.dimensions = 2;
    memory.image.address = device.upload("texels", memory.bytes, false);
    Texture texture;
    texture.image = memory.image;
    texture.filters = true;
    TextureTable table;
    const std::uint64_t handle = table.add(texture);
    const std::string body =
        ".reg .b64 %h, %q, %w; .reg .b32 %t; .reg .f32 %x, %a, %b, %c, %d; ld.param.u64 %h, [h]; "
        "ld.param.u64 %q, [q]; mov.u32 %t, %tid.x; cvt.rn.f32.u32 %x, %t;\n"
        "tex.2d.v4.f32.f32 {%a, %b, %c, %d}, [%h, {%x, 0f41200000}]; mul.wide.u32 %w, %t, 4; add.u64 %q, %q, "
        "%w; st.global.f32 [%q], %a; ret;";
    const Program program(module_text(".param .u64 h, .param .u64 q", body), "test");
    const auto q = device.upload("results", std::vector<float>(32), false);
    LaunchContext launch = program.launch(device, {1}, {32}, {argument(handle), argument(q)}, Mode::timing);
    launch.textures = &table;
    Cta cta(launch);
    cta.start(0);
    const MemoryAccess* fetched = nullptr;
    std::size_t lines = 0;
    while (!cta.finished()) {
        const StepResult result = cta.warp(0).step(0);
        if (result.access == nullptr || result.access->texels == nullptr) continue;
        fetched = result.access;
        const TexelAddresses& texels = *fetched->texels;
        CHECK(result.info->texture);
        CHECK(texels.count == 4);
        // Lane 0 stands at the left edge: clamping makes its first and second texel one.
        CHECK(texels.address[0][0] == memory.image.address + 9 * memory.image.pitch);
        CHECK(texels.address[1][0] == texels.address[0][0]);
        CHECK(texels.address[3][5] == memory.image.address + 10 * memory.image.pitch + 5 * 4);
        for (const std::uint32_t lanes : std::span(texels.lanes).first(4))
            lines += static_cast<std::size_t>(std::popcount(lanes));
    }
    REQUIRE(fetched != nullptr);
    CHECK(lines == 4 * 32);
}
