// The arguments of a launch, and the names of buffers, in a launch file.
#pragma once

#include <vector>

#include "sim/kernel/launch_file.h"
#include "sim/kernel/yaml_map.h"

namespace heddle::kernel {

/// Returns the index of the buffer that a value names. Throws heddle::Error with the nearest name.
std::size_t buffer_named(const std::vector<BufferDeclaration>& buffers, const YamlValue& value);

/// Reads an argument: a buffer's name, {buffer: x, offset: BYTES}, {tensor_map: {...}}, {f32: 2.5}, {struct:
/// [...]} or {bytes: "00 ff"}.
ArgumentDeclaration read_argument(const YamlValue& value, const std::vector<BufferDeclaration>& buffers);

/// Calls `action` and adds the location of `value` to errors that have none.
template <typename Action>
auto with_place(const YamlValue& value, Action action) {
    try {
        return action();
    } catch (const Error& failure) {
        value.fail(failure.problem(), failure.remedy());
    }
}

}  // namespace heddle::kernel
