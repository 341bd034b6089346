#include "isa/common/text_file.h"

#include <algorithm>
#include <fstream>

#include "isa/common/activity.h"
#include "isa/common/error.h"

namespace heddle {

std::string read_text_file(const std::string& path, std::uint64_t most, const std::string& remedy) {
    constexpr std::size_t kPiece = std::size_t{1} << 16;
    const Doing doing("reading " + path);
    std::ifstream stream(path, std::ios::binary);
    std::string text;
    for (std::size_t got = kPiece; stream && got == kPiece;) {
        const std::size_t before = text.size();
        text.resize(before + kPiece);
        stream.read(text.data() + before, static_cast<std::streamsize>(kPiece));
        got = static_cast<std::size_t>(std::max<std::streamsize>(stream.gcount(), 0));
        text.resize(before + got);
        if (text.size() > most)
            throw Error("the file has more than " + std::to_string(most >> 20) + " MiB", {path, 0, ""},
                        "none of its kind is so long: is it the right file?");
    }
    // A folder opens, and fails to be read.
    if (!stream.is_open() || !stream.eof()) throw Error("cannot read the file", {path, 0, ""}, remedy);
    return text;
}

}  // namespace heddle
