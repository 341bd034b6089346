#include "models/tpu/matrix_unit.h"

#include <algorithm>

namespace heddle::models {
namespace {

bool overlap(std::uint32_t first_a, std::uint32_t rows_a, std::uint32_t first_b, std::uint32_t rows_b) {
    return first_a < first_b + rows_b && first_b < first_a + rows_a;
}

}  // namespace

MatrixUnit::MatrixUnit(const sc_core::sc_module_name& name, ClockDomain& clock,
                       const MatrixUnitConfig& config, unsigned queue_depth)
    : Block(name, clock),
      flags("flags"),
      memory("memory"),
      instructions("instructions"),
      config_(config),
      push_(queue_depth),
      matmul_(queue_depth),
      pop_(queue_depth) {
    instructions.bind(*this);
}

void MatrixUnit::reset() {
    for (Stream* const stream : {&push_, &matmul_, &pop_}) {
        stream->queue.reset();
        stream->active = false;
        stream->present = {};
        stream->begin = 0;
        stream->end = kNever;
        stream->free_at = 0;
        stream->rate = {};
    }
    tiles_ready_.clear();
    present_weights_ = tpu::ElementType::bf16;
    recent_.clear();
    last_stream_end_ = 0;
    streamed_ = false;
    times_.reset();
    statistics_ = {};
}

InstructionQueue& MatrixUnit::queue_for(const tpu::Operation& operation) {
    switch (tpu::unit_of(operation)) {
        case tpu::UnitKind::push:
            return push_.queue;
        case tpu::UnitKind::matmul:
            return matmul_.queue;
        default:
            return pop_.queue;
    }
}

void MatrixUnit::issue(Cycle now, const IssuedInstruction& issued) {
    queue_for(issued.instruction->operation).push(now, issued);
    wake(now + 1);
}

bool MatrixUnit::is_idle() const {
    for (const Stream* const stream : {&push_, &matmul_, &pop_}) {
        if (stream->active || !stream->queue.empty()) return false;
    }
    return true;
}

const MatrixUnitStatistics& MatrixUnit::statistics() {
    statistics_.times = times_.times();
    return statistics_;
}

OnChipRate MatrixUnit::rate_of(const tpu::Operation& operation) const {
    if (const auto* push = std::get_if<tpu::PushWeights>(&operation)) {
        return {std::uint64_t{config_.columns} * config_.weight_rows_per_cycle * bytes_of(push->type), 0};
    }
    if (const auto* matmul = std::get_if<tpu::Matmul>(&operation)) {
        const std::uint64_t row = std::uint64_t{config_.rows} * bytes_of(matmul->type);
        return {matmul->type == tpu::ElementType::int8 ? row * config_.int8_rows_per_cycle : row, 0};
    }
    return {0, std::uint64_t{config_.columns} * bytes_of(std::get<tpu::Pop>(operation).type)};
}

Cycle MatrixUnit::drained_at() const {
    return streamed_ ? last_stream_end_ + config_.rows + config_.columns - 2 : 0;
}

MatrixUnit::StreamRate MatrixUnit::stream_rate(tpu::ElementType activations) const {
    const bool bytes = activations == tpu::ElementType::int8 && present_weights_ == tpu::ElementType::int8;
    return {tpu::cycles_per_row(activations, present_weights_), bytes ? config_.int8_rows_per_cycle : 1u};
}

UnitState MatrixUnit::common_obstacle(const Stream& stream, OnChipRate rate, Cycle now) const {
    const IssuedInstruction* const next = stream.queue.front(now);
    if (const UnitState wait = flags->obstacle(*next->instruction, now); wait != UnitState::working)
        return wait;
    if (!memory->has_room(rate, now)) return UnitState::on_chip_memory;
    return UnitState::working;
}

UnitState MatrixUnit::obstacle_to_push(Cycle now) const {
    const IssuedInstruction* const next = push_.queue.front(now);
    if (next == nullptr) return UnitState::empty;
    if (push_.active || now < push_.free_at || !tiles_ready_.empty()) return UnitState::weight_shift;
    if (config_.weight_buffering == WeightBuffering::single) {
        const bool matmul_before =
            matmul_.queue.has_earlier(next->sequence, [](const auto&) { return true; });
        if (matmul_before || now < drained_at()) return UnitState::accumulator;
    }
    return common_obstacle(push_, rate_of(next->instruction->operation), now);
}

UnitState MatrixUnit::obstacle_to_matmul(Cycle now) const {
    const IssuedInstruction* const next = matmul_.queue.front(now);
    if (matmul_.active || now < matmul_.free_at) return UnitState::accumulator;
    if (next == nullptr) return UnitState::empty;
    // Told in this order: an instruction whose activations are not there does not wait for weights yet.
    if (const UnitState wait = flags->obstacle(*next->instruction, now); wait != UnitState::working)
        return wait;
    const auto& matmul = next->as<tpu::Matmul>();
    if (matmul.next_weights) {
        if (tiles_ready_.empty()) return UnitState::weights;
        if (now < tiles_ready_.front().ready) return UnitState::weight_shift;
    }
    const auto takes_its_rows = [&](const IssuedInstruction& issued) {
        const auto& pop = issued.as<tpu::Pop>();
        return overlap(pop.accumulator, pop.rows, matmul.accumulator, matmul.rows);
    };
    const bool pop_under_way =
        pop_.active && pop_.present.sequence < next->sequence && takes_its_rows(pop_.present);
    if (pop_under_way || pop_.queue.has_earlier(next->sequence, takes_its_rows))
        return UnitState::accumulator;
    return common_obstacle(matmul_, rate_of(next->instruction->operation), now);
}

UnitState MatrixUnit::obstacle_to_pop(Cycle now) const {
    const IssuedInstruction* const next = pop_.queue.front(now);
    if (next == nullptr) return UnitState::empty;
    if (pop_.active || now < pop_.free_at) return UnitState::accumulator;
    return common_obstacle(pop_, rate_of(next->instruction->operation), now);
}

Cycle MatrixUnit::end_of_pop() const {
    const auto& pop = pop_.present.as<tpu::Pop>();
    const auto writes_its_rows = [&](const IssuedInstruction& issued) {
        const auto& matmul = issued.as<tpu::Matmul>();
        return overlap(pop.accumulator, pop.rows, matmul.accumulator, matmul.rows);
    };
    if (matmul_.queue.has_earlier(pop_.present.sequence, writes_its_rows)) return kNever;
    // Row i can be read at begin + i, and not before the last matmul that adds to it is through with it.
    // Results come at most one row per cycle, so a matmul's last row is what a pop may have to wait for.
    const std::uint32_t pop_end = pop.accumulator + pop.rows;
    Cycle end = pop_.begin + pop.rows - 1;
    for (const RecentMatmul& matmul : recent_) {
        if (matmul.sequence > pop_.present.sequence) break;
        if (!overlap(pop.accumulator, pop.rows, matmul.first, matmul.rows)) continue;
        const std::uint32_t last = std::min(matmul.first + matmul.rows, pop_end) - 1;
        const Cycle ready =
            matmul.begin + config_.rows + config_.columns + matmul.rate.cycles(last - matmul.first + 1) - 1;
        end = std::max(end, ready + (pop_end - 1 - last));
    }
    return end;
}

void MatrixUnit::begin(Stream& stream, Cycle now) {
    stream.present = *stream.queue.front(now);
    stream.queue.pop(now);
    stream.active = true;
    stream.begin = now;
    tell_active(stream, now);
    const tpu::Instruction& instruction = *stream.present.instruction;
    flags->take(instruction, now);
    stream.rate = rate_of(instruction.operation);
    memory->claim(stream.rate, now);
    if (&stream == &push_) {
        stream.end = now + push_cycles() - 1;
        tiles_ready_.push_back({now + push_cycles(), stream.present.as<tpu::PushWeights>().type});
        ++statistics_.pushes;
    } else if (&stream == &matmul_) {
        const auto& matmul = stream.present.as<tpu::Matmul>();
        if (matmul.next_weights) {
            present_weights_ = tiles_ready_.front().type;
            tiles_ready_.pop_front();
        }
        const StreamRate rate = stream_rate(matmul.type);
        const Cycle length = rate.cycles(matmul.rows);
        stream.end = now + length - 1;
        streamed_ = true;
        last_stream_end_ = now + length;
        recent_.push_back({stream.present.sequence, matmul.accumulator, matmul.rows, now, rate});
        // What has left the array delays no pop that begins from now on.
        while (!pop_.active && recent_.front().begin + recent_.front().rate.cycles(recent_.front().rows) +
                                       config_.rows + config_.columns <
                                   now) {
            recent_.pop_front();
        }
        ++statistics_.matmuls;
        statistics_.rows_streamed += length;
        statistics_.macs += std::uint64_t{matmul.rows} * matmul.depth * matmul.columns;
        statistics_.useful_cycles += static_cast<double>(length) * matmul.depth * matmul.columns /
                                     (static_cast<double>(config_.rows) * config_.columns);
        statistics_.last_array_cycle = drained_at() - 1;
    } else {
        stream.end = kNever;
        ++statistics_.pops;
    }
    if (values_ != nullptr && &stream != &pop_) values_->perform(instruction, stream.present.counters, *hbm_);
}

void MatrixUnit::finish(Stream& stream, Cycle now) {
    const tpu::Instruction& instruction = *stream.present.instruction;
    if (values_ != nullptr && &stream == &pop_) values_->perform(instruction, stream.present.counters, *hbm_);
    flags->signal(instruction, now);
    memory->release(stream.rate, now);
    if (observer_ != nullptr) observer_->finished(*this, stream.present, stream.begin, now);
    stream.active = false;
    stream.end = kNever;
    stream.free_at = now + 1;
    tell_active(stream, now + 1);
    statistics_.last_cycle = std::max(statistics_.last_cycle, now);
}

std::vector<SignalDeclaration> MatrixUnit::signals() const {
    return {state_signal("state", "the array"),
            {"push_queue", 8, "instructions", "Pushes of weights that have not begun."},
            {"matmul_queue", 8, "instructions", "Products that have not begun."},
            {"pop_queue", 8, "instructions", "Pops of results that have not begun."},
            {"pushing", 1, "", "1: a tile of weights is shifted in."},
            {"streaming", 1, "", "1: rows of activations enter the array."},
            {"popping", 1, "", "1: results are taken out of the accumulators."}};
}

void MatrixUnit::set_probe(SignalProbe* probe) {
    Block::set_probe(probe);
    times_.watch(probe, 0);
    push_.queue.watch(probe, 1);
    matmul_.queue.watch(probe, 2);
    pop_.queue.watch(probe, 3);
}

void MatrixUnit::tell_active(const Stream& stream, Cycle at) {
    if (probe() == nullptr) return;
    probe()->set(&stream == &push_ ? 4 : &stream == &matmul_ ? 5 : 6, at, stream.active ? 1 : 0);
}

void MatrixUnit::ask_to_be_woken(Stream& stream, UnitState obstacle, Cycle now) {
    const IssuedInstruction* const next = stream.queue.front(now);
    if (next == nullptr) return;
    if (waits_for_flag(obstacle)) flags->tell_of_signals(*next->instruction, *this, now);
    if (obstacle == UnitState::on_chip_memory) memory->tell_of_room(*this, now);
}

Cycle MatrixUnit::tick(Cycle now) {
    // A matmul that begins now frees the shadow weights for a push that begins now: the matmul first.
    const UnitState to_matmul = obstacle_to_matmul(now);
    if (to_matmul == UnitState::working) {
        begin(matmul_, now);
        times_.enter(UnitState::working, now);
    } else {
        ask_to_be_woken(matmul_, to_matmul, now);
    }
    const UnitState to_push = obstacle_to_push(now);
    if (to_push == UnitState::working) {
        begin(push_, now);
    } else {
        ask_to_be_woken(push_, to_push, now);
    }
    // A push that begins now changes what the matmul waits for.
    if (!matmul_.active && now >= matmul_.free_at) times_.enter(obstacle_to_matmul(now), now);
    const UnitState to_pop = obstacle_to_pop(now);
    if (to_pop == UnitState::working) {
        begin(pop_, now);
    } else {
        ask_to_be_woken(pop_, to_pop, now);
    }
    if (pop_.active && pop_.end == kNever) pop_.end = end_of_pop();

    for (Stream* const stream : {&matmul_, &push_, &pop_}) {
        if (!stream->active || stream->end > now) continue;
        finish(*stream, now);
        if (stream == &matmul_) times_.enter(UnitState::empty, now + 1);
    }
    return next_event(now);
}

Cycle MatrixUnit::next_event(Cycle now) const {
    Cycle next = kNever;
    const auto consider = [&](Cycle at) {
        if (at > now) next = std::min(next, at);
    };
    for (const Stream* const stream : {&push_, &matmul_, &pop_}) {
        if (stream->active && stream->end != kNever) consider(stream->end);
        if (!stream->queue.empty()) {
            consider(stream->free_at);
            consider(stream->queue.visible_from());
        }
    }
    if (!matmul_.queue.empty() && !tiles_ready_.empty()) consider(tiles_ready_.front().ready);
    if (!matmul_.queue.empty()) consider(pop_.free_at);
    if (!push_.queue.empty() && config_.weight_buffering == WeightBuffering::single) consider(drained_at());
    return next;
}

bool MatrixUnit::can_act(Cycle now) const {
    for (const Stream* const stream : {&push_, &matmul_, &pop_}) {
        if (stream->active && stream->end <= now) return true;
    }
    return obstacle_to_matmul(now) == UnitState::working || obstacle_to_push(now) == UnitState::working ||
           obstacle_to_pop(now) == UnitState::working;
}

}  // namespace heddle::models
