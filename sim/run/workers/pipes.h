// Whole messages through pipes and sockets between processes of this machine, and the end of those that were
// forked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace heddle::sim {

/// False when the other end is gone.
bool write_all(int descriptor, const void* data, std::size_t bytes);
bool read_all(int descriptor, void* data, std::size_t bytes);

/// A number and a text; the number says what the text is.
bool send_message(int descriptor, std::uint64_t number, const std::string& text);
bool receive_message(int descriptor, std::uint64_t& number, std::string& text);

/// The end of a forked worker: no destructors, of SystemC's objects least, and nothing that its parent had
/// not written yet is written twice. A build that counts lines keeps what the worker counted.
[[noreturn]] void end_worker();

}  // namespace heddle::sim
