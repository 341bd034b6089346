// The layouts in shared memory are free of bank conflicts where the headers say so.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <set>

#include "gemm_reference.h"
#include "launcher.h"
#include "workloads/kernels/attention.h"
#include "workloads/kernels/data_movement.h"
#include "workloads/kernels/gemm_mma.h"
#include "workloads/kernels/gemm_simt.h"

using namespace heddle::kernels;
using namespace heddle::kernels::test;
namespace ptx = heddle::ptx;

namespace {

/// Wavefronts of an access to shared memory: 32 banks of 4 bytes. Accesses of 8 bytes per lane go in halves,
/// of 16 in quarters of a warp; lanes that read the same word share it.
struct Wavefronts {
    unsigned needed = 0;    ///< with these addresses
    unsigned possible = 0;  ///< for as many distinct words without conflicts
};

Wavefronts wavefronts_of(const ptx::MemoryAccess& access, bool asynchronous) {
    const unsigned words = std::max(1, access.bytes_per_lane / 4), lanes_per_group = 32 / words;
    Wavefronts result;
    for (unsigned first = 0; first < 32; first += lanes_per_group) {
        std::array<std::set<std::uint64_t>, 32> rows_of_bank;
        std::set<std::uint64_t> distinct;
        for (unsigned lane = first; lane < first + lanes_per_group; ++lane) {
            if ((access.lanes >> lane & 1) == 0) continue;
            const std::uint64_t address = asynchronous ? access.shared_address[lane] : access.address[lane];
            for (unsigned i = 0; i < words; ++i) {
                const std::uint64_t word = address / 4 + i;
                rows_of_bank[word % 32].insert(word / 32);
                distinct.insert(word);
            }
        }
        std::size_t most = 0;
        for (const auto& rows : rows_of_bank) most = std::max(most, rows.size());
        result.needed += static_cast<unsigned>(most);
        result.possible += static_cast<unsigned>((distinct.size() + 31) / 32);
    }
    return result;
}

/// Excess wavefronts per wavefront over a kernel's first CTA, for stores, loads and asynchronous copies.
double conflicts(Device& device, const GeneratedKernel& kernel, Extent3 grid,
                 const std::vector<KernelArgument>& arguments) {
    std::uint64_t needed = 0, possible = 0;
    device.run_first_cta(kernel, grid, arguments,
                         [&](const ptx::InstructionInfo& info, const ptx::MemoryAccess& access) {
                             if (!info.async_copy && access.space != ptx::StateSpace::shared) return;
                             const Wavefronts w = wavefronts_of(access, info.async_copy);
                             needed += w.needed;
                             possible += w.possible;
                         });
    REQUIRE(possible > 0);
    return double(needed) / double(possible) - 1;
}

}  // namespace

TEST_CASE("Tensor-core GEMM has no bank conflicts in its main loop") {
    for (const GemmTile& tile :
         {GemmTile{64, 64, 32, 2, 2, 3}, GemmTile{128, 128, 64, 2, 2, 3}, GemmTile{128, 256, 32, 2, 4, 3}}) {
        for (const bool transpose_a : {false, true}) {
            for (const bool transpose_b : {false, true}) {
                GemmMmaSpec spec;
                spec.tile = tile;
                spec.transpose_a = transpose_a;
                spec.transpose_b = transpose_b;
                spec.full_k = true;
                spec.epilogue.vector_width = 4;
                const GemmCase c{tile.m, tile.n, tile.k * 6, 1, transpose_a, transpose_b, 0};
                Device device;
                std::vector<KernelArgument> arguments = c.arguments();
                arguments.push_back(
                    pointer_argument("a", device.add(spec.type, std::vector<double>(c.stride_a()))));
                arguments.push_back(
                    pointer_argument("b", device.add(spec.type, std::vector<double>(c.stride_b()))));
                arguments.push_back(
                    pointer_argument("d", device.add_untouched(ElementType::f32, c.stride_c())));
                INFO(tile.m << "x" << tile.n << "x" << tile.k << " "
                            << layout_name(transpose_a, transpose_b));
                CHECK(conflicts(device, generate_gemm_mma(spec), gemm_mma_grid(spec, c.m, c.n), arguments) ==
                      0);
            }
        }
    }
}

TEST_CASE("Narrow copies of a tensor-core GEMM ask for no sector twice") {
    // Two whole tiles of f32 in rows of an odd number of elements, by copies of 4 bytes: a sector of 32 bytes
    // is eight of them. A copy of a warp may touch one sector more for each of the rows that it takes part
    // of.
    for (const bool transpose_a : {false, true}) {
        for (const bool transpose_b : {false, true}) {
            GemmMmaSpec spec;
            spec.type = ElementType::f32;
            spec.tile = {64, 64, 32, 2, 2, 3};
            spec.transpose_a = transpose_a;
            spec.transpose_b = transpose_b;
            spec.copy_a = spec.copy_b = 1;
            const GemmCase c{65, 65, 65, 1, transpose_a, transpose_b, 0};
            Device device;
            std::vector<KernelArgument> arguments = c.arguments();
            arguments.push_back(
                pointer_argument("a", device.add(spec.type, std::vector<double>(c.stride_a()))));
            arguments.push_back(
                pointer_argument("b", device.add(spec.type, std::vector<double>(c.stride_b()))));
            arguments.push_back(pointer_argument("d", device.add_untouched(ElementType::f32, c.stride_c())));
            std::uint64_t copies = 0, sectors = 0;
            device.run_first_cta(generate_gemm_mma(spec), gemm_mma_grid(spec, c.m, c.n), arguments,
                                 [&](const ptx::InstructionInfo& info, const ptx::MemoryAccess& access) {
                                     if (!info.async_copy) return;
                                     std::set<std::uint64_t> touched;
                                     for (unsigned lane = 0; lane < 32; ++lane)
                                         if ((access.lanes >> lane & 1) != 0)
                                             touched.insert(access.address[lane] / 32);
                                     ++copies;
                                     sectors += touched.size();
                                 });
            INFO(layout_name(transpose_a, transpose_b));
            REQUIRE(copies > 0);
            CHECK(sectors <= 8 * copies);  // 4 if aligned; 16 if each lane had a chunk of 16 bytes
        }
    }
}

TEST_CASE("SIMT GEMM has no bank conflicts") {
    for (const bool transpose_a : {false, true}) {
        for (const bool transpose_b : {false, true}) {
            GemmSimtSpec spec;
            spec.vector_a = spec.vector_b = spec.epilogue.vector_width = 4;
            spec.full_k = true;
            spec.transpose_a = transpose_a;
            spec.transpose_b = transpose_b;
            const GemmCase c{128, 128, 32, 1, transpose_a, transpose_b, 0};
            Device device;
            std::vector<KernelArgument> arguments = c.arguments();
            arguments.push_back(
                pointer_argument("a", device.add(spec.type, std::vector<double>(c.stride_a()))));
            arguments.push_back(
                pointer_argument("b", device.add(spec.type, std::vector<double>(c.stride_b()))));
            arguments.push_back(pointer_argument("d", device.add_untouched(ElementType::f32, c.stride_c())));
            INFO(layout_name(transpose_a, transpose_b));
            CHECK(conflicts(device, generate_gemm_simt(spec), gemm_simt_grid(spec, c.m, c.n), arguments) ==
                  0);
        }
    }
}

TEST_CASE("Transpose has no bank conflicts") {
    for (const ElementType type : {ElementType::f32, ElementType::f16}) {
        const TransposeSpec spec{80, type};
        Device device;
        const std::vector<KernelArgument> arguments{
            pointer_argument("y", device.add_untouched(type, 64 * 64)),
            pointer_argument("x", device.add(type, std::vector<double>(64 * 64))),
            integer_argument("rows", 64), integer_argument("columns", 64)};
        CHECK(conflicts(device, generate_transpose(spec), transpose_grid(spec, 64, 64), arguments) == 0);
    }
}

TEST_CASE("Attention has no bank conflicts") {
    for (const unsigned dim : {64u, 128u}) {
        const std::uint32_t rows = 128;
        AttentionSpec forward;
        forward.head_dim = dim;
        forward.full_blocks = true;
        Device device;
        const std::vector<double> zeros(rows * dim), row_zeros(rows);
        const auto add = [&](ElementType type, const std::vector<double>& values) {
            return device.add(type, values);
        };
        std::vector<KernelArgument> sizes{integer_argument("queries", rows), integer_argument("keys", rows),
                                          integer_argument("heads_per_kv_head", 1), f32_argument("scale", 1)};
        std::vector<KernelArgument> arguments = sizes;
        for (const char* name : {"q", "k", "v", "o"}) {
            arguments.push_back(pointer_argument(name, add(forward.type, zeros)));
            arguments.push_back(integer_argument(std::string(name) + "_row", dim));
        }
        arguments.push_back(pointer_argument("lse", add(ElementType::f32, row_zeros)));
        CHECK(conflicts(device, generate_attention_forward(forward),
                        attention_forward_grid(forward, rows, 1, 1), arguments) == 0);
        AttentionGradSpec grad;
        grad.head_dim = dim;
        grad.full_blocks = true;
        arguments = sizes;
        for (const auto& [name, row] : {std::pair{"q", "q_row"},
                                        {"k", "k_row"},
                                        {"v", "v_row"},
                                        {"d_o", "do_row"},
                                        {"dk", "dk_row"},
                                        {"dv", "dv_row"}}) {
            arguments.push_back(pointer_argument(name, add(grad.type, zeros)));
            arguments.push_back(integer_argument(row, dim));
        }
        arguments.push_back(pointer_argument("dq_accumulator", add(ElementType::f32, zeros)));
        for (const char* name : {"lse", "delta"})
            arguments.push_back(pointer_argument(name, add(ElementType::f32, row_zeros)));
        CHECK(conflicts(device, generate_attention_grad(grad), attention_grad_grid(grad, rows, 1, 1),
                        arguments) == 0);
    }
}
