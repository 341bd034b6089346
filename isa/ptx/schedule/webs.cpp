// Registers by web: definitions that reach common uses share one.
#include <algorithm>
#include <array>
#include <numeric>

#include "isa/ptx/instruction_table.h"
#include "isa/ptx/schedule/definitions.h"

namespace heddle::ptx {
namespace {

/// Numbers from 0, in disjoint sets.
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
    void clear() { parent_.clear(); }

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
        find_references();
        read_at_entry_.assign(count_ + 1, false);
        nodes_.assign(flow_.blocks.size(), {});
        for (std::uint32_t r = 0; r < count_; ++r) {
            if (!references_[r].empty()) join_definitions(r);
        }
        names_.assign(sets_.size(), kNoInstruction);
        taken_.assign(count_, false);
        for (std::uint32_t i = 0; i < uses_.size(); ++i) rename_instruction(i);
    }

  private:
    /// Where an instruction reads or writes a register: its place among the instruction's reads, or writes.
    struct Reference {
        std::uint32_t instruction, place;
        bool write, keeps;  ///< keeps: of a write, the old value may be part of the new one
    };
    struct Read {
        std::uint32_t instruction, place, value;
    };
    /// What a block does with the register at hand: values are elements of values_.
    struct Node {
        std::uint32_t found = kNoInstruction;  ///< the value that it finds, where that is read later
        std::uint32_t left = kNoInstruction;   ///< the value that it leaves behind, where it writes one
        bool reached = false;                  ///< some definition reaches its begin
    };

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
    }

    void find_references() {
        references_.resize(count_);
        read_.resize(uses_.size());
        for (std::uint32_t i = 0; i < uses_.size(); ++i) {
            const RegisterUse& use = uses_[i];
            read_[i].assign(use.reads.size(), 0);
            for (std::uint32_t place = 0; place < use.reads.size(); ++place) {
                if (use.reads[place] < count_)
                    references_[use.reads[place]].push_back({i, place, false, false});
            }
            if (use.writes.empty()) continue;
            const bool guarded = kernel_.instructions[i].guard >= 0, updates = has_updated_operand(i);
            for (std::uint32_t place = 0; place < use.writes.size(); ++place) {
                const std::uint32_t r = use.writes[place];
                if (r == count_) continue;  // the carry flag has no name
                const bool updated =
                    updates && std::find(use.reads.begin(), use.reads.end(), r) != use.reads.end();
                references_[r].push_back({i, place, true, guarded || updated});
            }
        }
    }

    // Joins the definitions of a register that meet in a use; notes one of them for each use.
    void join_definitions(std::uint32_t r) {
        values_.clear();
        definition_of_.clear();
        reads_.clear();
        blocks_.clear();
        searching_.clear();
        add_value(r);  // number 0: that at entry
        look_at_blocks(r);
        const std::size_t with_reads = searching_.size();
        search_backwards();
        find_reached();
        for (std::size_t k = 0; k < searching_.size(); ++k) join_found(searching_[k], k < with_reads, r);
        first_.assign(values_.size(), kNoInstruction);
        for (std::uint32_t v = 0; v < values_.size(); ++v) {
            if (definition_of_[v] == kNoInstruction) continue;
            std::uint32_t& first = first_[values_.find(v)];
            if (first == kNoInstruction) first = definition_of_[v];
            sets_.join(first, definition_of_[v]);
        }
        for (const Read& read : reads_)
            read_[read.instruction][read.place] = first_[values_.find(read.value)];
        for (const std::uint32_t b : blocks_) nodes_[b] = {};
        for (const std::uint32_t b : searching_) nodes_[b] = {};
    }

    /// `definition`: kNoInstruction for values that are only found.
    std::uint32_t add_value(std::uint32_t definition) {
        definition_of_.push_back(definition);
        return values_.add();
    }

    std::uint32_t found_value(std::uint32_t block) {
        Node& node = nodes_[block];
        if (node.found != kNoInstruction) return node.found;
        searching_.push_back(block);
        return node.found = add_value(kNoInstruction);
    }

    // What each block does with the register by itself.
    void look_at_blocks(std::uint32_t r) {
        std::uint32_t value = kNoInstruction;
        for (const Reference& one : references_[r]) {
            const std::uint32_t b = flow_.block_of[one.instruction];
            if (blocks_.empty() || blocks_.back() != b) {
                blocks_.push_back(b);
                value = kNoInstruction;
            }
            if ((!one.write || one.keeps) && value == kNoInstruction) value = found_value(b);
            if (!one.write) {
                reads_.push_back({one.instruction, one.place, value});
                continue;
            }
            const std::uint32_t own = add_value(first_definition_[one.instruction] + one.place);
            if (one.keeps) values_.join(own, value);
            nodes_[b].left = value = own;
        }
    }

    // What a block finds, those before it leave behind, or find.
    void search_backwards() {
        for (std::size_t k = 0; k < searching_.size(); ++k) {
            for (const std::uint32_t p : flow_.blocks[searching_[k]].predecessors) {
                if (nodes_[p].left == kNoInstruction) found_value(p);
            }
        }
    }

    void find_reached() {
        std::vector<std::uint32_t> work;
        const auto reach = [&](std::uint32_t b) {
            if (nodes_[b].found == kNoInstruction || nodes_[b].reached) return;
            nodes_[b].reached = true;
            work.push_back(b);
        };
        reach(0);
        for (const std::uint32_t b : blocks_) {
            if (nodes_[b].left == kNoInstruction) continue;
            for (const std::uint32_t s : flow_.blocks[b].successors) reach(s);
        }
        while (!work.empty()) {
            const std::uint32_t b = work.back();
            work.pop_back();
            if (nodes_[b].left != kNoInstruction) continue;
            for (const std::uint32_t s : flow_.blocks[b].successors) reach(s);
        }
    }

    // Blocks that nothing reaches read what is there at entry; what they pass on is of no account.
    void join_found(std::uint32_t b, bool reads, std::uint32_t r) {
        const Node& node = nodes_[b];
        if (b == 0 || (!node.reached && reads)) {
            values_.join(node.found, 0);
            read_at_entry_[r] = true;
        }
        for (const std::uint32_t p : flow_.blocks[b].predecessors) {
            const Node& before = nodes_[p];
            if (before.left != kNoInstruction)
                values_.join(node.found, before.left);
            else if (before.reached)
                values_.join(node.found, before.found);
        }
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
    std::vector<std::uint32_t> register_of_, first_definition_;
    std::vector<std::vector<Reference>> references_;  // [register] in the order of the code
    std::vector<std::vector<std::uint32_t>> read_;    // [instruction] a definition for each of its reads
    std::vector<std::uint32_t> names_;                // of webs

    // Of one register.
    Sets values_;
    std::vector<std::uint32_t> definition_of_;  // [value] kNoInstruction: none by itself
    std::vector<Read> reads_;
    std::vector<std::uint32_t> blocks_, searching_;  // that name it; that find a value
    std::vector<Node> nodes_;                        // [block]
    std::vector<std::uint32_t> first_;               // [value] a definition of its set
};

}  // namespace

void split_webs(Kernel& kernel) {
    WebSplitter(kernel).run();
}

}  // namespace heddle::ptx
