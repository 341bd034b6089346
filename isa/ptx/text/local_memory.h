// Local memory of a kernel and of the functions behind it. Internal to the parser.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "isa/ptx/module.h"

namespace heddle::ptx {

/// The kernel itself (number 0) or a called function: each has local memory of its own, in functions
/// addressed through a register.
struct LocalRegion {
    std::uint64_t bytes = 0;           ///< that variables take so far
    std::uint32_t frame_register = 0;  ///< index of the register that holds the frame's start
};

/// Lays out the local variables of a kernel and of the functions behind it.
class LocalMemory {
  public:
    LocalMemory(Kernel& kernel, const std::string& file_name) : kernel_(kernel), file_name_(file_name) {}

    std::vector<LocalRegion> regions;    ///< the kernel's first
    std::vector<std::size_t> region_of;  ///< of each variable of the kernel

    /// Gives the variable a place in a region. Throws heddle::Error beyond what a thread may have.
    void place(Variable& variable, std::size_t region, std::uint32_t line);
    /// An address [variable] becomes one from the region's frame register.
    void point_into_frame(Operand& operand, std::size_t region) const;
    /// mov d, variable: the sum of the frame register and the variable's offset.
    Instruction frame_address(const Instruction& n, std::size_t region) const;

    /// Throws heddle::Error at a line of the module.
    [[noreturn]] void fail(const std::string& problem, std::uint32_t line,
                           const std::string& remedy = "") const;

  private:
    Kernel& kernel_;
    const std::string& file_name_;
};

/// Whether the variable lies in .local.
inline bool is_local(const Variable& variable) {
    return variable.space == StateSpace::local;
}

/// The next multiple of `alignment`.
inline std::uint64_t align_up(std::uint64_t value, std::uint64_t alignment) {
    return (value + alignment - 1) / alignment * alignment;
}

}  // namespace heddle::ptx
