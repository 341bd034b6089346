// Which kernels carry out a call of the stand-ins for cuBLAS? Products by the kernels that Heddle's own steps and `heddle gemm` use, in
// the order of summation of their plan; everything else by simple kernels with strides.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "driver/protocol/blas.h"
#include "driver/protocol/protocol.h"
#include "isa/program/program.h"
#include "isa/target/target.h"

namespace heddle::driver {

/// What a call became.
struct BlasWork {
    program::GpuProgram program;
    std::vector<std::uint64_t> addresses;  ///< of each buffer of the program; 0: a workspace that is to be allocated
    std::string label;                     ///< "cublasSgemm 64x32x128"
    std::string kind;                      ///< "matmul", "elementwise" or "reduce", as in steps
    std::size_t main_launch = 0;           ///< which of the launches does the work: the others prepare or finish it
    double flops = 0;                      ///< of that launch
};

/// What is at an address of device memory, as a number.
using ReadNumber = std::function<double(std::uint64_t address, Number type)>;

/// A batch whose entries lie anywhere becomes several works, one for each stretch of entries at equal distances. Throws heddle::Error
/// that says what there is no kernel for.
std::vector<BlasWork> lower_blas(const BlasHeader& header, Reader& content, const target::GpuTarget& target, const ReadNumber& read);

}  // namespace heddle::driver
