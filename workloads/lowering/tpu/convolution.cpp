#include "workloads/lowering/tpu/convolution.h"

#include <algorithm>
#include <optional>

#include "workloads/lowering/tpu/fp32_parts.h"
#include "workloads/lowering/tpu/image.h"

namespace heddle::lowering::on_tpu {
namespace {

using tpu::ElementType;

/// Where the weights lie: [filters, window height, window width, channels of a group], dense.
struct Weights {
    std::uint64_t address = 0;
    ElementType type = ElementType::fp32;
    std::uint64_t filters = 0, height = 1, width = 1, channels = 0;

    std::uint64_t at(std::uint64_t filter, std::uint64_t row, std::uint64_t column,
                     std::uint64_t channel) const {
        return address + (((filter * height + row) * width + column) * channels + channel) * bytes_of(type);
    }
};

/// What slides over what, in one group of channels and one phase: result pixels (rows x columns axes) of
/// channels [to_channel, to_channel + to_channels) from source channels [from_channel, from_channel +
/// from_channels).
struct Task {
    SlidingAxis rows, columns;
    std::uint64_t from_channel = 0, from_channels = 0, to_channel = 0, to_channels = 0;
};

class Convolver {
  public:
    Convolver(ProgramBuilder& program, const TpuLoweringOptions& options, const Image& source,
              const Image& result, const Weights& weights, bool backward, std::optional<HbmView> bias)
        : program_(program),
          source_(source),
          result_(result),
          weights_(weights),
          backward_(backward),
          bias_(std::move(bias)) {
        const ProductTypes types = product_types(source.type, weights.type, options.matmul_passes);
        popped_ = types.popped;
        passes_ = types.passes;
        const bool rounds = popped_ == ElementType::fp32 && result.type == ElementType::bf16;
        if (!bias_ && (result.type == popped_ || rounds)) {
            popped_ = result.type;
            return;
        }
        KernelBuilder builder;
        std::vector<ElementType> operands{popped_};
        auto value = builder.input(popped_);
        if (bias_) {
            operands.push_back(bias_->type);
            value = builder.apply(tpu::VectorOp::add, value, builder.input(bias_->type));
        }
        builder.output(value, result.type);
        epilogue_ = program.kernel(builder.finish(), operands);
    }

    void run(const Task& task) {
        task_ = task;
        if (task.rows.results * task.columns.results * task.to_channels * source_.batch == 0) return;
        runs_ = runs_of(task.columns);
        depth_ = task.rows.taps.size() * task.columns.taps.size() * task.from_channels;
        if (depth_ > 0) plan();
        for (unsigned core = 0; core < program_.cores(); ++core) {
            program_.core(core).start_over();
            depth_ > 0 ? emit(core) : emit_zeros(core);
        }
    }

  private:
    const target::TpuTarget& target() const { return program_.target(); }
    std::uint64_t array_columns() const { return target().array_columns; }

    /// Images or rows of an image that a core works on at a time.
    struct Block {
        std::uint64_t item = 0, items = 1, row = 0, rows = 0;
    };
    /// What one unit makes of a block: some of its rows, one tile of columns.
    struct Share {
        std::uint64_t row = 0, rows = 0;  ///< of the block's rows, images one after the other
        std::uint64_t column = 0, columns = 0;
        std::uint64_t accumulator = 0;
    };

    Slab slab_of(const Block& block) const {
        Slab slab;
        slab.item = block.item;
        slab.items = block.items;
        slab.first_row = task_.rows.begin(block.row);
        slab.rows = static_cast<std::uint64_t>(task_.rows.end(block.row + block.rows) - slab.first_row);
        slab.first_column = task_.columns.begin(0);
        slab.columns =
            static_cast<std::uint64_t>(task_.columns.end(task_.columns.results) - slab.first_column);
        slab.channel = task_.from_channel;
        slab.channels = task_.from_channels;
        return slab;
    }

    /// Blocks of rows, as large as VMEM and the accumulators allow and small enough that all cores get some.
    void plan() {
        const std::uint64_t width = task_.columns.results, height = task_.rows.results;
        // A stream longer than the accumulators is cut into pieces of columns: not needed for any known
        // model.
        if (width > target().accumulator_rows)
            throw Unsupported{"rows of images longer than the accumulators"};
        const std::uint64_t most_pixels = std::max(width, std::uint64_t{target().accumulator_rows} / 2);
        const std::uint64_t row_groups = std::max<std::uint64_t>(
            1, target().matrix_units_per_core / divide_up(task_.to_channels, array_columns()));
        std::uint64_t most_rows = std::max<std::uint64_t>(1, most_pixels / width) * row_groups;
        const std::uint64_t all_rows = height * source_.batch;
        most_rows =
            std::min(most_rows, std::max<std::uint64_t>(1, divide_up(all_rows, 2 * program_.cores())));
        Block block;
        for (;; most_rows = std::max<std::uint64_t>(1, most_rows / 2)) {
            block.items = std::min(source_.batch, std::max<std::uint64_t>(1, most_rows / height));
            block.rows = block.items > 1 ? height : std::min(height, most_rows);
            const std::uint64_t slab = slab_of(block).elements() * bytes_of(source_.type);
            if (slab <= target().vmem_bytes / 6) break;
            if (most_rows == 1) throw Unsupported{"the rows of an image do not fit on-chip memory"};
        }
        slab_elements_ = slab_of(block).elements();
        blocks_.clear();
        for (std::uint64_t item = 0; item < source_.batch; item += block.items) {
            for (std::uint64_t row = 0; row < height; row += block.rows)
                blocks_.push_back({item, std::min(block.items, source_.batch - item), row,
                                   std::min(block.rows, height - row)});
        }
        row_groups_ = std::min(row_groups, block.items * block.rows);
        group_rows_ = divide_up(block.items * block.rows, row_groups_);
        plan_columns();
    }

    /// Columns of results whose weights are in VMEM at a time.
    void plan_columns() {
        const std::uint64_t tiles = divide_up(task_.to_channels, array_columns());
        const std::uint64_t tile_bytes = depth_ * array_columns() * bytes_of(weights_.type);
        const std::uint64_t room = target().vmem_bytes / 5;  // two places
        const std::uint64_t pixels = group_rows_ * task_.columns.results;
        const std::uint64_t units = target().matrix_units_per_core;
        const std::uint64_t per_unit = std::max<std::uint64_t>(1, target().accumulator_rows / pixels);
        if (tile_bytes > 2 * room)
            throw Unsupported{"the weights of a tile of filters do not fit on-chip memory"};
        column_tiles_ =
            std::max<std::uint64_t>(1, std::min({tiles, room / tile_bytes, per_unit * units / row_groups_}));
    }

    void emit(unsigned index) {
        CoreBuilder& core = program_.core(index);
        const std::uint64_t group = column_tiles_ * array_columns();
        const std::uint64_t groups = divide_up(task_.to_channels, group);
        // Cores share out the blocks, or the columns when there are more of those.
        const bool by_blocks = blocks_.size() >= program_.cores() || blocks_.size() >= groups;
        const Range blocks =
            by_blocks ? part_of(blocks_.size(), program_.cores(), index) : Range{0, blocks_.size()};
        const Range columns = by_blocks ? Range{0, groups} : part_of(groups, program_.cores(), index);
        if (blocks.size() == 0 || columns.size() == 0) return;
        SlabRing slabs(program_, core, source_.type, slab_elements_, 2, 0);
        TileRing weights(core, weights_.type, depth_ * std::min(group, task_.to_channels),
                         groups > 1 ? 2 : 1);
        std::optional<TileRing> bias;
        if (bias_) bias.emplace(core, bias_->type, group, groups > 1 ? 2 : 1);
        const std::uint64_t result = group_rows_ * task_.columns.results * array_columns();
        std::vector<TileRing> popped, results;
        for (unsigned unit = 0; unit < target().matrix_units_per_core; ++unit)
            popped.emplace_back(core, popped_, result, 2);
        if (epilogue_) results.emplace_back(core, result_.type, result, 3);
        std::vector<Tile> slab_tiles(blocks.size() * columns.size()), weight_tiles(columns.size()),
            bias_tiles(columns.size());
        pipeline(
            slab_tiles.size(), 1,
            [&](std::size_t step) {
                const std::size_t which = step / blocks.size();
                if (step % blocks.size() == 0) {
                    weight_tiles[which] = load_weights(core, weights, (columns.begin + which) * group);
                    if (bias)
                        bias_tiles[which] = bias->load(
                            core, {bias_->address + (columns.begin + which) * group * bytes_of(bias_->type),
                                   1, columns_of(columns.begin + which), 0, 1});
                }
                slab_tiles[step] =
                    slabs.load(core, source_, slab_of(blocks_[blocks.begin + step % blocks.size()]));
            },
            [&](std::size_t step) {
                const std::size_t which = step / blocks.size();
                const Block& block = blocks_[blocks.begin + step % blocks.size()];
                const std::vector<Share> shares = shares_of(block, columns_of(columns.begin + which), step);
                multiply(core, block, shares, slab_tiles[step], weight_tiles[which]);
                for (std::size_t i = 0; i < shares.size(); ++i)
                    finish(core, block, shares[i], unit_of(i), (columns.begin + which) * group, popped,
                           results, bias_tiles[which]);
            });
    }

    std::uint64_t columns_of(std::uint64_t group) const {
        const std::uint64_t size = column_tiles_ * array_columns();
        return std::min(size, task_.to_channels - group * size);
    }
    unsigned unit_of(std::size_t share) const {
        return static_cast<unsigned>(share % target().matrix_units_per_core);
    }

    /// Row of results number `r` of a share.
    static std::uint64_t row_of(const Block& block, const Share& share, std::uint64_t r) {
        return block.row + (share.row + r) % block.rows;
    }

    /// `step` takes turns in the two halves of the accumulators where both fit.
    std::vector<Share> shares_of(const Block& block, std::uint64_t columns, std::size_t step) const {
        std::vector<Share> shares;
        const std::uint64_t rows = block.items * block.rows, pixels = group_rows_ * task_.columns.results;
        for (std::uint64_t column = 0; column < columns; column += array_columns()) {
            for (std::uint64_t row = 0; row < rows; row += group_rows_) {
                Share share{row, std::min(group_rows_, rows - row), column,
                            std::min(array_columns(), columns - column), 0};
                share.accumulator = shares.size() / target().matrix_units_per_core * pixels;
                shares.push_back(share);
            }
        }
        const std::uint64_t used = divide_up(shares.size(), target().matrix_units_per_core) * pixels;
        if (step % 2 == 1 && 2 * used <= target().accumulator_rows)
            for (Share& share : shares) share.accumulator += used;
        return shares;
    }

    /// Forward: [columns][depth], as the weights lie. Backward: [depth][columns], tap by tap in the order in
    /// which the pixels lie.
    Tile load_weights(CoreBuilder& core, TileRing& ring, std::uint64_t first) const {
        const std::uint64_t columns = std::min(column_tiles_ * array_columns(), task_.to_channels - first);
        const std::uint64_t row = weights_.height * weights_.width * weights_.channels;
        if (!backward_)
            return ring.load(core, {weights_.at(task_.to_channel + first, 0, 0, 0), columns, depth_,
                                    static_cast<std::int64_t>(row), 1});
        Tile tile = ring.next(columns);
        std::uint64_t k = 0;
        for (const Tap& y : task_.rows.taps) {
            for (const Tap& x : task_.columns.taps) {
                tpu::Dma dma;
                dma.kind = tpu::DmaKind::load;
                dma.vmem = static_cast<std::int64_t>(tile.at(k, 0).address);
                // Channels of the result count within their group, as the weights do.
                dma.hbm =
                    static_cast<std::int64_t>(weights_.at(task_.from_channel, y.window, x.window, first));
                dma.rows = static_cast<std::uint32_t>(task_.from_channels);
                dma.row_bytes = static_cast<std::uint32_t>(columns * bytes_of(weights_.type));
                dma.vmem_stride = tile.row_stride;
                dma.hbm_stride = row * bytes_of(weights_.type);
                core.dma(dma, tile.region, nullptr, true);
                k += task_.from_channels;
            }
        }
        return tile;
    }

    void multiply(CoreBuilder& core, const Block& block, const std::vector<Share>& shares,
                  const Tile& slab_tile, const Tile& weights) const {
        const Slab slab = slab_of(block);
        const std::uint64_t width = task_.columns.results, size = bytes_of(source_.type);
        const std::size_t units = target().matrix_units_per_core;
        std::uint64_t k = 0;
        for (const Tap& y : task_.rows.taps) {
            for (const Run& run : runs_) {
                const std::uint64_t length = run.taps * task_.from_channels;
                for (std::uint64_t part = 0; part < length; part += target().array_rows) {
                    const std::uint64_t deep = std::min<std::uint64_t>(target().array_rows, length - part);
                    for (std::size_t pass = 0; pass < passes_.size(); ++pass) {
                        for (std::size_t first = 0; first < shares.size(); first += units) {
                            const std::size_t end = std::min(shares.size(), first + units);
                            for (std::size_t i = first; i < end; ++i)
                                core.push(unit_of(i),
                                          backward_ ? weights.at(k + part, shares[i].column)
                                                    : weights.at(shares[i].column, k + part),
                                          deep, shares[i].columns, !backward_, passes_[pass].second);
                            Tile pixels = slab_tile;
                            pixels.row_stride *= static_cast<std::uint64_t>(task_.columns.stride);
                            const bool fresh = k + part == 0 && pass == 0;
                            // Row by row for all units, so that none waits for the queue of another.
                            for (std::uint64_t r = 0; r < group_rows_; ++r) {
                                for (std::size_t i = first; i < end; ++i) {
                                    const Share& share = shares[i];
                                    if (r >= share.rows) continue;
                                    const std::int64_t row =
                                        static_cast<std::int64_t>(row_of(block, share, r));
                                    pixels.address =
                                        slab_tile.address + (slab.at((share.row + r) / block.rows,
                                                                     row * task_.rows.stride + y.offset,
                                                                     task_.columns.taps[run.tap].offset) +
                                                             part) *
                                                                size;
                                    core.matmul(unit_of(i), pixels, width, deep, share.columns,
                                                share.accumulator + r * width, !fresh, passes_[pass].first,
                                                r > 0);
                                }
                            }
                        }
                    }
                }
                k += length;
            }
        }
    }

    void finish(CoreBuilder& core, const Block& block, const Share& share, unsigned unit, std::uint64_t first,
                std::vector<TileRing>& popped, std::vector<TileRing>& results, const Tile& bias) const {
        const std::uint64_t width = task_.columns.results, pixels = share.rows * width;
        Tile tile = popped[unit].next(share.columns);
        core.pop(unit, tile, pixels, share.columns, share.accumulator);
        if (epilogue_) {
            const Tile result = results[0].next(share.columns);
            std::vector<Tile> inputs{tile};
            if (bias_) {
                inputs.push_back(bias.at(0, share.column));
                inputs.back().row_stride = 0;
            }
            core.vector(epilogue_, pixels, share.columns, inputs, {result});
            tile = result;
        }
        store_rows(core, block, share, first, tile);
    }

    /// Rows of an image that lie one behind the other leave together.
    void store_rows(CoreBuilder& core, const Block& block, const Share& share, std::uint64_t first,
                    const Tile& tile) const {
        const std::uint64_t width = task_.columns.results;
        const bool together = task_.rows.step == 1 && task_.columns.step == 1 && width == result_.width &&
                              result_.row_stride == width * result_.pixel_stride;
        for (std::uint64_t r = 0; r < share.rows;) {
            const std::uint64_t item = (share.row + r) / block.rows, row = row_of(block, share, r);
            const std::uint64_t count =
                together ? std::min(share.rows - r, block.rows - (share.row + r) % block.rows) : 1;
            store(core, tile.at(r * width, 0),
                  {result_.at(block.item + item, task_.rows.first + row * task_.rows.step,
                              task_.columns.first, task_.to_channel + first + share.column),
                   count * width, share.columns,
                   static_cast<std::int64_t>(task_.columns.step * result_.pixel_stride), 1});
            r += count;
        }
    }

    /// A phase that no tap reaches.
    void emit_zeros(unsigned index) {
        CoreBuilder& core = program_.core(index);
        const std::uint64_t width = task_.columns.results;
        SlabRing zeros(program_, core, result_.type, width * task_.to_channels, 1, 0);
        Image nothing = result_;
        nothing.height = nothing.width = 0;
        Slab slab;
        slab.rows = 1;
        slab.columns = width;
        slab.channels = task_.to_channels;
        const Tile tile = zeros.load(core, nothing, slab);
        const Range rows = part_of(result_.batch * task_.rows.results, program_.cores(), index);
        for (std::uint64_t row = rows.begin; row < rows.end; ++row)
            store(core, tile,
                  {result_.at(row / task_.rows.results,
                              task_.rows.first + row % task_.rows.results * task_.rows.step,
                              task_.columns.first, task_.to_channel),
                   width, task_.to_channels,
                   static_cast<std::int64_t>(task_.columns.step * result_.pixel_stride), 1});
    }

    ProgramBuilder& program_;
    Image source_, result_;
    Weights weights_;
    bool backward_;
    std::optional<HbmView> bias_;
    std::vector<std::pair<tpu::Bf16Part, tpu::Bf16Part>> passes_;
    ElementType popped_ = ElementType::fp32;
    std::shared_ptr<const tpu::VectorKernel> epilogue_;
    Task task_;
    std::vector<Run> runs_;
    std::uint64_t depth_ = 0, slab_elements_ = 0, row_groups_ = 1, group_rows_ = 1, column_tiles_ = 1;
    std::vector<Block> blocks_;
};

/// The weights with channels last, copied when they are not.
Weights weights_of(ProgramBuilder& program, const trace::ConvolutionSizes& sizes, bool& copied) {
    const Image image = input_image(program, 1, sizes.channels_last, copied);
    return {image.address, image.type, image.batch, image.height, image.width, image.channels};
}

void meet_if(ProgramBuilder& program, bool copied) {
    if (copied) program.meet();
}

}  // namespace

void lower_convolution(ProgramBuilder& program, const TpuLoweringOptions& options) {
    const trace::ConvolutionSizes sizes = trace::convolution_sizes(program.trace(), program.op());
    const Plane plane(sizes.space);
    bool copied = false;
    const Image x = input_image(program, 0, sizes.channels_last, copied);
    const Weights weights = weights_of(program, sizes, copied);
    const Image y = output_image(program, 0, sizes.channels_last);
    meet_if(program, copied);
    std::optional<HbmView> bias;
    if (program.op().inputs.size() > 2) bias = program.dense_input(2);
    for (std::int64_t group = 0; group < sizes.groups; ++group) {
        Task task{plane.forward(0), plane.forward(1)};
        task.from_channels = static_cast<std::uint64_t>(sizes.group_channels());
        task.to_channels = static_cast<std::uint64_t>(sizes.group_filters());
        task.from_channel = static_cast<std::uint64_t>(group) * task.from_channels;
        task.to_channel = static_cast<std::uint64_t>(group) * task.to_channels;
        std::optional<HbmView> part = bias;
        if (part) part->address += task.to_channel * bytes_of(part->type);
        Convolver(program, options, x, y, weights, false, part).run(task);
    }
    finish_output(program, 0, sizes.channels_last, y);
}

void lower_convolution_data_grad(ProgramBuilder& program, const TpuLoweringOptions& options) {
    const trace::ConvolutionSizes sizes = trace::convolution_sizes(program.trace(), program.op());
    const Plane plane(sizes.space);
    bool copied = false;
    const Image dy = input_image(program, 0, sizes.channels_last, copied);
    const Weights weights = weights_of(program, sizes, copied);
    const Image dx = output_image(program, 0, sizes.channels_last);
    meet_if(program, copied);
    Convolver convolver(program, options, dy, dx, weights, true, std::nullopt);
    for (std::int64_t group = 0; group < sizes.groups; ++group) {
        for (std::int64_t row = 0; row < plane.strides[0]; ++row) {
            for (std::int64_t column = 0; column < plane.strides[1]; ++column) {
                Task task{plane.backward(0, row), plane.backward(1, column)};
                task.from_channels = static_cast<std::uint64_t>(sizes.group_filters());
                task.to_channels = static_cast<std::uint64_t>(sizes.group_channels());
                task.from_channel = static_cast<std::uint64_t>(group) * task.from_channels;
                task.to_channel = static_cast<std::uint64_t>(group) * task.to_channels;
                convolver.run(task);
            }
        }
    }
    finish_output(program, 0, sizes.channels_last, dx);
}

}  // namespace heddle::lowering::on_tpu
