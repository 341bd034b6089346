#include "validation/capture/arguments.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "isa/common/error.h"

namespace heddle::capture {
namespace {

constexpr const char* kSeeHelp = "see heddle-capture --help";

const std::vector<std::string>& options() {
    static const std::vector<std::string> kOptions = {"--output",     "--device", "--sections", "--quick",
                                                      "--time-limit", "--list",   "--help",     "--version"};
    return kOptions;
}

std::string joined(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
    return text;
}

[[noreturn]] void unknown(const std::string& what, const std::string& word,
                          const std::vector<std::string>& candidates) {
    const std::string near = nearest_word(word, candidates.data(), candidates.size());
    throw Error("unknown " + what + " `" + word + "`", {},
                near.empty() ? "known: " + joined(candidates) : "did you mean `" + near + "`?");
}

std::vector<std::string> split_sections(const std::string& list, std::span<const Section> known) {
    std::vector<std::string> names, candidates;
    for (const Section& section : known) candidates.emplace_back(section.name);
    for (std::size_t at = 0; at <= list.size();) {
        const std::size_t comma = std::min(list.find(',', at), list.size());
        const std::string name = list.substr(at, comma - at);
        if (std::find(candidates.begin(), candidates.end(), name) == candidates.end())
            unknown("section", name, candidates);
        names.push_back(name);
        at = comma + 1;
    }
    return names;
}

double minutes(const std::string& text) {
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    if (text.empty() || *end != '\0' || !std::isfinite(value) || value <= 0)
        throw Error("--time-limit `" + text + "` is no number of minutes above 0", {}, kSeeHelp);
    return value;
}

void check_device(const std::string& device) {
    const std::string kind = device.substr(0, device.find(':'));
    if (kind != "cuda" && kind != "simulator") unknown("device", device, {"cuda", "simulator"});
}

}  // namespace

Arguments parse_arguments(const std::vector<std::string>& arguments, std::span<const Section> known) {
    Arguments result;
    result.device = "cuda";
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const std::size_t equals = arguments[i].find('=');
        const bool joined = arguments[i].rfind("--", 0) == 0 && equals != std::string::npos;
        const std::string option = joined ? arguments[i].substr(0, equals) : arguments[i];
        const auto value = [&] {
            if (joined) return arguments[i].substr(equals + 1);
            if (i + 1 >= arguments.size()) throw Error(option + " needs a value", {}, kSeeHelp);
            return arguments[++i];
        };
        if (option == "--output" || option == "-o") {
            result.output = value();
        } else if (option == "--device") {
            result.device = value();
        } else if (option == "--sections") {
            result.sections = split_sections(value(), known);
        } else if (option == "--time-limit") {
            result.limit_in_minutes = minutes(value());
        } else if (joined) {
            unknown("option", option, options());
        } else if (option == "--quick") {
            result.extent = Extent::quick;
        } else if (option == "--list") {
            result.list = true;
        } else if (option == "--help" || option == "-h") {
            result.help = true;
        } else if (option == "--version") {
            result.version = true;
        } else {
            unknown("option", option, options());
        }
    }
    check_device(result.device);
    if (result.output.empty() && !result.list && !result.help && !result.version)
        throw Error("no folder for the capture", {}, "name one: heddle-capture --output DIR");
    return result;
}

std::string help_text() {
    return R"(heddle-capture: records what a GPU computes and how long it takes, for heddle validate

Usage: heddle-capture --output DIR [options]

  -o, --output DIR     the capture's folder. A capture that was stopped goes on: what is there is kept.
  --device DEVICE      cuda (default), cuda:N for GPU N, or simulator[:HARDWARE] (Heddle itself, marked as
                       not silicon; only in a full build of Heddle)
  --sections A,B       these alone (--list names them); default: all
  --quick              a few small items of every kind, seconds instead of minutes
  --time-limit MIN     stop after the item during which MIN minutes are over
  --list               the sections, one a line
  --help, --version

Ctrl-C (or SIGTERM) finishes the present item and stops; a second one ends the program at once.

Exit codes: 0 everything that was asked for is there; 2 wrong usage, or no such device; 3 not complete
(stopped, or something failed: the last lines say what; run the same command again to go on).

Examples
  heddle-capture --output captures/h100                      everything, under 8 minutes on an H100
  heddle-capture --output captures/h100 --time-limit 5       and again, to go on
  heddle-capture --output /tmp/probes --sections device,probes
  heddle-capture --output /tmp/trial --device simulator --quick
)";
}

std::string list_text(std::span<const Section> known) {
    std::string text;
    for (const Section& section : known) {
        std::string name = section.name;
        name.resize(std::max<std::size_t>(name.size() + 1, 10), ' ');
        text += name + section.description + "\n";
    }
    return text;
}

}  // namespace heddle::capture
