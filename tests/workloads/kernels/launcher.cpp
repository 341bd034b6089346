#include "launcher.h"

#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>

#include "isa/numerics/formats.h"
#include "isa/ptx/execution.h"
#include "isa/ptx/parser.h"
#include "isa/ptx/tensor_map.h"
#ifdef HEDDLE_THROUGH_PTXAS
#include "../../isa/sass/through_ptxas.h"
#endif

namespace heddle::kernels::test {
namespace {

template <class T>
void put(std::vector<std::byte>& bytes, std::size_t index, T value) {
    std::memcpy(bytes.data() + index * sizeof value, &value, sizeof value);
}

template <class T>
T get(const std::vector<std::byte>& bytes, std::size_t index) {
    T value;
    std::memcpy(&value, bytes.data() + index * sizeof value, sizeof value);
    return value;
}

ptx::LoadedKernel load(const GeneratedKernel& kernel, ptx::Assembly assembly = ptx::Assembly::as_written) {
#ifdef HEDDLE_THROUGH_PTXAS  // tests/isa/sass runs these tests as machine code
    (void)assembly;
    return sass::test::load_through_ptxas(kernel.text, kernel.entry, kernel.entry);
#else
    return {ptx::parse_shared(kernel.text, kernel.entry), kernel.entry, 0, assembly};
#endif
}

numerics::Format fp8_of(ElementType type) {
    return type == ElementType::e4m3 ? numerics::Format::e4m3 : numerics::Format::e5m2;
}

}  // namespace

std::vector<std::byte> encode(ElementType type, const std::vector<double>& values) {
    std::vector<std::byte> bytes(values.size() * bytes_of(type));
    for (std::size_t i = 0; i < values.size(); ++i) {
        const double v = values[i];
        switch (type) {
            case ElementType::f64:
                put(bytes, i, v);
                break;
            case ElementType::f32:
                put(bytes, i, static_cast<float>(v));
                break;
            case ElementType::f16:
                put(bytes, i, numerics::fp32_to_fp16(static_cast<float>(v)));
                break;
            case ElementType::bf16:
                put(bytes, i, numerics::fp32_to_bf16(static_cast<float>(v)));
                break;
            case ElementType::e4m3:
            case ElementType::e5m2:
                put(bytes, i,
                    static_cast<std::uint8_t>(numerics::from_float(
                        fp8_of(type), static_cast<float>(v), {.overflow = numerics::Overflow::saturate})));
                break;
            case ElementType::i64:
                put(bytes, i, static_cast<std::int64_t>(v));
                break;
            case ElementType::i32:
                put(bytes, i, static_cast<std::int32_t>(v));
                break;
            case ElementType::i8:
                put(bytes, i, static_cast<std::int8_t>(v));
                break;
            case ElementType::u8:
                put(bytes, i, static_cast<std::uint8_t>(v));
                break;
            case ElementType::boolean:
                put(bytes, i, static_cast<std::uint8_t>(v != 0));
                break;
        }
    }
    return bytes;
}

std::vector<double> decode(ElementType type, const std::vector<std::byte>& bytes) {
    std::vector<double> values(bytes.size() / bytes_of(type));
    for (std::size_t i = 0; i < values.size(); ++i) {
        switch (type) {
            case ElementType::f64:
                values[i] = get<double>(bytes, i);
                break;
            case ElementType::f32:
                values[i] = get<float>(bytes, i);
                break;
            case ElementType::f16:
                values[i] = numerics::fp16_to_fp32(get<std::uint16_t>(bytes, i));
                break;
            case ElementType::bf16:
                values[i] = numerics::bf16_to_fp32(get<std::uint16_t>(bytes, i));
                break;
            case ElementType::e4m3:
            case ElementType::e5m2:
                values[i] = numerics::to_float(fp8_of(type), get<std::uint8_t>(bytes, i));
                break;
            case ElementType::i64:
                values[i] = static_cast<double>(get<std::int64_t>(bytes, i));
                break;
            case ElementType::i32:
                values[i] = get<std::int32_t>(bytes, i);
                break;
            case ElementType::i8:
                values[i] = get<std::int8_t>(bytes, i);
                break;
            case ElementType::u8:
            case ElementType::boolean:
                values[i] = get<std::uint8_t>(bytes, i);
                break;
        }
    }
    return values;
}

double rounded(ElementType type, double value) {
    return decode(type, encode(type, {value}))[0];
}

double unit_roundoff(ElementType type) {
    switch (type) {
        case ElementType::f32:
            return 0x1p-24;
        case ElementType::f16:
            return 0x1p-11;
        case ElementType::bf16:
            return 0x1p-8;
        default:
            return 0x1p-53;
    }
}

std::uint32_t Device::add_bytes(const std::vector<std::byte>& bytes) {
#ifdef HEDDLE_THROUGH_PTXAS  // ptxas makes atomics of 16 bits out of those of the word around them, which a GPU's buffers always have
    const std::size_t allocated = (bytes.size() + 3) / 4 * 4;
#else
    const std::size_t allocated = bytes.size();
#endif
    const std::uint64_t address = memory_.allocate("buffer " + std::to_string(buffers_.size()), allocated, true);
    memory_.write(address, bytes);
    buffers_.push_back({address, bytes.size(), ElementType::u8});
    return static_cast<std::uint32_t>(buffers_.size() - 1);
}

std::uint32_t Device::add(ElementType type, const std::vector<double>& values) {
    const std::uint32_t buffer = add_bytes(encode(type, values));
    buffers_[buffer].type = type;
    return buffer;
}

std::uint32_t Device::add_untouched(ElementType type, std::size_t elements) {
    const std::uint32_t buffer =
        add_bytes(std::vector<std::byte>(elements * bytes_of(type), std::byte{0xff}));
    buffers_[buffer].type = type;
    return buffer;
}

std::vector<std::byte> Device::read_bytes(std::uint32_t buffer) const {
    std::vector<std::byte> bytes(buffers_.at(buffer).bytes);
    memory_.read(buffers_[buffer].address, bytes);
    return bytes;
}

std::vector<double> Device::read(std::uint32_t buffer) const {
    return decode(buffers_.at(buffer).type, read_bytes(buffer));
}

std::uint32_t Device::add_unbacked(std::uint64_t bytes) {
    const std::uint64_t address = memory_.allocate("buffer " + std::to_string(buffers_.size()), bytes, false);
    buffers_.push_back({address, bytes, ElementType::u8});
    return static_cast<std::uint32_t>(buffers_.size() - 1);
}

ptx::LaunchContext Device::prepare(const ptx::LoadedKernel& loaded, const GeneratedKernel& kernel,
                                   Extent3 grid, const std::vector<KernelArgument>& arguments) {
    std::vector<std::vector<std::byte>> values;
    const std::vector<KernelArgument> ordered = order_arguments(kernel, arguments);
    for (std::size_t i = 0; i < ordered.size(); ++i) {
        if (ordered[i].tensor_map) {
            const std::uint64_t address = buffers_.at(ordered[i].buffer).address + ordered[i].byte_offset;
            const auto map = ptx::make_tensor_map(*ordered[i].tensor_map, address).encode();
            values.emplace_back(map.begin(), map.end());
            continue;
        }
        std::uint64_t bits = ordered[i].bits;
        if (ordered[i].pointer) {
            bits = ordered[i].buffer == kNoBuffer
                       ? 0
                       : buffers_.at(ordered[i].buffer).address + ordered[i].byte_offset;
        }
        std::vector<std::byte> value(kernel.parameters[i].bytes);
        std::memcpy(value.data(), &bits, value.size());
        values.push_back(value);
    }
    ptx::LaunchContext launch;
    launch.kernel = &loaded;
    launch.grid = {grid[0], grid[1], grid[2]};
    launch.block = {kernel.block[0], kernel.block[1], kernel.block[2]};
    launch.cluster = {kernel.cluster[0], kernel.cluster[1], kernel.cluster[2]};
    launch.dynamic_shared_bytes = kernel.dynamic_shared_bytes;
    launch.parameters = ptx::pack_parameters(loaded, values);
    launch.memory = &memory_;
    launch.compute_capability = compute_capability_;
    return launch;
}

std::uint64_t Device::run(const GeneratedKernel& kernel, Extent3 grid,
                          const std::vector<KernelArgument>& arguments) {
    const ptx::LoadedKernel loaded = load(kernel, assembly_);
    return ptx::run_functionally(prepare(loaded, kernel, grid, arguments));
}

std::uint64_t Device::run_timing(const GeneratedKernel& kernel, Extent3 grid,
                                 const std::vector<KernelArgument>& arguments) {
    const ptx::LoadedKernel loaded = load(kernel);
    ptx::LaunchContext launch = prepare(loaded, kernel, grid, arguments);
    launch.mode = ptx::Mode::timing;
    return ptx::run_functionally(launch);
}

void Device::run_first_cta(
    const GeneratedKernel& kernel, Extent3 grid, const std::vector<KernelArgument>& arguments,
    const std::function<void(const ptx::InstructionInfo&, const ptx::MemoryAccess&)>& visit) {
    const ptx::LoadedKernel loaded = load(kernel);
    const ptx::LaunchContext launch = prepare(loaded, kernel, grid, arguments);
    ptx::Cta cta(launch);
    cta.start(0);
    while (!cta.finished()) {
        for (unsigned i = 0; i < cta.warp_count(); ++i) {
            ptx::Warp& warp = cta.warp(i);
            if (warp.finished() || warp.blocked()) continue;
            const ptx::StepResult step = warp.step(0);
            if (step.access != nullptr) visit(*step.info, *step.access);
        }
    }
}

std::vector<double> random_integers(std::size_t count, int low, int high, unsigned seed) {
    std::mt19937 engine(seed);
    std::vector<double> values(count);
    for (double& value : values) {
        value = low + static_cast<int>(engine() % static_cast<unsigned>(high - low + 1));
    }
    return values;
}

std::vector<double> random_reals(ElementType type, std::size_t count, double low, double high,
                                 unsigned seed) {
    std::mt19937 engine(seed);
    std::vector<double> values(count);
    for (double& value : values) value = rounded(type, low + (high - low) * (engine() * 0x1p-32));
    return values;
}

void check_close(const std::vector<double>& values, const std::vector<double>& reference, double relative,
                 double absolute) {
    REQUIRE(values.size() == reference.size());
    std::size_t worst = 0;
    double worst_ratio = -1;
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (std::isnan(reference[i]) && std::isnan(values[i])) continue;
        if (values[i] == reference[i]) continue;
        double ratio = std::fabs(values[i] - reference[i]) / (relative * std::fabs(reference[i]) + absolute);
        if (!std::isfinite(ratio)) ratio = INFINITY;
        if (ratio > worst_ratio) worst_ratio = ratio, worst = i;
    }
    INFO("worst element " << worst << " of " << values.size() << ": " << values[worst] << ", expected "
                          << reference[worst] << ", error over tolerance " << worst_ratio);
    CHECK(worst_ratio <= 1);
}

void check_norm(const std::vector<double>& values, const std::vector<double>& reference, double relative) {
    REQUIRE(values.size() == reference.size());
    double error = 0, norm = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
        error += (values[i] - reference[i]) * (values[i] - reference[i]);
        norm += reference[i] * reference[i];
    }
    CHECK(std::sqrt(error / norm) <= relative);
}

void check_equal(const std::vector<double>& values, const std::vector<double>& reference) {
    REQUIRE(values.size() == reference.size());
    std::size_t wrong = 0, first = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (values[i] == reference[i]) continue;
        if (wrong++ == 0) first = i;
    }
    INFO(wrong << " of " << values.size() << " elements differ, the first is " << first << ": "
               << values[first] << ", expected " << reference[first]);
    CHECK(wrong == 0);
}

}  // namespace heddle::kernels::test
