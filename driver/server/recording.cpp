#include "driver/server/recording.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "isa/common/error.h"
#include "isa/common/whole_file.h"
#include "sim/kernel/assemble.h"

namespace heddle::driver {
namespace {

constexpr std::string_view kFirstLine = "heddle-recording 2\n";
constexpr std::string_view kAnyVersion = "heddle-recording ";
constexpr std::uint64_t kPieceBytes = 64 << 10;
constexpr std::uint32_t kNoAnswer = 0xffffffffu;
constexpr std::uint8_t kCallRecord = 1, kContentsRecord = 2, kEndRecord = 3;
constexpr std::uint32_t kMostCallBytes = std::uint32_t{1} << 30;

/// Numbers of CUresult from here to 799 come from kernels that failed.
constexpr std::uint32_t kFirstOfKernels = 700;

/// 64 bits of a piece; equal hashes are compared byte by byte.
std::uint64_t hash_of(const std::byte* bytes, std::size_t count) {
    std::uint64_t hash = 0x9e3779b97f4a7c15u ^ count;
    std::size_t at = 0;
    for (; at + 8 <= count; at += 8) {
        std::uint64_t word = 0;
        std::memcpy(&word, bytes + at, 8);
        hash = (hash ^ word) * 0xff51afd7ed558ccdu;
        hash ^= hash >> 32;
    }
    for (; at < count; ++at) hash = (hash ^ static_cast<std::uint64_t>(bytes[at])) * 0x100000001b3u;
    return hash;
}

/// Calls that only ask, and change nothing.
bool only_asks(Call call) {
    switch (call) {
        case Call::memory_info:
        case Call::list_functions:
        case Call::occupancy:
        case Call::elapsed:
        case Call::tensor_map:
        case Call::missing:
        case Call::board:
        case Call::observe:
        case Call::last_launch:
        case Call::forget_caches:
            return true;
        default:
            return false;
    }
}

/// Whether a kernel, or a copy by the device, may read what the program wrote into memory that both reach.
bool may_read_memory(Call call) {
    return call == Call::launch || call == Call::blas || call == Call::copy;
}

RecordingHead head_from(const std::string& line, const std::string& path) {
    try {
        const nlohmann::json json = nlohmann::json::parse(line);
        RecordingHead head;
        json.at("program").get_to(head.program);
        json.at("hardware").get_to(head.hardware);
        json.at("timing").get_to(head.timing);
        if (json.contains("code")) json.at("code").get_to(head.code);
        if (json.contains("through")) head.through_ptxas = json.at("through").get<std::string>() == "ptxas";
        json.at("kernel").get_to(head.kernel);
        json.at("range").get_to(head.range);
        json.at("devices").get_to(head.devices);
        if (head.devices == 0 || head.devices > 64) throw Error("");
        return head;
    } catch (const std::exception&) {
        throw Error("the second line of the recording does not describe a run", {path, 2, ""}, "record the program again with heddle run --save");
    }
}

[[noreturn]] void damaged(const std::string& path, const std::string& how) {
    throw Error("the recording is damaged: " + how, {path, 0, ""}, "record the program again with heddle run --save");
}

/// The records of a frame, one number after the other.
class FrameReader {
  public:
    FrameReader(const std::string& path, std::uint64_t begin) : path_(path), file_(std::fopen(path.c_str(), "rb")), context_(ZSTD_createDStream()) {
        if (file_ == nullptr || std::fseek(file_, static_cast<long>(begin), SEEK_SET) != 0) damaged(path_, "it cannot be read");
        input_.resize(ZSTD_DStreamInSize());
        output_.resize(ZSTD_DStreamOutSize());
    }
    ~FrameReader() {
        ZSTD_freeDStream(context_);
        if (file_ != nullptr) std::fclose(file_);
    }
    FrameReader(const FrameReader&) = delete;
    FrameReader& operator=(const FrameReader&) = delete;

    void read(void* to, std::size_t count) {
        auto* at = static_cast<char*>(to);
        while (count != 0) {
            if (used_ == filled_) fill();
            const std::size_t part = std::min(count, filled_ - used_);
            std::memcpy(at, output_.data() + used_, part);
            used_ += part;
            at += part;
            count -= part;
        }
    }
    template <class Value>
    Value get() {
        Value value{};
        read(&value, sizeof value);
        return value;
    }
    /// After the last record: the frame ends here, and its checksum is right.
    void expect_end() {
        char beyond = 0;
        if (used_ == filled_ && !whole_) {
            while (!whole_ && used_ == filled_) fill();
        }
        if (used_ != filled_ || std::fread(&beyond, 1, 1, file_) == 1 || position_ != size_) damaged(path_, "something follows its end");
    }
    std::uint64_t consumed() const { return consumed_; }

  private:
    void fill() {
        used_ = filled_ = 0;
        if (whole_) damaged(path_, "it ends in the middle of a record");
        if (position_ == size_) {
            size_ = std::fread(input_.data(), 1, input_.size(), file_);
            position_ = 0;
            consumed_ += size_;
            if (size_ == 0) damaged(path_, "it is cut off");
        }
        ZSTD_inBuffer in{input_.data(), size_, position_};
        ZSTD_outBuffer out{output_.data(), output_.size(), 0};
        const std::size_t left = ZSTD_decompressStream(context_, &out, &in);
        if (ZSTD_isError(left) != 0) damaged(path_, ZSTD_getErrorName(left));
        position_ = in.pos;
        filled_ = out.pos;
        whole_ = left == 0;
    }

    const std::string& path_;
    std::FILE* file_;
    ZSTD_DStream* context_;
    std::vector<char> input_, output_;
    std::size_t size_ = 0, position_ = 0, filled_ = 0, used_ = 0;
    std::uint64_t consumed_ = 0;
    bool whole_ = false;
};

Timing timing_from(const std::string& name) {
    return name == "distinct" ? Timing::distinct : name == "named" ? Timing::named : Timing::all;
}

/// The begin of an answer that programs go by: addresses, and numbers of modules and functions. What else answers say, such as how
/// many registers a kernel has, is the device's own.
std::size_t binding_bytes(Call call) {
    switch (call) {
        case Call::allocate:
        case Call::reserve:
            return 8;
        case Call::load_module:
        case Call::function:
            return 4;
        case Call::variable:
            return 8;
        default:
            return 0;
    }
}

}  // namespace

/// A frame on its way to a file beside the one that it will be.
struct RecordingWriter::Stream {
    std::string aside;
    std::FILE* file = nullptr;
    ZSTD_CStream* context = nullptr;
    std::vector<char> output;

    Stream(const std::string& path, const std::string& head) : aside(path + ".XXXXXX"), context(ZSTD_createCStream()), output(ZSTD_CStreamOutSize()) {
        const int descriptor = mkstemp(aside.data());
        const mode_t mask = umask(0);
        umask(mask);
        if (descriptor >= 0 && fchmod(descriptor, 0666 & ~mask) == 0) file = fdopen(descriptor, "wb");
        if (file == nullptr) throw Error(std::string("cannot write: ") + std::strerror(errno), {path, 0, ""}, "choose another place for the recording");
        std::fwrite(head.data(), 1, head.size(), file);
        ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, 3);
        ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
    }
    ~Stream() {
        ZSTD_freeCStream(context);
        if (file != nullptr) std::fclose(file);
        std::error_code ignored;
        std::filesystem::remove(aside, ignored);
    }
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;

    void compress(ZSTD_inBuffer in, ZSTD_EndDirective how) {
        for (;;) {
            ZSTD_outBuffer out{output.data(), output.size(), 0};
            const std::size_t left = ZSTD_compressStream2(context, &out, &in, how);
            if (ZSTD_isError(left) != 0 || std::fwrite(output.data(), 1, out.pos, file) != out.pos)
                throw Error("cannot write the recording: is the disk full?", {aside, 0, ""});
            if (how == ZSTD_e_end ? left == 0 : in.pos == in.size) return;
        }
    }
    void write(const void* bytes, std::size_t count) { compress({bytes, count, 0}, ZSTD_e_continue); }
    template <class Value>
    void put(Value value) {
        write(&value, sizeof value);
    }
};

bool is_recording(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::string first(kAnyVersion.size(), '\0');
    return file.read(first.data(), static_cast<std::streamsize>(first.size())) && first == kAnyVersion;
}

RecordingWriter::RecordingWriter(std::string path, const RecordingHead& head) : path_(std::move(path)) {
    std::error_code failure;
    if (std::filesystem::exists(path_, failure) && !is_recording(path_))
        throw Error("is there and is no recording: it is not replaced", {path_, 0, ""}, "name another file after --save");
    const nlohmann::ordered_json json{{"program", head.program}, {"hardware", head.hardware}, {"timing", head.timing}, {"code", head.code},       {"through", head.through_ptxas ? "ptxas" : "heddle"},
                                      {"kernel", head.kernel},   {"range", head.range},       {"devices", head.devices}};
    stream_ = std::make_unique<Stream>(path_, std::string(kFirstLine) + json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
}

RecordingWriter::~RecordingWriter() = default;

void RecordingWriter::keep(std::uint32_t process, const std::byte* bytes, std::uint64_t address, std::uint64_t count) {
    stream_->put(kContentsRecord);
    stream_->put(process);
    stream_->put(address);
    stream_->put(count);
    for (std::uint64_t at = 0; at < count; at += kPieceBytes) {
        const std::size_t part = std::min(kPieceBytes, count - at);
        const std::uint64_t hash = hash_of(bytes + at, part);
        const auto [first, last] = pieces_by_hash_.equal_range(hash);
        const auto same = std::find_if(first, last, [&](const auto& known) {
            const std::vector<std::byte>& piece = pieces_[known.second];
            return piece.size() == part && std::memcmp(piece.data(), bytes + at, part) == 0;
        });
        if (same != last) {
            stream_->put(same->second);
            continue;
        }
        const auto number = static_cast<std::uint32_t>(pieces_.size());
        pieces_by_hash_.emplace(hash, number);
        pieces_.emplace_back(bytes + at, bytes + at + part);
        contents_ += part;
        stream_->put(number);
        stream_->write(bytes + at, part);
    }
}

// The program writes memory of the host's kind without telling anybody. Pieces that have changed since the last look are kept.
void RecordingWriter::keep_changed(std::uint32_t process, VirtualGpu& gpu) {
    gpu.for_each_shared_with_host([&](std::uint64_t address, std::span<const std::byte> bytes) {
        std::vector<std::uint64_t>& hashes = seen_[{process, address}];
        const std::size_t count = (bytes.size() + kPieceBytes - 1) / kPieceBytes;
        if (hashes.size() != count) {
            const std::vector<std::byte> zeros(std::min<std::size_t>(kPieceBytes, bytes.size()));
            hashes.assign(count, hash_of(zeros.data(), zeros.size()));
        }
        for (std::size_t i = 0; i < count; ++i) {
            const std::span<const std::byte> piece = bytes.subspan(i * kPieceBytes, std::min<std::size_t>(kPieceBytes, bytes.size() - i * kPieceBytes));
            const std::uint64_t hash = hash_of(piece.data(), piece.size());
            if (hash == hashes[i]) continue;
            hashes[i] = hash;
            keep(process, piece.data(), address + i * kPieceBytes, piece.size());
        }
    });
}

void RecordingWriter::before(std::uint32_t process, VirtualGpu& gpu, Call call, Reader content) {
    if (!may_read_memory(call)) return;
    keep_changed(process, gpu);
    if (call != Call::copy) return;
    const auto request = content.get<CopyRequest>();
    const std::uint64_t extent = request.extent != 0 ? request.extent : request.bytes;
    if (request.done == 0 || request.to < kMemoryBase || request.to >= kMemoryBase + kMemoryBytes) return;
    const std::span<const std::byte> bytes = gpu.bytes_at(request.to, extent);
    if (!bytes.empty()) keep(process, bytes.data(), request.to, bytes.size());
}

void RecordingWriter::after(std::uint32_t process, Call call, Reader content, const Answer* answer) {
    if (only_asks(call)) return;
    ++calls_;
    const std::string_view bytes = content.rest();
    std::size_t binding = 0;
    if (answer != nullptr) binding = std::min(binding_bytes(call), answer->content.bytes().size());
    stream_->put(kCallRecord);
    stream_->put(process);
    stream_->put(static_cast<std::uint32_t>(call));
    stream_->put(answer == nullptr ? kNoAnswer : static_cast<std::uint32_t>(answer->status));
    stream_->put(static_cast<std::uint32_t>(bytes.size()));
    stream_->put(static_cast<std::uint32_t>(binding));
    stream_->write(bytes.data(), bytes.size());
    if (binding != 0) stream_->write(answer->content.bytes().data(), binding);
}

RecordingWriter::Size RecordingWriter::finish() {
    stream_->put(kEndRecord);
    stream_->put(calls_);
    stream_->compress({nullptr, 0, 0}, ZSTD_e_end);
    Size size;
    size.file = static_cast<std::uint64_t>(std::ftell(stream_->file));
    size.contents = contents_;
    size.calls = calls_;
    if (std::fclose(std::exchange(stream_->file, nullptr)) != 0) throw Error("cannot write the recording: is the disk full?", {path_, 0, ""});
    write_whole_file(path_, [&](const std::string& aside) { return std::rename(stream_->aside.c_str(), aside.c_str()) == 0; });
    stream_.reset();
    return size;
}

Recording::Recording(std::string path) : path_(std::move(path)) {
    std::ifstream file(path_, std::ios::binary);
    if (!file) throw Error("cannot be read", {path_, 0, ""}, "name a recording that heddle run --save wrote");
    std::string first, second;
    std::getline(file, first);
    if (first + "\n" != kFirstLine)
        throw Error(first.rfind(kAnyVersion, 0) == 0 ? "is a recording of another version of heddle" : "is no recording of a CUDA program", {path_, 1, ""},
                    "record the program with heddle run --save FILE.hrun");
    std::getline(file, second);
    head_ = head_from(second, path_);
    begin_ = first.size() + second.size() + 2;
    std::error_code failure;
    bytes_ = std::filesystem::file_size(path_, failure);
}

std::vector<sim::RunResult> Recording::play(const sim::Hardware& hardware, const std::function<void(double)>& progress) const {
    GpuOptions options;
    options.timing = timing_from(head_.timing);
    options.code = code_named(head_.code);
    options.through_ptxas = head_.through_ptxas;
    if (options.through_ptxas) kernel::require_ptxas();
    options.kernel = head_.kernel;
    options.range = head_.range;
    options.devices = head_.devices;
    TimingModel model(sim::gpu_config(hardware));
    std::map<std::uint32_t, std::unique_ptr<VirtualGpu>> gpus;
    std::vector<std::vector<std::byte>> pieces;
    FrameReader reader(path_, begin_);
    std::uint64_t calls = 0;
    std::vector<char> content, bound;
    std::map<std::uint32_t, bool> failed_before;  // kernels of the process failed when it was recorded, too
    const auto gpu_of = [&](std::uint32_t process) -> VirtualGpu& {
        std::unique_ptr<VirtualGpu>& gpu = gpus[process];
        if (!gpu) gpu = std::make_unique<VirtualGpu>(hardware, options, model);
        return *gpu;
    };
    for (;;) {
        if (progress) progress(std::min(1.0, static_cast<double>(begin_ + reader.consumed()) / static_cast<double>(std::max<std::uint64_t>(bytes_, 1))));
        const auto kind = reader.get<std::uint8_t>();
        if (kind == kEndRecord) {
            if (reader.get<std::uint64_t>() != calls) damaged(path_, "calls are missing");
            reader.expect_end();
            break;
        }
        if (kind != kCallRecord && kind != kContentsRecord) damaged(path_, fmt::format("there is no record of kind {}", kind));
        const auto process = reader.get<std::uint32_t>();
        VirtualGpu& gpu = gpu_of(process);
        if (kind == kContentsRecord) {
            const auto address = reader.get<std::uint64_t>(), count = reader.get<std::uint64_t>();
            const std::span<std::byte> to = gpu.bytes_at(address, count);
            if (to.empty() || to.size() != count) damaged(path_, "it puts something where no memory is");
            for (std::uint64_t at = 0; at < count; at += kPieceBytes) {
                const std::size_t part = std::min(kPieceBytes, count - at);
                const auto number = reader.get<std::uint32_t>();
                if (number > pieces.size()) damaged(path_, "it names contents that it does not have");
                if (number == pieces.size()) {
                    pieces.emplace_back(part);
                    reader.read(pieces.back().data(), part);
                }
                if (pieces[number].size() != part) damaged(path_, "contents have another size than they should");
                std::memcpy(to.data() + at, pieces[number].data(), part);
            }
            continue;
        }
        const auto call = reader.get<Call>();
        const auto status = reader.get<std::uint32_t>(), content_bytes = reader.get<std::uint32_t>(), bound_bytes = reader.get<std::uint32_t>();
        if (content_bytes > kMostCallBytes || bound_bytes > 64) damaged(path_, "a call is larger than any can be");
        content.resize(content_bytes);
        bound.resize(bound_bytes);
        reader.read(content.data(), content.size());
        reader.read(bound.data(), bound.size());
        ++calls;
        const std::optional<Answer> answer = gpu.handle(call, Reader(content.data(), content.size()));
        if (!answer) continue;
        if (status != kNoAnswer && status >= kFirstOfKernels) failed_before[process] = true;
        if (status != kNoAnswer && static_cast<std::uint32_t>(answer->status) != status)
            throw Error(fmt::format("what {} did on {} cannot be done on {}: {}", head_.program, head_.hardware, hardware.name,
                                    answer->message.empty() ? fmt::format("call {} returns error {} instead of {}", calls,
                                                                          static_cast<std::uint32_t>(answer->status), status)
                                                            : answer->message),
                        {path_, 0, ""}, "choose a device that has what the program's kernels need, or record it on this one");
        if (answer->content.bytes().size() < bound.size() || std::memcmp(answer->content.bytes().data(), bound.data(), bound.size()) != 0)
            throw Error(fmt::format("call {} answers something else than it did for the program", calls), {path_, 0, ""},
                        "record the program again with this version of heddle");
    }
    std::vector<sim::RunResult> results;
    for (const auto& [process, gpu] : gpus) {
        // What failed after the last answer.
        if (gpu->problem() != Status::success && !failed_before[process]) {
            const std::optional<Answer> answer = gpu->handle(Call::memory_info, Reader(nullptr, 0));
            throw Error(fmt::format("what {} did on {} fails on {}: {}", head_.program, head_.hardware, hardware.name, answer ? answer->message : ""), {path_, 0, ""},
                        "choose a device that has what the program's kernels need");
        }
        for (sim::RunResult& result : gpu->results(head_.program)) results.push_back(std::move(result));
    }
    return results;
}

}  // namespace heddle::driver
