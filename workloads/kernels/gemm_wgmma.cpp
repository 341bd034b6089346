#include "workloads/kernels/gemm_wgmma.h"

#include <algorithm>
#include <bit>

#include "isa/common/error.h"
#include "isa/target/generation.h"
#include "workloads/kernels/gemm_wgmma_writer.h"

namespace heddle::kernels {
namespace {

constexpr unsigned kRegisterFile = 65536;

/// Per thread of a consumer.
unsigned accumulators_of(const WgmmaTile& tile) {
    const unsigned shared_by = tile.schedule == WgmmaSchedule::ping_pong ? 1 : tile.consumers;
    return tile.rows() / (64 * shared_by) * tile.columns() / 2;
}

void check(const GemmWgmmaSpec& spec) {
    const WgmmaTile& t = spec.tile;
    const auto fail = [&t](const std::string& problem, const std::string& remedy) {
        throw Error(problem, {.key = "gemm_wgmma tile " + std::to_string(t.m) + "x" + std::to_string(t.n)},
                    remedy);
    };
    const bool half = spec.type == ElementType::f16 || spec.type == ElementType::bf16;
    const bool integers = spec.type == ElementType::i8;
    const bool eight = spec.type == ElementType::e4m3 || spec.type == ElementType::e5m2;
    if (spec.type_b && (!eight || (*spec.type_b != ElementType::e4m3 && *spec.type_b != ElementType::e5m2)))
        fail("gemm_wgmma multiplies two types only where both are 8-bit floats", "convert one operand");
    if (!half && !integers && !eight && spec.type != ElementType::f32) {
        fail("gemm_wgmma multiplies f16, bf16, e4m3, e5m2, f32 (as tf32) or i8, not " + name_of(spec.type),
             "use another generator");
    }
    if (!half && (spec.transpose_a || !spec.transpose_b))
        fail("wgmma reads " + name_of(spec.type) + " only where k is contiguous", "transpose the operand");
    if (integers && (spec.epilogue.output != ElementType::i32 || spec.epilogue.expression ||
                     spec.partition.split_k || !spec.tensor_store)) {
        fail("products of i8 are stored as i32, as they are", "");
    }
    if (integers && t.columns() > 32 && t.columns() % 16 != 0)
        fail("wgmma of i8 has columns in steps of 16", "");
    if (multiplies_in_tensor_memory(spec)) {
        if (t.m != 128 || t.swap || t.consumers != 1 || t.schedule != WgmmaSchedule::cooperative || t.ctas_per_sm != 1)
            fail("a tile of tcgen05 has 128 rows and one warpgroup that stores it", "");
        if (t.n % 16 != 0 || t.n < 16 || t.n > 256) fail("the columns of the tile must be a multiple of 16 from 16 to 256", "");
        if (t.cluster_n != 1 || t.cluster_m > 2) fail("a cluster of tcgen05 is one CTA or a pair along m", "");
        if (t.cluster_m == 2 && (t.n % 32 != 0 || !spec.transpose_b)) fail("a pair divides B by columns, in steps of 16, where k is contiguous", "use single thread blocks");
        if (t.stages < 2 || t.stages > kMostStages) fail("a ring of 2 to " + std::to_string(kMostStages) + " stages is needed", "");
        if (spec.stream_k) fail("stream-K is not built with tcgen05", "use split-K");
        return;
    }
    if (t.consumers < 1 || t.consumers > 3) fail("1 to 3 warpgroups can multiply", "");
    const bool ping_pong = t.schedule == WgmmaSchedule::ping_pong;
    if (ping_pong && t.consumers != 2) fail("ping-pong takes two consumers", "");
    const unsigned unit = 64 * (ping_pong ? 1 : t.consumers);
    if (t.rows() == 0 || t.rows() % unit != 0 || t.rows() > 256) {
        fail("the rows of the tile must be a multiple of " + std::to_string(unit) + ", at most 256", "");
    }
    if (t.columns() % 8 != 0 || t.columns() < 8 || t.columns() > 256) {
        fail("the columns of the tile must be a multiple of 8 from 8 to 256", "");
    }
    if (!wgmma_sums_fit(t)) {
        fail(std::to_string(accumulators_of(t)) + " accumulators do not fit in " +
                 std::to_string(wgmma_register_shares(t).consumer) + " registers of a thread",
             "use a smaller tile");
    }
    if (t.stages < 2 || t.stages > kMostStages)
        fail("a ring of 2 to " + std::to_string(kMostStages) + " stages is needed", "");
    if (!std::has_single_bit(t.cluster_m) || !std::has_single_bit(t.cluster_n) || t.cluster_size() > 8) {
        fail("a cluster has 1, 2, 4 or 8 thread blocks", "");
    }
    if (t.m / t.cluster_n % 8 != 0 || t.n / t.cluster_m % 8 != 0) {
        fail("each thread block of a cluster must copy whole groups of 8 lines", "use a smaller cluster");
    }
    if (spec.stream_k && (!spec.partition.split_k || spec.partition.batched || ping_pong ||
                          t.cluster_size() > 1 || spec.raster_log2 != 0)) {
        fail("stream-K stores slices, of one product, by CTAs on their own whose consumers share tiles",
             "use split-K");
    }
    const bool words = spec.partition.split_k || bytes_of(spec.epilogue.output) == 4;
    const unsigned unit_of_store = words ? 8 : 16;
    if (spec.tensor_store && !t.swap && t.columns() % unit_of_store != 0) {
        fail("the result of such a narrow tile cannot be staged", "swap rows and columns");
    }
    if (!spec.tensor_store && t.swap) fail("direct stores go by rows", "do not swap rows and columns");
}

std::string name_for(const GemmWgmmaSpec& spec) {
    const WgmmaTile& t = spec.tile;
    std::string name =
        std::string(multiplies_in_tensor_memory(spec) ? "gemm_tcgen05_" : "gemm_wgmma_") + name_of(spec.type) + (spec.type_b ? "_" + name_of(*spec.type_b) : "") + "_" +
        name_of(spec.epilogue.output) + "_" + std::to_string(t.m) + "x" + std::to_string(t.n) + "x" +
        std::to_string(wgmma_tile_k(spec.type)) + "_stages" + std::to_string(t.stages) + "_" +
        std::to_string(t.cluster_m) + "x" + std::to_string(t.cluster_n) + "_" +
        (t.schedule == WgmmaSchedule::ping_pong ? "pingpong" : "coop") + std::to_string(t.consumers);
    if (t.swap) name += "_swap";
    if (t.ctas_per_sm != 1) name += "_ctas" + std::to_string(t.ctas_per_sm);
    name += "_" + layout_name(spec.transpose_a, spec.transpose_b);
    if (spec.partition.batched) name += "_batched";
    if (spec.partition.split_k) name += spec.stream_k ? "_streamk" : "_splitk";
    if (!spec.tensor_store) name += "_direct";
    return name + "_raster" + std::to_string(spec.raster_log2) + epilogue_name(spec.epilogue);
}

}  // namespace

WgmmaRegisterShares wgmma_register_shares(const WgmmaTile& tile) {
    WgmmaRegisterShares shares;
    shares.start = std::min(248u, kRegisterFile / tile.ctas_per_sm / tile.threads() / 8 * 8);
    shares.producer = tile.consumers == 2 && tile.ctas_per_sm == 1 ? 40 : 24;
    shares.consumer =
        std::min(240u, (shares.start * (tile.consumers + 1) - shares.producer) / tile.consumers / 8 * 8);
    if (tile.consumers == 1) shares.consumer = shares.start;
    return shares;
}

GemmWgmmaWriter::GemmWgmmaWriter(const GemmWgmmaSpec& spec)
    : spec_(spec),
      tile_(spec.tile),
      layout_(spec),
      tensor_(multiplies_in_tensor_memory(spec)),
      staged_(stores_by_tensor_map(spec)),
      batched_(spec.partition.batched),
      split_(spec.partition.split_k),
      stream_(spec.stream_k),
      tile_k_(wgmma_tile_k(spec.type)),
      w_(name_for(spec), spec.compute_capability,
         target::first_with(multiplies_in_tensor_memory(spec) ? &target::Generation::has_tcgen05 : &target::Generation::has_wgmma),
         multiplies_in_tensor_memory(spec) ? "tcgen05" : "wgmma") {}

GeneratedKernel GemmWgmmaWriter::write() {
    if (tensor_) return write_tensor_memory();
    w_.use_architecture_specific();
    const unsigned size = tile_.cluster_size();
    w_.set_cluster({size, 1, 1});
    const WgmmaRegisterShares shares = wgmma_register_shares(tile_);
    w_.limit_registers(shares.start);
    parameters();
    positions();
    set_up_barriers();
    const std::string producer = w_.new_label("producer"), end = w_.new_label("end");
    w_.jump_if(w_.make_predicate("setp.eq.u32", warpgroup_, tile_.consumers), producer);
    if (shares.moved()) w_.op("setmaxnreg.inc.sync.aligned.u32", shares.consumer);
    consume();
    w_.jump(end);
    w_.place(producer);
    if (shares.moved()) w_.op("setmaxnreg.dec.sync.aligned.u32", shares.producer);
    produce(end);
    w_.place(end);
    if (size > 1) cluster_barrier();  // nobody leaves while others may still signal its barriers
    return w_.finish({tile_.threads(), 1, 1});
}

bool wgmma_sums_fit(const WgmmaTile& tile) {
    constexpr unsigned kBeside = 24;  // addresses, counters
    return accumulators_of(tile) + kBeside <= wgmma_register_shares(tile).consumer;
}

GeneratedKernel generate_gemm_wgmma(const GemmWgmmaSpec& spec) {
    check(spec);
    return GemmWgmmaWriter(spec).write();
}

}  // namespace heddle::kernels
