// What a module says about the sources it was made from: .file, .loc and the strings of .section .debug_str.
// Internal to the parser.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "isa/ptx/module.h"
#include "isa/ptx/text/token_cursor.h"

namespace heddle::ptx {

/// Reads the directives while the module is parsed and gives each instruction its place in the CUDA source.
class DebugInformation {
  public:
    /// Reads all .file directives first: compilers write them behind the kernels that refer to them.
    DebugInformation(TokenCursor& cursor, Module& module);

    /// .file, .loc, .section or @@DWARF; false when something else comes.
    bool parse_directive();
    /// The source place of the instructions that come next.
    const SourcePlace& place() const { return place_; }
    /// A body ends: no place is known for what follows.
    void end_body();
    /// The module ends: names of inlined functions are known now.
    void finish();

  private:
    struct Location {
        std::uint64_t file = 0, line = 0, column = 0;
        auto operator<=>(const Location&) const = default;
    };
    struct NamePosition {
        std::string label;
        std::uint64_t offset = 0;
    };

    void parse_file();
    void parse_loc();
    void parse_section();
    void parse_section_values(unsigned bytes, std::vector<char>& content);
    void skip_line();
    Location parse_location();
    SourcePlace place_of(const Location& location) const;

    TokenCursor& cursor_;
    Module& module_;
    std::map<std::uint64_t, std::uint32_t> file_index_;  // number of .file -> index in Module::source_files
    SourcePlace place_;
    std::map<Location, SourcePlace> seen_;  // in this body
    std::map<std::pair<Location, std::string>, std::uint32_t>
        calls_;                                                 // in this body -> Module::inlined_calls
    std::vector<NamePosition> names_;                           // of Module::inlined_calls
    std::map<std::string, std::uint64_t, std::less<>> labels_;  // in the section of strings
    std::vector<char> strings_;
};

}  // namespace heddle::ptx
