// libFuzzer: any bytes as each of the tables that `heddle validate` reads.
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>

#include "isa/common/error.h"
#include "validation/compare/attention_table.h"
#include "validation/compare/collective_table.h"
#include "validation/compare/gemm_table.h"
#include "validation/compare/training_table.h"

namespace fs = std::filesystem;

namespace {

/// A file that goes when the program ends.
struct TemporaryFile {
    const fs::path path =
        fs::temp_directory_path() / ("heddle-fuzz-table-" + std::to_string(::getpid()) + ".csv");
    ~TemporaryFile() {
        std::error_code ignored;
        fs::remove(path, ignored);
    }
};

template <typename Read>
void refuse_or_read(Read read) {
    try {
        read();
    } catch (const heddle::Error&) {
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const TemporaryFile temporary;
    const fs::path& file = temporary.path;
    std::ofstream(file, std::ios::binary)
        .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
    namespace validation = heddle::validation;
    refuse_or_read([&] { validation::read_attention_table(file); });
    refuse_or_read([&] { validation::read_collective_table(file); });
    refuse_or_read([&] { validation::read_gemm_table(file, "us"); });
    refuse_or_read([&] { validation::read_training_table(file); });
    return 0;
}
