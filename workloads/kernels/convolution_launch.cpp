// Sizes, strides and dividers of a convolution's launch, and which kernel to take.
#include <algorithm>
#include <numeric>

#include "isa/common/error.h"
#include "isa/target/generation.h"
#include "workloads/kernels/convolution.h"
#include "workloads/kernels/gemm_plan.h"

namespace heddle::kernels {
namespace {

std::uint32_t product(const std::vector<std::uint32_t>& extents) {
    return std::accumulate(extents.begin(), extents.end(), std::uint32_t{1}, std::multiplies<>());
}

/// Of a tensor [batch, channels, extents...], channels first or last.
struct Strides {
    std::uint32_t item, channel;
    std::vector<std::uint32_t> axes;
};
Strides strides_of(bool channels_last, std::uint32_t channels, const std::vector<std::uint32_t>& extents) {
    Strides strides{channels * product(extents), channels_last ? 1 : product(extents), {}};
    std::uint32_t step = channels_last ? channels : 1;
    strides.axes.resize(extents.size());
    for (std::size_t axis = extents.size(); axis-- > 0; step *= extents[axis]) strides.axes[axis] = step;
    return strides;
}

/// The widest access of at most 16 bytes that divides the channels.
unsigned widest(ElementType type, bool channels_last, std::uint32_t channels, std::uint32_t all) {
    unsigned width = channels_last ? 16 / bytes_of(type) : 1;
    while (channels % width != 0 || all % width != 0) width /= 2;
    return width;
}

}  // namespace

std::uint32_t ConvolutionGeometry::inputs() const {
    return product(input);
}
std::uint32_t ConvolutionGeometry::positions() const {
    return product(window);
}
std::uint32_t ConvolutionGeometry::outputs() const {
    return product(output);
}

ConvolutionGemm gemm_of(ConvolutionPass pass, const ConvolutionGeometry& g) {
    switch (pass) {
        case ConvolutionPass::forward:
            return {g.batch * g.outputs(), g.group_filters(), g.positions() * g.group_channels()};
        case ConvolutionPass::data_grad:
            return {g.batch * g.inputs(), g.group_channels(), g.positions() * g.group_filters()};
        case ConvolutionPass::weight_grad:
            break;
    }
    return {g.group_filters(), g.positions() * g.group_channels(), g.batch * g.outputs()};
}

ConvolutionLaunch convolution_launch(const ConvolutionSpec& spec, const ConvolutionGeometry& g,
                                     std::uint32_t k_per_slice) {
    constexpr std::uint64_t kMost = std::uint64_t{1} << 31;
    if (std::uint64_t{g.batch} * g.channels * g.inputs() >= kMost ||
        std::uint64_t{g.batch} * g.filters * g.outputs() >= kMost ||
        std::uint64_t{g.filters} * g.group_channels() * g.positions() >= kMost)
        throw Error("a convolution of tensors of 2^31 elements or more", {}, "divide the batch");
    const ConvolutionGemm gemm = gemm_of(spec.pass, g);
    const bool data_grad = spec.pass == ConvolutionPass::data_grad;
    const bool weight_grad = spec.pass == ConvolutionPass::weight_grad;
    const Strides x = strides_of(spec.channels_last, g.channels, g.input);
    const Strides y = strides_of(spec.channels_last, g.filters, g.output);
    const std::uint32_t filter = g.positions() * g.group_channels();
    const std::uint32_t weight_channel = spec.channels_last ? 1 : g.positions();
    const std::uint32_t weight_window = spec.channels_last ? g.group_channels() : 1;
    const Strides& image = data_grad ? y : x;

    ConvolutionLaunch launch;
    const auto integer = [&](const std::string& name, std::uint64_t value) {
        launch.scalars.push_back(integer_argument(name, value));
    };
    const std::uint32_t slices = k_per_slice == 0 ? 1 : divide_up(gemm.k, k_per_slice);
    std::uint32_t phase_rows = g.batch;
    for (std::size_t axis = 0; axis < g.input.size(); ++axis)
        phase_rows *= divide_up(g.input[axis], g.strides[axis]);
    integer("m", gemm.m);
    integer("n", gemm.n);
    integer("k", gemm.k);
    integer("k_per_slice", k_per_slice == 0 ? gemm.k : k_per_slice);
    integer("slices", slices);
    const std::uint64_t y_group = std::uint64_t{g.group_filters()} * y.channel;
    const std::uint64_t x_group = std::uint64_t{g.group_channels()} * x.channel;
    const std::uint64_t w_group = std::uint64_t{g.group_filters()} * filter;
    integer("a_group", data_grad || weight_grad ? y_group : x_group);
    integer("b_group", weight_grad ? x_group : w_group);
    if (!spec.split_k) integer("d_group", weight_grad ? w_group : data_grad ? x_group : y_group);
    const auto& positions = data_grad ? g.input : g.output;
    for (std::size_t axis = 0; axis < g.input.size(); ++axis) {
        const std::string i = std::to_string(axis);
        integer("image" + i, data_grad ? g.output[axis] : g.input[axis]);
        integer("image_stride" + i, image.axes[axis]);
        integer("step" + i, g.strides[axis]);
        integer("dilation" + i, g.dilation[axis]);
        integer("low" + i, static_cast<std::uint32_t>(g.padding_low[axis]));
        integer("other_stride" + i, y.axes[axis]);
        add_divider_arguments(launch.scalars, "position" + i,
                              spec.phased ? divide_up(positions[axis], g.strides[axis]) : positions[axis]);
        if (spec.phased) {
            integer("extent" + i, g.input[axis]);
            integer("window_extent" + i, g.window[axis]);
        }
        add_divider_arguments(launch.scalars, "window" + i, g.window[axis]);
        if (spec.strided) add_divider_arguments(launch.scalars, "step_divider" + i, g.strides[axis]);
    }
    integer("image_item", image.item);
    integer("image_channel", image.channel);
    integer("other_item", y.item);
    integer("other_row", weight_grad ? y.channel : data_grad ? weight_channel : filter);
    integer("other_window", weight_window);
    integer("other_channel", filter);
    const std::uint32_t channels = data_grad ? g.group_filters() : g.group_channels();
    add_divider_arguments(launch.scalars, "inner", spec.channels_last ? channels : g.positions());
    add_divider_arguments(launch.scalars, "plane", weight_grad ? 1 : data_grad ? g.inputs() : g.outputs());
    const Strides& d = data_grad ? x : y;
    integer("d_item", weight_grad ? filter : d.item);
    integer("d_position", weight_grad ? 0 : d.axes.back());
    integer("d_column", weight_grad ? 1 : d.channel);
    launch.grid = {divide_up(gemm.m, spec.tile_m), divide_up(gemm.n, spec.tile_n), g.groups * slices};
    if (spec.phased) {
        integer("phase_rows", phase_rows);
        integer("phase_tiles", divide_up(phase_rows, spec.tile_m));
        launch.grid[0] = divide_up(phase_rows, spec.tile_m) * product(g.strides);
    }
    if (spec.wgmma) {
        integer("tiles_n", launch.grid[1]);
        launch.grid = {launch.grid[0] * launch.grid[1], 1, launch.grid[2]};
    }
    return launch;
}

namespace {

/// By wgmma: the widest tiles of columns that leave no SM idle, since rows are gathered once for all of them.
void choose_wgmma_tile(ConvolutionSpec& spec, const ConvolutionGemm& gemm, std::uint32_t groups,
                       unsigned sm_count) {
    const auto tiles = [&](unsigned m, unsigned n) {
        return std::uint64_t{divide_up(gemm.m, m)} * divide_up(gemm.n, n) * groups;
    };
    spec.wgmma = true;
    spec.tile_m = gemm.m <= 64 ? 64 : 128;
    spec.tile_n = gemm.n <= 64 ? 64 : 128;
    if (gemm.n > 128 && tiles(spec.tile_m, 256) >= 2 * sm_count) spec.tile_n = 256;
    if (tiles(spec.tile_m, spec.tile_n) < sm_count) spec.tile_m = 64;
    if (tiles(spec.tile_m, spec.tile_n) < sm_count) spec.tile_n = 64;
    spec.stages = gemm.k <= convolution_tile_k(spec.type) ? 2 : 3;
}

}  // namespace

ConvolutionChoice choose_convolution(unsigned compute_capability, unsigned sm_count, ElementType type,
                                     ConvolutionPass pass, bool channels_last, const ConvolutionGeometry& g,
                                     bool tf32) {
    ConvolutionChoice choice;
    ConvolutionSpec& spec = choice.spec;
    spec.compute_capability = compute_capability;
    spec.type = spec.output = type;
    const target::Generation& generation = target::nearest_generation(compute_capability);
    spec.tf32 = tf32 && type == ElementType::f32 && generation.has_tf32;
    spec.pass = pass;
    spec.channels_last = channels_last;
    spec.axes = static_cast<unsigned>(g.input.size());
    const unsigned of_channels = widest(type, channels_last, g.group_channels(), g.channels);
    const unsigned of_filters = widest(type, channels_last, g.group_filters(), g.filters);
    spec.vector_a = pass == ConvolutionPass::forward ? of_channels : of_filters;
    spec.vector_b = of_channels;
    spec.strided = pass == ConvolutionPass::data_grad &&
                   std::any_of(g.strides.begin(), g.strides.end(), [](std::uint32_t s) { return s != 1; });
    const bool dilated =
        std::any_of(g.dilation.begin(), g.dilation.end(), [](std::uint32_t d) { return d != 1; });
    const bool cropped =
        std::any_of(g.padding_low.begin(), g.padding_low.end(), [](std::int32_t low) { return low < 0; });
    spec.phased = spec.strided && channels_last && !dilated && !cropped;
    if (spec.phased) spec.strided = false;
    const ConvolutionGemm gemm = gemm_of(pass, g);
    const auto tiles = [&] {
        return std::uint64_t{divide_up(gemm.m, spec.tile_m)} * divide_up(gemm.n, spec.tile_n) * g.groups;
    };
    spec.tile_m = spec.tile_n = 128;
    if (gemm.n <= 64 || tiles() < sm_count) spec.tile_n = 64;
    if (gemm.m <= 64 || tiles() < sm_count) spec.tile_m = 64;
    if ((channels_last || pass == ConvolutionPass::weight_grad) && gemm.n % 8 == 0) spec.vector_d = 8;
    // Narrower accesses, and a single tile of k, gain nothing from a ring.
    const bool half = type == ElementType::f16 || type == ElementType::bf16;
    if (half && spec.vector_a >= 2 && spec.vector_b >= 2 && gemm.k > convolution_tile_k(type))
        spec.stages = 3;
    if (half && generation.has_wgmma && spec.vector_a >= 2 && spec.vector_b >= 2)
        choose_wgmma_tile(spec, gemm, g.groups, sm_count);
    if (spec.tf32 && channels_last) {
        // The tile that cuDNN takes most.
        spec.stages = 4;
        spec.tile_k = 16;
    }
    // Two waves of CTAs, each with at least eight tiles of k.
    const std::uint32_t tile_k = convolution_tile_k(spec), k_tiles = divide_up(gemm.k, tile_k);
    const std::uint64_t wanted = 2 * sm_count / std::max<std::uint64_t>(1, tiles());
    const std::uint64_t most =
        std::max(1u, k_tiles / (8 * kernels::convolution_tile_k(ElementType::bf16) / tile_k));
    const std::uint64_t cap = spec.wgmma ? sm_count : 64;  // small gradients of many positions
    const auto slices = static_cast<std::uint32_t>(std::min({wanted, most, cap}));
    if (slices > 1 && pass == ConvolutionPass::weight_grad) {
        choice.k_per_slice = divide_up(k_tiles, slices) * tile_k;
        choice.slices = divide_up(gemm.k, choice.k_per_slice);
        spec.split_k = choice.slices > 1;
        if (!spec.split_k) choice.k_per_slice = 0;
    }
    return choice;
}

void take_library_tile(ConvolutionChoice& choice, const ConvolutionGeometry& geometry,
                       const std::vector<std::int64_t>& tile, std::int64_t stages, std::int64_t slices,
                       std::uint32_t shared_bytes) {
    if (!choice.spec.tf32 || choice.spec.stages == 2) return;
    if (tile.size() == 3) {
        ConvolutionSpec spec = choice.spec;
        const auto among = [](std::int64_t extent, std::initializer_list<std::int64_t> sizes) {
            return std::find(sizes.begin(), sizes.end(), extent) != sizes.end();
        };
        if (!among(tile[0], {64, 128, 256}) || !among(tile[1], {64, 128, 256}) ||
            !among(tile[2], {16, 32, 64}) || tile[0] * tile[1] > 256 * 128)
            return;
        spec.tile_m = static_cast<unsigned>(tile[0]);
        spec.tile_n = static_cast<unsigned>(tile[1]);
        spec.tile_k = static_cast<unsigned>(tile[2]);
        spec.stages = stages >= 3 && stages <= 6 ? static_cast<unsigned>(stages) : 4;
        while (spec.stages > 3 && convolution_shared_bytes(spec) > shared_bytes) --spec.stages;
        if (convolution_shared_bytes(spec) > shared_bytes) return;
        choice.spec = spec;
    }
    const std::uint32_t tile_k = convolution_tile_k(choice.spec),
                        k_tiles = divide_up(gemm_of(choice.spec.pass, geometry).k, tile_k);
    if (choice.spec.pass != ConvolutionPass::weight_grad) return;
    if (slices <= 0) slices = choice.slices;
    const auto wanted = static_cast<std::uint32_t>(std::clamp<std::int64_t>(slices, 1, k_tiles));
    choice.k_per_slice = divide_up(k_tiles, wanted) * tile_k;
    choice.slices = divide_up(gemm_of(choice.spec.pass, geometry).k, choice.k_per_slice);
    choice.spec.split_k = choice.slices > 1;
    if (!choice.spec.split_k) choice.k_per_slice = 0;
}

numerics::ReductionPlan plan_of(const ConvolutionSpec& spec, std::uint32_t k_per_slice) {
    GemmEpilogue reduced;
    reduced.output = spec.output;
    const GemmPartition partition{.batched = false, .split_k = spec.split_k};
    if (spec.type == ElementType::f32 && !spec.tf32) {
        GemmSimtSpec simt;
        simt.partition = partition;
        simt.epilogue = reduced;
        return plan_of(simt, k_per_slice, reduced);
    }
    if (spec.wgmma) {
        GemmWgmmaSpec wgmma;
        wgmma.compute_capability = spec.compute_capability;
        wgmma.type = spec.type;
        wgmma.partition = partition;
        wgmma.epilogue = reduced;
        return plan_of(wgmma, k_per_slice, reduced);
    }
    GemmMmaSpec mma;
    mma.compute_capability = spec.compute_capability;
    mma.type = spec.type;
    mma.tile.k = kernels::convolution_tile_k(spec);
    mma.partition = partition;
    mma.epilogue = reduced;
    return plan_of(mma, k_per_slice, reduced);
}

}  // namespace heddle::kernels
