// Matrix products: panels of B packed so that a panel's columns are contiguous, and a tile of C in registers that goes down the panel.
#include <algorithm>

#include "workloads/lowering/cpu/builder.h"

namespace heddle::lowering::on_cpu {
namespace {

/// Rows and vectors of the tile of C that registers hold, beside a row of B and one element of A.
struct RegisterTile {
    std::int64_t rows = 6, vectors = 4;
};

RegisterTile register_tile(const Builder& b) {
    return b.target().registers >= 32 ? RegisterTile{6, 4} : RegisterTile{6, 2};
}

/// The micro kernel: C tile = A rows times B vectors over `depth`; `finish(row, vector, sum)` takes each sum.
void micro_kernel(Builder& b, std::int64_t rows, std::int64_t vectors, std::int64_t depth, const Affine* depth_limit,
                  const std::function<Value(std::int64_t row, const Affine& k)>& load_a, const std::function<Value(std::int64_t vector, const Affine& k)>& load_b,
                  Opcode opcode, const std::function<void(std::int64_t row, std::int64_t vector, const Value&)>& finish) {
    std::vector<Value> sums;
    for (std::int64_t i = 0; i < rows * vectors; ++i) sums.push_back(b.constant(0));
    const auto step = [&](const Affine& k) {
        std::vector<Value> row_of_b;
        for (std::int64_t v = 0; v < vectors; ++v) row_of_b.push_back(load_b(v, k));
        for (std::int64_t r = 0; r < rows; ++r) {
            const Value a = load_a(r, k);
            for (std::int64_t v = 0; v < vectors; ++v) {
                const Value& sum = sums[static_cast<std::size_t>(r * vectors + v)];
                b.apply_into(sum, opcode, a, row_of_b[static_cast<std::size_t>(v)], sum);
            }
        }
    };
    if (depth_limit != nullptr) {
        b.loop_limited(depth, *depth_limit, step);
    } else {
        b.loop(depth, step);
    }
    for (std::int64_t r = 0; r < rows; ++r) {
        for (std::int64_t v = 0; v < vectors; ++v) {
            finish(r, v, sums[static_cast<std::size_t>(r * vectors + v)]);
            sums[static_cast<std::size_t>(r * vectors + v)] = nullptr;
        }
    }
}

Mask columns_below(const Affine& column, std::int64_t limit) {
    Mask mask;
    mask.value = column;
    mask.lane_stride = 1;
    mask.limit = limit;
    return mask;
}

/// A product of an op: y[batch, m, n] = a[batch, m, k] b[batch, k, n] (+ addend).
struct Product {
    std::vector<std::int64_t> batch;
    std::int64_t m = 0, n = 0, k = 0;
    View a, b, y;  ///< of [batch..., rows, columns], not transposed
    bool adds = false;
    View addend;
};

View transposed(View view) {
    const std::size_t last = view.shape.size() - 1;
    std::swap(view.shape[last], view.shape[last - 1]);
    std::swap(view.strides[last], view.strides[last - 1]);
    return view;
}

/// Leading axes added and broadcast to those of the result.
View with_batch(const View& view, const std::vector<std::int64_t>& batch) {
    std::vector<std::int64_t> shape = batch;
    shape.push_back(view.shape[view.shape.size() - 2]);
    shape.push_back(view.shape.back());
    View wide = broadcast(view, shape);
    // Axes of one are no broadcast of rows and columns.
    wide.strides[shape.size() - 2] = view.strides[view.shape.size() - 2];
    wide.strides[shape.size() - 1] = view.strides.back();
    return wide;
}

void finish_product(Builder& b, const Product& p, const std::vector<Affine>& at, const Affine& row, const Affine& column, const Value& sum,
                    const std::vector<Mask>& masks) {
    std::vector<Affine> indices = at;
    indices.push_back(row);
    indices.push_back(column);
    Value value = sum;
    if (p.adds) value = b.apply(Opcode::op_add, sum, b.load(p.addend, p.addend.at(indices), p.addend.strides.back(), masks));
    b.store(p.y, p.y.at(indices), value, p.y.strides.back(), masks);
}

/// Few rows, B as it lies: lanes along the columns.
void product_of_few_rows(Builder& b, const Product& p) {
    const std::int64_t width = b.target().registers >= 32 ? 2 : 1, block = width * b.lanes(), blocks = (p.n + block - 1) / block;
    std::vector<std::int64_t> counts = p.batch;
    counts.push_back(blocks);
    b.parallel("product", counts, p.m * p.n * p.k / 8, [&](const std::vector<Affine>& counters) {
        const std::vector<Affine> at(counters.begin(), counters.end() - 1);
        const auto element = [&](const View& view, const Affine& row, const Affine& column) {
            std::vector<Affine> indices = at;
            indices.push_back(row);
            indices.push_back(column);
            return view.at(indices);
        };
        const Affine column = counters.back() * block;
        const auto masks = [&](std::int64_t v) {
            return p.n % block == 0 ? std::vector<Mask>{} : std::vector<Mask>{columns_below(column + Affine(v * b.lanes()), p.n)};
        };
        for (std::int64_t first = 0; first < p.m; first += 8)
            micro_kernel(
                b, std::min<std::int64_t>(8, p.m - first), width, p.k, nullptr,
                [&](std::int64_t r, const Affine& k) { return b.load(p.a, element(p.a, Affine(first + r), k), 0); },
                [&](std::int64_t v, const Affine& k) { return b.load(p.b, element(p.b, k, column + Affine(v * b.lanes())), p.b.strides.back(), masks(v)); },
                Opcode::op_fma, [&](std::int64_t r, std::int64_t v, const Value& sum) {
                    finish_product(b, p, at, Affine(first + r), column + Affine(v * b.lanes()), sum, masks(v));
                });
    });
}

/// Few rows, B with its depth contiguous: dot products along lanes.
void product_by_dots(Builder& b, const Product& p) {
    constexpr std::int64_t kColumns = 4;
    const std::int64_t blocks = (p.n + kColumns - 1) / kColumns;
    std::vector<std::int64_t> counts = p.batch;
    counts.push_back(blocks);
    b.parallel("product", counts, p.m * p.n * p.k / 8, [&](const std::vector<Affine>& counters) {
        const std::vector<Affine> at(counters.begin(), counters.end() - 1);
        const auto element = [&](const View& view, const Affine& row, const Affine& column) {
            std::vector<Affine> indices = at;
            indices.push_back(row);
            indices.push_back(column);
            return view.at(indices);
        };
        const auto columns = [&](std::int64_t count, const Affine& column) {
            for (std::int64_t row = 0; row < p.m; ++row) {
                std::vector<Value> sums;
                for (std::int64_t c = 0; c < count; ++c) sums.push_back(b.constant(0));
                b.vectors(p.k, [&](const Affine& k, const std::vector<Mask>& masks) {
                    const Value a = b.load(p.a, element(p.a, Affine(row), k), p.a.strides.back(), masks);
                    for (std::int64_t c = 0; c < count; ++c) {
                        const Value& sum = sums[static_cast<std::size_t>(c)];
                        b.apply_into(sum, Opcode::op_fma, a, b.load(p.b, element(p.b, k, column + Affine(c)), p.b.strides[p.b.strides.size() - 2], masks), sum);
                    }
                });
                Mask first;
                first.lane_stride = 1;
                first.limit = 1;
                for (std::int64_t c = 0; c < count; ++c)
                    finish_product(b, p, at, Affine(row), column + Affine(c), b.apply(Opcode::op_hsum, sums[static_cast<std::size_t>(c)]), {first});
            }
        };
        const std::int64_t whole = p.n / kColumns;
        const Affine block = counters.back();
        if (whole > 0) b.loop_limited(1, Affine(whole) + block * -1, [&](const Affine&) { columns(kColumns, block * kColumns); });
        if (p.n % kColumns != 0) b.loop_limited(1, block + Affine(2 - blocks), [&](const Affine&) { columns(p.n % kColumns, whole * kColumns); });
    });
}

/// One block of rows per iteration: `each` row tile in a loop, and the rows that are left over in the last block.
void for_row_tiles(Builder& b, std::int64_t rows, std::int64_t tile, std::int64_t tiles_in_block, const Affine& block,
                   const std::function<void(std::int64_t count, const Affine& first)>& body) {
    const std::int64_t whole = rows / tile, blocks = std::max<std::int64_t>(1, (whole + tiles_in_block - 1) / tiles_in_block);
    if (whole > 0)
        b.loop_limited(std::min(tiles_in_block, whole), Affine(whole) + block * -tiles_in_block,
                       [&](const Affine& i) { body(tile, (block * tiles_in_block + i) * tile); });
    if (rows % tile != 0) b.loop_limited(1, block + Affine(2 - blocks), [&](const Affine&) { body(rows % tile, Affine(whole * tile)); });
}

std::int64_t row_blocks(std::int64_t rows, std::int64_t tile, std::int64_t tiles_in_block) {
    return std::max<std::int64_t>(1, (rows / tile + tiles_in_block - 1) / tiles_in_block);
}

/// Pairs of bf16 along the depth, or single numbers.
void packed_product(Builder& b, const Product& p, bool pairs) {
    const RegisterTile tile = register_tile(b);
    // No more vectors than there are columns.
    const std::int64_t width = std::min(tile.vectors, (p.n + b.lanes() - 1) / b.lanes()), columns = width * b.lanes(), panels = (p.n + columns - 1) / columns;
    const std::int64_t steps = pairs ? (p.k + 1) / 2 : p.k, group = pairs ? 2 : 1;
    std::vector<std::int64_t> packed_shape = p.batch;
    for (const std::int64_t extent : {panels, steps, columns * group}) packed_shape.push_back(extent);
    const View packed = b.scratch(packed_shape, pairs ? ElementType::bf16 : ElementType::f32);
    const auto element = [&](const View& view, const std::vector<Affine>& at, const Affine& row, const Affine& column) {
        std::vector<Affine> indices = at;
        indices.push_back(row);
        indices.push_back(column);
        return view.at(indices);
    };
    const std::int64_t depth_stride = p.b.strides[p.b.strides.size() - 2], column_stride = p.b.strides.back();
    constexpr std::int64_t kDepthChunk = 32;
    const std::int64_t chunks = (steps + kDepthChunk - 1) / kDepthChunk;
    std::vector<std::int64_t> counts = p.batch;
    counts.push_back(panels);
    counts.push_back(chunks);
    b.parallel("pack", counts, p.k * p.n, [&](const std::vector<Affine>& counters) {
        const std::vector<Affine> at(counters.begin(), counters.end() - 2);
        const Affine panel = counters[counters.size() - 2], chunk = counters.back();
        b.loop_limited(std::min(kDepthChunk, steps), Affine(steps) + chunk * -kDepthChunk, [&](const Affine& i) {
            const Affine step = chunk * kDepthChunk + i;
            for (std::int64_t v = 0; v < width; ++v) {
                const Affine column = panel * columns + Affine(v * b.lanes());
                std::vector<Mask> masks;
                if (p.n % columns != 0) masks.push_back(columns_below(column, p.n));
                std::vector<Affine> to = at;
                for (const Affine& index : {panel, step, Affine(v * b.lanes() * group)}) to.push_back(index);
                if (!pairs) {
                    b.store(packed, packed.at(to), b.load(p.b, element(p.b, at, step, column), column_stride, masks));
                    continue;
                }
                std::vector<Mask> odd = masks;
                if (p.k % 2 != 0) {
                    Mask inside;
                    inside.value = step * 2 + Affine(1);
                    inside.limit = p.k;
                    odd.push_back(inside);
                }
                const Value low = b.load(p.b, element(p.b, at, step * 2, column), column_stride, masks);
                const Value high = b.load(p.b, element(p.b, at, step * 2 + Affine(1), column), column_stride, odd);
                b.store_raw(packed, packed.at(to), b.apply(Opcode::op_xor, b.shift_right(low, 16), high), 2);
            }
        });
    });
    static_cast<void>(depth_stride);
    // Pairs of A must lie together, and not end in the middle.
    View a = p.a;
    if (pairs && (p.a.strides.back() != 1 || p.k % 2 != 0)) {
        std::vector<std::int64_t> shape = p.batch;
        shape.push_back(p.m);
        shape.push_back(steps * 2);
        a = b.scratch(shape, ElementType::bf16);
        const View from = p.a;
        View to = a;
        to.shape.back() = p.k;
        map(b, "pack_a", to.shape, {from}, {to}, expression::parse("y0 = x0"));
    }
    constexpr std::int64_t kTilesInBlock = 4;
    counts = p.batch;
    counts.push_back(panels);
    counts.push_back(row_blocks(p.m, tile.rows, kTilesInBlock));
    b.parallel("product", counts, p.m * p.n * p.k / 8, [&](const std::vector<Affine>& counters) {
        const std::vector<Affine> at(counters.begin(), counters.end() - 2);
        const Affine panel = counters[counters.size() - 2];
        for_row_tiles(b, p.m, tile.rows, kTilesInBlock, counters.back(), [&](std::int64_t rows, const Affine& first) {
            micro_kernel(
                b, rows, width, steps, nullptr,
                [&](std::int64_t r, const Affine& k) {
                    const Affine from = element(a, at, first + Affine(r), k * group);
                    return pairs ? b.load_raw(a, from, 0) : b.load(a, from, 0);
                },
                [&](std::int64_t v, const Affine& k) {
                    std::vector<Affine> from = at;
                    for (const Affine& index : {panel, k, Affine(v * b.lanes() * group)}) from.push_back(index);
                    return pairs ? b.load_raw(packed, packed.at(from), 2) : b.load(packed, packed.at(from));
                },
                pairs ? Opcode::op_dot_bf16 : Opcode::op_fma, [&](std::int64_t r, std::int64_t v, const Value& sum) {
                    const Affine column = panel * columns + Affine(v * b.lanes());
                    std::vector<Mask> masks;
                    if (p.n % columns != 0) masks.push_back(columns_below(column, p.n));
                    finish_product(b, p, at, first + Affine(r), column, sum, masks);
                });
        });
    });
}

/// Tiles of 16 rows of 32 bf16, four of C at once.
void tiled_product(Builder& b, const Product& p) {
    const std::int64_t rows = (p.m + 31) / 32 * 32, columns = (p.n + 31) / 32 * 32, depth = (p.k + 31) / 32 * 32;
    std::vector<std::int64_t> shape = p.batch;
    for (const std::int64_t extent : {columns / 16, depth / 2, std::int64_t{32}}) shape.push_back(extent);
    const View packed = b.scratch(shape, ElementType::bf16);
    View a = p.a;
    const bool pack_a = rows != p.m || depth != p.k || p.a.strides.back() != 1;
    if (pack_a) {
        shape = p.batch;
        shape.push_back(rows);
        shape.push_back(depth);
        a = b.scratch(shape, ElementType::bf16);
    }
    const View sums = b.scratch({32, 32}, ElementType::f32, true);
    const auto element = [&](const View& view, const std::vector<Affine>& at, const Affine& row, const Affine& column) {
        std::vector<Affine> indices = at;
        indices.push_back(row);
        indices.push_back(column);
        return view.at(indices);
    };
    constexpr std::int64_t kDepthChunk = 32;
    std::vector<std::int64_t> counts = p.batch;
    counts.push_back(columns / 16);
    counts.push_back((depth / 2 + kDepthChunk - 1) / kDepthChunk);
    b.parallel("pack", counts, p.k * p.n, [&](const std::vector<Affine>& counters) {
        const std::vector<Affine> at(counters.begin(), counters.end() - 2);
        const Affine panel = counters[counters.size() - 2], chunk = counters.back();
        b.loop_limited(std::min(kDepthChunk, depth / 2), Affine(depth / 2) + chunk * -kDepthChunk, [&](const Affine& i) {
            const Affine pair = chunk * kDepthChunk + i;
            std::vector<Mask> low_masks, high_masks;
            if (columns != p.n) {
                low_masks.push_back(columns_below(panel * 16, p.n));
                high_masks = low_masks;
            }
            if (depth != p.k) {
                Mask inside;
                inside.value = pair * 2;
                inside.limit = p.k;
                low_masks.push_back(inside);
                inside.value = pair * 2 + Affine(1);
                high_masks.push_back(inside);
            }
            const Value low = b.load(p.b, element(p.b, at, pair * 2, panel * 16), p.b.strides.back(), low_masks);
            const Value high = b.load(p.b, element(p.b, at, pair * 2 + Affine(1), panel * 16), p.b.strides.back(), high_masks);
            std::vector<Affine> to = at;
            to.push_back(panel);
            to.push_back(pair);
            to.push_back(Affine(0));
            b.store_raw(packed, packed.at(to), b.apply(Opcode::op_xor, b.shift_right(low, 16), high), 2);
        });
    });
    if (pack_a) {
        View to = a;
        to.shape[to.shape.size() - 2] = p.m;
        to.shape.back() = p.k;
        map(b, "pack_a", to.shape, {p.a}, {to}, expression::parse("y0 = x0"));
    }
    counts = p.batch;
    counts.push_back(columns / 32);
    counts.push_back(rows / 32);
    b.parallel("product", counts, p.m * p.n * p.k / 64, [&](const std::vector<Affine>& counters) {
        const std::vector<Affine> at(counters.begin(), counters.end() - 2);
        const Affine panel = counters[counters.size() - 2], block = counters.back();
        for (int t = 0; t < 4; ++t) b.tile(Opcode::op_tile_zero, t);
        const std::int64_t row_stride = a.strides[a.strides.size() - 2];
        b.loop(depth / 32, [&](const Affine& k) {
            for (int r = 0; r < 2; ++r) b.tile_memory(Opcode::op_tile_load, 4 + r, a, element(a, at, block * 32 + Affine(16 * r), k * 32), row_stride);
            for (int c = 0; c < 2; ++c) {
                std::vector<Affine> from = at;
                from.push_back(panel * 2 + Affine(c));
                from.push_back(k * 16);
                from.push_back(Affine(0));
                b.tile_memory(Opcode::op_tile_load, 6 + c, packed, packed.at(from), 32);
            }
            for (int r = 0; r < 2; ++r)
                for (int c = 0; c < 2; ++c) b.tile(Opcode::op_tile_bf16, 2 * r + c, 4 + r, 6 + c);
        });
        for (int r = 0; r < 2; ++r)
            for (int c = 0; c < 2; ++c) b.tile_memory(Opcode::op_tile_store, 2 * r + c, sums, Affine(512 * r + 16 * c), 32);
        b.loop_limited(32, Affine(p.m) + block * -32, [&](const Affine& r) {
            for (std::int64_t v = 0; v < 32; v += b.lanes()) {
                const Affine column = panel * 32 + Affine(v);
                std::vector<Mask> masks;
                if (columns != p.n) masks.push_back(columns_below(column, p.n));
                finish_product(b, p, at, block * 32 + r, column, b.load(sums, r * 32 + Affine(v)), masks);
            }
        });
    });
}

}  // namespace

void small_product(Builder& b, std::int64_t rows, std::int64_t columns, std::int64_t depth, const View& a, const Affine& a_at, std::int64_t a_row,
                   std::int64_t a_depth, const View& bv, const Affine& b_at, std::int64_t b_depth, const View& c, const Affine& c_at, std::int64_t c_row,
                   bool accumulate, float factor) {
    const RegisterTile tile = register_tile(b);
    const auto part = [&](std::int64_t count, const Affine& row, std::int64_t width, const Affine& column, const std::vector<Mask>& masks) {
        micro_kernel(
            b, count, width, depth, nullptr, [&](std::int64_t r, const Affine& k) { return b.load(a, a_at + (row + Affine(r)) * a_row + k * a_depth, 0); },
            [&](std::int64_t v, const Affine& k) { return b.load(bv, b_at + k * b_depth + column + Affine(v * b.lanes()), 1, masks); }, Opcode::op_fma,
            [&](std::int64_t r, std::int64_t v, const Value& sum) {
                const Affine to = c_at + (row + Affine(r)) * c_row + column + Affine(v * b.lanes());
                Value value = sum;
                if (factor != 1) value = b.apply(Opcode::op_mul, sum, b.constant(factor));
                if (accumulate) value = b.apply(Opcode::op_add, value, b.load(c, to, 1, masks));
                b.store(c, to, value, 1, masks);
            });
    };
    const std::int64_t wide = tile.vectors * b.lanes(), tail = columns % wide;
    const auto rows_of = [&](const std::function<void(std::int64_t, const Affine&)>& body) {
        b.loop(rows / tile.rows, [&](const Affine& i) { body(tile.rows, i * tile.rows); });
        if (rows % tile.rows != 0) body(rows % tile.rows, Affine(rows / tile.rows * tile.rows));
    };
    b.loop(columns / wide, [&](const Affine& panel) { rows_of([&](std::int64_t count, const Affine& row) { part(count, row, tile.vectors, panel * wide, {}); }); });
    if (tail / b.lanes() > 0)
        rows_of([&](std::int64_t count, const Affine& row) { part(count, row, tail / b.lanes(), Affine(columns - tail), {}); });
    if (tail % b.lanes() != 0) {
        Mask mask;
        mask.lane_stride = 1;
        mask.limit = tail % b.lanes();
        rows_of([&](std::int64_t count, const Affine& row) { part(count, row, 1, Affine(columns - tail % b.lanes()), {mask}); });
    }
}

void lower_matmul(Builder& b) {
    Product p;
    View a = b.in(0), right = b.in(1), y = b.out(0);
    if (a.shape.size() < 2 || right.shape.size() < 2 || y.shape.size() < 2) throw Unsupported{"products of vectors"};
    if (b.op().get(keys::matmul.transpose_a) != 0) a = transposed(a);
    if (b.op().get(keys::matmul.transpose_b) != 0) right = transposed(right);
    p.m = a.shape[a.shape.size() - 2];
    p.k = a.shape.back();
    p.n = right.shape.back();
    p.batch.assign(y.shape.begin(), y.shape.end() - 2);
    // Rows of all of the batch are rows of one product where B is the same for all.
    std::int64_t batch = 1;
    for (const std::int64_t extent : p.batch) batch *= extent;
    const bool merges = right.shape.size() == 2 && !p.batch.empty() && a.dense() && y.dense();
    const bool has_epilogue = b.op().has(keys::matmul.epilogue);
    const bool adds = b.op().inputs.size() > 2 && !has_epilogue;
    if (merges && !adds && !has_epilogue) {
        p.m *= batch;
        p.batch.clear();
        a = reshaped(a, {p.m, p.k});
        y = reshaped(y, {p.m, p.n});
    }
    p.a = with_batch(a, p.batch);
    p.b = with_batch(right, p.batch);
    p.y = y;
    if (adds) {
        p.adds = true;
        p.addend = broadcast(b.in(2), y.shape);
    }
    std::vector<View> extra;
    if (has_epilogue) {
        for (std::size_t i = 2; i < b.op().inputs.size(); ++i) extra.push_back(broadcast(b.in(i), y.shape));
        p.y = b.scratch(y.shape);
    }
    const bool bf16 = a.type == ElementType::bf16 && right.type == ElementType::bf16;
    if (p.k == 0 || p.m == 0 || p.n == 0) throw Unsupported{"a product without elements"};
    if (p.m <= 8 && p.b.strides.back() == 1) {
        product_of_few_rows(b, p);
    } else if (p.m <= 8 && p.b.strides[p.b.strides.size() - 2] == 1) {
        product_by_dots(b, p);
    } else if (bf16 && b.target().tiles) {
        tiled_product(b, p);
    } else {
        packed_product(b, p, bf16 && b.target().bf16_dot);
    }
    if (!has_epilogue) return;
    std::vector<View> inputs{p.y};
    inputs.insert(inputs.end(), extra.begin(), extra.end());
    map(b, "epilogue", y.shape, inputs, {y}, expression::parse(b.op().get(keys::matmul.epilogue)), b.op().get(keys::matmul.scalars));
}

}  // namespace heddle::lowering::on_cpu
