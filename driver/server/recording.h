// What a program asked of its devices, as a file (.hrun), and what that takes on other devices. A recording is the calls of
// driver/protocol with what the program put into memory beside them. Playing it hands the same calls to a virtual GPU without a program:
// there is one meaning of a call and no second form of a program, and values that steer a kernel are computed again.
//
// The file: a line "heddle-recording 2", a line of JSON (RecordingHead), then one zstd frame with a checksum, of records:
//     1  a call: process, Call, status of the answer (kNoAnswer: there was none), bytes of content and answer, content, answer
//     2  contents: process, address, bytes, and for each piece of kPieceBytes its number; a number that is new is followed by the piece
//     3  the end: how many calls there were
// Numbers are little-endian, of 32 or 64 bits. Each distinct piece is there once.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "driver/server/virtual_gpu.h"

namespace heddle::driver {

/// What the recorded run was asked for, and where it ran.
struct RecordingHead {
    std::string program, hardware;
    std::string timing;  ///< as GpuOptions::timing: "all", "distinct", "named", "none"
    std::string kernel, range;
    unsigned devices = 1;
    std::string code = "auto";  ///< as code_named() takes it
    bool through_ptxas = false;  ///< as GpuOptions::through_ptxas
};

class RecordingWriter {
  public:
    /// Refuses to take the place of a file that is no recording. Throws heddle::Error.
    RecordingWriter(std::string path, const RecordingHead& head);
    ~RecordingWriter();
    RecordingWriter(const RecordingWriter&) = delete;
    RecordingWriter& operator=(const RecordingWriter&) = delete;

    /// Before a virtual GPU carries out a call: keeps what the program has put into memory that the call may read.
    void before(std::uint32_t process, VirtualGpu& gpu, Call call, Reader content);
    /// And after it. `answer`: nullptr when there is none.
    void after(std::uint32_t process, Call call, Reader content, const Answer* answer);
    /// Puts the file into its place. Returns its bytes, and those of the contents that it holds once.
    struct Size {
        std::uint64_t file = 0, contents = 0, calls = 0;
    };
    Size finish();

  private:
    struct Stream;
    void keep(std::uint32_t process, const std::byte* bytes, std::uint64_t address, std::uint64_t count);
    void keep_changed(std::uint32_t process, VirtualGpu& gpu);

    std::string path_;
    std::unique_ptr<Stream> stream_;
    std::unordered_multimap<std::uint64_t, std::uint32_t> pieces_by_hash_;
    std::vector<std::vector<std::byte>> pieces_;
    /// Of memory that both sides write: what it held when it was looked at last, as hashes of pieces.
    std::map<std::pair<std::uint32_t, std::uint64_t>, std::vector<std::uint64_t>> seen_;
    std::uint64_t calls_ = 0, contents_ = 0;
};

/// Whether a file is a recording, by its first line.
bool is_recording(const std::string& path);

/// A recording to play, as often as one likes. Reads the file each time. Throws heddle::Error for damage of any kind.
class Recording {
  public:
    explicit Recording(std::string path);
    const RecordingHead& head() const { return head_; }
    /// What each process of the program did on this hardware; the same as the run that was recorded on the same. Throws heddle::Error where
    /// this device cannot do what was asked: which call, and why. `progress`: the part of the file that is done, 0..1.
    std::vector<sim::RunResult> play(const sim::Hardware& hardware, const std::function<void(double)>& progress = {}) const;

  private:
    std::string path_;
    RecordingHead head_;
    std::uint64_t bytes_ = 0, begin_ = 0;  ///< of the file, and where its frame begins
};

}  // namespace heddle::driver
