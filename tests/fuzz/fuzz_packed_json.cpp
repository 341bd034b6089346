// libFuzzer: any bytes as a file of a trace, as they are (gzip and tar among them) and packed by gzip, so
// that what unpacks well is any text: Heddle's own JSON, Chakra's, Kineto's, execution traces, programs of
// XLA.
#include <zlib.h>

#include <cstdint>
#include <stdexcept>
#include <vector>

#include "isa/common/error.h"
#include "memory_file.h"
#include "workloads/importers/open_trace.h"

namespace {

std::vector<std::uint8_t> packed(const std::uint8_t* data, std::size_t size) {
    z_stream stream{};
    if (deflateInit2(&stream, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        throw std::runtime_error("zlib cannot start");
    std::vector<std::uint8_t> bytes(deflateBound(&stream, static_cast<uLong>(size)));
    stream.next_in = const_cast<Bytef*>(data);
    stream.avail_in = static_cast<uInt>(size);
    stream.next_out = bytes.data();
    stream.avail_out = static_cast<uInt>(bytes.size());
    const int status = deflate(&stream, Z_FINISH);
    bytes.resize(bytes.size() - stream.avail_out);
    deflateEnd(&stream);
    if (status != Z_STREAM_END) throw std::runtime_error("zlib cannot pack");
    return bytes;
}

void open(const std::uint8_t* data, std::size_t size) {
    const heddle::test::MemoryFile file(data, size);
    try {
        heddle::importers::open_trace(file.path());
    } catch (const heddle::Error&) {
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::vector<std::uint8_t> bytes = packed(data, size);
    open(bytes.data(), bytes.size());
    open(data, size);
    return 0;
}
