#include "isa/ptx/machine/texture_instructions.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "isa/common/error.h"
#include "isa/common/hexadecimal.h"
#include "isa/numerics/formats.h"
#include "isa/ptx/machine/lane_operands.h"
#include "isa/ptx/machine/memory_slow_path.h"
#include "isa/ptx/texture.h"

namespace heddle::ptx {
namespace {

using TexelCoordinates = std::array<std::uint32_t, 4>;

enum SurfaceReduction : std::uint32_t { kReduceAdd, kReduceMinimum, kReduceMaximum, kReduceAnd, kReduceOr };

/// "2d", "a2d", "acube"
std::string name_of_shape(unsigned dimensions, bool layered, bool cube) {
    return std::string(layered ? "a" : "") + (cube ? "cube" : std::to_string(dimensions) + "d");
}

TextureOperation operation_in(const DecodedInstruction& i) {
    return std::bit_cast<TextureOperation>(i.target);
}

std::uint64_t handle_of(const Warp::State& warp, const DecodedInstruction& i, unsigned slot, unsigned lane) {
    return wide_lane(warp, i.operand[slot], lane) + static_cast<std::uint64_t>(i.offset);
}

TexelCoordinates coordinates_of(const Warp::State& warp, const DecodedInstruction& i, unsigned slot,
                                unsigned lane, const TextureOperation& op) {
    const unsigned given = op.dimensions + op.layered + op.cube;
    TexelCoordinates at{};
    for (unsigned c = 0; c < std::min(given, 4u); ++c)
        at[c] = narrow_lane(warp, warp.elements[i.operand[slot] + c], lane);
    return at;
}

/// The objects that lanes name: mostly one.
class Objects {
  public:
    Objects(const Warp::State& warp, const TextureOperation& op) : warp_(warp), op_(op) {}

    const Texture& texture(unsigned lane, std::uint64_t handle) {
        if (texture_ != nullptr && handle == handle_) return *texture_;
        const TextureTable* const table = warp_.cta->launch.textures;
        texture_ = table == nullptr ? nullptr : table->texture(handle);
        if (texture_ == nullptr) no_object(lane, handle, "texture");
        take(lane, handle, texture_->image, "texture");
        return *texture_;
    }
    const TexelImage& surface(unsigned lane, std::uint64_t handle) {
        if (surface_ != nullptr && handle == handle_) return *surface_;
        const TextureTable* const table = warp_.cta->launch.textures;
        surface_ = table == nullptr ? nullptr : table->surface(handle);
        if (surface_ == nullptr) no_object(lane, handle, "surface");
        take(lane, handle, *surface_, "surface");
        return *surface_;
    }
    /// Of the object that was asked for last.
    Allocation& allocation() const { return *allocation_; }

  private:
    [[noreturn]] void no_object(unsigned lane, std::uint64_t handle, const std::string& kind) const {
        fail_running(warp_, lane, "there is no " + kind + " object " + hexadecimal(handle),
                     "pass one that was created and has not been destroyed");
    }
    void take(unsigned lane, std::uint64_t handle, const TexelImage& image, const std::string& kind) {
        // Surfaces of cubes are layers to the instructions.
        const bool faces_as_layers = kind == "surface" && image.cube;
        const bool fits = op_.dimensions == image.dimensions &&
                          (op_.layered != 0) == (image.layered || faces_as_layers) &&
                          (op_.cube != 0) == (image.cube && !faces_as_layers);
        if (!fits)
            fail_running(warp_, lane,
                         "this instruction is for ." + name_of_shape(op_.dimensions, op_.layered, op_.cube) +
                             ", " + kind + " object " + hexadecimal(handle) + " is ." +
                             name_of_shape(image.dimensions, image.layered, image.cube),
                         "use the function for the shape of the " + kind);
        allocation_ = warp_.cta->launch.memory == nullptr
                          ? nullptr
                          : warp_.cta->launch.memory->find(image.address, image.bytes());
        if (allocation_ == nullptr)
            fail_running(warp_, lane,
                         "the texels of " + kind + " object " + hexadecimal(handle) +
                             " lie outside of all allocations",
                         "free the memory of a " + kind + " after its last use",
                         Error::Kind::out_of_bounds);
        handle_ = handle;
    }

    const Warp::State& warp_;
    const TextureOperation& op_;
    std::uint64_t handle_ = 0;
    const Texture* texture_ = nullptr;
    const TexelImage* surface_ = nullptr;
    Allocation* allocation_ = nullptr;
};

MemoryAccess& begin_texel_access(Warp::State& warp, unsigned bytes, bool write, bool atomic) {
    MemoryAccess& access = warp.cta->scratch->access;
    access.space = StateSpace::global;
    access.write = write;
    access.atomic = atomic;
    access.bytes_per_lane = static_cast<std::uint8_t>(bytes);
    access.lanes = 0;
    access.zero_filled_lanes = 0;
    access.texels = nullptr;
    return access;
}

// --- tex, tld4

void report_sample(const TexelSample& sample, unsigned lane, TexelAddresses& texels, MemoryAccess& access) {
    texels.count = std::max(texels.count, sample.count);
    for (unsigned p = sample.count; p-- > 0;) {
        if (sample.parts[p].border) continue;
        texels.lanes[p] |= 1u << lane;
        texels.address[p][lane] = sample.parts[p].address;
        access.lanes |= 1u << lane;
        access.address[lane] = sample.parts[p].address;
    }
}

using Channels = std::array<std::uint32_t, 4>;

/// The sums in double precision, rounded once.
Channels filter_sample(const Texture& texture, const TexelSample& sample,
                       const std::array<Channels, TexelSample::kMost>& texels) {
    if (sample.count == 1) return texels[0];
    Channels result{};
    for (unsigned channel = 0; channel < 4; ++channel) {
        double sum = 0;
        for (unsigned p = 0; p < sample.count; ++p)
            sum += sample.parts[p].weight * static_cast<double>(std::bit_cast<float>(texels[p][channel]));
        result[channel] = std::bit_cast<std::uint32_t>(static_cast<float>(sum));
    }
    // A channel that is not there is no sum.
    for (unsigned channel = texture.image.channels; channel < 4; ++channel)
        result[channel] = texels[0][channel];
    return result;
}

/// From the lower left against the clock, as tld4 has it.
Channels gather_sample(unsigned component, const std::array<Channels, TexelSample::kMost>& texels) {
    return {texels[2][component], texels[3][component], texels[1][component], texels[0][component]};
}

std::uint16_t half_bits_of(std::uint32_t single) {
    return numerics::fp32_to_fp16(std::bit_cast<float>(single));
}

void write_channels(Warp::State& warp, const DecodedInstruction& i, const TextureOperation& op, unsigned lane,
                    const Channels& value) {
    const std::uint32_t* const rows = warp.elements + i.operand[0];
    if (op.half_pairs != 0) {
        for (unsigned c = 0; c < 2; ++c)
            narrow_lane(warp, rows[c], lane) =
                half_bits_of(value[2 * c]) | static_cast<std::uint32_t>(half_bits_of(value[2 * c + 1])) << 16;
        return;
    }
    for (unsigned c = 0; c < 4; ++c)
        narrow_lane(warp, rows[c], lane) = op.halves != 0 ? half_bits_of(value[c]) : value[c];
}

TexturePoint point_of(const TexelCoordinates& at, const TextureOperation& op) {
    TexturePoint point;
    point.by_index = op.by_index != 0;
    if (op.layered != 0) point.layer = at[0];
    const unsigned numbers = op.dimensions + op.cube;
    for (unsigned d = 0; d < numbers; ++d) {
        const std::uint32_t bits = at[d + op.layered];
        point.at[d] = point.by_index ? static_cast<double>(static_cast<std::int32_t>(bits))
                                     : static_cast<double>(std::bit_cast<float>(bits));
    }
    return point;
}

template <bool kGathers, bool kEvaluate>
void fetch_texels(Warp::State& warp, const DecodedInstruction& i, std::uint32_t mask) {
    const TextureOperation op = operation_in(i);
    Objects objects(warp, op);
    MemoryAccess& access = begin_texel_access(warp, 1, false, false);
    TexelAddresses& texels = warp.cta->scratch->texels;
    texels.count = 0;
    texels.lanes.fill(0);
    access.texels = &texels;
    for_each_lane(mask, [&](unsigned lane) {
        const Texture& texture = objects.texture(lane, handle_of(warp, i, 1, lane));
        const TexelSample sample =
            sample_texels(texture, point_of(coordinates_of(warp, i, 2, lane, op), op), kGathers);
        access.bytes_per_lane =
            std::max(access.bytes_per_lane, static_cast<std::uint8_t>(texture.image.texel_bytes()));
        report_sample(sample, lane, texels, access);
        if constexpr (kEvaluate) {
            if ((op.halves != 0 || op.half_pairs != 0) && gives_integers(texture))
                fail_running(warp, lane, "a texture of integers is read as .f16", "read it as .s32 or .u32");
            Allocation& allocation = objects.allocation();
            if (!allocation.backed && (access.lanes >> lane & 1u) != 0)
                fail_no_values(warp, access, allocation);
            std::array<Channels, TexelSample::kMost> values;
            for (unsigned p = 0; p < sample.count; ++p)
                values[p] = read_texel(texture, sample.parts[p].border
                                                    ? nullptr
                                                    : bytes_at(allocation, sample.parts[p].address));
            write_channels(
                warp, i, op, lane,
                kGathers ? gather_sample(op.component, values) : filter_sample(texture, sample, values));
        }
    });
}

// --- suld, sust, sured

std::uint64_t read_register(const Warp::State& warp, std::uint32_t row, unsigned lane, bool wide) {
    return wide ? wide_lane(warp, row, lane) : narrow_lane(warp, row, lane);
}

void write_register(const Warp::State& warp, std::uint32_t row, unsigned lane, bool wide,
                    std::uint64_t value) {
    if (wide)
        wide_lane(warp, row, lane) = value;
    else
        narrow_lane(warp, row, lane) = static_cast<std::uint32_t>(value);
}

/// Where a lane's access to a surface goes; the slot of the object is followed by that of the coordinates.
SurfacePlace place_in_surface(Warp::State& warp, const DecodedInstruction& i, const TextureOperation& op,
                              unsigned slot, unsigned lane, unsigned bytes, Objects& objects,
                              MemoryAccess& access) {
    const std::uint64_t handle = handle_of(warp, i, slot, lane);
    const TexelImage& image = objects.surface(lane, handle);
    const TexelCoordinates given = coordinates_of(warp, i, slot + 1, lane, op);
    std::array<std::int32_t, 3> at{};
    for (unsigned d = 0; d < op.dimensions; ++d) at[d] = static_cast<std::int32_t>(given[d + op.layered]);
    if (op.layered != 0) at[2] = static_cast<std::int32_t>(given[0]);
    const auto boundary = static_cast<SurfaceBoundary>(op.boundary);
    const SurfacePlace place = locate_in_surface(image, at, bytes, boundary);
    if (!place.inside) {
        if (boundary == SurfaceBoundary::trap)
            fail_running(warp, lane,
                         "byte " + std::to_string(at[0]) + " of row " + std::to_string(at[1]) + " of plane " +
                             std::to_string(at[2]) + " is out of bounds of surface object " +
                             hexadecimal(handle),
                         "it has " + std::to_string(image.width * image.texel_bytes()) +
                             " bytes in each of " + std::to_string(image.height) + " rows of " +
                             std::to_string(image.planes) + " planes; x counts bytes",
                         Error::Kind::out_of_bounds);
        return place;
    }
    if (place.address % bytes != 0)
        fail_running(warp, lane,
                     "an access of " + std::to_string(bytes) + " bytes at byte " + std::to_string(at[0]) +
                         " of a surface is misaligned",
                     "x counts bytes, and must be a multiple of the size", Error::Kind::misaligned);
    access.lanes |= 1u << lane;
    access.address[lane] = place.address;
    return place;
}

template <bool kEvaluate>
void load_surface(Warp::State& warp, const DecodedInstruction& i, std::uint32_t mask) {
    const TextureOperation op = operation_in(i);
    const unsigned bytes = op.bytes * op.elements;
    Objects objects(warp, op);
    MemoryAccess& access = begin_texel_access(warp, bytes, false, false);
    for_each_lane(mask, [&](unsigned lane) {
        const SurfacePlace place = place_in_surface(warp, i, op, 1, lane, bytes, objects, access);
        if constexpr (kEvaluate) {
            Allocation& allocation = objects.allocation();
            if (place.inside && !allocation.backed) fail_no_values(warp, access, allocation);
            for (unsigned e = 0; e < op.elements; ++e) {
                std::uint64_t value = 0;
                if (place.inside)
                    std::memcpy(&value, bytes_at(allocation, place.address) + std::size_t{e} * op.bytes,
                                op.bytes);
                write_register(warp, warp.elements[i.operand[0] + e], lane, op.wide != 0, value);
            }
        }
    });
}

void store_surface(Warp::State& warp, const DecodedInstruction& i, std::uint32_t mask, bool evaluate) {
    const TextureOperation op = operation_in(i);
    const unsigned bytes = op.bytes * op.elements;
    Objects objects(warp, op);
    MemoryAccess& access = begin_texel_access(warp, bytes, true, false);
    for_each_lane(mask, [&](unsigned lane) {
        const SurfacePlace place = place_in_surface(warp, i, op, 0, lane, bytes, objects, access);
        Allocation& allocation = objects.allocation();
        if (!place.inside || !evaluate) return;
        if (!allocation.backed) {  // as stores to global memory: in timing mode nothing is lost
            if (warp.cta->launch.mode == Mode::timing) return;
            fail_no_values(warp, access, allocation);
        }
        for (unsigned e = 0; e < op.elements; ++e) {
            const std::uint64_t value =
                read_register(warp, warp.elements[i.operand[2] + e], lane, op.wide != 0);
            std::memcpy(bytes_at(allocation, place.address) + std::size_t{e} * op.bytes, &value, op.bytes);
        }
    });
}

template <bool kEvaluate>
void write_surface(Warp::State& warp, const DecodedInstruction& i, std::uint32_t mask) {
    store_surface(warp, i, mask, kEvaluate);
}

template <class Unsigned>
std::uint64_t reduced(std::uint32_t operation, bool has_sign, std::uint64_t a, std::uint64_t b) {
    using Signed = std::make_signed_t<Unsigned>;
    const auto old = static_cast<Unsigned>(a), given = static_cast<Unsigned>(b);
    const bool less = has_sign ? static_cast<Signed>(given) < static_cast<Signed>(old) : given < old;
    switch (operation) {
        case kReduceAdd:
            return static_cast<Unsigned>(old + given);
        case kReduceMinimum:
            return less ? given : old;
        case kReduceMaximum:
            return less ? old : given;
        case kReduceAnd:
            return old & given;
        default:
            return old | given;
    }
}

template <bool kEvaluate>
void reduce_surface(Warp::State& warp, const DecodedInstruction& i, std::uint32_t mask) {
    const TextureOperation op = operation_in(i);
    Objects objects(warp, op);
    MemoryAccess& access = begin_texel_access(warp, op.bytes, true, true);
    for_each_lane(mask, [&](unsigned lane) {
        const SurfacePlace place = place_in_surface(warp, i, op, 0, lane, op.bytes, objects, access);
        if constexpr (kEvaluate) {
            Allocation& allocation = objects.allocation();
            if (!place.inside) return;
            if (!allocation.backed) fail_no_values(warp, access, allocation);
            std::uint64_t old = 0;
            std::memcpy(&old, bytes_at(allocation, place.address), op.bytes);
            const std::uint64_t given = read_register(warp, i.operand[2], lane, op.bytes == 8);
            const std::uint64_t value =
                op.bytes == 8 ? reduced<std::uint64_t>(op.reduction, op.has_sign != 0, old, given)
                              : reduced<std::uint32_t>(op.reduction, op.has_sign != 0, old, given);
            std::memcpy(bytes_at(allocation, place.address), &value, op.bytes);
            if (value != old) ++warp.cta->changes;
        }
    });
}

// --- txq, suq

/// Numbers of the PTX manual, "Channel Data Type and Channel Order Fields".
std::uint32_t channel_type_of(const TexelImage& image, bool normalized) {
    switch (image.type) {
        case TexelType::s8:
            return normalized ? 0x10D0 : 0x10D7;
        case TexelType::s16:
            return normalized ? 0x10D1 : 0x10D8;
        case TexelType::u8:
            return normalized ? 0x10D2 : 0x10DA;
        case TexelType::u16:
            return normalized ? 0x10D3 : 0x10DB;
        case TexelType::s32:
            return 0x10D9;
        case TexelType::u32:
            return 0x10DC;
        case TexelType::f16:
            return 0x10DD;
        default:
            return 0x10DE;
    }
}

/// The manual's "Texture, Sampler and Surface Types": wrap 0, mirror 1, clamp_ogl 2, clamp_to_edge 3,
/// clamp_to_border 4.
std::uint32_t number_of(TextureAddressMode mode) {
    switch (mode) {
        case TextureAddressMode::wrap:
            return 0;
        case TextureAddressMode::mirror:
            return 1;
        case TextureAddressMode::border:
            return 4;
        default:
            return 3;
    }
}

std::uint32_t answer_to(TextureQuery query, const TexelImage& image, const Texture* texture) {
    const unsigned faces = image.cube ? 6 : 1;
    switch (query) {
        case TextureQuery::width:
            return image.width;
        case TextureQuery::height:
            return image.dimensions > 1 ? image.height : 0;
        case TextureQuery::depth:
            return image.dimensions > 2 ? image.planes : 0;
        case TextureQuery::layers:
            return image.layered ? image.planes / faces : 0;
        case TextureQuery::channel_type:
            return channel_type_of(image, texture != nullptr && !gives_integers(*texture));
        case TextureQuery::channel_order:
            return image.channels == 1 ? 0x10B0 : image.channels == 2 ? 0x10B2 : 0x10B5;
        case TextureQuery::normalized:
            return texture != nullptr && texture->normalized ? 1 : 0;
        case TextureQuery::filter:
            return texture != nullptr && texture->filters ? 1 : 0;
        case TextureQuery::address_mode_x:
        case TextureQuery::address_mode_y:
        case TextureQuery::address_mode_z:
            return texture == nullptr
                       ? 0
                       : number_of(
                             texture->address_modes[static_cast<unsigned>(query) -
                                                    static_cast<unsigned>(TextureQuery::address_mode_x)]);
        case TextureQuery::one:
            return 1;
        case TextureQuery::zero:
            return 0;
    }
    return 0;
}

template <bool kSurface>
void query_object(Warp::State& warp, const DecodedInstruction& i, std::uint32_t mask) {
    const TextureOperation op = operation_in(i);
    const TextureTable* const table = warp.cta->launch.textures;
    for_each_lane(mask, [&](unsigned lane) {
        const std::uint64_t handle = handle_of(warp, i, 1, lane);
        const Texture* const texture = kSurface || table == nullptr ? nullptr : table->texture(handle);
        const TexelImage* const image = texture != nullptr             ? &texture->image
                                        : kSurface && table != nullptr ? table->surface(handle)
                                                                       : nullptr;
        if (image == nullptr)
            fail_running(warp, lane,
                         std::string("there is no ") + (kSurface ? "surface" : "texture") + " object " +
                             hexadecimal(handle),
                         "pass one that was created and has not been destroyed");
        narrow_lane(warp, i.operand[0], lane) =
            answer_to(static_cast<TextureQuery>(op.query), *image, texture);
    });
}

TextureQuery query_of(const Instruction& n) {
    constexpr std::pair<Modifier, TextureQuery> kQueries[] = {
        {Modifier::width, TextureQuery::width},
        {Modifier::height, TextureQuery::height},
        {Modifier::depth, TextureQuery::depth},
        {Modifier::array_size, TextureQuery::layers},
        {Modifier::channel_data_type, TextureQuery::channel_type},
        {Modifier::channel_order, TextureQuery::channel_order},
        {Modifier::normalized_coords, TextureQuery::normalized},
        {Modifier::filter_mode, TextureQuery::filter},
        {Modifier::addr_mode_0, TextureQuery::address_mode_x},
        {Modifier::addr_mode_1, TextureQuery::address_mode_y},
        {Modifier::addr_mode_2, TextureQuery::address_mode_z},
        {Modifier::num_mipmap_levels, TextureQuery::one},
        {Modifier::num_samples, TextureQuery::one},
    };
    for (const auto& [modifier, query] : kQueries)
        if (n.has(modifier)) return query;
    return TextureQuery::zero;
}

}  // namespace

bool is_texture_instruction(const Instruction& n) {
    return n.opcode >= Opcode::suld && n.opcode <= Opcode::txq;
}

TextureOperation texture_operation(const Instruction& n, unsigned register_bits) {
    const bool gives = n.opcode == Opcode::tex || n.opcode == Opcode::tld4 || n.opcode == Opcode::suld ||
                       n.opcode == Opcode::txq || n.opcode == Opcode::suq;
    const Operand& object = n.operands[gives ? 1 : 0];
    if (object.base != Operand::Kind::reg || bits_of(object.type) != 64)
        throw Error(
            "a texture or surface is named by a register of 64 bits that holds its object", {},
            "references and samplers of their own are not supported: use texture and surface objects");
    TextureOperation op{};
    op.cube = n.has(Modifier::cube) || n.has(Modifier::array_cube);
    op.layered = n.has(Modifier::array1) || n.has(Modifier::array2) || n.has(Modifier::array_cube);
    op.dimensions = n.has(Modifier::dim1) || n.has(Modifier::array1) ? 1 : n.has(Modifier::dim3) ? 3 : 2;
    op.query = static_cast<std::uint32_t>(query_of(n));
    if (n.opcode == Opcode::tex || n.opcode == Opcode::tld4) {
        op.by_index = n.type(1) == Type::s32;
        op.halves = n.type() == Type::f16;
        op.half_pairs = n.type() == Type::f16x2;
        op.component = n.has(Modifier::g) ? 1 : n.has(Modifier::b) ? 2 : n.has(Modifier::a) ? 3 : 0;
        return op;
    }
    if (n.opcode == Opcode::txq || n.opcode == Opcode::suq) return op;
    op.boundary = static_cast<std::uint32_t>(n.has(Modifier::clamp)  ? SurfaceBoundary::clamp
                                             : n.has(Modifier::zero) ? SurfaceBoundary::zero
                                                                     : SurfaceBoundary::trap);
    op.bytes = bytes_of(n.type());
    op.elements = n.has(Modifier::v4) ? 4 : n.has(Modifier::v2) ? 2 : 1;
    op.wide = register_bits == 64;
    op.reduction = n.has(Modifier::min)    ? kReduceMinimum
                   : n.has(Modifier::max)  ? kReduceMaximum
                   : n.has(Modifier::and_) ? kReduceAnd
                   : n.has(Modifier::or_)  ? kReduceOr
                                           : kReduceAdd;
    op.has_sign = is_signed(n.type());
    return op;
}

Handler select_texture_instruction(const Instruction& n, bool evaluate) {
    switch (n.opcode) {
        case Opcode::tex:
            return evaluate ? fetch_texels<false, true> : fetch_texels<false, false>;
        case Opcode::tld4:
            return evaluate ? fetch_texels<true, true> : fetch_texels<true, false>;
        case Opcode::txq:
            return query_object<false>;
        case Opcode::suq:
            return query_object<true>;
        case Opcode::suld:
            return evaluate ? load_surface<true> : load_surface<false>;
        case Opcode::sust:
            return evaluate ? write_surface<true> : write_surface<false>;
        case Opcode::sured:
            return evaluate ? reduce_surface<true> : reduce_surface<false>;
        default:
            return nullptr;
    }
}

}  // namespace heddle::ptx
