// .tracez files, written here by the format's rules, against the same trace as text.
#include <zstd.h>

#include <catch2/catch.hpp>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <random>

#include "isa/common/error.h"
#include "workloads/sass_traces/trace_reader.h"
#include "workloads/sass_traces/tracez_bytes.h"

using namespace heddle;
using namespace heddle::sass;

namespace {

const std::string kHeader =
    "-kernel name = vector_add\n-kernel id = 7\n-grid dim = (2,1,1)\n-block dim = (64,1,1)\n-shmem = "
    "0\n-nregs = 12\n"
    "-binary version = 90\n-accelsim tracer version = 5\n-enable lineinfo = 0\n";

std::string line(unsigned i) {
    char text[80];
    std::snprintf(text, sizeof text, "%04x ffffffff 1 R%u LDG.E 1 R4 4 1 0x%x 4 0\n", i % 50 * 16, i % 50,
                  4096 + i * 128);
    return text;
}

template <typename Integer>
void put(std::string& to, Integer value) {
    to.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

std::string compressed(const std::string& text, const std::string& dictionary) {
    std::string out(ZSTD_compressBound(text.size()), '\0');
    ZSTD_CCtx* const context = ZSTD_createCCtx();
    out.resize(ZSTD_compress_usingDict(context, out.data(), out.size(), text.data(), text.size(),
                                       dictionary.data(), dictionary.size(), 3));
    ZSTD_freeCCtx(context);
    return out;
}

/// Two thread blocks of two warps, 120 instructions each, in chunks of 50.
std::string tracez(const std::string& dictionary) {
    constexpr std::uint32_t kInstructions = 120, kChunk = 50;
    std::string file = kHeader + '\0', index;
    put<std::uint32_t>(file, static_cast<std::uint32_t>(dictionary.size()));
    put<std::uint32_t>(file, kChunk);
    file += dictionary;
    put<std::uint32_t>(index, 2);
    for (std::uint32_t block = 0; block < 2; ++block) {
        for (const std::uint32_t word : {block, 0u, 0u, block, 0u, 0u, 0u, 0u, 0u, 0u, 2u}) put(index, word);
        for (unsigned warp = 0; warp < 2; ++warp) {
            put(index, kInstructions);
            put<std::uint32_t>(index, 3);
            put<std::uint64_t>(index, file.size());
            put(file, kInstructions);
            put<std::uint32_t>(file, 3);
            for (std::uint32_t first = 0; first < kInstructions; first += kChunk) {
                const std::uint32_t count = std::min(kChunk, kInstructions - first);
                put(index, count);
                std::string text;
                for (std::uint32_t i = first; i < first + count; ++i) text += line(i);
                const std::string frame = compressed(text, dictionary);
                put(file, static_cast<std::uint32_t>(frame.size()));
                file += frame;
            }
        }
    }
    const std::uint64_t at = file.size();
    file += index;
    put(file, at);
    return file;
}

class File {
  public:
    File() : path(std::filesystem::temp_directory_path() / "heddle-test.tracez") {}
    ~File() { std::filesystem::remove(path); }
    void write(const std::string& bytes) const { std::ofstream(path, std::ios::binary) << bytes; }
    const std::string path;
};

/// Steps, or 0 with an error.
std::uint64_t steps_of(const std::string& path) {
    try {
        TraceReader reader(path);
        std::uint64_t steps = 0;
        while (const auto block = reader.next())
            for (const WarpTrace& warp : block->warps) steps += warp.steps.size();
        return steps;
    } catch (const Error&) {
        return 0;
    }
}

}  // namespace

TEST_CASE("A .tracez is read as the text that it holds") {
    const File file;
    for (const std::string& dictionary : {std::string(), line(1) + line(2) + line(3)}) {
        file.write(tracez(dictionary));
        TraceReader reader(file.path);
        CHECK(reader.header().name == "vector_add");
        for (unsigned block = 0; block < 2; ++block) {
            const auto read = reader.next();
            REQUIRE(read);
            CHECK(read->position.x == block);
            REQUIRE(read->warps.size() == 2);
            for (unsigned warp = 0; warp < 2; ++warp) {
                CHECK(read->warps[warp].warp == warp);
                REQUIRE(read->warps[warp].steps.size() == 120);
                for (unsigned i = 0; i < 120; ++i)
                    CHECK(read->warps[warp].addresses[32 * i + 1] == 4096 + i * 128 + 4);
            }
        }
        CHECK_FALSE(reader.next());
        CHECK(reader.instructions().size() == 50);
    }
}

TEST_CASE("Damaged .tracez files are errors") {
    const File file;
    const std::string good = tracez(line(1));
    for (std::size_t length = 0; length < good.size(); length += 41) {
        file.write(good.substr(0, length));
        CHECK(steps_of(file.path) == 0);
    }
    std::mt19937 random(3);
    unsigned refused = 0;
    for (unsigned round = 0; round < 400; ++round) {
        std::string bad = good;
        bad[random() % bad.size()] = static_cast<char>(random());
        file.write(bad);
        refused += steps_of(file.path) == 0 ? 1 : 0;
    }
    CHECK(refused > 180);
}
