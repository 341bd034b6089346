// Reads a .traceg file (plain or .xz) of Accel-Sim's tracer, every version, thread block by thread block.
//
// Header: lines "-key = value". Then for each thread block
//     #BEGIN_TB
//     thread block = x,y,z
//     warp = w
//     insts = n
//     n instructions
//     #END_TB
// An instruction: [line] PC mask n [destination] OPCODE m [sources] width [mode addresses] [immediate];
// before tracer version 3 "x y z w" stand in front; version 6 has more (values.h). PC and mask are
// hexadecimal; mode 0: an address per lane; 1: base and stride over one run of lanes; 2: base and the
// difference of each lane to the lane before.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "workloads/sass_traces/kernel_trace.h"
#include "workloads/sass_traces/line_source.h"

namespace heddle::sass {

class LineTokens;

/// Reads one file from its beginning to its end.
class TraceReader {
  public:
    /// Reads the header. Throws heddle::Error, with file, line and token, here and in next().
    explicit TraceReader(const std::string& path);
    TraceReader(std::unique_ptr<ByteSource> bytes, const std::string& name);

    const KernelHeader& header() const { return header_; }
    /// Returns the next thread block of the file, or nothing after the last. The caller owns its memory; what
    /// is kept here does not grow with the length of the file.
    std::optional<ThreadBlock> next();
    /// Returns the instructions that have occurred so far; Step::instruction is an index into this list.
    const std::vector<Instruction>& instructions() const { return instructions_; }
    /// Returns the copies that Instruction::immediate of a bulk copy numbers, in traces of tracer version 6.
    const std::vector<BulkCopy>& copies() const { return copies_; }
    std::uint64_t thread_blocks() const { return thread_blocks_; }  ///< read so far
    std::uint64_t text_bytes() const { return lines_.bytes(); }     ///< read so far, decompressed

  private:
    bool next_line(std::string_view& line);
    void read_header();
    void read_key(std::string_view line);
    void check_geometry() const;
    ThreadBlock read_thread_block();
    WarpTrace read_warp(std::string_view line);
    void read_step(std::string_view line, WarpTrace& warp);
    std::uint32_t find_instruction(const Instruction& instruction, std::string_view opcode);
    std::uint32_t add_instruction(const Instruction& instruction, std::string_view opcode);
    void read_addresses(LineTokens& tokens, std::uint32_t lanes, std::vector<std::uint64_t>& addresses);
    void read_copy(LineTokens& tokens, std::string_view opcode, Instruction& instruction, Step& step,
                   WarpTrace& warp);
    void read_end_with_values(LineTokens& tokens, std::string_view opcode, unsigned registers,
                              Instruction& instruction, const Step& step);
    bool is_other_side(const Instruction& instruction, std::string_view opcode, const Step& step,
                       const WarpTrace& warp) const;
    Dimensions read_dimensions(std::string_view text, const char* key) const;

    LineSource lines_;
    KernelHeader header_;
    std::vector<Instruction> instructions_;
    std::unordered_map<std::uint32_t, std::uint32_t> by_program_counter_;  // the first of each
    std::vector<std::uint32_t> others_;  // by instruction: the next one at the same program counter
    std::vector<BulkCopy> copies_;
    std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> copies_by_hash_;
    std::uint32_t last_found_ = 0;
    std::uint64_t thread_blocks_ = 0;
    bool header_read_ = false;
};

}  // namespace heddle::sass
