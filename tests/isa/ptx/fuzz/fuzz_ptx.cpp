// libFuzzer: parses any text and loads its kernels. Build with clang++ and -DHEDDLE_FUZZ=ON, then
//   fuzz_ptx -max_len=20000 -timeout=10 corpus tests/isa/ptx/fuzz tests/isa/ptx/cuda
#include <cstdint>
#include <cstring>

#include "mutation.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    heddle::ptx::test::load_all({reinterpret_cast<const char*>(data), size});
    return 0;
}

// Mostly changes of words, which get further into the parser than changes of bits.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
    std::mt19937 generator(seed);
    if (size == 0 || seed % 8 == 0) return LLVMFuzzerMutate(data, size, max_size);
    const std::string text(reinterpret_cast<const char*>(data), size);
    std::string mutated = heddle::ptx::test::mutate(text, text, generator);
    if (mutated.size() > max_size) mutated.resize(max_size);
    std::memcpy(data, mutated.data(), mutated.size());
    return mutated.size();
}

extern "C" std::size_t LLVMFuzzerCustomCrossOver(const std::uint8_t* first, std::size_t first_size,
                                                 const std::uint8_t* second, std::size_t second_size,
                                                 std::uint8_t* out, std::size_t max_size, unsigned seed) {
    std::mt19937 generator(seed);
    const std::string text(reinterpret_cast<const char*>(first), first_size);
    const std::string other(reinterpret_cast<const char*>(second), second_size);
    std::string mutated = text.empty() ? other : heddle::ptx::test::mutate(text, other, generator);
    if (mutated.size() > max_size) mutated.resize(max_size);
    std::memcpy(out, mutated.data(), mutated.size());
    return mutated.size();
}
