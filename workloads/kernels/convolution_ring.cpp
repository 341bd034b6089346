// How the tiles of a convolution follow one another: by way of registers, or through a ring of stages.
#include <algorithm>
#include <array>

#include "workloads/kernels/convolution_writer.h"

namespace heddle::kernels {

Reg ConvolutionWriter::count_of_tiles() {
    const Reg extent = w_.make_b32("sub.u32", k_end_, k_begin_);
    return w_.divide_by(w_.make_b32("add.u32", extent, tile_k_ - 1), tile_k_);
}

void ConvolutionWriter::leave_if_empty(const Reg& tiles, const std::string& done) {
    if (spec_.phased) w_.jump_if(w_.make_predicate("setp.eq.u32", tiles, 0), done);
}

void ConvolutionWriter::main_loop(ConvolutionLoader& a, ConvolutionLoader& b) {
    const Reg left = count_of_tiles();
    const Reg tiles = w_.make_b32("mov.u32", left);
    const std::string loop = w_.new_label("tiles"), done = w_.new_label("multiplied");
    leave_if_empty(left, done);
    a.load();
    b.load();
    a.store(0);
    b.store(0);
    w_.cta_barrier();
    w_.place(loop);
    for (unsigned stage = 0; stage < 2; ++stage) {
        const std::string last = w_.new_label("last");
        w_.op("sub.u32", tiles, tiles, 1);
        const Reg more = w_.make_predicate("setp.ne.u32", tiles, 0);
        w_.jump_unless(more, last);
        a.load();
        b.load();
        multiply(a, b, stage);
        a.store(stage ^ 1);
        b.store(stage ^ 1);
        w_.cta_barrier();
        const std::string next = w_.new_label("next");
        w_.jump(next);
        w_.place(last);
        multiply(a, b, stage);
        w_.jump(done);
        w_.place(next);
    }
    w_.jump(loop);
    w_.place(done);
}

void ConvolutionWriter::copy_tile(ConvolutionLoader& a, ConvolutionLoader& b, unsigned stage,
                                  const Reg& to_copy) {
    const std::string none = w_.new_label("no_more_tiles");
    w_.jump_if(w_.make_predicate("setp.eq.u32", to_copy, 0), none);
    a.copy(stage);
    b.copy(stage);
    w_.op("sub.u32", to_copy, to_copy, 1);
    w_.place(none);
    w_.op("cp.async.commit_group");
}

void ConvolutionWriter::ring(ConvolutionLoader& a, ConvolutionLoader& b, const StageWriter& write_stage) {
    const Reg tiles = count_of_tiles();
    const Reg left = w_.make_b32("mov.u32", tiles), to_copy = w_.make_b32("mov.u32", tiles);
    for (unsigned stage = 0; stage + 1 < spec_.stages; ++stage) copy_tile(a, b, stage, to_copy);
    const std::string loop = w_.new_label("tiles"), done = w_.new_label("multiplied");
    leave_if_empty(left, done);
    w_.place(loop);
    for (unsigned stage = 0; stage < spec_.stages; ++stage) {
        w_.op("cp.async.wait_group", spec_.stages - 2);
        write_stage(
            stage, [&] { copy_tile(a, b, (stage + spec_.stages - 1) % spec_.stages, to_copy); },
            [&] {
                w_.op("sub.u32", left, left, 1);
                w_.jump_if(w_.make_predicate("setp.eq.u32", left, 0), done);
            });
    }
    w_.jump(loop);
    w_.place(done);
}

void ConvolutionWriter::ring_loop(ConvolutionLoader& a, ConvolutionLoader& b) {
    ring(a, b, [&](unsigned stage, const auto& copy_next, const auto& leave_if_last) {
        w_.cta_barrier();
        copy_next();
        multiply(a, b, stage);
        leave_if_last();
    });
}

std::vector<std::string> ConvolutionWriter::copies_of(ConvolutionLoader& a, ConvolutionLoader& b,
                                                      unsigned stage) {
    const std::vector<std::string> of_a = w_.set_aside([&] { a.copy(stage); }),
                                   of_b = w_.set_aside([&] { b.copy(stage); });
    std::vector<std::string> result;
    for (std::size_t i = 0; i < std::max(of_a.size(), of_b.size()); ++i) {
        if (i < of_a.size()) result.push_back(of_a[i]);
        if (i < of_b.size()) result.push_back(of_b[i]);
    }
    return result;
}

void ConvolutionWriter::interleaved_ring_loop(ConvolutionLoader& a, ConvolutionLoader& b) {
    const Reg left = count_of_tiles();
    const std::string loop = w_.new_label("tiles"), done = w_.new_label("multiplied");
    leave_if_empty(left, done);
    // Tiles beyond the end become zeroes.
    for (unsigned stage = 0; stage + 1 < spec_.stages; ++stage) {
        a.copy(stage);
        b.copy(stage);
        w_.op("cp.async.commit_group");
    }
    const auto fragments = [&](std::size_t blocks) {
        std::vector<std::vector<Reg>> result(blocks);
        for (std::vector<Reg>& fragment : result) fragment = w_.b32s(4);
        return result;
    };
    constexpr unsigned kAhead = 2;  // fragments of B in flight beyond the one in use
    const auto blocks_m = static_cast<unsigned>(sums_.size()),
               pairs = static_cast<unsigned>(sums_[0].size()) / 2, steps = tile_k_ / 8, total = steps * pairs;
    const std::array<std::vector<std::vector<Reg>>, 2> left_sides{fragments(blocks_m), fragments(blocks_m)};
    const std::vector<std::vector<Reg>> right_sides = fragments(kAhead + 2);
    const auto load_left = [&](unsigned stage, unsigned step) {
        for (unsigned i = 0; i < blocks_m; ++i)
            a_fragments_->load_fragment(left_sides[step % 2][i], stage, i, step);
    };
    // `total` is a multiple of the four registers' turns: each tile begins with the first.
    const auto load_right = [&](unsigned stage, unsigned at) {
        b_fragments_->load_fragment(right_sides[at % right_sides.size()], stage, at % pairs, at / pairs);
    };
    const auto wait = [&] {
        w_.op("cp.async.wait_group", spec_.stages - 2);
        w_.cta_barrier();
    };
    wait();
    load_left(0, 0);
    for (unsigned at = 0; at < kAhead; ++at) load_right(0, at);
    w_.place(loop);
    for (unsigned stage = 0; stage < spec_.stages; ++stage) {
        const unsigned next = (stage + 1) % spec_.stages;
        const std::vector<std::string> copies = copies_of(a, b, (stage + spec_.stages - 1) % spec_.stages);
        const std::size_t among = std::size_t{total - kAhead} * blocks_m * 2;
        std::size_t put = 0, multiplied = 0;
        for (unsigned at = 0; at < total; ++at) {
            const unsigned step = at / pairs;
            if (at + kAhead == total) {
                // All fragments of this tile are in registers: its place is free, the next one is due.
                w_.op("cp.async.commit_group");
                wait();
                load_left(next, 0);
            }
            if (at % pairs == 0 && step + 1 < steps) load_left(stage, step + 1);
            if (at + kAhead < total)
                load_right(stage, at + kAhead);
            else
                load_right(next, at + kAhead - total);
            const std::vector<Reg>& right = right_sides[at % right_sides.size()];
            for (unsigned half = 0; half < 2; ++half) {
                for (unsigned i = 0; i < blocks_m; ++i) {
                    const Reg sum = vector_of(sums_[i][at % pairs * 2 + half]);
                    w_.op("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", sum,
                          vector_of(left_sides[step % 2][i]),
                          vector_of({right[half * 2], right[half * 2 + 1]}), sum);
                    for (++multiplied; put < copies.size() && put * among < copies.size() * multiplied; ++put)
                        w_.put(copies[put]);
                }
            }
        }
        w_.op("sub.u32", left, left, 1);
        w_.jump_if(w_.make_predicate("setp.eq.u32", left, 0), done);
    }
    w_.jump(loop);
    w_.place(done);
}

}  // namespace heddle::kernels
