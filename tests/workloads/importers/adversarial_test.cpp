// Files that lie: about lengths, numbers, who calls whom. One clear error each, of one line, without taking
// the memory that they claim.
#include <sys/resource.h>
#include <unistd.h>
#include <zlib.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "isa/common/error.h"
#include "workloads/importers/open_trace.h"

using namespace heddle;

namespace {

std::string varint(std::uint64_t value) {
    std::string bytes;
    for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
    return bytes + static_cast<char>(value);
}
/// Wire types of protobuf: 0 is a number, 2 bytes with their length before them.
std::string number(unsigned field, std::uint64_t value) {
    return varint(field << 3) + varint(value);
}
std::string bytes_field(unsigned field, const std::string& bytes) {
    return varint(field << 3 | 2) + varint(bytes.size()) + bytes;
}
std::string message(const std::string& body) {
    return varint(body.size()) + body;
}
/// Fields of the public schema: GlobalMetadata.version = 1, Node.id = 1, name = 2, type = 3, ctrl_deps = 4,
/// duration_us = 7.
const std::string metadata = message(bytes_field(1, "0.0.4"));
std::string node(std::uint64_t id, const std::string& name, std::uint64_t caller = 0) {
    return message(number(1, id) + bytes_field(2, name) + number(3, 4) +
                   (caller != 0 ? number(4, caller) : "") + number(7, 3));
}

/// gzip of `head`, `count` times `fill`, and `tail`, made in pieces.
std::string packed(const std::string& head, char fill = 0, std::size_t count = 0,
                   const std::string& tail = "") {
    constexpr std::size_t piece = 1 << 16;
    z_stream stream{};
    REQUIRE(deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY) == Z_OK);
    std::string out;
    const auto feed = [&](const std::string& bytes, int flush) {
        stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
        stream.avail_in = static_cast<uInt>(bytes.size());
        do {
            char buffer[4096];
            stream.next_out = reinterpret_cast<Bytef*>(buffer);
            stream.avail_out = sizeof buffer;
            deflate(&stream, flush);
            out.append(buffer, sizeof buffer - stream.avail_out);
        } while (stream.avail_out == 0);
    };
    feed(head, Z_NO_FLUSH);
    for (std::size_t done = 0; done < count; done += piece) feed(std::string(piece, fill), Z_NO_FLUSH);
    feed(tail, Z_FINISH);
    deflateEnd(&stream);
    return out;
}

/// What opening a file with these bytes is refused with; "imported" when it is not.
std::string refusal(const std::string& name, const std::string& bytes) {
    const auto path = std::filesystem::temp_directory_path() /
                      ("heddle-adversarial-" + std::to_string(getpid()) + "-" + name);
    std::ofstream(path, std::ios::binary) << bytes;
    std::string what = "imported";
    try {
        importers::open_trace(path.string());
    } catch (const Error& error) {
        what = error.what();
    }
    std::filesystem::remove(path);
    CHECK(what.find('\n') == std::string::npos);
    if (what != "imported") CHECK(what.find(name) != std::string::npos);
    return what;
}

long peak_megabytes() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss / 1024;
}

}  // namespace

TEST_CASE("a Chakra trace that claims 10 GB is refused without asking for them") {
    const std::uint64_t claim = std::uint64_t{10} << 30;
    CHECK_THAT(refusal("claim.et", metadata + varint(claim) + "abc"), Catch::Contains("byte 8"));
    // Below the 2 GiB that protobuf can hold, the file's end decides.
    CHECK_THAT(refusal("claim.et", metadata + varint(0x70000000) + "abc"),
               Catch::Contains("only 3 bytes follow"));
    CHECK_THAT(
        refusal("claim.et", metadata + message(varint(2 << 3 | 2) + varint(claim) + std::string(20, 'x'))),
        Catch::Contains("not a valid message"));
    CHECK_THAT(refusal("claim.et", std::string(30, '\xff')), Catch::Contains("byte 0"));
    CHECK(peak_megabytes() < 300);
}

TEST_CASE("a recorded kernel whose grid or thread block no GPU takes is named") {
    const auto with = [](const std::string& extents) {
        return refusal("launch.json",
                       R"({"traceEvents": [{"ph": "X", "cat": "kernel", "name": "saxpy", "ts": 1, "dur": 2, "args": )"
                       R"({"stream": 7, "correlation": 1, )" +
                           extents + "}}]}");
    };
    CHECK_THAT(with(R"("grid": [1, 2147483647, 1], "block": [32, 1, 1])"),
               Catch::Contains("traceEvents[0]: kernel saxpy: a grid has at most 65535 blocks in y, this has "
                               "2147483647"));
    CHECK_THAT(with(R"("grid": [1, 2147483648, 1], "block": [32, 1, 1])"), Catch::Contains("traceEvents[0]"));
    CHECK_THAT(with(R"("grid": [1, 1, 1], "block": [1024, 2, 1])"),
               Catch::Contains("kernel saxpy: a block has at most 1024 threads, this has 2048"));
    CHECK(with(R"("grid": [2147483647, 65535, 65535], "block": [1, 1, 64])").find("at most") == std::string::npos);
    CHECK(with(R"("grid": [0, 0, 0], "block": [])").find("at most") == std::string::npos);  // not recorded
}

TEST_CASE("a small file that unpacks to hundreds of megabytes is read as a stream") {
    constexpr std::size_t much = 64 << 20;
    const std::string zeros = packed(metadata, 0, much);
    REQUIRE(zeros.size() < 200000);
    CHECK_THAT(refusal("zeros.et.gz", zeros), Catch::Contains("node number 1 is empty"));
    CHECK_THAT(refusal("deep.json.gz", packed("{\"traceEvents\": [", '[', much)), Catch::Contains("64 deep"));
    CHECK_THAT(refusal("space.json.gz", packed("{\"traceEvents\": [", ' ', much, "]}")),
               Catch::Contains("neither calls nor kernels"));
    CHECK_THAT(refusal("text.json.gz", packed("{\"traceEvents\": [\"", 'a', much)),
               Catch::Contains("longer than 16 MiB"));
    CHECK_THAT(refusal("digits.json.gz", packed("{\"traceEvents\": [1", '1', much)),
               Catch::Contains("longer than 16 MiB"));
#ifndef __SANITIZE_ADDRESS__  // it keeps what was freed
    CHECK(peak_megabytes() < 130);
#endif
}

TEST_CASE("gzip that is cut or whose checksum is wrong is told as such") {
    const std::string good = packed(metadata + node(1, "aten::add"));
    std::string wrong = good;
    wrong[wrong.size() - 6] = static_cast<char>(wrong[wrong.size() - 6] ^ 1);
    CHECK_THAT(refusal("crc.et.gz", wrong), Catch::Contains("corrupt"));
    for (std::size_t length = 11; length < good.size() - 8; length += 3)
        CHECK_THAT(refusal("cut.et.gz", good.substr(0, length)), Catch::Contains("ends too early"));
}

TEST_CASE("Chakra nodes that call each other in a circle, or have one number, are named") {
    CHECK_THAT(refusal("circle.et", metadata + node(4, "aten::add", 5) + node(5, "aten::mul", 4)),
               Catch::Contains("circle") && Catch::Contains("aten::"));
    CHECK_THAT(refusal("self.et", metadata + node(4, "aten::add", 4)), !Catch::Contains("imported"));
    CHECK_THAT(refusal("twice.et", metadata + node(4, "aten::add") + node(4, "aten::mul")),
               Catch::Contains("two nodes") && Catch::Contains("node 4 (aten::mul)"));
    // A caller that is not in the file is none.
    CHECK_THAT(refusal("missing.et", metadata + node(4, "aten::add", 77)),
               Catch::Contains("neither kernels nor ops on tensors"));
    CHECK_THAT(refusal("nothing.et", metadata), Catch::Contains("neither kernels nor ops on tensors"));
}

TEST_CASE("Heddle's own traces with missing ops, negative sizes and impossible tensors are refused") {
    const auto own = [](const std::string& shape, const std::string& op) {
        return R"({"heddle_trace": 1, "name": "x", "tensors": [{"name": "a", "type": "f32", "shape": )" +
               shape + R"(}], "ops": [)" + op + "]}";
    };
    const std::string fill =
        R"({"name": "f", "kind": "fill", "inputs": [], "outputs": ["a"], "attributes": {"value": 0}, "dependencies": [)";
    CHECK(refusal("own.json", own("[4]", fill + "]}")) == "imported");
    CHECK_THAT(refusal("own.json", own("[4]", fill + "3]}")), Catch::Contains("op 3 is not an earlier op"));
    CHECK_THAT(refusal("own.json", own("[4]", fill + "0]}")), Catch::Contains("op 0 is not an earlier op"));
    CHECK_THAT(refusal("own.json", own("[-4]", fill + "]}")), Catch::Contains("shape"));
    CHECK_THAT(refusal("own.json", own("[4611686018427387904, 8]", fill + "]}")),
               !Catch::Contains("imported"));
}
