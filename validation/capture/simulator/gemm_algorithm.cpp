#include "validation/capture/simulator/gemm_algorithm.h"

#include <array>
#include <stdexcept>
#include <string>

#include "isa/common/error.h"

namespace heddle::capture {
namespace {

constexpr std::size_t kWords = 16;  // of 32 bits: the 64 bytes of cublasLtMatmulAlgo_t
constexpr std::size_t kFirstOfWgmma =
    11;  // consumers (0: another kernel), schedule and swap, cluster, CTAs per SM
constexpr std::uint32_t kMark = 0x4c444548;  // "HEDL"

std::string to_hexadecimal(const std::array<std::uint32_t, kWords>& words) {
    static constexpr char kDigits[] = "0123456789abcdef";
    std::string text;
    for (const std::uint32_t word : words) {
        for (unsigned byte = 0; byte < 4; ++byte) {  // little-endian
            text += kDigits[word >> (8 * byte + 4) & 15];
            text += kDigits[word >> (8 * byte) & 15];
        }
    }
    return text;
}

std::array<std::uint32_t, kWords> from_hexadecimal(const std::string& text) {
    std::array<std::uint32_t, kWords> words{};
    if (text.size() != 8 * kWords || text.find_first_not_of("0123456789abcdef") != std::string::npos)
        throw Error("the algorithm's blob is not 64 bytes in hexadecimal");
    for (std::size_t i = 0; i < 4 * kWords; ++i)
        words[i / 4] |= static_cast<std::uint32_t>(std::stoul(text.substr(2 * i, 2), nullptr, 16))
                        << (8 * (i % 4));
    return words;
}

}  // namespace

GemmAlgorithm algorithm_of(const kernels::GemmChoice& choice) {
    GemmAlgorithm algorithm;
    algorithm.id = choice.wgmma ? kWgmmaAlgorithm : choice.tensor_cores ? kMmaAlgorithm : kSimtAlgorithm;
    algorithm.tile = static_cast<int>(choice.tile.m * 1000 + choice.tile.n);
    algorithm.inner_shape = static_cast<int>(choice.tile.k);
    algorithm.stages = static_cast<int>(choice.tile.stages);
    algorithm.split_k = static_cast<int>(choice.splits);
    algorithm.custom_option = static_cast<int>(choice.k_per_split);
    algorithm.reduction_scheme = choice.splits > 1 ? 2 : 0;
    algorithm.swizzle = static_cast<int>(choice.raster_log2);
    std::array<std::uint32_t, kWords> words{kMark,
                                            choice.tensor_cores ? 1u : 0u,
                                            choice.tile.m,
                                            choice.tile.n,
                                            choice.tile.k,
                                            choice.tile.warps_m,
                                            choice.tile.warps_n,
                                            choice.tile.stages,
                                            choice.splits,
                                            choice.k_per_split,
                                            choice.raster_log2};
    if (choice.wgmma) {
        const kernels::WgmmaTile& tile = *choice.wgmma;
        words[kFirstOfWgmma] = tile.consumers;
        words[kFirstOfWgmma + 1] = static_cast<std::uint32_t>(tile.schedule) << 1 | (tile.swap ? 1u : 0u);
        words[kFirstOfWgmma + 2] = tile.cluster_m;
        words[kFirstOfWgmma + 3] = tile.cluster_n;
        words[kFirstOfWgmma + 4] = tile.ctas_per_sm;
    }
    algorithm.blob = to_hexadecimal(words);
    return algorithm;
}

kernels::GemmChoice choice_of(const GemmAlgorithm& algorithm) {
    const std::array<std::uint32_t, kWords> words = from_hexadecimal(algorithm.blob);
    if (words[0] != kMark) throw Error("the algorithm is not one of the simulator's");
    kernels::GemmChoice choice;
    choice.tensor_cores = words[1] != 0;
    choice.tile = {words[2], words[3], words[4], words[5], words[6], words[7]};
    choice.splits = words[8];
    choice.k_per_split = words[9];
    choice.raster_log2 = words[10];
    if (words[kFirstOfWgmma] != 0) {
        kernels::WgmmaTile tile;
        tile.m = choice.tile.m;
        tile.n = choice.tile.n;
        tile.stages = choice.tile.stages;
        tile.consumers = words[kFirstOfWgmma];
        tile.schedule = static_cast<kernels::WgmmaSchedule>(words[kFirstOfWgmma + 1] >> 1);
        tile.swap = (words[kFirstOfWgmma + 1] & 1) != 0;
        tile.cluster_m = words[kFirstOfWgmma + 2];
        tile.cluster_n = words[kFirstOfWgmma + 3];
        tile.ctas_per_sm = words[kFirstOfWgmma + 4];
        choice.wgmma = tile;
    }
    return choice;
}

}  // namespace heddle::capture
