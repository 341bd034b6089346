// A run as a capture's record.
#include <bit>
#include <cstring>

#include "validation/capture/blas_record.h"
#include "validation/capture/training/training_run.h"

namespace heddle::capture {
namespace {

std::string hexadecimal(std::uint64_t value, unsigned digits) {
    std::string text(digits, '0');
    for (unsigned i = digits; i-- > 0; value >>= 4) text[i] = "0123456789abcdef"[value & 15];
    return text;
}

Record record_of(const target::GpuTarget& target) {
    Record record;
    record.integer("compute_capability", target.compute_capability).integer("sm_count", target.sm_count);
    record.integer("l2_bytes", static_cast<std::int64_t>(target.l2_bytes));
    return record;
}

Record record_of(const TrainingProduct& product) {
    Record record;
    record.text("op", product.op);
    if (!product.why_not.empty()) {
        record.text("why_not", product.why_not);
        return record;
    }
    record.object("problem", record_of(product.problem));
    record.object("algorithm", record_of(*product.algorithm));
    return record;
}

}  // namespace

Record record_of(const TrainingItem& item, const target::GpuTarget& target, const TrainingRun& run) {
    Record options;
    for (const auto& [key, value] : item.options) options.text(key, value);
    std::vector<double> losses;
    std::vector<std::string> loss_bits, gradients, weights;
    for (const TrainingStep& step : run.steps) {
        losses.push_back(step.loss);
        loss_bits.push_back(hexadecimal(std::bit_cast<std::uint32_t>(step.loss), 8));
        for (const std::uint64_t hash : step.gradients) gradients.push_back(hexadecimal(hash, 16));
        for (const std::uint64_t hash : step.weights) weights.push_back(hexadecimal(hash, 16));
    }
    std::vector<Record> products;
    for (const TrainingProduct& product : run.products) products.push_back(record_of(product));

    Record record;
    record.text("model", item.model).object("options", options).text("variant", name_of(item.variant));
    record.text("compute", name_of(item.compute)).integer("steps", item.steps);
    record.object("target", record_of(target));
    record.texts("parameters", run.parameters);
    record.numbers("losses", losses).texts("loss_bits", loss_bits);
    record.texts("gradients", gradients).texts("weights", weights);
    record.integer("sample", kGradientSample);
    if (item.variant == TrainingVariant::vendor) record.objects("products", products);
    return record;
}

std::vector<std::byte> samples_of(const TrainingRun& run) {
    std::vector<std::byte> bytes;
    for (const TrainingStep& step : run.steps) {
        const auto* first = reinterpret_cast<const std::byte*>(step.samples.data());
        bytes.insert(bytes.end(), first, first + step.samples.size() * sizeof(float));
    }
    return bytes;
}

}  // namespace heddle::capture
