// One statement of StableHLO text as an instruction.
#pragma once

#include <string>
#include <vector>

#include "workloads/hlo/text.h"

namespace heddle::hlo {

/// "tensor<128x784xf32>" at the cursor.
Shape parse_type(Cursor& cursor);
/// "%a, %b#1" -> {"a", "b#1"}
std::vector<std::string> names_in(const std::string& text);
/// `line`: the whole statement on one line, without its regions.
Instruction parse_statement(const std::string& line, const std::string& file, unsigned number);

}  // namespace heddle::hlo
