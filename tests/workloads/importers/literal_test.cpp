#include "workloads/importers/literal.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "isa/common/error.h"
#include "workloads/importers/kernel_name.h"
#include "workloads/importers/recording.h"

using namespace heddle::importers;

TEST_CASE("Python literals as PyTorch writes them") {
    const Literal list =
        parse_literal("[[5, 6, 0, 1, 4, 'cuda:0'], 0.1, True, '<None>', -1, [], None, 1e-05, -inf]");
    REQUIRE(list.list() != nullptr);
    const LiteralList& items = *list.list();
    REQUIRE(items.size() == 9);
    CHECK(*(*items[0].list())[5].text() == "cuda:0");
    CHECK(items[0].integers().empty());  // not all are integers
    CHECK(items[1].number(0) == 0.1);
    CHECK(std::holds_alternative<bool>(items[2].value));
    CHECK(items[3].is_none());
    CHECK(std::get<std::int64_t>(items[4].value) == -1);
    CHECK(items[5].list()->empty());
    CHECK(items[6].is_none());
    CHECK(items[7].number(0) == 1e-5);
    CHECK(items[8].number(0) == -INFINITY);
    CHECK(parse_literal("(2048, 1, 768)").integers() == std::vector<std::int64_t>{2048, 1, 768});
    CHECK(*parse_literal(R"('it\'s')").text() == "it's");
    CHECK(parse_literal("9223372036854775807").number(0) == 9223372036854775807.0);
}

TEST_CASE("what is no literal is an error, cut anywhere") {
    for (const std::string text : {"[1, 2", "[1 2]", "'open", "[1,, 2]", "", "word", "[1] 2", "1.2.3"}) {
        CAPTURE(text);
        CHECK_THROWS_AS(parse_literal(text), heddle::Error);
    }
    CHECK_THROWS_AS(parse_literal(std::string(100000, '[')), heddle::Error);
    const std::string whole = "[[5, 6, 0, 'cuda:0'], 0.1, True]";
    for (std::size_t length = 0; length < whole.size(); ++length) {
        CHECK_THROWS_AS(parse_literal(whole.substr(0, length)), heddle::Error);
    }
}

TEST_CASE("kernel names are taken apart") {
    const KernelName vectorized = parse_kernel_name(
        "void at::native::vectorized_elementwise_kernel<4, at::native::(anonymous "
        "namespace)::masked_fill_kernel(at::"
        "TensorIterator&, c10::Scalar const&)::{lambda()#1}::operator()() const::{lambda(long, bool)#1}, "
        "at::detail::Array<char*, 3> >(int, int)");
    CHECK(vectorized.function == "vectorized_elementwise_kernel");
    CHECK(vectorized.integer(0) == 4);
    REQUIRE(vectorized.arguments.size() == 3);
    CHECK(vectorized.arguments[2] == "at::detail::Array<char*, 3>");

    const KernelName flash = parse_kernel_name(
        "void flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 64, 4, false, false, cutlass::bfloat16_t, "
        "Flash_kernel_traits<64, 128, 64, 4, cutlass::bfloat16_t> >, true, true, false>(Flash_fwd_params)");
    CHECK(flash.function == "flash_fwd_kernel");
    CHECK(flash.boolean(2) == true);
    CHECK(flash.boolean(3) == false);
    CHECK(template_arguments(flash.full, "Flash_fwd_kernel_traits")[1] == "128");
    CHECK(parse_kernel_name("Memcpy DtoH (Device -> Pinned)").arguments.empty());
    CHECK(parse_kernel_name("").function.empty());
}

TEST_CASE("tiles and stages of libraries' kernels, mangled ones too") {
    const std::string xmma =
        "sm80_xmma_fprop_implicit_gemm_indexed_tf32f32_tf32f32_f32_nhwckrsc_nchw_tilesize256x64x32_stage3_"
        "warpsize4x2x1_g1_tensor16x8x8_execute_kernel_cudnn_infer";
    CHECK(tile_of(xmma) == std::vector<std::int64_t>{256, 64, 32});
    CHECK(stages_of(xmma) == 3);
    const std::string cutlass =
        "void "
        "cutlass_cudnn_infer::Kernel<cutlass_tensorop_s1688dgrad_optimized_tf32_64x128_32x3_nhwc_align4>";
    CHECK(tile_of(cutlass) == std::vector<std::int64_t>{64, 128, 32});
    CHECK(stages_of(cutlass) == 3);
    // nvcc's mangling of this one is refused by the demanglers of the C++ ABI.
    const std::string mangled =
        "_ZN19cutlass_cudnn_train6KernelINS_4conv6kernel23ImplicitGemmConvolutionINS1_11threadblock22"
        "ImplicitGemmMultistageINS_4gemm9GemmShapeILi128ELi64ELi32EEENS4_52"
        "Conv2dWgradOutputGradientTileAccessIteratorOptimizedINS_11MatrixShapeILi128ELi32EEENS_10tfloat32_t";
    CHECK(tile_of(mangled) == std::vector<std::int64_t>{128, 64, 32});
    CHECK(stages_of(mangled) == 0);
    for (std::size_t length = 0; length < mangled.size(); ++length) tile_of(mangled.substr(0, length));
    CHECK(tile_of("_Zz9GemmShapeILi").empty());
}

TEST_CASE("tiles in kernel names of several libraries") {
    using Tile = std::vector<std::int64_t>;
    CHECK(tile_of("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute") ==
          Tile{128, 128, 64});
    CHECK(tile_of("ampere_bf16_s16816gemm_bf16_128x256_ldg8_f2f_stages_64x3_nn") == Tile{128, 256});
    CHECK(tile_of("cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_256x128_32x3_nt_align8") ==
          Tile{256, 128, 32});
    CHECK(tile_of("gemv2T_kernel_val").empty());
    CHECK(warpgroups_of(
              "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute") == 1);
    CHECK(warpgroups_of("sm90_xmma_gemm_tilesize256x128x64_warpgroupsize2x1x1") == 2);
    CHECK(warpgroups_of("sm80_xmma_gemm_tilesize128x128x32_stage4_warpsize2x2x1") == 0);
    CHECK(warpgroups_of("sm90_xmma_gemm_warpgroupsize") == 0);
}

TEST_CASE("names of calls lose namespace, in-place mark and part number") {
    CHECK(plain_name("aten::add_") == "add");
    CHECK(plain_name("aten::_to_copy") == "_to_copy");
    CHECK(plain_name("aten::__or__") == "__or__");
    CHECK(plain_name("aten::copy_(1)") == "copy");
    CHECK(plain_name("tex_ts::te_gemm_ts") == "tex_ts::te_gemm_ts");
    CHECK(plain_name("cleanup(float*, float*)") == "cleanup(float*, float*)");
}
