// Launches that the benchmarks of isa/ptx and models/gpu share. Shapes and tiles are fixed here, so that
// figures of different versions compare even when the library comes to choose other kernels.
#pragma once

#include <cstdint>
#include <memory>

#include "isa/ptx/execution.h"
#include "workloads/kernels/gemm_wgmma.h"
#include "workloads/kernels/library.h"

namespace heddle::benchmarks {

/// An FFMA loop on eight independent accumulators, unrolled four times; 35 warp instructions per
/// trip.
kernels::LibraryKernel ffma_loop(std::uint32_t ctas, std::uint32_t trips);
/// f32 on the CUDA cores, tile 128x128x8. m and n: multiples of 128; k: of 8.
kernels::LibraryKernel gemm_simt(std::uint32_t m, std::uint32_t n, std::uint32_t k);
/// bf16 on mma.sync m16n8k16, tile 128x128x32, 4 warps. m and n: multiples of 128; k: of 32.
kernels::LibraryKernel gemm_mma(std::uint32_t m, std::uint32_t n, std::uint32_t k);
/// Tiles of 64 x 64 whose operands come to shared memory element by element, as rows at any address need it.
kernels::LibraryKernel gemm_mma_by_elements(std::uint32_t m, std::uint32_t n, std::uint32_t k);
/// bf16 through TMA and wgmma, tile 128x256, persistent, clusters of 2; A and B with k contiguous. Multiples
/// of 8.
kernels::LibraryKernel gemm_wgmma(std::uint32_t m, std::uint32_t n, std::uint32_t k, unsigned sms = 132);
/// Any product through TMA and wgmma.
kernels::LibraryKernel gemm_wgmma_product(const kernels::GemmWgmmaSpec& spec, std::uint32_t m,
                                          std::uint32_t n, std::uint32_t k, unsigned sms);
/// f32 rows; columns: a multiple of 4.
kernels::LibraryKernel softmax(std::uint32_t rows, std::uint32_t columns);
/// The same for any GPU.
kernels::LibraryKernel softmax_rows(unsigned compute_capability, std::uint32_t rows, std::uint32_t columns);
/// f32, four elements per thread; elements: a multiple of 4.
kernels::LibraryKernel copy(std::uint32_t elements);
/// Each CTA, of one thread, copies 32 KiB to shared memory `trips` times: parts of memory of its own, or
/// always the same one. Next to no instructions: what it costs is the path of the lines.
kernels::LibraryKernel bulk_load(std::uint32_t ctas, std::uint32_t trips, bool from_l2);

/// A kernel with buffers and parameters in place, to be run again and again. Buffers hold values in
/// functional mode and are only addresses in timing mode; none of the kernels above steers by values.
class PreparedLaunch {
  public:
    PreparedLaunch(const kernels::LibraryKernel& kernel, ptx::Mode mode, unsigned compute_capability = 90);
    const ptx::LaunchContext& context() const { return context_; }

  private:
    ptx::LoadedKernel loaded_;
    ptx::GlobalMemory memory_;
    ptx::LaunchContext context_;
};

}  // namespace heddle::benchmarks
