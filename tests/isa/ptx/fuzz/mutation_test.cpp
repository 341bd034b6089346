// Mutated text never does more harm than an error.
#include "mutation.h"

#include <catch2/catch.hpp>

#include "../launch.h"

using namespace heddle::ptx::test;

namespace {

// Kernels of the kept PTX files that are short enough to be loaded thousands of times.
std::vector<std::string> samples() {
    constexpr std::size_t kLongest = 16000;
    const std::string folder = std::string(HEDDLE_SOURCE_DIR) + "/tests/isa/ptx/";
    std::vector<std::string> result;
    for (const char* file : {"cuda/kernels.ptx", "cuda/features.ptx", "cuda/sort.ptx", "cuda/sparse.ptx",
                             "cuda/warps.ptx", "fuzz/declarations.ptx", "cuda/source_lines.ptx"}) {
        for (std::string& text : split_kernels(read_text(folder + file))) {
            // Some kernels call functions that come later.
            if (text.size() <= kLongest && load_all(text)) result.push_back(std::move(text));
        }
    }
    return result;
}

}  // namespace

TEST_CASE("Mutated text never does more harm than an error", "[ptx][fuzz]") {
    const std::vector<std::string> texts = samples();
    REQUIRE(texts.size() > 20);
    std::mt19937 generator(20240607);
    const auto pick = [&] {
        return std::uniform_int_distribution<std::size_t>(0, texts.size() - 1)(generator);
    };
    unsigned loaded = 0, refused = 0;
    for (int round = 0; round < 4000; ++round) {
        const std::string mutated = mutate(texts[pick()], texts[pick()], generator);
        (load_all(mutated) ? loaded : refused)++;
    }
    // Changes in numbers, comments and register names leave correct text; most others must be noticed.
    CHECK(refused > 2000);
    CHECK(loaded > 200);
}
