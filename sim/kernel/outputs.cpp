#include "sim/kernel/outputs.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>

#include "isa/common/error.h"
#include "sim/kernel/files.h"

namespace heddle::kernel {
namespace {

namespace fs = std::filesystem;

constexpr const char* kKind = "kernel outputs";
constexpr const char* kOption = "--output";

/// Whether the path stays in the folder that it begins in, whatever links lie on the way.
bool stays_in(const fs::path& folder, const fs::path& path) {
    if (path.is_absolute()) return false;
    if (const fs::path plain = path.lexically_normal(); plain.empty() || *plain.begin() == "..") return false;
    std::error_code failure;
    const fs::path root = fs::weakly_canonical(folder, failure);
    const fs::path parent = fs::weakly_canonical((folder / path).parent_path(), failure);
    const auto [of_root, of_parent] = std::mismatch(root.begin(), root.end(), parent.begin(), parent.end());
    return !failure && (of_root == root.end() || of_root->empty());
}

}  // namespace

Outputs::Outputs(const std::vector<OutputDeclaration>& declared, const std::string& folder, bool anywhere) {
    const fs::path root = folder.empty() ? fs::path(".") : fs::path(folder);
    for (const OutputDeclaration& output : declared) {
        if (!anywhere && !stays_in(root, output.path))
            throw Error("`" + output.path + "` leads out of the folder of the outputs", output.where,
                        "name a file in it, or add --allow-programs if you trust the launch file");
        // A path that begins with a root replaces the folder.
        const fs::path path = fs::path(folder) / output.path;
        const std::string parent = path.parent_path().empty() ? "." : path.parent_path().string();
        ResultFolder(parent, kKind, kOption, ResultFolder::Use::shared).check({path.filename().string()});
        outputs_.push_back({output.buffer, path.string(), parent, path.filename().string()});
    }
}

std::vector<std::string> Outputs::write(const KernelRun& run) const {
    std::vector<std::string> paths;
    if (!run.has_values()) return paths;
    std::map<std::string, std::vector<const Output*>> by_folder;
    for (const Output& output : outputs_) by_folder[output.folder].push_back(&output);
    for (const auto& [parent, outputs] : by_folder) {
        ResultFolder folder(parent, kKind, kOption, ResultFolder::Use::shared);
        for (const Output* output : outputs) {
            const Buffer& buffer = run.buffers[output->buffer];
            if (fs::path(output->name).extension() == ".npy") {
                folder.stage(output->name, npy_text(buffer.type, buffer.shape, buffer.values));
            } else {
                write_file((folder.staging() / output->name).string(), buffer.values);
            }
        }
        folder.commit();
    }
    for (const Output& output : outputs_) paths.push_back(output.path);
    return paths;
}

std::string powerful_nvcc_flag(const std::vector<std::string>& flags) {
    // Options that choose what code is made: of nvcc's `--help`. Those that end in = or stand before a value
    // take one.
    static constexpr std::array<std::string_view, 29> kPlain{"-O0",
                                                             "-O1",
                                                             "-O2",
                                                             "-O3",
                                                             "-use_fast_math",
                                                             "--use_fast_math",
                                                             "-lineinfo",
                                                             "--generate-line-info",
                                                             "-G",
                                                             "--device-debug",
                                                             "-w",
                                                             "--disable-warnings",
                                                             "-extended-lambda",
                                                             "--extended-lambda",
                                                             "--expt-extended-lambda",
                                                             "-expt-extended-lambda",
                                                             "--expt-relaxed-constexpr",
                                                             "-expt-relaxed-constexpr",
                                                             "-restrict",
                                                             "--restrict",
                                                             "-rdc=true",
                                                             "-rdc=false",
                                                             "--relocatable-device-code=true",
                                                             "--relocatable-device-code=false",
                                                             "-dopt=on",
                                                             "-dopt=off",
                                                             "-extra-device-vectorization",
                                                             "--extra-device-vectorization",
                                                             "-dc"};
    static constexpr std::array<std::string_view, 24> kWithValue{"-arch",
                                                                 "--gpu-architecture",
                                                                 "-gencode",
                                                                 "--generate-code",
                                                                 "-code",
                                                                 "--gpu-code",
                                                                 "-std",
                                                                 "--std",
                                                                 "-D",
                                                                 "--define-macro",
                                                                 "-U",
                                                                 "--undefine-macro",
                                                                 "-I",
                                                                 "--include-path",
                                                                 "-maxrregcount",
                                                                 "--maxrregcount",
                                                                 "-ftz",
                                                                 "--ftz",
                                                                 "-prec-div",
                                                                 "--prec-div",
                                                                 "-prec-sqrt",
                                                                 "--prec-sqrt",
                                                                 "-fmad",
                                                                 "--fmad"};
    const auto is = [](const auto& list, std::string_view word) {
        return std::find(list.begin(), list.end(), word) != list.end();
    };
    for (std::size_t i = 0; i < flags.size(); ++i) {
        const std::string_view flag = flags[i];
        if (is(kPlain, flag)) continue;
        if (is(kWithValue, flag)) {
            // The value is the next word, never another option.
            if (++i < flags.size() && flags[i].rfind('-', 0) != 0) continue;
            return i < flags.size() ? flags[i] : std::string(flag);
        }
        if (is(kWithValue, flag.substr(0, flag.find('=')))) continue;
        // -DNAME, -UNAME and -IFOLDER are one word.
        if (flag.size() > 2 && is(std::array<std::string_view, 3>{"-D", "-U", "-I"}, flag.substr(0, 2)))
            continue;
        return std::string(flag);
    }
    return {};
}

}  // namespace heddle::kernel
