#include "isa/sass/line_table.h"

#include <algorithm>
#include <cstring>

namespace heddle::sass {
namespace {

/// Bytes of a line program; reads beyond the end return zeros and set `failed`.
class Bytes {
  public:
    Bytes(std::string_view all, std::size_t at, std::size_t end) : all_(all), at_(at), end_(std::min(end, all.size())) {}
    std::size_t at() const { return at_; }
    bool done() const { return failed || at_ >= end_; }
    void go_to(std::size_t at) { at_ = at; }
    template <class Value>
    Value take() {
        Value value{};
        if (at_ > end_ || sizeof value > end_ - at_) {
            failed = true;
            return value;
        }
        std::memcpy(&value, all_.data() + at_, sizeof value);
        at_ += sizeof value;
        return value;
    }
    std::uint64_t unsigned_leb() {
        std::uint64_t value = 0;
        for (unsigned shift = 0; shift < 64; shift += 7) {
            const auto byte = take<std::uint8_t>();
            value |= std::uint64_t{byte & 0x7Fu} << shift;
            if ((byte & 0x80u) == 0) break;
        }
        return value;
    }
    std::int64_t signed_leb() {
        std::uint64_t value = 0;
        unsigned shift = 0;
        std::uint8_t byte = 0;
        do {
            byte = take<std::uint8_t>();
            value |= std::uint64_t{byte & 0x7Fu} << shift;
            shift += 7;
        } while ((byte & 0x80u) != 0 && shift < 64);
        if (shift < 64 && (byte & 0x40u) != 0) value |= ~std::uint64_t{0} << shift;
        return static_cast<std::int64_t>(value);
    }
    std::string text() {
        const std::size_t end = all_.find('\0', at_);
        if (end == std::string_view::npos || end >= end_) {
            failed = true;
            return "";
        }
        std::string result(all_.substr(at_, end - at_));
        at_ = end + 1;
        return result;
    }
    bool failed = false;

  private:
    std::string_view all_;
    std::size_t at_, end_;
};

/// One compilation unit's program (DWARF 4, section 6.2).
class LineProgram {
  public:
    LineProgram(std::string_view section, const std::vector<std::pair<std::uint64_t, std::string>>& functions, LineTable& table)
        : section_(section), functions_(functions), table_(table) {}

    /// Returns where the next unit begins.
    std::size_t run(std::size_t start) {
        Bytes head(section_, start, section_.size());
        const auto length = head.take<std::uint32_t>();
        const std::size_t end = head.at() + length;
        Bytes in(section_, head.at(), end);
        const auto version = in.take<std::uint16_t>();
        const auto header_length = in.take<std::uint32_t>();
        if (version < 2 || version > 4 || in.failed) return end;
        const std::size_t program = in.at() + header_length;
        const auto minimum = in.take<std::uint8_t>();
        if (version >= 4) in.take<std::uint8_t>();
        in.take<std::uint8_t>();  // default_is_stmt
        const auto line_base = in.take<std::int8_t>();
        const auto line_range = in.take<std::uint8_t>();
        const auto opcode_base = in.take<std::uint8_t>();
        std::vector<std::uint8_t> operands(opcode_base, 0);
        for (unsigned i = 1; i < opcode_base; ++i) operands[i] = in.take<std::uint8_t>();
        read_files(in);
        if (in.failed || line_range == 0) return end;
        in.go_to(program);
        interpret(in, minimum, line_base, line_range, opcode_base, operands);
        return end;
    }

  private:
    void read_files(Bytes& in) {
        std::vector<std::string> folders{""};
        for (std::string folder = in.text(); !folder.empty() && !in.failed; folder = in.text()) folders.push_back(folder);
        first_file_ = table_.files.size();
        for (std::string name = in.text(); !name.empty() && !in.failed; name = in.text()) {
            const std::uint64_t folder = in.unsigned_leb();
            in.unsigned_leb();  // time
            in.unsigned_leb();  // size
            const bool beside = name[0] == '/' || folder >= folders.size() || folders[folder].empty();
            table_.files.push_back(beside ? name : folders[folder] + "/" + name);
        }
    }

    void interpret(Bytes& in, std::uint64_t minimum, int line_base, unsigned line_range, unsigned opcode_base,
                   const std::vector<std::uint8_t>& operands) {
        std::string function;
        std::uint64_t address = 0;
        std::int64_t line = 1;
        std::uint64_t file = 1;
        const auto add_row = [&] {
            if (function.empty() || line <= 0 || file == 0 || first_file_ + file > table_.files.size()) return;
            std::vector<LineEntry>& rows = table_.functions[function];
            const LineEntry row{address, static_cast<std::uint32_t>(first_file_ + file - 1), static_cast<std::uint32_t>(line)};
            if (!rows.empty() && rows.back().address == address)
                rows.back() = row;
            else
                rows.push_back(row);
        };
        while (!in.done()) {
            const auto opcode = in.take<std::uint8_t>();
            if (opcode >= opcode_base) {
                const unsigned adjusted = opcode - opcode_base;
                address += adjusted / line_range * minimum;
                line += line_base + static_cast<int>(adjusted % line_range);
                add_row();
                continue;
            }
            switch (opcode) {
                case 0: {
                    const std::uint64_t length = in.unsigned_leb();
                    const std::size_t next = in.at() + length;
                    const auto extended = in.take<std::uint8_t>();
                    if (extended == 1) {  // end of sequence
                        function.clear();
                        address = 0;
                        line = 1;
                        file = 1;
                    } else if (extended == 2) {  // set address
                        function = function_at(in.at());
                        address = in.take<std::uint64_t>();
                    }
                    in.go_to(next);
                    break;
                }
                case 1:
                    add_row();
                    break;
                case 2:
                    address += in.unsigned_leb() * minimum;
                    break;
                case 3:
                    line += in.signed_leb();
                    break;
                case 4:
                    file = in.unsigned_leb();
                    break;
                case 8:
                    address += (255u - opcode_base) / line_range * minimum;
                    break;
                case 9:
                    address += in.take<std::uint16_t>();
                    break;
                default:
                    for (unsigned i = 0; i < operands[opcode]; ++i) in.unsigned_leb();
                    break;
            }
        }
    }

    std::string function_at(std::uint64_t byte) const {
        for (const auto& [at, name] : functions_)
            if (at == byte) return name;
        return "";
    }

    std::string_view section_;
    const std::vector<std::pair<std::uint64_t, std::string>>& functions_;
    LineTable& table_;
    std::size_t first_file_ = 0;
};

}  // namespace

LineTable read_line_table(std::string_view section, const std::vector<std::pair<std::uint64_t, std::string>>& functions) {
    LineTable table;
    LineProgram program(section, functions, table);
    for (std::size_t at = 0; at + 4 <= section.size();) {
        const std::size_t next = program.run(at);
        if (next <= at) break;
        at = next;
    }
    for (auto& [name, lines] : table.functions)
        std::stable_sort(lines.begin(), lines.end(), [](const LineEntry& a, const LineEntry& b) { return a.address < b.address; });
    return table;
}

}  // namespace heddle::sass
