// GEMMs of the vendor's library on inputs that any machine makes again: a hash of all output bytes, a sample
// of the outputs, the algorithm, the kernels.
//
// One record for each item: "family", "problem", "inputs", "elements" (in each sample), "whole" (the sample
// is all of D), "offered" (algorithms of the heuristic), and "results", one for each algorithm that was run,
// with "algorithm" and "hash" (FNV-1a of D without what lies between its rows), "deterministic" (a second run
// gave the same bytes), "sample" (offset of its outputs in the record's bytes); or "error". Samples that are
// not whole are those of sample_places().
#include <optional>

#include "isa/numerics/compare.h"
#include "validation/capture/blas_record.h"
#include "validation/capture/section.h"
#include "validation/capture/sections/numerics_items.h"
#include "validation/capture/sections/numerics_orders.h"
#include "validation/capture/sections/section_item.h"

namespace heddle::capture {
namespace {

/// Outputs of at most so many elements are recorded whole; of others a sample.
constexpr std::uint64_t kWholeElements = 256;
constexpr std::size_t kSampleElements = 64;

/// The operands of one item on the device.
class ItemBuffers {
  public:
    ItemBuffers(Device& device, const NumericsItem& item)
        : device_(device),
          problem_(item.problem),
          a_(device, stored_operand(item.problem, item.inputs, Operand::a)),
          b_(device, stored_operand(item.problem, item.inputs, Operand::b)),
          d_(device, problem_.elements_d() * bytes_of(problem_.d)) {
        operands.a = a_.address();
        operands.b = b_.address();
        operands.d = d_.address();
        if (problem_.beta != 0) {
            c_bytes_ = stored_operand(item.problem, item.inputs, Operand::c);
            if (problem_.in_place) {
                operands.c = operands.d;
            } else {
                c_.emplace(device, c_bytes_);
                operands.c = c_->address();
            }
        }
        if (problem_.epilogue == Epilogue::bias || problem_.epilogue == Epilogue::relu_bias ||
            problem_.epilogue == Epilogue::gelu_bias) {
            bias_.emplace(device, stored_operand(item.problem, item.inputs, Operand::bias));
            operands.bias = bias_->address();
        }
    }

    /// D before a run: C where it is the same, else a pattern that no result leaves.
    void prepare_output() {
        if (problem_.in_place && problem_.beta != 0)
            device_.write(d_.address(), c_bytes_);
        else
            device_.fill(d_.address(), 0xA5, d_.bytes());
    }
    std::vector<std::byte> output() const { return dense_output(problem_, d_.read()); }

    GemmOperands operands;

  private:
    Device& device_;
    const GemmProblem& problem_;
    DeviceBuffer a_, b_, d_;
    std::optional<DeviceBuffer> c_, bias_;
    std::vector<std::byte> c_bytes_;
};

/// Runs one algorithm twice; its sample is added to `samples`.
Record run_algorithm(Blas& blas, const NumericsItem& item, GemmAlgorithm algorithm, ItemBuffers& buffers,
                     const std::vector<OutputPlace>& places, std::vector<std::byte>& samples) {
    Record record;
    try {
        blas.observe(item.problem, algorithm, buffers.operands);
    } catch (const DeviceError& error) {
        if (error.lost) throw;
        record.text("observe_error", error.what());
    }
    record.object("algorithm", record_of(algorithm));
    try {
        buffers.prepare_output();
        blas.run(item.problem, algorithm, buffers.operands);
        const std::vector<std::byte> output = buffers.output();
        const std::uint64_t hash = numerics::hash_bits(output);
        buffers.prepare_output();
        blas.run(item.problem, algorithm, buffers.operands);
        record.hexadecimal("hash", hash).flag("deterministic", buffers.output() == output);
        const std::vector<std::byte> sample =
            places.empty() ? output : sample_of(item.problem, output, places);
        record.integer("sample", static_cast<std::int64_t>(samples.size()));
        samples.insert(samples.end(), sample.begin(), sample.end());
    } catch (const DeviceError& error) {
        if (error.lost) throw;
        record.text("error", error.what());
    }
    return record;
}

Record inputs_record(const GemmInputs& inputs) {
    Record record;
    record.integer("generator", kInputGenerator).hexadecimal("seed", inputs.seed);
    record.text("a", name_of(inputs.a)).text("b", name_of(inputs.b)).text("c", name_of(inputs.c));
    if (inputs.tf32_numbers) record.flag("tf32_numbers", true);
    return record;
}

/// Adds the record of an item. Errors that concern the item alone are in it.
void capture_item(SectionContext& context, Blas& blas, const NumericsItem& item) {
    const GemmProblem& problem = item.problem;
    const std::uint64_t elements = problem.m * problem.n * problem.batch;
    const bool whole = elements <= kWholeElements;
    Record head;
    head.text("family", item.family).object("problem", record_of(problem));
    head.object("inputs", inputs_record(item.inputs));
    head.integer("elements", static_cast<std::int64_t>(whole ? elements : kSampleElements));
    head.flag("whole", whole);
    record_item(context, item.id, head, [&](Record& record, std::vector<std::byte>& samples) {
        const std::vector<GemmAlgorithm> algorithms = blas.algorithms(problem, 8);
        record.integer("offered", static_cast<std::int64_t>(algorithms.size()));
        std::vector<Record> results;
        if (!algorithms.empty()) {
            ItemBuffers buffers(context.device, item);
            const std::vector<OutputPlace> places =
                whole ? std::vector<OutputPlace>{}
                      : sample_places(problem, item.inputs.seed, kSampleElements);
            for (const GemmAlgorithm& algorithm : telling_algorithms(algorithms, item.algorithms))
                results.push_back(run_algorithm(blas, item, algorithm, buffers, places, samples));
        }
        record.objects("results", results);
    });
}

}  // namespace

bool capture_numerics(SectionContext& context) {
    Blas* blas = context.device.blas();
    if (blas == nullptr) {
        if (!context.journal.has("none"))
            context.journal.add("none", Record().text("error", "the device has no matrix library"));
        return true;
    }
    const std::vector<NumericsItem> items = numerics_items(context.extent == Extent::quick);
    for (std::size_t i = 0; i < items.size(); ++i) {
        if (context.journal.has(items[i].id)) continue;
        if (context.stop()) return false;
        context.progress(static_cast<double>(i) / static_cast<double>(items.size()), items[i].id);
        capture_item(context, *blas, items[i]);
    }
    return reveal_met_orders(context, *blas, items);
}

}  // namespace heddle::capture
