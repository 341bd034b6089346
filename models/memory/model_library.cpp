#include "models/memory/model_library.h"

#include <dlfcn.h>

#include <filesystem>

#include "isa/common/error.h"

namespace heddle::models {
namespace {

/// An interface that libraries export.
struct Interface {
    const char* model;      ///< in words
    const char* parameter;  ///< that names the library
    const char* header;
    const char *version_function, *make_function;
    unsigned version;
};

template <class Function>
Function symbol(void* library, const std::string& path, const Interface& interface, const char* name) {
    void* const address = ::dlsym(library, name);
    if (address != nullptr) return reinterpret_cast<Function>(address);
    throw Error("the " + std::string(interface.model) + " " + path + " does not export `" + name + "`", {},
                "export the two functions of " + std::string(interface.header) + " as extern \"C\"");
}

template <class Model, class Settings>
std::unique_ptr<Model> load(const std::string& path, const Interface& interface, const char* name,
                            const Settings& settings) {
    const std::string the_model = "the " + std::string(interface.model) + " " + path;
    if (!std::filesystem::exists(path))
        throw Error(std::string(interface.parameter) + ": there is no file " + path, {},
                    "build the library, or correct the path");
    // A name without a slash would be looked for in the system's folders.
    void* const library = ::dlopen(std::filesystem::absolute(path).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        const char* const reason = ::dlerror();
        throw Error(the_model + " cannot be loaded: " + (reason != nullptr ? reason : "no reason given"), {},
                    "build it as a shared library that links to SystemC");
    }
    const auto version = symbol<unsigned (*)()>(library, path, interface, interface.version_function)();
    if (version != interface.version) {
        throw Error(the_model + " is made for version " + std::to_string(version) +
                        " of the interface; this Heddle has version " + std::to_string(interface.version),
                    {}, "build it anew with this Heddle's " + std::string(interface.header));
    }
    using Make = Model* (*)(const char*, const Settings*);
    std::unique_ptr<Model> model(
        symbol<Make>(library, path, interface, interface.make_function)(name, &settings));
    if (model == nullptr)
        throw Error(the_model + " was not made: " + interface.make_function + " gave nothing");
    return model;
}

}  // namespace

std::unique_ptr<DramModel> load_dram_model(const std::string& path, const char* name,
                                           const DramModelSettings& settings) {
    return load<DramModel>(path,
                           {"DRAM model", "hbm.model", "models/memory/dram_plugin.h", "heddle_dram_version",
                            "heddle_make_dram", kDramPluginVersion},
                           name, settings);
}

std::unique_ptr<L2Model> load_l2_model(const std::string& path, const char* name,
                                       const L2ModelSettings& settings) {
    return load<L2Model>(path,
                         {"L2 model", "l2.model", "models/memory/l2_plugin.h", "heddle_l2_version",
                          "heddle_make_l2", kL2PluginVersion},
                         name, settings);
}

}  // namespace heddle::models
