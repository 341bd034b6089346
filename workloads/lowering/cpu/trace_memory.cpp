#include "workloads/lowering/cpu/trace_memory.h"

#include <algorithm>
#include <cstring>

#include "isa/common/error.h"
#include "isa/numerics/formats.h"

namespace heddle::lowering {
namespace {

template <class Number>
void put(std::byte* at, Number value) {
    std::memcpy(at, &value, sizeof value);
}
template <class Number>
double got(const std::byte* at) {
    Number value;
    std::memcpy(&value, at, sizeof value);
    return static_cast<double>(value);
}

void put_number(std::byte* at, trace::ElementType type, double value) {
    switch (type) {
        case trace::ElementType::f32:
        case trace::ElementType::tf32: return put(at, static_cast<float>(value));
        case trace::ElementType::bf16: return put(at, numerics::fp32_to_bf16(static_cast<float>(value)));
        case trace::ElementType::f16: return put(at, numerics::fp32_to_fp16(static_cast<float>(value)));
        case trace::ElementType::i64: return put(at, static_cast<std::int64_t>(value));
        case trace::ElementType::i32: return put(at, static_cast<std::int32_t>(value));
        case trace::ElementType::i16: return put(at, static_cast<std::int16_t>(value));
        case trace::ElementType::i8: return put(at, static_cast<std::int8_t>(value));
        case trace::ElementType::u8: return put(at, static_cast<std::uint8_t>(value));
        case trace::ElementType::boolean: return put(at, static_cast<std::uint8_t>(value != 0));
        case trace::ElementType::f64: return put(at, value);
        default: throw Error("numbers of type " + trace::name_of(type) + " on a CPU");
    }
}

double number_at(const std::byte* at, trace::ElementType type) {
    std::uint16_t half = 0;
    switch (type) {
        case trace::ElementType::f32:
        case trace::ElementType::tf32: return got<float>(at);
        case trace::ElementType::bf16:
            std::memcpy(&half, at, 2);
            return numerics::bf16_to_fp32(half);
        case trace::ElementType::f16:
            std::memcpy(&half, at, 2);
            return numerics::fp16_to_fp32(half);
        case trace::ElementType::i64: return got<std::int64_t>(at);
        case trace::ElementType::i32: return got<std::int32_t>(at);
        case trace::ElementType::i16: return got<std::int16_t>(at);
        case trace::ElementType::i8: return got<std::int8_t>(at);
        case trace::ElementType::u8:
        case trace::ElementType::boolean: return got<std::uint8_t>(at);
        case trace::ElementType::f64: return got<double>(at);
        default: throw Error("numbers of type " + trace::name_of(type) + " on a CPU");
    }
}

}  // namespace

CpuTraceMemory::CpuTraceMemory(const trace::Trace& trace, std::span<const CpuLoweredOp> programs) : trace_(trace) {
    const auto need = [&](trace::TensorId id, std::uint64_t bytes) {
        std::vector<std::byte>& storage = storages_[cpu_storage(trace, id)];
        if (storage.size() < bytes) storage.resize(bytes);
    };
    for (trace::TensorId id = 0; id < trace.tensors.size(); ++id) need(id, trace.tensor(id).bytes());
    for (const CpuLoweredOp& op : programs)
        for (std::size_t i = 0; i < op.tensors.size(); ++i) need(op.tensors[i], op.program.buffers[i].bytes);
}

std::vector<std::span<std::byte>> CpuTraceMemory::bind(const CpuLoweredOp& op) {
    std::vector<std::span<std::byte>> bound(op.program.buffers.size());
    for (std::size_t i = 0; i < op.tensors.size(); ++i) bound[i] = storages_.at(cpu_storage(trace_, op.tensors[i]));
    return bound;
}

void CpuTraceMemory::write(trace::TensorId id, std::span<const double> values) {
    const trace::ElementType type = trace_.tensor(id).type;
    std::vector<std::byte>& storage = storages_.at(cpu_storage(trace_, id));
    const std::size_t bytes = trace::bytes_of(type), count = std::min(values.size(), storage.size() / bytes);
    for (std::size_t i = 0; i < count; ++i) put_number(storage.data() + i * bytes, type, values[i]);
}

std::vector<double> CpuTraceMemory::read(trace::TensorId id) const {
    const trace::Tensor& tensor = trace_.tensor(id);
    const std::vector<std::byte>& storage = storages_.at(cpu_storage(trace_, id));
    std::vector<double> values(static_cast<std::size_t>(tensor.elements()));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = number_at(storage.data() + i * trace::bytes_of(tensor.type), tensor.type);
    return values;
}

}  // namespace heddle::lowering
