// Convolutions by wgmma: cp.async gathers windows into tiles that wgmma reads as TMA would have left them, as
// CUTLASS's sm90_mma_multistage_gmma_ss has it for operands that no tensor map describes.
//
// Tiles lie in lines of 128 bytes with the swizzle of 128: where k follows in memory, a line for each row;
// else blocks of 64 rows with a line for each k. Each warpgroup multiplies 64 rows by all columns of the
// tile.
#include "workloads/kernels/convolution_writer.h"

namespace heddle::kernels {
namespace {

constexpr unsigned kLine = 128, kAtom = 8 * kLine;  // bytes
constexpr unsigned kDepth = 16;                     // of one wgmma, in elements

}  // namespace

void ConvolutionWriter::set_up_wgmma(const ConvolutionLoader& a) {
    lane_ = w_.make_b32("and.b32", tid_, 31);
    warp_row_ = w_.multiply_by(w_.make_b32("shr.u32", tid_, 5), 16);
    warp_column_ = w_.constant_b32(0);
    sums_ = make_accumulators(w_, 1, spec_.tile_n / 8, true);
    // 1,024 bytes from 8 lines to the next; from 64 rows to the next where rows follow one another.
    descriptor_high_ = w_.constant_b32(1u << 30 | kAtom / 16);
    const auto low = [&](const Reg& first, bool along_k) {
        const std::uint32_t leading = along_k ? 1 : tile_k_ * kLine / 16;
        return w_.make_b32("add.u32", w_.make_b32("shr.u32", first, 4), leading << 16);
    };
    // The same for all lanes of a warp: descriptors are uniform.
    const Reg warpgroup = w_.make_b32("shr.u32", w_.make_b32("and.b32", tid_, 0xffffff80u), 7);
    const Reg rows = threads_ > 128 ? w_.make_b32("mad.lo.u32", warpgroup,
                                                  a_along_k_ ? 64 * kLine : tile_k_ * kLine, shared_)
                                    : shared_;
    a_descriptor_ = low(rows, a_along_k_);
    b_descriptor_ = low(w_.make_b32("add.u32", shared_, spec_.stages * a.stage_bytes()), b_along_k_);
}

void ConvolutionWriter::multiply_wgmma(const ConvolutionLoader& a, const ConvolutionLoader& b,
                                       unsigned stage) {
    const std::string type = name_of(spec_.type);
    const std::string opcode =
        "wgmma.mma_async.sync.aligned.m64n" + std::to_string(spec_.tile_n) + "k16.f32." + type + "." + type;
    std::vector<Reg> sums;
    for (const std::vector<Reg>& four : sums_[0]) sums.insert(sums.end(), four.begin(), four.end());
    const auto descriptor = [&](const Reg& low, std::uint32_t offset) {
        const Reg word = offset == 0 ? low : w_.make_b32("add.u32", low, offset / 16);
        return w_.make_b64("mov.b64", "{" + word + ", " + descriptor_high_ + "}");
    };
    const auto step_bytes = [](bool along_k) { return along_k ? kDepth * 2 : kDepth * kLine; };
    w_.op("wgmma.fence.sync.aligned");
    for (unsigned step = 0; step < tile_k_ / kDepth; ++step) {
        w_.op(opcode, vector_of(sums),
              descriptor(a_descriptor_, stage * a.stage_bytes() + step * step_bytes(a_along_k_)),
              descriptor(b_descriptor_, stage * b.stage_bytes() + step * step_bytes(b_along_k_)), 1, 1, 1,
              a_along_k_ ? 0 : 1, b_along_k_ ? 0 : 1);
    }
    w_.op("wgmma.commit_group.sync.aligned");
}

void ConvolutionWriter::wgmma_ring_loop(ConvolutionLoader& a, ConvolutionLoader& b) {
    ring(a, b, [&](unsigned stage, const auto& copy_next, const auto& leave_if_last) {
        // This tile is there, and the product before has read its stage, of every warp: the barrier says so.
        w_.op("fence.proxy.async.shared::cta");  // wgmma reads by way of the asynchronous proxy
        w_.op("wgmma.wait_group.sync.aligned", 0);
        w_.cta_barrier();
        multiply_wgmma(a, b, stage);
        leave_if_last();
        copy_next();
    });
    w_.op("wgmma.wait_group.sync.aligned", 0);
}

}  // namespace heddle::kernels
