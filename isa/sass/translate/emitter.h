// What rows of the translator write with: names of registers and constants, temporaries, labels, and lines of PTX.
//
// Registers are %R0 to %R254 and %UR0 to %UR254 (.b32), predicates %P0 to %P6 and %UP0 to %UP6. Words of constant bank 0 are
// registers that the entry sequence fills. Of an instruction one line is its principal one, which carries its time; others are
// helpers, free in time.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "isa/sass/cubin.h"
#include "isa/sass/instruction.h"
#include "isa/sass/translate/translate.h"

namespace heddle::sass {

/// A position in the program that is made: code of subroutines is written once for each place that calls it, so an address alone
/// does not say which.
struct BodyContext {
    const MachineFunction* function = nullptr;
    std::span<const Instruction> code;
    unsigned clone = 0;            ///< number of the copy; 0 is the kernel itself
    /// A subroutine that runs.
    struct Caller {
        const MachineFunction* function;  ///< whose code it is
        std::uint64_t entry;              ///< address of its first instruction
        unsigned clone;                   ///< its copy
    };
    std::vector<Caller> callers;  ///< the subroutines that run, outermost first
    std::vector<std::uint64_t> returns_to;  ///< of the kernel itself: where its own RET may go, behind calls that are jumps
};

/// A subroutine that is still to be written.
struct PendingBody {
    BodyContext context;
    std::uint64_t entry = 0;  ///< address of its first instruction
};

class Emitter {
  public:
    Emitter(const Cubin& cubin, const MachineFunction& kernel);

    // --- the instruction that is being translated

    unsigned capability() const { return cubin_.compute_capability; }
    const Cubin& cubin() const { return cubin_; }
    const MachineFunction& kernel() const { return kernel_; }
    const BodyContext& body() const { return body_; }
    std::uint32_t index() const { return index_; }  ///< of the instruction in body().code
    /// Throws heddle::Error that names the instruction and its address.
    [[noreturn]] void refuse(const std::string& problem) const;
    /// Operand number `i`; refuses when there are fewer.
    const Operand& operand(std::size_t i) const;
    std::size_t operand_count() const { return instruction_->operands.size(); }
    /// Refuses unless there are exactly `count` operands.
    void expect_operands(std::size_t count) const;
    void expect_operands(std::size_t least, std::size_t most) const;

    // --- sources: text for an operand of type .b32 unless said otherwise

    /// A register, immediate, or word of a constant bank, without sign and selector. RZ is "0".
    std::string source(const Operand& operand);
    /// The same; - and ~ are applied by a helper.
    std::string integer_source(const Operand& operand);
    /// A number for an operand of type .f32; - and | | are applied by a helper.
    std::string float_source(const Operand& operand);
    /// The same without sign: the caller applies operand.negated.
    std::string unsigned_float_source(const Operand& operand);
    /// The 32-bit word number `i` of an operand that takes several registers (R4, R5, ...), without sign. Immediates are
    /// extended by their sign (integer) or are the upper word of a double (floating).
    std::string word(const Operand& operand, unsigned i, bool floating_pair = false);
    /// "{%R4, %R5}" of `count` words.
    std::string words(const Operand& operand, unsigned count, bool floating_pair = false);
    /// A .b64 temporary with two words.
    std::string pair_source(const Operand& operand, bool floating_pair = false);
    /// A predicate that may be negated: "%P0", "!%P0", "1", "0".
    std::string predicate_source(const Operand& operand);
    /// The same without negation: the caller applies operand.negated. PT is "1".
    std::string plain_predicate(const Operand& operand);

    // --- destinations: "_" for RZ and PT

    std::string destination(const Operand& operand);
    std::string destination_word(const Operand& operand, unsigned i);
    std::string destination_words(const Operand& operand, unsigned count);  ///< "{%R4, _}"
    std::string predicate_destination(const Operand& operand);
    /// Whether the operand is RZ, URZ, PT or UPT: what is written to it vanishes.
    static bool is_nowhere(const Operand& operand);

    // --- registers by number

    std::string general(unsigned index);  ///< "%R4", "0" for RZ
    std::string uniform(unsigned index);  ///< "%UR4", "0" for URZ
    /// A fresh register.
    std::string temporary();       ///< .b32
    std::string half_temporary();  ///< .b16
    std::string wide_temporary();  ///< .b64
    std::string predicate_temporary();
    /// The register of a fixed name that holds the result of the last BAR.RED: .b32, or .pred.
    std::string barrier_count();
    std::string barrier_predicate();
    /// A read of a constant bank at an address that is known at run time only: word number `word` behind it, of PTX type `type`.
    std::string constant_load(const Operand& operand, unsigned word, const std::string& type = "b32");
    /// The word at `offset` of a constant bank without a register: a register that the entry sequence fills, or an immediate.
    std::string constant_word(unsigned bank, std::int64_t offset);

    // --- addresses

    /// The text of an address, "[%T3+16]", of an `address` operand: a 64-bit register for .64, else a 32-bit one. Descriptors
    /// (desc[UR4]) say nothing that the machine models.
    std::string address(const Operand& operand);
    /// The address as the sum in one 32-bit register or constant, for shared memory: "%R4+16", without brackets.
    std::string shared_address(const Operand& operand);
    /// The same with the rank of the thread block in its upper bits, where the code puts it there: clusters of sm_90.
    std::string raw_shared_address(const Operand& operand);

    /// address() for instructions without a space. Machine code counts the thread blocks of a cluster in shared addresses from 0 on,
    /// the machine from 1 on.
    std::string generic_address(const Operand& operand);

    // --- lines

    /// A line without its guard, such as "mov.b32 %T1, %R2;": computes a temporary and has no other effect.
    void prepare(const std::string& text);
    /// A line under the instruction's guard, free in time.
    void helper(const std::string& text);
    /// The line that carries the time. At most one for each instruction; where none is written, a $nop is.
    void principal(const std::string& text);
    /// A line without guard that carries the time.
    void unguarded_principal(const std::string& text);
    /// "@%P0 ", "" without guard.
    std::string guard() const { return guard_; }
    /// Whether the instruction has a guard that is not PT.
    bool is_guarded() const { return !guard_.empty(); }

    // --- control

    /// Which lanes exchange values in the instructions that follow: those that a register names, or, with "", those that run.
    void set_members(const std::string& mask) { members_ = mask; }
    const std::string& members() const { return members_; }
    std::string label(std::uint64_t address) const;  ///< of an instruction of the present body
    std::string fresh_label();
    void place_label(const std::string& label);
    /// Asks for a copy of the code at `entry` of `function`, which RET leaves for the instruction behind this one; returns its
    /// label. Where the code runs already (recursion) no copy is made: the return address says where RET goes.
    std::string call_body(const MachineFunction& function, std::uint64_t entry);
    /// Where a RET of the present body goes; `address` is the register with the return address.
    std::string return_block(const std::string& address);
    /// What the return blocks do. Comes behind all bodies.
    void write_return_blocks();
    /// The symbol whose address a slot of constant bank 4 holds; "" when there is none.
    std::string symbol_in_address_bank(std::int64_t offset) const;
    /// The symbol in bank 4 that the constant operand reads, also through a register that holds a known number; "".
    std::string symbol_read(const Operand& operand) const;
    /// The same of what the register was loaded from, by the last instruction before this one that writes it; "".
    std::string symbol_in_register(unsigned index) const;
    /// A call of vprintf, malloc, free or __assertfail by the machine's calling convention: arguments from R4 on.
    void call_runtime(const std::string& name);
    /// Declares something at module level, once: ".global ...".
    void declare(const std::string& text);
    /// The address of a symbol in a .b64 temporary or an immediate.
    std::string symbol_address(const std::string& symbol, std::int64_t addend);
    /// A .const array with the compiler's constants (bank 2) of the present function; its name.
    std::string compiler_constants();
    /// Decoded code of a function of the cubin.
    std::span<const Instruction> code_of(const MachineFunction& function);

    // --- for translate()

    void begin_body(const BodyContext& body) {
        body_ = body;
        members_.clear();
    }
    void begin(const Instruction& instruction, std::uint32_t index);
    void end();
    bool take_pending(PendingBody& body);
    Translation finish();
    void keep_code(const MachineFunction& function, std::span<const Instruction> code);

  private:
    void line(const std::string& text, bool principal);
    std::string number_register(char kind, const char* prefix, unsigned index);
    std::string launch_word(std::int64_t offset);
    std::string parameter_word(std::int64_t offset);
    void write_header(std::vector<std::string>& out) const;
    const Instruction* last_writer(unsigned index, std::size_t before, std::size_t& place) const;

    const Cubin& cubin_;
    const MachineFunction& kernel_;
    BodyContext body_;
    const Instruction* instruction_ = nullptr;
    std::uint32_t index_ = 0;
    std::string guard_;
    bool principal_written_ = false;
    bool never_ = false;  // the guard is !PT
    std::string members_;  // of what lanes exchange
    bool names_rank_ = false;  // addresses in shared memory may hold the rank of the thread block

    struct Line {
        std::string text;
        LineOrigin origin;
    };
    std::vector<Line> lines_;
    std::set<std::string> words_, halves_, pairs_, predicates_;  // registers that were named
    unsigned temporaries_ = 0, labels_ = 0, clones_ = 0;
    bool recursive_ = false;
    std::map<std::int64_t, std::string> parameter_words_;  // by offset in bank 0
    std::map<std::string, std::string> entry_words_;       // register: the line that fills it
    std::vector<std::string> declarations_;
    std::set<std::string> declared_;
    std::vector<PendingBody> pending_;
    /// Of a copy: return addresses, and the label of the instruction there.
    std::map<unsigned, std::vector<std::pair<std::uint64_t, std::string>>> returns_;
    std::set<std::pair<unsigned, std::string>> return_blocks_;  // copy, register
    std::map<const MachineFunction*, std::span<const Instruction>> code_;
    std::deque<std::vector<Instruction>> decoded_;
};

/// Whether a CALL.REL within its function is a jump and nothing more: no return address has been made for it. The compiler writes
/// such calls where a branch would change what lanes meet.
bool is_jump(std::span<const Instruction> code, std::size_t call);

/// Whether a BRA.DIV has a guard, which says of each lane that it may go on with the others: where lanes name different members, they
/// go where each group works by itself.
bool goes_where_lanes_differ(const Instruction& instruction);

/// Reads the modifiers of an instruction. Those that nobody has asked for are refused by finish().
class Modifiers {
  public:
    Modifiers(const Emitter& emitter, const Instruction& instruction)
        : emitter_(emitter), instruction_(instruction), taken_(instruction.modifiers.size(), false) {}
    /// Whether the modifier was written.
    bool take(std::string_view name);
    /// The first of `names` that was written; "" when none was.
    std::string_view take_one_of(std::initializer_list<std::string_view> names);
    /// The same; refuses when none was written.
    std::string_view require_one_of(std::initializer_list<std::string_view> names);
    void finish() const;

  private:
    const Emitter& emitter_;
    const Instruction& instruction_;
    std::vector<bool> taken_;
};

}  // namespace heddle::sass
