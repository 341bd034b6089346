// Numbers in names of kernels, against the regular expressions that say the same, on names that are short
// enough for those.
#include "workloads/kernels/name_numbers.h"

#include <catch2/catch.hpp>
#include <random>
#include <regex>

#include "workloads/kernels/gemm_choice.h"

using namespace heddle::kernels;

namespace {

/// The tile of a name as "rows columns depth stages cluster", or nothing.
std::string told_by_expressions(const std::string& name) {
    static const std::regex ours("(?:^|_)([0-9]{2,3})x([0-9]{2,3})x([0-9]{1,3})(?:_|$)");
    static const std::regex nvjet(
        "^nvjet_.*?_([0-9]{1,3})x([0-9]{1,3})_([0-9]{1,3})x([0-9]{1,2})_([0-9]{1,2})x([0-9]{1,2})_");
    static const std::regex xmma("_tilesize([0-9]{1,3})x([0-9]{1,3})x([0-9]{1,3})(?:_|$)");
    static const std::regex stage("_stage([0-9]{1,2})(?:_|$)");
    static const std::regex cublas(
        "(?:^|_)([0-9]{2,3})x([0-9]{2,3})_.*stages_([0-9]{1,3})x([0-9]{1,2})(?:_|$)");
    static const std::regex cutlass("(?:^|_)([0-9]{1,3})x([0-9]{1,3})_([0-9]{1,3})x([0-9]{1,2})(?:_|$)");
    static const std::regex bare("gemm.*_([0-9]{2,3})x([0-9]{2,3})(?:_|$)");
    std::smatch m;
    const auto text = [](std::initializer_list<std::string> numbers) {
        std::string line;
        for (const std::string& number : numbers) line += std::to_string(std::stoul("0" + number)) + " ";
        return line;
    };
    if (std::regex_search(name, m, ours)) return text({m[1], m[2], m[3], "", "", ""});
    if (std::regex_search(name, m, nvjet)) return text({m[2], m[1], m[3], m[4], m[6], m[5]});
    if (std::regex_search(name, m, xmma)) {
        std::smatch stages;
        const bool told = std::regex_search(name, stages, stage);
        return text({m[2], m[1], m[3], told ? stages[1].str() : "", "", ""});
    }
    if (std::regex_search(name, m, cublas) || std::regex_search(name, m, cutlass))
        return text({m[2], m[1], m[3], m[4], "", ""});
    if (std::regex_search(name, m, bare)) return text({m[2], m[1], "", "", "", ""});
    return "";
}

std::string told(const std::string& name) {
    const auto gemm = gemm_from_kernel_name(name);
    if (!gemm) return "";
    std::string line;
    for (const unsigned number :
         {gemm->tile.m, gemm->tile.n, gemm->tile.k, gemm->tile.stages, gemm->cluster_m, gemm->cluster_n})
        line += std::to_string(number) + " ";
    return line;
}

}  // namespace

TEST_CASE("names of kernels tell what regular expressions find in them") {
    const std::vector<std::string> names{
        "ampere_bf16_s16816gemm_bf16_128x256_ldg8_f2f_stages_64x3_nn",
        "cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_256x128_32x3_nn_align8",
        "nvjet_sm90_tst_128x192_64x4_1x2_h_bz_coopA_NNT",
        "sm80_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x64x32_stage4_warpsize2x2x1_tensor16x8x16_"
        "kernel",
        "volta_sgemm_128x64_nn",
        "128x64x32",
        "gemm_bf16_128x256x64_stream_k",
        "vectorized_elementwise_kernel"};
    const std::vector<std::string> pieces{"stages_",  "gemm",   "_tilesize", "_stage", "nvjet_", "_splitK",
                                          "_128x64_", "_32x3_", "64x64x8",   "_1x2_",  "_",      "x",
                                          "7",        "1234",   "__",        "_64x64", "99x9_"};
    std::mt19937 random(20261123);
    unsigned found = 0;
    for (unsigned i = 0; i < 20'000; ++i) {
        std::string name = names[random() % names.size()];
        for (unsigned change = random() % 5; change > 0 && !name.empty(); --change) {
            const std::size_t at = random() % name.size();
            switch (random() % 3) {
                case 0:
                    name.insert(at, pieces[random() % pieces.size()]);
                    break;
                case 1:
                    name.erase(at, 1 + random() % 4);
                    break;
                default:
                    name[at] = pieces[random() % pieces.size()][0];
            }
        }
        CAPTURE(name);
        REQUIRE(told(name) == told_by_expressions(name));
        found += gemm_from_kernel_name(name) ? 1 : 0;
    }
    CHECK(found > 10'000);
}

TEST_CASE("names of a hundred thousand characters are names like others") {
    const std::string many(100'000, '1'), words(100'000, '_');
    CHECK_FALSE(gemm_from_kernel_name(many));
    CHECK_FALSE(gemm_from_kernel_name(words));
    CHECK_FALSE(gemm_from_kernel_name("nvjet_" + words + many));
    std::string rows = "gemm";
    for (unsigned i = 0; i < 20'000; ++i) rows += "_64x1234";
    CHECK(gemm_from_kernel_name(rows + "_64x128")->tile.m == 128);
    CHECK(gemm_from_kernel_name(words + "128x64x32" + words)->tile.k == 32);
    CHECK(gemm_from_kernel_name("volta_sgemm_" + std::string(100'000, 'n') + "_128x64")->tile.m == 64);
}

TEST_CASE("a number has as many digits as its pattern says, and its own character behind it") {
    const std::vector<NameNumber> pattern{{1, 2, 'x'}, {2, 3, kWordEnd}};
    for (const char* fits : {"1x23", "12x345", "1x23_tn"}) CHECK(numbers_at(fits, 0, pattern));
    for (const char* not_so : {"", "1", "x23", "123x23", "1x2", "1x2345", "1y23", "1x23tn", "-1x23"})
        CHECK_FALSE(numbers_at(not_so, 0, pattern));
    CHECK(numbers_at("1x23_tn", 0, pattern)->end == 5);
    CHECK(first_numbers("a_1x22_1x33_1x44", pattern)->values == std::vector<unsigned>{1, 22});
    CHECK(first_numbers_behind("a_1x22_1x33_1x44", "_", pattern, 2)->values == std::vector<unsigned>{1, 33});
    CHECK(last_numbers_behind("a_1x22_1x33_1x44", "_", pattern)->values == std::vector<unsigned>{1, 44});
    CHECK_FALSE(last_numbers_behind("a_1x22", "_", pattern, 2));
}
