#include "workloads/sass_traces/values.h"

#include <bit>
#include <string>

#include "workloads/sass_traces/arrivals.h"

namespace heddle::sass {
namespace {

/// Of a copy, more than a box of a tensor map has rows of 16 bytes.
constexpr std::uint32_t kMostPieces = 1u << 20;
constexpr std::uint64_t kOffset = (std::uint64_t{1} << 24) - 1;

bool begins(std::string_view text, std::string_view with) {
    return text.substr(0, with.size()) == with;
}

/// Whether one of the words between the dots is `word`.
bool has_word(std::string_view opcode, std::string_view word) {
    for (std::size_t at = opcode.find('.'); at != std::string_view::npos; at = opcode.find('.', at + 1)) {
        const std::string_view rest = opcode.substr(at + 1);
        if (rest.substr(0, rest.find('.')) == word) return true;
    }
    return false;
}

BulkCopy::Kind kind_of(std::string_view opcode) {
    using Kind = BulkCopy::Kind;
    if (begins(opcode, "UTMAPF") || begins(opcode, "UBLKPF")) return Kind::prefetch;
    if (begins(opcode, "UTMAREDG") || begins(opcode, "UBLKRED")) return Kind::reduction;
    if (begins(opcode, "UTMASTG") ||
        (begins(opcode, "UBLKCP") && opcode.find("G.S") != std::string_view::npos))
        return Kind::store;
    return Kind::load;
}

}  // namespace

RegisterValues read_values(LineTokens& tokens, const LineSource& lines, unsigned registers,
                           std::uint32_t lanes) {
    RegisterValues values;
    const std::string_view word = tokens.word("Val or NoVal");
    if (word == "NoVal") return values;
    if (word != "Val") lines.fail("is neither Val nor NoVal", std::string(word));
    values.known = true;
    const unsigned lane = lanes == 0 ? 0 : static_cast<unsigned>(std::countr_zero(lanes));
    for (unsigned i = 0; i < registers && tokens.more(); ++i) {
        const auto count = tokens.number<unsigned>("a number of values");
        if (count != 1 && count != kWarpSize) lines.fail("is neither 1 nor 32 values", std::to_string(count));
        for (unsigned k = 0; k < count; ++k) {
            const auto value = tokens.number<std::uint64_t>("the value of a register", 16);
            if (count == 1 || k == lane) values.of[i] = value;
        }
    }
    return values;
}

bool is_bulk_copy(std::string_view opcode) {
    if (opcode.empty() || opcode.front() != 'U') return false;
    for (const std::string_view name :
         {"UTMALDG", "UTMASTG", "UTMAPF", "UTMAREDG", "UBLKCP", "UBLKPF", "UBLKRED"})
        if (begins(opcode, name)) return true;
    return false;
}

BulkCopy read_bulk_copy(LineTokens& tokens, const LineSource& lines, std::string_view opcode,
                        std::uint64_t& first_address) {
    BulkCopy copy;
    copy.kind = kind_of(opcode);
    copy.barrier =
        static_cast<std::uint32_t>(tokens.number<std::uint64_t>("the address of an mbarrier", 16) & kOffset);
    if (tokens.number<unsigned>("whether a copy goes to several thread blocks") != 0)
        copy.ranks = tokens.number<std::uint16_t>("the thread blocks that a copy goes to", 16);
    copy.bytes = tokens.number<std::uint32_t>("a number of bytes");
    const auto outside = tokens.number<std::uint32_t>("the bytes out of bounds");
    const auto mode = tokens.number<unsigned>("a mode of addresses");
    if (mode != 3 && mode != 4) lines.fail("is no mode of a copy's addresses: 3 or 4", std::to_string(mode));
    if (mode == 4) first_address = tokens.number<std::uint64_t>("a base address", 16);
    const auto count = tokens.number<std::uint32_t>("a number of addresses");
    if (count > kMostPieces) lines.fail("is more addresses than a copy has", std::to_string(count));
    std::uint64_t address = first_address;
    for (std::uint32_t i = 0; i < count; ++i) {
        if (mode == 3) {
            address = tokens.number<std::uint64_t>("an address", 16);
            if (i == 0) first_address = address;
        } else if (i != 0) {
            address += static_cast<std::uint64_t>(tokens.number<std::int64_t>("a difference of addresses"));
        }
        copy.offsets.push_back(address - first_address);
    }
    const std::uint32_t inside = copy.bytes - std::min(outside, copy.bytes);
    if (count != 0) copy.piece_bytes = (inside + count - 1) / count;
    return copy;
}

// The names of what arrives: A0, A1, AR arrivals (none, one, as the register says), T0, T1, TR transactions
// to come, TX transactions that have come. Nothing: one arrival, and transactions as the register says.
std::int64_t barrier_immediate(std::string_view opcode, std::uint64_t value) {
    if (has_word(opcode, "EXCH"))  // what is kept counts up to 2^20, above one bit
        return static_cast<std::int64_t>((0x100000u - (static_cast<std::uint32_t>(value) >> 1)) & 0xFFFFFu);
    if (has_word(opcode, "PHASECHK")) return value == 0 ? 0 : 1;  // the parity may stand in the highest bit
    const auto number = static_cast<std::int64_t>(value & 0xFFFFFFFF);
    if (has_word(opcode, "A1T0")) return encode_arrival(1, 0);
    if (has_word(opcode, "ART0")) return encode_arrival(number & 0xFFFFF, 0);
    if (has_word(opcode, "A0TR")) return encode_arrival(0, number);
    if (has_word(opcode, "A0TX")) return encode_arrival(0, -number);
    if (has_word(opcode, "A0T1")) return encode_arrival(0, 1);
    return encode_arrival(1, number);
}

std::uint64_t barrier_address(std::string_view opcode, std::uint64_t address, std::uint64_t shared_base) {
    if (address > 0xFFFFFFFF) return address;  // a generic one
    const std::uint64_t rank = address >> 24;
    return shared_base + (address & kOffset) + (has_word(opcode, "RED") ? (rank + 1) << 24 : 0);
}

}  // namespace heddle::sass
