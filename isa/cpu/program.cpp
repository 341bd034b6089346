#include "isa/cpu/program.h"

#include <algorithm>
#include <array>

#include "isa/common/error.h"

namespace heddle::cpu {
namespace {

constexpr OpcodeTraits kOpcodeTraits[] = {
#define HEDDLE_ROW(name, sources, writes, memory, tile) {#name, sources, writes, memory, tile},
    HEDDLE_CPU_OPCODES(HEDDLE_ROW)
#undef HEDDLE_ROW
};

/// Smallest and largest value of an affine expression over the trips of the enclosing loops.
struct Extent {
    std::int64_t low = 0, high = 0;
};

class Validation {
  public:
    explicit Validation(const Program& program) : program_(program) {}

    void region(const Region& region) {
        where_ = program_.name + ", region " + region.name;
        trips_.fill(-1);
        if (region.counts.empty()) fail("has no loop to share");
        if (region.counts.size() > kMostLoops) fail("has too many loops");
        for (std::size_t i = 0; i < region.counts.size(); ++i) {
            if (region.counts[i] < 0) fail("has a negative count");
            trips_[i] = region.counts[i];
        }
        body(region.body);
    }

  private:
    [[noreturn]] void fail(const std::string& problem) const { throw Error(where_ + " " + problem); }

    void body(const Body& nodes) {
        for (const auto& node : nodes) {
            if (const auto* loop = std::get_if<Loop>(&node)) {
                if (loop->counter >= kMostLoops) fail("has a loop with counter " + std::to_string(loop->counter));
                if (trips_[loop->counter] >= 0) fail("uses counter " + std::to_string(loop->counter) + " in two loops at once");
                if (loop->count < 0) fail("has a negative count");
                if (loop->bounded) extent(loop->limit);
                trips_[loop->counter] = loop->count;
                bounded_ += loop->bounded ? 1 : 0;
                body(loop->body);
                bounded_ -= loop->bounded ? 1 : 0;
                trips_[loop->counter] = -1;
            } else {
                instruction(std::get<Instruction>(node));
            }
        }
    }

    Extent extent(const Affine& affine) const {
        Extent found{affine.constant, affine.constant};
        for (const Affine::Term& term : affine.terms) {
            if (term.loop >= kMostLoops || trips_[term.loop] < 0)
                fail("names counter " + std::to_string(term.loop) + " outside of its loop");
            const std::int64_t most = term.stride * std::max<std::int64_t>(0, trips_[term.loop] - 1);
            found.low += std::min<std::int64_t>(0, most);
            found.high += std::max<std::int64_t>(0, most);
        }
        return found;
    }

    void instruction(const Instruction& instruction) {
        const OpcodeTraits& is = traits(instruction.opcode);
        const int registers = is.tile ? static_cast<int>(kTileRegisters) : static_cast<int>(kVectorRegisters);
        const std::array<int, 4> used{is.writes ? instruction.d : 0, is.sources > 0 ? instruction.a : 0,
                                      is.sources > 1 ? instruction.b : 0, is.sources > 2 ? instruction.c : 0};
        for (const int number : used)
            if (number < 0 || number >= registers)
                fail(std::string(is.name) + " names register " + std::to_string(number) + " of " + std::to_string(registers));
        if (instruction.opcode == Opcode::op_shr && instruction.immediate > 31) fail("shifts by more than 31");
        for (const Mask& mask : instruction.masks) extent(mask.value);
        if (!is.memory) return;
        const Extent offset = extent(instruction.offset);
        if (instruction.opcode == Opcode::op_index) return;
        if (instruction.buffer >= program_.buffers.size()) fail("names buffer " + std::to_string(instruction.buffer));
        const bool indexed = instruction.opcode == Opcode::op_gather || instruction.opcode == Opcode::op_scatter;
        // A loop with a limit may not reach the ends of its counter; the executor checks every access.
        if (!instruction.masks.empty() || indexed || instruction.opcode == Opcode::op_prefetch || bounded_ != 0) return;
        const std::int64_t lanes = is.tile ? 16 : program_.lanes;
        const std::int64_t element = is.tile ? 64 : bytes_of(instruction.type);
        const std::int64_t spread = (lanes - 1) * instruction.lane_bytes;
        const Buffer& buffer = program_.buffers[instruction.buffer];
        if (offset.low + std::min<std::int64_t>(0, spread) < 0 ||
            offset.high + std::max<std::int64_t>(0, spread) + element > static_cast<std::int64_t>(buffer.bytes))
            fail(std::string(is.name) + " leaves buffer " + buffer.name + " of " + std::to_string(buffer.bytes) + " bytes");
    }

    const Program& program_;
    std::string where_;
    std::array<std::int64_t, kMostLoops> trips_{};
    int bounded_ = 0;  ///< enclosing loops that have a limit
};

}  // namespace

unsigned bytes_of(ElementType type) {
    switch (type) {
        case ElementType::i64: return 8;
        case ElementType::bf16:
        case ElementType::f16:
        case ElementType::i16: return 2;
        case ElementType::i8:
        case ElementType::u8: return 1;
        default: return 4;
    }
}

std::string name_of(ElementType type) {
    static constexpr const char* kNames[] = {"f32", "bf16", "f16", "i64", "i32", "i16", "i8", "u8", "raw32"};
    return kNames[static_cast<std::size_t>(type)];
}

const OpcodeTraits& traits(Opcode opcode) {
    return kOpcodeTraits[static_cast<std::size_t>(opcode)];
}

Affine& Affine::add(unsigned loop, std::int64_t stride) {
    if (stride == 0) return *this;
    for (auto term = terms.begin(); term != terms.end(); ++term) {
        if (term->loop != loop) continue;
        term->stride += stride;
        if (term->stride == 0) terms.erase(term);
        return *this;
    }
    terms.push_back({static_cast<std::uint8_t>(loop), stride});
    return *this;
}

Affine Affine::operator+(const Affine& other) const {
    Affine sum = *this;
    sum.constant += other.constant;
    for (const Term& term : other.terms) sum.add(term.loop, term.stride);
    return sum;
}

Affine Affine::operator*(std::int64_t factor) const {
    Affine product(constant * factor);
    for (const Term& term : terms) product.add(term.loop, term.stride * factor);
    return product;
}

bool Loop::operator==(const Loop& other) const {
    return counter == other.counter && count == other.count && bounded == other.bounded && limit == other.limit && body == other.body;
}

bool Region::operator==(const Region& other) const {
    return name == other.name && counts == other.counts && most_threads == other.most_threads && body == other.body;
}

std::int64_t Region::iterations() const {
    std::int64_t product = 1;
    for (const std::int64_t count : counts) product *= count;
    return product;
}

std::pair<std::int64_t, std::int64_t> static_share(std::int64_t iterations, unsigned thread, unsigned threads) {
    const std::int64_t each = iterations / threads, more = iterations % threads;
    const std::int64_t first = thread * each + std::min<std::int64_t>(thread, more);
    return {first, first + each + (thread < more ? 1 : 0)};
}

unsigned threads_of(const Region& region, unsigned threads) {
    const unsigned wanted = region.most_threads == 0 ? threads : std::min(threads, region.most_threads);
    return static_cast<unsigned>(std::clamp<std::int64_t>(region.iterations(), 1, std::max(1u, wanted)));
}

void validate(const Program& program) {
    if (program.lanes != 4 && program.lanes != 8 && program.lanes != 16)
        throw Error(program.name + ": vectors of " + std::to_string(program.lanes) + " lanes", {}, "4, 8 or 16");
    Validation validation(program);
    for (const Region& region : program.regions) validation.region(region);
}

}  // namespace heddle::cpu
