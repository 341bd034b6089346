// Registers by web: definitions that reach common uses share one.
#include <algorithm>
#include <array>
#include <bit>
#include <numeric>

#include "isa/ptx/instruction_table.h"
#include "isa/ptx/schedule/definitions.h"

namespace heddle::ptx {
namespace {

/// Numbers of definitions, in disjoint sets.
class Sets {
  public:
    std::uint32_t add() {
        parent_.push_back(static_cast<std::uint32_t>(parent_.size()));
        return parent_.back();
    }
    std::uint32_t find(std::uint32_t a) {
        while (parent_[a] != a) a = parent_[a] = parent_[parent_[a]];
        return a;
    }
    void join(std::uint32_t a, std::uint32_t b) {
        a = find(a);
        b = find(b);
        parent_[std::max(a, b)] = std::min(a, b);
    }
    std::size_t size() const { return parent_.size(); }

  private:
    std::vector<std::uint32_t> parent_;
};

class WebSplitter {
  public:
    explicit WebSplitter(Kernel& kernel)
        : kernel_(kernel),
          uses_(register_uses(kernel)),
          flow_(analyze_control_flow(kernel)),
          count_(static_cast<std::uint32_t>(kernel.registers.size())) {}

    void run() {
        pin_registers_of_calls();
        number_definitions();
        solve_reaching();
        reaching_.resize(count_ + 1);
        read_.resize(uses_.size());
        read_at_entry_.assign(count_ + 1, false);
        for (std::uint32_t b = 0; b < flow_.blocks.size(); ++b) walk(b);
        names_.assign(sets_.size(), kNoInstruction);
        taken_.assign(count_, false);
        for (std::uint32_t i = 0; i < uses_.size(); ++i) rename_instruction(i);
    }

  private:
    using Bits = std::vector<std::uint64_t>;

    void pin(const std::vector<Operand>& operands) {
        for (const Operand& operand : operands) {
            if (operand.kind == Operand::Kind::reg) pinned_[operand.index] = true;
        }
    }

    void pin_registers_of_calls() {
        pinned_.assign(count_ + 1, false);
        pinned_[count_] = true;  // the carry flag
        for (const CallSite& site : kernel_.calls) {
            pin(site.results);
            pin(site.arguments);
            if (site.kind == CallSite::Kind::pointer) pinned_[site.pointer] = true;
        }
    }

    // The value at entry is definition r of register r; then those of the instructions, in order.
    void number_definitions() {
        for (std::uint32_t r = 0; r < count_; ++r) {
            register_of_.push_back(r);
            sets_.add();
        }
        first_definition_.resize(uses_.size());
        for (std::uint32_t i = 0; i < uses_.size(); ++i) {
            first_definition_[i] = static_cast<std::uint32_t>(sets_.size());
            for (const std::uint32_t r : uses_[i].writes) {
                register_of_.push_back(r);
                sets_.add();
            }
        }
        definitions_of_.resize(count_ + 1);
        for (std::uint32_t d = 0; d < register_of_.size(); ++d) definitions_of_[register_of_[d]].push_back(d);
    }

    void solve_reaching() {
        const std::size_t words = (sets_.size() + 63) / 64;
        std::vector<Bits> killed(flow_.blocks.size(), Bits(words, 0)), out = killed;
        in_ = killed;
        for (std::uint32_t b = 0; b < flow_.blocks.size(); ++b) {
            for (std::uint32_t i = flow_.blocks[b].first; i <= flow_.blocks[b].last; ++i) {
                for (std::size_t w = 0; w < uses_[i].writes.size(); ++w) {
                    const std::uint32_t r = uses_[i].writes[w];
                    if (kernel_.instructions[i].guard < 0) {
                        for (const std::uint32_t d : definitions_of_[r]) {
                            killed[b][d / 64] |= std::uint64_t{1} << (d % 64);
                            out[b][d / 64] &= ~(std::uint64_t{1} << (d % 64));
                        }
                    }
                    const std::uint32_t own = first_definition_[i] + static_cast<std::uint32_t>(w);
                    out[b][own / 64] |= std::uint64_t{1} << (own % 64);
                }
            }
        }
        for (std::uint32_t r = 0; r < count_; ++r) in_[0][r / 64] |= std::uint64_t{1} << (r % 64);
        std::vector<bool> queued(flow_.blocks.size(), true);
        std::vector<std::uint32_t> work(flow_.blocks.size());
        std::iota(work.rbegin(), work.rend(), 0u);
        while (!work.empty()) {
            const std::uint32_t b = work.back();
            work.pop_back();
            queued[b] = false;
            for (std::size_t w = 0; w < words; ++w) out[b][w] |= in_[b][w] & ~killed[b][w];
            for (const std::uint32_t s : flow_.blocks[b].successors) {
                bool changed = false;
                for (std::size_t w = 0; w < words; ++w) {
                    const std::uint64_t merged = in_[s][w] | out[b][w];
                    changed = changed || merged != in_[s][w];
                    in_[s][w] = merged;
                }
                if (changed && !queued[s]) {
                    queued[s] = true;
                    work.push_back(s);
                }
            }
        }
    }

    void list_reaching(std::uint32_t block) {
        for (const std::uint32_t r : listed_) reaching_[r].clear();
        listed_.clear();
        for (std::size_t w = 0; w < in_[block].size(); ++w) {
            for (std::uint64_t bits = in_[block][w]; bits != 0; bits &= bits - 1) {
                const auto d =
                    static_cast<std::uint32_t>(w * 64) + static_cast<std::uint32_t>(std::countr_zero(bits));
                reaching_[register_of_[d]].push_back(d);
                listed_.push_back(register_of_[d]);
            }
        }
    }

    // Joins definitions that meet in a use; notes one of them for each use.
    void walk(std::uint32_t block) {
        list_reaching(block);
        for (std::uint32_t i = flow_.blocks[block].first; i <= flow_.blocks[block].last; ++i) {
            for (const std::uint32_t r : uses_[i].reads) read_[i].push_back(join_reaching(r));
            const bool updates = has_updated_operand(i);
            for (std::size_t w = 0; w < uses_[i].writes.size(); ++w) {
                const std::uint32_t r = uses_[i].writes[w];
                const std::uint32_t own = first_definition_[i] + static_cast<std::uint32_t>(w);
                if (r == count_) continue;
                const auto& reads = uses_[i].reads;
                const bool updated = updates && std::find(reads.begin(), reads.end(), r) != reads.end();
                if (kernel_.instructions[i].guard >= 0 || updated) sets_.join(own, join_reaching(r));
                reaching_[r].assign(1, own);
                listed_.push_back(r);
            }
        }
    }

    std::uint32_t join_reaching(std::uint32_t r) {
        if (r == count_) return 0;  // the carry flag has no name
        std::vector<std::uint32_t>& list = reaching_[r];
        if (list.empty()) list.push_back(r);  // a place that is never reached
        for (const std::uint32_t d : list) {
            if (d == r) read_at_entry_[r] = true;
            sets_.join(list.front(), d);
        }
        return list.front();
    }

    // Whether one operand of the instruction is both read and written.
    bool has_updated_operand(std::uint32_t i) const {
        const Instruction& n = kernel_.instructions[i];
        std::array<OperandPattern, kMaximumOperands> patterns;
        const std::size_t count = operand_patterns(*n.form, n, patterns);
        return std::any_of(patterns.begin(), patterns.begin() + static_cast<std::ptrdiff_t>(count),
                           [](const OperandPattern& pattern) { return pattern.updated; });
    }

    // The first web of a register keeps its name.
    std::uint32_t name_of_web(std::uint32_t d) {
        const std::uint32_t r = register_of_[d];
        if (pinned_[r]) return r;
        std::uint32_t& name = names_[sets_.find(d)];
        if (name != kNoInstruction) return name;
        const bool holds_entry = read_at_entry_[r] && sets_.find(r) == sets_.find(d);
        if (holds_entry || (!read_at_entry_[r] && !taken_[r])) {
            taken_[r] = true;
            return name = r;
        }
        kernel_.registers.push_back(Register(kernel_.registers[r]));
        return name = static_cast<std::uint32_t>(kernel_.registers.size() - 1);
    }

    void rename_instruction(std::uint32_t i) {
        Instruction& n = kernel_.instructions[i];
        const auto name_read = [&](std::uint32_t r) {
            const auto& reads = uses_[i].reads;
            const auto place = std::find(reads.begin(), reads.end(), r) - reads.begin();
            return name_of_web(read_[i][static_cast<std::size_t>(place)]);
        };
        const auto name_write = [&](std::uint32_t r) {
            const auto& writes = uses_[i].writes;
            const auto place = std::find(writes.begin(), writes.end(), r) - writes.begin();
            return name_of_web(first_definition_[i] + static_cast<std::uint32_t>(place));
        };
        if (n.guard >= 0) n.guard = static_cast<std::int32_t>(name_read(static_cast<std::uint32_t>(n.guard)));
        if (n.opcode == Opcode::call) return;
        std::array<OperandPattern, kMaximumOperands> patterns;
        const std::size_t count = operand_patterns(*n.form, n, patterns);
        for (std::size_t o = 0; o < count && o < n.operands.size(); ++o) {
            const bool written = patterns[o].written;
            rename_operand(n.operands[o],
                           [&](std::uint32_t r) { return written ? name_write(r) : name_read(r); });
        }
    }

    template <class Name>
    static void rename_operand(Operand& operand, const Name& name) {
        if (operand.kind == Operand::Kind::reg ||
            (operand.kind == Operand::Kind::address && operand.base == Operand::Kind::reg))
            operand.index = name(operand.index);
        for (Operand& element : operand.elements) rename_operand(element, name);
    }

    Kernel& kernel_;
    std::vector<RegisterUse> uses_;
    ControlFlow flow_;
    std::uint32_t count_;  // registers before
    std::vector<bool> pinned_, read_at_entry_, taken_;
    Sets sets_;
    std::vector<std::uint32_t> register_of_, first_definition_, listed_;
    std::vector<std::vector<std::uint32_t>> definitions_of_, reaching_;
    std::vector<std::vector<std::uint32_t>> read_;  // [instruction] a definition for each of its reads
    std::vector<std::uint32_t> names_;              // of webs
    std::vector<Bits> in_;
};

}  // namespace

void split_webs(Kernel& kernel) {
    WebSplitter(kernel).run();
}

}  // namespace heddle::ptx
