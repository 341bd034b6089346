#include "workloads/lowering/gpu/programmatic.h"

#include <map>
#include <stdexcept>

#include "isa/common/error.h"
#include "isa/target/generation.h"

namespace heddle::lowering {
namespace {

std::shared_ptr<const program::KernelText> dependent(const program::KernelText& kernel) {
    program::KernelText result = kernel;
    const std::size_t entry = result.text.find(".entry " + kernel.entry);
    const std::size_t body = entry == std::string::npos ? entry : result.text.find("\n{", entry);
    if (body == std::string::npos) throw std::runtime_error("no body of kernel " + kernel.entry);
    result.text.insert(result.text.find('\n', body + 1) + 1,
                       "    griddepcontrol.wait;\n    griddepcontrol.launch_dependents;\n");
    return std::make_shared<const program::KernelText>(std::move(result));
}

}  // namespace

void make_programmatic(program::GpuProgram& program, unsigned compute_capability) {
    if (!target::nearest_generation(compute_capability).has_programmatic_launch) {
        throw Error(
            "programmatic dependent launches need compute capability " +
                target::capability_text(target::first_with(&target::Generation::has_programmatic_launch)) +
                ", the device has " + target::capability_text(compute_capability),
            {"--programmatic-launches", 0, ""}, "leave it out, or simulate a Hopper GPU");
    }
    std::map<const program::KernelText*, std::shared_ptr<const program::KernelText>> texts;
    bool first = true;
    for (program::KernelLaunch& launch : program.launches) {
        std::shared_ptr<const program::KernelText>& text = texts[launch.kernel.get()];
        if (text == nullptr) text = dependent(*launch.kernel);
        launch.kernel = text;
        launch.programmatic = !first;
        first = false;
    }
}

}  // namespace heddle::lowering
