#include "validation/capture/microbenchmarks/launching.h"

#include <algorithm>
#include <stdexcept>

#include "isa/target/generation.h"

namespace heddle::capture {

Launch make_launch(KernelHandle handle, const kernels::GeneratedKernel& kernel, Extent3 grid,
                   const NamedArguments& arguments) {
    Launch launch;
    launch.kernel = handle;
    launch.grid = grid;
    launch.block = kernel.block;
    launch.dynamic_shared_bytes = kernel.dynamic_shared_bytes;
    std::size_t used = 0;
    for (const kernels::KernelParameter& parameter : kernel.parameters) {
        const auto found = std::find_if(arguments.begin(), arguments.end(),
                                        [&](const auto& pair) { return pair.first == parameter.name; });
        if (found == arguments.end())
            throw std::invalid_argument("kernel " + kernel.entry + ": no value for parameter " +
                                        parameter.name);
        ++used;
        const auto* bytes = reinterpret_cast<const std::byte*>(&found->second);
        launch.parameters.emplace_back(bytes, bytes + parameter.bytes);
    }
    if (used != arguments.size())
        throw std::invalid_argument("kernel " + kernel.entry + ": an argument that it does not have");
    return launch;
}

unsigned ptx_capability(const Device& device) {
    return std::min(device.compute_capability(), target::Generation::hopper.compute_capability);
}

kernels::GeneratedKernel for_specific_target(kernels::GeneratedKernel kernel) {
    const std::size_t target = kernel.text.find(".target sm_");
    const std::size_t end = kernel.text.find('\n', target);
    if (target != std::string::npos && kernel.text[end - 1] != 'a') kernel.text.insert(end, 1, 'a');
    return kernel;
}

double median(std::vector<double> values) {
    if (values.empty()) return 0;
    std::sort(values.begin(), values.end());
    const std::size_t half = values.size() / 2;
    return values.size() % 2 != 0 ? values[half] : (values[half - 1] + values[half]) / 2;
}

}  // namespace heddle::capture
