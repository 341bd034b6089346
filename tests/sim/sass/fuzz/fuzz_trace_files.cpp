// libFuzzer: reads any bytes as a file of each kind: .traceg.xz, .tracez, a list. Build with clang++ and
// -DHEDDLE_FUZZ=ON, then
//   fuzz_trace_files -max_len=20000 -timeout=10 corpus
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <string>

#include "isa/common/error.h"
#include "workloads/sass_traces/kernel_list.h"
#include "workloads/sass_traces/trace_reader.h"
#include "workloads/sass_traces/tracez_bytes.h"

namespace {

/// A file in memory; its path.
class MemoryFile {
  public:
    MemoryFile(const std::uint8_t* data, std::size_t size) : file_(::memfd_create("trace", 0)) {
        if (::write(file_, data, size) != static_cast<ssize_t>(size)) path.clear();
        path = "/proc/self/fd/" + std::to_string(file_);
    }
    ~MemoryFile() { ::close(file_); }
    MemoryFile(const MemoryFile&) = delete;
    MemoryFile& operator=(const MemoryFile&) = delete;
    std::string path;

  private:
    const int file_;
};

template <typename Read>
void refuse_or_read(Read read) {
    try {
        read();
    } catch (const heddle::Error&) {
    }
}

void read_all(heddle::sass::TraceReader reader) {
    while (reader.next()) {
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const MemoryFile file(data, size);
    refuse_or_read([&] { read_all(heddle::sass::TraceReader(file.path)); });
    refuse_or_read([&] { read_all({heddle::sass::open_tracez(file.path), file.path}); });
    refuse_or_read([&] { heddle::sass::read_kernel_list(file.path); });
    return 0;
}
