#include "models/cpu/core_model.h"

#include <algorithm>
#include <cmath>

namespace heddle::models {
namespace {

using cpu::Opcode;

/// The largest stretch of a folded region whose lines are followed, in touched lines.
constexpr double kMostTouches = 4e6;

std::uint32_t log2_of(unsigned value) {
    std::uint32_t log = 0;
    while (value > 1) value /= 2, ++log;
    return log;
}

}  // namespace

CoreModel::CoreModel(const CpuConfig& config) : config_(config), memory_(config) {}

void CoreModel::reset() {
    memory_.clear();
    for (Calendar* const calendar : {&arithmetic_, &vector_, &load_, &store_}) calendar->reset();
    ready_.fill(0);
    alloc_ = 0;
    alloc_used_ = 0;
    retired_ = committed_ = divider_ = matrix_ = folded_ = 0;
    random_ = 0;
    counts_ = {};
}

void CoreModel::begin(const cpu::Program& program, const std::vector<bool>& resident, unsigned threads) {
    program_ = &program;
    resident_ = resident;
    resident_.resize(program.buffers.size(), false);
    bases_.clear();
    std::int64_t next = 4096;
    for (const cpu::Buffer& buffer : program.buffers) {
        bases_.push_back(next);
        next += static_cast<std::int64_t>((buffer.bytes + 4095) / 4096 * 4096 + 4096 + 192);
        next = next / 64 * 64;
    }
    memory_.begin_program(threads);
    const unsigned cores = std::min(threads, config_.all_cores());
    shared_core_ = (threads + cores - 1) / cores;
    // Threads on one core take turns: each has its part of the window and queues, and of the ports below.
    window_.resize(std::max(8u, config_.window / shared_core_));
    loads_.resize(std::max(4u, config_.load_queue / shared_core_));
    stores_.resize(std::max(4u, config_.store_queue / shared_core_));
    arithmetic_.resize(config_.arithmetic_ports);
    vector_.resize(config_.vector_ports);
    load_.resize(config_.load_ports);
    store_.resize(config_.store_ports);
}

double CoreModel::sharers_of(const cpu::Instruction& one) const {
    // A thread has a stretch of the iterations: of each shared loop it sees some values. Places that follow from loops of which all
    // threads together see each value several times are touched by as many threads.
    const auto stretch = static_cast<double>((region_->iterations() + threads_ - 1) / threads_);
    double seen = 1, all = 1, inner = 1;
    for (std::size_t c = region_->counts.size(); c-- > 0;) {
        const auto count = static_cast<double>(region_->counts[c]);
        const bool named = std::any_of(one.offset.terms.begin(), one.offset.terms.end(), [&](const auto& term) { return term.loop == c; });
        if (named) seen *= std::min(count, std::ceil(stretch / inner)), all *= count;
        inner *= count;
    }
    return std::clamp(threads_ * seen / all, 1.0, static_cast<double>(threads_));
}

CoreModel::Step CoreModel::step_of(const cpu::Instruction& one) const {
    const cpu::OpcodeTraits& is = cpu::traits(one.opcode);
    Step step;
    step.instruction = &one;
    const int first = is.tile ? static_cast<int>(cpu::kVectorRegisters) : 0;
    if (is.writes) step.d = first + one.d;
    if (is.sources > 0) step.a = first + one.a;
    if (is.sources > 1) step.b = first + one.b;
    if (is.sources > 2) step.c = first + one.c;
    const unsigned lanes = program_->lanes;
    // A vector of the program may be wider than the registers.
    const std::uint32_t pieces = std::max(1u, lanes * 32 / config_.vector_bits);
    step.issue = step.slots = pieces;
    // Masks are computed: compare, combine, move.
    step.issue += static_cast<std::uint32_t>(3 * one.masks.size());
    // AVX2 has 16 registers: values in others lie in the L1, and come and go by instructions of their own.
    if (config_.vector_bits == 256 && !is.tile)
        for (const int number : {step.a, step.b, step.c, step.d}) step.issue += number >= 16 ? 1 : 0;
    switch (one.opcode) {
        case Opcode::op_load:
        case Opcode::op_gather:
        case Opcode::op_tile_load:
        case Opcode::op_prefetch:
            step.load = true;
            step.port = Port::load;
            break;
        case Opcode::op_store:
        case Opcode::op_scatter:
        case Opcode::op_tile_store: step.store = true; break;
        case Opcode::op_set:
            // An operand from memory, which needs no slot of its own.
            step.port = Port::load;
            step.issue = 0;
            step.latency = static_cast<std::uint32_t>(config_.l1.latency);
            break;
        case Opcode::op_add:
        case Opcode::op_sub:
            step.port = Port::arithmetic;
            step.latency = config_.add_latency;
            break;
        case Opcode::op_mul:
        case Opcode::op_fma:
        case Opcode::op_scale:
        case Opcode::op_exponent:
        case Opcode::op_mantissa:
        case Opcode::op_to_float:
        case Opcode::op_to_int:
        case Opcode::op_min:
        case Opcode::op_max:
            step.port = Port::arithmetic;
            step.latency = config_.fma_latency;
            break;
        case Opcode::op_floor:
        case Opcode::op_round:
            step.port = Port::arithmetic;
            step.latency = 2 * config_.fma_latency;
            step.issue *= 2, step.slots *= 2;
            break;
        case Opcode::op_gt:
        case Opcode::op_ge:
        case Opcode::op_eq:
        case Opcode::op_ne:
            // A mask, and numbers of it.
            step.port = Port::vector;
            step.latency = 3 + config_.simple_latency;
            step.issue *= 2, step.slots *= 2;
            break;
        case Opcode::op_select:
            step.port = Port::vector;
            step.latency = 3 + config_.simple_latency;
            step.issue *= 2, step.slots *= 2;
            break;
        case Opcode::op_div:
        case Opcode::op_sqrt:
            step.port = Port::divide;
            step.latency = config_.divide_latency;
            break;
        case Opcode::op_dot_bf16:
            step.port = Port::arithmetic;
            step.latency = 2 * config_.fma_latency + 2;
            step.slots *= 2;
            break;
        case Opcode::op_dot_u8i8:
            step.port = Port::arithmetic;
            step.latency = config_.fma_latency + 1;
            break;
        case Opcode::op_hsum:
        case Opcode::op_hmax:
        case Opcode::op_hmin:
            step.port = Port::vector;
            step.slots = step.issue = 2 * log2_of(lanes);
            step.latency = log2_of(lanes) * (config_.add_latency + 3);
            break;
        case Opcode::op_imul:
            step.port = Port::vector;
            step.latency = 10;
            step.issue *= 2, step.slots *= 2;
            break;
        case Opcode::op_tile_zero: step.port = Port::none; break;
        case Opcode::op_tile_bf16:
        case Opcode::op_tile_i8:
            step.port = Port::matrix;
            step.latency = config_.tile_latency;
            break;
        default:
            step.port = Port::vector;
            step.latency = config_.simple_latency;
    }
    if (one.opcode == Opcode::op_index) {
        step.slots = step.issue = 2;
        step.latency = 3;
        return step;
    }
    if (!is.memory) return step;
    step.buffer = one.buffer;
    step.base = bases_[one.buffer];
    step.element = is.tile ? 64 : cpu::bytes_of(one.type);
    if (!program_->buffers[one.buffer].per_thread && !step.store) step.sharers = sharers_of(one);
    const bool converts = !is.tile && one.type != cpu::ElementType::f32 && one.type != cpu::ElementType::raw32 &&
                          one.type != cpu::ElementType::i32;
    if (is.tile) {
        step.access = Access::rows;
        step.slots = 16;
        step.issue = 8;
    } else if (one.opcode == Opcode::op_gather || one.opcode == Opcode::op_scatter) {
        step.access = one.uniform ? (one.lane_bytes == step.element || one.lane_bytes == 0 ? Access::contiguous : Access::lanes) : Access::indexed;
    } else if (one.lane_bytes != step.element && one.lane_bytes != 0) {
        step.access = Access::lanes;
    }
    if (step.access == Access::lanes || step.access == Access::indexed) {
        step.slots = std::max<std::uint32_t>(1, static_cast<std::uint32_t>(std::lround(lanes * config_.gather_lane)));
        step.issue = std::max<std::uint32_t>(4, lanes);
    }
    if (converts) step.issue += pieces;
    if (one.opcode == Opcode::op_gather && one.uniform) step.issue += 1;  // the index comes to a scalar register
    return step;
}

int CoreModel::compile(const cpu::Body& body, const cpu::Loop* loop) {
    Nest nest;
    nest.loop = loop;
    std::int64_t instructions = 0;
    for (const auto& node : body) {
        if (const auto* inner = std::get_if<cpu::Loop>(&node)) {
            nest.innermost = false;
            nest.body.push_back({-1, compile(inner->body, inner)});
        } else {
            steps_.push_back(step_of(std::get<cpu::Instruction>(node)));
            nest.body.push_back({static_cast<int>(steps_.size()) - 1, -1});
            instructions += std::max(1u, steps_.back().issue);
        }
    }
    nest.window = nest.innermost ? std::clamp<std::int64_t>((2 * config_.window / std::max<std::int64_t>(1, instructions + 2) / 16 + 1) * 16, 16, 192) : 2;
    nests_.push_back(std::move(nest));
    return static_cast<int>(nests_.size()) - 1;
}

CoreCounts CoreModel::run(const cpu::Region& region, std::int64_t first, std::int64_t last, unsigned threads, double hertz) {
    region_ = &region;
    threads_ = threads;
    steps_.clear();
    nests_.clear();
    counters_ = {};
    const int root = compile(region.body, nullptr);
    memory_.begin_region(threads, hertz);
    counts_ = {};
    folded_ = 0;
    const CoreMemoryCounts before = memory_.counts();
    // A barrier is behind: nothing of the last region is under way.
    const double begin = std::max({retired_, committed_, static_cast<double>(alloc_)});
    alloc_ = static_cast<std::int64_t>(std::ceil(begin));
    alloc_used_ = 0;
    retired_ = committed_ = static_cast<double>(alloc_);
    const double start = retired_;
    run_shared(nests_[root], 0, first, last, false);
    counts_.cycles = std::max({retired_, committed_, static_cast<double>(alloc_)}) - start + folded_;
    counts_.folded = folded_;
    const CoreMemoryCounts& after = memory_.counts();
    counts_.memory_bytes += after.memory_bytes - before.memory_bytes;
    counts_.l1_misses += static_cast<double>(after.l1_misses - before.l1_misses);
    counts_.l2_misses += static_cast<double>(after.l2_misses - before.l2_misses);
    counts_.l3_misses += static_cast<double>(after.l3_misses - before.l3_misses);
    return counts_;
}

std::int64_t CoreModel::trips(const Nest& nest) const {
    const cpu::Loop& loop = *nest.loop;
    return loop.bounded ? std::max<std::int64_t>(0, std::min(loop.count, loop.limit.at(counters_.data()))) : loop.count;
}

void CoreModel::run_shared(const Nest& root, std::size_t level, std::int64_t first, std::int64_t last, bool touches) {
    // [first, last) of the iterations of this loop and those within it. An iteration of an outer one that belongs to the thread as a
    // whole repeats like any other; those at the ends may be parts.
    std::int64_t inner = 1;
    for (std::size_t c = level + 1; c < region_->counts.size(); ++c) inner *= region_->counts[c];
    if (level + 1 == region_->counts.size()) {
        const auto one = [&](std::int64_t i, bool only_touch) {
            counters_[level] = i;
            only_touch ? touch_body(root) : run_body(root);
        };
        if (touches) {
            for (std::int64_t i = first; i < last; ++i) one(i, true);
            return;
        }
        run_iterations({first, last, root.window, level == 0}, [&](std::int64_t i) { one(i, false); }, [&](std::int64_t i) { one(i, true); });
        return;
    }
    const auto part = [&](std::int64_t i, bool only_touch) {
        counters_[level] = i;
        run_shared(root, level + 1, std::max<std::int64_t>(0, first - i * inner), std::min(inner, last - i * inner), only_touch);
    };
    std::int64_t from = first / inner;
    const std::int64_t until = (last + inner - 1) / inner;
    if (touches) {
        for (; from < until; ++from) part(from, true);
        return;
    }
    if (first % inner != 0 && from < until) part(from++, false);
    const std::int64_t whole = last / inner;
    if (from < whole) run_iterations({from, whole, 1, level == 0}, [&](std::int64_t i) { part(i, false); }, [&](std::int64_t i) { part(i, true); });
    for (from = std::max(from, whole); from < until; ++from) part(from, false);
}

void CoreModel::run_nest(const Nest& nest) {
    const std::int64_t count = trips(nest);
    run_iterations({0, count, nest.window, false},
                   [&](std::int64_t i) {
                       counters_[nest.loop->counter] = i;
                       run_body(nest);
                   },
                   [&](std::int64_t i) {
                       counters_[nest.loop->counter] = i;
                       touch_body(nest);
                   });
    // The exit of a long loop is not predicted.
    if (count > config_.predicted_trips) {
        alloc_ += config_.branch_miss;
        alloc_used_ = 0;
    }
}

template <class Run, class Touch>
void CoreModel::run_iterations(const Iterations& these, const Run& run, const Touch& touch) {
    const std::int64_t trips = these.last - these.first;
    const bool may_fold = folding_ && trips >= 5 * these.window;
    Mark mark{clock(), counts_, memory_.counts()};
    double one = -1, two = -1;  // the times of the last windows
    for (std::int64_t i = these.first; i < these.last; ++i) {
        run(i);
        // Count and branch.
        if (trips > 1) {
            if (++alloc_used_ >= config_.issue) ++alloc_, alloc_used_ = 0;
            counts_.issue += 1;
        }
        if (!may_fold || (i + 1 - these.first) % these.window != 0) continue;
        const double time = clock() - mark.time;
        const auto alike = [](double a, double b) { return std::fabs(a - b) <= 0.01 * std::max(a, b) + 1; };
        if (one >= 0 && two >= 0 && alike(time, one) && alike(one, two) && i + 1 < these.last) {
            const auto window = static_cast<double>(these.window);
            fold(these, i + 1, (time + one) / 2 / window, std::fabs(time - one) / window, mark, touch);
            return;
        }
        mark = {clock(), counts_, memory_.counts()};
        two = one;
        one = time;
    }
}

template <class Touch>
void CoreModel::fold(const Iterations& these, std::int64_t next, double each, double spread, const Mark& mark, const Touch& touch) {
    const auto left = static_cast<double>(these.last - next);
    folded_ += left * each;
    counts_.bar += left * spread;
    // What the last window did, the rest does.
    const double windows = left / static_cast<double>(these.window);
    const auto more = [&](double CoreCounts::*count) { counts_.*count += (counts_.*count - mark.counts.*count) * windows; };
    more(&CoreCounts::arithmetic);
    more(&CoreCounts::vector);
    more(&CoreCounts::loads);
    more(&CoreCounts::stores);
    more(&CoreCounts::issue);
    more(&CoreCounts::matrix);
    more(&CoreCounts::instructions);
    const CoreMemoryCounts now = memory_.counts();
    // memory_bytes: of folds within the window, and of what was simulated in it.
    counts_.memory_bytes += (counts_.memory_bytes - mark.counts.memory_bytes + now.memory_bytes - mark.memory.memory_bytes) * windows;
    const auto accesses = static_cast<double>(now.accesses - mark.memory.accesses);
    if (these.outermost && accesses * windows > kMostTouches) return;
    for (std::int64_t i = next; i < these.last; ++i) touch(i);
    // Write-backs on the way are among the bytes above.
    counts_.memory_bytes -= memory_.counts().memory_bytes - now.memory_bytes;
}

void CoreModel::run_body(const Nest& nest) {
    for (const Node node : nest.body) {
        if (node.step >= 0) {
            execute(steps_[node.step]);
        } else {
            run_nest(nests_[node.nest]);
        }
    }
}

void CoreModel::touch_body(const Nest& nest) {
    for (const Node node : nest.body) {
        if (node.step >= 0) {
            Step& step = steps_[node.step];
            if (step.load || step.store) touch(step);
            continue;
        }
        const Nest& inner = nests_[node.nest];
        const std::int64_t count = trips(inner);
        for (std::int64_t i = 0; i < count; ++i) {
            counters_[inner.loop->counter] = i;
            touch_body(inner);
        }
    }
}

/// Calls function(line) for each line that the access touches.
template <class Function>
void CoreModel::for_lines(Step& step, Function function) {
    const cpu::Instruction& one = *step.instruction;
    std::int64_t first_lane = 0, last_lane = static_cast<std::int64_t>(step.access == Access::rows ? 16 : program_->lanes) - 1;
    for (const cpu::Mask& mask : one.masks) {
        const std::int64_t value = mask.value.at(counters_.data());
        if (mask.lane_stride == 0) {
            if (value < 0 || value >= mask.limit) return;
        } else if (mask.lane_stride > 0) {
            if (value < 0) first_lane = std::max(first_lane, (-value + mask.lane_stride - 1) / mask.lane_stride);
            if (mask.limit - 1 - value < 0) return;
            last_lane = std::min(last_lane, (mask.limit - 1 - value) / mask.lane_stride);
        } else {
            if (value < 0) return;
            last_lane = std::min(last_lane, value / -mask.lane_stride);
            if (value >= mask.limit) first_lane = std::max(first_lane, (value - mask.limit) / -mask.lane_stride + 1);
        }
    }
    if (first_lane > last_lane) return;
    std::int64_t at = step.base + one.offset.at(counters_.data());
    if (one.opcode == Opcode::op_gather || one.opcode == Opcode::op_scatter) {
        // Indices are uniform over the buffer: no values in a run for time.
        const std::int64_t rows = std::max<std::int64_t>(1, static_cast<std::int64_t>(program_->buffers[one.buffer].bytes) / std::max<std::int64_t>(1, one.scale));
        const auto random_row = [&] {
            random_ = random_ * 6364136223846793005u + 1442695040888963407u;
            return static_cast<std::int64_t>((random_ >> 33) % static_cast<std::uint64_t>(rows));
        };
        if (step.access == Access::indexed) {
            for (std::int64_t lane = first_lane; lane <= last_lane; ++lane)
                function(static_cast<std::uint64_t>(at + lane * one.lane_bytes + random_row() * one.scale) / 64);
            return;
        }
        // The row of a uniform index stays while the inner loops go along it: a hash of the counters that the offset does not name.
        std::uint64_t hash = 0x9E3779B97F4A7C15u;
        for (std::size_t c = 0; c < cpu::kMostLoops; ++c) {
            const bool named = std::any_of(one.offset.terms.begin(), one.offset.terms.end(), [&](const auto& term) { return term.loop == c; });
            if (!named) hash = (hash ^ static_cast<std::uint64_t>(counters_[c] + 1)) * 0xff51afd7ed558ccdu;
        }
        at += static_cast<std::int64_t>((hash >> 20) % static_cast<std::uint64_t>(rows)) * one.scale;
    }
    if (step.access == Access::contiguous) {
        const std::int64_t from = at + first_lane * one.lane_bytes, until = at + last_lane * one.lane_bytes + step.element - 1;
        for (std::uint64_t line = static_cast<std::uint64_t>(from) / 64; line <= static_cast<std::uint64_t>(until) / 64; ++line) function(line);
        return;
    }
    std::uint64_t last = ~std::uint64_t{0};
    for (std::int64_t lane = first_lane; lane <= last_lane; ++lane) {
        const std::int64_t from = at + lane * one.lane_bytes;
        for (std::uint64_t line = static_cast<std::uint64_t>(from) / 64; line <= static_cast<std::uint64_t>(from + step.element - 1) / 64; ++line) {
            if (line != last) function(line);
            last = line;
        }
    }
}

void CoreModel::touch(Step& step) {
    for_lines(step, [&](std::uint64_t line) {
        if (line == step.last_line) return;
        step.last_line = line;
        if (!step.instruction->streaming) memory_.touch(line, step.store, step.sharers, resident_[step.buffer]);
    });
}

double CoreModel::memory_access(Step& step, double now) {
    double ready = now;
    bool any = false;
    for_lines(step, [&](std::uint64_t line) {
        any = true;
        step.last_line = line;
        const double at = step.instruction->streaming ? memory_.stream_out(now)
                                                      : memory_.access(line, now, step.store, step.sharers, resident_[step.buffer],
                                                                         static_cast<std::uint64_t>(&step - steps_.data()));
        ready = std::max(ready, at);
    });
    return any ? ready : now + config_.l1.latency;
}

std::int64_t CoreModel::reserve(Port port, std::int64_t from, unsigned slots) {
    // Threads of one core see each other's work: every slot counts for all of them.
    slots *= shared_core_;
    std::int64_t first = -1, cycle = from;
    for (unsigned i = 0; i < slots; ++i) {
        switch (port) {
            case Port::load:
                while (!load_.is_free(cycle)) ++cycle;
                load_.take(cycle);
                break;
            case Port::arithmetic:
                // Pipes of arithmetic are some of the vector pipes.
                while (!arithmetic_.is_free(cycle) || !vector_.is_free(cycle)) ++cycle;
                arithmetic_.take(cycle);
                vector_.take(cycle);
                break;
            default:
                while (!vector_.is_free(cycle)) ++cycle;
                vector_.take(cycle);
        }
        if (first < 0) first = cycle;
    }
    return slots > 1 ? cycle : first;
}

void CoreModel::execute(Step& step) {
    ++counts_.simulated;
    counts_.instructions += 1;
    counts_.issue += step.issue;
    // In order into the window.
    const unsigned width = config_.issue;
    if (step.load && loads_.oldest() > static_cast<double>(alloc_)) alloc_ = static_cast<std::int64_t>(std::ceil(loads_.oldest())), alloc_used_ = 0;
    if (step.store && stores_.oldest() > static_cast<double>(alloc_)) alloc_ = static_cast<std::int64_t>(std::ceil(stores_.oldest())), alloc_used_ = 0;
    for (std::uint32_t i = 0; i < std::max(1u, step.issue * shared_core_); ++i) {
        if (window_.oldest() > static_cast<double>(alloc_)) alloc_ = static_cast<std::int64_t>(std::ceil(window_.oldest())), alloc_used_ = 0;
        if (step.issue != 0 && ++alloc_used_ >= width) ++alloc_, alloc_used_ = 0;
    }
    double ready = static_cast<double>(alloc_);
    if (step.a >= 0) ready = std::max(ready, ready_[step.a]);
    if (step.b >= 0) ready = std::max(ready, ready_[step.b]);
    if (step.c >= 0) ready = std::max(ready, ready_[step.c]);
    const auto from = static_cast<std::int64_t>(std::ceil(ready));
    double done = ready;
    if (step.store) {
        // Address and data go to the store queue; the line is asked for at once, and written in order after retirement.
        std::int64_t cycle = from;
        for (unsigned i = 0; i < step.slots * shared_core_; ++i) {
            while (!store_.is_free(cycle)) ++cycle;
            store_.take(cycle);
        }
        counts_.stores += step.slots;
        done = static_cast<double>(cycle) + 1;
        retired_ = std::max(retired_, done);
        // Addresses are known early: the request for the line does not wait for the data.
        const double line = memory_access(step, static_cast<double>(alloc_) + 1);
        const double step_time = step.access == Access::contiguous ? 1.0 / config_.store_ports : static_cast<double>(step.slots) / config_.store_ports;
        committed_ = std::max({committed_ + step_time, retired_, line - config_.l1.latency});
        stores_.push(committed_);
    } else {
        switch (step.port) {
            case Port::none: break;
            case Port::divide: {
                const double begin = std::max(ready, divider_);
                divider_ = begin + config_.divide_interval * step.slots * shared_core_;
                counts_.arithmetic += step.slots;
                done = begin + step.latency;
                break;
            }
            case Port::matrix: {
                const double begin = std::max(ready, matrix_);
                matrix_ = begin + config_.tile_interval * shared_core_;
                counts_.matrix += config_.tile_interval;
                done = begin + step.latency;
                break;
            }
            case Port::load: {
                const std::int64_t begin = reserve(Port::load, from, step.slots);
                counts_.loads += step.slots;
                done = step.load ? memory_access(step, static_cast<double>(begin)) : static_cast<double>(begin) + step.latency;
                if (step.load && step.instruction->type != cpu::ElementType::f32 && !cpu::traits(step.instruction->opcode).tile &&
                    step.instruction->type != cpu::ElementType::raw32 && step.instruction->type != cpu::ElementType::i32) {
                    const std::int64_t widened = reserve(Port::vector, static_cast<std::int64_t>(std::ceil(done)), 1);
                    counts_.vector += 1;
                    done = static_cast<double>(widened) + 3;
                }
                if (step.load) loads_.push(done);
                break;
            }
            default: {
                const std::int64_t begin = reserve(step.port, from, step.slots);
                (step.port == Port::arithmetic ? counts_.arithmetic : counts_.vector) += step.slots;
                done = static_cast<double>(begin) + step.latency;
            }
        }
        if (step.instruction->opcode == Opcode::op_prefetch) done = ready;
        if (step.d >= 0) ready_[step.d] = done;
        retired_ = std::max(retired_, done);
    }
    for (std::uint32_t i = 0; i < std::max(1u, step.issue); ++i) window_.push(retired_);
}

}  // namespace heddle::models
