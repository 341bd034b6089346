// dw[o, w, c] = sum over pixels q of dy[q, o] x[q * stride + w - padding, c].
//
// Pixels are counted through VMEM: pixel j of x lies j * stride behind the first one, over the ends of rows
// and images, where dy is filled with zeros. So any 128 pixels in a row are a weight tile.
#include <algorithm>
#include <optional>

#include "workloads/lowering/tpu/convolution.h"
#include "workloads/lowering/tpu/fp32_parts.h"
#include "workloads/lowering/tpu/image.h"

namespace heddle::lowering::on_tpu {
namespace {

using tpu::ElementType;

class WeightGradient {
  public:
    WeightGradient(ProgramBuilder& program, const TpuLoweringOptions& options, const Plane& plane,
                   const Image& x, const Image& dy, const Image& dw, std::optional<HbmView> bias)
        : program_(program), plane_(plane), x_(x), dy_(dy), dw_(dw), bias_(std::move(bias)) {
        const auto floating = [](ElementType type) {
            return type == ElementType::fp32 || type == ElementType::bf16;
        };
        if (!floating(x.type) || !floating(dy.type) || !floating(dw.type))
            throw Unsupported{"matrix units multiply bf16 (from fp32 or bf16)"};
        const bool wide = x.type == ElementType::fp32 && dy.type == ElementType::fp32;
        passes_ = parts_of(wide ? options.matmul_passes : 1);
        rows_ = plane.forward(0);
        columns_ = plane.forward(1);
        if (bias_) {
            KernelBuilder builder;
            builder.reduce(builder.input(dy.type), tpu::Reduction::sublanes_sum, true);
            sum_ = program.kernel(builder.finish(), {dy.type});
            KernelBuilder zero;
            zero.output(zero.constant(0), ElementType::fp32);
            zero_ = program.kernel(zero.finish(), {});
            KernelBuilder copy;
            copy.output(copy.input(ElementType::fp32), bias_->type);
            copy_ = program.kernel(copy.finish(), {ElementType::fp32});
        }
    }

    void run(std::uint64_t group, std::uint64_t channels, std::uint64_t filters) {
        first_channel_ = group * channels;
        first_filter_ = group * filters;
        channels_ = channels;
        filters_ = filters;
        plan();
        for (unsigned core = 0; core < program_.cores(); ++core) {
            program_.core(core).start_over();
            emit(core);
        }
    }

  private:
    const target::TpuTarget& target() const { return program_.target(); }

    struct Block {
        std::uint64_t item = 0, items = 1, row = 0, rows = 0;
    };
    /// A tile of the result: filters x columns of one run of taps.
    struct Piece {
        std::uint64_t filter = 0, filters = 0;
        std::size_t row_tap = 0;
        Run run;
        std::uint64_t part = 0, columns = 0;
    };

    Slab x_slab(const Block& block) const {
        Slab slab;
        slab.item = block.item;
        slab.items = block.items;
        slab.first_row = rows_.begin(block.row);
        slab.rows = static_cast<std::uint64_t>(rows_.end(block.row + block.rows) - slab.first_row);
        slab.first_column = columns_.begin(0);
        slab.columns = static_cast<std::uint64_t>(columns_.end(columns_.results) - slab.first_column);
        // Whole strides, so that pixels are counted over the ends of rows and images.
        const auto down = static_cast<std::uint64_t>(rows_.stride),
                   across = static_cast<std::uint64_t>(columns_.stride);
        slab.rows = divide_up(slab.rows, down) * down;
        slab.columns = divide_up(slab.columns, across) * across;
        slab.channel = first_channel_;
        slab.channels = channels_;
        return slab;
    }
    Slab dy_slab(const Block& block) const {
        const Slab x = x_slab(block);
        Slab slab;
        slab.item = block.item;
        slab.items = block.items;
        slab.first_row = static_cast<std::int64_t>(block.row);
        slab.rows = block.items > 1 ? x.rows / static_cast<std::uint64_t>(rows_.stride) : block.rows;
        slab.columns = static_cast<std::uint64_t>(rows_.stride) * x.columns /
                       static_cast<std::uint64_t>(columns_.stride);
        slab.channel = first_filter_;
        slab.channels = filters_;
        return slab;
    }
    /// Pixels of a block that are counted: the last row ends with its last pixel.
    std::uint64_t pixels_of(const Block& block) const {
        const Slab slab = dy_slab(block);
        return (block.items - 1) * slab.rows * slab.columns + (block.rows - 1) * slab.columns +
               columns_.results;
    }

    void plan() {
        const std::uint64_t height = rows_.results;
        Block block;
        for (std::uint64_t rows = height * x_.batch;; rows = std::max<std::uint64_t>(1, rows / 2)) {
            block.items = std::min(x_.batch, std::max<std::uint64_t>(1, rows / height));
            block.rows = block.items > 1 ? height : std::min(height, rows);
            const std::uint64_t bytes = x_slab(block).elements() * bytes_of(x_.type) +
                                        2 * dy_slab(block).elements() * bytes_of(dy_.type);
            const bool small = pixels_of(block) <= 4096 && bytes <= target().vmem_bytes / 4;
            if (small || (rows == 1 && bytes <= target().vmem_bytes / 3)) break;
            if (rows == 1) throw Unsupported{"the rows of an image do not fit on-chip memory"};
        }
        largest_ = block;
        blocks_.clear();
        for (std::uint64_t item = 0; item < x_.batch; item += block.items) {
            const std::uint64_t items = std::min(block.items, x_.batch - item);
            for (std::uint64_t row = 0; row < height; row += block.rows)
                blocks_.push_back({item, items, row, std::min(block.rows, height - row)});
        }
        plan_pieces();
    }

    void plan_pieces() {
        pieces_.clear();
        piece_filters_ = std::min<std::uint64_t>(filters_, target().accumulator_rows);
        for (std::uint64_t filter = 0; filter < filters_; filter += piece_filters_) {
            for (std::size_t tap = 0; tap < rows_.taps.size(); ++tap) {
                for (const Run& run : runs_of(columns_)) {
                    const std::uint64_t length = run.taps * channels_;
                    for (std::uint64_t part = 0; part < length; part += target().array_columns)
                        pieces_.push_back({filter, std::min(piece_filters_, filters_ - filter), tap, run,
                                           part,
                                           std::min<std::uint64_t>(target().array_columns, length - part)});
                }
            }
        }
    }

    void emit(unsigned index) {
        CoreBuilder& core = program_.core(index);
        const Range pieces = part_of(pieces_.size(), program_.cores(), index);
        if (pieces.size() == 0 && !(bias_ && index == 0)) return;
        SlabRing x_ring(program_, core, x_.type, x_slab(largest_).elements(), 2, 0);
        SlabRing dy_ring(program_, core, dy_.type, dy_slab(largest_).elements(), 2, 0);
        TileRing turned(core, dy_.type, dy_slab(largest_).elements(), 2);
        const std::uint64_t result = piece_filters_ * target().array_columns;
        std::vector<TileRing> popped;
        for (unsigned unit = 0; unit < target().matrix_units_per_core; ++unit)
            popped.emplace_back(core, dw_.type, result, 2);
        Tile sums;
        const bool sums_here = bias_ && index == 0;
        if (sums_here) {
            sums = core.new_tile(ElementType::fp32, 1, filters_);
            core.vector(zero_, 1, filters_, {}, {sums});
        }
        const unsigned units = target().matrix_units_per_core;
        const std::uint64_t at_once =
            std::max<std::uint64_t>(1, target().accumulator_rows / piece_filters_) * units;
        const std::uint64_t rounds = std::max<std::uint64_t>(1, divide_up(pieces.size(), at_once));
        std::vector<Tile> x_tiles(rounds * blocks_.size()), dy_tiles(x_tiles.size());
        pipeline(
            x_tiles.size(), 1,
            [&](std::size_t step) {
                const Block& block = blocks_[step % blocks_.size()];
                x_tiles[step] = x_ring.load(core, x_, x_slab(block));
                dy_tiles[step] = dy_ring.load(core, dy_, dy_slab(block));
            },
            [&](std::size_t step) {
                const Block& block = blocks_[step % blocks_.size()];
                const std::uint64_t round = step / blocks_.size(), pixels = pixels_of(block);
                if (sums_here && round == 0) core.vector(sum_, pixels, filters_, {dy_tiles[step]}, {sums});
                const Range now{pieces.begin + round * at_once,
                                std::min(pieces.end, pieces.begin + (round + 1) * at_once)};
                if (now.begin >= now.end) return;
                Tile dy = turned.next(pixels);
                core.transpose(dy_tiles[step], dy, pixels, filters_);
                multiply(core, block, now, x_tiles[step], dy, step % blocks_.size() == 0);
                if ((step + 1) % blocks_.size() == 0) finish(core, now, popped);
            });
        if (!sums_here) return;
        const Tile rounded = core.new_tile(bias_->type, 1, filters_);
        core.vector(copy_, 1, filters_, {sums}, {rounded});
        store(core, rounded,
              {bias_->address + first_filter_ * bytes_of(bias_->type), 1, filters_,
               static_cast<std::int64_t>(filters_), 1});
    }

    void multiply(CoreBuilder& core, const Block& block, const Range& pieces, const Tile& x, const Tile& dy,
                  bool first_block) const {
        const Slab slab = x_slab(block);
        const std::uint64_t pixels = pixels_of(block), size = bytes_of(x_.type);
        const unsigned units = target().matrix_units_per_core;
        for (std::uint64_t pixel = 0; pixel < pixels; pixel += target().array_rows) {
            const std::uint64_t deep = std::min<std::uint64_t>(target().array_rows, pixels - pixel);
            for (std::size_t pass = 0; pass < passes_.size(); ++pass) {
                for (std::uint64_t i = pieces.begin; i < pieces.end; ++i) {
                    const Piece& piece = pieces_[i];
                    const auto unit = static_cast<unsigned>((i - pieces.begin) % units);
                    const std::uint64_t accumulator = (i - pieces.begin) / units * piece_filters_;
                    Tile weights = x;
                    const std::int64_t down = rows_.taps[piece.row_tap].offset +
                                              static_cast<std::int64_t>(block.row) * rows_.stride;
                    weights.address +=
                        (slab.at(0, down, columns_.taps[piece.run.tap].offset) +
                         pixel * static_cast<std::uint64_t>(columns_.stride) * channels_ + piece.part) *
                        size;
                    weights.row_stride *= static_cast<std::uint64_t>(columns_.stride);
                    core.push(unit, weights, deep, piece.columns, false, passes_[pass].second);
                    core.matmul(unit, dy.at(piece.filter, pixel), piece.filters, deep, piece.columns,
                                accumulator, !(first_block && pixel == 0 && pass == 0), passes_[pass].first);
                }
            }
        }
    }

    void finish(CoreBuilder& core, const Range& pieces, std::vector<TileRing>& popped) const {
        const unsigned units = target().matrix_units_per_core;
        for (std::uint64_t i = pieces.begin; i < pieces.end; ++i) {
            const Piece& piece = pieces_[i];
            const auto unit = static_cast<unsigned>((i - pieces.begin) % units);
            const Tile tile = popped[unit].next(piece.columns);
            core.pop(unit, tile, piece.filters, piece.columns, (i - pieces.begin) / units * piece_filters_);
            const std::uint64_t place = dw_.at(first_filter_ + piece.filter, rows_.taps[piece.row_tap].window,
                                               columns_.taps[piece.run.tap].window, 0) +
                                        piece.part * bytes_of(dw_.type);
            store(core, tile,
                  {place, piece.filters, piece.columns, static_cast<std::int64_t>(dw_.image_stride), 1});
        }
    }

    ProgramBuilder& program_;
    Plane plane_;
    Image x_, dy_, dw_;
    std::optional<HbmView> bias_;
    SlidingAxis rows_, columns_;
    std::vector<std::pair<tpu::Bf16Part, tpu::Bf16Part>> passes_;
    std::shared_ptr<const tpu::VectorKernel> sum_, zero_, copy_;
    std::uint64_t first_channel_ = 0, first_filter_ = 0, channels_ = 0, filters_ = 0, piece_filters_ = 0;
    Block largest_;
    std::vector<Block> blocks_;
    std::vector<Piece> pieces_;
};

}  // namespace

void lower_convolution_weight_grad(ProgramBuilder& program, const TpuLoweringOptions& options) {
    const trace::ConvolutionSizes sizes = trace::convolution_sizes(program.trace(), program.op());
    const Plane plane(sizes.space);
    bool copied = false;
    const Image dy = input_image(program, 0, sizes.channels_last, copied);
    const Image x = input_image(program, 1, sizes.channels_last, copied);
    const Image dw = output_image(program, 0, sizes.channels_last);
    if (copied) program.meet();
    std::optional<HbmView> bias;
    if (program.op().outputs.size() > 1) bias = program.dense_output(1);
    WeightGradient gradient(program, options, plane, x, dy, dw, bias);
    for (std::int64_t group = 0; group < sizes.groups; ++group)
        gradient.run(static_cast<std::uint64_t>(group), static_cast<std::uint64_t>(sizes.group_channels()),
                     static_cast<std::uint64_t>(sizes.group_filters()));
    finish_output(program, 0, sizes.channels_last, dw);
}

}  // namespace heddle::lowering::on_tpu
