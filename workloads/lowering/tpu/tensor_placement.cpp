#include "workloads/lowering/tpu/tensor_placement.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "isa/common/error.h"
#include "isa/numerics/systolic.h"
#include "isa/tpu/instruction.h"
#include "workloads/lowering/tpu/common_memory.h"

namespace heddle::lowering {
namespace {

constexpr std::uint64_t kTensorPlacementAlignment = 512;
constexpr std::uint64_t align(std::uint64_t address) {
    return (address + kTensorPlacementAlignment - 1) / kTensorPlacementAlignment * kTensorPlacementAlignment;
}

/// One past the last element of the operand's storage that an op touches.
std::int64_t reach(const trace::Op& op, const std::string& operand, const trace::Tensor& tensor) {
    const std::vector<std::int64_t> strides = op.strides(operand);
    std::int64_t last = op.offset(operand);
    if (strides.empty()) return last + tensor.elements();
    for (std::size_t axis = 0; axis < strides.size() && axis < tensor.shape.size(); ++axis) {
        last += std::max<std::int64_t>(strides[axis] * (tensor.shape[axis] - 1), 0);
    }
    return last + 1;
}

numerics::Format eight_bit_format(tpu::ElementType type) {
    return type == tpu::ElementType::fp8_e4m3 ? numerics::Format::e4m3 : numerics::Format::e5m2;
}

void store(std::byte* to, tpu::ElementType type, double value) {
    switch (type) {
        case tpu::ElementType::fp32: {
            const auto number = static_cast<float>(value);
            std::memcpy(to, &number, 4);
            return;
        }
        case tpu::ElementType::bf16: {
            const std::uint16_t number = numerics::fp32_to_bf16_tpu(static_cast<float>(value));
            std::memcpy(to, &number, 2);
            return;
        }
        case tpu::ElementType::int32: {
            const auto number = static_cast<std::int32_t>(value);
            std::memcpy(to, &number, 4);
            return;
        }
        case tpu::ElementType::int8:
            *to = static_cast<std::byte>(static_cast<std::int8_t>(value));
            return;
        case tpu::ElementType::word8:
            *to = static_cast<std::byte>(static_cast<std::uint8_t>(value));
            return;
        case tpu::ElementType::int16: {
            const auto number = static_cast<std::int16_t>(value);
            std::memcpy(to, &number, 2);
            return;
        }
        case tpu::ElementType::fp8_e4m3:
        case tpu::ElementType::fp8_e5m2:
            *to = static_cast<std::byte>(
                numerics::from_float(eight_bit_format(type), static_cast<float>(value)));
            return;
    }
}

double fetch(const std::byte* from, tpu::ElementType type) {
    switch (type) {
        case tpu::ElementType::fp32: {
            float number;
            std::memcpy(&number, from, 4);
            return number;
        }
        case tpu::ElementType::bf16: {
            std::uint16_t number;
            std::memcpy(&number, from, 2);
            return numerics::bf16_to_fp32(number);
        }
        case tpu::ElementType::int32: {
            std::int32_t number;
            std::memcpy(&number, from, 4);
            return number;
        }
        case tpu::ElementType::int8:
            return static_cast<std::int8_t>(*from);
        case tpu::ElementType::word8:
            return static_cast<std::uint8_t>(*from);
        case tpu::ElementType::int16: {
            std::int16_t number;
            std::memcpy(&number, from, 2);
            return number;
        }
        case tpu::ElementType::fp8_e4m3:
        case tpu::ElementType::fp8_e5m2:
            return numerics::to_float(eight_bit_format(type), static_cast<std::uint8_t>(*from));
    }
    return 0;
}

}  // namespace

std::optional<tpu::ElementType> tpu_type(trace::ElementType type) {
    switch (type) {
        case trace::ElementType::f64:
        case trace::ElementType::f32:
        case trace::ElementType::tf32:
            return tpu::ElementType::fp32;
        case trace::ElementType::f16:
        case trace::ElementType::bf16:
            return tpu::ElementType::bf16;
        case trace::ElementType::i64:
        case trace::ElementType::i32:
            return tpu::ElementType::int32;
        case trace::ElementType::i16:
            return tpu::ElementType::int16;
        case trace::ElementType::e4m3:
            return tpu::ElementType::fp8_e4m3;
        case trace::ElementType::e5m2:
            return tpu::ElementType::fp8_e5m2;
        case trace::ElementType::i8:
            return tpu::ElementType::int8;
        case trace::ElementType::u8:
        case trace::ElementType::boolean:
            return tpu::ElementType::word8;
        default:
            return std::nullopt;
    }
}

TensorPlacement::TensorPlacement(const trace::Trace& trace, const target::TpuTarget& target,
                                 std::span<const trace::OpId> ops, const std::set<std::uint64_t>& common)
    : hbm_bytes_(target.hbm_bytes) {
    std::map<std::uint64_t, std::size_t> by_storage;
    bool half = false, narrowed = false, doubles = false;
    const auto place = [&](trace::TensorId id, std::int64_t elements) {
        const trace::Tensor& tensor = trace.tensor(id);
        half = half || tensor.type == trace::ElementType::f16;
        narrowed = narrowed || tensor.type == trace::ElementType::i64;
        doubles = doubles || tensor.type == trace::ElementType::f64;
        std::size_t index = places_.size();
        if (const auto known = place_of_.find(id); known != place_of_.end()) {
            index = known->second;
        } else if (tensor.storage != 0) {
            index = by_storage.try_emplace(tensor.storage, places_.size()).first->second;
        }
        if (index == places_.size()) {
            const std::uint64_t storage = common_memory_storage(tensor, id);
            places_.push_back({tensor.name, 0, 0, common.contains(storage)});
        }
        place_of_[id] = index;
        const auto type = tpu_type(tensor.type);
        const std::uint64_t size = type ? tpu::bytes_of(*type) : 1;
        const auto count = static_cast<std::uint64_t>(std::max<std::int64_t>(elements, tensor.elements()));
        places_[index].bytes = std::max(places_[index].bytes, count * size);
    };
    const auto place_operands = [&](const trace::Op& op) {
        for (std::size_t i = 0; i < op.inputs.size(); ++i) {
            place(op.inputs[i], reach(op, "input" + std::to_string(i), trace.tensor(op.inputs[i])));
        }
        for (std::size_t i = 0; i < op.outputs.size(); ++i) {
            place(op.outputs[i], reach(op, "output" + std::to_string(i), trace.tensor(op.outputs[i])));
        }
    };
    if (ops.empty()) {
        for (const trace::Op& op : trace.ops) place_operands(op);
        // What views were made of, where ops read the views alone: values come by its name.
        for (trace::TensorId id = 0; id < trace.tensors.size(); ++id) {
            if (!place_of_.contains(id) && by_storage.contains(trace.tensor(id).storage))
                place(id, trace.tensor(id).elements());
        }
    } else {
        for (const trace::OpId id : ops) place_operands(trace.ops.at(id));
    }
    std::uint64_t next = kTensorPlacementAlignment, next_common = tpu::kCommonMemoryBase + kTensorPlacementAlignment;
    for (Place& one : places_) {
        std::uint64_t& here = one.common ? next_common : next;
        one.address = here;
        // The gap keeps a run past the end from landing in the next.
        here = align(here + one.bytes) + kTensorPlacementAlignment;
    }
    workspace_ = next;
    if (next > hbm_bytes_) {
        throw Error("the tensors of " + trace.name + " need " + std::to_string(next) +
                        " bytes, the device has " + std::to_string(hbm_bytes_),
                    {"", 0, "hbm.size"}, "use a smaller batch or model, or a device with more memory");
    }
    if (half) notes_.push_back("f16 is kept as bf16: a TPU has no fp16");
    if (narrowed) notes_.push_back("i64 is kept as int32: a TPU has no 64-bit integers");
    if (doubles) notes_.push_back("f64 is kept as fp32: a TPU has no fp64");
}

std::uint64_t TensorPlacement::address(trace::TensorId id) const {
    const auto found = place_of_.find(id);
    if (found == place_of_.end()) throw Error("internal: tensor " + std::to_string(id) + " was not placed");
    return places_[found->second].address;
}

void TensorPlacement::allocate(tpu::Memory& memory, bool with_values, std::uint64_t workspace_bytes) const {
    for (const Place& place : places_) {
        if (place.bytes > 0) memory.allocate_at(place.name, place.address, place.bytes, with_values);
    }
    if (workspace_bytes == 0) return;
    if (workspace_ + workspace_bytes > hbm_bytes_) {
        throw Error("tensors and " + std::to_string(workspace_bytes) +
                        " bytes of workspace do not fit the device's " + std::to_string(hbm_bytes_),
                    {"", 0, "hbm.size"}, "use a smaller batch or model, or a device with more memory");
    }
    memory.allocate_at("workspace", workspace_, workspace_bytes, with_values);
}

void TensorPlacement::write(tpu::Memory& memory, const trace::Trace& trace, trace::TensorId id,
                            std::span<const double> values) const {
    const auto type = tpu_type(trace.tensor(id).type);
    if (!type) throw Error("a TPU has no " + trace::name_of(trace.tensor(id).type));
    const unsigned size = tpu::bytes_of(*type);
    std::byte* const to = memory.at(address(id), values.size() * size);
    for (std::size_t i = 0; i < values.size(); ++i) store(to + i * size, *type, values[i]);
}

std::vector<double> TensorPlacement::read(const tpu::Memory& memory, const trace::Trace& trace,
                                          trace::TensorId id) const {
    const auto type = tpu_type(trace.tensor(id).type);
    if (!type) throw Error("a TPU has no " + trace::name_of(trace.tensor(id).type));
    const unsigned size = tpu::bytes_of(*type);
    std::vector<double> values(static_cast<std::size_t>(trace.tensor(id).elements()));
    const std::byte* const from = memory.at(address(id), values.size() * size);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = fetch(from + i * size, *type);
    return values;
}

}  // namespace heddle::lowering
