// Messages through pipes and sockets between processes of one computer, and how forked workers end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace heddle::sim {

/// Transfer exactly `bytes` bytes and retry after interruptions by signals. They return false when the other
/// end has closed or an error occurs; a closed end raises no SIGPIPE on sockets.
bool write_all(int descriptor, const void* data, std::size_t bytes);
bool read_all(int descriptor, void* data, std::size_t bytes);

/// A message is a number, whose meaning the caller chooses, and a text of any length. The functions return
/// false when the other end has closed.
bool send_message(int descriptor, std::uint64_t number, const std::string& text);
bool receive_message(int descriptor, std::uint64_t& number, std::string& text);

/// Ends a forked worker without running destructors, in particular those of SystemC objects, and without
/// flushing buffers that its parent filled, whose contents would otherwise be written twice. In builds that
/// measure line coverage, the worker's counts are written first.
[[noreturn]] void end_worker();

}  // namespace heddle::sim
