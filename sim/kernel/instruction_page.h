// docs/ptx-instructions.md: every PTX opcode, its forms and whether they can be run, generated from the
// instruction table.
#pragma once

#include <string>

namespace heddle::kernel {

/// Returns the page as Markdown. `heddle kernel --instructions > docs/ptx-instructions.md` updates it; a test
/// compares it.
std::string instruction_page();

}  // namespace heddle::kernel
