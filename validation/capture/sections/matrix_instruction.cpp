#include "validation/capture/sections/matrix_instruction.h"

namespace heddle::capture {
namespace {

using Kind = MatrixInstruction::Kind;
using E = Element;

// Oldest .version that has each form: PTX manual, "PTX ISA Notes" of mma, mma.sp and wgmma.mma_async.
void add_wgmma(std::vector<MatrixInstruction>& list) {
    const auto add = [&](unsigned k, E a, E b, E sum) {
        list.push_back({Kind::wgmma, 64, 8, k, a, b, sum, "", 90, "sm_90a", "8.0"});
    };
    add(16, E::f16, E::f16, E::f32);
    add(16, E::bf16, E::bf16, E::f32);
    add(8, E::tf32, E::tf32, E::f32);
    add(16, E::f16, E::f16, E::f16);
    for (const E sum : {E::f32, E::f16}) {
        add(32, E::e4m3, E::e4m3, sum);
        add(32, E::e5m2, E::e5m2, sum);
        add(32, E::e4m3, E::e5m2, sum);
        add(32, E::e5m2, E::e4m3, sum);
    }
    add(32, E::s8, E::s8, E::s32);
    add(32, E::u8, E::u8, E::s32);
}

void add_float(std::vector<MatrixInstruction>& list) {
    const auto add = [&](unsigned k, E a, E b, E sum, unsigned capability, const char* target,
                         const char* version) {
        list.push_back({Kind::mma, 16, 8, k, a, b, sum, "", capability, target, version});
    };
    add(16, E::f16, E::f16, E::f32, 80, "sm_80", "7.0");
    add(16, E::bf16, E::bf16, E::f32, 80, "sm_80", "7.0");
    add(8, E::tf32, E::tf32, E::f32, 80, "sm_80", "7.0");
    add(16, E::f16, E::f16, E::f16, 80, "sm_80", "7.0");
    add(8, E::f16, E::f16, E::f32, 75, "sm_75", "6.5");
    add(8, E::f16, E::f16, E::f16, 75, "sm_75", "6.5");
    add(8, E::bf16, E::bf16, E::f32, 80, "sm_80", "7.0");
    add(4, E::tf32, E::tf32, E::f32, 80, "sm_80", "7.0");
    const E fp8[4][2] = {{E::e4m3, E::e4m3}, {E::e5m2, E::e5m2}, {E::e4m3, E::e5m2}, {E::e5m2, E::e4m3}};
    for (const auto& types : fp8) add(32, types[0], types[1], E::f32, 89, "sm_89", "8.4");
    for (const auto& types : fp8) add(32, types[0], types[1], E::f16, 89, "sm_89", "8.7");
    for (const auto& types : fp8) add(16, types[0], types[1], E::f32, 89, "sm_89", "8.7");
    for (const auto& types : fp8) add(16, types[0], types[1], E::f16, 89, "sm_89", "8.7");
    for (const E sum : {E::f32, E::f16})
        list.push_back({Kind::quad, 8, 8, 4, E::f16, E::f16, sum, "", 70, "sm_70", "6.4"});
}

void add_doubles(std::vector<MatrixInstruction>& list) {
    for (const char* rounding : {"", ".rz", ".rm", ".rp"}) {
        list.push_back({Kind::mma, 8, 8, 4, E::f64, E::f64, E::f64, rounding, 80, "sm_80", "7.0"});
    }
    for (const unsigned k : {4u, 8u, 16u})
        list.push_back({Kind::mma, 16, 8, k, E::f64, E::f64, E::f64, "", 90, "sm_90", "7.8"});
}

void add_integers(std::vector<MatrixInstruction>& list) {
    const auto add = [&](unsigned m, unsigned k, E a, E b, const char* qualifier, unsigned capability) {
        list.push_back({Kind::mma, m, 8, k, a, b, E::s32, qualifier, capability,
                        capability == 75 ? "sm_75" : "sm_80", capability == 75 ? "6.5" : "7.0"});
    };
    add(16, 32, E::s8, E::s8, "", 80);
    add(16, 32, E::s8, E::s8, ".satfinite", 80);
    add(16, 32, E::u8, E::u8, ".satfinite", 80);
    add(16, 32, E::s8, E::u8, "", 80);
    add(16, 32, E::u8, E::s8, "", 80);
    add(16, 16, E::s8, E::s8, "", 80);
    add(8, 16, E::s8, E::s8, "", 75);
    add(8, 16, E::s8, E::s8, ".satfinite", 75);
    add(16, 64, E::s4, E::s4, "", 80);
    add(16, 64, E::u4, E::u4, ".satfinite", 80);
    add(8, 32, E::s4, E::s4, "", 75);
    add(16, 256, E::b1, E::b1, ".xor.popc", 80);
    list.push_back({Kind::mma, 16, 8, 256, E::b1, E::b1, E::s32, ".and.popc", 80, "sm_80", "7.1"});
}

void add_sparse(std::vector<MatrixInstruction>& list) {
    const auto add = [&](unsigned k, E a, E b, E sum, unsigned capability, const char* target,
                         const char* version, const char* qualifier = "") {
        list.push_back({Kind::sparse, 16, 8, k, a, b, sum, qualifier, capability, target, version});
    };
    add(32, E::f16, E::f16, E::f32, 80, "sm_80", "7.1");
    add(16, E::f16, E::f16, E::f32, 80, "sm_80", "7.1");
    add(32, E::f16, E::f16, E::f16, 80, "sm_80", "7.1");
    add(32, E::bf16, E::bf16, E::f32, 80, "sm_80", "7.1");
    add(16, E::tf32, E::tf32, E::f32, 80, "sm_80", "7.1");
    add(8, E::tf32, E::tf32, E::f32, 80, "sm_80", "7.1");
    add(64, E::e4m3, E::e4m3, E::f32, 89, "sm_89", "8.4");
    add(64, E::e5m2, E::e4m3, E::f32, 89, "sm_89", "8.4");
    add(64, E::s8, E::s8, E::s32, 80, "sm_80", "7.1");
    add(32, E::s8, E::s8, E::s32, 80, "sm_80", "7.1");
    add(128, E::s4, E::s4, E::s32, 80, "sm_80", "7.1");
    add(64, E::s4, E::s4, E::s32, 80, "sm_80", "7.1");
}

}  // namespace

unsigned bits_of(Element element) {
    switch (element) {
        case E::f64:
            return 64;
        case E::f32:
        case E::tf32:
        case E::s32:
            return 32;
        case E::bf16:
        case E::f16:
            return 16;
        case E::e5m2:
        case E::e4m3:
        case E::s8:
        case E::u8:
            return 8;
        case E::s4:
        case E::u4:
            return 4;
        case E::b1:
            return 1;
    }
    return 0;
}

const char* name_of(Element element) {
    static constexpr const char* kNames[] = {"f64", "f32", "tf32", "bf16", "f16", "e5m2", "e4m3",
                                             "s32", "s8",  "u8",   "s4",   "u4",  "b1"};
    return kNames[static_cast<std::size_t>(element)];
}

std::optional<numerics::Format> format_of(Element element) {
    using numerics::Format;
    switch (element) {
        case E::f64:
            return Format::fp64;
        case E::f32:
            return Format::fp32;
        case E::tf32:
            return Format::tf32;
        case E::bf16:
            return Format::bf16;
        case E::f16:
            return Format::fp16;
        case E::e5m2:
            return Format::e5m2;
        case E::e4m3:
            return Format::e4m3;
        default:
            return std::nullopt;
    }
}

std::string MatrixInstruction::mnemonic() const {
    const std::string shape = ".m" + std::to_string(m) + "n" + std::to_string(n) + "k" + std::to_string(k);
    const auto dot = [](Element element) { return std::string(".") + name_of(element); };
    if (kind == Kind::wgmma)
        return "wgmma.mma_async.sync.aligned" + shape + dot(sum) + dot(a) + dot(b) + qualifier;
    const std::string types = dot(sum) + dot(a) + dot(b) + dot(sum);
    // .satfinite and the rounding of f64 stand before the types, the operation on bits behind them.
    const std::string text =
        std::string(kind == Kind::sparse ? "mma.sp" : "mma") + ".sync.aligned" + shape + ".row.col";
    return a == E::b1 ? text + types + qualifier : text + qualifier + types;
}

const std::vector<MatrixInstruction>& matrix_instructions() {
    static const std::vector<MatrixInstruction> list = [] {
        std::vector<MatrixInstruction> all;
        add_wgmma(all);
        add_float(all);
        add_doubles(all);
        add_sparse(all);
        add_integers(all);
        return all;
    }();
    return list;
}

std::vector<MatrixInstruction> matrix_instructions(unsigned compute_capability) {
    std::vector<MatrixInstruction> available;
    for (const MatrixInstruction& instruction : matrix_instructions())
        if (instruction.runs_on(compute_capability)) available.push_back(instruction);
    return available;
}

}  // namespace heddle::capture
