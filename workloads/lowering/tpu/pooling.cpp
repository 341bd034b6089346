#include "workloads/lowering/tpu/pooling.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "workloads/lowering/tpu/image.h"

namespace heddle::lowering::on_tpu {
namespace {

using tpu::ElementType;
using tpu::VectorOp;

/// Taps that one kernel reads; more take turns.
constexpr std::size_t kMostTaps = 8;

/// One image, some of its channels: what a core works on at a time.
struct Piece {
    std::uint64_t item = 0, channel = 0, channels = 0;
};

class Pooling {
  public:
    explicit Pooling(ProgramBuilder& program)
        : program_(program),
          sizes_(trace::pooling_sizes(program.trace(), program.op())),
          plane_(sizes_.space),
          rows_(plane_.forward(0)),
          columns_(plane_.forward(1)) {}

    void forward() {
        bool copied = false;
        const Image x = input_image(program_, 0, sizes_.channels_last, copied);
        const Image y = output_image(program_, 0, sizes_.channels_last);
        const bool positions = program_.op().outputs.size() > 1;
        const Image where = positions ? output_image(program_, 1, sizes_.channels_last) : Image{};
        if (copied) program_.meet();
        const std::uint64_t results = rows_.results * columns_.results;
        const std::uint64_t bytes =
            slab().elements() * 2 * bytes_of(x.type) + results * (2 * 4 + bytes_of(y.type) + 4);
        for_each_piece(
            bytes, [&](CoreBuilder& core, const std::vector<Piece>& pieces, std::uint64_t channels) {
                SlabRing slabs(program_, core, x.type, slab().elements() * channels, 2, border());
                TileRing best(core, ElementType::fp32, results * channels, 1),
                    found(core, ElementType::fp32, results * channels, 1);
                TileRing out(core, y.type, results * channels, 1),
                    index(core, ElementType::int32, results * channels, 1);
                std::vector<Tile> tiles(pieces.size());
                pipeline(
                    pieces.size(), 1,
                    [&](std::size_t step) { tiles[step] = slabs.load(core, x, slab(pieces[step])); },
                    [&](std::size_t step) {
                        const Piece& piece = pieces[step];
                        const Tile value = best.next(piece.channels), place = found.next(piece.channels);
                        extreme(core, piece, tiles[step], value, place, positions);
                        if (!sizes_.maximum) scale(core, piece, value);
                        const Tile rounded = out.next(piece.channels);
                        convert(core, value, rounded, results, piece.channels);
                        put(core, rounded, y, piece);
                        if (!positions) return;
                        const Tile whole = index.next(piece.channels);
                        convert(core, place, whole, results, piece.channels);
                        put(core, whole, where, piece);
                    });
            });
        finish_output(program_, 0, sizes_.channels_last, y);
        if (positions) finish_output(program_, 1, sizes_.channels_last, where);
    }

    void backward() {
        bool copied = false;
        const Image dy = input_image(program_, 0, sizes_.channels_last, copied);
        const bool known = program_.op().inputs.size() > 2;
        const std::size_t second = known ? 2 : 1;
        const Image x =
            sizes_.maximum ? input_image(program_, second, sizes_.channels_last, copied) : Image{};
        const Image dx = output_image(program_, 0, sizes_.channels_last);
        if (copied) program_.meet();
        const std::uint64_t results = rows_.results * columns_.results;
        const std::uint64_t bytes =
            slab().elements() * (4 + 4 + 4 + bytes_of(dx.type)) + results * (4 * 4 + 8);
        for_each_piece(bytes, [&](CoreBuilder& core, const std::vector<Piece>& pieces,
                                  std::uint64_t channels) {
            SlabRing x_slabs(program_, core, x.type, (known ? results : slab().elements()) * channels, 1,
                             border());
            SlabRing dy_slabs(program_, core, dy.type, results * channels, 2, 0);
            TileRing sums(core, ElementType::fp32, slab().elements() * channels, 1),
                out(core, dx.type, slab().elements() * channels, 1);
            TileRing best(core, ElementType::fp32, results * channels, 1),
                found(core, ElementType::fp32, results * channels, 1);
            for (const Piece& piece : pieces) {
                const Tile gradient = dy_slabs.load(core, dy, result_slab(piece));
                const Tile place = found.next(piece.channels);
                if (sizes_.maximum && known) {
                    convert(core, x_slabs.load(core, x, result_slab(piece)), place, results, piece.channels);
                } else if (sizes_.maximum) {
                    extreme(core, piece, x_slabs.load(core, x, slab(piece)), best.next(piece.channels), place,
                            true);
                }
                const Tile sum = sums.next(piece.channels);
                const std::uint64_t pixels = slab().elements();
                core.vector(
                    kernel("zero", {}, [](KernelBuilder& b) { b.output(b.constant(0), ElementType::fp32); }),
                    pixels, piece.channels, {}, {sum});
                spread(core, piece, gradient, place, sum);
                const Tile rounded = out.next(piece.channels);
                convert(core, sum, rounded, pixels, piece.channels);
                put_inside(core, rounded, dx, piece);
            }
        });
        finish_output(program_, 0, sizes_.channels_last, dx);
    }

  private:
    float border() const { return sizes_.maximum ? -std::numeric_limits<float>::infinity() : 0; }

    /// The window's view of an image; one channel unless a piece says otherwise.
    Slab slab(const Piece& piece = {0, 0, 1}) const {
        Slab slab;
        slab.item = piece.item;
        slab.first_row = rows_.begin(0);
        slab.rows = static_cast<std::uint64_t>(rows_.end(rows_.results) - slab.first_row);
        slab.first_column = columns_.begin(0);
        slab.columns = static_cast<std::uint64_t>(columns_.end(columns_.results) - slab.first_column);
        // What no window reaches still has a gradient: none.
        slab.rows = std::max(slab.rows, static_cast<std::uint64_t>(plane_.input[0] - slab.first_row));
        slab.columns =
            std::max(slab.columns, static_cast<std::uint64_t>(plane_.input[1] - slab.first_column));
        slab.channel = piece.channel;
        slab.channels = piece.channels;
        return slab;
    }
    Slab result_slab(const Piece& piece) const {
        Slab slab;
        slab.item = piece.item;
        slab.rows = rows_.results;
        slab.columns = columns_.results;
        slab.channel = piece.channel;
        slab.channels = piece.channels;
        return slab;
    }

    /// `bytes`: of VMEM for each channel of an image.
    template <class Work>
    void for_each_piece(std::uint64_t bytes, Work work) {
        const auto all = static_cast<std::uint64_t>(sizes_.channels);
        std::uint64_t channels = all;
        const std::uint64_t room = program_.target().vmem_bytes * 8 / 10;
        while (channels > 1 && channels * bytes > room) channels = divide_up(channels, 2);
        if (channels * bytes > room) throw Unsupported{"an image does not fit on-chip memory"};
        std::vector<Piece> pieces;
        for (std::uint64_t item = 0; item < static_cast<std::uint64_t>(sizes_.batch); ++item)
            for (std::uint64_t channel = 0; channel < all; channel += channels)
                pieces.push_back({item, channel, std::min(channels, all - channel)});
        for (unsigned index = 0; index < program_.cores(); ++index) {
            CoreBuilder& core = program_.core(index);
            core.start_over();
            const Range range = part_of(pieces.size(), program_.cores(), index);
            if (range.size() == 0) continue;
            work(core,
                 std::vector<Piece>(pieces.begin() + static_cast<std::ptrdiff_t>(range.begin),
                                    pieces.begin() + static_cast<std::ptrdiff_t>(range.end)),
                 channels);
        }
    }

    template <class Build>
    std::shared_ptr<const tpu::VectorKernel> kernel(const std::string& name,
                                                    const std::vector<ElementType>& types, Build build) {
        std::string key = name;
        for (const ElementType type : types) key += " " + std::string(tpu::name_of(type));
        auto& known = kernels_[key];
        if (!known) {
            KernelBuilder builder;
            build(builder);
            known = program_.kernel(builder.finish(), types);
        }
        return known;
    }

    void convert(CoreBuilder& core, const Tile& from, const Tile& to, std::uint64_t rows,
                 std::uint64_t columns) {
        core.vector(kernel("to " + std::string(tpu::name_of(to.type)), {from.type},
                           [&](KernelBuilder& b) { b.output(b.input(from.type), to.type); }),
                    rows, columns, {from}, {to});
    }

    /// The pixels under a tap for a row of results.
    Tile under(const Tile& slab_tile, const Piece& piece, std::uint64_t row, const Tap& down,
               const Tap& across) const {
        Tile tile = slab_tile;
        tile.address +=
            slab(piece).at(0, static_cast<std::int64_t>(row) * rows_.stride + down.offset, across.offset) *
            bytes_of(tile.type);
        tile.row_stride = static_cast<std::uint64_t>(columns_.stride) * piece.channels * bytes_of(tile.type);
        return tile;
    }
    Tile row_of(const Tile& tile, std::uint64_t row) const { return tile.at(row * columns_.results, 0); }

    /// Number of the pixel under a tap for the first result of a row, in its plane.
    float pixel(std::uint64_t row, const Tap& down, const Tap& across) const {
        const std::int64_t y = static_cast<std::int64_t>(row) * rows_.stride + down.offset;
        return static_cast<float>(y * plane_.input[1] + across.offset);
    }

    std::vector<std::pair<Tap, Tap>> taps() const {
        std::vector<std::pair<Tap, Tap>> all;
        for (const Tap& down : rows_.taps)
            for (const Tap& across : columns_.taps) all.emplace_back(down, across);
        return all;
    }

    /// Sums or maxima of every window, and the pixels where the maxima are.
    void extreme(CoreBuilder& core, const Piece& piece, const Tile& x, const Tile& value, const Tile& place,
                 bool positions) {
        const auto all = taps();
        for (std::uint64_t row = 0; row < rows_.results; ++row) {
            for (std::size_t first = 0; first < all.size(); first += kMostTaps) {
                const std::size_t count = std::min(kMostTaps, all.size() - first);
                std::vector<Tile> inputs;
                std::vector<float> numbers;
                for (std::size_t i = first; i < first + count; ++i) {
                    inputs.push_back(under(x, piece, row, all[i].first, all[i].second));
                    if (positions) numbers.push_back(pixel(row, all[i].first, all[i].second));
                }
                std::vector<Tile> outputs{row_of(value, row)};
                if (positions) outputs.push_back(row_of(place, row));
                if (first > 0) inputs.insert(inputs.end(), outputs.begin(), outputs.end());
                core.vector(window_kernel(count, x.type, first > 0, positions), columns_.results,
                            piece.channels, inputs, outputs, numbers);
            }
        }
    }

    std::shared_ptr<const tpu::VectorKernel> window_kernel(std::size_t count, ElementType type, bool more,
                                                           bool positions) {
        std::vector<ElementType> types(count, type);
        if (more) types.insert(types.end(), positions ? 2 : 1, ElementType::fp32);
        const std::string name =
            "window of " + std::to_string(count) + (more ? " more" : "") + (positions ? " at" : "");
        return kernel(name, types, [&](KernelBuilder& b) {
            std::vector<KernelBuilder::Node> x;
            for (std::size_t i = 0; i < count; ++i) x.push_back(b.input(type));
            KernelBuilder::Node best = 0, where = 0, along = 0;
            if (positions)
                along = b.apply(VectorOp::integer_to_float,
                                b.apply(VectorOp::integer_multiply, b.row_index(),
                                        b.integer(static_cast<std::int32_t>(columns_.stride))));
            const auto at = [&] { return b.apply(VectorOp::add, along, b.scalar()); };
            std::size_t next = 0;
            if (more) {
                best = b.input(ElementType::fp32);
                if (positions) where = b.input(ElementType::fp32);
            } else {
                best = x[next++];
                if (positions) where = at();
            }
            for (; next < count; ++next) {
                if (positions) {
                    const auto larger = b.apply(VectorOp::greater, x[next], best);
                    where = b.apply(VectorOp::select, larger, at(), where);
                }
                best = b.apply(sizes_.maximum ? VectorOp::maximum : VectorOp::add, best, x[next]);
            }
            b.output(best, ElementType::fp32);
            if (positions) b.output(where, ElementType::fp32);
        });
    }

    /// How many of a window's positions count for result `at` of an axis.
    double counted(std::size_t axis, std::uint64_t at) const {
        const SlidingAxis& along = axis == 0 ? rows_ : columns_;
        const std::size_t given = sizes_.space.axes();
        const std::int64_t high = axis + given >= 2 ? sizes_.space.padding_high[axis + given - 2] : 0;
        const std::int64_t low = sizes_.padding_counts ? -plane_.padding[axis] : 0;
        const std::int64_t end = plane_.input[axis] + (sizes_.padding_counts ? high : 0);
        double count = 0;
        for (const Tap& tap : along.taps) {
            const std::int64_t place = static_cast<std::int64_t>(at) * along.stride + tap.offset;
            count += place >= low && place < end ? 1 : 0;
        }
        return count;
    }

    /// Calls visit(first, count, factor) for results of a row with the same divisor.
    template <class Visit>
    void for_each_factor(std::uint64_t row, Visit visit) const {
        for (std::uint64_t first = 0; first < columns_.results;) {
            std::uint64_t end = first + 1;
            while (end < columns_.results && counted(1, end) == counted(1, first)) ++end;
            visit(first, end - first, static_cast<float>(1 / (counted(0, row) * counted(1, first))));
            first = end;
        }
    }

    void scale(CoreBuilder& core, const Piece& piece, const Tile& value) {
        const auto times = kernel("times", {ElementType::fp32}, [](KernelBuilder& b) {
            b.output(b.apply(VectorOp::multiply, b.input(ElementType::fp32), b.scalar()), ElementType::fp32);
        });
        for (std::uint64_t row = 0; row < rows_.results; ++row) {
            for_each_factor(row, [&](std::uint64_t first, std::uint64_t count, float factor) {
                const Tile part = row_of(value, row).at(first, 0);
                core.vector(times, count, piece.channels, {part}, {part}, {factor});
            });
        }
    }

    /// Every result's gradient to the pixels that it came from.
    void spread(CoreBuilder& core, const Piece& piece, const Tile& gradient, const Tile& place,
                const Tile& sum) {
        const auto where = [&] {
            return kernel("where", {gradient.type, ElementType::fp32}, [&](KernelBuilder& b) {
                const auto dy = b.input(gradient.type), at = b.input(ElementType::fp32);
                const auto along = b.apply(VectorOp::integer_to_float,
                                           b.apply(VectorOp::integer_multiply, b.row_index(),
                                                   b.integer(static_cast<std::int32_t>(columns_.stride))));
                const auto here = b.apply(VectorOp::equal, at, b.apply(VectorOp::add, along, b.scalar()));
                b.accumulate(b.apply(VectorOp::select, here, dy, b.constant(0)));
            });
        };
        const auto share = [&] {
            return kernel("share", {gradient.type}, [&](KernelBuilder& b) {
                b.accumulate(b.apply(VectorOp::multiply, b.input(gradient.type), b.scalar()));
            });
        };
        for (std::uint64_t row = 0; row < rows_.results; ++row) {
            for (const auto& [down, across] : taps()) {
                const Tile to = under(sum, piece, row, down, across);
                if (sizes_.maximum) {
                    core.vector(where(), columns_.results, piece.channels,
                                {row_of(gradient, row), row_of(place, row)}, {to},
                                {pixel(row, down, across)});
                    continue;
                }
                for_each_factor(row, [&](std::uint64_t first, std::uint64_t count, float factor) {
                    core.vector(share(), count, piece.channels, {row_of(gradient, row).at(first, 0)},
                                {to.at(first, 0)}, {factor});
                });
            }
        }
    }

    /// Results, dense in VMEM, to their image.
    void put(CoreBuilder& core, const Tile& tile, const Image& image, const Piece& piece) const {
        store(core, tile,
              {image.at(piece.item, 0, 0, piece.channel), rows_.results * columns_.results, piece.channels,
               static_cast<std::int64_t>(image.pixel_stride), 1});
    }
    /// The inside of a slab to its image.
    void put_inside(CoreBuilder& core, const Tile& tile, const Image& image, const Piece& piece) const {
        const Slab from = slab(piece);
        for (std::uint64_t row = 0; row < image.height; ++row) {
            Tile line = tile;
            line.address += from.at(0, static_cast<std::int64_t>(row), 0) * bytes_of(tile.type);
            store(core, line,
                  {image.at(piece.item, row, 0, piece.channel), image.width, piece.channels,
                   static_cast<std::int64_t>(image.pixel_stride), 1});
        }
    }

    ProgramBuilder& program_;
    trace::PoolingSizes sizes_;
    Plane plane_;
    SlidingAxis rows_, columns_;
    std::map<std::string, std::shared_ptr<const tpu::VectorKernel>> kernels_;
};

}  // namespace

void lower_pooling(ProgramBuilder& program) {
    Pooling(program).forward();
}

void lower_pooling_grad(ProgramBuilder& program) {
    Pooling(program).backward();
}

}  // namespace heddle::lowering::on_tpu
