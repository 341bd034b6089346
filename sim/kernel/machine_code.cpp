#include "sim/kernel/machine_code.h"

#include <filesystem>

#include "sim/kernel/assemble.h"
#include "sim/kernel/external_program.h"
#include "sim/kernel/module_source.h"

namespace heddle::kernel {
namespace {

std::shared_ptr<const sass::Cubin> read(const std::string& bytes, const std::string& module) {
    return std::make_shared<const sass::Cubin>(sass::read_cubin(std::as_bytes(std::span(bytes)), module));
}

}  // namespace

bool is_machine_code(const std::string& path) {
    return std::filesystem::path(path).extension() == ".cubin";
}

std::shared_ptr<const sass::Cubin> machine_code_of(const std::string& path, const std::vector<std::string>& nvcc_flags,
                                                   unsigned compute_capability) {
    if (is_machine_code(path)) return read(text_of_file(path), path);
    return assemble(module_text(path, nvcc_flags, compute_capability), compute_capability, path);
}

}  // namespace heddle::kernel
