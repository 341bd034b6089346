#include "validation/recorded/tensor_core_vectors.h"

#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <random>

#include "isa/common/error.h"
#include "isa/target/generation.h"

using namespace heddle;
using namespace heddle::numerics;
using namespace heddle::validation;

namespace {

/// Empty, with a line on the standard output, where the recordings are not.
std::filesystem::path recordings() {
    const char* variable = std::getenv("HEDDLE_DATA");
    const std::filesystem::path data =
        variable != nullptr ? std::filesystem::path(variable)
                            : std::filesystem::path(HEDDLE_SOURCE_DIR) / ".." / "shared" / "data";
    const std::filesystem::path folder = tensor_core_folder(data);
    if (folder.empty()) std::cout << "skipped: no tensor core recordings under " << data << "\n";
    return folder;
}

/// A folder of its own, removed at the end.
class RecordingsFolder {
  public:
    RecordingsFolder()
        : path_(std::filesystem::temp_directory_path() /
                ("heddle-recordings-" + std::to_string(std::random_device{}()))) {
        std::filesystem::create_directories(path_);
    }
    ~RecordingsFolder() { std::filesystem::remove_all(path_); }
    RecordingsFolder(const RecordingsFolder&) = delete;
    RecordingsFolder& operator=(const RecordingsFolder&) = delete;
    const std::filesystem::path& path() const { return path_; }
    void write(const std::string& file, const std::string& text) const {
        std::filesystem::create_directories((path_ / file).parent_path());
        std::ofstream(path_ / file) << text;
    }
    /// A series of one row, 1 * 2 + 0 = 2, with results in these formats.
    void write_series(const std::string& device, const std::string& type,
                      const std::vector<std::string>& results) const {
        const std::string here = device + "/" + type + "/";
        write(here + "a_" + device + "_" + type + ".txt", "3f800000\n");
        write(here + "b_" + device + "_" + type + ".txt", "40000000\n");
        write(here + "c_" + device + "_fp32.txt", std::string(32, '0') + "\n");
        for (const std::string& result : results)
            write(here + "d_" + device + "_" + result + ".txt", "01" + std::string(30, '0') + "\n");
    }

  private:
    std::filesystem::path path_;
};

std::vector<std::string> names_of(const std::vector<TensorCoreSeries>& series) {
    std::vector<std::string> names;
    for (const TensorCoreSeries& each : series) names.push_back(each.name());
    return names;
}

TensorCoreModel model_of(const DotProductParameters& parameters) {
    return [parameters](auto a, auto b, auto c) { return dot_product(parameters, a, b, c); };
}

TensorCoreModel multiplication_of(const DotProductParameters& parameters, Implementation implementation) {
    return [=](std::span<const std::uint32_t> a, std::span<const std::uint32_t> b,
               std::uint32_t c) -> std::uint32_t {
        const auto run = [&]<typename Input, typename Output>(Input, Output c_typed) {
            const std::vector<Input> typed_a(a.begin(), a.end()), typed_b(b.begin(), b.end());
            Output d;
            matrix_multiply_accumulate(parameters, 1, 1, a.size(), typed_a.data(), typed_b.data(), &c_typed,
                                       &d, implementation);
            return d;
        };
        const auto run_for = [&]<typename Input>(Input input) -> std::uint32_t {
            if (parameters.output == Format::fp16) return run(input, static_cast<std::uint16_t>(c));
            return std::bit_cast<std::uint32_t>(run(input, std::bit_cast<float>(c)));
        };
        switch (traits(parameters.input).storage_bits) {
            case 8:
                return run_for(std::uint8_t{});
            case 16:
                return run_for(std::uint16_t{});
            default:
                return run_for(std::uint32_t{});
        }
    };
}

/// What a scalar fp32 unit would do, k ascending.
std::uint32_t chain_of_fma(std::span<const std::uint32_t> a, std::span<const std::uint32_t> b,
                           std::uint32_t c) {
    float sum = std::bit_cast<float>(c);
    for (std::size_t k = 0; k < a.size(); ++k)
        sum = std::fma(to_float(Format::fp16, a[k]), to_float(Format::fp16, b[k]), sum);
    return std::bit_cast<std::uint32_t>(sum);
}

/// Nearly the exact sum, rounded to nearest.
std::uint32_t double_rounded_once(std::span<const std::uint32_t> a, std::span<const std::uint32_t> b,
                                  std::uint32_t c) {
    double sum = std::bit_cast<float>(c);
    for (std::size_t k = 0; k < a.size(); ++k)
        sum += to_double(Format::fp16, a[k]) * to_double(Format::fp16, b[k]);
    return std::bit_cast<std::uint32_t>(static_cast<float>(sum));
}

double per_cent(std::size_t equal, const TensorCoreVectors& vectors) {
    return 100.0 * static_cast<double>(equal) / static_cast<double>(vectors.rows());
}

}  // namespace

TEST_CASE("recordings are found in a copy of their repository, and in a folder of data") {
    for (const char* place : {"model_validation", "data/model_validation", "tensor_core/khattak_mikaitis"}) {
        for (const char* device : {"A100", "B200", "V100"}) {
            const RecordingsFolder root;
            CHECK(tensor_core_folder(root.path()).empty());
            std::filesystem::create_directories(root.path() / place / device / "fp16");
            CHECK(tensor_core_folder(root.path()) == root.path() / place);
        }
    }
}

TEST_CASE("what lies in the folder decides what is compared, and the rest is told with a reason") {
    const RecordingsFolder root;
    root.write_series("V100", "fp16", {"fp32", "fp16"});
    root.write_series("V100", "bf16", {"fp32"});    // Volta has no bf16
    root.write_series("H100", "bf16", {"fp16"});    // bf16 gives fp32 alone
    root.write_series("H100", "E4M3", {"fp32"});    // by wgmma
    root.write_series("B200", "E4M3", {"fp32"});    // by mma.sync
    root.write_series("B200", "E2M1", {"fp32"});    // a type that is not known
    root.write_series("B200", "fp16", {"fp64"});    // results that are not known
    root.write_series("MI300X", "fp16", {"fp32"});  // a device that is not known
    root.write_series("L40S", "tf32", {});          // no results
    root.write_series("H200", "fp16", {"fp32"});
    std::filesystem::remove(root.path() / "H200" / "fp16" / "b_H200_fp16.txt");
    root.write_series("A2", "tf32", {});
    root.write("A2/tf32/d_A100_fp32.txt", "");
    root.write("CUDA/program.cu", "");  // no device
    const FoundTensorCoreSeries found = find_tensor_core_series(root.path());
    CHECK(names_of(found.series) == std::vector<std::string>{"V100 fp16 -> fp16", "V100 fp16 -> fp32",
                                                             "H100 e4m3 -> fp32", "B200 e4m3 -> fp32"});
    CHECK(found.series[2].instruction == Instruction::wgmma);
    CHECK(found.series[2].addend_is_zero);
    CHECK(found.series[3].instruction == Instruction::mma_sync);
    CHECK_FALSE(found.series[3].addend_is_zero);
    const std::pair<const char*, const char*> told[] = {
        {"V100 bf16 -> fp32", "no tensor core operation bf16 -> fp32 on Volta"},
        {"A2 tf32", "d_A100_fp32.txt is called after another device"},
        {"L40S tf32", "it has no results (d_*.txt)"},
        {"H100 bf16 -> fp16", "no tensor core operation bf16 -> fp16 on Hopper"},
        {"H200 fp16 -> fp32", "b_H200_fp16.txt is not there"},
        {"B200 fp16 -> fp64", "the type of its results is not known (known: fp32, fp16)"},
        {"B200 e2m1 -> fp32", "the type of its operands is not known (known: fp16, bf16, tf32, E4M3, E5M2)"},
        {"MI300X fp16 -> fp32",
         "the generation of its device is not known (known: V100, A2, A100, Ada, L40S, H100, H200, B200)"},
    };
    REQUIRE(found.skipped.size() == std::size(told));
    for (std::size_t i = 0; i < std::size(told); ++i) {
        CHECK(found.skipped[i].name == told[i].first);
        CHECK(found.skipped[i].reason == told[i].second);
        CHECK(found.skipped[i].name.starts_with(found.skipped[i].device));
    }
    // Nothing at all of a device, or of one of its series.
    const auto absent = [&](const std::string& name) {
        return std::count(found.absent.begin(), found.absent.end(), name) == 1;
    };
    CHECK(absent("A100"));
    CHECK(absent("Ada"));
    CHECK(absent("H100 fp16 -> fp32"));
    CHECK(absent("B200 e4m3 -> fp16"));
    CHECK_FALSE(absent("V100"));
    CHECK_FALSE(absent("V100 tf32 -> fp32"));
    CHECK_FALSE(absent("H200 fp16 -> fp32"));
    for (const TensorCoreSeries& series : found.series) {
        const TensorCoreVectors vectors = read_tensor_core_vectors(root.path(), series);
        CHECK(count_equal(vectors, model_of(series.parameters())) == 1);
    }
}

TEST_CASE("the public recordings: 48 series of eight devices, and none is skipped") {
    const std::filesystem::path folder = recordings();
    if (folder.empty()) return;
    const FoundTensorCoreSeries found = find_tensor_core_series(folder);
    std::map<std::string, int> counts;
    for (const TensorCoreSeries& series : found.series) ++counts[series.device];
    CHECK(counts == std::map<std::string, int>{{"V100", 2},
                                               {"A2", 4},
                                               {"A100", 4},
                                               {"Ada", 8},
                                               {"L40S", 6},
                                               {"H100", 8},
                                               {"H200", 8},
                                               {"B200", 8}});
    CHECK(found.skipped.empty());
    CHECK(found.absent == std::vector<std::string>{"L40S e4m3 -> fp16", "L40S e5m2 -> fp16"});
}

TEST_CASE("every recorded row of every series comes out of the definition") {
    const std::filesystem::path folder = recordings();
    if (folder.empty()) return;
    for (const TensorCoreSeries& series : find_tensor_core_series(folder).series) {
        const TensorCoreVectors vectors = read_tensor_core_vectors(folder, series);
        INFO(series.name());
        CHECK(vectors.rows() == 5000);
        CHECK(count_equal(vectors, model_of(series.parameters())) == 5000);
    }
}

TEST_CASE("the matrix multiplication gives the recorded results too") {
    const std::filesystem::path folder = recordings();
    if (folder.empty()) return;
    for (const TensorCoreSeries& series : find_tensor_core_series(folder).series) {
        const TensorCoreVectors vectors = read_tensor_core_vectors(folder, series);
        INFO(series.name());
        for (const Implementation implementation : {Implementation::portable, Implementation::automatic})
            CHECK(count_equal(vectors, multiplication_of(series.parameters(), implementation)) == 5000);
    }
}

TEST_CASE("wrong models do not match the recordings, each as badly as expected") {
    const std::filesystem::path folder = recordings();
    if (folder.empty()) return;
    const TensorCoreVectors fp16 =
        read_tensor_core_vectors(folder, tensor_core_series("H100", "fp16", "fp32"));
    DotProductParameters fewer_bits = tensor_core_series("H100", "fp16", "fp32").parameters();
    fewer_bits.alignment_fraction_bits = 24;
    DotProductParameters shorter_blocks = tensor_core_series("H100", "fp16", "fp32").parameters();
    shorter_blocks.block_length = 8;
    // Computed with another program on the same rows: 76, 69, 37 and 58 per cent.
    CHECK(per_cent(count_equal(fp16, model_of(fewer_bits)), fp16) == Approx(76).margin(0.6));
    CHECK(per_cent(count_equal(fp16, model_of(shorter_blocks)), fp16) == Approx(69).margin(0.5));
    CHECK(per_cent(count_equal(fp16, chain_of_fma), fp16) == Approx(37).margin(0.5));
    CHECK(per_cent(count_equal(fp16, double_rounded_once), fp16) == Approx(58).margin(0.5));
}

TEST_CASE("every series tells its parameters from their neighbours") {
    const std::filesystem::path folder = recordings();
    if (folder.empty()) return;
    for (const TensorCoreSeries& series : find_tensor_core_series(folder).series) {
        const TensorCoreVectors vectors = read_tensor_core_vectors(folder, series);
        const DotProductParameters right = series.parameters();
        INFO(series.name());
        const auto rejects = [&](const DotProductParameters& wrong) {
            return count_equal(vectors, model_of(wrong)) < 4900;
        };
        // fp16 results are too coarse for F; rows of four tf32 products fit into blocks of eight and four
        // alike; products of fp8 that mma.sync adds from C = 0 are exact in fp32, only C's addition rounds.
        const bool exact = right.unpacks_to_fp16 && series.output == Format::fp32;
        if (series.output == Format::fp32 && !exact) {
            DotProductParameters fewer_bits = right, more_bits = right;
            --fewer_bits.alignment_fraction_bits;
            ++more_bits.alignment_fraction_bits;
            CHECK(rejects(fewer_bits));
            CHECK(rejects(more_bits));
        }
        if (!exact && (series.input != Format::tf32 || right.block_length == 4)) {
            DotProductParameters shorter = right;
            shorter.block_length /= 2;
            CHECK(rejects(shorter));
        }
        if (!exact && right.result_fraction_bits != 13) {
            DotProductParameters other_rounding = right;
            other_rounding.rounding =
                right.rounding == Rounding::toward_zero ? Rounding::nearest_even : Rounding::toward_zero;
            CHECK(rejects(other_rounding));
        }
        if (traits(series.input).storage_bits == 8 && series.generation != Generation::ada) {
            const Instruction other = series.instruction == Instruction::wgmma     ? Instruction::mma_sync
                                      : series.generation == Generation::blackwell ? Instruction::tcgen05
                                                                                   : Instruction::wgmma;
            CHECK(rejects(parameters_for(series.generation, series.input, series.output, other)));
        }
    }
}

TEST_CASE("fp8 by mma.sync takes the products of k mod 4 in {0, 1} first, not the first sixteen") {
    const std::filesystem::path folder = recordings();
    if (folder.empty()) return;
    for (const TensorCoreSeries& series : find_tensor_core_series(folder).series) {
        if (!series.parameters().unpacks_to_fp16 || series.output != Format::fp16) continue;
        const TensorCoreVectors vectors = read_tensor_core_vectors(folder, series);
        // Reordered so that the instruction's own order makes two contiguous halves of it.
        const TensorCoreModel contiguous = [&](auto a, auto b, auto c) {
            std::vector<std::uint32_t> moved_a, moved_b;
            for (std::size_t k = 0; k < 32; ++k) {
                const std::size_t from = k % 4 / 2 * 16 + k / 4 * 2 + k % 2;
                moved_a.push_back(a[from]);
                moved_b.push_back(b[from]);
            }
            return dot_product(series.parameters(), moved_a, moved_b, c);
        };
        INFO(series.name());
        CHECK(count_equal(vectors, contiguous) < 4900);
    }
}

TEST_CASE("a B200's mma.sync in fp8 goes through fp16: its native path gives 12,954 of 20,000 rows") {
    const std::filesystem::path folder = recordings();
    if (folder.empty()) return;
    std::size_t rows = 0, by_mma_sync = 0, native = 0;
    for (const TensorCoreSeries& series : find_tensor_core_series(folder).series) {
        if (series.device != "B200" || traits(series.input).storage_bits != 8) continue;
        const TensorCoreVectors vectors = read_tensor_core_vectors(folder, series);
        rows += vectors.rows();
        by_mma_sync += count_equal(vectors, model_of(parameters_for(heddle::target::generation_of(100),
                                                                    series.input, series.output)));
        native +=
            count_equal(vectors, model_of(parameters_for(heddle::target::generation_of(100), series.input,
                                                         series.output, Instruction::tcgen05)));
    }
    CHECK(rows == 20000);
    CHECK(by_mma_sync == 20000);
    CHECK(native == 12954);
}

TEST_CASE("damaged and missing recordings are errors that name the file and the line") {
    const RecordingsFolder root;
    const std::filesystem::path& folder = root.path();
    const TensorCoreSeries series = tensor_core_series("A100", "tf32", "fp32");
    const std::filesystem::path here = folder / series.device / series.folder;
    std::filesystem::create_directories(here);
    const auto write = [&](const char* name, const char* text) { std::ofstream(here / name) << text; };
    CHECK_THROWS_WITH(read_tensor_core_vectors(folder, series), Catch::Contains("a_A100_tf32.txt"));

    write("a_A100_tf32.txt", "3f800000 3f800000\n40000000 3f800000\n");
    write("b_A100_tf32.txt", "3f800000 3f800000\n3f800000 3f800000\n");
    write("c_A100_fp32.txt", "00000000000000000000000000000000\n00000000000000000000000000000000\n");
    write("d_A100_fp32.txt", "01000000000000000000000000000000\n01000000010000000000000000000000\n");
    const TensorCoreVectors vectors = read_tensor_core_vectors(folder, series);
    CHECK(vectors.k == 2);
    CHECK(vectors.rows() == 2);
    CHECK(vectors.d[1] == 0x40400000u);
    CHECK(count_equal(vectors, model_of(series.parameters())) == 2);

    write("b_A100_tf32.txt", "3f800000 3f800000\n3f800000\n");
    CHECK_THROWS_WITH(read_tensor_core_vectors(folder, series), Catch::Contains("b_A100_tf32.txt:2"));
    write("b_A100_tf32.txt", "3f800000 3f80000z\n3f800000 3f800000\n");
    CHECK_THROWS_WITH(read_tensor_core_vectors(folder, series), Catch::Contains("3f80000z"));
    write("b_A100_tf32.txt", "3f800000 3f800001\n3f800000 3f800000\n");  // not a tf32 number
    CHECK_THROWS_WITH(read_tensor_core_vectors(folder, series), Catch::Contains("tf32"));
    write("b_A100_tf32.txt", "3f800000 3f800000\n3f800000 3f800000\n");
    write("d_A100_fp32.txt", "01000000000000000000000000000000\n");
    CHECK_THROWS_AS(read_tensor_core_vectors(folder, series), heddle::Error);
}
