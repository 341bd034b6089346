// Parts that the attention kernels for Hopper share: tiles in shared memory as TMA leaves them and wgmma
// reads them, their copies, their descriptors, and barriers.
//
// A tile of rows of head_dim elements lies in panels, one for each 64 elements: a panel has a line of 128
// bytes for each row, and 16-byte chunks are XORed with the line's low three bits (swizzle of 128 bytes).
#pragma once

#include <functional>
#include <string>

#include "isa/common/error.h"
#include "workloads/kernels/attention_wgmma.h"
#include "workloads/kernels/swizzled_tile.h"

namespace heddle::kernels {

inline constexpr unsigned kAtom = 1024, kLine = 128;  // bytes: 8 lines with one swizzle; a line of a panel
inline constexpr unsigned kLineElements = 64;
inline constexpr unsigned kWarpgroupThreads = 128, kWarpgroupRows = 64;
/// Two warpgroups multiply; a third one copies for them and leaves them its registers (setmaxnreg).
inline constexpr unsigned kAttentionConsumers = 2;
inline constexpr unsigned kAttentionThreads = kWarpgroupThreads * (kAttentionConsumers + 1);

/// Throws heddle::Error for another type or head dimension than those of the kernels.
void check_attention_wgmma(ElementType type, unsigned head_dim, const SourceLocation& where);

/// Emits these parts into a kernel. The writer must outlive the object.
class AttentionWgmmaParts {
  public:
    AttentionWgmmaParts(PtxWriter& w, ElementType type) : w_(w), type_(type) {}

    /// Before the parameters: the target and the registers that a warpgroup starts with.
    void begin();
    /// A thread's warpgroup, its place in that, and where dynamic shared memory of `bytes` bytes begins: at a
    /// multiple of kAtom.
    struct Position {
        Reg group, thread, shared;
    };
    Position position(unsigned bytes);
    /// `make` makes the barriers, in one thread; then all see them.
    void make_barriers(const std::function<void()>& make);
    /// The rest of the kernel: what consumers do, then what the producer does. `end` is a label behind both.
    using Role = std::function<void(const std::string& end)>;
    GeneratedKernel finish(const Reg& group, const Role& consume, const Role& produce);

    // mbarriers at base + offset in shared memory.
    void make_barrier(const Reg& base, unsigned offset, const Reg& count);
    void wait(const Reg& base, unsigned offset, const Reg& parity);
    void arrive(const Reg& guard, const Reg& base, unsigned offset);
    void expect_bytes(const Reg& base, unsigned offset, unsigned bytes);

    /// The panels of `lines` rows from `row` on, of a head of a batch entry.
    void copy(const Reg& map, unsigned panels, unsigned lines, const Reg& to, const Reg& row, const Reg& head,
              const Reg& batch, const Reg& barrier, unsigned barrier_offset);

    /// Low words of matrix descriptors hold the address and the distance of panels, high words (the same for
    /// all) the distance of groups of 8 lines.
    void make_high_word() { high_ = w_.constant_b32(1u << 30 | kAtom / 16); }
    Reg descriptor_low(const Reg& address, unsigned panel_bytes);
    Reg descriptor(const Reg& low, unsigned offset);

    std::string opcode(unsigned columns) const;
    void fence() { w_.op("wgmma.fence.sync.aligned"); }
    void commit() { w_.op("wgmma.commit_group.sync.aligned"); }
    void wait_for_all_but(unsigned groups) { w_.op("wgmma.wait_group.sync.aligned", groups); }
    /// The registers of 64 rows in wgmma's order.
    static std::vector<Reg> all_of(const AccumulatorTile& tile);

  private:
    PtxWriter& w_;
    ElementType type_;
    Reg high_;
};

/// Boxes of `lines` rows of a panel.
TensorMapSpec attention_operand_map(ElementType type, unsigned head_dim, const AttentionOperand& operand,
                                    std::uint32_t rows, std::uint32_t heads, std::uint32_t batch,
                                    unsigned lines);

}  // namespace heddle::kernels
