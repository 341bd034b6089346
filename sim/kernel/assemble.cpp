#include "sim/kernel/assemble.h"

#include <fstream>
#include <span>

#include "sim/kernel/external_program.h"

namespace heddle::kernel {
namespace {

constexpr const char* kWithout = "leave out --through ptxas";

}  // namespace

std::shared_ptr<const sass::Cubin> assemble(const std::string& text, unsigned compute_capability, const std::string& module) {
    const ScratchFolder folder;
    const std::string input = (folder.path() / "module.ptx").string();
    const std::string output = (folder.path() / "module.cubin").string();
    const std::string log = (folder.path() / "log").string();
    std::ofstream(input, std::ios::binary) << text;
    run_ptxas({"-arch=" + ptxas_target(compute_capability), "-lineinfo", input, "-o", output}, log, module, kWithout);
    const std::string bytes = text_of_file(output);
    return std::make_shared<const sass::Cubin>(sass::read_cubin(std::as_bytes(std::span(bytes)), module));
}

void require_ptxas() {
    const ScratchFolder folder;
    run_ptxas({"--version"}, (folder.path() / "log").string(), "--through ptxas", kWithout);
}

}  // namespace heddle::kernel
