#include "validation/capture/sections/kernel_items.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "isa/numerics/compare.h"
#include "isa/numerics/counter_random.h"
#include "validation/capture/sections/large_kernels.h"

namespace heddle::capture {
namespace {

using kernels::ElementType;
using kernels::SampleBuffer;

constexpr std::uint64_t kKernelSeed = 0x6B65726E656C73;

template <typename T>
void store(std::vector<std::byte>& bytes, std::size_t index, T value) {
    std::memcpy(bytes.data() + index * sizeof value, &value, sizeof value);
}

void store_integer(std::vector<std::byte>& bytes, ElementType type, std::size_t index, std::int64_t value) {
    switch (kernels::bytes_of(type)) {
        case 1:
            return store(bytes, index, static_cast<std::int8_t>(value));
        case 4:
            return store(bytes, index, static_cast<std::int32_t>(value));
        default:
            return store(bytes, index, value);
    }
}

template <typename Storage>
void fill_normal(numerics::Format format, std::uint64_t seed, std::vector<std::byte>& bytes) {
    numerics::fill_random(
        format, numerics::Distribution::normal, seed, 0,
        std::span(reinterpret_cast<Storage*>(bytes.data()), bytes.size() / sizeof(Storage)));
}

void fill_random_contents(ElementType type, std::uint64_t seed, std::vector<std::byte>& bytes) {
    using numerics::Format;
    switch (type) {
        case ElementType::f64:
            return fill_normal<std::uint64_t>(Format::fp64, seed, bytes);
        case ElementType::f32:
            return fill_normal<std::uint32_t>(Format::fp32, seed, bytes);
        case ElementType::f16:
            return fill_normal<std::uint16_t>(Format::fp16, seed, bytes);
        case ElementType::bf16:
            return fill_normal<std::uint16_t>(Format::bf16, seed, bytes);
        default:
            break;
    }
    const std::size_t elements = bytes.size() / kernels::bytes_of(type);
    for (std::size_t i = 0; i < elements; ++i) {
        const std::int64_t value = numerics::random_int8(numerics::Distribution::integers, seed, i);
        store_integer(bytes, type, i,
                      type == ElementType::boolean || type == ElementType::u8 ? value & 1 : value);
    }
}

/// Categories of the library's samples, by the beginning of their names.
std::string category_of(const std::string& name) {
    const auto begins = [&](const char* with) { return name.rfind(with, 0) == 0; };
    if (begins("gemm") || begins("split-K")) return "gemm";
    if (begins("attention")) return "attention";
    if (begins("softmax") || begins("layer norm") || begins("reduce") || begins("cross-entropy"))
        return "rows";
    if (begins("fill") || begins("rows with") || begins("transpose") || begins("gather") || begins("scatter"))
        return "movement";
    return "elementwise";
}

void add_items(std::vector<KernelItem>& items, std::vector<kernels::LibraryKernel> samples,
               const std::string& prefix) {
    for (kernels::LibraryKernel& sample : samples) {
        KernelItem item;
        item.id = prefix + sample.name;
        item.category = category_of(sample.name);
        item.kernel = std::move(sample);
        items.push_back(std::move(item));
    }
}

std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) {
    return numerics::mix_bits(hash ^ value) + value;
}

}  // namespace

std::vector<KernelItem> kernel_items(unsigned compute_capability, bool quick) {
    std::vector<KernelItem> items;
    add_items(items, kernels::library_samples(compute_capability), "sample/");
    if (!quick) add_items(items, large_kernels(compute_capability), "large/");
    return items;
}

std::uint64_t fingerprint(const kernels::LibraryKernel& kernel) {
    std::uint64_t hash = numerics::hash_bits(std::as_bytes(std::span(kernel.kernel.text)));
    for (const std::uint32_t extent : kernel.grid) hash = mixed(hash, extent);
    for (const std::uint32_t extent : kernel.kernel.block) hash = mixed(hash, extent);
    hash = mixed(hash, kernel.kernel.dynamic_shared_bytes);
    for (const kernels::SampleBuffer& buffer : kernel.buffers) {
        hash = mixed(hash, buffer.bytes);
        hash = mixed(
            hash, static_cast<std::uint64_t>(buffer.content) * 256 + static_cast<std::uint64_t>(buffer.type));
        hash = mixed(hash, buffer.limit);
    }
    for (const kernels::KernelArgument& argument : kernel.arguments) {
        hash = mixed(hash, argument.pointer ? argument.buffer + argument.byte_offset : argument.bits);
        if (!argument.tensor_map) continue;
        const target::TensorMapSpec& map = *argument.tensor_map;
        for (const std::uint64_t value : {std::uint64_t{map.data_type}, std::uint64_t{map.swizzle}})
            hash = mixed(hash, value);
        for (unsigned i = 0; i < map.rank; ++i) {
            hash = mixed(hash, map.sizes[i]);
            hash = mixed(hash, map.box[i]);
            if (i != 0) hash = mixed(hash, map.strides[i - 1]);
        }
    }
    return hash;
}

std::vector<std::byte> initial_contents(const kernels::LibraryKernel& kernel, std::size_t buffer) {
    const SampleBuffer& shape = kernel.buffers.at(buffer);
    std::vector<std::byte> bytes(shape.bytes);
    const std::uint64_t seed = numerics::stream_seed(kKernelSeed, buffer);
    switch (shape.content) {
        case SampleBuffer::Content::zeros:
            break;
        case SampleBuffer::Content::random:
            fill_random_contents(shape.type, seed, bytes);
            break;
        case SampleBuffer::Content::index:
            for (std::size_t i = 0; i < bytes.size() / kernels::bytes_of(shape.type); ++i)
                store_integer(bytes, shape.type, i,
                              static_cast<std::int64_t>(numerics::random_bits(seed, i) % shape.limit));
            break;
    }
    return bytes;
}

LoadedItem::LoadedItem(Device& device, const kernels::LibraryKernel& kernel)
    : device_(device), kernel_(kernel) {
    launch_.kernel = device.load(kernel.kernel.text, kernel.kernel.entry);
    launch_.grid = kernel.grid;
    launch_.block = kernel.kernel.block;
    launch_.cluster = kernel.kernel.cluster;
    launch_.dynamic_shared_bytes = kernel.kernel.dynamic_shared_bytes;
    for (const SampleBuffer& buffer : kernel.buffers)
        buffers_.emplace_back(device, std::max<std::uint64_t>(buffer.bytes, 1));
    for (std::size_t i = 0; i < kernel.arguments.size(); ++i) {
        const kernels::KernelArgument& argument = kernel.arguments[i];
        if (argument.tensor_map) {
            const Address address = buffers_.at(argument.buffer).address() + argument.byte_offset;
            const auto map = device.encode_tensor_map(describe_tensor_map(*argument.tensor_map, address));
            launch_.parameters.emplace_back(map.begin(), map.end());
            continue;
        }
        std::uint64_t bits = argument.bits;
        if (argument.pointer)
            bits = argument.buffer == kernels::kNoBuffer
                       ? 0
                       : buffers_.at(argument.buffer).address() + argument.byte_offset;
        ParameterBytes bytes(kernel.kernel.parameters.at(i).bytes);
        std::memcpy(bytes.data(), &bits, std::min(bytes.size(), sizeof bits));
        launch_.parameters.push_back(std::move(bytes));
    }
}

void LoadedItem::launch() {
    device_.launch(launch_);
}

std::vector<std::vector<std::byte>> LoadedItem::run() {
    for (std::size_t i = 0; i < buffers_.size(); ++i) {
        if (kernel_.buffers[i].content == SampleBuffer::Content::zeros)
            device_.fill(buffers_[i].address(), 0, buffers_[i].bytes());
        else
            device_.write(buffers_[i].address(), initial_contents(kernel_, i));
    }
    launch();
    std::vector<std::vector<std::byte>> outputs(buffers_.size());
    for (std::size_t i = 0; i < buffers_.size(); ++i) {
        if (kernel_.buffers[i].content != SampleBuffer::Content::zeros) continue;
        outputs[i].resize(kernel_.buffers[i].bytes);
        device_.read(buffers_[i].address(), outputs[i]);
    }
    return outputs;
}

}  // namespace heddle::capture
