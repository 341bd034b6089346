#include "sim/sass/copy_text.h"

#include <sstream>

#include "isa/common/error.h"

namespace heddle::sass {
namespace {

using Piece = ptx::AsyncOperation::Piece;

/// Pieces from `first` on that are equal and equally far apart.
std::size_t run_length(const std::vector<Piece>& pieces, std::size_t first) {
    std::size_t count = 1;
    while (first + count < pieces.size() && pieces[first + count].bytes == pieces[first].bytes &&
           pieces[first + count].address - pieces[first + count - 1].address ==
               pieces[first + 1].address - pieces[first].address)
        ++count;
    return count;
}

void write(const ptx::AsyncOperation& o, std::uint64_t base, std::ostream& out) {
    out << static_cast<unsigned>(o.kind) << ' ' << o.reduces << ' ' << o.in_bulk_group << ' ' << o.bytes
        << ' ' << o.destinations << ' ' << o.shared_address;
    std::ostringstream pieces;
    std::size_t runs = 0;
    for (std::size_t i = 0; i < o.pieces.size(); ++runs) {
        const std::size_t count = run_length(o.pieces, i);
        const std::uint64_t step = count > 1 ? o.pieces[i + 1].address - o.pieces[i].address : 0;
        pieces << ' ' << count << ' ' << o.pieces[i].address - base << ' ' << step << ' '
               << o.pieces[i].bytes;
        i += count;
    }
    out << ' ' << runs << pieces.str() << ' ' << o.signals.size();
    for (const auto& signal : o.signals)
        out << ' ' << signal.rank << ' ' << signal.address << ' ' << signal.arrivals << ' '
            << signal.transaction_bytes;
}

class Reader {
  public:
    explicit Reader(const std::string& text) : text_(text), in_(text) {}
    std::uint64_t number(std::uint64_t most) {
        std::uint64_t value = 0;
        if (!(in_ >> value) || value > most) fail();
        return value;
    }
    bool at_end() {
        in_ >> std::ws;
        return in_.eof();
    }
    [[noreturn]] void fail() const {
        throw Error("is no description of a copy", {"", 0, "-heddle copy = " + text_.substr(0, 60)},
                    "record the kernel again");
    }

  private:
    const std::string& text_;
    std::istringstream in_;
};

constexpr std::uint64_t kAny = ~std::uint64_t{0}, kMost32 = 0xFFFFFFFF, kMostPieces = 1 << 20;

ptx::AsyncOperation read(Reader& reader) {
    ptx::AsyncOperation o;
    o.kind = static_cast<ptx::AsyncOperation::Kind>(
        reader.number(static_cast<unsigned>(ptx::AsyncOperation::Kind::arrive_after_copies)));
    o.reduces = reader.number(1) != 0;
    o.in_bulk_group = reader.number(1) != 0;
    o.bytes = static_cast<std::uint32_t>(reader.number(kMost32));
    o.destinations = static_cast<std::uint16_t>(reader.number(0xFFFF));
    o.shared_address = static_cast<std::uint32_t>(reader.number(kMost32));
    for (std::uint64_t runs = reader.number(kMostPieces); runs != 0; --runs) {
        const std::uint64_t count = reader.number(kMostPieces), address = reader.number(kAny),
                            step = reader.number(kAny);
        const auto bytes = static_cast<std::uint32_t>(reader.number(kMost32));
        if (o.pieces.size() + count > kMostPieces) reader.fail();
        for (std::uint64_t i = 0; i < count; ++i) o.pieces.push_back({address + i * step, bytes});
    }
    for (std::uint64_t signals = reader.number(64); signals != 0; --signals) {
        ptx::AsyncOperation::Signal signal{};
        signal.rank = static_cast<std::uint16_t>(reader.number(15));
        signal.address = static_cast<std::uint32_t>(reader.number(kMost32));
        signal.arrivals = static_cast<std::uint32_t>(reader.number(kMost32));
        signal.transaction_bytes = static_cast<std::uint32_t>(reader.number(kMost32));
        o.signals.push_back(signal);
    }
    return o;
}

}  // namespace

std::string to_text(std::span<const ptx::AsyncOperation> operations, std::uint64_t base) {
    std::ostringstream out;
    for (std::size_t i = 0; i < operations.size(); ++i) {
        if (i != 0) out << ' ';
        write(operations[i], base, out);
    }
    return out.str();
}

std::vector<ptx::AsyncOperation> operations_from_text(const std::string& text) {
    Reader reader(text);
    std::vector<ptx::AsyncOperation> result;
    do {
        result.push_back(read(reader));
    } while (!reader.at_end());
    return result;
}

ptx::AsyncOperation operation_of(const BulkCopy& copy) {
    using Kind = ptx::AsyncOperation::Kind;
    ptx::AsyncOperation o;
    const bool load = copy.kind == BulkCopy::Kind::load, prefetch = copy.kind == BulkCopy::Kind::prefetch;
    o.kind = load ? Kind::bulk_load : prefetch ? Kind::prefetch : Kind::bulk_store;
    o.reduces = copy.kind == BulkCopy::Kind::reduction;
    o.in_bulk_group = !load && !prefetch;
    o.bytes = copy.bytes;
    for (const std::uint64_t offset : copy.offsets) o.pieces.push_back({offset, copy.piece_bytes});
    if (!load) return o;
    o.destinations = copy.ranks;
    if (copy.ranks == 0) o.signals.push_back({kOwnRank, copy.barrier, 0, copy.bytes});
    for (std::uint16_t rank = 0; rank < 16; ++rank)
        if ((copy.ranks >> rank & 1) != 0) o.signals.push_back({rank, copy.barrier, 0, copy.bytes});
    return o;
}

std::uint64_t base_of(std::span<const ptx::AsyncOperation> operations) {
    for (const ptx::AsyncOperation& operation : operations)
        if (!operation.pieces.empty()) return operation.pieces.front().address;
    return 0;
}

}  // namespace heddle::sass
