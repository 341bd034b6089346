#include "validation/recorded/tensor_core_vectors.h"

#include <bit>
#include <fstream>
#include <sstream>

#include "isa/common/error.h"

namespace heddle::validation {
namespace {

using numerics::Format;
using numerics::Generation;
using numerics::Instruction;

constexpr TensorCoreSeries kSeries[] = {
    {"H100", "fp16", Format::fp16, Format::fp32, Generation::hopper},
    {"H100", "fp16", Format::fp16, Format::fp16, Generation::hopper},
    {"H100", "bf16", Format::bf16, Format::fp32, Generation::hopper},
    {"H100", "tf32", Format::tf32, Format::fp32, Generation::hopper},
    {"H100", "E4M3", Format::e4m3, Format::fp32, Generation::hopper, Instruction::wgmma, true},
    {"H100", "E4M3", Format::e4m3, Format::fp16, Generation::hopper},
    {"H100", "E5M2", Format::e5m2, Format::fp32, Generation::hopper, Instruction::wgmma, true},
    {"H100", "E5M2", Format::e5m2, Format::fp16, Generation::hopper},
    {"A100", "fp16", Format::fp16, Format::fp32, Generation::ampere},
    {"A100", "fp16", Format::fp16, Format::fp16, Generation::ampere},
    {"A100", "bf16", Format::bf16, Format::fp32, Generation::ampere},
    {"A100", "tf32", Format::tf32, Format::fp32, Generation::ampere},
};

/// A text file of numbers, one row per line.
class NumberFile {
  public:
    explicit NumberFile(std::filesystem::path path) : path_(std::move(path)), stream_(path_) {
        if (!stream_)
            throw Error("cannot open a recording of a tensor core", {path_.string()},
                        "git clone https://github.com/north-numerical-computing/MATLAB-tensor-core");
    }

    /// The numbers of the next line, written in `base`; false at the end of the file.
    bool next_row(int base, std::vector<std::uint32_t>& numbers) {
        numbers.clear();
        std::string text;
        if (!std::getline(stream_, text)) return false;
        ++line_;
        std::istringstream words(text);
        for (std::string word; words >> word;) {
            std::size_t used = 0;
            unsigned long value = 0;
            try {
                value = std::stoul(word, &used, base);
            } catch (const std::logic_error&) {
                used = 0;
            }
            if (used != word.size() || value > 0xFFFFFFFFul) fail("'" + word + "' is not a 32-bit number");
            numbers.push_back(static_cast<std::uint32_t>(value));
        }
        return true;
    }

    [[noreturn]] void fail(const std::string& problem) const {
        throw Error(problem, {path_.string(), line_}, "the file is damaged; get it again");
    }

  private:
    std::filesystem::path path_;
    std::ifstream stream_;
    std::int64_t line_ = 0;
};

/// Files hold fp32 numbers; they are exact in the format that they stand for.
std::uint32_t exactly(Format format, std::uint32_t fp32_bits, const NumberFile& file) {
    const float value = std::bit_cast<float>(fp32_bits);
    const std::uint32_t bits = numerics::from_float(format, value);
    if (std::bit_cast<std::uint32_t>(numerics::to_float(format, bits)) != fp32_bits)
        file.fail("a number is not one of " + std::string(numerics::traits(format).name));
    return bits;
}

/// Rows of operands, all equally long. Returns that length.
std::size_t read_operands(const std::filesystem::path& path, Format format,
                          std::vector<std::uint32_t>& operands) {
    NumberFile file(path);
    std::vector<std::uint32_t> row;
    std::size_t length = 0;
    while (file.next_row(16, row)) {
        if (row.empty() || (length != 0 && row.size() != length)) file.fail("a row of another length");
        length = row.size();
        for (const std::uint32_t bits : row) operands.push_back(exactly(format, bits, file));
    }
    return length;
}

std::string lower(std::string text) {
    for (char& letter : text)
        letter = static_cast<char>(letter >= 'A' && letter <= 'Z' ? letter - 'A' + 'a' : letter);
    return text;
}

}  // namespace

std::string TensorCoreSeries::name() const {
    return std::string(device) + " " + lower(folder) + " -> " + numerics::traits(output).name;
}

numerics::DotProductParameters TensorCoreSeries::parameters() const {
    return numerics::parameters_for(generation, input, output, instruction);
}

std::span<const TensorCoreSeries> tensor_core_series() {
    return kSeries;
}

std::filesystem::path tensor_core_folder(const std::filesystem::path& data) {
    for (const char* place : {"tensor_core/khattak_mikaitis", "data/model_validation", "model_validation"}) {
        std::filesystem::path folder = data / place;
        std::error_code ignored;
        if (std::filesystem::is_directory(folder / "H100", ignored) ||
            std::filesystem::is_directory(folder / "A100", ignored))
            return folder;
    }
    return {};
}

TensorCoreVectors read_tensor_core_vectors(const std::filesystem::path& folder,
                                           const TensorCoreSeries& series) {
    const std::filesystem::path here = folder / series.device / series.folder;
    const std::string middle = std::string("_") + series.device + "_";
    TensorCoreVectors vectors;
    vectors.k = read_operands(here / ("a" + middle + series.folder + ".txt"), series.input, vectors.a);
    const NumberFile b_file(here / ("b" + middle + series.folder + ".txt"));
    if (read_operands(here / ("b" + middle + series.folder + ".txt"), series.input, vectors.b) != vectors.k ||
        vectors.a.size() != vectors.b.size())
        b_file.fail("A and B differ in shape");

    NumberFile c_file(here / ("c" + middle + "fp32.txt"));
    NumberFile d_file(here / ("d" + middle + numerics::traits(series.output).name + ".txt"));
    std::vector<std::uint32_t> c, d;
    while (d_file.next_row(2, d)) {
        if (!c_file.next_row(2, c) || c.size() != 1 || d.size() != 1) d_file.fail("C and D differ in shape");
        // C is recorded in fp32; an fp16 operation was given it rounded to nearest even.
        const float addend = series.addend_is_zero ? 0.0f : std::bit_cast<float>(c[0]);
        vectors.c.push_back(numerics::from_float(series.output, addend));
        vectors.d.push_back(exactly(series.output, d[0], d_file));
    }
    if (vectors.rows() == 0 || vectors.rows() * vectors.k != vectors.a.size())
        d_file.fail("A and D differ in rows");
    return vectors;
}

std::size_t count_equal(const TensorCoreVectors& vectors, const TensorCoreModel& model) {
    std::size_t equal = 0;
    for (std::size_t row = 0; row < vectors.rows(); ++row) {
        const std::span<const std::uint32_t> a{vectors.a.data() + row * vectors.k, vectors.k};
        const std::span<const std::uint32_t> b{vectors.b.data() + row * vectors.k, vectors.k};
        if (model(a, b, vectors.c[row]) == vectors.d[row]) ++equal;
    }
    return equal;
}

}  // namespace heddle::validation
