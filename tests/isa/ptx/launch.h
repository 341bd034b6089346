// A little host program for tests: buffers, arguments, launches.
#pragma once

#include <cstring>
#include <fstream>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "isa/ptx/execution.h"
#include "isa/ptx/parser.h"
#ifdef HEDDLE_THROUGH_PTXAS
#include "../sass/through_ptxas.h"
#endif

namespace heddle::ptx::test {

inline std::string read_text(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw std::runtime_error("cannot read " + path);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

template <class T>
std::vector<std::byte> argument(T value) {
    std::vector<std::byte> bytes(sizeof(T));
    std::memcpy(bytes.data(), &value, sizeof(T));
    return bytes;
}

class Device {
  public:
    template <class T>
    std::uint64_t upload(const std::string& name, const std::vector<T>& values, bool backed = true) {
        const std::uint64_t address = memory.allocate(name, values.size() * sizeof(T), backed);
        if (backed) memory.write(address, std::as_bytes(std::span(values)));
        return address;
    }
    template <class T>
    std::vector<T> download(std::uint64_t address, std::size_t count) const {
        std::vector<T> values(count);
        memory.read(address, std::as_writable_bytes(std::span(values)));
        return values;
    }
    GlobalMemory memory;
};

/// The whole module of a kernel body: parameters as text, registers declared in `body`.
inline std::string module_text(const std::string& parameters, const std::string& body,
                               const std::string& globals = "") {
    return ".version 8.0\n.target sm_90\n.address_size 64\n" + globals + "\n.visible .entry test(" +
           parameters + ")\n{\n" + body + "\n}\n";
}

class Program {
  public:
    Program(const std::string& text, const std::string& entry, const std::string& file_name = "test.ptx")
#ifdef HEDDLE_THROUGH_PTXAS  // tests/isa/sass runs these tests as machine code
        : kernel(sass::test::load_through_ptxas(text, entry, file_name)) {
    }
#else
        : kernel(parse_shared(text, file_name), entry) {
    }
#endif

    LaunchContext launch(Device& device, Dim3 grid, Dim3 block,
                         const std::vector<std::vector<std::byte>>& arguments, Mode mode = Mode::functional,
                         std::uint32_t dynamic_shared_bytes = 0) const {
        allocate_module_variables(kernel, device.memory);
        LaunchContext context;
        context.kernel = &kernel;
        context.grid = grid;
        context.block = block;
        context.parameters = pack_parameters(kernel, arguments);
        context.memory = &device.memory;
        context.mode = mode;
        context.dynamic_shared_bytes = dynamic_shared_bytes;
        return context;
    }

    std::uint64_t run(Device& device, Dim3 grid, Dim3 block,
                      const std::vector<std::vector<std::byte>>& arguments,
                      std::uint32_t dynamic_shared_bytes = 0) const {
        return run_functionally(
            launch(device, grid, block, arguments, Mode::functional, dynamic_shared_bytes));
    }

    LoadedKernel kernel;
};

}  // namespace heddle::ptx::test
