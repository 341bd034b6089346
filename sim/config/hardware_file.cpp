#include "sim/config/hardware_file.h"

#include <yaml-cpp/depthguard.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <sstream>

#include "isa/common/text_file.h"
#include "sim/config/file_chain.h"
#include "sim/config/this_host.h"

namespace heddle::sim {
namespace {

namespace fs = std::filesystem;

/// yaml-cpp drops comments, so they are taken from the text: the comment on the value's line, and the lines
/// below it that hold nothing but a comment in the same column.
class Comments {
  public:
    explicit Comments(const std::string& text) {
        std::istringstream stream(text);
        for (std::string line; std::getline(stream, line);) lines_.push_back(line);
    }

    std::string beside(std::size_t line) const {  // 0-based
        if (line >= lines_.size()) return {};
        const std::size_t column = comment_column(lines_[line]);
        if (column == std::string::npos) return {};
        std::string text = comment_text(lines_[line], column);
        for (std::size_t next = line + 1; next < lines_.size(); ++next) {
            if (lines_[next].find_first_not_of(" \t") != column || lines_[next][column] != '#') break;
            text += " " + comment_text(lines_[next], column);
        }
        return text;
    }

  private:
    static std::size_t comment_column(const std::string& line) {
        char quote = 0;
        for (std::size_t i = 0; i < line.size(); ++i) {
            if (quote != 0) {
                if (line[i] == quote) quote = 0;
            } else if (line[i] == '"' || line[i] == '\'') {
                quote = line[i];
            } else if (line[i] == '#' && (i == 0 || line[i - 1] == ' ' || line[i - 1] == '\t')) {
                return i;
            }
        }
        return std::string::npos;
    }

    static std::string comment_text(const std::string& line, std::size_t column) {
        const std::size_t first = line.find_first_not_of("# \t", column);
        if (first == std::string::npos) return {};
        return line.substr(first, line.find_last_not_of(" \t\r") - first + 1);
    }

    std::vector<std::string> lines_;
};

std::int64_t line_of(const YAML::Node& node) {
    return static_cast<std::int64_t>(node.Mark().line) + 1;
}

/// The keys of one file, flattened to dotted paths.
class FileReader {
  public:
    FileReader(std::string file, const std::string& text) : file_(std::move(file)), comments_(text) {
        YAML::Node root;
        try {
            root = YAML::Load(text);
        } catch (const YAML::DeepRecursion& failure) {
            throw Error("groups are nested too deeply", {file_, failure.mark.line + 1, ""},
                        "a key is a group and a name: sm.count");
        } catch (const YAML::Exception& failure) {
            throw Error("not YAML: " + failure.msg, {file_, failure.mark.line + 1, ""});
        }
        if (root.IsNull()) throw Error("the file is empty", {file_, 0, ""});
        if (!root.IsMap())
            throw Error("a hardware file is a map of keys to values", {file_, line_of(root), ""});
        flatten(root, "", 0);
    }

    std::vector<Setting>& settings() { return settings_; }

    /// Takes a key that is not a parameter out of the settings.
    std::optional<Setting> take(const std::string& path) {
        const auto found = std::find_if(settings_.begin(), settings_.end(),
                                        [&](const Setting& setting) { return setting.path == path; });
        if (found == settings_.end()) return std::nullopt;
        Setting setting = std::move(*found);
        settings_.erase(found);
        return setting;
    }

  private:
    // Anchors let a few lines stand for an endless tree.
    static constexpr std::size_t kDeepest = 16, kMostSettings = 10000;

    void flatten(const YAML::Node& map, const std::string& prefix, std::size_t depth) {
        if (depth > kDeepest || settings_.size() > kMostSettings) {
            throw Error(depth > kDeepest ? "groups are nested too deeply" : "too many keys",
                        {file_, line_of(map), prefix});
        }
        for (const auto& entry : map) {
            const SourceLocation at{file_, line_of(entry.first), prefix};
            if (!entry.first.IsScalar()) throw Error("a key must be a word", at);
            const std::string path = prefix + (prefix.empty() ? "" : ".") + entry.first.Scalar();
            const SourceLocation where{file_, line_of(entry.first), path};
            if (entry.second.IsMap()) {
                remember(path, where, true);
                flatten(entry.second, path, depth + 1);
            } else if (entry.second.IsScalar()) {
                remember(path, where, false);
                const auto line = static_cast<std::size_t>(entry.second.Mark().line);
                settings_.push_back({path, entry.second.Scalar(), comments_.beside(line), where});
            } else if (entry.second.IsSequence()) {
                remember(path, where, false);
                const auto line = static_cast<std::size_t>(entry.second.Mark().line);
                settings_.push_back({path, text_of_list(entry.second, where), comments_.beside(line), where});
            } else {
                throw Error("no value", where, "write one value, a list, or a map of keys to values");
            }
        }
    }

    static std::string text_of_list(const YAML::Node& list, const SourceLocation& where) {
        std::string text;
        for (const auto& item : list) {
            if (!item.IsScalar()) throw Error("a list holds values only", where, "write `[16, 18]`");
            text += (text.empty() ? "" : ", ") + item.Scalar();
        }
        return "[" + text + "]";
    }

    void remember(const std::string& path, const SourceLocation& where, bool is_map) {
        const auto [earlier, fresh] = seen_.insert({path, where.line});
        if (fresh) return;
        throw Error(std::string(is_map ? "this group" : "this key") + " was already given on line " +
                        std::to_string(earlier->second),
                    where, "keep one of the two");
    }

    std::string file_;
    Comments comments_;
    std::vector<Setting> settings_;
    std::map<std::string, std::int64_t> seen_;
};

std::string find_extended(const Setting& extends, const std::string& file,
                          const std::function<std::string(const std::string&)>& find) {
    const fs::path beside = fs::path(file).parent_path() / extends.text;
    std::error_code ignored;
    if (fs::is_regular_file(beside, ignored)) return beside.string();
    try {
        return find(extends.text);
    } catch (const Error& failure) {
        throw Error(failure.problem(), extends.where, failure.remedy());
    }
}

}  // namespace

HardwareText read_hardware_file(const std::string& path) {
    HardwareText text = read_file_chain(path, find_hardware_file);
    if (text.name == "this-host") add_this_host(text);
    return text;
}

HardwareText read_file_chain(const std::string& path,
                             const std::function<std::string(const std::string&)>& find) {
    HardwareText result;
    result.name = fs::path(path).stem().string();
    std::map<std::string, Setting> settings;
    std::set<std::string> visited;
    std::string chain;
    for (std::string file = path; !file.empty();) {
        std::error_code ignored;
        visited.insert(fs::weakly_canonical(file, ignored).string());
        chain += (chain.empty() ? "" : " -> ") + fs::path(file).filename().string();
        result.files.push_back(file);
        FileReader reader(file, read_text_file(file, kMostOfWritten));
        const auto kind = reader.take("kind");
        if (kind && result.kind.empty()) {
            result.kind = kind->text;
            result.kind_where = kind->where;
        } else if (kind && kind->text != result.kind) {
            throw Error("kind `" + result.kind + "` extends a file of kind `" + kind->text + "`",
                        result.kind_where, "leave `kind` out, or extend a " + result.kind);
        }
        const auto description = reader.take("description");
        if (description && file == path) result.description = description->text;
        const auto extends = reader.take("extends");
        // A file that was read earlier is nearer to the user: insert() keeps its settings.
        for (Setting& setting : reader.settings()) settings.insert({setting.path, std::move(setting)});
        file.clear();
        if (extends) {
            file = find_extended(*extends, result.files.back(), find);
            const std::string extended = fs::weakly_canonical(file, ignored).string();
            if (visited.count(extended) != 0) {
                throw Error("`extends` goes round in a circle: " + chain + " -> " +
                                fs::path(file).filename().string(),
                            extends->where, "take one `extends` out");
            }
        }
    }
    for (auto& [key, setting] : settings) result.settings.push_back(std::move(setting));
    return result;
}

Setting parse_override(const std::string& assignment) {
    const std::size_t equals = assignment.find('=');
    if (equals == 0 || equals == std::string::npos) {
        throw Error("`" + assignment + "` sets nothing", {"--set", 0, ""},
                    "write a key and a value: --set sm.count=144");
    }
    const std::string path = assignment.substr(0, equals);
    return {path, assignment.substr(equals + 1), "command line", {"--set", 0, path}};
}

}  // namespace heddle::sim
