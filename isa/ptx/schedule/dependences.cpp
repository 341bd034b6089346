#include "isa/ptx/schedule/dependences.h"

#include <algorithm>
#include <map>

#include "isa/ptx/instruction_table.h"
#include "isa/ptx/schedule/effects.h"

namespace heddle::ptx {
namespace {

constexpr std::uint32_t kSpillSlots = 0x80000000u;  // behind all registers: slots of spilled values

struct Access {
    std::uint32_t place;  // in the block
    StateSpace space;
    std::uint32_t base;  // register, kNoInstruction when there is none
    std::uint32_t version;
    std::int64_t first, last;  // bytes from the base
    bool exact;
};

StateSpace space_of(const Instruction& n) {
    switch (n.opcode) {
        case Opcode::ldmatrix:
        case Opcode::stmatrix:
            return StateSpace::shared;
        case Opcode::suld:
        case Opcode::sust:
            return StateSpace::global;
        default:
            return n.space == StateSpace::none ? StateSpace::generic : n.space;
    }
}

bool is_read_only(const Instruction& n) {
    if (n.opcode == Opcode::tex || n.opcode == Opcode::tld4 || n.opcode == Opcode::txq || n.opcode == Opcode::suq)
        return true;
    return n.has(Modifier::nc) || n.space == StateSpace::constant || n.space == StateSpace::parameter;
}

class Finder {
  public:
    Finder(const Kernel& kernel, const Definitions& definitions, std::uint32_t block)
        : kernel_(kernel), definitions_(definitions), block_(definitions.flow().blocks[block]) {
        result_.resize(block_.last - block_.first + 1);
    }

    std::vector<std::vector<Dependence>> run() {
        for (std::uint32_t at = 0; at < result_.size(); ++at) {
            order_registers(at);
            order_effects(at);
            if (block_.first + at == block_.last && ends_block()) order_all_before(at);
            note_writes(at);
        }
        for (std::vector<Dependence>& list : result_) merge(list);
        return std::move(result_);
    }

  private:
    const Instruction& instruction(std::uint32_t at) const { return kernel_.instructions[block_.first + at]; }

    bool ends_block() const {
        const Instruction& n = kernel_.instructions[block_.last];
        return n.opcode == Opcode::bra || n.opcode == Opcode::brx || n.opcode == Opcode::ret ||
               n.opcode == Opcode::exit || n.opcode == Opcode::trap;
    }

    void add(std::uint32_t before, std::uint32_t after, std::uint32_t latency) {
        if (before != after) result_[after].push_back({before, latency});
    }

    struct State {
        std::uint32_t writer = kNoInstruction;
        std::vector<std::uint32_t> readers;  // since
    };

    void order_registers(std::uint32_t at) {
        const RegisterUse& use = definitions_.uses(block_.first + at);
        for (const std::uint32_t r : use.reads) {
            State& state = registers_[r];
            if (state.writer != kNoInstruction)
                add(state.writer, at, expected_latency(instruction(state.writer)));
        }
        for (const std::uint32_t r : use.writes) {
            State& state = registers_[r];
            // A guarded write keeps the old value in some lanes, and the scoreboard waits for both.
            if (state.writer != kNoInstruction)
                add(state.writer, at, expected_latency(instruction(state.writer)));
            for (const std::uint32_t reader : state.readers) add(reader, at, 0);
        }
    }

    void note_writes(std::uint32_t at) {
        const RegisterUse& use = definitions_.uses(block_.first + at);
        for (const std::uint32_t r : use.reads) registers_[r].readers.push_back(at);
        for (const std::uint32_t r : use.writes) {
            registers_[r].writer = at;
            registers_[r].readers.clear();
            ++versions_[r];
        }
    }

    void order_effects(std::uint32_t at) {
        const Instruction& n = instruction(at);
        const Effect effect = effect_of(n);
        if (effect == Effect::everything) {
            order_all_before(at);
            wall_ = at;
            loads_.clear();
            stores_.clear();
            last_copy_ = last_lanes_ = kNoInstruction;
            return;
        }
        if (wall_ != kNoInstruction) add(wall_, at, 0);
        switch (effect) {
            case Effect::lanes:
                if (last_lanes_ != kNoInstruction) add(last_lanes_, at, 0);
                last_lanes_ = at;
                break;
            case Effect::load: {
                if (is_read_only(n)) break;
                const Access access = describe(at, n, false);
                for (const Access& store : stores_) {
                    if (may_overlap(store, access)) add(store.place, at, 0);
                }
                loads_.push_back(access);
                if (last_copy_ != kNoInstruction) add(last_copy_, at, 0);
                break;
            }
            case Effect::store: {
                const Access access = describe(at, n, true);
                for (const Access& store : stores_) {
                    if (may_overlap(store, access)) add(store.place, at, 0);
                }
                for (const Access& load : loads_) {
                    if (may_overlap(load, access)) add(load.place, at, 0);
                }
                stores_.push_back(access);
                if (last_copy_ != kNoInstruction) add(last_copy_, at, 0);
                break;
            }
            case Effect::async_copy:
                for (const Access& store : stores_) add(store.place, at, 0);
                for (const Access& load : loads_) add(load.place, at, 0);
                if (last_copy_ != kNoInstruction) add(last_copy_, at, 0);
                last_copy_ = at;
                break;
            default:
                break;
        }
    }

    void order_all_before(std::uint32_t at) {
        for (std::uint32_t before = wall_ == kNoInstruction ? 0 : wall_; before < at; ++before)
            add(before, at, 0);
    }

    Access describe(std::uint32_t at, const Instruction& n, bool store) {
        Access access{at, space_of(n), kNoInstruction, 0, 0, 0, false};
        if (n.spill_slot != 0) {
            access.base = kSpillSlots + n.spill_slot;
            access.exact = true;
            return access;
        }
        const Operand& address = n.operands[store ? 0 : 1];
        if ((n.opcode != Opcode::ld && n.opcode != Opcode::st) || address.kind != Operand::Kind::address)
            return access;
        if (address.base != Operand::Kind::reg) return access;
        const unsigned elements = n.has(Modifier::v8)   ? 8
                                  : n.has(Modifier::v4) ? 4
                                  : n.has(Modifier::v2) ? 2
                                                        : 1;
        access.base = address.index;
        access.version = versions_[address.index];
        access.first = static_cast<std::int64_t>(address.bits);
        access.last = access.first + bytes_of(n.type()) * elements - 1;
        access.exact = true;
        return access;
    }

    static bool may_overlap(const Access& a, const Access& b) {
        const auto is_slot = [](const Access& x) { return x.exact && x.base > kSpillSlots; };
        if (is_slot(a) || is_slot(b)) return is_slot(a) && is_slot(b) && a.base == b.base;
        const bool generic = a.space == StateSpace::generic || b.space == StateSpace::generic;
        if (a.space != b.space && !generic) return false;
        if (!a.exact || !b.exact || a.base != b.base || a.version != b.version) return true;
        return a.first <= b.last && b.first <= a.last;
    }

    static void merge(std::vector<Dependence>& list) {
        std::sort(list.begin(), list.end(), [](const Dependence& a, const Dependence& b) {
            return a.before != b.before ? a.before < b.before : a.latency > b.latency;
        });
        list.erase(std::unique(list.begin(), list.end(),
                               [](const Dependence& a, const Dependence& b) { return a.before == b.before; }),
                   list.end());
    }

    const Kernel& kernel_;
    const Definitions& definitions_;
    const BasicBlock& block_;
    std::vector<std::vector<Dependence>> result_;
    std::map<std::uint32_t, State> registers_;
    std::map<std::uint32_t, std::uint32_t> versions_;
    std::vector<Access> loads_, stores_;
    std::uint32_t wall_ = kNoInstruction, last_copy_ = kNoInstruction, last_lanes_ = kNoInstruction;
};

}  // namespace

std::vector<std::vector<Dependence>> find_dependences(const Kernel& kernel, const Definitions& definitions,
                                                      std::uint32_t block) {
    return Finder(kernel, definitions, block).run();
}

std::uint32_t issue_slots(const Instruction& n) {
    if (n.operations >= 0) return static_cast<std::uint32_t>(n.operations);
    if (n.form->pipeline == Pipeline::none) return 0;
    const bool renames = n.opcode == Opcode::mov && n.type() != Type::pred &&
                         n.operands[0].kind == Operand::Kind::reg && n.operands[1].kind == Operand::Kind::reg;
    return renames ? 0 : n.form->operations;
}

std::uint32_t expected_latency(const Instruction& n) {
    constexpr std::uint32_t kArithmetic = 4, kSpecial = 18, kTensor = 18, kShared = 29, kGlobal = 260,
                            kDouble = 8;
    const std::uint32_t slots = issue_slots(n);
    if (slots == 0) return 0;
    switch (n.form->pipeline) {
        case Pipeline::none:
            return 0;
        case Pipeline::fp64:
            return kDouble * slots;
        case Pipeline::special:
            return kSpecial + kArithmetic * (slots - 1);
        case Pipeline::tensor:
            return kTensor;
        case Pipeline::load_store: {
            const bool far = n.opcode == Opcode::ld && n.spill_slot == 0 && n.space != StateSpace::shared &&
                             n.space != StateSpace::constant && n.space != StateSpace::parameter;
            const bool texels = n.opcode == Opcode::tex || n.opcode == Opcode::tld4 || n.opcode == Opcode::suld;
            return far || texels || n.opcode == Opcode::atom ? kGlobal : kShared;
        }
        default:
            return kArithmetic * slots;
    }
}

}  // namespace heddle::ptx
