#include "isa/numerics/cublas_kernel_name.h"

#include <algorithm>
#include <cctype>
#include <vector>

namespace heddle::numerics {
namespace {

bool is_digit(char c) {
    return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

/// "128x256x64" -> {128, 256, 64}; anything else gives an empty list.
std::vector<unsigned> extents(const std::string& word) {
    std::vector<unsigned> numbers;
    std::size_t at = 0;
    while (at < word.size() && is_digit(word[at])) {
        unsigned value = 0;
        for (; at < word.size() && is_digit(word[at]) && value < 100'000; ++at)
            value = value * 10 + static_cast<unsigned>(word[at] - '0');
        numbers.push_back(value);
        if (at == word.size()) return numbers.size() > 1 ? numbers : std::vector<unsigned>{};
        if (word[at++] != 'x') return {};
    }
    return {};
}

std::vector<unsigned> extents_after(const std::string& word, const std::string& prefix) {
    if (word.compare(0, prefix.size(), prefix) != 0) return {};
    return extents(word.substr(prefix.size()));
}

/// Words between underscores; what is no letter, digit or underscore ends a word as well.
std::vector<std::string> words_of(const std::string& name) {
    std::vector<std::string> words(1);
    for (const char c : name) {
        if (std::isalnum(static_cast<unsigned char>(c)) != 0)
            words.back() += c;
        else if (!words.back().empty())
            words.emplace_back();
    }
    return words;
}

/// s16816gemm, h1688gemm, i16832gemm, s1688tf32gemm, d884gemm: m, n and k of the MMA in a row.
unsigned instruction_k_of(const std::string& word) {
    const std::size_t gemm = word.find("gemm");
    if (gemm == std::string::npos || word.size() < 4 || !is_digit(word[1])) return 0;
    std::size_t end = 1;
    while (end < word.size() && is_digit(word[end])) ++end;
    const std::string shape = word.substr(1, end - 1);
    for (const auto& [prefix, skip] :
         {std::pair<const char*, std::size_t>{"168", 3}, {"161616", 4}, {"88", 2}})
        if (shape.size() > skip && shape.compare(0, skip, prefix, skip) == 0)
            return static_cast<unsigned>(std::stoul(shape.substr(skip, 3)));
    return 0;
}

KernelFamily family_of(const std::string& name) {
    const auto has = [&](const char* part) { return name.find(part) != std::string::npos; };
    if (has("nvjet")) return KernelFamily::nvjet;
    if (has("cutlass_")) return KernelFamily::cutlass;
    if (has("xmma_gemm")) return KernelFamily::xmma;
    if (has("gemv") || has("gevm") || has("dot_kernel")) return KernelFamily::vector;
    for (const char* chip : {"volta_", "turing_", "ampere_", "ada_", "hopper_", "maxwell_", "sgemm", "dgemm"})
        if (has(chip)) return KernelFamily::architecture;
    return KernelFamily::unknown;
}

CublasKernelName parse(const std::string& name) {
    CublasKernelName result;
    result.family = family_of(name);
    if (result.family == KernelFamily::unknown || result.family == KernelFamily::vector) return result;
    bool after_stages = false;
    for (const std::string& word : words_of(name)) {
        if (const unsigned k = instruction_k_of(word)) result.instruction_k = k;
        if (word == "simt" || word == "ffma" || word.find("sgemm") != std::string::npos ||
            word.find("dgemm") != std::string::npos)
            result.scalar = true;
        const std::vector<unsigned> plain = extents(word), tile = extents_after(word, "tilesize"),
                                    warps = extents_after(word, "warpsize"),
                                    groups = extents_after(word, "warpgroupsize"),
                                    tensor = extents_after(word, "tensor"),
                                    sliced = extents_after(word, "sliced");
        if (plain.size() == 2 && (result.tile_m == 0 && !after_stages)) {
            result.tile_m = plain[0];
            result.tile_n = plain[1];
        } else if (plain.size() == 2 && result.block_k == 0) {
            result.block_k = plain[0];
            result.stages = plain[1];
        }
        if (tile.size() == 3) {
            result.tile_m = tile[0];
            result.tile_n = tile[1];
            result.block_k = tile[2];
        }
        if (warps.size() == 3) result.slices_of_k = std::max(1u, warps[2]);
        if (groups.size() == 3) result.slices_of_k = std::max(1u, groups[2]);
        if (sliced.size() == 2) result.slices_of_k = std::max(1u, sliced[1]);
        if (tensor.size() == 3) result.instruction_k = tensor[2];
        after_stages = word == "stages";
    }
    return result;
}

}  // namespace

CublasKernelName parse_cublas_kernels(const std::string& kernels) {
    CublasKernelName result;
    bool found = false;
    for (std::size_t begin = 0; begin <= kernels.size();) {
        const std::size_t end = std::min(kernels.find("; ", begin), kernels.size());
        const std::string name = kernels.substr(begin, end - begin);
        const bool reduce = name.find("splitKreduce") != std::string::npos ||
                            name.find("reduce_kernel") != std::string::npos ||
                            name.find("reduceSplitK") != std::string::npos;
        if (reduce) {
            result.followed_by_reduce = found;
        } else if (!found && family_of(name) != KernelFamily::unknown) {
            result = parse(name);
            found = true;
        }
        begin = end + 2;
    }
    return result;
}

}  // namespace heddle::numerics
