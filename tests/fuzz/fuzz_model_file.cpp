// libFuzzer: any bytes as a model's layers, and the training step of what is one.
#include <charconv>

#include "isa/common/error.h"
#include "memory_file.h"
#include "workloads/model_files/read_model.h"

namespace {

using namespace heddle;

/// Steps are written out, up to a million ops: small counts keep an input's time short.
void make_short(std::map<std::string, zoo::LayerField>& fields) {
    constexpr std::int64_t kMost = 5;
    for (const char* key : {"times", "sequence", "micro_batches", "", "parts"}) {
        const auto field = fields.find(key);
        if (field == fields.end()) continue;
        std::string& text = field->second.text;
        std::int64_t value = 0;
        std::from_chars(text.data(), text.data() + text.size(), value);
        if (value > kMost && value < std::int64_t{1} << 31) text = std::to_string(kMost);
    }
}

void make_short(std::vector<zoo::LayerSpec>& layers) {
    for (zoo::LayerSpec& layer : layers) {
        if (layer.kind == "repeat") make_short(layer.fields);
        make_short(layer.layers);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const heddle::test::MemoryFile file(data, size);
    try {
        zoo::LayerModel model = model_files::read_model(file.path());
        make_short(model.input.fields);
        make_short(model.layers);
        make_short(model.options);
        zoo::build(model, {}).check();
    } catch (const heddle::Error&) {
    }
    return 0;
}
