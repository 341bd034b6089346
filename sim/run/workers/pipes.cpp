#include "sim/run/workers/pipes.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

#ifdef HEDDLE_COVERAGE
extern "C" void __gcov_dump(void);  // libgcov's own
#endif

namespace heddle::sim {

void end_worker() {
#ifdef HEDDLE_COVERAGE
    __gcov_dump();
#endif
    ::_exit(0);
}

bool write_all(int descriptor, const void* data, std::size_t bytes) {
    const char* at = static_cast<const char*>(data);
    while (bytes > 0) {
        // A reader that is gone must show as a failed write, not as a signal.
        ssize_t written = ::send(descriptor, at, bytes, MSG_NOSIGNAL);
        if (written < 0 && errno == ENOTSOCK) written = ::write(descriptor, at, bytes);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return false;
        at += written;
        bytes -= static_cast<std::size_t>(written);
    }
    return true;
}

bool read_all(int descriptor, void* data, std::size_t bytes) {
    char* at = static_cast<char*>(data);
    while (bytes > 0) {
        const ssize_t got = ::read(descriptor, at, bytes);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        at += got;
        bytes -= static_cast<std::size_t>(got);
    }
    return true;
}

bool send_message(int descriptor, std::uint64_t number, const std::string& text) {
    const std::uint64_t head[2] = {number, text.size()};
    return write_all(descriptor, head, sizeof head) && write_all(descriptor, text.data(), text.size());
}

bool receive_message(int descriptor, std::uint64_t& number, std::string& text) {
    std::uint64_t head[2];
    if (!read_all(descriptor, head, sizeof head)) return false;
    number = head[0];
    text.resize(head[1]);
    return read_all(descriptor, text.data(), text.size());
}

}  // namespace heddle::sim
