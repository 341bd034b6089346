#include "workloads/lowering/tpu/tile_transfer.h"

namespace heddle::lowering::on_tpu {
namespace {

/// Beyond this an op would become a program of single elements; better to say so.
constexpr std::size_t kMostInstructions = 2'000'000;

tpu::Dma transfer(tpu::DmaKind kind, std::uint64_t vmem, std::uint64_t hbm, std::uint64_t rows,
                  std::uint64_t row_bytes, std::uint64_t vmem_stride, std::uint64_t hbm_stride) {
    if (rows > UINT32_MAX || row_bytes > UINT32_MAX) throw Unsupported{"a transfer is too large"};
    tpu::Dma dma;
    dma.kind = kind;
    dma.vmem = static_cast<std::int64_t>(vmem);
    dma.hbm = static_cast<std::int64_t>(hbm);
    dma.rows = static_cast<std::uint32_t>(rows);
    dma.row_bytes = static_cast<std::uint32_t>(row_bytes);
    dma.vmem_stride = vmem_stride;
    dma.hbm_stride = hbm_stride;
    return dma;
}

}  // namespace

bool needs_staging(const TileSource& source) {
    return source.columns > 1 && source.column_stride > 1 && source.row_stride == 1 && source.rows > 1;
}

std::uint64_t TileRing::bytes(tpu::ElementType type, std::uint64_t elements, bool staged) {
    return divide_up(elements * bytes_of(type), 512) * 512 * (staged ? 2 : 1);
}

TileRing::TileRing(CoreBuilder& core, tpu::ElementType type, std::uint64_t elements, std::size_t places,
                   bool staged)
    : type_(type), elements_(elements) {
    for (std::size_t i = 0; i < places; ++i) {
        Place place;
        place.address = core.allocate(elements * bytes_of(type));
        place.region = core.new_region();
        if (staged) {
            place.staging_address = core.allocate(elements * bytes_of(type));
            place.staging = core.new_region();
        }
        places_.push_back(place);
    }
}

Tile TileRing::next(std::uint64_t columns) {
    const Place& place = places_[turn_++ % places_.size()];
    Tile tile;
    tile.type = type_;
    tile.address = place.address;
    tile.row_stride = columns * bytes_of(type_);
    tile.region = place.region;
    return tile;
}

Tile TileRing::load_at(CoreBuilder& core, std::size_t which, const TileSource& source, Region* hbm) {
    using tpu::DmaKind;
    if (core.size() > kMostInstructions) throw Unsupported{"its strides take it apart into single elements"};
    const Place& place = places_[which];
    const std::uint64_t size = bytes_of(type_);
    const std::uint64_t rows = source.rows, columns = source.columns;
    const auto row_stride = static_cast<std::uint64_t>(source.row_stride) * size;
    const auto column_stride = static_cast<std::uint64_t>(source.column_stride) * size;
    Tile tile;
    tile.type = type_;
    tile.address = place.address;
    tile.region = place.region;

    const bool one_row = rows == 1 || source.row_stride == 0;
    const bool one_column = columns == 1 || source.column_stride == 0;
    if (one_column) {
        // A column, or a single number: elements one behind the other.
        tile.broadcast_columns = columns > 1;
        tile.row_stride = one_row && rows > 1 ? 0 : size;
        const std::uint64_t count = one_row ? 1 : rows;
        if (source.row_stride == 1 || count == 1) {
            core.dma(transfer(DmaKind::load, tile.address, source.address, 1, count * size, 0, 0),
                     tile.region, hbm);
        } else {
            core.dma(transfer(DmaKind::load, tile.address, source.address, count, size, size, row_stride),
                     tile.region, hbm);
        }
        return tile;
    }
    tile.row_stride = one_row && rows > 1 ? 0 : columns * size;
    const std::uint64_t count = one_row ? 1 : rows;
    if (source.column_stride == 1) {
        core.dma(transfer(DmaKind::load, tile.address, source.address, count, columns * size, columns * size,
                          row_stride),
                 tile.region, hbm);
    } else if (needs_staging(source)) {
        if (place.staging == nullptr) throw Unsupported{"internal: a transposed tile without room for it"};
        core.dma(transfer(DmaKind::load, place.staging_address, source.address, columns, rows * size,
                          rows * size, column_stride),
                 place.staging, hbm);
        Tile raw = tile;
        raw.address = place.staging_address;
        raw.row_stride = rows * size;
        raw.region = place.staging;
        core.transpose(raw, tile, columns, rows);
    } else {
        for (std::uint64_t row = 0; row < count; ++row) {
            core.dma(transfer(DmaKind::load, tile.address + row * columns * size,
                              source.address + row * row_stride, columns, size, size, column_stride),
                     tile.region, hbm, true);
        }
    }
    return tile;
}

void store(CoreBuilder& core, const Tile& tile, const TileSource& destination, Region* hbm) {
    using tpu::DmaKind;
    if (core.size() > kMostInstructions) throw Unsupported{"its strides take it apart into single elements"};
    const std::uint64_t size = bytes_of(tile.type);
    const auto row_stride = static_cast<std::uint64_t>(destination.row_stride) * size;
    const auto column_stride = static_cast<std::uint64_t>(destination.column_stride) * size;
    if (destination.columns == 1 && destination.row_stride == 1 && tile.row_stride == size) {
        core.dma(
            transfer(DmaKind::store, tile.address, destination.address, 1, destination.rows * size, 0, 0),
            tile.region, hbm);
    } else if (destination.column_stride == 1 || destination.columns == 1) {
        core.dma(transfer(DmaKind::store, tile.address, destination.address, destination.rows,
                          destination.columns * size, tile.row_stride, row_stride),
                 tile.region, hbm);
    } else {
        for (std::uint64_t row = 0; row < destination.rows; ++row) {
            core.dma(transfer(DmaKind::store, tile.address + row * tile.row_stride,
                              destination.address + row * row_stride, destination.columns, size, size,
                              column_stride),
                     tile.region, hbm, true);
        }
    }
}

}  // namespace heddle::lowering::on_tpu
