// libFuzzer: any bytes as a section of a capture, beside a manifest that is right.
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include "isa/common/error.h"
#include "validation/read/recorded_capture.h"

namespace fs = std::filesystem;

namespace {

/// The first line is the manifest, the others are the section's records.
void write_capture(const fs::path& folder, const std::string& text) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::ofstream(folder / "manifest.json") << text.substr(0, end);
    std::ofstream(folder / "numerics.jsonl") << (end < text.size() ? text.substr(end + 1) : "");
    std::ofstream(folder / "numerics.bin") << "xyz12";
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const fs::path folder = [] {
        const fs::path made =
            fs::temp_directory_path() / ("heddle-fuzz-capture-" + std::to_string(::getpid()));
        fs::create_directories(made);
        return made;
    }();
    write_capture(folder, {reinterpret_cast<const char*>(data), size});
    try {
        const heddle::validation::RecordedCapture capture(folder, true);
        capture.device_name();
        capture.compute_capability();
        capture.preset();
        for (const std::string& section : capture.sections()) capture.section(section);
    } catch (const heddle::Error&) {
    }
    return 0;
}
