#include <algorithm>

#include "isa/common/error.h"
#include "isa/target/generation.h"
#include "workloads/kernels/gemm_wgmma_parts.h"

namespace heddle::kernels {
namespace {

constexpr unsigned kLine = 128;  // bytes of k, or of rows where these are contiguous, in one line

unsigned operand_bytes(unsigned extent, bool along_k, ElementType type) {
    const unsigned tile_k = wgmma_tile_k(type);
    return along_k ? extent * kLine : divide_up(extent, kLine / bytes_of(type)) * tile_k * kLine;
}

}  // namespace

bool multiplies_in_tensor_memory(const GemmWgmmaSpec& spec) {
    return target::nearest_generation(spec.compute_capability).has_tcgen05;
}

bool stores_by_tensor_map(const GemmWgmmaSpec& spec) {
    return spec.tensor_store && !(multiplies_in_tensor_memory(spec) && spec.epilogue.expression && !spec.partition.split_k);
}

unsigned wgmma_tile_k(ElementType type) {
    return kLine / bytes_of(type);
}

WgmmaLayout::WgmmaLayout(const GemmWgmmaSpec& spec) {
    const WgmmaTile& tile = spec.tile;
    row_operand_along_k = tile.swap ? spec.transpose_b : !spec.transpose_a;
    column_operand_along_k = tile.swap ? !spec.transpose_a : spec.transpose_b;
    const bool tensor = multiplies_in_tensor_memory(spec);
    fragments = tile.rows() / 64 / (tile.schedule == WgmmaSchedule::cooperative ? tile.consumers : 1);
    row_bytes = operand_bytes(tile.rows(), row_operand_along_k, spec.type);
    // Each CTA of a pair keeps its half.
    column_bytes = operand_bytes(tile.columns() / (tensor ? tile.cluster_m : 1), column_operand_along_k, spec.type);
    row_operand = 0;
    column_operand = row_operand + tile.stages * row_bytes;
    staging = column_operand + tile.stages * column_bytes;
    full = staging + (stores_by_tensor_map(spec) ? tile.consumers * staging_buffers(tile) * kStagingBytes : 0);
    empty = full + tile.stages * 8;
    end = empty + tile.stages * 8;
    if (!tensor) return;
    sums_full = end;
    sums_empty = sums_full + 2 * 8;
    tensor_address = sums_empty + 2 * 8;
    end = tensor_address + 8;
}

std::uint32_t gemm_wgmma_shared_bytes(const GemmWgmmaSpec& spec) {
    // Dynamic shared memory may begin anywhere; the swizzle is a matter of the address.
    return WgmmaLayout(spec).end + kSwizzleAtom;
}

unsigned wgmma_stages(const GemmWgmmaSpec& spec, const target::GpuTarget& target) {
    const std::uint64_t room = std::min<std::uint64_t>(
        target.shared_bytes_per_cta, target.shared_bytes_per_sm / spec.tile.ctas_per_sm - 1024);
    GemmWgmmaSpec probe = spec;
    probe.tile.stages = kMostStages;
    while (probe.tile.stages > 0 && gemm_wgmma_shared_bytes(probe) > room) --probe.tile.stages;
    return probe.tile.stages;
}

WgmmaStore::WgmmaStore(const GemmWgmmaSpec& spec)
    : type(spec.partition.split_k ? ElementType::f32 : spec.epilogue.output), swap(spec.tile.swap) {
    const unsigned size = bytes_of(type), columns = spec.tile.columns();
    boxes = 1;
    if (swap) {
        line_bytes = kLine;
        inner = kLine / size;
        boxes = 64 / inner;
        outer = chunk = std::min(columns, 64 / boxes);
        tail = columns % chunk;
        return;
    }
    line_bytes = kLine;
    while (columns % (line_bytes / size) != 0) line_bytes /= 2;
    inner = chunk = line_bytes / size;
    outer = multiplies_in_tensor_memory(spec) ? 32 : 64;
    tail = 0;
}

}  // namespace heddle::kernels
