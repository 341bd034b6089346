#include "workloads/lowering/tpu/core_builder.h"

#include <algorithm>

namespace heddle::lowering::on_tpu {
namespace {

// Loads and stores count as a unit for each memory, since transfers to different memories overtake each
// other.
constexpr std::size_t kSequencer = 0, kLoad = 1, kStore = kLoad + tpu::kDmaPaths,
                      kVector = kStore + tpu::kDmaPaths, kTranspose = kVector + 1,
                      kFirstMatrix = kTranspose + 1;
constexpr bool is_dma(std::size_t unit) {
    return unit >= kLoad && unit < kVector;
}
constexpr std::uint64_t kCoreBuilderAlignment = 512;

tpu::VectorOperand operand(const Tile& tile) {
    tpu::VectorOperand result;
    result.type = tile.type;
    result.vmem = static_cast<std::int64_t>(tile.address);
    result.row_stride = tile.row_stride;
    result.broadcast_columns = tile.broadcast_columns;
    return result;
}

std::uint32_t narrow(std::uint64_t value) {
    if (value > UINT32_MAX) throw Unsupported{"a tile or transfer has an extent of " + std::to_string(value)};
    return static_cast<std::uint32_t>(value);
}

}  // namespace

Tile Tile::at(std::uint64_t row, std::uint64_t column) const {
    Tile tile = *this;
    tile.address += row * row_stride + (broadcast_columns ? 0 : column * bytes_of(type));
    return tile;
}

CoreBuilder::CoreBuilder(const target::TpuTarget& target, unsigned core) : target_(target), core_(core) {}

std::uint64_t CoreBuilder::allocate(std::uint64_t bytes) {
    const std::uint64_t address = next_address_;
    const std::uint64_t end = (address + bytes + kCoreBuilderAlignment - 1) / kCoreBuilderAlignment * kCoreBuilderAlignment;
    if (end > target_.vmem_bytes) {
        throw Unsupported{"its tiles need more than the " + std::to_string(target_.vmem_bytes) +
                          " bytes of on-chip memory"};
    }
    next_address_ = end;
    return address;
}

Region* CoreBuilder::new_region() {
    return &regions_.emplace_back();
}

Tile CoreBuilder::new_tile(tpu::ElementType type, std::uint64_t rows, std::uint64_t columns) {
    Tile tile;
    tile.type = type;
    tile.row_stride = columns * bytes_of(type);
    tile.address = allocate(rows * tile.row_stride);
    tile.region = new_region();
    return tile;
}

std::uint16_t CoreBuilder::new_flag() {
    if (next_flag_ >= target_.sync_flags) {
        throw Unsupported{"it needs more than the " + std::to_string(target_.sync_flags) +
                          " sync flags of a core"};
    }
    return next_flag_++;
}

std::size_t CoreBuilder::unit_index(const tpu::Operation& operation) {
    switch (tpu::unit_of(operation)) {
        case tpu::UnitKind::sequencer:
            return kSequencer;
        case tpu::UnitKind::dma_load:
            return kLoad + static_cast<std::size_t>(tpu::path_of(std::get<tpu::Dma>(operation)));
        case tpu::UnitKind::dma_store:
            return kStore + static_cast<std::size_t>(tpu::path_of(std::get<tpu::Dma>(operation)));
        case tpu::UnitKind::vector:
            return kVector;
        case tpu::UnitKind::transpose:
            return kTranspose;
        case tpu::UnitKind::push:
            return kFirstMatrix + 3 * std::size_t{std::get<tpu::PushWeights>(operation).unit};
        case tpu::UnitKind::matmul:
            return kFirstMatrix + 1 + 3 * std::size_t{std::get<tpu::Matmul>(operation).unit};
        case tpu::UnitKind::pop:
            return kFirstMatrix + 2 + 3 * std::size_t{std::get<tpu::Pop>(operation).unit};
    }
    return kSequencer;
}

void CoreBuilder::depend(std::vector<Region::Stamp>& on, const std::vector<Region::Stamp>& stamps) const {
    for (const Region::Stamp& earlier : stamps) {
        if (earlier.position >= fence_) stamp(on, earlier);
    }
}

/// Keeps the latest position of each unit.
void CoreBuilder::stamp(std::vector<Region::Stamp>& list, const Region::Stamp& present) {
    for (Region::Stamp& entry : list) {
        if (entry.unit != present.unit) continue;
        entry.position = std::max(entry.position, present.position);
        return;
    }
    list.push_back(present);
}

void CoreBuilder::wait_for(std::size_t unit, std::size_t position, const Region::Stamp& earlier) {
    auto found = channels_.find({earlier.unit, unit});
    if (found == channels_.end())
        found = channels_.emplace(std::pair(earlier.unit, unit), Channel{new_flag(), 0}).first;
    Channel& channel = found->second;
    if (earlier.position < channel.covered) return;
    channel.covered = earlier.position + 1;
    program_.instructions[earlier.position].signals.push_back({channel.flag, -1});
    program_.instructions[position].waits.push_back({channel.flag, 1});
}

void CoreBuilder::emit(tpu::Operation operation, const std::vector<Access>& accesses) {
    const std::size_t unit = unit_index(operation);
    const std::size_t position = program_.instructions.size();
    program_.instructions.push_back({std::move(operation), {}, {}, 0});
    std::vector<Region::Stamp> reads_after, writes_after;
    for (const Access& access : accesses) {
        if (access.region == nullptr) continue;
        const Region& region = *access.region;
        switch (access.kind) {
            case AccessKind::read:
                depend(reads_after, region.writers);
                break;
            case AccessKind::write:
                depend(writes_after, region.writers);
                depend(writes_after, region.readers);
                depend(writes_after, region.before);
                break;
            case AccessKind::write_part:
                depend(writes_after, region.readers);
                depend(writes_after, region.before);
                if (!region.partial) depend(writes_after, region.writers);
                break;
        }
    }
    std::vector<Region::Stamp> needed;
    for (const Region::Stamp& earlier : reads_after) {
        // A unit works in order, but DMA transfers overlap: a gather must wait for the load of its indices.
        if (earlier.unit != unit || is_dma(unit)) stamp(needed, earlier);
    }
    for (const Region::Stamp& earlier : writes_after) {
        if (earlier.unit != unit) stamp(needed, earlier);
    }
    for (const Region::Stamp& earlier : needed) wait_for(unit, position, earlier);
    for (const Access& access : accesses) {
        if (access.region == nullptr) continue;
        Region& region = *access.region;
        if (access.kind == AccessKind::read) {
            stamp(region.readers, {unit, position});
        } else if (access.kind == AccessKind::write) {
            region.writers = {{unit, position}};
            region.readers.clear();
            region.before.clear();
            region.partial = false;
        } else {
            if (!region.readers.empty() || !region.partial) {
                // A new round of parts: each of its writers waits for what came before.
                region.before = region.readers;
                for (const Region::Stamp& earlier : region.writers) stamp(region.before, earlier);
                region.writers.clear();
                region.readers.clear();
                region.partial = true;
            }
            stamp(region.writers, {unit, position});
        }
    }
    last_of_unit_[unit] = position;
}

void CoreBuilder::wait_for_all() {
    const std::size_t position = program_.instructions.size();
    program_.instructions.push_back({tpu::Wait{}, {}, {}, 0});
    for (const auto& [unit, last] : last_of_unit_) {
        if (last >= fence_) wait_for(kSequencer, position, {unit, last});
    }
    if (program_.instructions[position].waits.empty()) program_.instructions.pop_back();
    fence_ = program_.instructions.size();
}

void CoreBuilder::start_over() {
    if (next_address_ == 0) return;
    wait_for_all();
    next_address_ = 0;
}

void CoreBuilder::vector(const std::shared_ptr<const tpu::VectorKernel>& kernel, std::uint64_t rows,
                         std::uint64_t columns, const std::vector<Tile>& inputs,
                         const std::vector<Tile>& outputs, const std::vector<float>& scalars,
                         std::int64_t row_origin, std::int64_t column_origin, std::uint64_t element_stride) {
    tpu::Vector vector;
    vector.kernel = kernel;
    vector.rows = narrow(rows);
    vector.columns = narrow(columns);
    vector.scalars = scalars;
    vector.row_origin = row_origin;
    vector.column_origin = column_origin;
    vector.element_stride = element_stride;
    std::vector<Access> accesses;
    for (const Tile& tile : inputs) {
        vector.inputs.push_back(operand(tile));
        accesses.push_back({tile.region, AccessKind::read});
    }
    for (const Tile& tile : outputs) {
        vector.outputs.push_back(operand(tile));
        accesses.push_back({tile.region, AccessKind::write});
    }
    emit(std::move(vector), accesses);
}

void CoreBuilder::transpose(const Tile& source, const Tile& destination, std::uint64_t rows,
                            std::uint64_t columns, bool part) {
    tpu::Transpose transpose;
    transpose.source = static_cast<std::int64_t>(source.address);
    transpose.destination = static_cast<std::int64_t>(destination.address);
    transpose.rows = narrow(rows);
    transpose.columns = narrow(columns);
    transpose.source_stride = source.row_stride;
    transpose.destination_stride = destination.row_stride;
    transpose.type = source.type;
    emit(transpose, {{source.region, AccessKind::read},
                     {destination.region, part ? AccessKind::write_part : AccessKind::write}});
}

void CoreBuilder::dma(tpu::Dma dma, Region* vmem, Region* hbm, bool part) {
    const bool load = dma.kind == tpu::DmaKind::load || dma.kind == tpu::DmaKind::gather;
    const AccessKind write = part ? AccessKind::write_part : AccessKind::write;
    emit(dma, {{vmem, load ? write : AccessKind::read}, {hbm, load ? AccessKind::read : write}});
}

void CoreBuilder::push(unsigned unit, const Tile& weights, std::uint64_t rows, std::uint64_t columns,
                       bool transposed, tpu::Bf16Part part) {
    tpu::PushWeights push;
    push.unit = static_cast<std::uint8_t>(unit);
    push.vmem = static_cast<std::int64_t>(weights.address);
    push.rows = narrow(rows);
    push.columns = narrow(columns);
    push.stride = weights.row_stride;
    push.type = weights.type;
    push.part = part;
    push.transposed = transposed;
    emit(push, {{weights.region, AccessKind::read}});
}

void CoreBuilder::matmul(unsigned unit, const Tile& activations, std::uint64_t rows, std::uint64_t depth,
                         std::uint64_t columns, std::uint64_t accumulator, bool accumulate,
                         tpu::Bf16Part part, bool same_weights) {
    tpu::Matmul matmul;
    matmul.unit = static_cast<std::uint8_t>(unit);
    matmul.vmem = static_cast<std::int64_t>(activations.address);
    matmul.rows = narrow(rows);
    matmul.depth = narrow(depth);
    matmul.columns = narrow(columns);
    matmul.stride = activations.row_stride;
    matmul.type = activations.type;
    matmul.part = part;
    matmul.accumulator = narrow(accumulator);
    matmul.accumulate = accumulate;
    matmul.next_weights = !same_weights;
    emit(matmul, {{activations.region, AccessKind::read}});
}

void CoreBuilder::pop(unsigned unit, const Tile& result, std::uint64_t rows, std::uint64_t columns,
                      std::uint64_t accumulator, bool part) {
    tpu::Pop pop;
    pop.unit = static_cast<std::uint8_t>(unit);
    pop.vmem = static_cast<std::int64_t>(result.address);
    pop.rows = narrow(rows);
    pop.columns = narrow(columns);
    pop.stride = result.row_stride;
    pop.type = result.type;
    pop.accumulator = narrow(accumulator);
    emit(pop, {{result.region, part ? AccessKind::write_part : AccessKind::write}});
}

tpu::CoreProgram CoreBuilder::finish() {
    program_.instructions.push_back({tpu::Halt{}, {}, {}, 0});
    return std::move(program_);
}

}  // namespace heddle::lowering::on_tpu
