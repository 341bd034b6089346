// docs/ptx-instructions.md: every PTX opcode, its forms and whether they can be run, from the instruction
// table itself.
#pragma once

#include <string>

namespace heddle::kernel {

/// The page as Markdown. `heddle kernel --instructions > docs/ptx-instructions.md` renews it; a test
/// compares.
std::string instruction_page();

}  // namespace heddle::kernel
