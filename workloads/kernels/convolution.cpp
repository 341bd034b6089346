#include "workloads/kernels/convolution.h"

#include <algorithm>
#include <array>
#include <functional>
#include <optional>

#include "isa/common/error.h"
#include "workloads/kernels/convolution_loader.h"
#include "workloads/kernels/convolution_results.h"
#include "workloads/kernels/gemm_mma_operand.h"
#include "workloads/kernels/swizzled_tile.h"

namespace heddle::kernels {
namespace {

constexpr unsigned kTensorTileK = 64, kTf32TileK = 32, kVectorTileK = 8;
// Words after each row of a tile of f32: vectors of rows stay aligned; rows of tf32 fragments lie in banks of
// their own.
constexpr unsigned kVectorPadding = 4, kTf32Padding = 8;

bool on_tensor_cores(const ConvolutionSpec& spec) {
    return spec.type != ElementType::f32 || spec.tf32;
}

/// By way of cp.async and ldmatrix, instead of registers.
bool tf32_ring(const ConvolutionSpec& spec) {
    return spec.tf32 && spec.stages > 2;
}
/// Warps along m and n. Those of a ring of tf32 have 64 by 64, as CUTLASS has it, and there are at least
/// four: each element is read from shared memory as seldom as registers allow.
std::pair<unsigned, unsigned> warps_of(const ConvolutionSpec& spec) {
    if (!tf32_ring(spec)) return {spec.tile_m / (spec.tile_m == 128 ? 64 : 32), spec.tile_n / 32};
    const unsigned across_m = spec.tile_m / 64, across_n = spec.tile_n / 64;
    return across_m * across_n < 4 ? std::pair{2u, 2u} : std::pair{across_m, across_n};
}

void check(const ConvolutionSpec& spec) {
    const auto fail = [&](const std::string& problem, const std::string& remedy) {
        throw Error(problem, {.key = "convolution of " + name_of(spec.type)}, remedy);
    };
    const bool half = spec.type == ElementType::f16 || spec.type == ElementType::bf16;
    if (!half && spec.type != ElementType::f32) fail("convolutions take f16, bf16 or f32", "cast");
    if (spec.output != spec.type && spec.output != ElementType::f32) fail("the result has another type", "");
    if (spec.tf32 && spec.type != ElementType::f32) fail("f32 alone is read as tf32", "");
    if (on_tensor_cores(spec) && spec.compute_capability < 80)
        fail("the tensor-core convolution needs compute capability 8.0", "use f32");
    if (spec.axes < 1 || spec.axes > 3) fail("convolutions have one to three spatial axes", "");
    for (const unsigned tile : {spec.tile_m, spec.tile_n})
        if (tile != 64 && tile != 128 && (tile != 256 || !tf32_ring(spec)))
            fail("tiles are of 64 or 128, through a ring of tf32 also 256", "");
    if (spec.tile_m * spec.tile_n > 256 * 128) fail("a tile of 256 by 256", "halve an extent");
    const bool depth = spec.tile_k == 16 || spec.tile_k == 32 || spec.tile_k == 64;
    if (spec.tile_k != 0 && spec.tile_k != convolution_tile_k(spec.type, spec.tf32) &&
        (!depth || !tf32_ring(spec)))
        fail("another depth than 16, 32 or 64 of a ring of tf32", "set tile_k to 0");
    for (const unsigned vector : {spec.vector_a, spec.vector_b}) {
        if (vector != 1 && vector != 2 && vector != 4 && (vector != 8 || !half))
            fail("accesses take 1, 2 or 4 elements, or 8 of 16 bits", "");
        if (vector != 1 && !spec.channels_last) fail("wide accesses need channels last", "");
    }
    const unsigned least = half ? 2 : 1, most = half ? 4 : 6;
    if (spec.stages != 2 && (spec.stages < 2 || spec.stages > most || !on_tensor_cores(spec) ||
                             spec.vector_a < least || spec.vector_b < least))
        fail("3 stages and more take tensor cores and accesses of 4 bytes or more", "set stages to 2");
    if (spec.phased &&
        (spec.strided || !spec.channels_last || spec.split_k || spec.pass != ConvolutionPass::data_grad))
        fail("phases are of data_grad with channels last alone", "");
    if (spec.bias && (spec.pass != ConvolutionPass::forward || spec.split_k))
        fail("a bias is added by the forward kernel alone", "");
}

std::string name_for(const ConvolutionSpec& spec) {
    const char* passes[] = {"forward", "data_grad", "weight_grad"};
    return std::string("convolution_") + passes[static_cast<unsigned>(spec.pass)] + "_" +
           (spec.tf32 ? "tf32" : name_of(spec.type)) + "_" + name_of(spec.output) +
           (spec.channels_last ? "_nhwc" : "_nchw") + std::to_string(spec.axes) + "d_" +
           std::to_string(spec.tile_m) + "x" + std::to_string(spec.tile_n) + "_a" +
           std::to_string(spec.vector_a) + "_b" + std::to_string(spec.vector_b) +
           (tf32_ring(spec) ? "_k" + std::to_string(convolution_tile_k(spec)) : "") +
           (wide_convolution_results(spec)     ? "_d8"
            : paired_convolution_results(spec) ? "_d2"
                                               : "") +
           (spec.stages == 2 ? "" : "_stages" + std::to_string(spec.stages)) +
           (spec.strided ? "_strided" : "") + (spec.phased ? "_phased" : "") + (spec.bias ? "_bias" : "") +
           (spec.split_k ? "_splitk" : "");
}

class Writer {
  public:
    explicit Writer(const ConvolutionSpec& spec)
        : spec_(spec),
          tensor_(on_tensor_cores(spec)),
          tile_k_(convolution_tile_k(spec)),
          warps_m_(warps_of(spec).first),
          warps_n_(warps_of(spec).second),
          threads_(tensor_ ? warps_m_ * warps_n_ * 32 : spec.tile_m * spec.tile_n / 64),
          w_(name_for(spec), spec.compute_capability, tensor_ ? 80 : 70, "mma.sync") {}

    GeneratedKernel write() {
        parameters();
        positions();
        ConvolutionLoader a = loader(true, 0);
        ConvolutionLoader b = loader(false, spec_.stages * a.stage_bytes());
        const std::uint32_t bytes = spec_.stages * (a.stage_bytes() + b.stage_bytes());
        shared_ = w_.make_b32("mov.u32", w_.dynamic_shared(bytes));
        a.set_up(shared_, tid_, first_row_, m_, k_begin_, k_end_);
        b.set_up(shared_, tid_, first_column_, n_, k_begin_, k_end_);
        set_up_products(a, b);
        if (spec_.stages == 2)
            main_loop(a, b);
        else if (spec_.tf32)
            interleaved_ring_loop(a, b);
        else
            ring_loop(a, b);
        store();
        return w_.finish({threads_, 1, 1});
    }

  private:
    void parameters() {
        a_ = w_.pointer_parameter("a");
        b_ = w_.pointer_parameter("b");
        d_ = w_.pointer_parameter("d");
        bias_ = w_.pointer_parameter("bias");
        m_ = w_.b32_parameter("m");
        n_ = w_.b32_parameter("n");
        const Reg k = w_.b32_parameter("k");
        const Reg per_slice = w_.b32_parameter("k_per_slice");
        const Reg slices = w_.b32_parameter("slices");
        const Reg z = w_.cta_z();
        const Reg group = w_.make_b32("div.u32", z, slices), slice = w_.make_b32("rem.u32", z, slices);
        k_begin_ = w_.make_b32("mul.lo.u32", slice, per_slice);
        k_end_ = w_.make_b32("min.u32", k, w_.make_b32("add.u32", k_begin_, per_slice));
        const Reg wide = w_.make_b64("cvt.u64.u32", group);
        const auto move = [&](Reg& base, const char* name, unsigned bytes) {
            const Reg elements = w_.make_b64("mul.lo.u64", wide, w_.b64_parameter(name));
            base = w_.make_b64("add.s64", base, w_.make_b64("shl.b64", elements, bytes == 4 ? 2 : 1));
        };
        move(a_, "a_group", bytes_of(spec_.type));
        move(b_, "b_group", bytes_of(spec_.type));
        if (spec_.split_k) {
            const Reg row = w_.make_b64("mul.wide.u32", z, m_);
            const Reg elements = w_.make_b64("mul.lo.u64", row, w_.make_b64("cvt.u64.u32", n_));
            d_ = w_.make_b64("add.s64", d_, w_.make_b64("shl.b64", elements, 2));
        } else {
            move(d_, "d_group", bytes_of(spec_.output));
        }
        group_ = group;
        for (unsigned axis = 0; axis < spec_.axes; ++axis) {
            const std::string i = std::to_string(axis);
            extents_.push_back(w_.b32_parameter("image" + i));
            image_strides_.push_back(w_.b32_parameter("image_stride" + i));
            steps_.push_back(w_.b32_parameter("step" + i));
            dilations_.push_back(w_.b32_parameter("dilation" + i));
            lows_.push_back(w_.b32_parameter("low" + i));
            other_strides_.push_back(w_.b32_parameter("other_stride" + i));
            position_dividers_.push_back(w_.divider_parameter("position" + i));
            window_dividers_.push_back(w_.divider_parameter("window" + i));
            if (spec_.phased) {
                phase_extents_.push_back(w_.b32_parameter("extent" + i));
                window_extents_.push_back(w_.b32_parameter("window_extent" + i));
            }
            if (spec_.strided) step_dividers_.push_back(w_.divider_parameter("step_divider" + i));
        }
        image_item_ = w_.b32_parameter("image_item");
        image_channel_ = w_.b32_parameter("image_channel");
        other_item_ = w_.b32_parameter("other_item");
        other_row_ = w_.b32_parameter("other_row");
        other_window_ = w_.b32_parameter("other_window");
        other_channel_ = w_.b32_parameter("other_channel");
        inner_ = w_.divider_parameter("inner");
        plane_ = w_.divider_parameter("plane");
        d_item_ = w_.b32_parameter("d_item");
        d_position_ = w_.b32_parameter("d_position");
        d_column_ = w_.b32_parameter("d_column");
        if (spec_.phased) {
            phase_rows_ = w_.b32_parameter("phase_rows");
            phase_tiles_ = w_.b32_parameter("phase_tiles");
        }
    }

    void positions() {
        tid_ = w_.tid();
        Reg tile = w_.cta_x();
        if (spec_.phased) {
            Reg phase = w_.make_b32("div.u32", tile, phase_tiles_);
            tile = w_.make_b32("rem.u32", tile, phase_tiles_);
            set_up_phase(phase);
        }
        first_row_ = w_.multiply_by(tile, spec_.tile_m);
        first_column_ = w_.multiply_by(w_.cta_y(), spec_.tile_n);
    }

    /// Of positions p = stride * row + phase along an axis, the parts of the window (p + low) % stride +
    /// stride
    /// * j reach results row + (phase + low) / stride - j.
    void set_up_phase(Reg phase) {
        phases_.resize(spec_.axes);
        phase_lows_.resize(spec_.axes);
        first_windows_.resize(spec_.axes);
        phase_windows_.resize(spec_.axes);
        Reg all;
        for (unsigned axis = spec_.axes; axis-- > 0;) {
            phases_[axis] = w_.make_b32("rem.u32", phase, steps_[axis]);
            if (axis > 0) phase = w_.make_b32("div.u32", phase, steps_[axis]);
            const Reg place = w_.make_b32("add.s32", phases_[axis], lows_[axis]);
            phase_lows_[axis] = w_.make_b32("div.u32", place, steps_[axis]);
            first_windows_[axis] = w_.make_b32("rem.u32", place, steps_[axis]);
            const Reg ahead = w_.make_b32(
                "sub.u32",
                w_.make_b32("add.u32", window_extents_[axis], w_.make_b32("sub.u32", steps_[axis], 1)),
                first_windows_[axis]);
            phase_windows_[axis] = w_.make_b32("div.u32", ahead, steps_[axis]);
            all = all.empty() ? phase_windows_[axis] : w_.make_b32("mul.lo.u32", all, phase_windows_[axis]);
        }
        m_ = phase_rows_;
        k_end_ = w_.make_b32("mul.lo.u32", all, inner_.divisor);
    }

    bool data_grad() const { return spec_.pass == ConvolutionPass::data_grad; }
    Reg multiply_add(const Reg& x, const Reg& y, const Reg& sum) {
        return sum.empty() ? w_.make_b32("mul.lo.s32", x, y) : w_.make_b32("mad.lo.s32", x, y, sum);
    }

    /// Index of (item, position): item and the coordinates of the position.
    std::pair<Reg, std::vector<Reg>> split_position(const Reg& index) {
        std::vector<Reg> coordinates(spec_.axes);
        Reg rest = index;
        for (unsigned axis = spec_.axes; axis-- > 0;) {
            const Reg next = w_.divide_fast(rest, position_dividers_[axis]);
            coordinates[axis] = w_.remainder_fast(rest, next, position_dividers_[axis]);
            rest = next;
        }
        return {rest, coordinates};
    }

    /// A position, as it counts in the picture.
    ConvolutionPart picture_position(const Reg& index) {
        const auto [item, coordinates] = split_position(index);
        ConvolutionPart part;
        part.offset = w_.make_b32("mul.lo.s32", item, image_item_);
        for (unsigned axis = 0; axis < spec_.axes; ++axis) {
            const Reg start =
                data_grad()
                    ? w_.make_b32("add.s32", coordinates[axis],
                                  spec_.phased ? phase_lows_[axis] : lows_[axis])
                    : w_.make_b32("sub.s32", multiply_add(coordinates[axis], steps_[axis], {}), lows_[axis]);
            part.coordinates.push_back(start);
            if (!spec_.strided) part.offset = multiply_add(start, image_strides_[axis], part.offset);
        }
        return part;
    }

    /// (channel or filter, position in the window) of an index.
    std::pair<Reg, Reg> split_window(const Reg& index) {
        const Reg outer = w_.divide_fast(index, inner_);
        const Reg inner = w_.remainder_fast(index, outer, inner_);
        return spec_.channels_last ? std::pair{inner, outer} : std::pair{outer, inner};
    }

    /// A position among a phase's parts of the window, as it counts in the whole.
    Reg whole_window(const Reg& position) {
        std::vector<Reg> own(spec_.axes);
        Reg rest = position;
        for (unsigned axis = spec_.axes; axis-- > 0;) {
            own[axis] = axis > 0 ? w_.make_b32("rem.u32", rest, phase_windows_[axis]) : rest;
            if (axis > 0) rest = w_.make_b32("div.u32", rest, phase_windows_[axis]);
        }
        Reg whole;
        for (unsigned axis = 0; axis < spec_.axes; ++axis) {
            const Reg place = multiply_add(own[axis], steps_[axis], first_windows_[axis]);
            whole = whole.empty() ? place : multiply_add(whole, window_extents_[axis], place);
        }
        return whole;
    }

    /// Elements from d to a row's first column, and whether its positions lie within the tensor.
    std::pair<Reg, Reg> phased_row(const Reg& row) {
        const auto [item, coordinates] = split_position(row);
        Reg position, inside;
        for (unsigned axis = 0; axis < spec_.axes; ++axis) {
            const Reg place = multiply_add(coordinates[axis], steps_[axis], phases_[axis]);
            inside = inside.empty()
                         ? w_.make_predicate("setp.lt.u32", place, phase_extents_[axis])
                         : w_.make_predicate("setp.lt.and.u32", place, phase_extents_[axis], inside);
            position = position.empty() ? place : multiply_add(position, phase_extents_[axis], place);
        }
        return {
            w_.make_b64("mad.wide.u32", position, d_position_, w_.make_b64("mul.wide.u32", item, d_item_)),
            inside};
    }

    /// A position in the window and a channel, as they count in the picture.
    ConvolutionPart picture_window(const Reg& index) {
        const auto [channel, position] = split_window(index);
        ConvolutionPart part;
        part.offset = w_.make_b32("mul.lo.s32", channel, image_channel_);
        std::vector<Reg> coordinates(spec_.axes);
        Reg rest = position, position_left = position;
        for (unsigned axis = spec_.axes; axis-- > 0;) {
            Reg own = rest;
            if (axis > 0 && !spec_.phased) {
                const Reg next = w_.divide_fast(rest, window_dividers_[axis]);
                own = w_.remainder_fast(rest, next, window_dividers_[axis]);
                rest = next;
            }
            if (spec_.phased && axis > 0) {
                own = w_.make_b32("rem.u32", position_left, phase_windows_[axis]);
                position_left = w_.make_b32("div.u32", position_left, phase_windows_[axis]);
            } else if (spec_.phased) {
                own = position_left;
            }
            Reg distance = spec_.phased ? own : multiply_add(own, dilations_[axis], {});
            if (data_grad()) distance = w_.make_b32("neg.s32", distance);
            coordinates[axis] = distance;
        }
        for (unsigned axis = 0; axis < spec_.axes; ++axis) {
            part.coordinates.push_back(coordinates[axis]);
            if (!spec_.strided)
                part.offset = multiply_add(coordinates[axis], image_strides_[axis], part.offset);
        }
        return part;
    }

    std::pair<Reg, Reg> locate_in_picture(const Reg& base, const ConvolutionPart& row,
                                          const ConvolutionPart& k) {
        Reg offset = w_.make_b32("add.s32", row.offset, k.offset);
        Reg guard;
        const auto require = [&](const std::string& opcode, const Reg& x, const Reg& y) {
            guard = guard.empty()
                        ? w_.make_predicate("setp." + opcode, x, y)
                        : w_.make_predicate("setp." + opcode.substr(0, 2) + ".and" + opcode.substr(2), x, y,
                                            guard);
        };
        for (unsigned axis = 0; axis < spec_.axes; ++axis) {
            const Reg place = w_.make_b32("add.s32", row.coordinates[axis], k.coordinates[axis]);
            if (!spec_.strided) {
                require("lt.u32", place, extents_[axis]);  // negative: large
                continue;
            }
            require("ge.s32", place, "0");
            const Reg safe = w_.make_b32("max.s32", place, 0);
            const Reg index = w_.divide_fast(safe, step_dividers_[axis]);
            require("eq.u32", w_.remainder_fast(safe, index, step_dividers_[axis]), "0");
            require("lt.u32", index, extents_[axis]);
            offset = multiply_add(index, image_strides_[axis], offset);
        }
        return {address(base, offset), guard};
    }
    Reg address(const Reg& base, const Reg& offset) {
        const Reg bytes = w_.make_b64("mul.wide.s32", offset, bytes_of(spec_.type));
        return w_.make_b64("add.s64", base, bytes);
    }

    ConvolutionLoader loader(bool is_a, std::uint32_t shared_offset) {
        const bool weight_grad = spec_.pass == ConvolutionPass::weight_grad;
        const bool picture = is_a != weight_grad;
        // Which way memory goes on: channels last along channels or filters, which are k in the forward and
        // the data's gradient; channels first along positions.
        bool along_k = picture ? !weight_grad : !weight_grad && !data_grad();
        if (!spec_.channels_last) along_k = weight_grad || !picture;
        const ConvolutionLoader::Shape shape{spec_.type,
                                             is_a ? spec_.tile_m : spec_.tile_n,
                                             tile_k_,
                                             threads_,
                                             is_a ? spec_.vector_a : spec_.vector_b,
                                             along_k,
                                             spec_.tf32 ? kTf32Padding : kVectorPadding,
                                             shared_offset,
                                             tf32_ring(spec_)};
        (is_a ? a_along_k_ : b_along_k_) = along_k;
        const Reg& base = is_a ? a_ : b_;
        if (picture) {
            const auto position = [this](const Reg& index) { return picture_position(index); };
            const auto window = [this](const Reg& index) { return picture_window(index); };
            const auto locate = [this, base](const ConvolutionPart& row, const ConvolutionPart& k) {
                return locate_in_picture(base, row, k);
            };
            if (is_a) return ConvolutionLoader(w_, shape, position, window, locate);
            return ConvolutionLoader(w_, shape, window, position, locate);
        }
        const auto row = [this](const Reg& index) {
            return ConvolutionPart{multiply_add(index, other_row_, {}), {}};
        };
        const auto k = [this, weight_grad](const Reg& index) {
            if (weight_grad) {
                const auto [item, coordinates] = split_position(index);
                Reg offset = w_.make_b32("mul.lo.s32", item, other_item_);
                for (unsigned axis = 0; axis < spec_.axes; ++axis)
                    offset = multiply_add(coordinates[axis], other_strides_[axis], offset);
                return ConvolutionPart{offset, {}};
            }
            if (!data_grad()) return ConvolutionPart{index, {}};
            auto [channel, position] = split_window(index);
            if (spec_.phased) position = whole_window(position);
            return ConvolutionPart{
                multiply_add(channel, other_channel_, multiply_add(position, other_window_, {})), {}};
        };
        const auto locate = [this, base](const ConvolutionPart& r, const ConvolutionPart& c) {
            return std::pair{address(base, w_.make_b32("add.s32", r.offset, c.offset)), Reg{}};
        };
        return ConvolutionLoader(w_, shape, row, k, locate);
    }

    void set_up_products(const ConvolutionLoader& a, const ConvolutionLoader& b) {
        lane_ = w_.make_b32("and.b32", tid_, 31);
        if (tensor_) {
            const Reg warp = w_.make_b32("shr.u32", tid_, 5);
            const unsigned warp_m = spec_.tile_m / warps_m_, warp_n = spec_.tile_n / warps_n_;
            warp_row_ = w_.multiply_by(w_.divide_by(warp, warps_n_), warp_m);
            warp_column_ = w_.multiply_by(w_.remainder_by(warp, warps_n_), warp_n);
            sums_ = make_accumulators(w_, warp_m / 16, warp_n / 8, true);
            if (tf32_ring(spec_)) {
                const auto operand = [&](bool is_b, std::uint32_t shared_offset, const Reg& first) {
                    MmaOperandShape shape;
                    shape.extent = is_b ? spec_.tile_n : spec_.tile_m;
                    shape.tile_k = tile_k_;
                    shape.element_bytes = 4;
                    shape.contiguous_in_k = is_b ? b_along_k_ : a_along_k_;
                    shape.copy_elements = 4;
                    shape.threads = threads_;
                    shape.stages = spec_.stages;
                    shape.is_b = is_b;
                    shape.shared_offset = shared_offset;
                    MmaOperand result(w_, shape);
                    result.read_from(shared_, lane_, first);
                    result.set_up_fragments(is_b ? warp_n : warp_m);
                    return result;
                };
                a_fragments_.emplace(operand(false, 0, warp_row_));
                b_fragments_.emplace(operand(true, spec_.stages * a.stage_bytes(), warp_column_));
                return;
            }
            if (spec_.tf32) {
                // Lane 4 g + t of a fragment: rows g and g + 8, k of t and t + 4; columns g.
                const Reg group = w_.make_b32("shr.u32", lane_, 2), k = w_.make_b32("and.b32", lane_, 3);
                const auto first = [&](const ConvolutionLoader& loader, const Reg& warp_first) {
                    const Reg line = w_.make_b32("mad.lo.u32", k, loader.row_bytes(), shared_);
                    return w_.make_b32("mad.lo.u32", w_.make_b32("add.u32", warp_first, group), 4, line);
                };
                a_read_ = first(a, warp_row_);
                b_read_ = first(b, warp_column_);
                return;
            }
            const auto pattern = [&](bool along_k, FragmentKind along, FragmentKind across, const Reg& first,
                                     const ConvolutionLoader& loader) {
                if (along_k) return FragmentPattern(w_, along, lane_, shared_, loader.row_bytes() / 2, first);
                return FragmentPattern(w_, across, lane_, shared_, loader.row_bytes() / 2, Reg{},
                                       w_.make_b32("shr.u32", first, 3));
            };
            a_pattern_.emplace(
                pattern(a_along_k_, FragmentKind::a, FragmentKind::a_transposed, warp_row_, a));
            b_pattern_.emplace(
                pattern(b_along_k_, FragmentKind::b, FragmentKind::b_transposed, warp_column_, b));
            return;
        }
        // A thread has 8 x 8: two fours of rows and of columns, half a tile apart.
        const unsigned across = spec_.tile_n / 8;
        thread_row_ = w_.multiply_by(w_.divide_by(tid_, across), 4);
        thread_column_ = w_.multiply_by(w_.remainder_by(tid_, across), 4);
        a_read_ = w_.make_b32("mad.lo.u32", thread_row_, 4, shared_);
        b_read_ = w_.make_b32("mad.lo.u32", thread_column_, 4, shared_);
        for (unsigned i = 0; i < 64; ++i) plain_sums_.push_back(w_.constant_f32(0));
    }

    void multiply(const ConvolutionLoader& a, const ConvolutionLoader& b, unsigned stage) {
        const std::uint32_t a_tile = stage * a.stage_bytes();
        const std::uint32_t b_tile = spec_.stages * a.stage_bytes() + stage * b.stage_bytes();
        if (spec_.tf32) return multiply_tf32(a, b, a_tile, b_tile);
        if (tensor_) {
            emit_warp_multiply(
                w_, spec_.type, sums_, tile_k_ / 16,
                [&](unsigned m, unsigned step, std::vector<Reg>& into) {
                    if (into.empty()) into = w_.b32s(4);
                    if (a_along_k_)
                        a_pattern_->load(into, a_tile, m, step);
                    else
                        a_pattern_->load(into, a_tile, step, m);
                },
                [&](unsigned pair, unsigned step, std::vector<Reg>& into) {
                    if (b_along_k_)
                        b_pattern_->load(into, b_tile, pair, step);
                    else
                        b_pattern_->load(into, b_tile, step, pair);
                });
            return;
        }
        for (unsigned k = 0; k < tile_k_; ++k) {
            std::vector<Reg> left, right;
            for (unsigned half = 0; half < 2; ++half) {
                const std::vector<Reg> x = w_.f32s(4), y = w_.f32s(4);
                w_.op("ld.shared.v4.f32", vector_of(x),
                      at(a_read_, a_tile + k * a.row_bytes() + half * spec_.tile_m * 2));
                w_.op("ld.shared.v4.f32", vector_of(y),
                      at(b_read_, b_tile + k * b.row_bytes() + half * spec_.tile_n * 2));
                left.insert(left.end(), x.begin(), x.end());
                right.insert(right.end(), y.begin(), y.end());
            }
            for (unsigned i = 0; i < 8; ++i) {
                for (unsigned j = 0; j < 8; ++j) {
                    const Reg& sum = plain_sums_[i * 8 + j];
                    w_.op("fma.rn.f32", sum, left[i], right[j], sum);
                }
            }
        }
    }

    void multiply_tf32(const ConvolutionLoader& a, const ConvolutionLoader& b, std::uint32_t a_tile,
                       std::uint32_t b_tile) {
        const auto word = [this](const Reg& base, std::uint32_t offset) {
            return w_.make_b32("ld.shared.b32", at(base, offset));
        };
        for (unsigned step = 0; step < tile_k_ / 8; ++step) {
            const std::uint32_t a_step = a_tile + step * 8 * a.row_bytes(), a_half = 4 * a.row_bytes();
            const std::uint32_t b_step = b_tile + step * 8 * b.row_bytes(), b_half = 4 * b.row_bytes();
            std::vector<std::vector<Reg>> right;
            for (unsigned j = 0; j < sums_[0].size(); ++j)
                right.push_back({word(b_read_, b_step + j * 32), word(b_read_, b_step + b_half + j * 32)});
            for (unsigned i = 0; i < sums_.size(); ++i) {
                const std::uint32_t row = a_step + i * 64;
                const std::vector<Reg> left{word(a_read_, row), word(a_read_, row + 32),
                                            word(a_read_, row + a_half), word(a_read_, row + a_half + 32)};
                for (unsigned j = 0; j < right.size(); ++j) {
                    const Reg sum = vector_of(sums_[i][j]);
                    w_.op("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", sum, vector_of(left),
                          vector_of(right[j]), sum);
                }
            }
        }
    }

    /// No part of the window may reach a phase.
    void leave_if_empty(const Reg& tiles, const std::string& done) {
        if (spec_.phased) w_.jump_if(w_.make_predicate("setp.eq.u32", tiles, 0), done);
    }

    /// Two stages: the next tile comes into registers while this one is multiplied.
    void main_loop(ConvolutionLoader& a, ConvolutionLoader& b) {
        const Reg extent = w_.make_b32("sub.u32", k_end_, k_begin_);
        const Reg left = w_.divide_by(w_.make_b32("add.u32", extent, tile_k_ - 1), tile_k_);
        const Reg tiles = w_.make_b32("mov.u32", left);
        const std::string loop = w_.new_label("tiles"), done = w_.new_label("multiplied");
        leave_if_empty(left, done);
        a.load();
        b.load();
        a.store(0);
        b.store(0);
        w_.cta_barrier();
        w_.place(loop);
        for (unsigned stage = 0; stage < 2; ++stage) {
            const std::string last = w_.new_label("last");
            w_.op("sub.u32", tiles, tiles, 1);
            const Reg more = w_.make_predicate("setp.ne.u32", tiles, 0);
            w_.jump_unless(more, last);
            a.load();
            b.load();
            multiply(a, b, stage);
            a.store(stage ^ 1);
            b.store(stage ^ 1);
            w_.cta_barrier();
            const std::string next = w_.new_label("next");
            w_.jump(next);
            w_.place(last);
            multiply(a, b, stage);
            w_.jump(done);
            w_.place(next);
        }
        w_.jump(loop);
        w_.place(done);
    }

    /// A ring of stages that cp.async fills: all but one are under way while one is multiplied.
    void ring_loop(ConvolutionLoader& a, ConvolutionLoader& b) {
        const Reg extent = w_.make_b32("sub.u32", k_end_, k_begin_);
        const Reg tiles = w_.divide_by(w_.make_b32("add.u32", extent, tile_k_ - 1), tile_k_);
        const Reg left = w_.make_b32("mov.u32", tiles), to_copy = w_.make_b32("mov.u32", tiles);
        const auto copy_next = [&](unsigned stage) {
            const std::string none = w_.new_label("no_more_tiles");
            w_.jump_if(w_.make_predicate("setp.eq.u32", to_copy, 0), none);
            a.copy(stage);
            b.copy(stage);
            w_.op("sub.u32", to_copy, to_copy, 1);
            w_.place(none);
            w_.op("cp.async.commit_group");
        };
        for (unsigned stage = 0; stage + 1 < spec_.stages; ++stage) copy_next(stage);
        const std::string loop = w_.new_label("tiles"), done = w_.new_label("multiplied");
        leave_if_empty(left, done);
        w_.place(loop);
        for (unsigned stage = 0; stage < spec_.stages; ++stage) {
            w_.op("cp.async.wait_group", spec_.stages - 2);
            w_.cta_barrier();
            copy_next((stage + spec_.stages - 1) % spec_.stages);
            multiply(a, b, stage);
            w_.op("sub.u32", left, left, 1);
            w_.jump_if(w_.make_predicate("setp.eq.u32", left, 0), done);
        }
        w_.jump(loop);
        w_.place(done);
    }

    /// Instructions that copy the next tile of both operands, in turns: neighbours do not wait for each
    /// other.
    std::vector<std::string> copies_of(ConvolutionLoader& a, ConvolutionLoader& b, unsigned stage) {
        const std::vector<std::string> of_a = w_.set_aside([&] { a.copy(stage); }),
                                       of_b = w_.set_aside([&] { b.copy(stage); });
        std::vector<std::string> result;
        for (std::size_t i = 0; i < std::max(of_a.size(), of_b.size()); ++i) {
            if (i < of_a.size()) result.push_back(of_a[i]);
            if (i < of_b.size()) result.push_back(of_b[i]);
        }
        return result;
    }

    /// The same with the copies of a tile among the products of another: a warp that waits for the tensor
    /// cores has time for addresses. Fragments come a step ahead of their use.
    void interleaved_ring_loop(ConvolutionLoader& a, ConvolutionLoader& b) {
        const Reg extent = w_.make_b32("sub.u32", k_end_, k_begin_);
        const Reg left = w_.divide_by(w_.make_b32("add.u32", extent, tile_k_ - 1), tile_k_);
        const std::string loop = w_.new_label("tiles"), done = w_.new_label("multiplied");
        leave_if_empty(left, done);
        // Tiles beyond the end become zeroes.
        for (unsigned stage = 0; stage + 1 < spec_.stages; ++stage) {
            a.copy(stage);
            b.copy(stage);
            w_.op("cp.async.commit_group");
        }
        const auto fragments = [&](std::size_t blocks) {
            std::vector<std::vector<Reg>> result(blocks);
            for (std::vector<Reg>& fragment : result) fragment = w_.b32s(4);
            return result;
        };
        constexpr unsigned kAhead = 2;  // fragments of B in flight beyond the one in use
        const auto blocks_m = static_cast<unsigned>(sums_.size()),
                   pairs = static_cast<unsigned>(sums_[0].size()) / 2, steps = tile_k_ / 8,
                   total = steps * pairs;
        const std::array<std::vector<std::vector<Reg>>, 2> left_sides{fragments(blocks_m),
                                                                      fragments(blocks_m)};
        const std::vector<std::vector<Reg>> right_sides = fragments(kAhead + 2);
        const auto load_left = [&](unsigned stage, unsigned step) {
            for (unsigned i = 0; i < blocks_m; ++i)
                a_fragments_->load_fragment(left_sides[step % 2][i], stage, i, step);
        };
        // `total` is a multiple of the four registers' turns: each tile begins with the first.
        const auto load_right = [&](unsigned stage, unsigned at) {
            b_fragments_->load_fragment(right_sides[at % right_sides.size()], stage, at % pairs, at / pairs);
        };
        const auto wait = [&] {
            w_.op("cp.async.wait_group", spec_.stages - 2);
            w_.cta_barrier();
        };
        wait();
        load_left(0, 0);
        for (unsigned at = 0; at < kAhead; ++at) load_right(0, at);
        w_.place(loop);
        for (unsigned stage = 0; stage < spec_.stages; ++stage) {
            const unsigned next = (stage + 1) % spec_.stages;
            const std::vector<std::string> copies =
                copies_of(a, b, (stage + spec_.stages - 1) % spec_.stages);
            const std::size_t among = std::size_t{total - kAhead} * blocks_m * 2;
            std::size_t put = 0, multiplied = 0;
            for (unsigned at = 0; at < total; ++at) {
                const unsigned step = at / pairs;
                if (at + kAhead == total) {
                    // All fragments of this tile are in registers: its place is free, the next one is due.
                    w_.op("cp.async.commit_group");
                    wait();
                    load_left(next, 0);
                }
                if (at % pairs == 0 && step + 1 < steps) load_left(stage, step + 1);
                if (at + kAhead < total)
                    load_right(stage, at + kAhead);
                else
                    load_right(next, at + kAhead - total);
                const std::vector<Reg>& right = right_sides[at % right_sides.size()];
                for (unsigned half = 0; half < 2; ++half) {
                    for (unsigned i = 0; i < blocks_m; ++i) {
                        const Reg sum = vector_of(sums_[i][at % pairs * 2 + half]);
                        w_.op("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", sum,
                              vector_of(left_sides[step % 2][i]),
                              vector_of({right[half * 2], right[half * 2 + 1]}), sum);
                        for (++multiplied; put < copies.size() && put * among < copies.size() * multiplied;
                             ++put)
                            w_.put(copies[put]);
                    }
                }
            }
            w_.op("sub.u32", left, left, 1);
            w_.jump_if(w_.make_predicate("setp.eq.u32", left, 0), done);
        }
        w_.jump(loop);
        w_.place(done);
    }

    void store() {
        ConvolutionResults results(
            w_, spec_,
            {d_, bias_, m_, n_, group_, first_row_, first_column_, plane_, d_item_, d_position_, d_column_,
             spec_.phased ? ConvolutionResults::LocateRow([this](const Reg& row) { return phased_row(row); })
                          : ConvolutionResults::LocateRow{}});
        if (tensor_) return results.store_fragments(sums_, lane_, warp_row_, warp_column_);
        results.store_squares(plain_sums_, thread_row_, thread_column_);
    }

    const ConvolutionSpec& spec_;
    bool tensor_;
    unsigned tile_k_, warps_m_, warps_n_, threads_;
    PtxWriter w_;
    Reg a_, b_, d_, bias_, m_, n_, k_begin_, k_end_, group_;
    std::vector<Reg> extents_, image_strides_, steps_, dilations_, lows_, other_strides_;
    std::vector<PtxWriter::Divider> position_dividers_, window_dividers_, step_dividers_;
    Reg image_item_, image_channel_, other_item_, other_row_, other_window_, other_channel_;
    PtxWriter::Divider inner_, plane_;
    Reg phase_rows_, phase_tiles_;
    std::vector<Reg> phase_extents_, window_extents_, phases_, phase_lows_, first_windows_, phase_windows_;
    Reg d_item_, d_position_, d_column_;
    Reg tid_, first_row_, first_column_, shared_, lane_, warp_row_, warp_column_;
    bool a_along_k_ = true, b_along_k_ = true;
    std::optional<FragmentPattern> a_pattern_, b_pattern_;
    std::optional<MmaOperand> a_fragments_, b_fragments_;
    AccumulatorTile sums_;
    Reg thread_row_, thread_column_, a_read_, b_read_;
    std::vector<Reg> plain_sums_;
};

}  // namespace

unsigned convolution_tile_k(ElementType type, bool tf32) {
    return tf32 ? kTf32TileK : type == ElementType::f32 ? kVectorTileK : kTensorTileK;
}

unsigned convolution_tile_k(const ConvolutionSpec& spec) {
    return spec.tile_k != 0 ? spec.tile_k : convolution_tile_k(spec.type, spec.tf32);
}
std::uint32_t convolution_shared_bytes(const ConvolutionSpec& spec) {
    return spec.stages * (spec.tile_m + spec.tile_n) * convolution_tile_k(spec) * bytes_of(spec.type);
}

GeneratedKernel generate_convolution(const ConvolutionSpec& spec) {
    check(spec);
    return Writer(spec).write();
}

}  // namespace heddle::kernels
