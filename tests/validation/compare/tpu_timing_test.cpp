// The TPU models against published figures: every bar of `heddle validate tpu`, and the rebuilt applications
// against the paper's own description of them.
#include "sim/tpu/tpu_machine.h"
#include "validation/compare/tpu_timing.h"

#include <catch2/catch.hpp>
#include <cstdlib>

#include "models/tpu/tpu.h"
#include "sim/hardware/load_hardware.h"
#include "validation/compare/tpu_v1_applications.h"
#include "validation/compare/tpu_v1_convolutions.h"

using namespace heddle;
using namespace heddle::validation;

TEST_CASE("TPU v1's applications are those of the paper's table 1") {
    struct Published {
        const char* name;
        double weights, per_weight;  ///< millions; multiply-adds per byte of weights
        unsigned matrix_layers, vector_layers;
    };
    const Published table[] = {{"MLP0", 20, 200, 5, 0},   {"MLP1", 5, 168, 4, 0},
                               {"LSTM0", 52, 64, 24, 34}, {"LSTM1", 34, 96, 37, 19},
                               {"CNN0", 8, 2888, 16, 0},  {"CNN1", 100, 1750, 76, 13}};
    REQUIRE(tpu_v1::applications().size() == 6);
    for (std::size_t i = 0; i < 6; ++i) {
        const tpu_v1::Application& app = tpu_v1::applications()[i];
        INFO(app.name);
        CHECK(app.name == table[i].name);
        CHECK(app.weights() / 1e6 == Approx(table[i].weights).epsilon(0.05));
        CHECK(app.multiplications() / app.weights() == Approx(table[i].per_weight).epsilon(0.05));
        unsigned matrix = 0, vector = 0;
        for (std::size_t group = 0; group < app.groups.size(); ++group) {
            for (const tpu_v1::Layer& layer : app.groups[group]) {
                (layer.kind == tpu_v1::Layer::Kind::matrix ? matrix : vector) +=
                    layer.times * app.repeats[group];
            }
        }
        CHECK(matrix == table[i].matrix_layers);
        CHECK(vector == table[i].vector_layers);
        // Active, stall, shift and the rest are all there is.
        const tpu_v1::Breakdown& p = app.published;
        CHECK(p.active + p.weight_stall + p.weight_shift + p.non_matrix == Approx(100).margin(0.15));
    }
}

TEST_CASE("the bars of the TPU models hold") {
    const char* const given = std::getenv("HEDDLE_DATA");
    const std::string data = given != nullptr ? given : HEDDLE_SOURCE_DIR "/../shared/data";
    CompareOptions options;
    options.workers = 2;
    const std::vector<Comparison> comparisons = compare_tpu_timing(data, options);
    REQUIRE(comparisons.size() >= 4);
    std::size_t bars = 0;
    for (const Comparison& comparison : comparisons) {
        for (const Bar& bar : comparison.bars) {
            INFO(comparison.title << ": " << bar.text << ", reached " << bar.reached);
            CHECK(bar.holds());
            ++bars;
        }
    }
    CHECK(bars >= 5);
}

TEST_CASE("CNN0 and CNN1 as convolution ops multiply what table 1 says, and near their published shares") {
    // Millions of weights, multiply-adds for each, layers.
    const double weights[] = {8, 100}, each[] = {2888, 1750};
    const unsigned layers[] = {16, 76};
    REQUIRE(tpu_v1::convolution_nets().size() == 2);
    for (std::size_t i = 0; i < 2; ++i) {
        const tpu_v1::ConvolutionNet& net = tpu_v1::convolution_nets()[i];
        INFO(net.name);
        CHECK(net.weights() / 1e6 == Approx(weights[i]).epsilon(0.05));
        CHECK(net.multiplications() / net.weights() == Approx(each[i]).epsilon(0.05));
        unsigned count = 0;
        for (const tpu_v1::ConvolutionLayer& layer : net.layers) count += layer.times;
        CHECK(count == layers[i]);
    }
    CompareOptions options;
    options.workers = 2;
    const Comparison comparison = tpu_v1::compare_convolutions(options);
    REQUIRE(comparison.rows.size() == 14);
    // Useful share x 65,536 cells x 700 MHz is the rate; active, stall, shift and the rest are all there is.
    for (std::size_t net = 0; net < 2; ++net) {
        const auto value = [&](std::size_t i) { return *comparison.rows[7 * net + i].simulated; };
        CHECK(value(1) / 100 * 2 * 65536 * 700e6 / 1e12 == Approx(value(6)).epsilon(1e-6));
        CHECK(value(0) == Approx(value(1) + value(2)).epsilon(1e-9));
        CHECK(value(0) + value(3) + value(4) + value(5) == Approx(100).epsilon(1e-9));
    }
}

TEST_CASE("all time of TPU v1's matrix unit is accounted for") {
    models::Tpu tpu("tpu", sim::tpu_config(sim::load_hardware("tpu-v1")));
    tpu::Memory memory;
    const tpu_v1::Application& mlp = tpu_v1::applications()[1];
    const models::TpuResult result = tpu.run(program_of(mlp, tpu.config(), memory), memory);
    const models::MatrixBreakdown& where = result.where;
    CHECK(where.active + where.weight_stall + where.weight_shift + where.non_matrix ==
          Approx(1).epsilon(1e-12));
    CHECK(where.useful + where.unused == Approx(where.active).epsilon(1e-12));
    CHECK(where.useful * static_cast<double>(result.cycles) * 65536 == Approx(mlp.multiplications()));
    CHECK(result.host_bytes == mlp.input_bytes + mlp.output_bytes);
    for (const models::TpuCoreResult& core : result.cores) {
        const auto sum = [](const models::UnitTimes& times) {
            std::uint64_t total = 0;
            for (const std::uint64_t cycles : times) total += cycles;
            return total;
        };
        CHECK(sum(core.matrix.at(0).times) == result.cycles);
        CHECK(sum(core.vector.times) == result.cycles);
        CHECK(sum(core.sequencer.times) == result.cycles);
        CHECK(sum(core.dma.load_times) == result.cycles);
        CHECK(sum(core.dma.store_times) == result.cycles);
    }
}
