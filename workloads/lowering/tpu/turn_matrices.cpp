#include "workloads/lowering/tpu/turn_matrices.h"

#include <algorithm>
#include <optional>

#include "workloads/lowering/tpu/collapse.h"

namespace heddle::lowering::on_tpu {
namespace {

/// Larger transfers only delay the first result; smaller ones do not hide the latency of HBM (as in map.cpp).
constexpr std::uint64_t kTurnMatricesMostElements = 128 * 1024, kLeastElements = 8 * 1024, kGoodElements = 64 * 1024;

}  // namespace

bool turn_matrices(ProgramBuilder& program, const HbmView& from, const HbmView& to,
                   const std::shared_ptr<const tpu::VectorKernel>& kernel) {
    const Axes axes = collapse(to.shape, {from.strides, to.strides});
    if (axes.shape.size() != 3) return false;
    const std::int64_t rows = axes.shape[1], columns = axes.shape[2], matrix = rows * columns;
    const std::vector<std::int64_t> turned{matrix, 1, rows}, dense{matrix, columns, 1};
    if (axes.strides[0] != turned || axes.strides[1] != dense) return false;
    const auto count = static_cast<std::uint64_t>(axes.shape[0]);
    const auto elements = static_cast<std::uint64_t>(matrix);
    const std::uint64_t from_size = bytes_of(from.type), size = bytes_of(to.type);
    if (elements >= kGoodElements) return false;
    // Two places for what comes, for what it becomes, and for what leaves; several transfers for each core.
    const std::uint64_t room = program.target().vmem_bytes * 9 / 10 / (2 * from_size + 4 * size);
    const std::uint64_t share = divide_up(count * elements, 4ull * program.cores());
    const std::uint64_t limit = std::min({kTurnMatricesMostElements, room, std::max(share, kLeastElements)});
    if (limit < 2 * elements) return false;
    // Whole words of memory, so that transfers beside one another share none.
    const std::uint64_t whole =
        elements * std::min(size, from_size) % 4 == 0 ? 1 : 4 / std::min(size, from_size);
    const std::uint64_t group = limit / elements / whole * whole;
    if (group == 0) return false;

    const std::uint64_t groups = divide_up(count, group);
    for (unsigned which = 0; which < program.cores(); ++which) {
        CoreBuilder& core = program.core(which);
        core.start_over();
        const Range range = part_of(groups, program.cores(), which);
        if (range.size() == 0) continue;
        TileRing sources(core, from.type, group * elements, 2), results(core, to.type, group * elements, 2);
        std::optional<TileRing> converted;
        if (kernel != nullptr) converted.emplace(core, to.type, group * elements, 2);
        std::vector<Tile> loaded(range.size());
        const auto first = [&](std::size_t step) { return (range.begin + step) * group; };
        const auto some = [&](std::size_t step) { return std::min(group, count - first(step)); };
        const auto place = [&](const HbmView& view, std::size_t step) {
            return TileSource{view.address + first(step) * elements * bytes_of(view.type), 1,
                              some(step) * elements, 0, 1};
        };
        pipeline(
            range.size(), 1, [&](std::size_t step) { loaded[step] = sources.load(core, place(from, step)); },
            [&](std::size_t step) {
                const std::uint64_t all = some(step) * elements;
                Tile given = loaded[step];
                if (kernel != nullptr) {
                    given = converted->next(all);
                    core.vector(kernel, 1, all, {loaded[step]}, {given});
                }
                const Tile result = results.next(all);
                for (std::uint64_t i = 0; i < some(step); ++i) {
                    Tile source = given, turned_one = result;
                    source.address += i * elements * size;
                    source.row_stride = static_cast<std::uint64_t>(rows) * size;
                    turned_one.address += i * elements * size;
                    turned_one.row_stride = static_cast<std::uint64_t>(columns) * size;
                    core.transpose(source, turned_one, static_cast<std::uint64_t>(columns),
                                   static_cast<std::uint64_t>(rows), true);
                }
                store(core, result, place(to, step));
            });
    }
    return true;
}

}  // namespace heddle::lowering::on_tpu
