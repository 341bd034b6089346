// The matrix instructions of PTX that the probes execute, as data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "isa/numerics/formats.h"
#include "isa/target/generation.h"

namespace heddle::capture {

/// The elements of a matrix. tf32 takes the upper 19 bits of 32, as numerics::Format does.
enum class Element : std::uint8_t { f64, f32, tf32, bf16, f16, e5m2, e4m3, s32, s8, u8, s4, u4, b1 };
unsigned bits_of(Element element);
const char* name_of(Element element);  ///< as PTX writes it
/// Nothing for integers and single bits.
std::optional<numerics::Format> format_of(Element element);

/// D[m, n] = A[m, k] B[k, n] + C[m, n], by one instruction. C and D have the same type.
struct MatrixInstruction {
    enum class Kind : std::uint8_t {
        mma,     ///< mma.sync: a warp
        quad,    ///< mma.sync.m8n8k4 in f16: four products, each by two quads of the warp
        sparse,  ///< mma.sp: of each four elements of a row of A two are stored (tf32: one of two)
        wgmma,   ///< wgmma.mma_async: a warpgroup, A and B in shared memory
    };
    Kind kind = Kind::mma;
    unsigned m = 16, n = 8, k = 16;
    Element a = Element::f16, b = Element::f16, sum = Element::f32;
    std::string qualifier;           ///< ".satfinite", ".rz" of f64, ".xor.popc" of bits, ...
    unsigned first_capability = 80;  ///< wgmma: that alone
    const char* target = "sm_80";    ///< of the PTX
    const char* ptx_version = "7.0";

    /// Stored elements along k of a row of A.
    unsigned stored_k() const { return kind == Kind::sparse ? k / 2 : k; }
    bool is_float() const { return format_of(a).has_value() && a != Element::f64; }
    /// "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32": what stands before the operands.
    std::string mnemonic() const;
    bool runs_on(unsigned compute_capability) const {
        return target::runs_ptx(compute_capability, first_capability, kind == Kind::wgmma);
    }
};

/// All of them, the most informative first: wgmma, mma.sync of the floating-point types, the others.
const std::vector<MatrixInstruction>& matrix_instructions();
/// Those that a device of this compute capability (times ten) has.
std::vector<MatrixInstruction> matrix_instructions(unsigned compute_capability);

}  // namespace heddle::capture
