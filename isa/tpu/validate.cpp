// Everything that can be said of a program before it runs.
#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "isa/common/checked.h"
#include "isa/tpu/program.h"

namespace heddle::tpu {
namespace {

struct Range {
    std::int64_t low = 0, high = 0;
};

/// Checks one core's instruction list in program order.
class CoreValidator {
  public:
    CoreValidator(const Program& program, std::size_t core, const Limits& limits, const std::string& file)
        : program_(program), core_(core), limits_(limits), file_(file) {}

    void run() {
        const std::vector<Instruction>& list = program_.cores[core_].instructions;
        bool halted = false;
        for (position_ = 0; position_ < list.size(); ++position_) {
            const Instruction& instruction = list[position_];
            if (halted) fail("follows halt", "remove it, or move halt to the end");
            std::visit([&](const auto& operation) { check(operation); }, instruction.operation);
            check_flags(instruction);
            halted = std::holds_alternative<Halt>(instruction.operation);
        }
        position_ = list.empty() ? 0 : list.size() - 1;
        if (depth_ != 0) fail("leaves a repeat open", "close it with }");
        if (!halted) fail("is the last instruction of its core", "end every core with halt");
    }

    /// Tokens added to and taken from flags over the whole run: (core, flag) -> count.
    using Tokens = std::map<std::pair<std::size_t, std::size_t>, std::uint64_t>;
    Tokens signalled, awaited;
    /// The first instruction that waits for a flag.
    std::map<std::pair<std::size_t, std::size_t>, const Instruction*> waiting;

  private:
    [[noreturn]] void fail(const std::string& problem, const std::string& remedy = "") const {
        const std::vector<Instruction>& list = program_.cores[core_].instructions;
        std::string what = "core " + std::to_string(core_) + ", instruction " + std::to_string(position_);
        SourceLocation where{file_, 0, ""};
        if (position_ < list.size()) {
            what += std::string(" (") + mnemonic(list[position_].operation) + ")";
            where.line = list[position_].line;
        }
        throw Error(what + ": " + problem, where, remedy);
    }

    Range range_of(const Affine& affine) const {
        Range range{affine.base, affine.base};
        for (std::size_t level = 0; level < kRepeatLevels; ++level) {
            if (affine.step[level] == 0) continue;
            if (level >= depth_) fail("an operand counts with a repeat that does not enclose it");
            const auto reach = checked_product(affine.step[level], std::int64_t{counts_[level]} - 1);
            std::int64_t& end = reach.value_or(0) < 0 ? range.low : range.high;
            const auto sum = reach ? checked_sum(end, *reach) : std::nullopt;
            if (!sum) fail("an operand counts beyond 64 bits", "use smaller steps");
            end = *sum;
        }
        return range;
    }

    /// The end of `rows` pieces of `row_bytes` bytes, `stride` apart, the first of which begins at `first`.
    std::uint64_t end_of(std::int64_t first, std::uint64_t rows, std::uint64_t row_bytes,
                         std::uint64_t stride) const {
        const auto steps = checked_product(rows == 0 ? 0 : rows - 1, stride);
        const auto reach = steps ? checked_sum(*steps, rows == 0 ? 0 : row_bytes) : std::nullopt;
        const auto end = reach ? checked_sum(static_cast<std::uint64_t>(first), *reach) : std::nullopt;
        if (!end) fail("an operand ends beyond 64 bits", "use a smaller stride");
        return *end;
    }

    /// `rows` pieces of `row_bytes` bytes, `stride` apart, inside VMEM.
    void check_vmem(const Affine& address, std::uint64_t rows, std::uint64_t row_bytes, std::uint64_t stride,
                    unsigned alignment) const {
        const Range range = range_of(address);
        const std::uint64_t end = range.low < 0 ? 0 : end_of(range.high, rows, row_bytes, stride);
        if (range.low < 0 || end > limits_.vmem_bytes) {
            fail("touches VMEM bytes [" + std::to_string(range.low) + ", " + std::to_string(end) +
                     ") but a core has " + std::to_string(limits_.vmem_bytes),
                 "use smaller tiles");
        }
        if (range.low % alignment != 0 || range.high % alignment != 0 ||
            (rows > 1 && stride % alignment != 0)) {
            fail("an address or stride is not a multiple of the element's " + std::to_string(alignment) +
                 " bytes");
        }
    }

    void check_hbm(const Range& range, std::uint64_t rows, std::uint64_t row_bytes,
                   std::uint64_t stride) const {
        if (range.low < 0) fail("the HBM address is negative");
        const bool common = static_cast<std::uint64_t>(range.low) >= kCommonMemoryBase;
        const std::uint64_t end = end_of(range.high, rows, row_bytes, stride);
        if (!common && end > kCommonMemoryBase)
            fail(static_cast<std::uint64_t>(range.high) >= kCommonMemoryBase
                     ? "the repeats take the address from HBM into CMEM"
                     : "the rows in HBM reach into CMEM",
                 "use an instruction for each memory");
        if (end > 2 * kCommonMemoryBase) fail("the rows end beyond CMEM", "use a smaller address or stride");
    }

    void check_unit(unsigned unit) const {
        if (unit >= limits_.matrix_units) {
            fail("names matrix unit " + std::to_string(unit) + " but a core has " +
                 std::to_string(limits_.matrix_units));
        }
    }

    void check_part(ElementType type, Bf16Part part) const {
        if (type == ElementType::int32 || type == ElementType::word8) {
            fail(std::string("the array multiplies bf16 (from fp32, bf16 or fp8), int8 or int16, not ") +
                 name_of(type));
        }
        if (part != Bf16Part::high && type != ElementType::fp32)
            fail("only fp32 has a middle and a low part");
    }

    void check_accumulator(std::uint64_t first, std::uint64_t rows) const {
        if (first + rows > limits_.accumulator_rows) {
            fail("uses result rows up to " + std::to_string(first + rows) + " but a matrix unit has " +
                 std::to_string(limits_.accumulator_rows));
        }
    }

    void check_extent(const char* name, std::uint64_t value, std::uint64_t most) const {
        if (value == 0 || value > most) {
            fail(std::string(name) + " is " + std::to_string(value) + ", allowed are 1 to " +
                 std::to_string(most));
        }
    }

    void check(const Dma& dma) const {
        if (dma.rows == 0 || dma.row_bytes == 0)
            fail("copies nothing", "give rows and row_bytes of at least 1");
        check_vmem(dma.vmem, dma.rows, dma.row_bytes, dma.vmem_stride, 1);
        check_hbm(range_of(dma.hbm), is_indexed(dma) ? dma.table_rows : dma.rows, dma.row_bytes,
                  dma.hbm_stride);
        if (dma.host && dma.kind != DmaKind::load && dma.kind != DmaKind::store)
            fail("the host link only loads and stores");
        if (dma.kind == DmaKind::scatter_add && (dma.row_bytes % 4 != 0 || dma.vmem_stride % 4 != 0)) {
            fail("scatter_add adds fp32: row_bytes and vmem_stride are multiples of 4");
        }
        if (dma.kind != DmaKind::load && dma.kind != DmaKind::store) {
            if (dma.table_rows == 0) fail("needs the number of rows of its table", "give table_rows");
            check_vmem(dma.indices, 1, std::uint64_t{dma.rows} * 4, 0, 4);
        }
    }
    void check(const PushWeights& push) const {
        check_unit(push.unit);
        check_part(push.type, push.part);
        check_extent("rows", push.rows, limits_.array_rows);
        check_extent("columns", push.columns, limits_.array_columns);
        const unsigned size = bytes_of(push.type);
        const std::uint64_t lines = push.transposed ? push.columns : push.rows;
        const std::uint64_t length = push.transposed ? push.rows : push.columns;
        check_vmem(push.vmem, lines, length * size, push.stride, size);
    }
    void check(const Matmul& matmul) const {
        check_unit(matmul.unit);
        check_part(matmul.type, matmul.part);
        check_extent("depth", matmul.depth, limits_.array_rows);
        check_extent("columns", matmul.columns, limits_.array_columns);
        check_extent("rows", matmul.rows, limits_.accumulator_rows);
        check_accumulator(matmul.accumulator, matmul.rows);
        const unsigned size = bytes_of(matmul.type);
        check_vmem(matmul.vmem, matmul.rows, std::uint64_t{matmul.depth} * size, matmul.stride, size);
    }
    void check(const Pop& pop) const {
        check_unit(pop.unit);
        check_extent("columns", pop.columns, limits_.array_columns);
        check_extent("rows", pop.rows, limits_.accumulator_rows);
        check_accumulator(pop.accumulator, pop.rows);
        if (pop.type != ElementType::fp32 && pop.type != ElementType::bf16 &&
            pop.type != ElementType::int32) {
            fail("results leave as fp32, bf16 or int32");
        }
        const unsigned size = bytes_of(pop.type);
        check_vmem(pop.vmem, pop.rows, std::uint64_t{pop.columns} * size, pop.stride, size);
    }
    void check(const Vector& vector) {
        if (!vector.kernel) fail("has no kernel");
        if (vector.rows == 0 || vector.columns == 0)
            fail("works on no element", "give rows and columns of at least 1");
        check_kernel(vector);
        for (const VectorOperand& operand : vector.inputs) {
            const unsigned size = bytes_of(operand.type);
            check_vmem(operand.vmem, vector.rows, (operand.broadcast_columns ? 1ull : vector.columns) * size,
                       operand.row_stride, size);
        }
        for (std::size_t i = 0; i < vector.outputs.size(); ++i) {
            const VectorOperand& operand = vector.outputs[i];
            const Reduction reduction = vector.kernel->outputs[i].reduction;
            const unsigned size = bytes_of(operand.type);
            if (operand.broadcast_columns) fail("an output cannot be broadcast");
            if (over_sublanes(reduction)) {
                check_vmem(operand.vmem, 1, std::uint64_t{vector.columns} * size, 0, size);
                continue;
            }
            const std::uint64_t width = (over_lanes(reduction) ? 1ull : vector.columns) * size;
            if (vector.rows > 1 && operand.row_stride < width) fail("rows of an output overlap");
            check_vmem(operand.vmem, vector.rows, width, operand.row_stride, size);
        }
        range_of(vector.row_origin);
        range_of(vector.column_origin);
    }
    void check_kernel(const Vector& vector) {
        std::vector<ElementType> types;
        for (const VectorOperand& operand : vector.inputs) types.push_back(operand.type);
        if (vector.outputs.size() != vector.kernel->outputs.size()) {
            fail("the kernel has " + std::to_string(vector.kernel->outputs.size()) +
                 " outputs but the instruction " + std::to_string(vector.outputs.size()));
        }
        if (vector.scalars.size() != vector.kernel->scalars) {
            fail("the kernel takes " + std::to_string(vector.kernel->scalars) +
                 " scalars but the instruction gives " + std::to_string(vector.scalars.size()));
        }
        const auto key = std::make_pair(vector.kernel.get(), types);
        auto known = kernels_.find(key);
        if (known == kernels_.end()) {
            try {
                known = kernels_.emplace(key, heddle::tpu::check(*vector.kernel, types)).first;
            } catch (const Error& error) {
                fail(error.problem(), error.remedy());
            }
        }
        for (std::size_t i = 0; i < vector.outputs.size(); ++i) {
            if (known->second[vector.kernel->outputs[i].node] != value_type_of(vector.outputs[i].type)) {
                fail("output " + std::to_string(i) + " is stored as " + name_of(vector.outputs[i].type) +
                         " but the kernel computes the other kind of number",
                     "convert with integer_to_float or float_to_integer");
            }
        }
    }
    void check(const Transpose& transpose) const {
        if (transpose.rows == 0 || transpose.columns == 0) fail("works on no element");
        const unsigned size = bytes_of(transpose.type);
        check_vmem(transpose.source, transpose.rows, std::uint64_t{transpose.columns} * size,
                   transpose.source_stride, size);
        check_vmem(transpose.destination, transpose.columns, std::uint64_t{transpose.rows} * size,
                   transpose.destination_stride, size);
    }
    void check(const Signal&) const {
        if (program_.cores[core_].instructions[position_].signals.empty()) fail("names no flag");
    }
    void check(const Wait&) const {
        if (program_.cores[core_].instructions[position_].waits.empty()) fail("names no flag");
    }
    void check(const Repeat& repeat) {
        if (depth_ == kRepeatLevels) {
            fail("is nested too deeply",
                 "at most " + std::to_string(kRepeatLevels) + " repeats may be nested");
        }
        if (repeat.count == 0) fail("repeats zero times", "remove it");
        counts_[depth_++] = repeat.count;
        const auto times = checked_product(times_, std::uint64_t{repeat.count});
        if (!times) fail("repeats more often than can be counted", "use smaller counts");
        times_ = *times;
    }
    void check(const EndRepeat&) {
        if (depth_ == 0) fail("closes no repeat");
        times_ /= counts_[--depth_];
    }
    void check(const Halt&) const {
        if (depth_ != 0) fail("lies inside a repeat", "move it to the end of the core");
    }

    /// Of all turns of the repeats around.
    void add_tokens(std::uint64_t& tokens, std::uint64_t each_time) const {
        const auto more = checked_product(times_, each_time);
        const auto sum = more ? checked_sum(tokens, *more) : std::nullopt;
        if (!sum || *sum > std::uint64_t{1} << 60)  // those of all cores are added up
            fail("waits for or signals a flag more often than can be counted", "use smaller counts");
        tokens = *sum;
    }

    void check_flags(const Instruction& instruction) {
        const bool structural = std::holds_alternative<Repeat>(instruction.operation) ||
                                std::holds_alternative<EndRepeat>(instruction.operation) ||
                                std::holds_alternative<Halt>(instruction.operation);
        if (structural && (!instruction.waits.empty() || !instruction.signals.empty()))
            fail("takes no flags");
        for (const FlagWait& wait : instruction.waits) {
            if (wait.flag >= limits_.sync_flags) {
                fail("waits for flag " + std::to_string(wait.flag) + " but a core has " +
                     std::to_string(limits_.sync_flags));
            }
            const auto same = [&](const FlagWait& other) { return other.flag == wait.flag; };
            if (wait.count == 0 ||
                std::count_if(instruction.waits.begin(), instruction.waits.end(), same) > 1) {
                fail("waits for flag " + std::to_string(wait.flag) + " twice or for no token",
                     "name each flag once, as flag:count");
            }
            add_tokens(awaited[{core_, wait.flag}], wait.count);
            waiting.emplace(std::pair{core_, std::size_t{wait.flag}}, &instruction);
        }
        for (const FlagSignal& signal : instruction.signals) {
            const auto core = signal.core < 0 ? core_ : static_cast<std::size_t>(signal.core);
            if (signal.flag >= limits_.sync_flags || core >= program_.cores.size()) {
                fail("signals a flag that does not exist");
            }
            add_tokens(signalled[{core, signal.flag}], 1);
        }
    }

    const Program& program_;
    std::size_t core_;
    const Limits& limits_;
    const std::string& file_;
    std::size_t position_ = 0;
    std::size_t depth_ = 0;
    std::uint64_t times_ = 1;
    std::array<std::uint32_t, kRepeatLevels> counts_{};
    std::map<std::pair<const VectorKernel*, std::vector<ElementType>>, std::vector<ValueType>> kernels_;
};

}  // namespace

void validate(const Program& program, const Limits& limits, const std::string& file) {
    if (program.cores.empty() || program.cores.size() > limits.cores) {
        throw Error("program " + program.name + " has instructions for " +
                        std::to_string(program.cores.size()) + " cores, the machine has " +
                        std::to_string(limits.cores),
                    {file, 0, ""});
    }
    CoreValidator::Tokens signalled, awaited;
    std::map<std::pair<std::size_t, std::size_t>, const Instruction*> waiting;
    for (std::size_t core = 0; core < program.cores.size(); ++core) {
        CoreValidator validator(program, core, limits, file);
        validator.run();
        for (const auto& [flag, count] : validator.signalled) signalled[flag] += count;
        for (const auto& [flag, count] : validator.awaited) awaited[flag] += count;
        waiting.insert(validator.waiting.begin(), validator.waiting.end());
    }
    for (const auto& [flag, count] : awaited) {
        const auto given = signalled.find(flag);
        const std::uint64_t supply = given == signalled.end() ? 0 : given->second;
        if (supply < count) {
            const Instruction& first = *waiting.at(flag);
            throw Error("program " + program.name + ": flag " + std::to_string(flag.second) + " of core " +
                            std::to_string(flag.first) + " is waited for " + std::to_string(count) +
                            " times but signalled only " + std::to_string(supply) +
                            " times; the first to wait is " + mnemonic(first.operation),
                        {file, first.line, ""}, "the program would never end");
        }
    }
}

}  // namespace heddle::tpu
