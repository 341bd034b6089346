// Moves tiles of rows x columns between HBM operands with any strides and VMEM.
#pragma once

#include "workloads/lowering/tpu/program_builder.h"

namespace heddle::lowering::on_tpu {

/// A tile's place in HBM: strides in elements from row to row and from column to column.
struct TileSource {
    std::uint64_t address = 0;
    std::uint64_t rows = 0, columns = 0;
    std::int64_t row_stride = 0, column_stride = 1;
};

/// Room for a tile in VMEM, several times over, used in turn.
class TileRing {
  public:
    /// Each place holds `elements` elements; `staged` adds room for the tile before it is transposed.
    TileRing(CoreBuilder& core, tpu::ElementType type, std::uint64_t elements, std::size_t places,
             bool staged = false);

    /// Loads a tile into the next place and says how the vector unit or a matrix unit reads it: repeated rows
    /// and columns are loaded once. A source whose contiguous axis is the row is loaded transposed and turned
    /// in VMEM. `hbm`: what of HBM is read, when the op itself wrote it.
    Tile load(CoreBuilder& core, const TileSource& source, Region* hbm = nullptr) {
        return load_at(core, turn_++ % places_.size(), source, hbm);
    }
    /// Does the same into a place that the caller chooses.
    Tile load_at(CoreBuilder& core, std::size_t place, const TileSource& source, Region* hbm = nullptr);
    /// The next place, dense, to be written by someone else.
    Tile next(std::uint64_t columns);
    /// Bytes that one place takes.
    static std::uint64_t bytes(tpu::ElementType type, std::uint64_t elements, bool staged);

  private:
    struct Place {
        std::uint64_t address = 0, staging_address = 0;
        Region* region = nullptr;
        Region* staging = nullptr;
    };
    tpu::ElementType type_;
    std::uint64_t elements_;
    std::vector<Place> places_;
    std::size_t turn_ = 0;
};

/// Stores a tile. Destinations whose columns do not lie side by side are written row by row, element by
/// element.
void store(CoreBuilder& core, const Tile& tile, const TileSource& destination, Region* hbm = nullptr);
/// True when load() needs a staging place.
bool needs_staging(const TileSource& source);

}  // namespace heddle::lowering::on_tpu
