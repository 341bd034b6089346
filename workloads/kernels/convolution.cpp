#include "workloads/kernels/convolution.h"

#include "isa/common/error.h"
#include "isa/target/generation.h"
#include "workloads/kernels/convolution_results.h"
#include "workloads/kernels/convolution_writer.h"

namespace heddle::kernels {
namespace {

constexpr unsigned kTensorTileK = 64, kTf32TileK = 32, kVectorTileK = 8;
/// Warps along m and n. Those of a ring of tf32 have 64 by 64, as CUTLASS has it, and there are at least
/// four: each element is read from shared memory as seldom as registers allow. wgmma gives a warp 16 rows.
std::pair<unsigned, unsigned> warps_of(const ConvolutionSpec& spec) {
    if (spec.wgmma) return {spec.tile_m / 16, 1};
    if (!tf32_ring(spec)) return {spec.tile_m / (spec.tile_m == 128 ? 64 : 32), spec.tile_n / 32};
    const unsigned across_m = spec.tile_m / 64, across_n = spec.tile_n / 64;
    return across_m * across_n < 4 ? std::pair{2u, 2u} : std::pair{across_m, across_n};
}

void check(const ConvolutionSpec& spec) {
    const auto fail = [&](const std::string& problem, const std::string& remedy) {
        throw Error(problem, {.key = "convolution of " + name_of(spec.type)}, remedy);
    };
    const target::Generation& generation = target::nearest_generation(spec.compute_capability);
    const bool half = spec.type == ElementType::f16 || spec.type == ElementType::bf16;
    if (!half && spec.type != ElementType::f32) fail("convolutions take f16, bf16 or f32", "cast");
    if (spec.output != spec.type && spec.output != ElementType::f32) fail("the result has another type", "");
    if (spec.tf32 && spec.type != ElementType::f32) fail("f32 alone is read as tf32", "");
    if (on_tensor_cores(spec) && !generation.has_mma_m16n8k16)
        fail("the tensor-core convolution needs compute capability 8.0", "use f32");
    if (spec.axes < 1 || spec.axes > 3) fail("convolutions have one to three spatial axes", "");
    for (const unsigned tile : {spec.tile_m, spec.tile_n})
        if (tile != 64 && tile != 128 && (tile != 256 || (!tf32_ring(spec) && !spec.wgmma)))
            fail("tiles are of 64 or 128, through a ring of tf32 and by wgmma also 256", "");
    if (spec.wgmma && (!generation.has_wgmma || !half || spec.tile_m == 256 || spec.stages < 2 ||
                       spec.stages > 4 || spec.vector_a < 2 || spec.vector_b < 2))
        fail(
            "wgmma takes compute capability 9.0, 16-bit elements in accesses of 4 bytes and more, tiles of "
            "64 "
            "or 128 rows and 2 to 4 stages",
            "unset wgmma");
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
    if (!spec.wgmma && spec.stages != 2 &&
        (spec.stages < 2 || spec.stages > most || !on_tensor_cores(spec) || spec.vector_a < least ||
         spec.vector_b < least))
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
           (spec.wgmma ? "_wgmma" : "") + (spec.stages == 2 ? "" : "_stages" + std::to_string(spec.stages)) +
           (spec.strided ? "_strided" : "") + (spec.phased ? "_phased" : "") + (spec.bias ? "_bias" : "") +
           (spec.split_k ? "_splitk" : "");
}

}  // namespace

ConvolutionWriter::ConvolutionWriter(const ConvolutionSpec& spec)
    : spec_(spec),
      tensor_(on_tensor_cores(spec)),
      tile_k_(convolution_tile_k(spec)),
      warps_m_(warps_of(spec).first),
      warps_n_(warps_of(spec).second),
      threads_(tensor_ ? warps_m_ * warps_n_ * 32 : spec.tile_m * spec.tile_n / 64),
      w_(name_for(spec), spec.compute_capability,
         target::first_with(tensor_ ? &target::Generation::has_mma_m16n8k16
                                    : &target::Generation::has_fp16_mma),
         "mma.sync") {
    if (spec.wgmma) w_.use_architecture_specific();
}

GeneratedKernel ConvolutionWriter::write() {
    parameters();
    positions();
    ConvolutionLoader a = loader(true, 0);
    ConvolutionLoader b = loader(false, spec_.stages * a.stage_bytes());
    const std::uint32_t bytes = spec_.stages * (a.stage_bytes() + b.stage_bytes());
    // Dynamic shared memory may begin anywhere; wgmma's swizzle is a matter of the address.
    constexpr unsigned kAtom = 1024;
    shared_ = w_.make_b32("mov.u32", w_.dynamic_shared(bytes + (spec_.wgmma ? kAtom : 0)));
    if (spec_.wgmma)
        shared_ = w_.make_b32("and.b32", w_.make_b32("add.u32", shared_, kAtom - 1), -std::int64_t{kAtom});
    a.set_up(shared_, tid_, first_row_, m_, k_begin_, k_end_);
    b.set_up(shared_, tid_, first_column_, n_, k_begin_, k_end_);
    set_up_products(a, b);
    if (spec_.wgmma)
        wgmma_ring_loop(a, b);
    else if (spec_.stages == 2)
        main_loop(a, b);
    else if (spec_.tf32)
        interleaved_ring_loop(a, b);
    else
        ring_loop(a, b);
    store();
    return w_.finish({threads_, 1, 1});
}

void ConvolutionWriter::parameters() {
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
    if (spec_.wgmma) tiles_n_ = w_.b32_parameter("tiles_n");
}

void ConvolutionWriter::positions() {
    tid_ = w_.tid();
    Reg tile = w_.cta_x(), column_tile = w_.cta_y();
    if (spec_.wgmma) {
        // CTAs that have rows in common follow one another: what one brings into L2 the next finds there.
        column_tile = w_.make_b32("rem.u32", tile, tiles_n_);
        tile = w_.make_b32("div.u32", tile, tiles_n_);
    }
    if (spec_.phased) {
        Reg phase = w_.make_b32("div.u32", tile, phase_tiles_);
        tile = w_.make_b32("rem.u32", tile, phase_tiles_);
        set_up_phase(phase);
    }
    first_row_ = w_.multiply_by(tile, spec_.tile_m);
    first_column_ = w_.multiply_by(column_tile, spec_.tile_n);
}

void ConvolutionWriter::store() {
    ConvolutionResults results(
        w_, spec_,
        {d_, bias_, m_, n_, group_, first_row_, first_column_, plane_, d_item_, d_position_, d_column_,
         spec_.phased ? ConvolutionResults::LocateRow([this](const Reg& row) { return phased_row(row); })
                      : ConvolutionResults::LocateRow{}});
    if (tensor_) return results.store_fragments(sums_, lane_, warp_row_, warp_column_);
    results.store_squares(plain_sums_, thread_row_, thread_column_);
}

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
    return ConvolutionWriter(spec).write();
}

}  // namespace heddle::kernels
