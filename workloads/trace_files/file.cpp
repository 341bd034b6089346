#include "workloads/trace_files/file.h"

#include <zlib.h>

#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>
#include <system_error>
#include <vector>

#include "isa/common/error.h"
#include "isa/common/whole_file.h"

namespace heddle::trace {
namespace {

/// More than any trace that fits in memory: stops archives that unpack without end.
constexpr std::size_t largest_content = std::size_t{8} << 30;

std::string slurp(const std::string& path) {
    std::ifstream stream(path, std::ios::binary);
    if (!stream) throw Error("cannot open the file", {.file = path}, "check the path and its permissions");
    std::ostringstream content;
    content << stream.rdbuf();
    if (stream.bad()) throw Error("cannot read the file", {.file = path});
    return std::move(content).str();
}

bool ends_with(const std::string& text, const std::string& ending) {
    return text.size() >= ending.size() &&
           text.compare(text.size() - ending.size(), ending.size(), ending) == 0;
}

bool is_tar(const std::string& bytes) {
    return bytes.size() >= 512 && bytes.compare(257, 5, "ustar") == 0;
}

struct Member {
    std::string name;
    std::size_t offset = 0, size = 0;
};

/// Members of a POSIX ustar archive (IEEE 1003.1, "ustar interchange format"): 512-byte headers, content
/// padded to 512.
std::vector<Member> members_of(const std::string& bytes, const std::string& file) {
    constexpr std::size_t block = 512;
    std::vector<Member> members;
    for (std::size_t position = 0; position + block <= bytes.size();) {
        if (bytes[position] == '\0') break;  // end of archive
        const auto text = [&](std::size_t offset, std::size_t length) {
            const std::string field = bytes.substr(position + offset, length);
            return field.substr(0, field.find('\0'));
        };
        std::string digits = text(124, 12);
        digits.erase(0, digits.find_first_not_of(' '));
        std::size_t size = 0;
        const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), size, 8);
        const bool octal = error == std::errc{} && (end == digits.data() + digits.size() || *end == ' ');
        if (!octal || size > bytes.size() - position - block) {
            throw Error("tar header with an impossible size",
                        {.file = file, .key = "byte " + std::to_string(position)},
                        "the archive is cut or corrupt");
        }
        const char kind = bytes[position + 156];
        const std::string prefix = text(345, 155);
        if (kind == '0' || kind == '\0') {
            members.push_back(
                {prefix.empty() ? text(0, 100) : prefix + "/" + text(0, 100), position + block, size});
        }
        position += block + (size + block - 1) / block * block;
    }
    return members;
}

FileContent take_member(const std::string& bytes, const std::string& file, const std::string& wanted) {
    std::vector<Member> candidates;
    std::string names;
    for (const Member& member : members_of(bytes, file)) {
        const bool fits = wanted.empty() ? ends_with(member.name, ".et") || ends_with(member.name, ".json")
                                         : member.name == wanted;
        names += (names.empty() ? "" : ", ") + member.name;
        if (fits) candidates.push_back(member);
    }
    if (candidates.size() != 1) {
        throw Error(
            candidates.empty() ? "the archive holds no such trace" : "the archive holds several traces",
            {.file = file, .key = wanted}, "name one as " + file + ":<member>; members: " + names);
    }
    return {file + ":" + candidates[0].name, bytes.substr(candidates[0].offset, candidates[0].size)};
}

}  // namespace

std::string gunzip(const std::string& bytes, const std::string& file) {
    if (bytes.size() < 2 || bytes[0] != '\x1f' || bytes[1] != '\x8b') return bytes;
    z_stream stream{};
    if (inflateInit2(&stream, 15 + 16) != Z_OK) throw Error("zlib cannot start", {.file = file});
    std::string result;
    std::vector<char> buffer(std::size_t{1} << 16);
    std::size_t position = 0;
    int status = Z_OK;
    while (status != Z_STREAM_END) {
        if (stream.avail_in == 0 && position < bytes.size()) {
            const std::size_t piece =
                std::min<std::size_t>(bytes.size() - position, std::numeric_limits<int>::max());
            stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data() + position));
            stream.avail_in = static_cast<uInt>(piece);
            position += piece;
        }
        stream.next_out = reinterpret_cast<Bytef*>(buffer.data());
        stream.avail_out = static_cast<uInt>(buffer.size());
        status = inflate(&stream, Z_NO_FLUSH);
        result.append(buffer.data(), buffer.size() - stream.avail_out);
        const std::size_t consumed = position - stream.avail_in;
        if ((status != Z_OK && status != Z_STREAM_END) || result.size() > largest_content) {
            inflateEnd(&stream);
            throw Error(status == Z_BUF_ERROR ? "the compressed data ends too early"
                                              : "the compressed data is corrupt",
                        {.file = file, .key = "byte " + std::to_string(consumed)}, "copy the file again");
        }
        // Several gzip members one after another count as one stream.
        if (status == Z_STREAM_END && consumed < bytes.size() && bytes[consumed] == '\x1f') {
            inflateReset(&stream);
            status = Z_OK;
        }
    }
    inflateEnd(&stream);
    return result;
}

FileContent read_file(const std::string& path) {
    std::string file = path, member;
    // "archive.tar.gz:member"
    for (const std::string ending : {".tar.gz:", ".tgz:", ".tar:"}) {
        const std::size_t place = path.find(ending);
        if (place == std::string::npos) continue;
        file = path.substr(0, place + ending.size() - 1);
        member = path.substr(place + ending.size());
        break;
    }
    std::string bytes = gunzip(slurp(file), file);
    if (is_tar(bytes)) return take_member(bytes, file, member);
    if (!member.empty()) throw Error("this is not a tar archive, so it has no members", {.file = file});
    return {file, std::move(bytes)};
}

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
    if (ends_with(path, ".gz")) {
        write_whole_file(path, [&](const std::string& aside) { return write_packed(aside, bytes); });
    } else {
        write_whole_file(path, bytes);
    }
}

}  // namespace heddle::trace
