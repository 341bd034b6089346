#include "workloads/kernels/gemm_simt.h"

#include <algorithm>

#include "isa/common/error.h"

namespace heddle::kernels {
namespace {

constexpr unsigned kTileK = kGemmSimtTileK;

/// One operand: how its tile travels from global memory through registers to shared memory.
/// In shared memory the tile is [8][tile + padding], k-major, whatever the layout in global memory.
class OperandTile {
  public:
    OperandTile(PtxWriter& w, ElementType type, unsigned tile, unsigned threads, bool contiguous_in_k,
                unsigned vector, bool full_k, std::uint32_t shared_offset)
        : w_(w),
          type_(type),
          size_(bytes_of(type)),
          tile_(tile),
          slot_width_(16 / size_),
          contiguous_in_k_(contiguous_in_k),
          vector_(vector),
          full_k_(full_k),
          shared_offset_(shared_offset),
          slots_(tile * kTileK / slot_width_ / threads),
          threads_(threads) {}

    /// Elements between rows of k. Padded by 16 bytes when a transposing store would meet bank conflicts.
    unsigned row_elements() const { return tile_ + (contiguous_in_k_ ? slot_width_ : 0); }
    std::uint32_t stage_bytes() const { return kTileK * row_elements() * size_; }

    void set_up(const std::string& shared, const Reg& tid, const Reg& base, const Reg& first,
                const Reg& extent, const Reg& leading, const Reg& k_begin) {
        const unsigned slots_per_row = (contiguous_in_k_ ? kTileK : tile_) / slot_width_;
        const Reg last = w_.make_b32("sub.u32", extent, contiguous_in_k_ ? 1 : vector_);
        for (unsigned i = 0; i < slots_; ++i) {
            const Reg linear = i == 0 ? tid : w_.make_b32("add.u32", tid, i * threads_);
            const Reg row = w_.divide_by(linear, slots_per_row);
            const Reg column = w_.multiply_by(w_.remainder_by(linear, slots_per_row), slot_width_);
            const Reg k_local = contiguous_in_k_ ? column : row;
            const Reg position = contiguous_in_k_ ? row : column;
            Slot slot;
            slot.k = k_begin.empty() ? k_local : w_.make_b32("add.u32", k_local, k_begin);
            // Rows and columns beyond the matrix read its last element: what comes of them is never stored.
            for (unsigned piece = 0; piece < slot_width_; piece += contiguous_in_k_ ? slot_width_ : vector_) {
                const Reg element = w_.make_b32("add.u32", w_.make_b32("add.u32", first, position), piece);
                const Reg safe = w_.make_b32("min.u32", element, last);
                const Reg& outer = contiguous_in_k_ ? safe : slot.k;
                const Reg& inner = contiguous_in_k_ ? slot.k : safe;
                const Reg offset = w_.make_b64("mul.wide.u32", outer, leading);
                const Reg elements = w_.make_b64("add.s64", offset, w_.make_b64("cvt.u64.u32", inner));
                const Reg bytes = w_.make_b64("shl.b64", elements, size_ == 4 ? 2 : 3);
                slot.addresses.push_back(w_.make_b64("add.s64", base, bytes));
            }
            const Reg base_address = w_.make_b32("mov.u32", shared);
            const Reg place = w_.make_b32("mad.lo.u32", k_local, row_elements(), position);
            slot.shared = w_.make_b32("mad.lo.u32", place, size_, base_address);
            slots_data_.push_back(std::move(slot));
        }
        if (!contiguous_in_k_) step_ = w_.make_b64("mul.wide.u32", leading, kTileK * size_);
    }

    /// Issues the loads of the next tile into registers and moves on. `wanted`: uniform predicate, may be
    /// empty.
    void load(const Reg& k_end, const Reg& wanted) {
        for (Slot& slot : slots_data_) {
            slot.values.clear();
            for (unsigned element = 0; element < slot_width_; element += vector_) {
                Reg guard = wanted;
                if (!full_k_ && (element == 0 || contiguous_in_k_)) {
                    const Reg k =
                        contiguous_in_k_ && element != 0 ? w_.make_b32("add.u32", slot.k, element) : slot.k;
                    guard = wanted.empty() ? w_.make_predicate("setp.lt.u32", k, k_end)
                                           : w_.make_predicate("setp.lt.and.u32", k, k_end, wanted);
                    k_guard_ = guard;
                } else if (!full_k_) {
                    guard = k_guard_;
                }
                const std::string& address = slot.addresses[contiguous_in_k_ ? 0 : element / vector_];
                const std::int64_t offset = contiguous_in_k_ ? element * size_ : 0;
                // Zeros for k beyond the end; with a full k the guard only spares the last, unused, load.
                RawVector raw;
                if (full_k_ && !guard.empty()) {
                    raw = {type_, vector_, {}};
                    for (unsigned i = 0; i < vector_; ++i)
                        raw.words.push_back(size_ == 4 ? w_.f32() : w_.f64());
                    const std::string opcode = std::string("ld.global.nc") +
                                               (vector_ > 1 ? ".v" + std::to_string(vector_) : "") +
                                               (size_ == 4 ? ".f32" : ".f64");
                    w_.op_if(guard, opcode, vector_of(raw.words), at(address, offset));
                } else {
                    raw = load_raw(w_, "ld.global.nc", type_, vector_, address, offset, guard);
                }
                slot.values.insert(slot.values.end(), raw.words.begin(), raw.words.end());
            }
            for (const Reg& address : slot.addresses) {
                if (contiguous_in_k_) {
                    w_.op("add.s64", address, address, kTileK * size_);
                } else {
                    w_.op("add.s64", address, address, step_);
                }
            }
            if (!full_k_) w_.op("add.u32", slot.k, slot.k, kTileK);
        }
    }

    /// Registers to shared memory.
    void store(unsigned stage) {
        for (const Slot& slot : slots_data_) {
            const std::int64_t base = shared_offset_ + stage * stage_bytes();
            if (contiguous_in_k_) {
                for (unsigned i = 0; i < slot_width_; ++i) {
                    w_.op(size_ == 4 ? "st.shared.f32" : "st.shared.f64",
                          at(slot.shared, base + i * row_elements() * size_), slot.values[i]);
                }
            } else {
                store_raw(w_, "st.shared", {type_, slot_width_, slot.values}, slot.shared, base);
            }
        }
    }

    /// Fragment of one k: two vectors of 16 bytes per thread, `half` elements apart.
    std::vector<Reg> fragment(const Reg& address, unsigned stage, unsigned k, unsigned half) const {
        std::vector<Reg> values;
        for (unsigned part = 0; part < 2; ++part) {
            const std::int64_t offset =
                shared_offset_ + stage * stage_bytes() + (k * row_elements() + part * half) * size_;
            const RawVector raw = load_raw(w_, "ld.shared", type_, slot_width_, address, offset);
            values.insert(values.end(), raw.words.begin(), raw.words.end());
        }
        return values;
    }

  private:
    struct Slot {
        Reg k;                       // global k of the slot's first element
        std::vector<Reg> addresses;  // one, or one per piece when pieces are clamped on their own
        Reg shared;
        std::vector<Reg> values;
    };
    PtxWriter& w_;
    ElementType type_;
    unsigned size_, tile_, slot_width_;
    bool contiguous_in_k_;
    unsigned vector_;
    bool full_k_;
    std::uint32_t shared_offset_;
    unsigned slots_, threads_;
    Reg step_, k_guard_;
    std::vector<Slot> slots_data_;
};

struct Shape {
    unsigned vector, micro, warp_m, warp_n, warps_n, threads;
};

Shape shape_of(const GemmSimtSpec& spec) {
    Shape s{};
    s.vector = 16 / bytes_of(spec.type);
    s.micro = 2 * s.vector;
    // Lanes 4 x 8, or 8 x 4 for tiles that are narrow in n.
    const bool narrow = spec.tile_n < 8 * s.micro;
    s.warp_m = (narrow ? 8 : 4) * s.micro;
    s.warp_n = (narrow ? 4 : 8) * s.micro;
    if (spec.tile_m % s.warp_m != 0 || spec.tile_n % s.warp_n != 0) {
        throw Error("the tile " + std::to_string(spec.tile_m) + "x" + std::to_string(spec.tile_n) +
                        " is not made of warp tiles of " + std::to_string(s.warp_m) + "x" +
                        std::to_string(s.warp_n),
                    {.key = "gemm_simt"});
    }
    s.warps_n = spec.tile_n / s.warp_n;
    s.threads = spec.tile_m / s.warp_m * s.warps_n * 32;
    const unsigned slots_m = spec.tile_m * kTileK / s.vector, slots_n = spec.tile_n * kTileK / s.vector;
    if (s.threads > 256 || slots_m % s.threads != 0 || slots_n % s.threads != 0) {
        throw Error("the tile " + std::to_string(spec.tile_m) + "x" + std::to_string(spec.tile_n) +
                        " does not divide evenly among " + std::to_string(s.threads) + " threads",
                    {.key = "gemm_simt"}, "use 128x128, 128x64, 64x128 or 64x64");
    }
    return s;
}

std::string name_for(const GemmSimtSpec& spec) {
    return "gemm_simt_" + name_of(spec.type) + "_" + name_of(spec.epilogue.output) + "_" +
           std::to_string(spec.tile_m) + "x" + std::to_string(spec.tile_n) + "x" + std::to_string(kTileK) +
           "_" + layout_name(spec.transpose_a, spec.transpose_b) + "_a" + std::to_string(spec.vector_a) +
           "_b" + std::to_string(spec.vector_b) + (spec.full_k ? "_fullk" : "") +
           (spec.partition.batched ? "_batched" : "") + (spec.partition.split_k ? "_splitk" : "") +
           "_raster" + std::to_string(spec.raster_log2) + epilogue_name(spec.epilogue);
}

/// A thread's place when results are stored by rows.
struct RowPlace {
    Reg lane, lane_m, lane_n;
    Reg row;     ///< of the warp's first element
    Reg column;  ///< of the warp's first element, plus the lane
    Reg buffer;  ///< the warp's part of shared memory
};

constexpr unsigned kExchangeBytes = 1024;  // one row of each lane_m: 4 x 64 or 8 x 32 elements

/// Where rows of D begin at any address, elements are stored one by one. The threads exchange them first, a
/// row of each at a time, so that an instruction stores 32 neighbours: as it comes from the products it would
/// touch every sector four times. (So does the SGEMM of S. Gray's maxas, "SGEMM", section "Warp synchronous
/// shuffle".)
void store_by_rows(PtxWriter& w, const GemmParameters& p, const GemmSimtSpec& spec, const Shape& shape,
                   const std::vector<std::vector<Reg>>& accumulators, const RowPlace& place) {
    const unsigned vector = shape.vector, half_m = shape.warp_m / 2, half_n = shape.warp_n / 2;
    const unsigned lanes_m = half_m / vector;
    const Reg elements =
        w.make_b32("mad.lo.u32", place.lane_m, shape.warp_n, w.multiply_by(place.lane_n, vector));
    const Reg writes = w.make_b32("mad.lo.u32", elements, 4, place.buffer);
    const Reg reads = w.make_b32("mad.lo.u32", place.lane, 4, place.buffer);
    GemmOutput rows(w, p, spec.epilogue, spec.partition.split_k, ComputeType::f32, place.row, place.column);
    for (unsigned i = 0; i < shape.micro; ++i) {
        if (i != 0) {
            rows.advance_rows(i == vector ? half_m - vector + 1 : 1);
            w.warp_barrier();
        }
        for (unsigned half = 0; half < 2; ++half) {
            const auto first = accumulators[i].begin() + half * vector;
            store_raw(w, "st.shared", {ElementType::f32, vector, {first, first + vector}}, writes,
                      half * half_n * 4);
        }
        w.warp_barrier();
        GemmOutput output = rows;
        for (unsigned r = 0; r < lanes_m; ++r) {
            if (r != 0) output.advance_rows(vector);
            for (unsigned column = 0; column < shape.warp_n; column += 32)
                output.store(column,
                             {w.make_f32("ld.shared.f32", at(reads, (r * shape.warp_n + column) * 4))});
        }
    }
}

}  // namespace

GeneratedKernel generate_gemm_simt(const GemmSimtSpec& spec) {
    if (spec.type != ElementType::f32 && spec.type != ElementType::f64) {
        throw Error("gemm_simt multiplies f32 or f64, not " + name_of(spec.type), {},
                    "use gemm_mma for f16 and bf16");
    }
    const Shape shape = shape_of(spec);
    const unsigned widest = 16 / bytes_of(spec.type);
    if (widest % spec.vector_a != 0 || widest % spec.vector_b != 0) {
        throw Error("global loads of " + name_of(spec.type) + " take a power of two of at most " +
                        std::to_string(widest) + " elements",
                    {.key = "gemm_simt"});
    }
    const ComputeType compute = spec.type == ElementType::f32 ? ComputeType::f32 : ComputeType::f64;
    PtxWriter w(name_for(spec), spec.compute_capability);
    Reg k_begin;
    const GemmParameters p =
        emit_gemm_parameters(w, spec.partition, spec.epilogue, spec.type, spec.type,
                             spec.partition.split_k ? spec.type : spec.epilogue.output, compute, k_begin);
    const TilePosition tile = emit_tile_position(w, p.n, spec.tile_m, spec.tile_n, spec.raster_log2);
    const Reg tid = w.tid();

    OperandTile a(w, spec.type, spec.tile_m, shape.threads, !spec.transpose_a, spec.vector_a, spec.full_k, 0);
    OperandTile b(w, spec.type, spec.tile_n, shape.threads, spec.transpose_b, spec.vector_b, spec.full_k,
                  2 * a.stage_bytes());
    const std::string shared = w.shared("tiles", 2 * (a.stage_bytes() + b.stage_bytes()));
    a.set_up(shared, tid, p.a, tile.row, p.m, p.lda, k_begin);
    b.set_up(shared, tid, p.b, tile.column, p.n, p.ldb, k_begin);

    // The thread's place: warps n fastest; within a warp lanes n fastest.
    const unsigned lanes_n = shape.warp_n / shape.micro;
    const Reg warp = w.make_b32("shr.u32", tid, 5);
    const Reg lane = w.make_b32("and.b32", tid, 31);
    const Reg warp_m = w.divide_by(warp, shape.warps_n), warp_n = w.remainder_by(warp, shape.warps_n);
    const Reg lane_m = w.divide_by(lane, lanes_n), lane_n = w.remainder_by(lane, lanes_n);
    const Reg row = w.make_b32("mad.lo.u32", warp_m, shape.warp_m, w.multiply_by(lane_m, shape.vector));
    const Reg column = w.make_b32("mad.lo.u32", warp_n, shape.warp_n, w.multiply_by(lane_n, shape.vector));
    const unsigned size = bytes_of(spec.type);
    const Reg shared_base = w.make_b32("mov.u32", shared);
    const Reg a_address = w.make_b32("mad.lo.u32", row, size, shared_base);
    const Reg b_address = w.make_b32("mad.lo.u32", column, size, shared_base);
    const unsigned half_m = shape.warp_m / 2, half_n = shape.warp_n / 2;

    const Reg extent = k_begin.empty() ? p.k : w.make_b32("sub.u32", p.k, k_begin);
    const Reg tiles = w.make_b32("shr.u32", w.make_b32("add.u32", extent, kTileK - 1), 3);
    std::vector<std::vector<Reg>> accumulators(shape.micro);
    for (std::vector<Reg>& accumulator_row : accumulators) {
        for (unsigned j = 0; j < shape.micro; ++j) {
            accumulator_row.push_back(compute == ComputeType::f32 ? w.make_f32("mov.f32", f32_immediate(0))
                                                                  : w.make_f64("mov.f64", f64_immediate(0)));
        }
    }
    const std::string fma = compute == ComputeType::f32 ? "fma.rn.f32" : "fma.rn.f64";

    const std::string loop = w.new_label("loop"), done = w.new_label("done");
    w.jump_if(w.make_predicate("setp.eq.u32", tiles, 0), done);
    a.load(p.k, {});
    b.load(p.k, {});
    a.store(0);
    b.store(0);
    w.cta_barrier();
    const Reg left = w.make_b32("sub.u32", tiles, 1);  // tiles after the present one
    w.place(loop);
    for (unsigned stage = 0; stage < 2; ++stage) {
        const Reg more = w.make_predicate("setp.ne.u32", left, 0);
        std::vector<Reg> a_now = a.fragment(a_address, stage, 0, half_m);
        std::vector<Reg> b_now = b.fragment(b_address, stage, 0, half_n);
        a.load(p.k, more);
        b.load(p.k, more);
        for (unsigned k = 0; k < kTileK; ++k) {
            std::vector<Reg> a_next, b_next;
            if (k + 1 < kTileK) {
                a_next = a.fragment(a_address, stage, k + 1, half_m);
                b_next = b.fragment(b_address, stage, k + 1, half_n);
            }
            for (unsigned i = 0; i < shape.micro; ++i) {
                for (unsigned j = 0; j < shape.micro; ++j) {
                    w.op(fma, accumulators[i][j], a_now[i], b_now[j], accumulators[i][j]);
                }
            }
            a_now = a_next;
            b_now = b_next;
        }
        w.jump_unless(more, done);
        a.store(stage ^ 1);
        b.store(stage ^ 1);
        w.cta_barrier();
        w.op("sub.u32", left, left, 1);
    }
    w.jump(loop);
    w.place(done);

    const Reg first_row = w.make_b32("add.u32", tile.row, row);
    if (spec.epilogue.vector_width == 1 && size == 4) {
        const Reg warp_row = w.make_b32("mad.lo.u32", warp_m, shape.warp_m, tile.row);
        const Reg warp_column = w.make_b32("mad.lo.u32", warp_n, shape.warp_n, tile.column);
        const Reg buffer = w.make_b32("mad.lo.u32", warp, kExchangeBytes, shared_base);
        w.cta_barrier();  // the tiles are no longer read
        store_by_rows(w, p, spec, shape, accumulators,
                      {lane, lane_m, lane_n, warp_row, w.make_b32("add.u32", warp_column, lane), buffer});
    } else {
        GemmOutput output(w, p, spec.epilogue, spec.partition.split_k, compute, first_row,
                          w.make_b32("add.u32", tile.column, column));
        for (unsigned i = 0; i < shape.micro; ++i) {
            if (i != 0) output.advance_rows(i == shape.vector ? half_m - shape.vector + 1 : 1);
            const auto middle = accumulators[i].begin() + shape.vector;
            output.store(0, {accumulators[i].begin(), middle});
            output.store(half_n, {middle, accumulators[i].end()});
        }
    }
    // Two CTAs of 256 threads per SM: at most 128 registers.
    return w.finish({shape.threads, 1, 1}, shape.threads == 256 ? 2 : 0);
}

Extent3 gemm_simt_grid(const GemmSimtSpec& spec, std::uint32_t m, std::uint32_t n,
                       std::uint32_t batch_times_splits) {
    return gemm_grid(m, n, batch_times_splits, spec.tile_m, spec.tile_n, spec.raster_log2);
}

}  // namespace heddle::kernels
