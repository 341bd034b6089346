#include "isa/sass/cubin.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <string_view>

#include "isa/common/error.h"
#include "isa/sass/line_table.h"

namespace heddle::sass {
namespace {

constexpr std::uint16_t kCudaMachine = 190;  // EM_CUDA of the ELF registry
constexpr std::uint32_t kSymbols = 2, kRelocationsWithAddend = 4, kNoBits = 8, kRelocations = 9;
constexpr std::uint32_t kGlobalMemory = 0x70000007, kLocalMemory = 0x70000009, kSharedMemory = 0x7000000A;  // without content, in files of toolkits before 12
constexpr std::uint16_t kRelocatable = 1;  // ET_REL: not linked
constexpr std::size_t kCodeBytes = 16;
constexpr std::uint8_t kEntry = 0x10;  // of a symbol's st_other: STO_CUDA_ENTRY

// Attributes of .nv.info, by the names that nvdisasm prints for them.
enum Attribute : std::uint8_t {
    kMaxThreads = 0x05,
    kParameterBank = 0x0a,
    kRequiredThreads = 0x10,
    kFrameSize = 0x11,
    kMinimumStack = 0x12,
    kParameterInfo = 0x17,
    kRegisterCount = 0x2f,
    kIndirectBranchTargets = 0x34,
    kClusterSize = 0x3d,
};

struct Section {
    std::string_view name, content;
    std::uint32_t type = 0, link = 0, info = 0;
    std::uint64_t bytes = 0;  // of what lies in no file, too
};

struct Symbol {
    std::string name;
    std::uint8_t info = 0, other = 0;
    std::uint16_t section = 0;
    std::uint64_t value = 0, bytes = 0;
    unsigned type() const { return info & 15u; }
};

class CubinReader {
  public:
    CubinReader(std::span<const std::byte> bytes, const std::string& file_name)
        : bytes_(reinterpret_cast<const char*>(bytes.data()), bytes.size()) {
        cubin_.file_name = file_name;
    }

    Cubin read() {
        read_header();
        read_sections();
        read_symbols();
        for (std::size_t i = 0; i < sections_.size(); ++i)
            if (sections_[i].name.starts_with(".text.")) read_function(i);
        read_module_attributes();
        for (const Section& section : sections_)
            if (section.name.starts_with(".nv.info.")) read_attributes(section);
        read_constants();
        read_variables();
        read_relocations();
        read_lines();
        return std::move(cubin_);
    }

  private:
    [[noreturn]] void fail(const std::string& problem, const std::string& where = "") const {
        throw Error(problem, {cubin_.file_name, 0, where}, "the file is damaged, or no cubin");
    }
    template <class Value>
    Value at(std::string_view from, std::size_t offset, std::string_view where) const {
        if (offset > from.size() || sizeof(Value) > from.size() - offset)
            fail("the cubin is cut off at byte " + std::to_string(offset), std::string(where));
        Value value;
        std::memcpy(&value, from.data() + offset, sizeof value);
        return value;
    }

    void read_header() {
        if (bytes_.size() < 64 || bytes_.substr(0, 4) != "\177ELF") fail("this is no ELF file");
        if (bytes_[4] != 2 || bytes_[5] != 1) fail("this is no 64-bit little-endian ELF file");
        if (at<std::uint16_t>(bytes_, 18, "") != kCudaMachine) fail("this is no ELF file for a CUDA device");
        const auto flags = at<std::uint32_t>(bytes_, 48, "");
        // From CUDA 13 on (version 8 of the ABI) the architecture stands in bits 8 to 15, before in bits 0 to 7.
        const bool wide = static_cast<std::uint8_t>(bytes_[8]) >= 8;
        cubin_.compute_capability = wide ? flags >> 8 & 0xFFu : flags & 0xFFu;
        if (at<std::uint16_t>(bytes_, 16, "header") == kRelocatable)
            throw Error("the machine code is not linked: it is relocatable device code", {cubin_.file_name, 0, ""}, "take the program that nvlink or nvcc makes of it");
        if (cubin_.compute_capability < 70)
            throw Error("machine code of compute capability " + std::to_string(cubin_.compute_capability) + " is not executed",
                        {cubin_.file_name, 0, ""}, "compile for sm_70 or newer");
    }

    void read_sections() {
        const auto table = at<std::uint64_t>(bytes_, 40, "section headers");
        const auto size = at<std::uint16_t>(bytes_, 58, "section headers");
        const auto count = at<std::uint16_t>(bytes_, 60, "section headers");
        const auto names = at<std::uint16_t>(bytes_, 62, "section headers");
        if (size < 64) fail("section headers have " + std::to_string(size) + " bytes", "section headers");
        std::vector<std::uint32_t> name_offsets;
        for (unsigned i = 0; i < count; ++i) {
            const std::size_t header = table + std::size_t{i} * size;
            if (header < table || header > bytes_.size()) fail("the section headers go beyond the end", "section headers");
            Section section;
            name_offsets.push_back(at<std::uint32_t>(bytes_, header, "section headers"));
            section.type = at<std::uint32_t>(bytes_, header + 4, "section headers");
            const auto offset = at<std::uint64_t>(bytes_, header + 24, "section headers");
            section.bytes = at<std::uint64_t>(bytes_, header + 32, "section headers");
            section.link = at<std::uint32_t>(bytes_, header + 40, "section headers");
            section.info = at<std::uint32_t>(bytes_, header + 44, "section headers");
            const bool empty = section.type == kNoBits || section.type == 0 || section.type == kGlobalMemory || section.type == kLocalMemory || section.type == kSharedMemory;
            if (!empty) {
                if (offset > bytes_.size() || section.bytes > bytes_.size() - offset)
                    fail("a section goes beyond the end of the file", "section " + std::to_string(i));
                section.content = bytes_.substr(offset, section.bytes);
            }
            sections_.push_back(section);
        }
        if (names >= sections_.size()) fail("there are no names of sections", "section headers");
        for (std::size_t i = 0; i < sections_.size(); ++i) sections_[i].name = text_at(sections_[names].content, name_offsets[i]);
    }

    std::string_view text_at(std::string_view strings, std::size_t offset) const {
        if (offset > strings.size()) fail("a name lies beyond its table");
        const std::string_view rest = strings.substr(offset);
        return rest.substr(0, rest.find('\0'));
    }

    const Section* section_named(std::string_view name) const {
        for (const Section& section : sections_)
            if (section.name == name) return &section;
        return nullptr;
    }

    void read_symbols() {
        const auto found = std::find_if(sections_.begin(), sections_.end(), [](const Section& s) { return s.type == kSymbols; });
        if (found == sections_.end()) fail("there is no table of symbols");
        if (found->link >= sections_.size()) fail("the table of symbols has no names", ".symtab");
        constexpr std::size_t kSymbolBytes = 24;
        for (std::size_t offset = 0; offset + kSymbolBytes <= found->content.size(); offset += kSymbolBytes) {
            Symbol symbol;
            symbol.name = text_at(sections_[found->link].content, at<std::uint32_t>(found->content, offset, ".symtab"));
            symbol.info = at<std::uint8_t>(found->content, offset + 4, ".symtab");
            symbol.other = at<std::uint8_t>(found->content, offset + 5, ".symtab");
            symbol.section = at<std::uint16_t>(found->content, offset + 6, ".symtab");
            symbol.value = at<std::uint64_t>(found->content, offset + 8, ".symtab");
            symbol.bytes = at<std::uint64_t>(found->content, offset + 16, ".symtab");
            symbols_.push_back(std::move(symbol));
        }
    }

    void read_function(std::size_t index) {
        const Section& section = sections_[index];
        MachineFunction function;
        function.name = section.name.substr(6);
        if (section.content.size() % kCodeBytes != 0)
            fail("the code has " + std::to_string(section.content.size()) + " bytes, no whole number of instructions", std::string(section.name));
        for (std::size_t offset = 0; offset < section.content.size(); offset += kCodeBytes)
            function.code.push_back({at<std::uint64_t>(section.content, offset, section.name),
                                     at<std::uint64_t>(section.content, offset + 8, section.name)});
        function.registers = section.info >> 24;
        for (const Symbol& symbol : symbols_) {
            if (symbol.section != index || symbol.type() != 2) continue;
            if (symbol.name == function.name)
                function.is_kernel = (symbol.other & kEntry) != 0;
            else
                function.labels.emplace_back(symbol.value, symbol.name);
        }
        if (const Section* shared = section_named(".nv.shared." + function.name))
            function.shared_bytes = static_cast<std::uint32_t>(shared->bytes);
        if (const Section* constants = section_named(".nv.constant2." + function.name)) {
            const auto* first = reinterpret_cast<const std::byte*>(constants->content.data());
            function.constant2.assign(first, first + constants->content.size());
        }
        cubin_.functions.push_back(std::move(function));
    }

    MachineFunction* function_named(std::string_view name) {
        for (MachineFunction& one : cubin_.functions)
            if (one.name == name) return &one;
        return nullptr;
    }
    MachineFunction* function_of_symbol(std::uint32_t symbol) {
        return symbol < symbols_.size() ? function_named(symbols_[symbol].name) : nullptr;
    }

    /// Calls visit(attribute, payload) for each attribute of a section.
    template <class Visit>
    void walk(const Section& section, Visit visit) const {
        std::size_t offset = 0;
        while (offset + 4 <= section.content.size()) {
            const auto format = at<std::uint8_t>(section.content, offset, section.name);
            const auto attribute = at<std::uint8_t>(section.content, offset + 1, section.name);
            const auto value = at<std::uint16_t>(section.content, offset + 2, section.name);
            offset += 4;
            constexpr std::uint8_t kSized = 4;
            if (format != kSized) {
                visit(attribute, std::string_view());
                continue;
            }
            if (value > section.content.size() - offset) fail("an attribute goes beyond its section", std::string(section.name));
            visit(attribute, section.content.substr(offset, value));
            offset += value;
        }
    }

    void read_module_attributes() {
        const Section* const section = section_named(".nv.info");
        if (section == nullptr) return;
        walk(*section, [&](std::uint8_t attribute, std::string_view payload) {
            if (payload.size() < 8) return;
            MachineFunction* const function = function_of_symbol(at<std::uint32_t>(payload, 0, section->name));
            if (function == nullptr) return;
            const auto value = at<std::uint32_t>(payload, 4, section->name);
            if (attribute == kRegisterCount) function->registers = value;
            if (attribute == kFrameSize || attribute == kMinimumStack) function->frame_bytes = std::max(function->frame_bytes, value);
        });
    }

    void read_attributes(const Section& section) {
        MachineFunction* const function = function_named(section.name.substr(std::string_view(".nv.info.").size()));
        if (function == nullptr) return;
        const auto three = [&](std::string_view payload) {
            std::array<std::uint32_t, 3> values{};
            for (unsigned i = 0; i < 3; ++i) values[i] = at<std::uint32_t>(payload, std::size_t{4} * i, section.name);
            return values;
        };
        walk(section, [&](std::uint8_t attribute, std::string_view payload) {
            switch (attribute) {
                case kParameterInfo: {
                    KernelParameter parameter;
                    parameter.ordinal = at<std::uint16_t>(payload, 4, section.name);
                    parameter.offset = at<std::uint16_t>(payload, 6, section.name);
                    parameter.bytes = static_cast<std::uint16_t>(at<std::uint32_t>(payload, 8, section.name) >> 18);
                    function->parameters.push_back(parameter);
                    break;
                }
                case kParameterBank:
                    function->parameter_base = at<std::uint16_t>(payload, 4, section.name);
                    function->parameter_bytes = at<std::uint16_t>(payload, 6, section.name);
                    break;
                case kMaxThreads: {
                    const auto values = three(payload);
                    function->maximum_threads = values[0] * values[1] * values[2];
                    break;
                }
                case kRequiredThreads:
                    function->required_threads = three(payload);
                    break;
                case kClusterSize:
                    function->cluster = three(payload);
                    break;
                case kIndirectBranchTargets:
                    read_branch_targets(payload, section, *function);
                    break;
                default:
                    break;
            }
        });
        std::sort(function->parameters.begin(), function->parameters.end(),
                  [](const KernelParameter& a, const KernelParameter& b) { return a.ordinal < b.ordinal; });
    }

    void read_branch_targets(std::string_view payload, const Section& section, MachineFunction& function) const {
        for (std::size_t offset = 0; offset + 12 <= payload.size();) {
            const auto branch = at<std::uint32_t>(payload, offset, section.name);
            const auto count = at<std::uint32_t>(payload, offset + 8, section.name);
            offset += 12;
            if (count > (payload.size() - offset) / 4) fail("the targets of a branch go beyond their attribute", std::string(section.name));
            std::vector<std::uint64_t> targets;
            for (std::uint32_t i = 0; i < count; ++i, offset += 4) targets.push_back(at<std::uint32_t>(payload, offset, section.name));
            function.branch_targets.emplace_back(branch, std::move(targets));
        }
    }

    void read_constants() {
        const auto take = [this](std::string_view name, std::vector<std::byte>& to) {
            const Section* const section = section_named(name);
            if (section == nullptr) return;
            constexpr std::uint64_t kBank = std::uint64_t{1} << 20;  // more than any bank of constants holds
            if (section->bytes > kBank) fail("a bank of constants has " + std::to_string(section->bytes) + " bytes", std::string(name));
            to.resize(section->bytes);
            if (!section->content.empty()) std::memcpy(to.data(), section->content.data(), section->content.size());
        };
        take(".nv.constant3", cubin_.constant3);
        take(".nv.constant4", cubin_.constant4);
    }

    void read_variables() {
        for (const Symbol& symbol : symbols_) {
            const bool undefined = symbol.section == 0;
            if (undefined && symbol.type() == 2) cubin_.external.push_back(symbol.name);
            if (undefined || symbol.type() != 1 || symbol.section >= sections_.size()) continue;
            const Section& section = sections_[symbol.section];
            const bool constant = section.name == ".nv.constant3";
            if (!constant && section.name != ".nv.global" && section.name != ".nv.global.init") continue;
            MachineVariable variable;
            variable.name = symbol.name;
            variable.constant = constant;
            variable.offset = symbol.value;
            variable.bytes = symbol.bytes;
            // Where it lies in its section says how it must be aligned, up to what devices ask for.
            variable.alignment = symbol.value == 0 ? 256 : std::min<std::uint64_t>(256, symbol.value & (~symbol.value + 1));
            if (!section.content.empty()) {
                if (symbol.value > section.content.size() || symbol.bytes > section.content.size() - symbol.value)
                    fail("variable " + symbol.name + " goes beyond its section", std::string(section.name));
                const auto* first = reinterpret_cast<const std::byte*>(section.content.data()) + symbol.value;
                variable.initial.assign(first, first + symbol.bytes);
            }
            homes_[{symbol.section, symbol.value}] = cubin_.variables.size();
            cubin_.variables.push_back(std::move(variable));
        }
    }

    void read_relocations() {
        for (const Section& section : sections_) {
            if (section.type != kRelocations && section.type != kRelocationsWithAddend) continue;
            if (section.info >= sections_.size()) fail("relocations of no section", std::string(section.name));
            const std::size_t step = section.type == kRelocations ? 16 : 24;
            for (std::size_t offset = 0; offset + step <= section.content.size(); offset += step) {
                Relocation relocation;
                relocation.offset = at<std::uint64_t>(section.content, offset, section.name);
                const auto info = at<std::uint64_t>(section.content, offset + 8, section.name);
                relocation.type = static_cast<std::uint32_t>(info);
                const std::uint64_t symbol = info >> 32;
                if (symbol >= symbols_.size()) fail("a relocation names no symbol", std::string(section.name));
                relocation.symbol = symbols_[symbol].name;
                if (step == 24) relocation.addend = at<std::int64_t>(section.content, offset + 16, section.name);
                place(relocation, section.info);
            }
        }
    }

    void place(Relocation relocation, std::uint32_t target) {
        const std::string_view name = sections_[target].name;
        if (name.starts_with(".text.")) {
            function_named(name.substr(6))->relocations.push_back(std::move(relocation));
        } else if (name.starts_with(".nv.constant2.")) {
            if (MachineFunction* const function = function_named(name.substr(14)))
                function->constant2_relocations.push_back(std::move(relocation));
        } else if (name == ".nv.constant4") {
            cubin_.constant4_relocations.push_back(std::move(relocation));
        } else if (name == ".nv.global.init" || name == ".nv.constant3") {
            // The variable that begins last before it.
            const auto next = homes_.upper_bound({static_cast<std::uint16_t>(target), relocation.offset});
            if (next == homes_.begin()) fail("a relocation lies in no variable", std::string(name));
            const auto& [home, variable] = *std::prev(next);
            if (home.first != target) fail("a relocation lies in no variable", std::string(name));
            relocation.offset -= home.second;
            cubin_.variables[variable].relocations.push_back(std::move(relocation));
        }
    }

    // .debug_line has a sequence for each function, in whose first relocation the function is named.
    void read_lines() {
        const Section* const section = section_named(".debug_line");
        if (section == nullptr) return;
        std::vector<std::pair<std::uint64_t, std::string>> functions;  // where a sequence names its function
        for (const Section& relocations : sections_) {
            if (relocations.type != kRelocations && relocations.type != kRelocationsWithAddend) continue;
            if (relocations.info >= sections_.size() || &sections_[relocations.info] != section) continue;
            const std::size_t step = relocations.type == kRelocations ? 16 : 24;
            for (std::size_t offset = 0; offset + step <= relocations.content.size(); offset += step) {
                const std::uint64_t symbol = at<std::uint64_t>(relocations.content, offset + 8, relocations.name) >> 32;
                if (symbol >= symbols_.size()) continue;
                std::string name = symbols_[symbol].name;
                if (symbols_[symbol].type() == 3 && symbols_[symbol].section < sections_.size() &&
                    sections_[symbols_[symbol].section].name.starts_with(".text."))
                    name = sections_[symbols_[symbol].section].name.substr(6);
                functions.emplace_back(at<std::uint64_t>(relocations.content, offset, relocations.name), std::move(name));
            }
        }
        LineTable table = read_line_table(section->content, functions);
        cubin_.source_files = std::move(table.files);
        for (auto& [name, lines] : table.functions)
            if (MachineFunction* const function = function_named(name)) function->lines = std::move(lines);
    }

    std::string_view bytes_;
    Cubin cubin_;
    std::vector<Section> sections_;
    std::vector<Symbol> symbols_;
    std::map<std::pair<std::uint16_t, std::uint64_t>, std::size_t> homes_;  // section and offset: variable
};

}  // namespace

bool is_cubin(std::span<const std::byte> bytes) {
    if (bytes.size() < 20 || std::memcmp(bytes.data(), "\177ELF", 4) != 0) return false;
    std::uint16_t machine = 0;
    std::memcpy(&machine, bytes.data() + 18, sizeof machine);
    return machine == kCudaMachine;
}

Cubin read_cubin(std::span<const std::byte> bytes, const std::string& file_name) {
    return CubinReader(bytes, file_name).read();
}

}  // namespace heddle::sass
