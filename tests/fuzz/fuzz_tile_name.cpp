// libFuzzer: any text as the name of a tile, of `heddle gemm --tile` and in names of recorded kernels.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "sim/gemm/gemm_question.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string name(reinterpret_cast<const char*>(data), size);
    const auto tile = heddle::sim::tile_named(name);
    // Names give extents three digits, stages and clusters two.
    if (tile && (tile->tile.m > 999 || tile->tile.n > 999 || tile->tile.k > 999 || tile->tile.stages > 99 ||
                 tile->cluster_m > 99 || tile->cluster_n > 99))
        std::abort();
    return 0;
}
