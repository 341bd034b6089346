// Softmax, cross-entropy, layer and RMS normalisation.
#include <catch2/catch.hpp>

#include "op_check.h"

using namespace heddle;
using namespace heddle::test;
using trace::ElementType;
using trace::OpKind;

TEST_CASE("softmax and its gradient") {
    models::Tpu tpu("tpu", small_tpu());
    OpCheck check;
    check.tolerance = 1e-6;
    for (const std::vector<std::int64_t>& shape :
         std::vector<std::vector<std::int64_t>>{{37, 301}, {3, 5, 7}, {1, 5000}, {400, 2}, {9, 1}}) {
        check_ops(tpu, OpBuilder(OpKind::softmax).input(shape).output(shape).done().trace, check);
        check_ops(tpu, OpBuilder(OpKind::softmax_grad).input(shape).input(shape).output(shape).done().trace,
                  check);
    }
    check.tolerance = 1.0 / 256;
    check_ops(tpu,
              OpBuilder(OpKind::softmax)
                  .input({33, 77}, ElementType::bf16)
                  .output({33, 77}, ElementType::bf16)
                  .done()
                  .trace,
              check);
}

TEST_CASE("cross-entropy and its gradient") {
    models::Tpu tpu("tpu", small_tpu());
    OpCheck check;
    check.tolerance = 2e-6;
    check.classes = 101;
    check_ops(tpu,
              OpBuilder(OpKind::softmax_cross_entropy)
                  .input({65, 101})
                  .input({65}, ElementType::i64)
                  .output({65})
                  .output({65, 101})
                  .done()
                  .trace,
              check);
    check_ops(tpu,
              OpBuilder(OpKind::softmax_cross_entropy)
                  .input({65, 101})
                  .input({65}, ElementType::i32)
                  .output({65})
                  .done()
                  .trace,
              check);
    check_ops(tpu,
              OpBuilder(OpKind::softmax_cross_entropy_grad)
                  .input({65, 101})
                  .input({65}, ElementType::i64)
                  .output({65, 101})
                  .with("scale", 1.0 / 65)
                  .done()
                  .trace,
              check);
    check_ops(tpu,
              OpBuilder(OpKind::softmax_cross_entropy_grad)
                  .input({65, 101})
                  .input({65}, ElementType::i64)
                  .input({65})
                  .output({65, 101})
                  .done()
                  .trace,
              check);
}

TEST_CASE("layer normalisation and its gradient") {
    models::Tpu tpu("tpu", small_tpu());
    OpCheck check;
    check.tolerance = 3e-6;
    for (const std::vector<std::int64_t>& shape :
         std::vector<std::vector<std::int64_t>>{{37, 301}, {3, 5, 64}, {1000, 33}, {2, 700}}) {
        const std::int64_t columns = shape.back();
        std::int64_t rows = 1;
        for (std::size_t i = 0; i + 1 < shape.size(); ++i) rows *= shape[i];
        check_ops(tpu,
                  OpBuilder(OpKind::layer_norm)
                      .input(shape)
                      .input({columns})
                      .input({columns})
                      .output(shape)
                      .output({rows})
                      .output({rows})
                      .done()
                      .trace,
                  check);
        check_ops(tpu,
                  OpBuilder(OpKind::layer_norm)
                      .input(shape)
                      .input({columns})
                      .input({columns})
                      .output(shape)
                      .done()
                      .trace,
                  check);
        check_ops(tpu,
                  OpBuilder(OpKind::layer_norm_grad)
                      .input(shape)
                      .input(shape)
                      .input({rows})
                      .input({rows})
                      .input({columns})
                      .output(shape)
                      .output({columns})
                      .output({columns})
                      .done()
                      .trace,
                  check);
    }
}

TEST_CASE("the logarithm of a softmax and its gradient") {
    models::Tpu tpu("tpu", small_tpu());
    OpCheck check;
    check.tolerance = 2e-6;
    for (const std::vector<std::int64_t>& shape :
         std::vector<std::vector<std::int64_t>>{{37, 301}, {400, 2}}) {
        check_ops(tpu,
                  OpBuilder(OpKind::softmax)
                      .input(shape)
                      .output(shape)
                      .with("logarithm", std::int64_t{1})
                      .done()
                      .trace,
                  check);
        check_ops(tpu,
                  OpBuilder(OpKind::softmax_grad)
                      .input(shape)
                      .input(shape)
                      .output(shape)
                      .with("logarithm", std::int64_t{1})
                      .done()
                      .trace,
                  check);
    }
}

TEST_CASE("a layer normalisation without gamma, and RMS normalisation with its gradient") {
    models::Tpu tpu("tpu", small_tpu());
    OpCheck check;
    check.tolerance = 3e-6;
    for (const std::vector<std::int64_t>& shape :
         std::vector<std::vector<std::int64_t>>{{37, 301}, {1000, 33}, {2, 700}}) {
        const std::int64_t rows = shape[0], columns = shape[1];
        check_ops(tpu, OpBuilder(OpKind::layer_norm).input(shape).output(shape).done().trace, check);
        check_ops(tpu,
                  OpBuilder(OpKind::rms_norm)
                      .input(shape)
                      .input({columns})
                      .output(shape)
                      .output({rows})
                      .with("epsilon", 1e-3)
                      .done()
                      .trace,
                  check);
        check_ops(tpu,
                  OpBuilder(OpKind::rms_norm_grad)
                      .input(shape)
                      .input(shape)
                      .input({rows})
                      .input({columns})
                      .output(shape)
                      .output({columns})
                      .done()
                      .trace,
                  check);
    }
}

TEST_CASE("parameter gradients of a layer normalisation in parts that add up") {
    models::Tpu tpu("tpu", small_tpu());
    OpCheck check;
    check.tolerance = 3e-6;
    for (const std::int64_t parts : {1, 2, 5}) {
        // The executor adds the parts up; nothing says which rows each part holds.
        OpBuilder builder(OpKind::layer_norm_grad);
        builder.input({300, 64}).input({300, 64}).input({300}).input({300}).input({64}).output({300, 64});
        builder.output({parts, 64}).output({parts, 64}).done();
        const target::TpuTarget target = target_of(tpu.config());
        const lowering::TensorPlacement placement(builder.trace, target);
        const lowering::LoweredOp lowered = lowering::lower(builder.trace, 0, target, placement);
        REQUIRE(lowered.supported);
        tpu::Memory memory;
        placement.allocate(memory, true, lowered.workspace_bytes);
        std::vector<std::vector<double>> values;
        for (const trace::TensorId id : builder.op.inputs) {
            std::vector<double> numbers(static_cast<std::size_t>(builder.trace.tensor(id).elements()));
            for (std::size_t i = 0; i < numbers.size(); ++i) {
                numbers[i] = static_cast<double>((i * 37 + id * 11) % 64) / 64 - 0.5;
            }
            placement.write(memory, builder.trace, id, numbers);
            values.push_back(numbers);
        }
        for (const trace::TensorId id : builder.op.outputs) {
            placement.write(
                memory, builder.trace, id,
                std::vector<double>(static_cast<std::size_t>(builder.trace.tensor(id).elements()), 77.0));
        }
        models::TpuRunOptions options;
        options.mode = models::TpuMode::functional;
        tpu.run(lowered.program, memory, options);
        const std::vector<double> d_gamma = placement.read(memory, builder.trace, builder.op.outputs[1]);
        const std::vector<double> d_beta = placement.read(memory, builder.trace, builder.op.outputs[2]);
        for (std::size_t column = 0; column < 64; ++column) {
            double gamma = 0, beta = 0, sum_gamma = 0, sum_beta = 0;
            for (std::size_t row = 0; row < 300; ++row) {
                const std::size_t i = row * 64 + column;
                gamma += values[0][i] * (values[1][i] - values[2][row]) * values[3][row];
                beta += values[0][i];
            }
            for (std::size_t part = 0; part < static_cast<std::size_t>(parts); ++part) {
                sum_gamma += d_gamma[part * 64 + column];
                sum_beta += d_beta[part * 64 + column];
            }
            REQUIRE(sum_gamma == Approx(gamma).margin(1e-4));
            REQUIRE(sum_beta == Approx(beta).margin(1e-4));
        }
    }
}
