#include "sim/sass/trace_table.h"

#include <charconv>
#include <sstream>

#include "isa/common/error.h"

namespace heddle::sass {

void report_unknown(const UnknownOpcodes& unknown, const std::string& where) {
    if (unknown.empty()) return;
    std::string list;
    for (const auto& [opcode, count] : unknown)
        list += (list.empty() ? "" : ", ") + opcode + " (" + std::to_string(count) + " times)";
    throw Error(std::to_string(unknown.size()) +
                    (unknown.size() == 1 ? " opcode is not known: " : " opcodes are not known: ") + list,
                {where, 0, ""},
                "--unknown-as CLASS takes them for a class of instructions: " + operation_names());
}

TraceTable::TraceTable(std::optional<ptx::Operation> unknown_as, const std::vector<std::string>& registers_of)
    : unknown_as_(unknown_as) {
    constexpr unsigned kMostIdentifiers = 60000;
    for (const std::string& line : registers_of) {
        std::istringstream words(line);
        std::uint32_t program_counter = 0;
        Registers registers;
        bool reads = false, good = static_cast<bool>(words >> std::hex >> program_counter);
        for (std::string word; good && words >> word;) {
            if (word == "/") {
                reads = true;
                continue;
            }
            unsigned id = 0;
            const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), id);
            good = error == std::errc{} && end == word.data() + word.size() && id < kMostIdentifiers;
            (reads ? registers.reads : registers.writes).push_back(static_cast<std::uint16_t>(id));
            scoreboard_size_ = std::max<std::size_t>(scoreboard_size_, id + 1);
        }
        if (!good || !reads)
            throw Error("does not say which registers an instruction has",
                        {"", 0, "-heddle registers = " + line}, "record the kernel again");
        registers_of_[program_counter] = std::move(registers);
    }
}

bool TraceTable::extend(const std::vector<Instruction>& instructions) {
    if (rows_of_.size() >= instructions.size()) return false;
    while (rows_of_.size() < instructions.size()) {
        const Instruction& next = instructions[rows_of_.size()];
        const WrittenInstruction written{next.opcode,         next.writes,
                                         next.destination,    {next.sources.data(), next.source_count},
                                         next.bytes_per_lane, next.immediate};
        std::optional<MachineInstruction> machine = decode(written);
        unknown_.push_back(!machine && !unknown_as_);
        if (!machine) machine = decode_as(written, unknown_as_.value_or(ptx::Operation::integer));
        rows_of_.push_back(static_cast<std::uint32_t>(rows_.size()));
        machine->info.line = next.program_counter;
        if (const auto known = registers_of_.find(next.program_counter); known != registers_of_.end()) {
            machine->info.writes = known->second.writes;
            machine->info.reads = known->second.reads;
        }
        rows_.push_back({std::move(*machine), next.program_counter, next.opcode, next.immediate});
    }
    return true;
}

void TraceTable::complete() {
    for (const std::uint32_t row : rows_of_)
        if (rows_[row].machine.behaviour == Behaviour::warpgroup_matrix) ending_group(row);
}

std::uint32_t TraceTable::ending_group(std::uint32_t row) {
    const auto [place, fresh] = ending_group_.try_emplace(row, static_cast<std::uint32_t>(rows_.size()));
    if (fresh) {
        rows_.push_back(rows_[row]);
        rows_.back().machine.info.synchronisation = ptx::Synchronisation::wgmma_commit;
    }
    return place->second;
}

}  // namespace heddle::sass
