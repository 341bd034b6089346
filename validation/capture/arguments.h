// The command line of heddle-capture.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "validation/capture/section.h"

namespace heddle::capture {

struct Arguments {
    std::filesystem::path output;
    std::string device;                 ///< "cuda", "cuda:1", "simulator", "simulator:NAME"
    std::vector<std::string> sections;  ///< empty: all
    Extent extent = Extent::full;
    std::optional<double> limit_in_minutes;  ///< stop after the item during which it passes
    bool list = false, help = false, version = false;
};

/// `arguments` without the program's name. `known`: names of sections. Throws heddle::Error.
Arguments parse_arguments(const std::vector<std::string>& arguments, std::span<const Section> known);

/// The text of --help, and of --list.
std::string help_text();
std::string list_text(std::span<const Section> known);

}  // namespace heddle::capture
