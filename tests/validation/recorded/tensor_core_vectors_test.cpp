#include "validation/recorded/tensor_core_vectors.h"

#include <unistd.h>

#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <random>

#include "isa/common/error.h"

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

const TensorCoreSeries& series_named(const std::string& name) {
    for (const TensorCoreSeries& series : tensor_core_series())
        if (series.name() == name) return series;
    throw std::logic_error("no series " + name);
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
    const auto root = std::filesystem::temp_directory_path() / ("heddle-vectors-" + std::to_string(getpid()));
    CHECK(tensor_core_folder(root).empty());
    for (const char* place : {"data/model_validation", "tensor_core/khattak_mikaitis"}) {
        std::filesystem::create_directories(root / place / "A100" / "fp16");
        CHECK(tensor_core_folder(root) == root / place);
    }
    std::filesystem::remove_all(root);
}

TEST_CASE("every recorded row of every series comes out of the definition") {
    const std::filesystem::path folder = recordings();
    if (folder.empty()) return;
    for (const TensorCoreSeries& series : tensor_core_series()) {
        const TensorCoreVectors vectors = read_tensor_core_vectors(folder, series);
        INFO(series.name());
        CHECK(vectors.rows() == 5000);
        CHECK(count_equal(vectors, model_of(series.parameters())) == 5000);
    }
}

TEST_CASE("the matrix multiplication gives the recorded results too") {
    const std::filesystem::path folder = recordings();
    if (folder.empty()) return;
    for (const TensorCoreSeries& series : tensor_core_series()) {
        const TensorCoreVectors vectors = read_tensor_core_vectors(folder, series);
        INFO(series.name());
        for (const Implementation implementation : {Implementation::portable, Implementation::automatic})
            CHECK(count_equal(vectors, multiplication_of(series.parameters(), implementation)) == 5000);
    }
}

TEST_CASE("wrong models do not match the recordings, each as badly as expected") {
    const std::filesystem::path folder = recordings();
    if (folder.empty()) return;
    const TensorCoreVectors fp16 = read_tensor_core_vectors(folder, series_named("H100 fp16 -> fp32"));
    DotProductParameters fewer_bits = series_named("H100 fp16 -> fp32").parameters();
    fewer_bits.alignment_fraction_bits = 24;
    DotProductParameters shorter_blocks = series_named("H100 fp16 -> fp32").parameters();
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
    for (const TensorCoreSeries& series : tensor_core_series()) {
        const TensorCoreVectors vectors = read_tensor_core_vectors(folder, series);
        const DotProductParameters right = series.parameters();
        INFO(series.name());
        const auto rejects = [&](const DotProductParameters& wrong) {
            return count_equal(vectors, model_of(wrong)) < 4900;
        };
        // fp16 results are too coarse for F; H100's tf32 rows of four products fit into a block of any
        // length.
        if (series.output == Format::fp32) {
            DotProductParameters fewer_bits = right, more_bits = right;
            --fewer_bits.alignment_fraction_bits;
            ++more_bits.alignment_fraction_bits;
            CHECK(rejects(fewer_bits));
            CHECK(rejects(more_bits));
        }
        if (series.name() != "H100 tf32 -> fp32") {
            DotProductParameters shorter = right;
            shorter.block_length /= 2;
            CHECK(rejects(shorter));
        }
        if (right.result_fraction_bits != 13) {
            DotProductParameters other_rounding = right;
            other_rounding.rounding =
                right.rounding == Rounding::toward_zero ? Rounding::nearest_even : Rounding::toward_zero;
            CHECK(rejects(other_rounding));
        }
        if (traits(series.input).storage_bits == 8) {
            const Instruction other =
                series.instruction == Instruction::wgmma ? Instruction::mma_sync : Instruction::wgmma;
            CHECK(rejects(parameters_for(series.generation, series.input, series.output, other)));
        }
    }
}

TEST_CASE("fp8 by mma.sync takes the products of k mod 4 in {0, 1} first, not the first sixteen") {
    const std::filesystem::path folder = recordings();
    if (folder.empty()) return;
    for (const char* name : {"H100 e4m3 -> fp16", "H100 e5m2 -> fp16"}) {
        const TensorCoreSeries& series = series_named(name);
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
        INFO(name);
        CHECK(count_equal(vectors, contiguous) < 4900);
    }
}

TEST_CASE("damaged and missing recordings are errors that name the file and the line") {
    const std::filesystem::path folder = std::filesystem::temp_directory_path() /
                                         ("heddle-recordings-" + std::to_string(std::random_device{}()));
    const TensorCoreSeries& series = series_named("A100 tf32 -> fp32");
    const std::filesystem::path here = folder / series.device / series.folder;
    std::filesystem::remove_all(folder);
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
    std::filesystem::remove_all(folder);
}
