// Vector loads and stores of any element type, converted from and to the type that the kernel computes in.
#pragma once

#include <string>
#include <vector>

#include "workloads/kernels/ptx_writer.h"

namespace heddle::kernels {

/// What the arithmetic between load and store is done in.
enum class ComputeType : std::uint8_t { f32, f64 };

/// Raw registers of one vector of elements, loaded but not yet converted (so that the loads of several
/// operands are in flight before the first is used).
struct RawVector {
    ElementType type = ElementType::f32;
    unsigned width = 1;
    std::vector<Reg> words;
};

/// Loads `width` consecutive elements (1, 2, 4 or 8) at [address + offset], aligned to the smaller of their
/// size and 16 bytes, with as few accesses as possible. `opcode_prefix` is "ld.global", "ld.global.nc",
/// "ld.shared", ... With a guard, lanes whose guard is false get zeros.
RawVector load_raw(PtxWriter& w, std::string_view opcode_prefix, ElementType type, unsigned width,
                   const std::string& address, std::int64_t offset, const Reg& guard = {});
/// Converts to f32 or f64 registers, one per element. Integers become exact numbers where the compute type
/// can hold them (f32: up to 2^24, f64: up to 2^53) and the nearest one otherwise; booleans are 0 or 1.
std::vector<Reg> convert_raw(PtxWriter& w, const RawVector& raw, ComputeType compute);

/// load_raw and convert_raw.
std::vector<Reg> load_elements(PtxWriter& w, std::string_view opcode_prefix, ElementType type, unsigned width,
                               const std::string& address, std::int64_t offset, ComputeType compute,
                               const Reg& guard = {});

/// Rounds to nearest even and packs; integers truncate toward zero (C conversion), booleans are value != 0;
/// 8-bit floats saturate (compute capability 8.9).
RawVector pack_elements(PtxWriter& w, ElementType type, const std::vector<Reg>& values, ComputeType compute);
/// Stores a packed vector with as few accesses as possible.
void store_raw(PtxWriter& w, std::string_view opcode_prefix, const RawVector& raw, const std::string& address,
               std::int64_t offset, const Reg& guard = {});
void store_elements(PtxWriter& w, std::string_view opcode_prefix, ElementType type,
                    const std::vector<Reg>& values, const std::string& address, std::int64_t offset,
                    ComputeType compute, const Reg& guard = {});

/// Two f32 registers packed as a pair of f16 or bf16, `low` in the low half. bf16 needs compute
/// capability 8.0.
Reg pack_pair(PtxWriter& w, ElementType type, const Reg& low, const Reg& high);
/// The two halves of a packed pair as f32.
std::vector<Reg> unpack_pair(PtxWriter& w, ElementType type, const Reg& pair);

}  // namespace heddle::kernels
