#include "validation/read/training_record.h"

#include <bit>
#include <charconv>
#include <cstring>

#include "validation/read/blas_record.h"

namespace heddle::validation {
namespace {

template <class Number>
std::vector<Number> hexadecimals(const CapturedRecord& record, const std::string& key, std::size_t count) {
    const auto texts = record.get<std::vector<std::string>>(key);
    if (texts.size() != count)
        record.fail(key,
                    "has " + std::to_string(texts.size()) + " entries instead of " + std::to_string(count));
    std::vector<Number> numbers;
    for (const std::string& text : texts) {
        Number value = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
        if (error != std::errc{} || end != text.data() + text.size() || text.size() != 2 * sizeof value)
            record.fail(key, "holds '" + text + "', which is no hexadecimal number of its length");
        numbers.push_back(value);
    }
    return numbers;
}

capture::TrainingItem item_of(const CapturedRecord& record) {
    capture::TrainingItem item;
    item.model = record.get<std::string>("model");
    item.options = record.get<std::map<std::string, std::string>>("options");
    try {
        item.variant = capture::training_variant_of(record.get<std::string>("variant"));
    } catch (const std::invalid_argument& error) {
        record.fail("variant", std::string("is wrong: ") + error.what());
    }
    const auto compute = record.get<std::string>("compute");
    if (compute != name_of(capture::Compute::f32) && compute != name_of(capture::Compute::tf32))
        record.fail("compute", "is '" + compute + "' instead of f32 or tf32");
    item.compute =
        compute == name_of(capture::Compute::tf32) ? capture::Compute::tf32 : capture::Compute::f32;
    item.steps = record.get<unsigned>("steps");
    return item;
}

target::GpuTarget target_of(const CapturedRecord& record) {
    const auto target = record.get<nlohmann::json>("target");
    try {
        for (const char* key : {"compute_capability", "sm_count", "l2_bytes"})
            if (!is_kind<unsigned>(target.at(key)) || target.at(key) == 0)
                record.fail("target." + std::string(key), "is no number above 0");
        return capture::training_target(target.at("compute_capability").get<unsigned>(),
                                        target.at("sm_count").get<unsigned>(),
                                        target.at("l2_bytes").get<std::uint64_t>());
    } catch (const nlohmann::json::exception&) {
        record.fail("target", "lacks compute_capability, sm_count or l2_bytes");
    }
}

std::vector<capture::TrainingProduct> products_of(const CapturedRecord& record) {
    std::vector<capture::TrainingProduct> products;
    const auto text = [&](const nlohmann::json& object, const char* name) {
        const auto member = object.find(name);
        if (member == object.end()) return std::string();
        if (!member->is_string()) record.fail("products." + std::string(name), "is no text");
        return member->get<std::string>();
    };
    const auto objects = record.get<nlohmann::json>("products");
    if (!objects.is_array()) record.fail("products", "is no list");
    for (const nlohmann::json& object : objects) {
        if (!object.is_object()) record.fail("products", "has an entry that is no object");
        capture::TrainingProduct product;
        product.op = text(object, "op");
        if (object.contains("why_not")) {
            product.why_not = text(object, "why_not");
        } else {
            if (!object.contains("problem") || !object.contains("algorithm"))
                record.fail("products", "has an entry without problem or algorithm");
            product.problem = problem_of(record, object["problem"]);
            product.algorithm = algorithm_of(record, object["algorithm"]);
        }
        products.push_back(std::move(product));
    }
    return products;
}

}  // namespace

CapturedTraining training_of(const CapturedRecord& record) {
    CapturedTraining training;
    training.id = record.id;
    training.item = item_of(record);
    training.target = target_of(record);
    capture::TrainingRun& run = training.run;
    run.parameters = record.get<std::vector<std::string>>("parameters");
    const std::size_t steps = training.item.steps, parameters = run.parameters.size();
    if (record.get<std::size_t>("sample") != capture::kGradientSample)
        record.fail("sample", "is not the " + std::to_string(capture::kGradientSample) +
                                  " elements of each gradient that this program knows");
    const auto losses = hexadecimals<std::uint32_t>(record, "loss_bits", steps);
    const auto gradients = hexadecimals<std::uint64_t>(record, "gradients", steps * parameters);
    const auto weights = hexadecimals<std::uint64_t>(record, "weights", steps * parameters);
    const std::size_t samples = parameters * capture::kGradientSample;
    if (record.binary.size() != steps * samples * sizeof(float))
        record.fail("binary", "has " + std::to_string(record.binary.size()) + " bytes instead of " +
                                  std::to_string(steps * samples * sizeof(float)));
    for (std::size_t i = 0; i < steps; ++i) {
        capture::TrainingStep step;
        step.loss = std::bit_cast<float>(losses[i]);
        step.gradients.assign(gradients.begin() + i * parameters, gradients.begin() + (i + 1) * parameters);
        step.weights.assign(weights.begin() + i * parameters, weights.begin() + (i + 1) * parameters);
        step.samples.resize(samples);
        if (samples > 0)
            std::memcpy(step.samples.data(), record.binary.data() + i * samples * sizeof(float),
                        samples * sizeof(float));
        run.steps.push_back(std::move(step));
    }
    if (training.item.variant == capture::TrainingVariant::vendor) run.products = products_of(record);
    return training;
}

}  // namespace heddle::validation
