// Issue ports of a sub-core, and which class of operations takes which of them for how long: the table in
// which generations differ.
#pragma once

#include <array>
#include <cstdint>

#include "isa/ptx/operation.h"
#include "models/common/parameter.h"

namespace heddle::models::gpu {

/// A datapath of a sub-core. An operation occupies its port for an interval; the scheduler issues one
/// operation per cycle, so ports of 16 lanes (interval 2) overlap.
enum class Port : std::uint8_t {
    fma_heavy,  ///< fp32, and the multiplier of integers; GA10x: all integers
    fma_lite,   ///< fp32 alone: GA10x, Hopper
    alu,        ///< integers, logic, comparisons
    half,
    fp64,
    special,
    uniform,  ///< once for the warp: Turing and later
    control,  ///< branches and barriers
    tensor,
    load_store,
};
inline constexpr std::size_t kPortCount = 10;

/// What a warp's next instruction needs besides its operands: a port, or either of two. Memory instructions
/// that may miss L1 or write through it also need room in the load-store unit.
enum class Unit : std::uint8_t {
    fma_heavy,
    fma_lite,
    alu,
    half,
    fp64,
    special,
    uniform,
    control,
    tensor,
    load_store,
    fma,               ///< fma_heavy or fma_lite
    alu_or_fma_heavy,  ///< alu or fma_heavy
    global_load,
    global_store,
};
inline constexpr std::size_t kUnitCount = 14;

/// The port of a unit; of one with two the first.
constexpr Port port_of(Unit unit) {
    switch (unit) {
        case Unit::fma:
            return Port::fma_lite;
        case Unit::alu_or_fma_heavy:
            return Port::alu;
        case Unit::global_load:
        case Unit::global_store:
            return Port::load_store;
        default:
            return static_cast<Port>(unit);
    }
}
constexpr bool has_two_ports(Unit unit) {
    return unit == Unit::fma || unit == Unit::alu_or_fma_heavy;
}

/// How a sub-core carries out operations of one class.
struct OperationConfig {
    Unit port = Unit::alu;      ///< where operations of the class issue
    double interval = 2;        ///< cycles for which one warp operation occupies a port
    std::uint32_t latency = 4;  ///< cycles until a dependent operation may issue
    /// Cycles between two operations of a sub-core that has nothing else to do.
    double issue_interval() const { return has_two_ports(port) ? interval / 2 : interval; }
};

inline constexpr ptx::Operation kFirstConfigured = ptx::Operation::fp32;
inline constexpr ptx::Operation kLastConfigured = ptx::Operation::uniform;

/// The table of a machine. The defaults describe an H100.
class PipelinesConfig {
  public:
    PipelinesConfig();
    OperationConfig& operator[](ptx::Operation operation) { return rows_[index(operation)]; }
    const OperationConfig& operator[](ptx::Operation operation) const { return rows_[index(operation)]; }
    /// Turing and later. Without it uniform operations take the ports of their class.
    bool uniform_datapath = true;

  private:
    static std::size_t index(ptx::Operation operation) {
        return static_cast<std::size_t>(operation) - static_cast<std::size_t>(kFirstConfigured);
    }
    std::array<OperationConfig,
               static_cast<std::size_t>(kLastConfigured) - static_cast<std::size_t>(kFirstConfigured) + 1>
        rows_;
};

/// Lists the fields for hardware files: port, interval (cycles) and latency (cycles) of each class of
/// operations.
void describe(PipelinesConfig& config, ParameterList& list);

}  // namespace heddle::models::gpu
