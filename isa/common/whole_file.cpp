#include "isa/common/whole_file.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "isa/common/error.h"

namespace heddle {

void write_whole_file(const std::string& path, const std::function<bool(const std::string& aside)>& write) {
    const std::string aside = path + ".partial-" + std::to_string(::getpid());
    const bool good = write(aside);
    std::error_code failure;
    if (good) std::filesystem::rename(aside, path, failure);
    if (good && !failure) return;
    const std::string reason = failure ? ": " + failure.message() : "";
    std::filesystem::remove(aside, failure);
    throw Error("cannot write the file" + reason, {.file = path},
                "does the folder exist, and is there room?");
}

void write_whole_file(const std::string& path, std::string_view bytes) {
    write_whole_file(path, [&](const std::string& aside) {
        std::ofstream stream(aside, std::ios::binary);
        stream.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
        stream.close();
        return static_cast<bool>(stream);
    });
}

}  // namespace heddle
