// Finds accesses to VMEM and HBM that no sync flag puts in order, and reads of VMEM that nothing has written.
//
// A program with such a race may give the right values in one run and wrong ones on a machine with other
// latencies. The detector listens to an untimed run and keeps, for every four bytes, who wrote and read them
// last; an access that does not come after them in every possible timing is an error. "Comes after" is
// tracked with vector clocks: a unit knows what it has done itself, what the sequencer knew when it issued
// the instruction, and what the signaller of each flag that it waited for knew when it was done.
//
// An access to a part of a word counts as one to the whole: no race is missed, but accesses without an order to
// different bytes of a word are told as one, and a word counts as written when any of its bytes was. Bytes
// would cost four times the memory, 48 bytes for each of VMEM.
//
// DMA of one direction counts as a unit for each memory at its other end, since transfers to different
// memories overtake each other. Tokens of a flag that only one unit signals are told apart. Where several
// units signal a flag, a wait learns only from taking all tokens that there are.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "isa/tpu/execute.h"

namespace heddle::tpu {

/// An ExecutionListener of the functional executor; it reports and never changes what is computed.
class RaceDetector : public ExecutionListener {
  public:
    /// With `strict`, reading VMEM that nothing has written is an error, too.
    RaceDetector(const Program& program, const Limits& limits, bool strict = false);

    /// Throws heddle::Error naming both instructions and the place.
    void performs(std::size_t core, const Instruction& instruction, const LoopCounters& counters,
                  std::uint64_t sequence, std::span<const std::byte> vmem) override;
    void issued(std::size_t core, std::uint64_t sequence) override;

  private:
    /// How many instructions of each unit of each core are known to be done.
    using Clock = std::vector<std::uint32_t>;
    struct Token {
        std::size_t unit = 0;
        Clock known;
    };
    struct Mark {
        std::size_t unit = 0;
        std::uint32_t ordinal = 0;  ///< of the unit's instructions, from 1
        const Instruction* instruction = nullptr;
    };
    /// Four bytes of memory.
    struct Cell {
        Mark writer;
        std::vector<Mark> readers;  ///< since then, the last of each unit
    };
    struct Access {
        bool write = false;
        bool early = false;  ///< happens from the start of the instruction on, not in the order of its end
    };

    /// Number of the unit, among those whose instructions are done in the order of their starts.
    std::size_t unit_of_core(const Operation& operation) const;

    void learn(Clock& clock, std::size_t core, const FlagWait& wait);
    void visit_vmem(std::uint64_t address, std::uint64_t rows, std::uint64_t row_bytes, std::uint64_t stride,
                    Access access);
    void visit_hbm(std::uint64_t address, std::uint64_t bytes, Access access);
    void visit(Cell& cell, Access access, const char* memory, std::uint64_t address);
    bool is_before(const Mark& earlier, Access access) const;
    void visit_operands(const Instruction& instruction, const LoopCounters& counters,
                        std::span<const std::byte> vmem);

    Limits limits_;
    bool strict_;
    std::size_t units_per_core_;
    std::size_t units_;                                     ///< of all cores
    std::vector<Clock> known_;                              ///< [unit]: at the end of its last instruction
    std::vector<std::uint32_t> done_;                       ///< [unit]
    std::vector<std::map<std::uint64_t, Clock>> at_issue_;  ///< [core][sequence]
    std::map<std::pair<std::size_t, std::size_t>, std::deque<Token>> tokens_;  ///< (core, flag)
    std::vector<std::vector<Cell>> vmem_;                                      ///< [core][address / 4]
    std::unordered_map<std::uint64_t, Cell> hbm_;

    // The instruction under way.
    std::size_t core_ = 0, unit_ = 0;
    Mark present_;
    Clock before_;  ///< what is known to be done before it starts
};

}  // namespace heddle::tpu
