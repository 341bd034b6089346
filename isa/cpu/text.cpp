// The text form of CPU programs, both ways.
#include <bit>
#include <cstdlib>
#include <map>
#include <optional>
#include <sstream>

#include "isa/common/error.h"
#include "isa/cpu/program.h"

namespace heddle::cpu {
namespace {

std::string affine_text(const Affine& affine) {
    std::string text = std::to_string(affine.constant);
    for (const Affine::Term& term : affine.terms)
        text += (term.stride < 0 ? "" : "+") + std::to_string(term.stride) + "*i" + std::to_string(term.loop);
    return text;
}

class Writer {
  public:
    explicit Writer(const Program& program) : program_(program) {}

    std::string text() {
        out_ << "program " << (program_.name.empty() ? "unnamed" : program_.name) << " lanes " << program_.lanes << "\n";
        for (const Buffer& buffer : program_.buffers)
            out_ << "buffer " << buffer.name << " " << buffer.bytes << (buffer.per_thread ? " per_thread" : "") << "\n";
        for (const Region& region : program_.regions) {
            out_ << "parallel " << region.name;
            for (const std::int64_t count : region.counts) out_ << " " << count;
            if (region.most_threads != 0) out_ << " threads " << region.most_threads;
            out_ << " {\n";
            body(region.body, 2);
            out_ << "}\n";
        }
        return out_.str();
    }

  private:
    void body(const Body& nodes, int indent) {
        const std::string space(indent, ' ');
        for (const auto& node : nodes) {
            out_ << space;
            if (const auto* loop = std::get_if<Loop>(&node)) {
                out_ << "loop i" << unsigned{loop->counter} << " " << loop->count;
                if (loop->bounded) out_ << " limit " << affine_text(loop->limit);
                out_ << " {\n";
                body(loop->body, indent + 2);
                out_ << space << "}\n";
            } else {
                instruction(std::get<Instruction>(node));
            }
        }
    }

    void instruction(const Instruction& one) {
        const OpcodeTraits& is = traits(one.opcode);
        const char* const file = is.tile ? "t" : "v";
        out_ << is.name;
        if (is.memory && one.opcode != Opcode::op_index && !is.tile) out_ << "." << name_of(one.type);
        if (is.writes) out_ << " " << file << int{one.d};
        const std::int8_t sources[] = {one.a, one.b, one.c};
        for (unsigned i = 0; i < is.sources; ++i) out_ << " " << file << int{sources[i]};
        if (one.opcode == Opcode::op_set) out_ << " 0x" << std::hex << one.immediate << std::dec;
        if (one.opcode == Opcode::op_shr) out_ << " " << one.immediate;
        if (is.memory) {
            out_ << " [" << (one.opcode == Opcode::op_index ? "lane" : program_.buffers.at(one.buffer).name) << " "
                 << affine_text(one.offset) << "] step " << one.lane_bytes;
            if (one.scale != 0) out_ << " scale " << one.scale;
            if (one.uniform) out_ << " uniform";
            if (one.streaming) out_ << " streaming";
        }
        for (const Mask& mask : one.masks) out_ << " where " << affine_text(mask.value) << " " << mask.lane_stride << " " << mask.limit;
        out_ << "\n";
    }

    const Program& program_;
    std::ostringstream out_;
};

class Reader {
  public:
    Reader(const std::string& text, std::string file) : file_(std::move(file)) {
        std::istringstream lines(text);
        std::int64_t number = 0;
        for (std::string line; std::getline(lines, line);) {
            ++number;
            line.resize(std::min(line.find('#'), line.size()));
            for (char& c : line)
                if (c == '[' || c == ']' || c == ',') c = ' ';
            std::istringstream words(line);
            std::vector<std::string> found;
            for (std::string word; words >> word;) found.push_back(word);
            if (!found.empty()) lines_.push_back({number, std::move(found)});
        }
    }

    Program read() {
        Program program;
        bool named = false;
        while (next_ < lines_.size()) {
            begin_line();
            const std::string key = word("a statement");
            if (key == "program") {
                program.name = word("a name");
                expect("lanes");
                program.lanes = static_cast<unsigned>(number());
                named = true;
            } else if (key == "buffer") {
                Buffer buffer;
                buffer.name = word("a name");
                buffer.bytes = static_cast<std::uint64_t>(number());
                if (more() && word("per_thread") != "per_thread") fail("expected `per_thread`");
                buffer.per_thread = line().words.back() == "per_thread";
                if (!buffers_.emplace(buffer.name, program.buffers.size()).second) fail("two buffers named `" + buffer.name + "`");
                program.buffers.push_back(buffer);
            } else if (key == "parallel") {
                Region region;
                region.name = word("a name");
                while (peek() != "{" && peek() != "threads") region.counts.push_back(number());
                if (peek() == "threads") {
                    word("threads");
                    region.most_threads = static_cast<std::uint32_t>(number());
                }
                expect("{");
                end_line();
                region.body = body();
                program.regions.push_back(std::move(region));
                continue;
            } else {
                fail("`" + key + "` begins no statement");
            }
            end_line();
        }
        if (!named) throw Error("the text of a CPU program begins with `program NAME lanes N`", {file_, 1, ""});
        return program;
    }

  private:
    struct Line {
        std::int64_t number;
        std::vector<std::string> words;
    };
    const Line& line() const { return lines_[next_]; }
    [[noreturn]] void fail(const std::string& problem) const {
        throw Error(problem, {file_, lines_.empty() ? 0 : lines_[std::min(next_, lines_.size() - 1)].number, ""});
    }
    void begin_line() {
        if (next_ >= lines_.size()) fail("expected `}`");
        at_ = 0;
    }
    void end_line() {
        if (more()) fail("`" + peek() + "` is too much");
        ++next_;
    }
    bool more() const { return at_ < line().words.size(); }
    std::string peek() const { return more() ? line().words[at_] : ""; }
    std::string word(const char* what) {
        if (!more()) fail(std::string("expected ") + what);
        return line().words[at_++];
    }
    void expect(const std::string& wanted) {
        if (peek() != wanted) fail("expected `" + wanted + "`");
        ++at_;
    }
    std::int64_t number_in(const std::string& text) const {
        char* end = nullptr;
        errno = 0;
        const long long value = std::strtoll(text.c_str(), &end, 0);
        if (text.empty() || *end != 0 || errno != 0) fail("`" + text + "` is not an integer");
        return value;
    }
    std::int64_t number() { return number_in(word("a number")); }

    Affine affine() {
        const std::string text = word("an affine expression");
        Affine found;
        std::size_t begin = 0;
        for (std::size_t at = 1; at <= text.size(); ++at) {
            if (at < text.size() && text[at] != '+' && text[at] != '-') continue;
            const std::string part = text.substr(begin, at - begin);
            const std::size_t star = part.find("*i");
            if (star == std::string::npos) {
                found.constant += number_in(part);
            } else {
                const std::int64_t loop = number_in(part.substr(star + 2));
                if (loop < 0 || loop >= kMostLoops) fail("there is no counter i" + std::to_string(loop));
                found.add(static_cast<unsigned>(loop), number_in(part.substr(0, star)));
            }
            begin = at;
        }
        return found;
    }

    std::int8_t register_of(bool tile) {
        const std::string text = word("a register");
        if (text.size() < 2 || text[0] != (tile ? 't' : 'v')) fail("`" + text + "` is no " + (tile ? "tile" : "vector") + " register");
        const std::int64_t value = number_in(text.substr(1));
        if (value < 0 || value > 127) fail("`" + text + "` is no register");
        return static_cast<std::int8_t>(value);
    }

    Body body() {
        Body nodes;
        for (;;) {
            begin_line();
            const std::string key = word("an instruction");
            if (key == "}") {
                end_line();
                return nodes;
            }
            if (key == "loop") {
                Loop loop;
                const std::string counter = word("a counter");
                if (counter.empty() || counter[0] != 'i') fail("`" + counter + "` is no counter");
                const std::int64_t value = number_in(counter.substr(1));
                if (value < 0 || value >= kMostLoops) fail("there is no counter " + counter);
                loop.counter = static_cast<std::uint8_t>(value);
                loop.count = number();
                if (peek() == "limit") {
                    word("limit");
                    loop.bounded = true;
                    loop.limit = affine();
                }
                expect("{");
                end_line();
                loop.body = body();
                nodes.emplace_back(std::move(loop));
            } else {
                nodes.emplace_back(instruction(key));
                end_line();
            }
        }
    }

    Instruction instruction(const std::string& key) {
        Instruction one;
        const std::size_t dot = key.find('.');
        const std::string name = key.substr(0, dot);
        std::optional<Opcode> opcode;
        for (std::size_t i = 0; i <= static_cast<std::size_t>(Opcode::op_tile_i8); ++i)
            if (name == traits(static_cast<Opcode>(i)).name) opcode = static_cast<Opcode>(i);
        if (!opcode) fail("there is no instruction `" + name + "`");
        one.opcode = *opcode;
        const OpcodeTraits& is = traits(one.opcode);
        if (dot != std::string::npos) {
            bool known = false;
            for (std::size_t i = 0; i <= static_cast<std::size_t>(ElementType::raw32); ++i)
                if (key.substr(dot + 1) == name_of(static_cast<ElementType>(i))) one.type = static_cast<ElementType>(i), known = true;
            if (!known) fail("there is no type `" + key.substr(dot + 1) + "`");
        }
        if (is.writes) one.d = register_of(is.tile);
        std::int8_t* const sources[] = {&one.a, &one.b, &one.c};
        for (unsigned i = 0; i < is.sources; ++i) *sources[i] = register_of(is.tile);
        if (one.opcode == Opcode::op_set || one.opcode == Opcode::op_shr) one.immediate = static_cast<std::uint32_t>(number());
        if (is.memory) {
            const std::string buffer = word("a buffer");
            if (one.opcode != Opcode::op_index) {
                const auto found = buffers_.find(buffer);
                if (found == buffers_.end()) fail("there is no buffer `" + buffer + "`");
                one.buffer = static_cast<std::uint16_t>(found->second);
            }
            one.offset = affine();
            expect("step");
            one.lane_bytes = number();
        }
        while (more()) {
            const std::string option = word("an option");
            if (option == "scale") {
                one.scale = number();
            } else if (option == "uniform") {
                one.uniform = true;
            } else if (option == "streaming") {
                one.streaming = true;
            } else if (option == "where") {
                Mask mask;
                mask.value = affine();
                mask.lane_stride = number();
                mask.limit = number();
                one.masks.push_back(mask);
            } else {
                fail("`" + option + "` is no option of an instruction");
            }
        }
        return one;
    }

    std::string file_;
    std::vector<Line> lines_;
    std::size_t next_ = 0, at_ = 0;
    std::map<std::string, std::size_t> buffers_;
};

}  // namespace

std::string disassemble(const Program& program) {
    return Writer(program).text();
}

Program assemble(const std::string& text, const std::string& file) {
    return Reader(text, file).read();
}

}  // namespace heddle::cpu
