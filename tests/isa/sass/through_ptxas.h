// PTX by way of machine code: NVIDIA's assembler makes a cubin, which is translated and loaded. For tests that run kernels of the
// PTX machine's tests once more as machine code.
#pragma once

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>

#include <unistd.h>

#include "isa/ptx/execution.h"
#include "isa/ptx/parser.h"
#include "isa/sass/cubin.h"
#include "isa/sass/load.h"
#include "isa/sass/translate/translate.h"

namespace heddle::sass::test {

/// What a test says when ptxas is absent; "" when it is there.
inline std::string missing_tools() {
    if (std::string(HEDDLE_PTXAS).find("NOTFOUND") != std::string::npos) return "ptxas is not installed";
    return "";
}

inline std::string contents_of(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

/// Assembles `text` for `architecture` ("sm_80"); throws std::runtime_error with what ptxas says.
inline std::string assemble(const std::string& text, const std::string& architecture) {
    static unsigned number = 0;
    const std::filesystem::path folder = std::filesystem::temp_directory_path();
    const std::string stem = "heddle_" + std::to_string(getpid()) + "_" + std::to_string(number++);
    const std::filesystem::path ptx = folder / (stem + ".ptx"), cubin = folder / (stem + ".cubin"), log = folder / (stem + ".log");
    std::ofstream(ptx) << text;
    const std::string command = std::string(HEDDLE_PTXAS) + " -arch=" + architecture + " " + ptx.string() + " -o " + cubin.string() + " > " + log.string() + " 2>&1";
    const int status = std::system(command.c_str());
    const std::string result = contents_of(cubin), said = contents_of(log);
    for (const auto& path : {ptx, cubin, log}) std::filesystem::remove(path);
    if (status != 0) throw std::runtime_error("ptxas: " + said);
    return result;
}

/// The architecture that a PTX text names, or a later one that ptxas still knows.
inline std::string architecture_of(const std::string& text) {
    const std::size_t place = text.find(".target");
    std::string name = text.substr(text.find("sm_", place));
    name = name.substr(0, name.find_first_not_of("sm_0123456789a"));
    return name == "sm_70" || name == "sm_72" || name == "sm_75" ? "sm_80" : name;
}

/// Loads the kernel of a cubin.
inline ptx::LoadedKernel load_machine_code(const std::string& cubin_bytes, const std::string& name) {
    const Cubin cubin = read_cubin(std::as_bytes(std::span(cubin_bytes)), name + ".cubin");
    if (const char* const shown = std::getenv("HEDDLE_SHOW_TRANSLATION"))
        if (const MachineFunction* const function = cubin.find(name)) std::ofstream(std::string(shown)) << translate(cubin, *function, decode(cubin, *function)).ptx;
    return {load_kernel(cubin, name), name};
}

/// As LoadedKernel(parse_shared(text), entry), but by way of machine code.
inline ptx::LoadedKernel load_through_ptxas(const std::string& text, const std::string& entry, const std::string& file_name) {
    const auto module = ptx::parse_shared(text, file_name);
    const ptx::Kernel* const kernel = module->find(entry);
    if (kernel == nullptr) return {module, entry};  // says what is wrong
    std::string source = text;  // ptxas wants debug sections where the target says so
    if (const std::size_t debug = source.find(", debug"); debug != std::string::npos) source.erase(debug, 7);
    return load_machine_code(assemble(source, architecture_of(source)), kernel->name);
}

}  // namespace heddle::sass::test
