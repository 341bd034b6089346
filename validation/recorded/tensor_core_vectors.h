// Inputs and outputs of single tensor-core operations, recorded on real GPUs by F. A. Khattak and M. Mikaitis
// (github.com/north-numerical-computing/MATLAB-tensor-core, data/model_validation, BSD-2; arXiv 2512.07004).
// The files are not part of this project; they are read where the user has them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "isa/numerics/dot_product_unit.h"

namespace heddle::validation {

/// One recorded series. Files lie in <device>/<folder>/ of tensor_core_folder().
struct TensorCoreSeries {
    std::string device;  ///< "H100", "V100"
    std::string folder;  ///< "fp16", "bf16", "tf32", "E4M3", "E5M2"
    numerics::Format input;
    numerics::Format output;
    numerics::Generation generation;
    /// How the device was driven. fp8 to fp32 on the H100 and the H200 was taken by wgmma with C = 0, all
    /// else by mma.sync.
    numerics::Instruction instruction = numerics::Instruction::mma_sync;
    bool addend_is_zero = false;

    std::string name() const;  ///< such as "H100 fp16 -> fp32"
    numerics::DotProductParameters parameters() const;
};

/// The series of a device, a type of operands and a type of results, as folders and files are called: "H100",
/// "E4M3", "fp32". Throws std::invalid_argument, saying why, where no model can be held to it.
TensorCoreSeries tensor_core_series(const std::string& device, const std::string& folder,
                                    const std::string& output);

/// What lies in a folder of recordings.
struct FoundTensorCoreSeries {
    /// A series that cannot be compared.
    struct Skipped {
        std::string device, name;  ///< "H100", "H100 fp4 -> fp32"
        std::string reason;
    };
    std::vector<TensorCoreSeries> series;  ///< by the age of their devices
    std::vector<Skipped> skipped;
    /// Series without results there that the known devices could have: "A2", "L40S e4m3 -> fp16".
    std::vector<std::string> absent;
};

/// Looks through `folder`, the result of tensor_core_folder(). Operands are not read yet.
FoundTensorCoreSeries find_tensor_core_series(const std::filesystem::path& folder);

/// The rows of a series as raw bits: A and B in the input format, C (already rounded to the output format, or
/// zero) and D in the output format.
struct TensorCoreVectors {
    std::size_t k = 0;                ///< products per row: 16, 8, 4 or 32
    std::vector<std::uint32_t> a, b;  ///< rows x k
    std::vector<std::uint32_t> c, d;  ///< rows
    std::size_t rows() const { return d.size(); }
};

/// The folder of the recordings under a data folder, which may be a copy of their repository; an empty path
/// when there is none.
std::filesystem::path tensor_core_folder(const std::filesystem::path& data);

/// Reads a series from `folder`, the result of tensor_core_folder(). Throws heddle::Error on a missing file,
/// a malformed or missing number, or an operand that is not a number of the input format.
TensorCoreVectors read_tensor_core_vectors(const std::filesystem::path& folder,
                                           const TensorCoreSeries& series);

/// What a model makes of one row; raw bits of the output format.
using TensorCoreModel = std::function<std::uint32_t(std::span<const std::uint32_t> a,
                                                    std::span<const std::uint32_t> b, std::uint32_t c)>;

/// Rows in which the model gives the recorded bits.
std::size_t count_equal(const TensorCoreVectors& vectors, const TensorCoreModel& model);

}  // namespace heddle::validation
