// Training steps that JAX printed (examples/xla), against what JAX computed on a CPU.
//
// The values of JAX are fp32, Heddle's executor of a Trace computes in double precision: they agree to fp32's
// roundings.
#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "isa/common/error.h"
#include "models/tpu/tpu.h"
#include "workloads/hlo/module.h"
#include "workloads/lowering/tpu/tpu_lowering.h"
#include "workloads/reference/execute.h"

using namespace heddle;

namespace {

constexpr const char* kModels[] = {"mlp", "conv", "lstm", "gpt_block", "resnet_block", "llama_block", "moe"};

std::string text_of(const std::string& name) {
    std::ifstream file(std::string(HEDDLE_SOURCE_DIR) + "/examples/xla/" + name);
    REQUIRE(file.good());
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

hlo::Program program_of(const std::string& name) {
    const std::string text = text_of(name);
    return hlo::to_program(hlo::is_hlo_text(text) ? hlo::parse_hlo(text, name)
                                                  : hlo::parse_stablehlo(text, name));
}

/// The formula of make_examples.py.
std::vector<double> numbers(std::int64_t argument, std::int64_t count, const std::string& recipe) {
    std::istringstream words(recipe);
    std::string kind;
    words >> kind;
    std::vector<double> values;
    double scale = 0, offset = 0;
    std::int64_t bound = 1;
    if (kind == "index") {
        words >> bound;
    } else {
        words >> scale >> offset;
    }
    for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t whole = (7919 * i + 104729 * argument) % 251;
        values.push_back(kind == "index"
                             ? static_cast<double>(whole % bound)
                             : static_cast<float>(static_cast<double>(whole - 125) / 125 * scale + offset));
    }
    return values;
}

std::vector<double> read(const hlo::Placed& place, std::span<const double> storage) {
    std::vector<double> values;
    std::int64_t count = 1;
    for (const std::int64_t extent : place.shape) count *= extent;
    for (std::int64_t element = 0; element < count; ++element) {
        std::int64_t position = place.offset, rest = element;
        for (std::size_t axis = place.shape.size(); axis-- > 0; rest /= place.shape[axis])
            position += rest % place.shape[axis] * place.strides[axis];
        values.push_back(storage[static_cast<std::size_t>(position)]);
    }
    return values;
}

/// Inputs of JAX's run for every argument.
template <class Write>
void write_inputs(const hlo::Program& program, const nlohmann::json& values, Write write) {
    for (std::size_t i = 0; i < program.arguments.size(); ++i) {
        const trace::TensorId id = program.arguments[i].tensor;
        write(id, numbers(static_cast<std::int64_t>(i), program.trace.tensor(id).elements(),
                          values["inputs"][i].get<std::string>()));
    }
}

void check_against_jax(const std::string& model, const std::string& form) {
    INFO(model << form);
    const nlohmann::json values = nlohmann::json::parse(text_of(model + ".values.json"));
    const hlo::Program program = program_of(model + form);
    for (const trace::Op& op : program.trace.ops) {
        INFO(op.name);
        REQUIRE(op.kind != trace::OpKind::unknown);
    }
    REQUIRE(program.arguments.size() == values["inputs"].size());
    REQUIRE(program.results.size() == values["results"].size());
    reference::TensorValues held(program.trace);
    write_inputs(program, values, [&](trace::TensorId id, const std::vector<double>& input) {
        std::copy(input.begin(), input.end(), held.storage(id).begin());
    });
    reference::execute(program.trace, held);
    for (std::size_t i = 0; i < program.results.size(); ++i) {
        INFO("result " << i);
        const nlohmann::json& expected = values["results"][i];
        const std::vector<double> found = read(program.results[i], held.storage(program.results[i].tensor));
        REQUIRE(found.size() == expected["elements"].get<std::size_t>());
        const double square = expected["sum_of_squares"];
        const double size = std::sqrt(square / static_cast<double>(found.size()));
        double squares = 0;
        for (const double value : found) squares += value * value;
        CHECK(squares == Approx(square).epsilon(2e-5));
        const std::size_t every = expected["every"];
        for (std::size_t k = 0; k < expected["samples"].size(); ++k) {
            INFO("element " << k * every);
            CHECK(std::abs(found[k * every] - expected["samples"][k].get<double>()) <= 2e-5 * size);
        }
    }
}

}  // namespace

TEST_CASE("JAX's StableHLO computes what JAX computed") {
    for (const char* model : kModels) check_against_jax(model, ".mlir");
}

TEST_CASE("XLA's HLO before optimisation computes what JAX computed") {
    for (const char* model : kModels) check_against_jax(model, ".hlo");
}

TEST_CASE("XLA's HLO after optimisation computes what JAX computed") {
    for (const char* model : kModels) check_against_jax(model, ".optimized.hlo");
}

namespace {

/// The tensor, or another one of its memory that an op uses: the largest.
trace::TensorId used(const trace::Trace& trace, trace::TensorId id) {
    std::optional<trace::TensorId> best;
    for (const trace::Op& op : trace.ops) {
        for (const auto* operands : {&op.inputs, &op.outputs}) {
            for (const trace::TensorId other : *operands) {
                if (other == id) return id;
                if (trace.tensor(other).storage == trace.tensor(id).storage &&
                    (!best || trace.tensor(other).elements() > trace.tensor(*best).elements()))
                    best = other;
            }
        }
    }
    REQUIRE(best);
    return *best;
}

}  // namespace

// Matrix units round operands to bf16 (2^-9), several products deep: results are near JAX's, root mean
// square.
TEST_CASE("TPU programs of JAX's steps compute what JAX computed") {
    models::TpuConfig config;
    models::Tpu tpu("tpu", config);
    const target::TpuTarget target = models::target_of(config);
    for (const std::string model : kModels) {
        INFO(model);
        const nlohmann::json values = nlohmann::json::parse(text_of(model + ".values.json"));
        const hlo::Program program = program_of(model + ".mlir");
        const lowering::TensorPlacement placement(program.trace, target);
        std::vector<lowering::LoweredOp> lowered;
        std::uint64_t workspace = 0;
        for (trace::OpId op = 0; op < program.trace.ops.size(); ++op) {
            lowered.push_back(lowering::lower(program.trace, op, target, placement));
            INFO(program.trace.ops[op].name << ": " << lowered.back().reason_if_not);
            REQUIRE(lowered.back().supported);
            workspace = std::max(workspace, lowered.back().workspace_bytes);
        }
        tpu::Memory memory;
        placement.allocate(memory, true, workspace);
        write_inputs(program, values, [&](trace::TensorId id, const std::vector<double>& input) {
            placement.write(memory, program.trace, used(program.trace, id), input);
        });
        models::TpuRunOptions options;
        options.mode = models::TpuMode::functional;
        for (const lowering::LoweredOp& op : lowered) {
            for (const tpu::CoreProgram& core : op.program.cores) {
                if (core.instructions.size() <= 1) continue;  // only halt
                tpu.run(op.program, memory, options);
                break;
            }
        }
        for (std::size_t i = 0; i < program.results.size(); ++i) {
            INFO("result " << i);
            const nlohmann::json& expected = values["results"][i];
            const std::vector<double> found =
                read(program.results[i],
                     placement.read(memory, program.trace, used(program.trace, program.results[i].tensor)));
            const double size =
                std::sqrt(expected["sum_of_squares"].get<double>() / static_cast<double>(found.size()));
            double errors = 0;
            const auto& samples = expected["samples"];
            const std::size_t every = expected["every"];
            for (std::size_t k = 0; k < samples.size(); ++k)
                errors += std::pow(found.at(k * every) - samples[k].get<double>(), 2);
            CHECK(std::sqrt(errors / static_cast<double>(samples.size())) <= 0.02 * size);
        }
    }
}

TEST_CASE("cut programs of JAX give a trace or an error, never a crash") {
    for (const std::string name : {"conv.mlir", "lstm.mlir", "conv.hlo", "lstm.optimized.hlo"}) {
        const std::string text = text_of(name);
        for (std::size_t length = 0; length < text.size(); length += text.size() / 61) {
            try {
                const std::string cut = text.substr(0, length);
                hlo::to_trace(hlo::is_hlo_text(text) ? hlo::parse_hlo(cut, name)
                                                     : hlo::parse_stablehlo(cut, name));
            } catch (const Error&) {
            }
        }
    }
    SUCCEED();
}

TEST_CASE("what XLA cannot say or Heddle cannot know stays in the trace with its reason") {
    const trace::Trace trace = hlo::to_trace(hlo::parse_stablehlo(R"(module @f {
  func.func public @main(%arg0: tensor<8x8xf32>, %arg1: tensor<i32>) -> (tensor<8x8xf32>, tensor<i32>) {
    %0 = stablehlo.custom_call @topk_of_somebody(%arg0) {backend_config = ""} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %1 = stablehlo.custom_call @Sharding(%0) {mhlo.sharding = "{replicated}"} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %2:2 = stablehlo.while(%iterArg = %c, %iterArg_1 = %1) : tensor<i32>, tensor<8x8xf32>
    cond {
      %3 = stablehlo.compare LT, %iterArg, %arg1, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %3 : tensor<i1>
    } do {
      %c_2 = stablehlo.constant dense<1> : tensor<i32>
      %4 = stablehlo.add %iterArg, %c_2 : tensor<i32>
      stablehlo.return %4, %iterArg_1 : tensor<i32>, tensor<8x8xf32>
    }
    return %2#1, %2#0 : tensor<8x8xf32>, tensor<i32>
  }
}
)",
                                                                  "f.mlir"));
    std::vector<std::string> reasons;
    for (const trace::Op& op : trace.ops)
        if (op.kind == trace::OpKind::unknown) reasons.push_back(op.name);
    REQUIRE(reasons.size() == 2);
    CHECK_THAT(reasons[0], Catch::Contains("topk_of_somebody"));
    CHECK_THAT(reasons[1], Catch::Contains("depends on data"));
}

TEST_CASE("values of XLA never change: an update in place keeps what is read later") {
    const hlo::Program program = hlo::to_program(hlo::parse_hlo(R"(HloModule m
ENTRY e {
  a = f32[4]{0} parameter(0)
  u = f32[2]{0} parameter(1)
  one = s32[] constant(1)
  b = f32[4]{0} add(a, a)
  c = f32[4]{0} dynamic-update-slice(b, u, one)
  d = f32[4]{0} multiply(b, c)
  ROOT r = (f32[4]{0}, f32[4]{0}) tuple(c, d)
}
)",
                                                                "m.hlo"));
    reference::TensorValues held(program.trace);
    const std::vector<double> a{1, 2, 3, 4}, u{10, 20};
    std::copy(a.begin(), a.end(), held.storage(program.arguments[0].tensor).begin());
    std::copy(u.begin(), u.end(), held.storage(program.arguments[1].tensor).begin());
    reference::execute(program.trace, held);
    CHECK(read(program.results[0], held.storage(program.results[0].tensor)) ==
          std::vector<double>{2, 10, 20, 8});
    CHECK(read(program.results[1], held.storage(program.results[1].tensor)) ==
          std::vector<double>{4, 40, 120, 64});
}
