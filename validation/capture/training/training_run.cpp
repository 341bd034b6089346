#include "validation/capture/training/training_run.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "isa/common/error.h"
#include "isa/numerics/compare.h"
#include "isa/target/generation.h"
#include "validation/capture/training/products.h"
#include "workloads/kernels/exact_functions.h"
#include "workloads/lowering/gpu/gpu_lowering.h"
#include "workloads/reference/elements.h"
#include "workloads/reference/values.h"
#include "workloads/trace/training.h"
#include "workloads/zoo/registry.h"

namespace heddle::capture {
namespace {

/// One item on the device: its memory, its kernels, its products.
class Step {
  public:
    Step(Device& device, Blas* blas, const target::GpuTarget& target, const TrainingItem& item,
         std::map<std::string, KernelHandle>& kernels)
        : device_(device),
          blas_(item.variant == TrainingVariant::vendor ? blas : nullptr),
          exact_(item.variant != TrainingVariant::approximate),
          trace_(trace_of(item)),
          lowered_(lowering::lower_for_gpu(trace_, target)),
          kernels_(kernels) {
        if (item.variant == TrainingVariant::vendor && blas == nullptr)
            throw DeviceError("the device has no library of matrix products");
        for (std::size_t i = 0; i < trace_.ops.size(); ++i) {
            if (!lowered_.ops[i].unsupported.empty()) {
                throw Error("no kernel: " + lowered_.ops[i].unsupported,
                            {.key = item.id() + " op " + trace_.ops[i].name});
            }
        }
        for (const program::Buffer& buffer : lowered_.program.buffers) {
            buffers_.push_back(std::make_unique<DeviceBuffer>(device, buffer.bytes));
            device.fill(buffers_.back()->address(), 0, buffer.bytes);
        }
        for (const trace::TensorId id : reference::external_tensors(trace_)) {
            const auto bytes =
                reference::encode_elements(trace_.tensor(id).type, reference::initial_values(trace_, id, 0));
            device.write(address_of(id), bytes);
        }
        products_.resize(trace_.ops.size());
        for (std::size_t i = 0; i < trace_.ops.size(); ++i) {
            if (blas_ != nullptr && trace_.ops[i].kind == trace::OpKind::matmul)
                products_[i] = choose_product(trace_.ops[i], item.compute);
            if (!by_library(i)) load_kernels(i);
        }
    }

    void run() {
        for (std::size_t i = 0; i < trace_.ops.size(); ++i) {
            if (by_library(i) && multiply(i)) continue;
            const lowering::GpuLoweredOp& op = lowered_.ops[i];
            for (std::uint32_t k = 0; k < op.launch_count; ++k)
                launch(lowered_.program.launches[op.first_launch + k]);
        }
        device_.synchronise();
    }

    const trace::Trace& trace() const { return trace_; }
    std::vector<std::byte> read(trace::TensorId id) {
        std::vector<std::byte> bytes(trace_.tensor(id).bytes());
        device_.read(address_of(id), bytes);
        return bytes;
    }
    std::vector<TrainingProduct> products() const {
        std::vector<TrainingProduct> result;
        for (const auto& product : products_) {
            if (product) result.push_back(*product);
        }
        return result;
    }

  private:
    static trace::Trace trace_of(const TrainingItem& item) {
        trace::Trace trace = zoo::build(item.model, item.options);
        return item.variant == TrainingVariant::vendor ? with_separate_biases(trace) : trace;
    }
    Address address_of(trace::TensorId id) const {
        return buffers_[lowered_.buffer_of_tensor[id]]->address();
    }
    Address operand(const trace::Op& op, const std::string& side, trace::TensorId id) const {
        const auto offset = static_cast<std::uint64_t>(op.offset(side));
        return address_of(id) + offset * bytes_of(trace_.tensor(id).type);
    }
    GemmOperands operands_of(const trace::Op& op) const {
        GemmOperands operands;
        operands.a = operand(op, "input0", op.inputs[0]);
        operands.b = operand(op, "input1", op.inputs[1]);
        operands.d = operand(op, "output0", op.outputs[0]);
        operands.c = operands.d;
        return operands;
    }
    bool by_library(std::size_t op) const { return products_[op] && products_[op]->algorithm; }

    TrainingProduct choose_product(const trace::Op& op, Compute compute) {
        TrainingProduct product;
        product.op = op.name;
        const auto problem = problem_of(trace_, op, compute, product.why_not);
        if (!problem) return product;
        product.problem = *problem;
        const std::vector<GemmAlgorithm> algorithms = blas_->algorithms(*problem, 1);
        if (algorithms.empty()) {
            product.why_not = "the library has no algorithm";
            return product;
        }
        product.algorithm = algorithms[0];
        try {
            blas_->observe(*problem, *product.algorithm, operands_of(op));
        } catch (const DeviceError& error) {  // only names are lost
            if (error.lost) throw;
        }
        return product;
    }

    /// False, and our own kernel from now on, when the library refuses what it offered.
    bool multiply(std::size_t op) {
        try {
            blas_->run(products_[op]->problem, *products_[op]->algorithm, operands_of(trace_.ops[op]));
            return true;
        } catch (const DeviceError& error) {
            if (error.lost) throw;
            products_[op]->why_not = error.what();
            products_[op]->algorithm.reset();
            load_kernels(op);
            return false;
        }
    }

    void load_kernels(std::size_t op) {
        for (std::uint32_t k = 0; k < lowered_.ops[op].launch_count; ++k) {
            const program::KernelText& kernel =
                *lowered_.program.launches[lowered_.ops[op].first_launch + k].kernel;
            if (handles_.contains(&kernel)) continue;
            const std::string text = exact_ ? kernels::replace_approximations(kernel.text) : kernel.text;
            const auto [known, fresh] = kernels_.try_emplace(text, 0);
            if (fresh) {
                try {
                    known->second = device_.load(text, kernel.entry);
                } catch (...) {
                    kernels_.erase(known);
                    throw;
                }
            }
            handles_[&kernel] = known->second;
        }
    }

    void launch(const program::KernelLaunch& planned) {
        Launch launch;
        launch.kernel = handles_.at(planned.kernel.get());
        launch.grid = {planned.grid.x, planned.grid.y, planned.grid.z};
        launch.block = {planned.block.x, planned.block.y, planned.block.z};
        launch.cluster = {planned.cluster.x, planned.cluster.y, planned.cluster.z};
        launch.dynamic_shared_bytes = planned.dynamic_shared_bytes;
        for (const program::Argument& argument : planned.arguments) {
            if (const auto* tensor = std::get_if<program::TensorMapArgument>(&argument)) {
                const auto bytes = device_.encode_tensor_map(
                    describe_tensor_map(tensor->map, buffers_[tensor->buffer]->address() + tensor->offset));
                launch.parameters.emplace_back(bytes.begin(), bytes.end());
                continue;
            }
            const std::optional<program::BufferId> buffer = program::buffer_of(argument);
            launch.parameters.push_back(
                program::argument_bytes(argument, buffer ? buffers_[*buffer]->address() : 0));
        }
        device_.launch(launch);
    }

    Device& device_;
    Blas* blas_;
    bool exact_;
    trace::Trace trace_;
    lowering::GpuLowering lowered_;
    std::map<std::string, KernelHandle>& kernels_;
    std::map<const program::KernelText*, KernelHandle> handles_;
    std::vector<std::unique_ptr<DeviceBuffer>> buffers_;
    std::vector<std::optional<TrainingProduct>> products_;
};

/// Hash and sample of one gradient.
void keep_gradient(const trace::Tensor& tensor, const std::vector<std::byte>& bytes, TrainingStep& step) {
    step.gradients.push_back(numerics::hash_bits(bytes));
    const std::size_t count = bytes.size() / bytes_of(tensor.type);
    const std::vector<double> values = reference::decode_elements(tensor.type, bytes.data(), count);
    for (std::size_t i = 0; i < kGradientSample; ++i)
        step.samples.push_back(static_cast<float>(values.at(i * count / kGradientSample)));
}

}  // namespace

target::GpuTarget training_target(unsigned compute_capability, unsigned sm_count, std::uint64_t l2_bytes) {
    target::GpuTarget target;
    target.name = "capability " + std::to_string(compute_capability);
    target.compute_capability = std::min(compute_capability, target::Generation::hopper.compute_capability);
    target.sm_count = sm_count;
    target.l2_bytes = l2_bytes;
    const target::Generation& generation = target::nearest_generation(target.compute_capability);
    target.max_warps_per_sm = generation.max_warps_per_sm;
    target.max_threads_per_sm = generation.max_warps_per_sm * 32;
    target.max_ctas_per_sm = generation.max_ctas_per_sm;
    target.shared_bytes_per_sm = std::uint64_t{generation.shared_kib_per_sm} << 10;
    target.shared_bytes_per_cta = target.shared_bytes_per_sm - generation.reserved_shared_bytes_per_cta;
    return target;
}

TrainingRun TrainingMachine::run(const TrainingItem& item) {
    Step step(device_, blas_, target_, item, kernels_);
    const trace::Trace& trace = step.trace();
    const trace::TensorId loss = trace::loss_of(trace);
    const std::vector<trace::TensorId> parameters = trace::parameters_of(trace);
    TrainingRun run;
    for (const trace::TensorId id : parameters) run.parameters.push_back(trace.tensor(id).name);
    for (unsigned i = 0; i < item.steps; ++i) {
        step.run();
        TrainingStep kept;
        const std::vector<std::byte> loss_bytes = step.read(loss);
        std::memcpy(&kept.loss, loss_bytes.data(), sizeof kept.loss);
        for (const trace::TensorId id : parameters) {
            const trace::TensorId gradient = trace::gradient_of(trace, id).value();
            keep_gradient(trace.tensor(gradient), step.read(gradient), kept);
            kept.weights.push_back(numerics::hash_bits(step.read(id)));
        }
        run.steps.push_back(std::move(kept));
    }
    run.products = step.products();
    return run;
}

}  // namespace heddle::capture
