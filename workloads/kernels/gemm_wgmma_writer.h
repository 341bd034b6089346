// The writer of a Hopper GEMM (gemm_wgmma.h). gemm_wgmma_producer.cpp has positions, barriers and copies,
// gemm_wgmma_consumer.cpp descriptors, products and the way out.
#pragma once

#include <string>
#include <vector>

#include "workloads/kernels/gemm_wgmma_parts.h"

namespace heddle::kernels {

inline constexpr unsigned kWarpgroup = 128;
inline constexpr unsigned kWgmmaBytes = 32;  ///< of k, in one wgmma
inline constexpr unsigned kWgmmaSteps = 128 / kWgmmaBytes;

/// Registers per thread: of all at the start, and after setmaxnreg.
struct WgmmaRegisterShares {
    unsigned start, producer, consumer;
    bool moved() const { return consumer > start; }
};

/// Returns how the registers of an SM are divided between producer and consumers for this tile.
WgmmaRegisterShares wgmma_register_shares(const WgmmaTile& tile);

/// One operand: its copies and its matrix descriptors.
struct WgmmaOperand {
    Reg map, entries;
    bool along_k = true;
    unsigned extent = 0, shared_by = 1;  ///< of the tile; CTAs of the cluster that have it in common
    unsigned offset = 0, bytes = 0;      ///< in shared memory: of stage 0, of one stage
    Reg part, peers;                     ///< which part this CTA copies; mask of the CTAs that get it
    // Of the tile at hand.
    Reg first, entry;
};

/// The kernel, written part by part.
class GemmWgmmaWriter {
  public:
    explicit GemmWgmmaWriter(const GemmWgmmaSpec& spec);

    GeneratedKernel write();

  private:
    void parameters();
    void positions();
    void set_up_barriers();
    void produce(const std::string& end);
    void copy_operand(const WgmmaOperand& operand, const Reg& k, const Reg& stage_area, const Reg& barrier);
    void consume();
    void consume_tile();
    GemmParameters parameters_of_entry(const WgmmaPlace& place);
    void stage(unsigned s, bool first_round, const std::string& exit);
    void drained_stage(unsigned s, bool first_round, const std::string& exit);
    std::string arrive() const {
        return tile_.cluster_size() > 1 ? "mbarrier.arrive.release.cluster.shared::cluster.b64"
                                        : "mbarrier.arrive.shared::cta.b64";
    }
    /// A consumer that has the tensor cores to itself ends each stage before it begins the next, for which it
    /// has waited in the meantime.
    bool drains() const { return tile_.consumers == 1; }
    void multiply(unsigned s, bool first_round);
    void make_ready(const Reg& row_low, const Reg& column_low, unsigned s);
    Reg descriptor(const Reg& low, unsigned offset);
    void hoist_descriptors();
    unsigned row_offset(unsigned s, unsigned step, unsigned fragment) {
        return s * rows().bytes + step * step_bytes(rows()) + fragment * 8 * kSwizzleAtom;
    }
    unsigned column_offset(unsigned s, unsigned step) {
        return s * columns().bytes + step * step_bytes(columns());
    }
    static unsigned step_bytes(const WgmmaOperand& operand) {
        return operand.along_k ? kWgmmaBytes : 16 * 128;
    }
    // By tcgen05: gemm_tcgen05.cpp.
    GeneratedKernel write_tensor_memory();
    void set_up_tensor_memory();
    void issue_products(const std::string& end);
    void store_sums();
    void store_staged_sums(const Reg& sums, const Reg& warp, const Reg& lane);
    void store_direct_sums(const Reg& sums, const Reg& warp, const Reg& lane);
    bool paired() const { return tensor_ && tile_.cluster_m == 2; }
    std::string group() const { return paired() ? "cta_group::2" : "cta_group::1"; }
    unsigned sum_columns() const { return (tile_.columns() + 31) / 32 * 32; }
    /// The address of a barrier of the pair's first CTA, which multiplies.
    Reg of_leader(const Reg& barrier) {
        return paired() ? w_.make_b32("mapa.shared::cluster.u32", barrier, 0) : barrier;
    }
    void decode_tile(const std::string& next, bool producer);
    void decode_stream();
    /// What follows the tile at hand.
    void next_tile(const std::string& loop);
    void wait(const Reg& barrier, unsigned offset, const Reg& parity);
    void cluster_barrier() {
        w_.op("barrier.cluster.arrive.aligned");
        w_.op("barrier.cluster.wait.aligned");
    }
    unsigned peers() const { return tile_.cluster_m + tile_.cluster_n - 1; }
    WgmmaOperand& rows() { return tile_.swap ? b_ : a_; }
    WgmmaOperand& columns() { return tile_.swap ? a_ : b_; }

    const GemmWgmmaSpec& spec_;
    const WgmmaTile& tile_;
    WgmmaLayout layout_;
    bool tensor_, staged_, batched_, split_, stream_;
    unsigned tile_k_;
    PtxWriter w_;

    WgmmaOperand a_, b_;
    GemmParameters p_;
    Reg map_d_, map_d_tail_, tiles_, tiles_n_, k_tiles_, k_tiles_per_split_;
    PtxWriter::Divider tiles_per_entry_, tiles_m_;
    PtxWriter::Divider stages_per_tile_, stages_per_cta_;  // stream-K
    Reg tensor_memory_;  // the address that tcgen05.alloc gave
    Reg shared_, warpgroup_, thread_, rank_m_, rank_n_;
    Reg id_, id_step_;
    // The tile at hand.
    Reg row_, column_, entry_, first_k_tile_, count_;
    // Of a consumer.
    Reg position_, parity_, accumulate_, releases_, release_base_, full_, remaining_;
    Reg row_low_, column_low_, high_;
    std::vector<Reg> row_descriptors_, column_descriptors_;
    /// Where there is no room for those of all stages: of the stage that comes next.
    std::vector<Reg> ready_rows_, ready_columns_;
    WgmmaAccumulators accumulators_;
};

}  // namespace heddle::kernels
