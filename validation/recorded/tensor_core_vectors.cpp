#include "validation/recorded/tensor_core_vectors.h"

#include <algorithm>
#include <bit>
#include <fstream>
#include <set>
#include <sstream>
#include <stdexcept>

#include "isa/common/error.h"

namespace heddle::validation {
namespace {

using numerics::Format;
using numerics::Generation;
using numerics::Instruction;

/// The devices that were recorded, the oldest first. "Ada" is an RTX 1000.
struct RecordedDevice {
    const char* name;
    Generation generation;
    Instruction fp8_to_fp32 = Instruction::mma_sync;
};
const RecordedDevice kDevices[] = {
    {"V100", Generation::volta},
    {"A2", Generation::ampere},
    {"A100", Generation::ampere},
    {"Ada", Generation::ada},
    {"L40S", Generation::ada},
    {"H100", Generation::hopper, Instruction::wgmma},
    {"H200", Generation::hopper, Instruction::wgmma},
    {"B200", Generation::blackwell},
};

/// Names of folders, or of results.
struct RecordedType {
    const char* name;
    Format format;
};
constexpr RecordedType kInputs[] = {{"fp16", Format::fp16},
                                    {"bf16", Format::bf16},
                                    {"tf32", Format::tf32},
                                    {"E4M3", Format::e4m3},
                                    {"E5M2", Format::e5m2}};
constexpr RecordedType kOutputs[] = {{"fp32", Format::fp32}, {"fp16", Format::fp16}};

/// The entry of that name. Throws std::invalid_argument with `problem` and the names that are known.
template <typename Entry, std::size_t kCount>
const Entry& entry_of(const Entry (&table)[kCount], const std::string& name, const std::string& problem) {
    std::string known;
    for (const Entry& entry : table) {
        if (name == entry.name) return entry;
        known += (known.empty() ? "" : ", ") + std::string(entry.name);
    }
    throw std::invalid_argument(problem + " (known: " + known + ")");
}

std::string lower(std::string text) {
    for (char& letter : text)
        letter = static_cast<char>(letter >= 'A' && letter <= 'Z' ? letter - 'A' + 'a' : letter);
    return text;
}

std::string series_name(const std::string& device, const std::string& folder, const std::string& output) {
    return device + " " + lower(folder) + " -> " + output;
}

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

/// "a_H100_fp16.txt"
std::string file_name(char operand, const std::string& device, const std::string& type) {
    return std::string(1, operand) + "_" + device + "_" + type + ".txt";
}

std::vector<std::string> names_in(const std::filesystem::path& folder, bool directories) {
    std::vector<std::string> names;
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(folder, ignored))
        if (entry.is_directory(ignored) == directories) names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
}

/// Those of the table in its order, then the others.
template <typename Entry, std::size_t kCount>
std::vector<std::string> known_first(const Entry (&table)[kCount], std::vector<std::string> names) {
    std::vector<std::string> sorted;
    for (const Entry& entry : table)
        if (std::erase(names, entry.name) > 0) sorted.emplace_back(entry.name);
    sorted.insert(sorted.end(), names.begin(), names.end());
    return sorted;
}

/// The series of one folder of results.
void find_in(const std::filesystem::path& folder, const std::string& device, const std::string& type,
             FoundTensorCoreSeries& found) {
    const std::filesystem::path here = folder / device / type;
    const std::string prefix = "d_" + device + "_", ending = ".txt";
    bool any = false;
    for (const std::string& file : names_in(here, false)) {
        if (!file.starts_with("d_") || !file.ends_with(ending)) continue;
        any = true;
        if (!file.starts_with(prefix)) {
            found.skipped.push_back(
                {device, device + " " + lower(type), file + " is called after another device"});
            continue;
        }
        const std::string output = file.substr(prefix.size(), file.size() - prefix.size() - ending.size());
        try {
            TensorCoreSeries series = tensor_core_series(device, type, output);
            for (const std::string& operands :
                 {file_name('a', device, type), file_name('b', device, type), file_name('c', device, "fp32")})
                if (!std::filesystem::is_regular_file(here / operands))
                    throw std::invalid_argument(operands + " is not there");
            found.series.push_back(std::move(series));
        } catch (const std::invalid_argument& problem) {
            found.skipped.push_back({device, series_name(device, type, output), problem.what()});
        }
    }
    if (!any) found.skipped.push_back({device, device + " " + lower(type), "it has no results (d_*.txt)"});
}

/// Devices and series of which nothing was found.
std::vector<std::string> absent_from(const FoundTensorCoreSeries& found) {
    std::set<std::string> there;
    for (const TensorCoreSeries& each : found.series) there.insert({each.device, each.name()});
    for (const FoundTensorCoreSeries::Skipped& each : found.skipped) there.insert({each.device, each.name});
    std::vector<std::string> absent;
    for (const RecordedDevice& device : kDevices) {
        if (!there.contains(device.name)) {
            absent.emplace_back(device.name);
            continue;
        }
        for (const RecordedType& input : kInputs) {
            for (const RecordedType& output : kOutputs) {
                const std::string name = series_name(device.name, input.name, output.name);
                if (there.contains(name)) continue;
                try {
                    tensor_core_series(device.name, input.name, output.name);
                    absent.push_back(name);
                } catch (const std::invalid_argument&) {  // the device does not multiply so
                }
            }
        }
    }
    return absent;
}

}  // namespace

std::string TensorCoreSeries::name() const {
    return series_name(device, folder, numerics::traits(output).name);
}

numerics::DotProductParameters TensorCoreSeries::parameters() const {
    return numerics::parameters_for(generation, input, output, instruction);
}

TensorCoreSeries tensor_core_series(const std::string& device, const std::string& folder,
                                    const std::string& output) {
    const RecordedDevice& on = entry_of(kDevices, device, "the generation of its device is not known");
    const Format from = entry_of(kInputs, folder, "the type of its operands is not known").format;
    const Format to = entry_of(kOutputs, output, "the type of its results is not known").format;
    TensorCoreSeries series{device, folder, from, to, on.generation};
    if (numerics::traits(from).storage_bits == 8 && to == Format::fp32) series.instruction = on.fp8_to_fp32;
    series.addend_is_zero = series.instruction == Instruction::wgmma;
    series.parameters();  // throws where there is no such operation
    return series;
}

FoundTensorCoreSeries find_tensor_core_series(const std::filesystem::path& folder) {
    FoundTensorCoreSeries found;
    // A folder without folders of types is no device: the repository has its programs there too.
    for (const std::string& device : known_first(kDevices, names_in(folder, true)))
        for (const std::string& type : known_first(kInputs, names_in(folder / device, true)))
            find_in(folder, device, type, found);
    found.absent = absent_from(found);
    return found;
}

std::filesystem::path tensor_core_folder(const std::filesystem::path& data) {
    for (const char* place : {"tensor_core/khattak_mikaitis", "data/model_validation", "model_validation"}) {
        const std::filesystem::path folder = data / place;
        std::error_code ignored;
        for (const RecordedDevice& device : kDevices)
            if (std::filesystem::is_directory(folder / device.name, ignored)) return folder;
    }
    return {};
}

TensorCoreVectors read_tensor_core_vectors(const std::filesystem::path& folder,
                                           const TensorCoreSeries& series) {
    const std::filesystem::path here = folder / series.device / series.folder;
    const auto path = [&](char operand, const std::string& type) {
        return here / file_name(operand, series.device, type);
    };
    TensorCoreVectors vectors;
    vectors.k = read_operands(path('a', series.folder), series.input, vectors.a);
    const NumberFile b_file(path('b', series.folder));
    if (read_operands(path('b', series.folder), series.input, vectors.b) != vectors.k ||
        vectors.a.size() != vectors.b.size())
        b_file.fail("A and B differ in shape");

    NumberFile c_file(path('c', "fp32"));
    NumberFile d_file(path('d', numerics::traits(series.output).name));
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
