// Arithmetic and conversions of every format in every rounding mode, against exact integers.
#include <catch2/catch.hpp>

#include "exact_rounding.h"
#include "instruction_bench.h"

using namespace heddle::ptx::test;

namespace {

struct Named {
    const char* type;
    BinaryFormat format;
    std::uint64_t nan;  ///< what arithmetic returns
};
const Named kF16{"f16", kHalf, 0x7FFF}, kBf16{"bf16", kBfloat, 0x7FFF}, kF32{"f32", kSingle, 0x7FFFFFFF},
    kF64{"f64", kDouble, 0x7FFFFFFFFFFFFFFF};

struct Mode {
    const char* name;
    RoundTo to;
};
const Mode kModes[] = {
    {"rn", RoundTo::nearest}, {"rz", RoundTo::zero}, {"rm", RoundTo::down}, {"rp", RoundTo::up}};

enum class Operation { add, subtract, multiply, fused, divide, reciprocal, root };

bool is_zero(const BinaryFormat& f, std::uint64_t a) {
    return (a & (f.sign_bit() - 1)) == 0;
}

// a * b + c; a product by itself has c = -0 with its own sign, which changes nothing.
std::uint64_t fused(const Named& n, RoundTo mode, std::uint64_t a, std::uint64_t b, std::uint64_t c) {
    const BinaryFormat& f = n.format;
    if (f.is_nan(a) || f.is_nan(b) || f.is_nan(c)) return n.nan;
    const std::uint64_t sign = (a ^ b) & f.sign_bit();
    const bool infinite = f.is_infinite(a) || f.is_infinite(b);
    if (infinite && (is_zero(f, a) || is_zero(f, b))) return n.nan;
    if (infinite) return f.is_infinite(c) && ((c & f.sign_bit()) != sign) ? n.nan : f.infinity() | sign;
    if (f.is_infinite(c)) return c;
    const Dyadic product = f.value(a) * f.value(b), sum = product + f.value(c);
    const bool same = (c & f.sign_bit()) == sign && product.sign() == 0;
    return round_exactly(f, mode, sum, same ? sign != 0 : mode == RoundTo::down);
}

std::uint64_t divided(const Named& n, RoundTo mode, std::uint64_t a, std::uint64_t b) {
    const BinaryFormat& f = n.format;
    const std::uint64_t sign = (a ^ b) & f.sign_bit();
    if (f.is_nan(a) || f.is_nan(b)) return n.nan;
    if (f.is_infinite(a)) return f.is_infinite(b) ? n.nan : f.infinity() | sign;
    if (f.is_infinite(b)) return sign;
    if (is_zero(f, b)) return is_zero(f, a) ? n.nan : f.infinity() | sign;
    if (is_zero(f, a)) return sign;
    const Dyadic x = f.value(a), y = f.value(b);
    return round_exactly(f, mode, sign != 0, [&](const Dyadic& q) { return compare(x, q * y) * y.sign(); });
}

std::uint64_t root(const Named& n, RoundTo mode, std::uint64_t a) {
    const BinaryFormat& f = n.format;
    if (is_zero(f, a)) return a;
    if (f.is_nan(a) || (a & f.sign_bit()) != 0) return n.nan;
    if (f.is_infinite(a)) return a;
    const Dyadic x = f.value(a);
    return round_exactly(f, mode, false, [&](const Dyadic& r) { return compare(x, r * r); });
}

std::uint64_t one(const BinaryFormat& f) {
    return std::uint64_t{(std::uint64_t{1} << (f.exponent_bits - 1)) - 1} << f.fraction_bits;
}

std::uint64_t exact(Operation operation, const Named& n, RoundTo mode, std::uint64_t a, std::uint64_t b,
                    std::uint64_t c) {
    const BinaryFormat& f = n.format;
    switch (operation) {
        case Operation::add:
            return fused(n, mode, a, one(f), b);
        case Operation::subtract:
            return fused(n, mode, a, one(f), f.is_nan(b) ? b : b ^ f.sign_bit());
        case Operation::multiply:
            return fused(n, mode, a, b, (a ^ b) & f.sign_bit());
        case Operation::fused:
            return fused(n, mode, a, b, c);
        case Operation::divide:
            return divided(n, mode, a, b);
        case Operation::reciprocal:
            return divided(n, mode, one(f), a);
        case Operation::root:
            return root(n, mode, a);
    }
    return 0;
}

std::uint64_t flushed(const BinaryFormat& f, std::uint64_t a) {
    return f.is_subnormal(a) ? a & f.sign_bit() : a;
}
std::uint64_t saturated(const BinaryFormat& f, std::uint64_t a) {
    if (f.is_nan(a) || (a & f.sign_bit()) != 0) return 0;
    return a > one(f) ? one(f) : a;
}
std::uint64_t relu(const BinaryFormat& f, std::uint64_t a) {
    return !f.is_nan(a) && (a & f.sign_bit()) != 0 ? 0 : a;
}

// `suffixes`: what stands between the rounding and the type, ".ftz.sat" for example.
void check(Operation operation, const std::string& name, const Named& n, RoundTo mode,
           const std::string& suffixes = "") {
    const unsigned operands = operation == Operation::fused                                        ? 3
                              : operation == Operation::reciprocal || operation == Operation::root ? 1
                                                                                                   : 2;
    static const char* const kOperands[] = {"", " %d, %a;", " %d, %a, %b;", " %d, %a, %b, %c;"};
    const bool ftz = suffixes.find("ftz") != std::string::npos,
               sat = suffixes.find("sat") != std::string::npos;
    const bool relus = suffixes.find("relu") != std::string::npos;
    const BinaryFormat& f = n.format;
    check_instruction(
        name + suffixes + "." + n.type + kOperands[operands], std::vector<std::string>(operands, n.type),
        n.type,
        [&](auto a, auto b, auto c) {
            const auto in = [&](std::uint64_t x) { return ftz ? flushed(f, x) : x; };
            std::uint64_t result = exact(operation, n, mode, in(a), in(b), in(c));
            if (ftz) result = flushed(f, result);
            if (sat) result = saturated(f, result);
            return relus ? relu(f, result) : result;
        },
        n.format.exponent_bits == 11);
}

const std::pair<Operation, const char*> kOperations[] = {
    {Operation::add, "add"},   {Operation::subtract, "sub"}, {Operation::multiply, "mul"},
    {Operation::fused, "fma"}, {Operation::divide, "div"},   {Operation::reciprocal, "rcp"},
    {Operation::root, "sqrt"}};

}  // namespace

TEST_CASE("Exact rounding knows the values of formats", "[ptx][exact]") {
    // Printed examples: 1/3 and the largest numbers in each format.
    CHECK(divided(kF32, RoundTo::nearest, 0x3F800000, 0x40400000) == 0x3EAAAAAB);
    CHECK(divided(kF64, RoundTo::nearest, 0x3FF0000000000000, 0x4008000000000000) == 0x3FD5555555555555);
    CHECK(kHalf.largest() == 0x7BFF);
    CHECK(kE4m3.largest() == 0x7E);
    CHECK(round_exactly(kHalf, RoundTo::nearest, Dyadic(false, 65519, 0), false) == 0x7BFF);
    CHECK(round_exactly(kHalf, RoundTo::nearest, Dyadic(false, 65520, 0), false) == 0x7C00);
    CHECK(round_exactly(kE4m3, RoundTo::nearest, Dyadic(true, 464, 0), false, true) == 0xFE);
    CHECK(round_exactly(kSingle, RoundTo::down, Dyadic(true, 1, -200), false) == 0x80000001);
}

TEST_CASE("Single precision in every rounding mode", "[ptx][exact]") {
    for (const auto& [operation, name] : kOperations) {
        for (const Mode& mode : kModes) {
            const std::string rounded = std::string(name) + "." + mode.name;
            check(operation, rounded, kF32, mode.to);
            check(operation, rounded, kF32, mode.to, ".ftz");
            const bool saturates = operation == Operation::add || operation == Operation::subtract ||
                                   operation == Operation::multiply || operation == Operation::fused;
            if (saturates) check(operation, rounded, kF32, mode.to, ".sat");
            if (saturates) check(operation, rounded, kF32, mode.to, ".ftz.sat");
        }
    }
}

TEST_CASE("Double precision in every rounding mode", "[ptx][exact]") {
    for (const auto& [operation, name] : kOperations) {
        for (const Mode& mode : kModes) check(operation, std::string(name) + "." + mode.name, kF64, mode.to);
    }
}

TEST_CASE("Half precision and bfloat16 rounded once", "[ptx][exact]") {
    const std::pair<Operation, const char*> operations[] = {{Operation::add, "add"},
                                                            {Operation::subtract, "sub"},
                                                            {Operation::multiply, "mul"},
                                                            {Operation::fused, "fma.rn"}};
    for (const auto& [operation, name] : operations) {
        check(operation, name, kF16, RoundTo::nearest);
        check(operation, name, kF16, RoundTo::nearest, ".ftz");
        check(operation, name, kF16, RoundTo::nearest, ".sat");
        check(operation, name, kF16, RoundTo::nearest, ".ftz.sat");
        check(operation, name, kBf16, RoundTo::nearest);
    }
    check(Operation::fused, "fma.rn", kF16, RoundTo::nearest, ".relu");
    check(Operation::fused, "fma.rn", kF16, RoundTo::nearest, ".ftz.relu");
    for (const Mode& mode : kModes) {
        check(Operation::fused, std::string("fma.") + mode.name, kBf16, mode.to);
        check(Operation::fused, std::string("fma.") + mode.name, kBf16, mode.to, ".relu");
    }
}

TEST_CASE("Conversions between formats in every rounding mode", "[ptx][exact]") {
    const auto convert = [](const Named& to, const Named& from, const Mode& mode,
                            const std::string& suffixes) {
        const bool ftz = suffixes.find("ftz") != std::string::npos;
        const bool finite = suffixes.find("satfinite") != std::string::npos;
        const bool sat = suffixes == ".sat", relus = suffixes.find("relu") != std::string::npos;
        check_instruction(
            "cvt." + std::string(mode.name) + suffixes + "." + to.type + "." + from.type + " %d, %a;",
            {from.type}, to.type, [&](auto given, auto, auto) {
                const bool single_source = from.format.fraction_bits == 23,
                           single = to.format.fraction_bits == 23;
                const std::uint64_t a = ftz && single_source ? flushed(from.format, given) : given;
                const std::uint64_t sign = (a & from.format.sign_bit()) != 0 ? to.format.sign_bit() : 0;
                std::uint64_t result = 0;
                if (from.format.is_nan(a)) {
                    result = to.nan;
                } else if (from.format.is_infinite(a)) {
                    result = (finite ? to.format.largest() : to.format.infinity()) | sign;
                } else {
                    result = round_exactly(to.format, mode.to, from.format.value(a), sign != 0, finite);
                }
                if (ftz && single) result = flushed(to.format, result);
                if (relus) result = relu(to.format, result);
                return sat ? saturated(to.format, result) : result;
            });
    };
    for (const Mode& mode : kModes) {
        for (const char* const suffixes : {"", ".ftz", ".sat"}) {
            convert(kF32, kF64, mode, suffixes);
            convert(kF16, kF32, mode, suffixes);
        }
        convert(kF16, kF64, mode, "");
        convert(kBf16, kF64, mode, "");
        convert(kBf16, kF32, mode, "");
        convert(kBf16, kF32, mode, ".ftz");
        convert(kBf16, kF16, mode, "");
        convert(kF16, kBf16, mode, "");
        convert(kF32, kBf16, mode, "");
        convert(kF64, kBf16, mode, "");
        if (mode.to != RoundTo::nearest && mode.to != RoundTo::zero) continue;
        for (const Named& to : {kF16, kBf16}) {
            for (const char* const suffixes : {".relu", ".satfinite", ".relu.satfinite", ".satfinite.relu"})
                convert(to, kF32, mode, suffixes);
        }
    }
}
