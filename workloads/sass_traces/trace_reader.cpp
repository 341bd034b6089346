#include "workloads/sass_traces/trace_reader.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "isa/target/launch_limits.h"
#include "workloads/sass_traces/line_tokens.h"
#include "workloads/sass_traces/values.h"

namespace heddle::sass {
namespace {

/// Before this version of the tracer each instruction names its thread block and warp.
constexpr unsigned kFirstVersionWithoutPlaces = 3;
constexpr unsigned kMostWarps = 32;
constexpr std::size_t kMostInstructions = 1u << 20;
constexpr std::uint32_t kReserved = 1u << 16;
constexpr std::uint32_t kNone = ~std::uint32_t{0};

std::string_view trim(std::string_view text) {
    const std::size_t first = text.find_first_not_of(" \t");
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

/// The value of a line "key = value", or nothing.
std::optional<std::string_view> value_of(std::string_view line, std::string_view key) {
    line = trim(line);
    if (line.substr(0, key.size()) != key) return {};
    line = trim(line.substr(key.size()));
    if (line.empty() || line.front() != '=') return {};
    return trim(line.substr(1));
}

/// Uniform registers and predicates, which only some versions write down, count as none.
std::uint8_t read_register(LineTokens& tokens, const LineSource& lines, const char* meaning, bool all_kinds) {
    const std::string_view word = tokens.word(meaning);
    unsigned number = 0;
    const char* const end = word.data() + word.size();
    const std::size_t digits = word.find_first_of("0123456789");
    const std::string_view kind = word.substr(0, std::min(digits, word.size()));
    const bool other = all_kinds && (kind == "UR" || kind == "P" || kind == "UP");
    const bool named = digits != std::string_view::npos && (kind == "R" || other);
    const auto [stop, error] = std::from_chars(word.data() + (named ? kind.size() : 0), end, number);
    if (!named || error != std::errc{} || stop != end || number > kZeroRegister)
        lines.fail("is no register R0 to R255, " + std::string(meaning), std::string(word));
    return other ? kZeroRegister : static_cast<std::uint8_t>(number);
}

/// Tracers print immediates of all types: what is no integer says nothing here.
std::int64_t read_immediate(std::string_view word) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    return error == std::errc{} && end == word.data() + word.size() ? value : 0;
}

}  // namespace

TraceReader::TraceReader(const std::string& path) : TraceReader(open_bytes(path), path) {}

TraceReader::TraceReader(std::unique_ptr<ByteSource> bytes, const std::string& name)
    : lines_(std::move(bytes), name) {
    read_header();
}

/// The next line that is not empty.
bool TraceReader::next_line(std::string_view& line) {
    while (lines_.next(line)) {
        if (!trim(line).empty()) return true;
    }
    return false;
}

void TraceReader::read_header() {
    std::string_view line;
    while (next_line(line)) {
        if (line.front() == '#') {
            if (header_.name.empty()) lines_.fail("no kernel name stands before this line", "-kernel name");
            check_geometry();
            if (header_.tracer_version >= kFirstVersionWithValues) header_.complete = true;
            return;
        }
        if (line.front() != '-')
            lines_.fail("is no line \"-key = value\" of a trace's header", std::string(line.substr(0, 40)),
                        "is this a .traceg file?");
        read_key(line);
    }
    lines_.fail("holds no thread block", {}, "is this a .traceg file, and complete?");
}

void TraceReader::check_geometry() const {
    const auto all = [](const Dimensions& d) { return std::array<std::uint64_t, 3>{d.x, d.y, d.z}; };
    if (const auto fault = target::fault_of({all(header_.grid), all(header_.block), all(header_.cluster)}))
        lines_.fail(fault->problem, "-" + std::string(fault->part) + " dim");
    if (header_.registers > kZeroRegister) lines_.fail("a thread has at most 255 registers", "-nregs");
}

void TraceReader::read_key(std::string_view line) {
    const auto number = [&](std::string_view key, auto& to, int base = 10) {
        const auto value = value_of(line, key);
        if (!value) return false;
        LineTokens tokens(*value, lines_);
        to = tokens.number<std::remove_reference_t<decltype(to)>>(std::string(key).c_str(), base);
        return true;
    };
    if (const auto name = value_of(line, "-kernel name")) {
        header_.name = *name;
    } else if (const auto grid = value_of(line, "-grid dim")) {
        header_.grid = read_dimensions(*grid, "-grid dim");
    } else if (const auto block = value_of(line, "-block dim")) {
        header_.block = read_dimensions(*block, "-block dim");
    } else if (const auto cluster = value_of(line, "-cluster dim")) {
        header_.cluster = read_dimensions(*cluster, "-cluster dim");
    } else if (const auto copy = value_of(line, "-heddle copy")) {
        header_.copies.emplace_back(*copy);
    } else if (const auto registers = value_of(line, "-heddle registers")) {
        header_.registers_of.emplace_back(*registers);
    } else if (unsigned flag = 0; number("-enable lineinfo", flag)) {
        header_.line_numbers = flag != 0;
    } else if (number("-heddle complete", flag)) {
        header_.complete = flag != 0;
    } else {
        number("-kernel id", header_.id) || number("-shmem", header_.shared_bytes) ||
            number("-nregs", header_.registers) || number("-binary version", header_.binary_version) ||
            number("-cuda stream id", header_.stream) ||
            number("-shmem base_addr", header_.shared_base, 16) ||
            number("-local mem base_addr", header_.local_base, 16) ||
            number("-accelsim tracer version", header_.tracer_version);  // other keys say nothing of the run
    }
}

Dimensions TraceReader::read_dimensions(std::string_view text, const char* key) const {
    std::string blanks(text);
    for (char& c : blanks) {
        if (c == ',' || c == '(' || c == ')') c = ' ';
    }
    LineTokens tokens(blanks, lines_);
    Dimensions result;
    result.x = tokens.number<std::uint32_t>(key);
    result.y = tokens.number<std::uint32_t>(key);
    result.z = tokens.number<std::uint32_t>(key);
    return result;
}

std::optional<ThreadBlock> TraceReader::next() {
    std::string_view line;
    while (next_line(line)) {
        if (line.substr(0, 9) == "#BEGIN_TB") {
            ++thread_blocks_;
            return read_thread_block();
        }
        if (line.front() != '#')
            lines_.fail("stands outside of a thread block", std::string(line.substr(0, 40)),
                        "expected #BEGIN_TB");
    }
    if (thread_blocks_ == 0) lines_.fail("holds no thread block", {}, "record the kernel again");
    return {};
}

ThreadBlock TraceReader::read_thread_block() {
    ThreadBlock result;
    std::string_view line;
    bool placed = false;
    std::uint32_t seen = 0;
    while (next_line(line)) {
        if (line.substr(0, 7) == "#END_TB") {
            if (!placed) lines_.fail("the thread block has no position", "thread block");
            return result;
        }
        if (const auto position = value_of(line, "thread block")) {
            result.position = read_dimensions(*position, "thread block");
            if (result.position.x >= header_.grid.x || result.position.y >= header_.grid.y ||
                result.position.z >= header_.grid.z)
                lines_.fail("lies outside of the grid", std::string(*position));
            placed = true;
        } else if (const auto warp = value_of(line, "warp")) {
            result.warps.push_back(read_warp(*warp));
            const std::uint32_t bit = 1u << result.warps.back().warp;
            if ((seen & bit) != 0)
                lines_.fail("the warp stands twice in its thread block", std::string(*warp));
            seen |= bit;
        } else if (!value_of(line, "cluster id") && !value_of(line, "cluster cta") &&
                   !value_of(line, "cluster rank")) {
            lines_.fail("is neither \"warp = \" nor #END_TB", std::string(line.substr(0, 40)));
        }
    }
    lines_.fail("ends within a thread block", {}, "the file is cut off: record or copy it again");
}

WarpTrace TraceReader::read_warp(std::string_view text) {
    WarpTrace warp;
    warp.warp = LineTokens(text, lines_).number<std::uint32_t>("the number of a warp");
    if (warp.warp >= kMostWarps || warp.warp * kWarpSize >= header_.block.count())
        lines_.fail("is no warp of a thread block of " + std::to_string(header_.block.count()) + " threads",
                    std::to_string(warp.warp));
    std::string_view line;
    std::optional<std::string_view> count;
    if (!next_line(line) || !(count = value_of(line, "insts")))
        lines_.fail("expected \"insts = \" and the number of the warp's instructions",
                    std::string(line.substr(0, 40)));
    const auto steps = LineTokens(*count, lines_).number<std::uint32_t>("a number of instructions");
    warp.steps.reserve(std::min(steps, kReserved));
    for (std::uint32_t i = 0; i < steps; ++i) {
        if (!next_line(line))
            lines_.fail("ends within a warp", {}, "the file is cut off: record or copy it again");
        read_step(line, warp);
    }
    return warp;
}

void TraceReader::read_step(std::string_view line, WarpTrace& warp) {
    LineTokens tokens(line, lines_);
    if (header_.tracer_version < kFirstVersionWithoutPlaces) {
        for (const char* place : {"x of the thread block", "y of the thread block", "z of the thread block"})
            tokens.number<std::uint32_t>(place);
        tokens.number<std::uint32_t>("the number of a warp");
    }
    if (header_.line_numbers) tokens.number<std::uint32_t>("a line of the source");
    Instruction instruction;
    Step step;
    instruction.program_counter = tokens.number<std::uint32_t>("a program counter", 16);
    step.lanes = tokens.number<std::uint32_t>("a mask of lanes", 16);
    const bool values = header_.tracer_version >= kFirstVersionWithValues;
    const auto destinations = tokens.number<unsigned>("the number of destinations");
    if (destinations > (values ? 2u : 1u))
        lines_.fail("more than one destination", std::to_string(destinations));
    for (unsigned i = 0; i < destinations; ++i) {
        const std::uint8_t destination = read_register(tokens, lines_, "the destination", values);
        if (instruction.writes && destination == kZeroRegister) continue;
        instruction.writes = true;
        instruction.destination = destination;
    }
    const std::string_view opcode = tokens.word("an opcode");
    const auto sources = tokens.number<unsigned>("the number of sources");
    if (sources > Instruction::kMostSources) lines_.fail("more than five sources", std::to_string(sources));
    instruction.source_count = static_cast<std::uint8_t>(sources);
    for (unsigned i = 0; i < sources; ++i)
        instruction.sources[i] = read_register(tokens, lines_, "a source", values);
    if (values && opcode.find("GMMA") != std::string_view::npos)
        instruction.ends_group = tokens.number<unsigned>("whether a group of products ends") != 0;
    step.addresses = static_cast<std::uint32_t>(warp.addresses.size());
    if (values && is_bulk_copy(opcode)) {
        read_copy(tokens, opcode, instruction, step, warp);
    } else {
        instruction.bytes_per_lane = tokens.number<std::uint8_t>("the width of a memory access");
        if (instruction.bytes_per_lane != 0) read_addresses(tokens, step.lanes, warp.addresses);
        if (tokens.more()) instruction.immediate = read_immediate(tokens.word("an immediate"));
    }
    if (values) {
        read_end_with_values(tokens, opcode, destinations + sources, instruction, step);
        if (opcode.substr(0, 5) == "SYNCS")
            for (std::size_t i = step.addresses; i < warp.addresses.size(); ++i)
                warp.addresses[i] = barrier_address(opcode, warp.addresses[i], header_.shared_base);
    }
    step.instruction = find_instruction(instruction, opcode);
    if (tokens.more()) lines_.fail("stands after the end of the instruction", std::string(tokens.word("")));
    if (is_other_side(instruction, opcode, step, warp)) {
        warp.addresses.erase(warp.addresses.begin() + warp.steps.back().addresses,
                             warp.addresses.begin() + step.addresses);
        return;
    }
    warp.steps.push_back(step);
}

// Tracers write a line for each of the two addresses of LDGSTS, that in shared memory first. It was performed
// once: the second line takes the first one's place.
bool TraceReader::is_other_side(const Instruction& instruction, std::string_view opcode, const Step& step,
                                const WarpTrace& warp) const {
    if (instruction.bytes_per_lane == 0 || opcode.substr(0, 6) != "LDGSTS" || warp.steps.empty())
        return false;
    const Step& before = warp.steps.back();
    if (before.instruction != step.instruction || before.lanes != step.lanes || step.lanes == 0) return false;
    const std::uint64_t address = warp.addresses[before.addresses];
    return address <= 0xFFFFFFFF && warp.addresses[step.addresses] > 0xFFFFFFFF;
}

void TraceReader::read_copy(LineTokens& tokens, std::string_view opcode, Instruction& instruction, Step& step,
                            WarpTrace& warp) {
    tokens.number<std::uint32_t>("the width of a memory access");
    std::uint64_t first = 0;
    BulkCopy copy = read_bulk_copy(tokens, lines_, opcode, first);
    if (tokens.more()) tokens.word("an immediate");
    step.lanes &= 0u - step.lanes;  // it is begun once
    if (step.lanes != 0 && !copy.offsets.empty()) {
        instruction.bytes_per_lane = 16;
        warp.addresses.push_back(first);
    }
    std::uint64_t hash = copy.barrier * 31u + copy.bytes;
    for (const std::uint64_t offset : copy.offsets) hash = hash * 1099511628211u + offset;
    std::vector<std::uint32_t>& alike = copies_by_hash_[hash];
    for (const std::uint32_t number : alike) {
        if (copies_[number] == copy) {
            instruction.immediate = number;
            return;
        }
    }
    if (copies_.size() == kMostInstructions)
        lines_.fail("is one of more than " + std::to_string(kMostInstructions) + " different copies",
                    std::string(opcode), "is the file damaged?");
    alike.push_back(static_cast<std::uint32_t>(copies_.size()));
    instruction.immediate = static_cast<std::int64_t>(copies_.size());
    copies_.push_back(std::move(copy));
}

void TraceReader::read_end_with_values(LineTokens& tokens, std::string_view opcode, unsigned registers,
                                       Instruction& instruction, const Step& step) {
    bool second = false;
    if (tokens.more() && tokens.peek() != 'V' && tokens.peek() != 'N')
        second = read_immediate(tokens.word("an immediate")) != 0;
    if (!tokens.more()) return;
    const RegisterValues values = read_values(tokens, lines_, registers, step.lanes);
    if (opcode.substr(0, 5) == "SYNCS") {
        // The register behind the address.
        const unsigned destinations = registers - instruction.source_count;
        if (values.known && instruction.source_count > 1)
            instruction.immediate = barrier_immediate(opcode, values.of[destinations + 1]);
        else if (opcode.find("A1T0") != std::string_view::npos)
            instruction.immediate = barrier_immediate(opcode, 0);
    } else if (opcode.substr(0, 3) == "BAR" && values.known && registers > instruction.source_count &&
               !second) {
        instruction.immediate =
            static_cast<std::int64_t>(values.of[0] & 15);  // its number stood in a register
    }
}

/// Its position in the table, where it is put when it occurs for the first time.
std::uint32_t TraceReader::find_instruction(const Instruction& instruction, std::string_view opcode) {
    const auto is_known = [&](std::uint32_t index) {
        const Instruction& known = instructions_[index];
        return known.program_counter == instruction.program_counter && known.opcode == opcode &&
               known.writes == instruction.writes && known.destination == instruction.destination &&
               known.source_count == instruction.source_count && known.sources == instruction.sources &&
               known.bytes_per_lane == instruction.bytes_per_lane &&
               known.immediate == instruction.immediate && known.ends_group == instruction.ends_group;
    };
    std::uint32_t index = last_found_ + 1;  // mostly the next one
    if (index < instructions_.size() && is_known(index)) return last_found_ = index;
    const auto first = by_program_counter_.find(instruction.program_counter);
    if (first == by_program_counter_.end()) {
        by_program_counter_.emplace(instruction.program_counter,
                                    static_cast<std::uint32_t>(instructions_.size()));
        return last_found_ = add_instruction(instruction, opcode);
    }
    for (index = first->second; !is_known(index); index = others_[index]) {
        if (others_[index] != kNone) continue;
        others_[index] = static_cast<std::uint32_t>(instructions_.size());
        return last_found_ = add_instruction(instruction, opcode);
    }
    return last_found_ = index;
}

std::uint32_t TraceReader::add_instruction(const Instruction& instruction, std::string_view opcode) {
    if (instructions_.size() == kMostInstructions)
        lines_.fail("is one of more than " + std::to_string(kMostInstructions) + " different instructions",
                    std::string(opcode), "no kernel is that long: is the file damaged?");
    instructions_.push_back(instruction);
    instructions_.back().opcode = opcode;
    others_.push_back(kNone);
    return static_cast<std::uint32_t>(instructions_.size() - 1);
}

void TraceReader::read_addresses(LineTokens& tokens, std::uint32_t lanes,
                                 std::vector<std::uint64_t>& addresses) {
    const auto mode = tokens.number<unsigned>("a mode of addresses");
    const auto count = static_cast<unsigned>(std::popcount(lanes));
    if (mode == 0) {
        for (unsigned i = 0; i < count; ++i)
            addresses.push_back(tokens.number<std::uint64_t>("an address", 16));
        return;
    }
    if (mode > 2) lines_.fail("is no mode of addresses: 0, 1 or 2", std::to_string(mode));
    auto address = tokens.number<std::uint64_t>("a base address", 16);
    if (mode == 1) {
        const auto stride = static_cast<std::uint64_t>(tokens.number<std::int64_t>("a stride"));
        for (unsigned i = 0; i < count; ++i) addresses.push_back(address + i * stride);
        return;
    }
    for (unsigned i = 0; i < count; ++i) {
        if (i != 0)
            address += static_cast<std::uint64_t>(tokens.number<std::int64_t>("a difference of addresses"));
        addresses.push_back(address);
    }
}

}  // namespace heddle::sass
