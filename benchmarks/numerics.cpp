// Multiply-accumulates per second (items) of the tensor-core and systolic arithmetic, bit for bit, by input
// type. `tile` is what a CTA multiplies in one go, small enough for the host's caches; `mma` is a single
// m16n8k16.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <vector>

#include "isa/numerics/dot_product_unit.h"
#include "isa/numerics/systolic.h"

namespace {

using namespace heddle::numerics;

struct Shape {
    std::size_t m, n, k;
};
constexpr Shape kTile{64, 64, 128}, kMma{16, 8, 16};

void count_macs(benchmark::State& state, const Shape& shape) {
    state.SetItemsProcessed(static_cast<std::int64_t>(static_cast<std::size_t>(state.iterations()) * shape.m *
                                                      shape.n * shape.k));
}

std::uint32_t next(std::uint32_t& state) {
    return state = state * 1664525u + 1013904223u;
}

/// Numbers of both signs with magnitudes in [0.5, 2): no zeros, infinities, NaNs or subnormals.
template <typename Element>
std::vector<Element> numbers(Format format, std::size_t count) {
    const FormatTraits& layout = traits(format);
    std::vector<Element> result(count);
    std::uint32_t state = 12345;
    for (Element& value : result) {
        const std::uint32_t random = next(state);
        const std::uint32_t exponent = static_cast<std::uint32_t>(layout.bias()) - 1 + (random >> 30 & 1);
        const std::uint32_t sign = random >> 31,
                            fraction = (random >> 7) & ((1u << layout.fraction_bits) - 1);
        const std::uint32_t bits =
            ((sign << layout.exponent_bits | exponent) << layout.fraction_bits | fraction)
            << layout.padding_bits;
        value = static_cast<Element>(bits);
    }
    return result;
}

/// Numbers of any sign and exponent, up to `largest_exponent`. Without a limit most sums overflow; with one
/// of 60, products are anywhere from subnormal to 2^122.
template <typename Element>
std::vector<Element> full_range(Format format, std::size_t count, int largest_exponent) {
    std::vector<Element> result(count);
    std::uint32_t state = 54321;
    for (Element& value : result) {
        do value = static_cast<Element>(next(state) >> (32 - traits(format).storage_bits));
        while (decode(format, value).number_class == NumberClass::nan ||
               decode(format, value).number_class == NumberClass::infinity ||
               decode(format, value).exponent > largest_exponent);
    }
    return result;
}

/// What a tensor core computes with.
struct Unit {
    Generation generation = Generation::hopper;
    Format input = Format::bf16, output = Format::fp32;
    Instruction instruction = Instruction::mma_sync;
    Implementation implementation = Implementation::automatic;
    int largest_exponent = 0;  ///< other than 0: full_range()
};

template <typename Input, typename Output>
void multiply(benchmark::State& state, const Unit& unit, Shape shape) {
    const DotProductParameters parameters =
        parameters_for(unit.generation, unit.input, unit.output, unit.instruction);
    const auto draw = [&](Format format, std::size_t count) {
        return unit.largest_exponent != 0 ? full_range<Input>(format, count, unit.largest_exponent)
                                          : numbers<Input>(format, count);
    };
    const std::vector<Input> a = draw(unit.input, shape.m * shape.k);
    const std::vector<Input> b = draw(unit.input, shape.n * shape.k);
    const std::vector<Output> c(shape.m * shape.n);
    std::vector<Output> d(c.size());
    for (auto _ : state) {
        matrix_multiply_accumulate(parameters, shape.m, shape.n, shape.k, a.data(), b.data(), c.data(),
                                   d.data(), unit.implementation);
        benchmark::ClobberMemory();
    }
    count_macs(state, shape);
}

void tensor_core(benchmark::State& state, const Unit& unit, Shape shape) {
    const bool wide = unit.output == Format::fp32;
    switch (traits(unit.input).storage_bits) {
        case 8:
            return wide ? multiply<std::uint8_t, float>(state, unit, shape)
                        : multiply<std::uint8_t, std::uint16_t>(state, unit, shape);
        case 16:
            return wide ? multiply<std::uint16_t, float>(state, unit, shape)
                        : multiply<std::uint16_t, std::uint16_t>(state, unit, shape);
        default:
            return multiply<std::uint32_t, float>(state, unit, shape);
    }
}

const Unit kBf16{}, kFp16{.input = Format::fp16},
    kFp16ToFp16{.input = Format::fp16, .output = Format::fp16}, kTf32{.input = Format::tf32},
    kAmpereBf16{.generation = Generation::ampere},
    kVoltaFp16{.generation = Generation::volta, .input = Format::fp16},
    kE4m3Wgmma{.input = Format::e4m3, .instruction = Instruction::wgmma},
    kE5m2Wgmma{.input = Format::e5m2, .instruction = Instruction::wgmma}, kE4m3MmaSync{.input = Format::e4m3},
    kBf16Portable{.implementation = Implementation::portable}, kBf16FullRange{.largest_exponent = 60},
    kBf16Overflowing{.largest_exponent = 127}, kTf32FullRange{.input = Format::tf32, .largest_exponent = 60};

BENCHMARK_CAPTURE(tensor_core, hopper_bf16_tile, kBf16, kTile);
BENCHMARK_CAPTURE(tensor_core, hopper_fp16_tile, kFp16, kTile);
BENCHMARK_CAPTURE(tensor_core, hopper_fp16_to_fp16_tile, kFp16ToFp16, kTile);
BENCHMARK_CAPTURE(tensor_core, hopper_tf32_tile, kTf32, kTile);
BENCHMARK_CAPTURE(tensor_core, hopper_e4m3_wgmma_tile, kE4m3Wgmma, kTile);
BENCHMARK_CAPTURE(tensor_core, hopper_e5m2_wgmma_tile, kE5m2Wgmma, kTile);
BENCHMARK_CAPTURE(tensor_core, hopper_e4m3_mma_sync_tile, kE4m3MmaSync, kTile);
BENCHMARK_CAPTURE(tensor_core, ampere_bf16_tile, kAmpereBf16, kTile);
BENCHMARK_CAPTURE(tensor_core, volta_fp16_tile, kVoltaFp16, kTile);
BENCHMARK_CAPTURE(tensor_core, hopper_bf16_portable_tile, kBf16Portable, kTile);
BENCHMARK_CAPTURE(tensor_core, hopper_bf16_full_range_tile, kBf16FullRange, kTile);
BENCHMARK_CAPTURE(tensor_core, hopper_bf16_overflowing_tile, kBf16Overflowing, kTile);
BENCHMARK_CAPTURE(tensor_core, hopper_tf32_full_range_tile, kTf32FullRange, kTile);
BENCHMARK_CAPTURE(tensor_core, hopper_bf16_mma, kBf16, kMma);
BENCHMARK_CAPTURE(tensor_core, hopper_fp16_mma, kFp16, kMma);

void tensor_core_fp64(benchmark::State& state, Shape shape) {
    const std::vector<double> a(shape.m * shape.k, 1.25), b(shape.n * shape.k, 0.75), c(shape.m * shape.n);
    std::vector<double> d(c.size());
    for (auto _ : state) {
        matrix_multiply_accumulate_fp64(shape.m, shape.n, shape.k, a.data(), b.data(), c.data(), d.data());
        benchmark::ClobberMemory();
    }
    count_macs(state, shape);
}
BENCHMARK_CAPTURE(tensor_core_fp64, tile, kTile);

template <typename Element>
std::vector<Element> integers(std::size_t count) {
    std::vector<Element> result(count);
    std::uint32_t state = 12345;
    for (Element& value : result) value = static_cast<Element>(next(state) >> 24);
    return result;
}

void tensor_core_int8(benchmark::State& state, Shape shape) {
    const auto a = integers<std::int8_t>(shape.m * shape.k), b = integers<std::int8_t>(shape.n * shape.k);
    const std::vector<std::int32_t> c(shape.m * shape.n);
    std::vector<std::int32_t> d(c.size());
    for (auto _ : state) {
        matrix_multiply_accumulate_int8(shape.m, shape.n, shape.k, a.data(), b.data(), c.data(), d.data());
        benchmark::ClobberMemory();
    }
    count_macs(state, shape);
}
BENCHMARK_CAPTURE(tensor_core_int8, tile, kTile);

void systolic_bf16(benchmark::State& state, Shape shape) {
    const auto a = numbers<std::uint16_t>(Format::bf16, shape.m * shape.k),
               b = numbers<std::uint16_t>(Format::bf16, shape.n * shape.k);
    std::vector<float> c(shape.m * shape.n);
    for (auto _ : state) {
        matrix_unit_tile(SystolicOrder{}, shape.m, shape.n, shape.k, a.data(), b.data(), c.data());
        benchmark::ClobberMemory();
    }
    count_macs(state, shape);
}
BENCHMARK_CAPTURE(systolic_bf16, tile, kTile);

void systolic_int8(benchmark::State& state, Shape shape) {
    const auto a = integers<std::int8_t>(shape.m * shape.k), b = integers<std::int8_t>(shape.n * shape.k);
    std::vector<std::int32_t> c(shape.m * shape.n);
    for (auto _ : state) {
        matrix_unit_tile(shape.m, shape.n, shape.k, a.data(), b.data(), c.data());
        benchmark::ClobberMemory();
    }
    count_macs(state, shape);
}
BENCHMARK_CAPTURE(systolic_int8, tile, kTile);

}  // namespace
