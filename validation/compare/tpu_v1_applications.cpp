#include "validation/compare/tpu_v1_applications.h"

#include <algorithm>

#include "workloads/lowering/tpu/core_builder.h"
#include "workloads/lowering/tpu/tile_transfer.h"

namespace heddle::validation::tpu_v1 {
namespace {

using lowering::on_tpu::CoreBuilder;
using lowering::on_tpu::Tile;
using lowering::on_tpu::TileRing;
using tpu::ElementType;

Layer matrix(MatrixLayer layer, std::uint32_t times = 1) {
    Layer result;
    result.matrix = layer;
    result.times = times;
    return result;
}
Layer vector(VectorLayer layer, std::uint32_t times = 1) {
    Layer result;
    result.kind = Layer::Kind::vector;
    result.vector = layer;
    result.times = times;
    return result;
}

Application mlp0() {
    Application app;
    app.name = "MLP0";
    app.assumption =
        "5 layers of 2032 x 2032 (20.6 M weights; the unused 2 % of the array say that layers nearly fill "
        "tiles)";
    app.batch = 200;
    app.groups = {{matrix({200, 2032, 2032}, 5)}};
    app.repeats = {1};
    app.input_bytes = app.output_bytes = 200 * 2032;
    app.published = {12.7, 12.5, 0.3, 53.9, 15.9, 17.5};
    app.published_tops = 12.3;
    return app;
}

Application mlp1() {
    Application app;
    app.name = "MLP1";
    app.assumption = "layers 1216 - 960 - 1416 - 960 - 1216 (5.1 M weights in 88 tiles, 88 % of them used)";
    app.batch = 168;
    app.groups = {{matrix({168, 1216, 960}), matrix({168, 960, 1416}), matrix({168, 1416, 960}),
                   matrix({168, 960, 1216})}};
    app.repeats = {1};
    app.input_bytes = app.output_bytes = 168 * 1216;
    app.published = {10.6, 9.4, 1.2, 44.2, 13.4, 31.9};
    app.published_tops = 9.7;
    return app;
}

Application lstm0() {
    Application app;
    app.name = "LSTM0";
    app.assumption =
        "24 matrices of 768 x 2816 (four gates of 704; 51.9 M weights, whole tiles), activations of 16 bits, "
        "34 "
        "elementwise layers over the gates; a layer's weights are asked for when the one before is done (the "
        "counters say that nearly every shift stalls)";
    app.batch = 64;
    const VectorLayer gates{64, 2816, 1, true};
    app.groups = {{matrix({64, 768, 2816, 1, 1, true}), vector(gates)},
                  {matrix({64, 768, 2816, 1, 1, true}), vector(gates), vector(gates)}};
    app.repeats = {14, 10};
    app.input_bytes = app.output_bytes = 64 * 768 * 2;
    app.prefetch = false;
    app.published = {8.2, 8.2, 0, 58.1, 15.8, 17.9};
    app.published_tops = 3.7;
    return app;
}

Application lstm1() {
    Application app;
    app.name = "LSTM1";
    app.assumption =
        "37 layers of four small gates, 18 of 300 x 768 and 19 of 280 x 820 (34.0 M weights in 1,040 tiles, "
        "half "
        "used: the shift and stall counters ask for as many), 25 of them with activations of 16 bits; "
        "weights "
        "asked for as in LSTM0";
    app.batch = 96;
    const Layer a = matrix({96, 300, 768, 4, 1, true}), b = matrix({96, 280, 820, 4, 1, true});
    const Layer narrow_a = matrix({96, 300, 768, 4}), narrow_b = matrix({96, 280, 820, 4});
    const Layer gates = vector({96, 820, 1, true});
    app.groups = {{a, b, narrow_a, b, gates, a, narrow_b, gates}, {b, gates}};
    app.repeats = {6, 1};
    app.groups[0].push_back(gates);
    app.input_bytes = app.output_bytes = 96 * 300 * 2;
    app.prefetch = false;
    app.published = {10.5, 6.3, 4.2, 62.1, 17.1, 10.3};
    app.published_tops = 2.8;
    return app;
}

Application cnn0() {
    Application app;
    app.name = "CNN0";
    app.assumption =
        "16 convolutions over boards of 19 x 19 (2,888 = 8 x 361 operations per weight), each 8 full tiles; "
        "all "
        "4,096 accumulators for one layer, so that it drains before the next begins";
    app.batch = 8;
    app.groups = {{matrix({2888, 2048, 256, 1, 1, false, 4096}, 16)}};
    app.repeats = {1};
    app.input_bytes = 8 * 361 * 48;
    app.output_bytes = 8 * 361;
    app.published = {78.2, 78.2, 0, 0, 0, 21.8};
    app.published_tops = 86.0;
    return app;
}

Application cnn1() {
    Application app;
    app.name = "CNN1";
    app.assumption =
        "12 early convolutions (27 x 27 positions, 3 x 3 taps of depth 128, 512 outputs), 60 late ones (2 x "
        "2 "
        "positions, taps of depth 96, 1,024 outputs), 13 poolings, 4 layers of 3200 x 3200 (101 M weights; "
        "half of "
        "the active array unused: shallow depths)";
    app.batch = 32;
    const std::uint32_t early = 27 * 27 * 32, late = 2 * 2 * 32;
    app.groups = {{matrix({early, 128, 512, 1, 9}), vector({early, 512, 2})},
                  {matrix({late, 96, 1024, 1, 9})},
                  {vector({late, 1024, 9})},
                  {matrix({32, 3200, 3200})}};
    app.repeats = {12, 60, 1, 4};
    app.input_bytes = 32ull * 224 * 224 * 3;
    app.output_bytes = 32 * 3200;
    app.published = {46.2, 22.5, 23.7, 28.1, 7.0, 18.7};
    app.published_tops = 14.1;
    return app;
}

std::uint32_t divide_up(std::uint32_t a, std::uint32_t b) {
    return (a + b - 1) / b;
}

/// The activation function: a rectifier stands for all of them; the pipeline takes the same time for each.
std::shared_ptr<const tpu::VectorKernel> rectifier() {
    using Op = tpu::VectorOp;
    auto kernel = std::make_shared<tpu::VectorKernel>();
    kernel->name = "activate";
    kernel->inputs = 1;
    kernel->nodes = {{Op::input, 0, 0, 0, 0, 0},
                     {Op::integer_to_float, 0, 0, 0, 0, 0},
                     {Op::constant, 0, 0, 0, 0, 0},
                     {Op::maximum, 1, 2, 0, 0, 0},
                     {Op::float_to_integer, 3, 0, 0, 0, 0}};
    kernel->outputs = {{4, tpu::Reduction::none, false}};
    return kernel;
}

class Builder {
  public:
    Builder(const Application& app, const models::TpuConfig& device, tpu::Memory& memory)
        : app_(app),
          device_(device),
          memory_(memory),
          core_(models::target_of(device), 0),
          tile_(std::uint64_t{device.matrix.rows} * device.matrix.columns),
          fifo_(core_, ElementType::int8, tile_, kWeightFifo) {}

    tpu::Program run() {
        weights_ = memory_.allocate("weights", tile_, false);
        input_ = memory_.allocate("host input", app_.input_bytes, false);
        output_ = memory_.allocate("host output", app_.output_bytes, false);
        make_rooms();
        // Read_Host_Memory.
        tpu::Dma load = host(tpu::DmaKind::load, input_, app_.input_bytes);
        load.vmem = static_cast<std::int64_t>(activations_[0].address);
        core_.dma(load, activations_[0].region);
        for (std::size_t group = 0; group < app_.groups.size(); ++group) {
            for (std::uint32_t turn = 0; turn < app_.repeats[group]; ++turn) {
                for (const Layer& layer : app_.groups[group]) {
                    for (std::uint32_t i = 0; i < layer.times; ++i) emit(layer);
                }
            }
        }
        // Write_Host_Memory.
        tpu::Dma store = host(tpu::DmaKind::store, output_, app_.output_bytes);
        store.vmem = static_cast<std::int64_t>(activations_[present_].address);
        core_.dma(store, activations_[present_].region);
        tpu::Program program;
        program.name = app_.name;
        program.cores.push_back(core_.finish());
        return program;
    }

  private:
    static constexpr std::size_t kWeightFifo = 4;  // tiles, ISCA 2017

    tpu::Dma host(tpu::DmaKind kind, std::uint64_t address, std::uint64_t bytes) const {
        tpu::Dma dma;
        dma.kind = kind;
        dma.host = true;
        dma.hbm = static_cast<std::int64_t>(address);
        dma.row_bytes = static_cast<std::uint32_t>(bytes);
        return dma;
    }

    /// Two rooms that layers read and write in turn, and two for results between accumulators and activation.
    void make_rooms() {
        std::uint64_t most = std::max(app_.input_bytes, app_.output_bytes);
        for (const auto& group : app_.groups) {
            for (const Layer& layer : group) {
                const MatrixLayer& m = layer.matrix;
                const VectorLayer& v = layer.vector;
                most =
                    std::max({most, std::uint64_t{m.rows} * std::max(m.depth, m.columns) * (m.wide ? 2 : 1),
                              std::uint64_t{v.rows} * v.columns * (v.wide ? 2 : 1)});
                popped_rows_ = std::max(popped_rows_, std::min(m.rows, m.rows_at_a_time));
            }
        }
        // Large layers stream through the buffer: what does not fit is held once.
        const std::uint64_t popped = std::uint64_t{popped_rows_} * device_.matrix.columns * 4;
        const std::uint64_t room = std::min(most, (core_.free_bytes() - 2 * popped) / 2 / 512 * 512);
        for (Tile& tile : activations_) {
            tile.type = ElementType::int8;
            tile.address = core_.allocate(room);
            tile.region = core_.new_region();
        }
        room_ = room;
        for (int i = 0; i < 2; ++i)
            popped_.push_back(core_.new_tile(ElementType::int32, popped_rows_, device_.matrix.columns));
    }

    void emit(const Layer& layer) {
        if (layer.kind == Layer::Kind::vector) return emit(layer.vector);
        emit(layer.matrix);
    }

    /// A view of rows x columns at the beginning of a room, cut to what the room holds.
    Tile view(std::size_t which, std::uint32_t rows, std::uint32_t columns, ElementType type) const {
        Tile tile = activations_[which];
        tile.type = type;
        const std::uint64_t size = bytes_of(type);
        tile.row_stride = std::min<std::uint64_t>(columns * size, room_ / rows / size * size);
        return tile;
    }

    void emit(const MatrixLayer& layer) {
        const std::uint32_t rows = device_.matrix.rows, columns = device_.matrix.columns;
        const ElementType type = layer.wide ? ElementType::int16 : ElementType::int8;
        const Tile from = activations_[present_], to = activations_[1 - present_];
        const std::uint32_t at_a_time = std::min(layer.rows_at_a_time, device_.matrix.accumulator_rows);
        const bool halves = 2 * at_a_time <= device_.matrix.accumulator_rows;
        // Sync: Read_Weights stand behind it.
        if (!app_.prefetch) core_.wait_for_all();
        for (std::uint32_t row = 0; row < layer.rows; row += at_a_time) {
            const std::uint32_t streamed = std::min(at_a_time, layer.rows - row);
            for (std::uint32_t matrix = 0; matrix < layer.matrices; ++matrix) {
                for (std::uint32_t column = 0; column < layer.columns; column += columns) {
                    const std::uint32_t wide = std::min(columns, layer.columns - column);
                    const std::uint64_t place = halves ? blocks_ % 2 * at_a_time : 0;
                    for (std::uint32_t k = 0; k < layer.taps * divide_up(layer.depth, rows); ++k) {
                        const std::uint32_t within = k % divide_up(layer.depth, rows) * rows;
                        const std::uint32_t deep = std::min(rows, layer.depth - within);
                        Tile weights = fifo_.load(core_, {weights_, 1, tile_, 0, 1});
                        weights.row_stride = columns;
                        core_.push(0, weights, deep, wide, false);
                        Tile activations = from;
                        activations.type = type;
                        activations.row_stride = std::min<std::uint64_t>(
                            std::uint64_t{layer.depth} * bytes_of(type), room_ / streamed / 2 * 2);
                        core_.matmul(0, activations, streamed, deep, wide, place, k > 0);
                    }
                    activate(streamed, wide, place, type, to);
                }
            }
        }
        present_ = 1 - present_;
    }

    /// Activate: accumulators, the activation function, Unified Buffer.
    void activate(std::uint32_t rows, std::uint32_t columns, std::uint64_t place, ElementType type, Tile to) {
        Tile popped = popped_[blocks_++ % 2];
        popped.row_stride = std::uint64_t{columns} * 4;
        core_.pop(0, popped, rows, columns, place);
        to.type = type;
        to.row_stride = std::uint64_t{columns} * bytes_of(type);
        core_.vector(activate_, rows, columns, {popped}, {to});
    }

    void emit(const VectorLayer& layer) {
        const ElementType type = layer.wide ? ElementType::int16 : ElementType::int8;
        const std::uint32_t rows = static_cast<std::uint32_t>(
            std::min<std::uint64_t>(layer.rows, room_ / (std::uint64_t{layer.columns} * bytes_of(type))));
        // Numbers of 16 bits take two passes.
        for (std::uint32_t pass = 0; pass < layer.passes * (layer.wide ? 2 : 1); ++pass) {
            for (std::uint32_t row = 0; row < layer.rows; row += rows) {
                const std::uint32_t some = std::min(rows, layer.rows - row);
                Tile from = view(present_, some, layer.columns, type),
                     to = view(1 - present_, some, layer.columns, type);
                core_.vector(activate_, some, layer.columns, {from}, {to});
            }
        }
        present_ = 1 - present_;
    }

    const Application& app_;
    const models::TpuConfig& device_;
    tpu::Memory& memory_;
    CoreBuilder core_;
    std::uint64_t tile_;
    TileRing fifo_;
    std::uint64_t weights_ = 0, input_ = 0, output_ = 0, room_ = 0;
    Tile activations_[2];
    std::vector<Tile> popped_;
    std::uint32_t popped_rows_ = 1;
    std::size_t present_ = 0, blocks_ = 0;
    std::shared_ptr<const tpu::VectorKernel> activate_ = rectifier();
};

template <class Visit>
void for_each_matrix(const Application& app, Visit visit) {
    for (std::size_t group = 0; group < app.groups.size(); ++group) {
        for (const Layer& layer : app.groups[group]) {
            if (layer.kind == Layer::Kind::matrix)
                visit(layer.matrix, double(layer.times) * app.repeats[group]);
        }
    }
}

}  // namespace

double Application::weights() const {
    double sum = 0;
    for_each_matrix(*this, [&](const MatrixLayer& m, double times) {
        sum += times * m.depth * m.columns * m.matrices * m.taps;
    });
    return sum;
}

double Application::multiplications() const {
    double sum = 0;
    for_each_matrix(*this, [&](const MatrixLayer& m, double times) {
        sum += times * m.depth * m.columns * m.matrices * m.taps * m.rows;
    });
    return sum;
}

const std::vector<Application>& applications() {
    static const std::vector<Application> all{mlp0(), mlp1(), lstm0(), lstm1(), cnn0(), cnn1()};
    return all;
}

tpu::Program program_of(const Application& application, const models::TpuConfig& device,
                        tpu::Memory& memory) {
    return Builder(application, device, memory).run();
}

}  // namespace heddle::validation::tpu_v1
