// Memory that runs out, told as what it was for. What a command reads may claim any size, so this is bad
// input, not a defect.
#pragma once

#include <exception>
#include <string>

namespace heddle {

/// From now on operator new fails with a std::bad_alloc whose what() names what this process is about in that
/// moment (isa/common/activity.h). Where such an exception cannot be caught (in a destructor of a library),
/// the program ends with out_of_memory_text() behind `name` and the exit code. Once, at the beginning of a
/// program.
void name_what_takes_memory(const char* name, int exit_code);

/// To be called in a process whose parent reports how it ended: it then ends with the exit code and prints
/// nothing.
void leave_telling_to_parent();

/// Throws the same exception, for code that asks for memory by other means than operator new.
[[noreturn]] void throw_out_of_memory();

/// Whether the exception means that memory, or what stands for it (threads, sizes of containers), ran out.
bool is_out_of_memory(const std::exception& failure);

/// A message for people: what the memory was for (`otherwise`: where nobody said so), how much this process
/// may have, and how to mend it.
std::string out_of_memory_text(const std::exception& failure, const std::string& otherwise = "");

}  // namespace heddle
