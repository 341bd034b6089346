#include "workloads/trace_files/file.h"

#include <zlib.h>

#include <algorithm>

#include "isa/common/whole_file.h"

namespace heddle::trace {
namespace {

bool write_packed(const std::string& path, const std::string& bytes) {
    gzFile file = gzopen(path.c_str(), "wb6");
    if (file == nullptr) return false;
    bool good = true;
    for (std::size_t position = 0; good && position < bytes.size();) {
        const auto piece = static_cast<unsigned>(std::min<std::size_t>(bytes.size() - position, 1u << 20));
        good = gzwrite(file, bytes.data() + position, piece) == static_cast<int>(piece);
        position += piece;
    }
    return gzclose(file) == Z_OK && good;
}

}  // namespace

void write_file(const std::string& path, const std::string& bytes) {
    if (path.ends_with(".gz")) {
        write_whole_file(path, [&](const std::string& aside) { return write_packed(aside, bytes); });
    } else {
        write_whole_file(path, bytes);
    }
}

}  // namespace heddle::trace
