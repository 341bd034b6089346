// libFuzzer: reads any text as a trace and performs it. Build with clang++ and -DHEDDLE_FUZZ=ON, then
//   fuzz_traces -max_len=20000 -timeout=10 corpus
#include <cstdint>
#include <cstring>

#include "mutation.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    heddle::sass::test::replay_all({reinterpret_cast<const char*>(data), size});
    return 0;
}

// Mostly changes of words and lines, which get further than changes of bits.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
    std::mt19937 generator(seed);
    if (size == 0 || seed % 8 == 0) return LLVMFuzzerMutate(data, size, max_size);
    const std::string text(reinterpret_cast<const char*>(data), size);
    std::string mutated = heddle::sass::test::mutate(text, text, generator);
    if (mutated.size() > max_size) mutated.resize(max_size);
    std::memcpy(data, mutated.data(), mutated.size());
    return mutated.size();
}
