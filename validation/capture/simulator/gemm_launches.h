// A matrix product as launches of the kernel library.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "validation/capture/blas.h"
#include "validation/capture/simulator/machine.h"
#include "workloads/kernels/gemm_choice.h"
#include "workloads/kernels/kernel.h"

namespace heddle::capture {

/// The type in the kernel library; nothing for those that it lacks (fp8).
std::optional<kernels::ElementType> element_type(Type type);

/// Why the kernel library cannot do it; "" when it can.
std::string unsupported(const GemmProblem& problem, const target::GpuTarget& target);

/// Elements per copy of A or B that its rows and batch entries allow.
unsigned copy_elements_a(const GemmProblem& problem);
unsigned copy_elements_b(const GemmProblem& problem);

/// Whether TMA can read A and B, and write D, whose addresses are taken to be aligned.
kernels::GemmAlignment alignment_of(const GemmProblem& problem);

/// Bytes that slices of K need between the two kernels; 0 without slices.
std::uint64_t workspace_bytes(const GemmProblem& problem, const kernels::GemmChoice& choice);

struct GemmLaunch {
    kernels::GeneratedKernel kernel;
    kernels::Extent3 grid{1, 1, 1};
    std::vector<ParameterBytes> parameters;  ///< in the kernel's order
    std::vector<OperandRange> operands;
};

/// One kernel, or with slices of K two. The problem must be supported; `workspace` is an address.
std::vector<GemmLaunch> gemm_launches(const GemmProblem& problem, const kernels::GemmChoice& choice,
                                      const GemmOperands& operands, std::uint64_t workspace,
                                      const target::GpuTarget& target);

}  // namespace heddle::capture
