#include "workloads/sass_traces/tracez_bytes.h"

#include <zstd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <fstream>

namespace heddle::sass {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::size_t kLongestHeader = 1 << 20, kLargestDictionary = 64u << 20;
/// Of the text of a chunk: many times what tracers write.
constexpr std::uint64_t kLargestChunk = 16u << 20;

struct FreeContext {
    void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

class TracezBytes : public ByteSource {
  public:
    explicit TracezBytes(const std::string& path)
        : path_(path), file_(path, std::ios::binary | std::ios::ate), context_(ZSTD_createDCtx()) {
        if (!file_) throw Error("cannot be opened", {path_}, "check the path and the permissions");
        size_ = static_cast<std::uint64_t>(file_.tellg());
        read_header();
        if (size_ < sizeof(std::uint64_t)) damaged("the index");
        at(size_ - sizeof(std::uint64_t));
        index_ = number<std::uint64_t>("where the index stands");
        at(index_);
        blocks_ = number<std::uint32_t>("the number of thread blocks");
        index_ += sizeof(std::uint32_t);
        add_cluster();
    }

    std::size_t read(char* to, std::size_t capacity) override {
        while (given_ == text_.size()) {
            if (!next_piece()) return 0;
        }
        const std::size_t count = std::min(capacity, text_.size() - given_);
        std::memcpy(to, text_.data() + given_, count);
        given_ += count;
        return count;
    }

  private:
    [[noreturn]] void damaged(const std::string& what) const {
        throw Error("is cut off or damaged: " + what + " cannot be read", {path_},
                    "copy or record the file again");
    }
    void at(std::uint64_t place) {
        if (place > size_) damaged("a place beyond the end of the file");
        file_.clear();
        file_.seekg(static_cast<std::streamoff>(place));
    }
    void bytes(void* to, std::size_t count, const char* what) {
        if (!file_.read(static_cast<char*>(to), static_cast<std::streamsize>(count))) damaged(what);
    }
    template <typename Integer>
    Integer number(const char* what) {
        Integer value{};
        bytes(&value, sizeof(value), what);
        return value;
    }

    void read_header() {
        at(0);
        std::getline(file_, text_, '\0');
        if (!file_ || file_.eof() || text_.size() > kLongestHeader) damaged("the header");
        text_ += "\n#traces format\n";
        const auto dictionary = number<std::uint32_t>("the size of the dictionary");
        number<std::uint32_t>("the instructions of a chunk");
        if (dictionary > kLargestDictionary || dictionary > size_) damaged("the dictionary");
        dictionary_.resize(dictionary);
        bytes(dictionary_.data(), dictionary, "the dictionary");
    }

    // The index has the place of every thread block in its cluster, the header nothing of clusters.
    void add_cluster() {
        constexpr std::uint32_t kMostBlocks = 4096;
        constexpr std::size_t kPlaceInCluster = 6;
        if (text_.find("-cluster dim") != std::string::npos) return;
        std::array<std::uint32_t, 3> extent{1, 1, 1};
        std::uint64_t place = index_;
        for (std::uint32_t block = 0; block < std::min(blocks_, kMostBlocks); ++block) {
            at(place);
            std::array<std::uint32_t, 11> words{};
            bytes(words.data(), sizeof(words), "a thread block of the index");
            place += sizeof(words);
            for (std::size_t d = 0; d < 3; ++d)
                extent[d] = std::max(extent[d], std::min(words[kPlaceInCluster + d], 15u) + 1);
            for (std::uint32_t warp = 0; warp < words.back(); ++warp) {
                at(place + sizeof(std::uint32_t));
                const auto chunks = number<std::uint32_t>("a warp of the index");
                place += 2 * sizeof(std::uint32_t) + sizeof(std::uint64_t) +
                         std::uint64_t{chunks} * sizeof(std::uint32_t);
            }
        }
        if (extent[0] * extent[1] * extent[2] == 1) return;
        text_ = "-cluster dim = (" + std::to_string(extent[0]) + "," + std::to_string(extent[1]) + "," +
                std::to_string(extent[2]) + ")\n" + text_;
    }

    // The next piece of the text: of a thread block, of a warp, or a chunk.
    bool next_piece() {
        text_.clear();
        given_ = 0;
        if (chunks_left_ != 0) {
            read_chunk();
        } else if (warps_left_ != 0) {
            begin_warp();
        } else if (in_block_) {
            in_block_ = false;
            text_ = "#END_TB\n";
        } else if (blocks_ != 0) {
            begin_block();
        } else {
            return false;
        }
        return true;
    }

    void begin_block() {
        --blocks_;
        at(index_);
        std::array<std::uint32_t, 11> words{};
        bytes(words.data(), sizeof(words), "a thread block of the index");
        index_ += sizeof(words);
        warps_left_ = words.back();
        warp_ = 0;
        in_block_ = true;
        text_ = "#BEGIN_TB\nthread block = " + std::to_string(words[0]) + "," + std::to_string(words[1]) +
                "," + std::to_string(words[2]) + "\n";
    }

    void begin_warp() {
        --warps_left_;
        at(index_);
        const auto instructions = number<std::uint32_t>("a warp of the index");
        const auto chunks = number<std::uint32_t>("a warp of the index");
        chunk_ = number<std::uint64_t>("a warp of the index");
        index_ +=
            2 * sizeof(std::uint32_t) + sizeof(std::uint64_t) + std::uint64_t{chunks} * sizeof(std::uint32_t);
        at(chunk_);
        if (number<std::uint32_t>("a warp") != instructions || number<std::uint32_t>("a warp") != chunks)
            damaged("a warp that is not what the index says");
        chunk_ += 2 * sizeof(std::uint32_t);
        chunks_left_ = chunks;
        text_ = "warp = " + std::to_string(warp_++) + "\ninsts = " + std::to_string(instructions) + "\n";
    }

    void read_chunk() {
        --chunks_left_;
        at(chunk_);
        const auto count = number<std::uint32_t>("the size of a chunk");
        if (count > size_) damaged("a chunk");
        compressed_.resize(count);
        bytes(compressed_.data(), count, "a chunk");
        chunk_ += sizeof(count) + count;
        const unsigned long long content = ZSTD_getFrameContentSize(compressed_.data(), count);
        if (content > kLargestChunk) damaged("a chunk");  // the codes for "unknown" and "error" are larger
        text_.resize(content);
        const std::size_t got =
            ZSTD_decompress_usingDict(context_.get(), text_.data(), text_.size(), compressed_.data(), count,
                                      dictionary_.data(), dictionary_.size());
        if (ZSTD_isError(got) != 0 || got != content) damaged("a chunk");
        if (!text_.empty() && text_.back() != '\n') text_ += '\n';
    }

    std::string path_;
    std::ifstream file_;
    std::unique_ptr<ZSTD_DCtx, FreeContext> context_;
    std::uint64_t size_ = 0;
    std::string dictionary_, compressed_;
    std::string text_;  // what comes next, of which `given_` bytes have been given
    std::size_t given_ = 0;
    std::uint64_t index_ = 0, chunk_ = 0;  // places in the file
    std::uint32_t blocks_ = 0, warps_left_ = 0, warp_ = 0, chunks_left_ = 0;
    bool in_block_ = false;
};

}  // namespace

std::unique_ptr<ByteSource> open_tracez(const std::string& path) {
    return std::make_unique<TracezBytes>(path);
}

}  // namespace heddle::sass
