// A host program for the kernels of this folder: a module that nvcc printed, memory, launches. Every launch
// is first run in both modes beside each other on copies of the memory, then functionally.
#pragma once

#include <map>
#include <type_traits>

#include "../compare_modes.h"
#include "../launch.h"

namespace heddle::ptx::test {

class CudaGpu : public Device {
  public:
    /// `file` lies in this folder.
    explicit CudaGpu(const std::string& file)
        : file_(file), text_(read_text(std::string(HEDDLE_SOURCE_DIR) + "/tests/isa/ptx/cuda/" + file)) {}

    template <class T>
    std::uint64_t upload(const std::vector<T>& values) {
        return Device::upload("buffer " + std::to_string(++buffers_), values);
    }
    template <class T>
    std::uint64_t zeros(std::size_t count) {
        return upload(std::vector<T>(count));
    }

    /// Buffers are arguments of type std::uint64_t; the others must have the kernel's own types.
    template <class... Arguments>
    void run(const std::string& entry, Dim3 grid, Dim3 block, Arguments... arguments) {
        const std::vector<std::vector<std::byte>> bytes = {argument(arguments)...};
        const Program& kernel = program(entry);
        INFO(file_ << ": " << entry);
        if (compares_modes) {
            Device functional = *this, timing = *this;
            const ModeComparison result = compare_modes(
                kernel.launch(functional, grid, block, bytes, Mode::functional, dynamic_shared_bytes),
                kernel.launch(timing, grid, block, bytes, Mode::timing, dynamic_shared_bytes));
            CHECK(result.differences == 0);
            CHECK(result.steps > 0);
        }
        kernel.run(*this, grid, block, bytes, dynamic_shared_bytes);
    }

    const Program& program(const std::string& entry) {
        auto& kernel = programs_[entry];
        if (!kernel) kernel = std::make_unique<Program>(text_, entry, file_);
        return *kernel;
    }

    std::uint32_t dynamic_shared_bytes = 0;  ///< of the launches to come
    bool compares_modes = true;

  private:
    std::string file_, text_;
    std::map<std::string, std::unique_ptr<Program>> programs_;
    unsigned buffers_ = 0;
};

/// Equally distributed integers of [low, high], as T.
template <class T>
std::vector<T> random_values(std::size_t count, long long low, long long high, unsigned seed) {
    std::mt19937_64 generator(seed);
    std::uniform_int_distribution<long long> distribution(low, high);
    std::vector<T> values(count);
    for (T& value : values) value = static_cast<T>(distribution(generator));
    return values;
}

inline std::vector<float> random_reals(std::size_t count, double low, double high, unsigned seed) {
    std::mt19937_64 generator(seed);
    std::uniform_real_distribution<double> distribution(low, high);
    std::vector<float> values(count);
    for (float& value : values) value = static_cast<float>(distribution(generator));
    return values;
}

}  // namespace heddle::ptx::test
