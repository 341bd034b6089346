#include "op_check.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <random>
#include <set>

#include "isa/tpu/assembler.h"
#include "isa/tpu/race_detector.h"
#include "workloads/lowering/tpu/common_memory.h"
#include "workloads/reference/execute.h"

namespace heddle::test {
namespace {

bool is_integer(trace::ElementType type) {
    const auto kind = lowering::tpu_type(type);
    return kind && value_type_of(*kind) == tpu::ValueType::integer;
}

}  // namespace

models::TpuConfig small_tpu() {
    models::TpuConfig config;
    config.matrix.rows = config.matrix.columns = 16;
    config.matrix.accumulator_rows = 128;
    config.vmem.bytes = 256 << 10;
    config.cmem.bytes = 64 << 20;  // for OpCheck::common_memory
    return config;
}

OpBuilder& OpBuilder::input(std::vector<std::int64_t> shape, trace::ElementType type) {
    trace::Tensor tensor;
    tensor.name = "x" + std::to_string(op.inputs.size());
    tensor.type = type;
    tensor.shape = std::move(shape);
    op.inputs.push_back(trace.add(std::move(tensor)));
    return *this;
}

OpBuilder& OpBuilder::output(std::vector<std::int64_t> shape, trace::ElementType type) {
    trace::Tensor tensor;
    tensor.name = "y" + std::to_string(op.outputs.size());
    tensor.type = type;
    tensor.shape = std::move(shape);
    op.outputs.push_back(trace.add(std::move(tensor)));
    return *this;
}

OpBuilder& OpBuilder::with(const std::string& key, trace::Attribute value) {
    op.attributes.put(key, std::move(value));
    return *this;
}

OpBuilder& OpBuilder::done() {
    trace.add(op);
    return *this;
}

models::Cycle check_ops(models::Tpu& tpu, const trace::Trace& trace, const OpCheck& check) {
    const target::TpuTarget target = target_of(tpu.config());
    std::set<std::uint64_t> common;
    for (trace::TensorId id = 0; id < trace.tensors.size() && check.common_memory; id += 2)
        common.insert(lowering::common_memory_storage(trace.tensor(id), id));
    const lowering::TensorPlacement placement(trace, target, {}, common);
    std::vector<lowering::LoweredOp> lowered;
    std::uint64_t workspace = 0;
    for (trace::OpId op = 0; op < trace.ops.size(); ++op) {
        lowered.push_back(lowering::lower(trace, op, target, placement, check.options));
        INFO("op " << op << " " << trace.ops[op].name << ": " << lowered.back().reason_if_not);
        REQUIRE(lowered.back().supported);
        workspace = std::max(workspace, lowered.back().workspace_bytes);
    }

    reference::TensorValues expected(trace);
    tpu::Memory timed, untimed, watched, bounds;
    for (tpu::Memory* const memory : {&timed, &untimed, &watched})
        placement.allocate(*memory, true, workspace);
    placement.allocate(bounds, false, workspace);
    std::mt19937 random(check.seed);
    std::set<trace::TensorId> written;
    for (const trace::Op& op : trace.ops) {
        for (const trace::TensorId id : op.inputs) {
            const trace::Tensor& tensor = trace.tensor(id);
            if (!written.insert(id).second) continue;
            std::vector<double> values(expected.storage(id).size());
            for (double& value : values) {
                if (is_integer(tensor.type)) {
                    const std::int64_t most = check.classes > 0 ? check.classes : 2;
                    value =
                        static_cast<double>(std::uniform_int_distribution<std::int64_t>(0, most - 1)(random));
                } else {
                    value = std::uniform_real_distribution<double>(check.positive ? 0.25 : -1, 1)(random);
                }
            }
            // Both sides start from what the device can hold.
            placement.write(timed, trace, id,
                            std::span(values).first(static_cast<std::size_t>(tensor.elements())));
            if (values.size() > static_cast<std::size_t>(tensor.elements())) {
                placement.write(timed, trace, id, values);
            }
            const auto count = static_cast<std::size_t>(tensor.elements());
            std::vector<double> held = placement.read(timed, trace, id);
            if (values.size() > count) {
                for (double& value : values) value = static_cast<double>(static_cast<float>(value));
                held = values;
            }
            std::copy(held.begin(), held.end(), expected.storage(id).begin());
        }
        for (const trace::TensorId id : op.outputs) written.insert(id);
    }
    for (std::size_t i = 0; i < timed.allocations().size(); ++i) {
        const tpu::Allocation& from = timed.allocations()[i];
        untimed.write(from.base, from.data);
        watched.write(from.base, from.data);
    }

    reference::execute(trace, expected);
    models::Cycle total = 0;
    for (std::size_t op = 0; op < lowered.size(); ++op) {
        INFO("op " << op << " " << trace.ops[op].name);
        const tpu::Program& program = lowered[op].program;
        REQUIRE(tpu::assemble(tpu::disassemble(program)) == program);
        const tpu::Limits limits = limits_of(tpu.config());
        tpu::RaceDetector detector(program, limits, true);
        tpu::execute(program, untimed, limits, &detector);
        models::TpuRunOptions options;
        options.mode = models::TpuMode::functional;
        const models::TpuResult functional = tpu.run(program, timed, options);
        options.tick_every_cycle = true;
        const models::TpuResult every = tpu.run(program, watched, options);
        const models::TpuResult timing = tpu.run(program, bounds);
        REQUIRE(functional.cycles == timing.cycles);
        REQUIRE(functional.cycles == every.cycles);
        total += functional.cycles;
        for (const auto& [unit, shares] : models::time_by_unit(timing)) {
            INFO(unit);
            double sum = 0;
            for (const auto& [state, share] : shares) sum += share;
            REQUIRE(sum == Approx(1).epsilon(1e-9));
        }
    }
    for (std::size_t i = 0; i < timed.allocations().size(); ++i) {
        INFO(timed.allocations()[i].name);
        REQUIRE(timed.allocations()[i].data == untimed.allocations()[i].data);
        REQUIRE(timed.allocations()[i].data == watched.allocations()[i].data);
    }
    for (const trace::Op& op : trace.ops) {
        for (const trace::TensorId id : op.outputs) {
            const std::vector<double> values = placement.read(timed, trace, id);
            const auto exact = expected[id];
            double largest = 1e-30, worst = 0;
            std::size_t where = 0;
            for (std::size_t i = 0; i < values.size(); ++i) {
                largest = std::max(largest, std::fabs(exact[i]));
                const double error = std::fabs(values[i] - exact[i]);
                if (error > worst || std::isnan(error)) {
                    worst = error;
                    where = i;
                }
                if (std::isnan(error)) break;
            }
            INFO(op.name << " output " << trace.tensor(id).name << ", worst at " << where << ": "
                         << values[where] << " for " << exact[where] << ", largest " << largest);
            REQUIRE(worst <= check.tolerance * largest);
        }
    }
    return total;
}

}  // namespace heddle::test
