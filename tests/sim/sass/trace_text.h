// Traces written by hand, and a GPU to run them on.
#pragma once

#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/gpu/gpu.h"
#include "sim/sass/trace_launch.h"

namespace heddle::sass::test {

class TextBytes : public ByteSource {
  public:
    explicit TextBytes(std::string text) : text_(std::move(text)) {}
    std::size_t read(char* to, std::size_t capacity) override {
        const std::size_t count = std::min(capacity, text_.size() - at_);
        std::memcpy(to, text_.data() + at_, count);
        at_ += count;
        return count;
    }

  private:
    std::string text_;
    std::size_t at_ = 0;
};

struct Geometry {
    unsigned blocks = 1, threads = 32;
    unsigned shared = 0, registers = 32, machine = 80;
    std::string more = {};  ///< further lines of the header
};

inline std::string header(const Geometry& g) {
    return "-kernel name = written_by_hand\n-kernel id = 1\n-grid dim = (" + std::to_string(g.blocks) +
           ",1,1)\n-block dim = (" + std::to_string(g.threads) +
           ",1,1)\n-shmem = " + std::to_string(g.shared) + "\n-nregs = " + std::to_string(g.registers) +
           "\n-binary version = " + std::to_string(g.machine) +
           "\n-cuda stream id = 0\n-shmem base_addr = 0x00007fb139000000\n"
           "-local mem base_addr = 0x00007fb137000000\n-nvbit version = 1.7\n-accelsim tracer version = 5\n" +
           g.more + "-enable lineinfo = 0\n\n#traces format = ...\n\n";
}

/// Instruction lines without their program counters, which are put in front: 0, 16, 32, ..., the same for the
/// same line, as if in a loop.
inline std::string warp(unsigned number, const std::vector<std::string>& instructions) {
    std::string text =
        "warp = " + std::to_string(number) + "\ninsts = " + std::to_string(instructions.size()) + "\n";
    char pc[16];
    std::map<std::string, std::size_t> places;
    for (const std::string& instruction : instructions) {
        const std::size_t i = places.try_emplace(instruction, places.size()).first->second;
        std::snprintf(pc, sizeof pc, "%04zx ", 16 * i);
        text += pc + instruction + "\n";
    }
    return text;
}

inline std::string block(unsigned x, const std::string& warps) {
    return "#BEGIN_TB\nthread block = " + std::to_string(x) + ",0,0\n" + warps + "#END_TB\n";
}

/// One block of one warp.
inline std::string one_warp(const std::vector<std::string>& instructions, const Geometry& geometry = {}) {
    return header(geometry) + block(0, warp(0, instructions));
}

inline TraceLaunch launch_of(const std::string& text, std::optional<ptx::Operation> unknown_as = {}) {
    return TraceLaunch(TraceReader(std::make_unique<TextBytes>(text), "kernel.traceg"), "kernel.traceg",
                       unknown_as);
}

inline models::gpu::KernelResult run(models::gpu::Gpu& gpu, const std::string& text,
                                     const models::gpu::RunOptions& options = {},
                                     std::optional<ptx::Operation> unknown_as = {}) {
    TraceLaunch launch = launch_of(text, unknown_as);
    const models::gpu::KernelResult result = gpu.run(launch, options);
    launch.finish();
    return result;
}

}  // namespace heddle::sass::test
