#include "models/memory/dram_library.h"

#include <dlfcn.h>

#include <filesystem>

#include "isa/common/error.h"

namespace heddle::models {
namespace {

template <class Function>
Function symbol(void* library, const std::string& path, const char* name) {
    void* const address = ::dlsym(library, name);
    if (address != nullptr) return reinterpret_cast<Function>(address);
    throw Error("the DRAM model " + path + " does not export `" + name + "`", {},
                "export the two functions of models/memory/dram_plugin.h as extern \"C\"");
}

}  // namespace

std::unique_ptr<DramModel> load_dram_model(const std::string& path, const char* name,
                                           const DramModelSettings& settings) {
    if (!std::filesystem::exists(path))
        throw Error("hbm.model: there is no file " + path, {}, "build the library, or correct the path");
    // A name without a slash would be looked for in the system's folders.
    void* const library = ::dlopen(std::filesystem::absolute(path).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        const char* const reason = ::dlerror();
        throw Error("the DRAM model " + path +
                        " cannot be loaded: " + (reason != nullptr ? reason : "no reason given"),
                    {}, "build it as a shared library that links to SystemC");
    }
    const auto version = symbol<unsigned (*)()>(library, path, "heddle_dram_version")();
    if (version != kDramPluginVersion) {
        throw Error("the DRAM model " + path + " is made for version " + std::to_string(version) +
                        " of the interface; this Heddle has version " + std::to_string(kDramPluginVersion),
                    {}, "build it anew with this Heddle's models/memory/dram_plugin.h");
    }
    using Make = DramModel* (*)(const char*, const DramModelSettings*);
    std::unique_ptr<DramModel> model(symbol<Make>(library, path, "heddle_make_dram")(name, &settings));
    if (model == nullptr)
        throw Error("the DRAM model " + path + " was not made: heddle_make_dram gave nothing");
    return model;
}

}  // namespace heddle::models
