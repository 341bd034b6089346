#include "isa/program/program.h"

#include <cstring>

namespace heddle::program {

ScalarArgument scalar_u32(std::uint32_t value) {
    return {value, 4};
}

std::optional<BufferId> buffer_of(const Argument& argument) {
    if (const auto* pointer = std::get_if<BufferArgument>(&argument)) return pointer->buffer;
    if (const auto* map = std::get_if<TensorMapArgument>(&argument)) return map->buffer;
    return std::nullopt;
}

std::vector<std::byte> argument_bytes(const Argument& argument, std::uint64_t address) {
    std::uint64_t bits = 0;
    std::size_t size = sizeof bits;
    if (const auto* pointer = std::get_if<BufferArgument>(&argument)) {
        bits = address + pointer->offset;
    } else {
        bits = std::get<ScalarArgument>(argument).bits;
        size = std::get<ScalarArgument>(argument).size;
    }
    std::vector<std::byte> bytes(size);
    std::memcpy(bytes.data(), &bits, size);
    return bytes;
}

}  // namespace heddle::program
