#include "workloads/kernels/row_walk.h"

namespace heddle::kernels {
namespace {

using Addresses = std::vector<Reg>;

/// address += elements * bytes, for every row.
void advance(PtxWriter& w, const RowWalk& walk, const Addresses& addresses, unsigned elements) {
    for (std::size_t i = 0; i < addresses.size(); ++i)
        w.op("add.s64", addresses[i], addresses[i], std::int64_t{elements} * walk.rows[i].second);
}

/// The rows' addresses plus `index` elements (a signed register).
Addresses at_index(PtxWriter& w, const RowWalk& walk, const Addresses& bases, const Reg& index) {
    Addresses addresses;
    for (std::size_t i = 0; i < bases.size(); ++i)
        addresses.push_back(w.make_b64("mad.wide.s32", index, walk.rows[i].second, bases[i]));
    return addresses;
}

}  // namespace

Reg emit_shift(PtxWriter& w, const Reg& address, unsigned element_bytes) {
    const Reg low = w.make_b32("and.b32", w.make_b32("cvt.u32.u64", address), 15);
    return w.divide_by(low, element_bytes);
}

void emit_row_walk(PtxWriter& w, const RowWalk& walk, const Reg& tid,
                   const std::function<void(const std::vector<Reg>& addresses, unsigned width)>& body) {
    Addresses bases;
    for (const auto& [address, bytes] : walk.rows) {
        static_cast<void>(bytes);
        bases.push_back(w.make_b64("mov.b64", address));
    }
    const Reg size = w.constant_b32(walk.columns);
    if (!walk.shift.empty()) {
        const std::string aligned = w.new_label("aligned"), head_done = w.new_label("head_done");
        w.jump_if(w.make_predicate("setp.eq.u32", walk.shift, 0), aligned);
        const Reg index = w.make_b32("sub.s32", tid, walk.shift);
        // Threads before the row wrap around and lie beyond it, as unsigned numbers.
        w.jump_if(w.make_predicate("setp.ge.u32", index, size), head_done);
        body(at_index(w, walk, bases, index), 1);
        w.place(head_done);
        const Reg skipped = w.make_b32("sub.s32", walk.threads, walk.shift);
        for (std::size_t i = 0; i < bases.size(); ++i)
            w.op("mad.wide.s32", bases[i], skipped, walk.rows[i].second, bases[i]);
        w.op("sub.s32", size, size, skipped);
        w.place(aligned);
    }
    const unsigned pass = walk.threads * walk.width;
    const Reg last = walk.shift.empty() ? w.constant_b32(walk.columns % pass)
                                        : w.make_b32("rem.s32", size, static_cast<std::int64_t>(pass));
    const Reg whole = w.make_b32("sub.s32", size, last);
    const std::string vectors = w.new_label("vectors"), vectors_done = w.new_label("vectors_done");
    const Reg index = w.make_b32("mul.lo.u32", tid, walk.width);
    const Addresses addresses = at_index(w, walk, bases, index);
    w.jump_if(w.make_predicate("setp.ge.s32", index, whole), vectors_done);
    w.place(vectors);
    body(addresses, walk.width);
    advance(w, walk, addresses, pass);
    w.op("add.s32", index, index, pass);
    w.jump_if(w.make_predicate("setp.lt.s32", index, whole), vectors);
    w.place(vectors_done);
    if (walk.shift.empty() && walk.columns % pass == 0) return;

    const std::string singles = w.new_label("singles"), done = w.new_label("done");
    w.op("add.s32", index, whole, tid);
    const Addresses rest = at_index(w, walk, bases, index);
    w.jump_if(w.make_predicate("setp.ge.s32", index, size), done);
    w.place(singles);
    body(rest, 1);
    advance(w, walk, rest, walk.threads);
    w.op("add.s32", index, index, walk.threads);
    w.jump_if(w.make_predicate("setp.lt.s32", index, size), singles);
    w.place(done);
}

}  // namespace heddle::kernels
