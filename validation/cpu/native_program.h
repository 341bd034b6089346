// The twin of a CPU program: the same loops and instructions as C++ with intrinsics, compiled for this machine and run on it.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "isa/cpu/program.h"

namespace heddle::validation {

/// Why this machine can run no twins: no AVX-512, no compiler. Empty: it can.
std::string why_no_twins();
/// Whether tiles (AMX) can be used; asks the system for them.
bool host_has_tiles();
/// Whether there are dot products of bf16 pairs.
bool host_has_bf16_dot();

/// The text of the twin: `extern "C" void run_I(char** buffers)` for program I. Throws heddle::Error for programs of other than 16
/// lanes, and for instructions that no twin has.
std::string twin_text(std::span<const cpu::Program> programs);

/// Twins of several programs, compiled together and loaded into this process.
class NativePrograms {
  public:
    /// Calls the system's compiler (c++) with this level of optimisation. Throws heddle::Error with its first message when it fails.
    explicit NativePrograms(std::span<const cpu::Program> programs, int optimisation = 2);
    ~NativePrograms();
    NativePrograms(const NativePrograms&) = delete;
    NativePrograms& operator=(const NativePrograms&) = delete;

    /// Runs one program on one thread; `buffers`: where each lies, per-thread ones too.
    void run(std::size_t program, const std::vector<std::byte*>& buffers) const;

  private:
    void* library_ = nullptr;
    std::vector<void (*)(char**)> functions_;
};

}  // namespace heddle::validation
