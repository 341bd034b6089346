#include "models/tpu/dma_engine.h"

#include <algorithm>

namespace heddle::models {

DmaEngine::DmaEngine(const sc_core::sc_module_name& name, ClockDomain& clock, const DmaConfig& config,
                     unsigned access_bytes, unsigned queue_depth, unsigned first_hbm_queue,
                     RowCycles row_cycles)
    : Block(name, clock),
      flags("flags"),
      memory("memory"),
      hbm("hbm"),
      common("common"),
      host("host"),
      instructions("instructions"),
      config_(config),
      access_bytes_(access_bytes),
      first_hbm_queue_(first_hbm_queue),
      row_cycles_(std::move(row_cycles)),
      load_(queue_depth),
      store_(queue_depth) {
    instructions.bind(*this);
}

void DmaEngine::reset() {
    for (Direction* const direction : {&load_, &store_}) {
        direction->queue.reset();
        direction->under_way.clear();
        direction->times.reset();
        direction->free_at = 0;
        direction->port_claimed = false;
    }
    next_number_ = 0;
    statistics_ = {};
}

InstructionQueue& DmaEngine::queue_for(const tpu::Operation& operation) {
    return tpu::unit_of(operation) == tpu::UnitKind::dma_load ? load_.queue : store_.queue;
}

void DmaEngine::issue(Cycle now, const IssuedInstruction& issued) {
    queue_for(issued.instruction->operation).push(now, issued);
    wake(now + 1);
}

bool DmaEngine::is_idle() const {
    for (const Direction* const direction : {&load_, &store_}) {
        if (!direction->under_way.empty() || !direction->queue.empty()) return false;
    }
    return true;
}

const DmaStatistics& DmaEngine::statistics() {
    statistics_.load_times = load_.times.times();
    statistics_.store_times = store_.times.times();
    return statistics_;
}

OnChipRate DmaEngine::rate_of(const Direction& direction) const {
    return &direction == &load_ ? OnChipRate{0, config_.bytes_per_cycle}
                                : OnChipRate{config_.bytes_per_cycle, 0};
}

UnitState DmaEngine::obstacle(const Direction& direction, Cycle now) const {
    const IssuedInstruction* const next = direction.queue.front(now);
    if (next == nullptr || now < direction.free_at) return UnitState::empty;
    if (direction.under_way.size() >= config_.outstanding) return UnitState::outstanding;
    if (const UnitState wait = flags->obstacle(*next->instruction, now); wait != UnitState::working)
        return wait;
    if (!direction.port_claimed && !memory->has_room(rate_of(direction), now))
        return UnitState::on_chip_memory;
    return UnitState::working;
}

std::uint64_t DmaEngine::bus_bytes(const tpu::Dma& dma, std::uint64_t hbm_address) const {
    const auto pieces = [&](std::uint64_t address, std::uint64_t bytes) {
        return (address % access_bytes_ + bytes + access_bytes_ - 1) / access_bytes_ * access_bytes_;
    };
    const bool indexed = tpu::is_indexed(dma);
    std::uint64_t bytes = 0;
    if (dma.hbm_stride % access_bytes_ == 0 || dma.rows == 1) {
        bytes = dma.rows * pieces(hbm_address, dma.row_bytes);
    } else if (indexed) {
        // Which rows is known only to the values; a row that begins anywhere touches at most this much.
        bytes = std::uint64_t{dma.rows} * pieces(access_bytes_ - 1, dma.row_bytes);
    } else if (dma.hbm_stride == dma.row_bytes) {
        bytes = pieces(hbm_address, std::uint64_t{dma.rows} * dma.row_bytes);
    } else {
        for (std::uint32_t row = 0; row < dma.rows; ++row) {
            bytes += pieces(hbm_address + row * dma.hbm_stride, dma.row_bytes);
        }
    }
    return dma.kind == tpu::DmaKind::scatter_add ? 2 * bytes : bytes;  // read, add, write
}

void DmaEngine::check_bounds(const tpu::Dma& dma, std::uint64_t hbm_address) const {
    const std::uint64_t rows = tpu::is_indexed(dma) ? dma.table_rows : dma.rows;
    hbm_values_->check(hbm_address, (rows - 1) * dma.hbm_stride + dma.row_bytes);
}

void DmaEngine::begin(Direction& direction, Cycle now) {
    const IssuedInstruction issued = *direction.queue.front(now);
    direction.queue.pop(now);
    flags->take(*issued.instruction, now);
    if (!direction.port_claimed) memory->claim(rate_of(direction), now);
    direction.port_claimed = true;
    const auto& dma = issued.as<tpu::Dma>();
    const auto address = static_cast<std::uint64_t>(dma.hbm.at(issued.counters));
    check_bounds(dma, address);

    HbmRequest request;
    request.client = this;
    request.number = next_number_++;
    request.bytes = bus_bytes(dma, address);
    // Rows of a gather or scatter lie anywhere, and so do pieces of rows: each is a strip of its own.
    const bool indexed = tpu::is_indexed(dma);
    const bool pieces = dma.row_bytes < 2 * tpu::kLanes;
    const unsigned together = indexed || pieces ? 1 : config_.strip_rows;
    const std::uint64_t strips = (std::uint64_t{dma.rows} + together - 1) / together;
    const bool one_piece = !indexed && dma.hbm_stride == dma.row_bytes && dma.vmem_stride == dma.row_bytes;
    request.least_cycles =
        std::max<std::uint64_t>((request.bytes + config_.bytes_per_cycle - 1) / config_.bytes_per_cycle,
                                one_piece ? 1ull : strips * config_.cycles_per_strip);
    if (indexed && row_cycles_) {
        const unsigned passes = dma.kind == tpu::DmaKind::scatter_add ? 2 : 1;
        request.least_cycles = row_cycles_(dma.rows, dma.row_bytes, passes);
    }
    request.write = &direction == &store_;
    const tpu::DmaPath path = tpu::path_of(dma);
    const bool in_common = path == tpu::DmaPath::common || path == tpu::DmaPath::common_rows;
    (path == tpu::DmaPath::host ? host
     : in_common                ? common
                                : hbm)
        ->request(first_hbm_queue_ + (request.write ? 1 : 0), request, now + config_.issue_cycles);
    direction.under_way.push_back({issued, now, kNever, request.number});
    tell_under_way(direction, now);
    if (probe() != nullptr) probe()->add(request.write ? 7 : 6, now, request.bytes);
    direction.free_at = now + 1;
    const std::uint64_t bytes = std::uint64_t{dma.rows} * dma.row_bytes;
    if (dma.host) statistics_.host_bytes += bytes;
    if (request.write) {
        ++statistics_.stores;
        statistics_.bytes_stored += bytes;
    } else {
        ++statistics_.loads;
        statistics_.bytes_loaded += bytes;
    }
}

void DmaEngine::served(std::uint64_t request, Cycle at) {
    for (Direction* const direction : {&load_, &store_}) {
        for (Transfer& transfer : direction->under_way) {
            if (transfer.number != request) continue;
            transfer.end = at;
            wake(at);
        }
    }
}

bool DmaEngine::finish_transfers(Direction& direction, Cycle now) {
    const std::size_t before = direction.under_way.size();
    for (std::size_t i = 0; i < before && i < direction.under_way.size();) {
        Transfer& transfer = direction.under_way[i];
        if (transfer.end > now) {
            ++i;
            continue;
        }
        const tpu::Instruction& instruction = *transfer.issued.instruction;
        if (values_ != nullptr) values_->perform(instruction, transfer.issued.counters, *hbm_values_);
        flags->signal(instruction, now);
        if (observer_ != nullptr) observer_->finished(*this, transfer.issued, transfer.begin, now);
        statistics_.last_cycle = now;
        direction.under_way.erase(direction.under_way.begin() + static_cast<std::ptrdiff_t>(i));
    }
    if (direction.under_way.empty() && direction.port_claimed) {
        memory->release(rate_of(direction), now);
        direction.port_claimed = false;
    }
    if (direction.under_way.size() == before) return false;
    tell_under_way(direction, now + 1);
    return true;
}

Cycle DmaEngine::tick(Cycle now) {
    Cycle next = kNever;
    for (Direction* const direction : {&load_, &store_}) {
        const UnitState state = obstacle(*direction, now);
        if (state == UnitState::working) {
            begin(*direction, now);
        } else if (waits_for_flag(state)) {
            flags->tell_of_signals(*direction->queue.front(now)->instruction, *this, now);
        } else if (state == UnitState::on_chip_memory) {
            memory->tell_of_room(*this, now);
        }
        const bool busy = !direction->under_way.empty();
        direction->times.enter(busy ? UnitState::working : state, now);
        const bool ended = finish_transfers(*direction, now);
        if (busy && direction->under_way.empty()) direction->times.enter(UnitState::empty, now + 1);

        for (const Transfer& transfer : direction->under_way) next = std::min(next, transfer.end);
        if (!direction->queue.empty()) {
            const Cycle from = std::max(direction->free_at, direction->queue.visible_from());
            if (from > now) next = std::min(next, from);
            if (ended) next = std::min(next, now + 1);  // there may be room for one more
        }
    }
    return next;
}

std::vector<SignalDeclaration> DmaEngine::signals() const {
    constexpr SignalKind kAmount = SignalKind::amount;
    return {state_signal("load_state", "the way in"),
            state_signal("store_state", "the way out"),
            {"load_queue", 8, "instructions", "Loads that have not begun."},
            {"store_queue", 8, "instructions", "Stores that have not begun."},
            {"loads", 8, "transfers", "Loads under way, of dma.outstanding."},
            {"stores", 8, "transfers", "Stores under way, of dma.outstanding."},
            {"load_bytes", 32, "B", "Bytes, in whole pieces of memory, of the loads that begin.", kAmount},
            {"store_bytes", 32, "B", "Bytes, in whole pieces of memory, of the stores that begin.", kAmount}};
}

void DmaEngine::set_probe(SignalProbe* probe) {
    Block::set_probe(probe);
    load_.times.watch(probe, 0);
    store_.times.watch(probe, 1);
    load_.queue.watch(probe, 2);
    store_.queue.watch(probe, 3);
}

void DmaEngine::tell_under_way(const Direction& direction, Cycle at) {
    if (probe() == nullptr) return;
    probe()->set(&direction == &load_ ? 4 : 5, at, static_cast<std::uint32_t>(direction.under_way.size()));
}

bool DmaEngine::can_act(Cycle now) const {
    for (const Direction* const direction : {&load_, &store_}) {
        if (obstacle(*direction, now) == UnitState::working) return true;
        for (const Transfer& transfer : direction->under_way) {
            if (transfer.end <= now) return true;
        }
    }
    return false;
}

}  // namespace heddle::models
