#include "workloads/kernels/philox_code.h"

#include "isa/numerics/philox.h"

namespace heddle::kernels {

std::array<Reg, 4> emit_philox(PtxWriter& w, std::array<Reg, 4> counter, std::array<Reg, 2> key) {
    using numerics::kPhiloxKeySteps;
    using numerics::kPhiloxMultipliers;
    for (unsigned round = 0; round < numerics::kPhiloxRounds; ++round) {
        const Reg high_a = w.make_b32("mul.hi.u32", counter[0], kPhiloxMultipliers[0]);
        const Reg low_a = w.make_b32("mul.lo.u32", counter[0], kPhiloxMultipliers[0]);
        const Reg high_b = w.make_b32("mul.hi.u32", counter[2], kPhiloxMultipliers[1]);
        const Reg low_b = w.make_b32("mul.lo.u32", counter[2], kPhiloxMultipliers[1]);
        counter = {w.make_b32("xor.b32", w.make_b32("xor.b32", high_b, counter[1]), key[0]), low_b,
                   w.make_b32("xor.b32", w.make_b32("xor.b32", high_a, counter[3]), key[1]), low_a};
        if (round + 1 == numerics::kPhiloxRounds) break;
        for (unsigned i = 0; i < 2; ++i) key[i] = w.make_b32("add.u32", key[i], kPhiloxKeySteps[i]);
    }
    return counter;
}

Reg emit_uniform(PtxWriter& w, const Reg& word) {
    const Reg number = w.make_f32("cvt.rn.f32.u32", w.make_b32("shr.u32", word, 8));
    return w.make_f32("mul.rn.f32", number, f32_immediate(0x1p-24));
}

}  // namespace heddle::kernels
