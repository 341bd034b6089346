// Every op of small models, each alone from the numbers of the double-precision executor, on machines of all widths.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <set>

#include "isa/cpu/execute.h"
#include "workloads/lowering/cpu/trace_memory.h"
#include "workloads/reference/execute.h"
#include "workloads/zoo/registry.h"

using namespace heddle;

namespace {

using Options = std::map<std::string, std::string>;

/// Runs the trace in double precision, and each op besides on the executor with the operands as they are then. Returns how many ops had
/// a program; those without are added to `refused` by kind and reason.
int check_model(const trace::Trace& trace, const lowering::CpuTarget& target, double tolerance, std::set<std::string>& refused) {
    reference::TensorValues values(trace);
    int ran = 0;
    for (trace::OpId id = 0; id < trace.ops.size(); ++id) {
        const trace::Op& op = trace.ops[id];
        const lowering::CpuLoweredOp lowered = lowering::lower_for_cpu(trace, id, target);
        if (!lowered.supported) {
            refused.insert(trace::name_of(op.kind) + ": " + lowered.reason_if_not);
            reference::execute_op(trace, op, values);
            continue;
        }
        REQUIRE(cpu::assemble(cpu::disassemble(lowered.program)) == lowered.program);
        lowering::CpuTraceMemory memory(trace, std::span(&lowered, 1));
        for (const auto* ids : {&op.inputs, &op.outputs})
            for (const trace::TensorId tensor : *ids) {
                memory.write(tensor, values.storage(tensor));
                // Both begin with what memory can hold.
                std::vector<double> held = memory.read(tensor);
                if (!op.has_strides("input0")) std::copy(held.begin(), held.end(), values.storage(tensor).begin());
            }
        // Sums may cancel: what is left is compared with what was added.
        double operand = 0;
        for (const trace::TensorId tensor : op.inputs)
            for (const double value : memory.read(tensor))
                if (std::isfinite(value)) operand = std::max(operand, std::fabs(value));
        reference::execute_op(trace, op, values);
        const auto bound = memory.bind(lowered);
        cpu::Memory run(lowered.program, target.threads, bound);
        cpu::execute(lowered.program, run);
        ++ran;
        for (const trace::TensorId tensor : op.outputs) {
            const std::vector<double> found = memory.read(tensor);
            const auto exact = values[tensor];
            double largest = std::max(1e-30, op.kind == trace::OpKind::reduce ? operand : 0), worst = 0;
            std::size_t where = 0;
            for (std::size_t i = 0; i < found.size(); ++i) {
                if (std::isfinite(exact[i])) largest = std::max(largest, std::fabs(exact[i]));
                const double error = found[i] == exact[i] ? 0 : std::fabs(found[i] - exact[i]);
                if (error > worst || std::isnan(error)) worst = std::isnan(error) ? 1e30 : error, where = i;
            }
            const trace::ElementType type = trace.tensor(tensor).type;
            const double allowed = type == trace::ElementType::bf16 ? std::max(tolerance, 0x1p-8) : tolerance;
            INFO("op " << id << " " << op.name << " (" << trace::name_of(op.kind) << ") output " << trace.tensor(tensor).name << " at " << where
                       << ": " << found[where] << " for " << exact[where] << ", largest " << largest << ", lanes " << target.lanes);
            CHECK(worst <= allowed * largest);
        }
    }
    return ran;
}

const lowering::CpuTarget kAvx512{16, 32, true, false, 3}, kAmx{16, 32, true, true, 3}, kAvx2{8, 16, false, false, 3}, kNeon{4, 32, false, false, 3};

}  // namespace

TEST_CASE("the ops of perceptrons, transformers and language models in f32") {
    const std::vector<std::pair<std::string, Options>> models{
        {"mlp", {{"batch", "21"}, {"widths", "35,52,10"}}},
        {"gpt", {{"hidden", "24"}, {"sequence", "12"}, {"vocabulary", "37"}, {"batch", "2"}}},
        {"gpt", {{"hidden", "24"}, {"sequence", "37"}, {"vocabulary", "37"}, {"batch", "2"}, {"attention", "fused"}}},
        {"gpt", {{"hidden", "64"}, {"sequence", "128"}, {"vocabulary", "37"}, {"batch", "1"}, {"layers", "1"}, {"attention", "fused"}}},
        {"lstm", {{"hidden", "20"}, {"vocabulary", "50"}, {"batch", "3"}, {"sequence", "4"}}},
        {"llama2-7b", {{"layers", "1"}, {"hidden", "32"}, {"heads", "4"}, {"key_heads", "4"}, {"feed_forward", "40"}, {"vocabulary", "50"}, {"sequence", "20"}, {"type", "f32"}}},
    };
    std::set<std::string> refused;
    for (const auto& [name, options] : models) {
        const trace::Trace trace = zoo::build(name, options);
        for (const lowering::CpuTarget& target : {kAvx512, kAvx2, kNeon}) {
            INFO(name);
            CHECK(check_model(trace, target, 2e-5, refused) > 10);
        }
    }
    for (const std::string& reason : refused) WARN(reason);
    CHECK(refused.empty());
}

TEST_CASE("the ops of images, in f32 and bf16") {
    std::set<std::string> refused;
    for (const char* type : {"f32", "bf16"}) {
        const double tolerance = std::string(type) == "f32" ? 5e-5 : 0x1p-7;
        const trace::Trace residual = zoo::build("resnet18", {{"batch", "2"}, {"image", "33"}, {"classes", "11"}, {"width", "8"}, {"type", type}});
        const trace::Trace transformer =
            zoo::build("vit-b16", {{"batch", "2"}, {"image", "32"}, {"layers", "1"}, {"hidden", "32"}, {"heads", "2"}, {"feed_forward", "48"}, {"classes", "10"}, {"attention", "fused"}, {"type", type}});
        for (const trace::Trace* trace : {&residual, &transformer}) {
            CHECK(check_model(*trace, kAvx512, tolerance, refused) > 20);
            CHECK(check_model(*trace, kAvx2, tolerance, refused) > 20);
            CHECK(check_model(*trace, kAmx, tolerance, refused) > 20);
        }
    }
    for (const std::string& reason : refused) WARN(reason);
    CHECK(refused.empty());
}
