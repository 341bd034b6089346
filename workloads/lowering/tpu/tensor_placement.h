// Where the tensors of a trace lie in a TPU's HBM, and how their numbers are kept there.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "isa/target/target.h"
#include "isa/tpu/element_type.h"
#include "isa/tpu/memory.h"
#include "workloads/trace/trace.h"

namespace heddle::lowering {

/// How a TPU keeps numbers of a trace's type: f64, f32 and tf32 as fp32; bf16 as bf16; f16, which it does not
/// have, as bf16; e4m3 and e5m2 as fp8; integers of 32 bits and more as int32; i16 and i8 as such; u8 and
/// boolean as a byte. Nothing for types that no TPU has.
std::optional<tpu::ElementType> tpu_type(trace::ElementType type);

/// Assigns every storage an address. Tensors of one storage share it, so that programs run one after the
/// other on the same memory see each other's results.
class TensorPlacement {
  public:
    /// All tensors that the given ops use (none given: all ops). Throws heddle::Error when they do not fit
    /// HBM.
    /// Storages that are named in `common` lie in CMEM (their lives may overlap as common_memory_storages()
    /// allows; here each has a place of its own).
    TensorPlacement(const trace::Trace& trace, const target::TpuTarget& target,
                    std::span<const trace::OpId> ops = {}, const std::set<std::uint64_t>& common = {});

    bool holds(trace::TensorId id) const { return place_of_.contains(id); }
    /// HBM address of the tensor's first element (of its storage, when operands have offsets).
    std::uint64_t address(trace::TensorId id) const;
    /// Where an op may keep intermediate results; nothing survives the op.
    std::uint64_t workspace_address() const { return workspace_; }
    std::uint64_t bytes() const { return workspace_; }

    /// Makes the allocations, and one of `workspace_bytes` for intermediate results. Throws heddle::Error
    /// when that does not fit HBM.
    void allocate(tpu::Memory& memory, bool with_values, std::uint64_t workspace_bytes) const;

    /// Converts numbers from and to what HBM holds. Rounds to nearest even; integers truncate.
    void write(tpu::Memory& memory, const trace::Trace& trace, trace::TensorId id,
               std::span<const double> values) const;
    std::vector<double> read(const tpu::Memory& memory, const trace::Trace& trace, trace::TensorId id) const;

    /// What was changed to fit the device, in words for the user: "f16 is kept as bf16, ...". Empty when
    /// nothing.
    const std::vector<std::string>& notes() const { return notes_; }

  private:
    struct Place {
        std::string name;
        std::uint64_t address = 0, bytes = 0;
        bool common = false;
    };
    std::vector<Place> places_;
    std::map<trace::TensorId, std::size_t> place_of_;
    std::uint64_t workspace_ = 0;
    std::uint64_t hbm_bytes_ = 0;
    std::vector<std::string> notes_;
};

}  // namespace heddle::lowering
