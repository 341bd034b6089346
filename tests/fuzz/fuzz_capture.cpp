// libFuzzer: any bytes as a capture: the first line is the manifest, the others are a section's records.
#include "folder.h"
#include "validation/read/blas_record.h"
#include "validation/read/recorded_capture.h"
#include "validation/read/training_record.h"

using heddle::test::refuse_or_read;
namespace validation = heddle::validation;

namespace {

/// As each thing that comparisons take a record for.
void read_record(const validation::CapturedRecord& record) {
    const auto member = [&](const char* key, auto read) {
        if (record.values.contains(key)) refuse_or_read([&] { read(record, record.values[key], key); });
    };
    member("problem", validation::problem_of);
    member("algorithm", validation::algorithm_of);
    member("inputs", validation::inputs_of);
    refuse_or_read([&] { validation::tree_of(record); });
    refuse_or_read([&] { record.hexadecimal("hash"); });
    refuse_or_read([&] { record.number("value"); });
    refuse_or_read([&] { validation::training_of(record); });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const heddle::test::Folder folder("capture");
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const std::size_t end = std::min(text.find('\n'), text.size());
    folder.write("manifest.json", text.substr(0, end));
    folder.write("numerics.jsonl", text.substr(std::min(end + 1, text.size())));
    folder.write("numerics.bin", "xyz12");
    refuse_or_read([&] {
        const validation::RecordedCapture capture(folder.path(), true);
        capture.device_name();
        capture.compute_capability();
        capture.preset();
        for (const std::string& section : capture.sections())
            for (const validation::CapturedRecord& record : capture.section(section).records)
                read_record(record);
    });
    return 0;
}
