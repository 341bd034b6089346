#include "sim/kernel/module_source.h"

#include <algorithm>
#include <filesystem>

#include "isa/common/error.h"
#include "isa/target/generation.h"
#include "sim/kernel/external_program.h"

namespace heddle::kernel {
namespace {

namespace fs = std::filesystem;

std::string compile(const std::string& path, const std::vector<std::string>& flags, unsigned capability) {
    const SourceLocation where{path, 0, ""};
    if (!fs::is_regular_file(path)) throw Error("there is no such file", where);
    const ScratchFolder folder;
    const std::string output = (folder.path() / "module.ptx").string();
    const std::string log = (folder.path() / "log").string();
    // A name that begins with a minus is no option.
    std::vector<std::string> words{"nvcc", "-ptx", fs::absolute(path).string(), "-o", output};
    const bool chosen = std::any_of(flags.begin(), flags.end(), [](const std::string& flag) {
        return flag.find("-arch") != std::string::npos || flag.find("-gencode") != std::string::npos;
    });
    // The specific target, where it has instructions that are modelled: wgmma.
    if (!chosen)
        words.push_back("-arch=" + (target::nearest_generation(capability).has_wgmma
                                        ? target::specific_target(capability)
                                        : "sm_" + std::to_string(capability)));
    words.insert(words.end(), flags.begin(), flags.end());
    const int code = run_program(words, log);
    if (code == 127) {
        throw Error("nvcc is not there to compile it", where,
                    "install the CUDA toolkit, or name a .ptx file that nvcc -ptx wrote");
    }
    if (code != 0) throw Error("nvcc failed: " + first_complaint(text_of_file(log)), where);
    return text_of_file(output);
}

}  // namespace

std::string module_text(const std::string& path, const std::vector<std::string>& nvcc_flags,
                        unsigned compute_capability) {
    const std::string ending = fs::path(path).extension().string();
    if (ending == ".ptx") return text_of_file(path);
    if (ending == ".cu") return compile(path, nvcc_flags, compute_capability);
    throw Error("a module is a .ptx, a .cu or a .cubin file", {path, 0, ""});
}

const ptx::Kernel& find_kernel(const ptx::Module& module, const std::string& entry) {
    if (const ptx::Kernel* kernel = module.find(entry)) return *kernel;
    std::vector<std::string> names;
    for (const ptx::Kernel& kernel : module.kernels) names.push_back(kernel.name);
    const std::string near = nearest_word(entry, names.data(), names.size());
    std::string remedy = near.empty() ? "there are:" : "did you mean `" + near + "`?";
    for (const std::string& name : names) remedy += near.empty() ? " " + name : "";
    throw Error("there is no kernel `" + entry + "` in the module", {module.file_name, 0, ""},
                names.empty() ? "it has no kernels" : remedy);
}

}  // namespace heddle::kernel
