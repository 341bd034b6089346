#include "workloads/lowering/tpu/rows_by_index.h"

#include <algorithm>

#include "workloads/lowering/tpu/map.h"
#include "workloads/lowering/tpu/tile_transfer.h"

namespace heddle::lowering::on_tpu {
namespace {

using tpu::ElementType;
using tpu::VectorOp;

/// Rows looked up at a time.
constexpr std::uint64_t kMostRows = 1024;
constexpr std::uint64_t kRowsByIndexMostElements = 128 * 1024;

/// A tensor seen as [outer, table rows, inner elements], and which rows of it an op looks up.
struct Lookup {
    std::uint64_t outer = 1, table = 1, inner = 1;
    std::uint64_t count = 0;             ///< rows looked up per outer index
    bool along = false;                  ///< indices differ from outer index to outer index (inner is 1)
    std::vector<HbmView> indices;        ///< coordinates, most significant first
    std::vector<std::uint64_t> extents;  ///< of the axes that they replace
};

Lookup lookup_of(const ProgramBuilder& program, std::size_t index_tensors) {
    Lookup lookup;
    const std::vector<std::int64_t>& shape = program.input(0).shape;
    const auto axis = static_cast<std::size_t>(program.op().get(keys::gather.axis));
    for (std::size_t i = 0; i < shape.size(); ++i) {
        const auto extent = static_cast<std::uint64_t>(shape[i]);
        (i < axis ? lookup.outer : i < axis + index_tensors ? lookup.table : lookup.inner) *= extent;
    }
    for (std::size_t i = 0; i < index_tensors; ++i) {
        lookup.indices.push_back(program.dense_input(1 + i));
        if (lookup.indices.back().type != ElementType::int32)
            throw Unsupported{"indices are not 32-bit integers"};
        lookup.extents.push_back(static_cast<std::uint64_t>(shape[axis + i]));
    }
    lookup.count = static_cast<std::uint64_t>(program.input(1).elements());
    lookup.along = program.op().get(keys::gather.along) != 0;
    if (lookup.along) {
        if (lookup.inner != 1) throw Unsupported{"indices along an axis that is not the last"};
        lookup.count /= std::max<std::uint64_t>(lookup.outer, 1);
    }
    if (lookup.outer * lookup.table > INT32_MAX) throw Unsupported{"a table of more than 2^31 rows"};
    return lookup;
}

/// Rows of one transfer: positions [first, first + rows) of the looked-up tensor seen as [outer * count,
/// inner], all with one outer index unless the indices say it themselves.
struct Part {
    std::uint64_t outer = 0, first = 0, rows = 0;
};

class RowsByIndex {
  public:
    RowsByIndex(ProgramBuilder& program, Lookup lookup) : program_(program), lookup_(std::move(lookup)) {
        KernelBuilder builder;
        std::vector<ElementType> types(lookup_.indices.size(), ElementType::int32);
        auto row = builder.raw_input();
        for (std::size_t i = 1; i < lookup_.indices.size(); ++i) {
            const auto extent = builder.integer(static_cast<std::int32_t>(lookup_.extents[i]));
            row = builder.apply(VectorOp::integer_add, builder.apply(VectorOp::integer_multiply, row, extent),
                                builder.raw_input());
        }
        if (lookup_.along) {
            const auto extent = builder.integer(static_cast<std::int32_t>(lookup_.table));
            row = builder.apply(VectorOp::integer_add,
                                builder.apply(VectorOp::integer_multiply, builder.row_index(), extent), row);
        }
        builder.raw_output(row);
        plain_ = lookup_.indices.size() == 1 && !lookup_.along;
        if (!plain_) combine_ = program_.kernel(builder.finish(), types);
    }

    /// Bytes of a piece of a row that starts at inner element `from`, `width` elements wide.
    struct Columns {
        std::uint64_t from = 0, width = 0;
    };

    /// y[..] = x[index[..]], converted to y's type.
    void gather(const HbmView& x, const HbmView& y) {
        const std::vector<Part> parts = cut();
        for (unsigned index = 0; index < program_.cores(); ++index) {
            CoreBuilder& core = program_.core(index);
            core.start_over();
            const Range range = part_of(parts.size(), program_.cores(), index);
            if (range.size() == 0) continue;
            Room room(core, *this, x.type, y.type);
            const std::shared_ptr<const tpu::VectorKernel> convert = conversion(x, y);
            std::vector<Tile> indices(range.size()), rows(range.size());
            pipeline(
                range.size(), 1,
                [&](std::size_t step) {
                    const Part& part = parts[range.begin + step];
                    indices[step] = load_indices(core, room, part);
                    rows[step] = room.rows.next(lookup_.inner);
                    tpu::Dma dma = transfer(tpu::DmaKind::gather, x, part, {0, lookup_.inner}, rows[step],
                                            indices[step]);
                    core.emit(dma, {{indices[step].region, AccessKind::read},
                                    {rows[step].region, AccessKind::write}});
                },
                [&](std::size_t step) {
                    const Part& part = parts[range.begin + step];
                    Tile result = rows[step];
                    if (convert != nullptr) {
                        result = room.results.next(lookup_.inner);
                        core.vector(convert, part.rows, lookup_.inner, {rows[step]}, {result});
                    }
                    store(core, result, position(y, part, {0, lookup_.inner}));
                });
        }
    }

    /// y[index[..]] = updates[..] or += (then y is fp32). Rows are written in order, so the last of several
    /// wins; the cores share out the columns, for the same reason.
    void scatter(const HbmView& updates, const HbmView& y, bool accumulate) {
        const std::vector<Part> parts = cut();
        const std::uint64_t pieces = std::min<std::uint64_t>(program_.cores(), divide_up(lookup_.inner, 128));
        for (unsigned index = 0; index < pieces; ++index) {
            CoreBuilder& core = program_.core(index);
            core.start_over();
            const Range blocks = part_of(divide_up(lookup_.inner, 128), pieces, index);
            const Columns columns{blocks.begin * 128,
                                  std::min(blocks.end * 128, lookup_.inner) - blocks.begin * 128};
            Room room(core, *this, updates.type, y.type);
            const std::shared_ptr<const tpu::VectorKernel> convert = conversion(updates, y);
            std::vector<Tile> indices(parts.size()), rows(parts.size());
            pipeline(
                parts.size(), 1,
                [&](std::size_t step) {
                    indices[step] = load_indices(core, room, parts[step]);
                    rows[step] = room.rows.load(core, position(updates, parts[step], columns));
                },
                [&](std::size_t step) {
                    const Part& part = parts[step];
                    Tile result = rows[step];
                    if (convert != nullptr) {
                        result = room.results.next(columns.width);
                        core.vector(convert, part.rows, columns.width, {rows[step]}, {result});
                    }
                    const auto kind = accumulate ? tpu::DmaKind::scatter_add : tpu::DmaKind::scatter;
                    const tpu::Dma dma = transfer(kind, y, part, columns, result, indices[step]);
                    core.emit(dma,
                              {{indices[step].region, AccessKind::read}, {result.region, AccessKind::read}});
                });
        }
    }

  private:
    struct Room {
        Room(CoreBuilder& core, const RowsByIndex& owner, ElementType from, ElementType to)
            : rows(core, from, owner.step() * owner.lookup_.inner, 2),
              results(core, to, owner.step() * owner.lookup_.inner, 2) {
            for (std::size_t i = 0; i < owner.lookup_.indices.size(); ++i) {
                coordinates.emplace_back(core, ElementType::int32, owner.step(), 3);
            }
            combined.emplace_back(core, ElementType::int32, owner.step(), 3);
        }
        TileRing rows, results;
        std::vector<TileRing> coordinates, combined;
    };

    std::uint64_t step() const {
        // Rows as they are and as converted, two places each; indices and their combination, three each.
        const std::uint64_t inner = std::max<std::uint64_t>(1, lookup_.inner);
        const std::uint64_t per_row = inner * 4 * 4 + 3 * 4 * (lookup_.indices.size() + 1);
        const std::uint64_t room = program_.target().vmem_bytes * 3 / 4 / per_row;
        if (room == 0) throw Unsupported{"a row does not fit on-chip memory"};
        std::uint64_t rows = std::min({kMostRows, std::max<std::uint64_t>(1, kRowsByIndexMostElements / inner), room});
        if (lookup_.along) rows = std::max(rows, lookup_.count);
        return rows;
    }

    std::vector<Part> cut() const {
        std::vector<Part> parts;
        if (lookup_.along) {
            // Whole outer indices at a time: the row number of a tile is then the outer index.
            const std::uint64_t outers =
                std::max<std::uint64_t>(1, step() / std::max<std::uint64_t>(1, lookup_.count));
            for (std::uint64_t outer = 0; outer < lookup_.outer; outer += outers) {
                parts.push_back(
                    {outer, outer * lookup_.count, std::min(outers, lookup_.outer - outer) * lookup_.count});
            }
            return parts;
        }
        for (std::uint64_t outer = 0; outer < lookup_.outer; ++outer) {
            for (std::uint64_t first = 0; first < lookup_.count; first += step()) {
                parts.push_back(
                    {outer, outer * lookup_.count + first, std::min(step(), lookup_.count - first)});
            }
        }
        return parts;
    }

    Tile load_indices(CoreBuilder& core, Room& room, const Part& part) {
        std::vector<Tile> tiles;
        const std::uint64_t first = lookup_.along ? part.first : part.first - part.outer * lookup_.count;
        for (std::size_t i = 0; i < lookup_.indices.size(); ++i) {
            tiles.push_back(
                room.coordinates[i].load(core, {lookup_.indices[i].address + first * 4, 1, part.rows, 0, 1}));
            tiles.back().row_stride = part.rows * 4;
        }
        if (plain_) return tiles[0];
        const std::uint64_t rows = lookup_.along ? part.rows / lookup_.count : 1, columns = part.rows / rows;
        Tile combined = room.combined[0].next(columns);
        for (Tile& tile : tiles) tile.row_stride = columns * 4;
        core.vector(combine_, rows, columns, tiles, {combined}, {}, static_cast<std::int64_t>(part.outer));
        return combined;
    }

    tpu::Dma transfer(tpu::DmaKind kind, const HbmView& table, const Part& part, Columns columns,
                      const Tile& rows, const Tile& indices) const {
        const std::uint64_t size = bytes_of(table.type);
        const std::uint64_t base = lookup_.along ? 0 : part.outer * lookup_.table * lookup_.inner;
        tpu::Dma dma;
        dma.kind = kind;
        dma.vmem = static_cast<std::int64_t>(rows.address);
        dma.hbm = static_cast<std::int64_t>(table.address + (base + columns.from) * size);
        dma.rows = static_cast<std::uint32_t>(part.rows);
        dma.row_bytes = static_cast<std::uint32_t>(columns.width * size);
        dma.vmem_stride = columns.width * size;
        dma.hbm_stride = lookup_.inner * size;
        dma.indices = static_cast<std::int64_t>(indices.address);
        dma.table_rows =
            static_cast<std::uint32_t>(lookup_.along ? lookup_.outer * lookup_.table : lookup_.table);
        return dma;
    }

    TileSource position(const HbmView& view, const Part& part, Columns columns) const {
        return {view.address + (part.first * lookup_.inner + columns.from) * bytes_of(view.type), part.rows,
                columns.width, static_cast<std::int64_t>(lookup_.inner), 1};
    }

    /// nullptr when the types are the same.
    std::shared_ptr<const tpu::VectorKernel> conversion(const HbmView& from, const HbmView& to) {
        if (from.type == to.type) return nullptr;
        KernelBuilder builder;
        builder.output(builder.input(from.type), to.type, to.boolean);
        return program_.kernel(builder.finish(), {from.type});
    }

    ProgramBuilder& program_;
    Lookup lookup_;
    bool plain_ = true;
    std::shared_ptr<const tpu::VectorKernel> combine_;
};

/// Adds updates to rows of `to`, which holds what they are added to. Types other than fp32 are summed in a
/// workspace.
void scatter_add(ProgramBuilder& program, RowsByIndex& rows, const HbmView& updates, const HbmView& to) {
    if (to.type == ElementType::fp32) return rows.scatter(updates, to, true);
    const HbmView sums = program.workspace(to.shape);
    copy_view(program, to, sums);
    program.meet();
    rows.scatter(updates, sums, true);
    program.meet();
    copy_view(program, sums, to);
}

}  // namespace

void lower_embedding(ProgramBuilder& program) {
    RowsByIndex(program, lookup_of(program, 1)).gather(program.dense_input(0), program.dense_output(0));
}

void lower_embedding_grad(ProgramBuilder& program) {
    // The table is an output here: inputs are d out and the indices.
    const std::vector<std::int64_t>& shape = program.output(0).shape;
    Lookup lookup;
    lookup.table = static_cast<std::uint64_t>(shape[0]);
    lookup.inner = static_cast<std::uint64_t>(shape[1]);
    lookup.indices = {program.dense_input(1)};
    if (lookup.indices[0].type != ElementType::int32) throw Unsupported{"indices are not 32-bit integers"};
    lookup.extents = {lookup.table};
    lookup.count = static_cast<std::uint64_t>(program.input(1).elements());
    const HbmView table = program.dense_output(0);
    fill_view(program, table, 0);
    program.meet();
    RowsByIndex rows(program, lookup);
    scatter_add(program, rows, program.dense_input(0), table);
}

void lower_gather(ProgramBuilder& program) {
    RowsByIndex(program, lookup_of(program, program.op().inputs.size() - 1))
        .gather(program.dense_input(0), program.dense_output(0));
}

void lower_scatter(ProgramBuilder& program) {
    const std::size_t last = program.op().inputs.size() - 1;
    const HbmView x = program.dense_input(0), y = program.dense_output(0);
    if (x.address != y.address) {
        copy_view(program, x, y);
        program.meet();
    } else if (x.type != y.type) {
        throw Unsupported{"it changes the type in place"};
    }
    RowsByIndex rows(program, lookup_of(program, last - 1));
    if (program.op().get(keys::scatter.accumulate) != 0) {
        scatter_add(program, rows, program.dense_input(last), y);
    } else {
        rows.scatter(program.dense_input(last), y, false);
    }
}

}  // namespace heddle::lowering::on_tpu
