#include "workloads/sass_traces/kernel_list.h"

#include <filesystem>
#include <optional>
#include <string_view>

#include "isa/common/checked.h"
#include "workloads/sass_traces/line_tokens.h"

namespace heddle::sass {
namespace {

bool ends_with(std::string_view text, std::string_view end) {
    return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

HostToDeviceCopy read_copy(const std::string& line, const LineSource& lines) {
    std::string blanks = line;
    for (char& c : blanks) {
        if (c == ',') c = ' ';
    }
    LineTokens tokens(blanks, lines);
    tokens.word("the kind of copy");
    HostToDeviceCopy copy;
    copy.address = tokens.number<std::uint64_t>("an address", 16);
    copy.bytes = tokens.number<std::uint64_t>("a number of bytes");
    if (!gates::kBytes.admits(copy.bytes))
        lines.fail("is no number of bytes that a GPU is given", std::to_string(copy.bytes));
    return copy;
}

std::string find_trace(const std::filesystem::path& folder, const std::string& name,
                       const LineSource& lines) {
    const std::string xz = ".xz";
    const std::string other = ends_with(name, xz) ? name.substr(0, name.size() - xz.size()) : name + xz;
    const std::string plain = ends_with(name, xz) ? other : name;
    const std::string tracez = plain.substr(0, plain.rfind('.')) + ".tracez";
    for (const std::string& candidate : {name, other, tracez}) {
        if (std::filesystem::is_regular_file(folder / candidate)) return folder / candidate;
    }
    lines.fail("the trace of this kernel is missing in " + folder.string(), name,
               "copy it there, or remove the line");
}

}  // namespace

std::vector<TracedEvent> read_kernel_list(const std::string& path) {
    LineSource lines(open_bytes(path), path);
    std::filesystem::path folder = std::filesystem::path(path).parent_path();
    if (folder.empty()) folder = ".";
    std::vector<TracedEvent> result;
    std::string_view text;
    while (lines.next(text)) {
        std::string line(text);
        while (!line.empty() && (line.back() == ' ' || line.back() == '\t')) line.pop_back();
        if (line.rfind("MemcpyHtoD", 0) == 0) {
            result.emplace_back(read_copy(line, lines));
        } else if (line.rfind("kernel", 0) == 0) {
            if (!ends_with(line, ".traceg") && !ends_with(line, ".traceg.xz") && !ends_with(line, ".tracez"))
                lines.fail("is no file that can be read: expected .traceg, .traceg.xz or .tracez", line);
            result.emplace_back(TracedKernel{find_trace(folder, line, lines)});
        }
    }
    if (result.empty()) throw Error("names no kernel", {path}, "expected lines as kernel-1.traceg");
    return result;
}

}  // namespace heddle::sass
