#include "isa/tpu/assembler.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <optional>
#include <sstream>

#include "isa/common/checked.h"
#include "isa/tpu/fields.h"

namespace heddle::tpu {
namespace {

/// One line, taken apart at blanks. Fields are looked up by name and marked as used.
class Line {
  public:
    Line(const std::string& text, const std::string& file, int number) : file_(file), number_(number) {
        std::istringstream stream(text.substr(0, text.find('#')));
        std::string word;
        while (stream >> word) words_.push_back(word);
        used_.assign(words_.size(), false);
    }

    bool empty() const { return words_.empty(); }
    bool has_more() const { return std::find(used_.begin(), used_.end(), false) != used_.end(); }
    int number() const { return number_; }
    [[noreturn]] void fail(const std::string& problem, const std::string& word = "",
                           const std::string& remedy = "") const {
        throw Error(problem, {file_, number_, word}, remedy);
    }

    /// The next unused word.
    std::string take(const char* what) {
        for (std::size_t i = 0; i < words_.size(); ++i) {
            if (used_[i]) continue;
            used_[i] = true;
            return words_[i];
        }
        fail(std::string("expected ") + what);
    }
    void expect(const std::string& wanted) {
        const std::string word = take(("\"" + wanted + "\"").c_str());
        if (word != wanted) fail("expected \"" + wanted + "\"", word);
    }
    bool take_mark(const std::string& name) {
        const std::size_t at = find(name);
        if (at == words_.size()) return false;
        used_[at] = true;
        return true;
    }
    /// The value behind the next use of `name`; false when there is none.
    bool take_value(const std::string& name, std::string& value) {
        const std::size_t at = find(name);
        if (at == words_.size()) return false;
        if (at + 1 >= words_.size() || used_[at + 1]) fail(name + " has no value", name);
        used_[at] = used_[at + 1] = true;
        value = words_[at + 1];
        return true;
    }
    void finish(const std::vector<std::string>& known) const {
        for (std::size_t i = 0; i < words_.size(); ++i) {
            if (used_[i]) continue;
            const std::string near = nearest_word(words_[i], known.data(), known.size());
            fail("does not belong here", words_[i], near.empty() ? "" : "did you mean " + near + "?");
        }
    }

    std::int64_t to_integer(const std::string& word) const {
        char* end = nullptr;
        errno = 0;
        const long long value = std::strtoll(word.c_str(), &end, 0);
        if (word.empty() || *end != '\0' || errno != 0) fail("is not an integer", word);
        return value;
    }

    template <class Number>
    Number to_number(const std::string& word) const {
        const std::int64_t value = to_integer(word);
        if (value < 0 || static_cast<std::uint64_t>(value) > std::numeric_limits<Number>::max())
            fail("is out of range", word);
        return static_cast<Number>(value);
    }

    float to_real(const std::string& word) const {
        if (word.rfind("bits:", 0) == 0)
            return std::bit_cast<float>(to_number<std::uint32_t>(word.substr(5)));
        char* end = nullptr;
        const float value = std::strtof(word.c_str(), &end);
        if (word.empty() || *end != '\0') fail("is not a number", word);
        return value;
    }

    ElementType to_type(const std::string& word) const {
        const auto type = element_type_from_name(word);
        if (!type)
            fail("is not an element type", word,
                 "fp32, bf16, fp8_e4m3, fp8_e5m2, int32, int16, int8 or word8");
        return *type;
    }

    /// 0x100+0x40*i-8*k
    Affine to_affine(const std::string& word) const {
        Affine affine;
        for (std::size_t begin = 0; begin < word.size();) {
            std::size_t end = begin + 1;
            while (end < word.size() && word[end] != '+' && word[end] != '-') ++end;
            std::string term = word.substr(begin, end - begin);
            const std::size_t star = term.find('*');
            std::string factor = term.substr(0, star);
            if (!factor.empty() && factor[0] == '+') factor.erase(0, 1);
            const std::int64_t value = to_integer(factor);
            const auto add = [&](std::int64_t& to) {
                const auto sum = checked_sum(to, value);
                if (!sum) fail("is out of range", word);
                to = *sum;
            };
            if (star == std::string::npos) {
                add(affine.base);
            } else {
                const std::string counter = term.substr(star + 1);
                const auto level =
                    counter.size() == 1 ? static_cast<std::size_t>(counter[0] - 'i') : kRepeatLevels;
                if (level >= kRepeatLevels)
                    fail("unknown repeat counter " + counter, word, "i, j or k, outermost first");
                add(affine.step[level]);
            }
            begin = end;
        }
        if (word.empty()) fail("is not an address", word);
        return affine;
    }

  private:
    std::size_t find(const std::string& name) const {
        for (std::size_t i = 0; i < words_.size(); ++i) {
            if (!used_[i] && words_[i] == name) return i;
        }
        return words_.size();
    }

    std::string file_;
    int number_;
    std::vector<std::string> words_;
    std::vector<bool> used_;
};

/// Fills an instruction's fields from a line.
class Reader {
  public:
    explicit Reader(Line& line) : line_(line) {}
    std::vector<std::string> known{"after", "signals"};

    template <class Number>
    void number(const char* name, Number& value, bool required = false) {
        std::string word;
        if (take(name, required, word)) value = line_.to_number<Number>(word);
    }
    void affine(const char* name, Affine& value, bool required = false) {
        std::string word;
        if (take(name, required, word)) value = line_.to_affine(word);
    }
    void type(const char* name, ElementType& value) {
        std::string word;
        if (take(name, true, word)) value = line_.to_type(word);
    }
    void part(const char* name, Bf16Part& value) {
        std::string word;
        if (!take(name, false, word)) return;
        if (word == "high")
            value = Bf16Part::high;
        else if (word == "middle")
            value = Bf16Part::middle;
        else if (word == "low")
            value = Bf16Part::low;
        else
            line_.fail("is not a part of a number", word, "high, middle or low");
    }
    void mark(const char* name, bool& value) {
        known.emplace_back(name);
        value = line_.take_mark(name);
    }
    void operands(const char* name, std::vector<VectorOperand>& operands) {
        known.emplace_back(name);
        std::string word;
        while (line_.take_value(name, word)) operands.push_back(operand(word));
    }
    void reals(const char* name, std::vector<float>& values) {
        known.emplace_back(name);
        std::string word;
        while (line_.take_value(name, word)) values.push_back(line_.to_real(word));
    }

  private:
    bool take(const char* name, bool required, std::string& word) {
        known.emplace_back(name);
        if (line_.take_value(name, word)) return true;
        if (required) line_.fail(std::string("needs ") + name);
        return false;
    }
    VectorOperand operand(const std::string& word) const {
        VectorOperand result;
        const std::size_t at = word.find('@'), colon = word.find(':');
        if (at == std::string::npos || colon == std::string::npos || colon < at) {
            line_.fail("is not a tile", word, "write type@address:row_stride, such as fp32@0x100:512");
        }
        result.type = line_.to_type(word.substr(0, at));
        result.vmem = line_.to_affine(word.substr(at + 1, colon - at - 1));
        std::string stride = word.substr(colon + 1);
        const std::size_t second = stride.find(':');
        if (second != std::string::npos) {
            if (stride.substr(second + 1) != "broadcast")
                line_.fail("is not a tile", word, "only :broadcast may follow");
            result.broadcast_columns = true;
            stride.resize(second);
        }
        result.row_stride = line_.to_number<std::uint64_t>(stride);
        return result;
    }

    Line& line_;
};

const std::map<std::string, Operation>& operations() {
    const auto dma = [](DmaKind kind) {
        Dma result;
        result.kind = kind;
        return result;
    };
    static const std::map<std::string, Operation> table{
        {"dma.load", dma(DmaKind::load)},
        {"dma.store", dma(DmaKind::store)},
        {"dma.gather", dma(DmaKind::gather)},
        {"dma.scatter", dma(DmaKind::scatter)},
        {"dma.scatter_add", dma(DmaKind::scatter_add)},
        {"push", PushWeights{}},
        {"matmul", Matmul{}},
        {"pop", Pop{}},
        {"vector", Vector{}},
        {"transpose", Transpose{}},
        {"signal", Signal{}},
        {"wait", Wait{}},
        {"repeat", Repeat{}},
        {"}", EndRepeat{}},
        {"halt", Halt{}},
    };
    return table;
}

class Assembler {
  public:
    Assembler(const std::string& text, const std::string& file) : stream_(text), file_(file) {}

    Program run() {
        while (next()) {
            const std::string word = line_->take("program, kernel or core");
            if (word == "program") {
                program_.name = line_->take("the program's name");
                line_->finish({});
            } else if (word == "kernel") {
                read_kernel();
            } else if (word == "core") {
                line_->expect("{");
                line_->finish({});
                read_core();
            } else {
                line_->fail("does not belong here", word, "program, kernel or core");
            }
        }
        return std::move(program_);
    }

  private:
    bool next() {
        std::string text;
        while (std::getline(stream_, text)) {
            ++number_;
            line_.emplace(text, file_, number_);
            if (!line_->empty()) return true;
        }
        return false;
    }

    void read_kernel() {
        auto kernel = std::make_shared<VectorKernel>();
        kernel->name = line_->take("the kernel's name");
        Reader reader(*line_);
        reader.number("inputs", kernel->inputs, kRequired);
        reader.number("scalars", kernel->scalars, kRequired);
        line_->expect("{");
        line_->finish({"inputs", "scalars"});
        if (!kernels_.emplace(kernel->name, kernel).second) line_->fail("is defined twice", kernel->name);
        while (true) {
            if (!next())
                throw Error("kernel " + kernel->name + " is not closed", {file_, number_, ""}, "add }");
            const std::string word = line_->take("a node, output or }");
            if (word == "}") break;
            if (word == "output") {
                read_output(*kernel);
            } else {
                read_node(*kernel, word);
            }
            line_->finish({"accumulate", "lanes_sum", "lanes_maximum", "sublanes_sum", "sublanes_maximum"});
        }
    }

    void read_node(VectorKernel& kernel, const std::string& number) {
        if (line_->to_number<std::size_t>(number) != kernel.nodes.size()) {
            line_->fail("nodes are numbered in order", number,
                        "expected " + std::to_string(kernel.nodes.size()));
        }
        line_->expect("=");
        const std::string name = line_->take("an operation");
        const auto op = vector_op_from_name(name);
        if (!op) line_->fail("is no vector operation", name);
        VectorNode node;
        node.op = *op;
        const unsigned operands = traits(*op).operands;
        if (operands > 0) node.a = line_->to_number<std::uint32_t>(line_->take("an operand"));
        if (operands > 1) node.b = line_->to_number<std::uint32_t>(line_->take("an operand"));
        if (operands > 2) node.c = line_->to_number<std::uint32_t>(line_->take("an operand"));
        if (*op == VectorOp::input || *op == VectorOp::scalar || *op == VectorOp::random ||
            *op == VectorOp::philox || *op == VectorOp::philox_counter) {
            node.index = line_->to_number<std::uint32_t>(line_->take("a number"));
            if (*op == VectorOp::philox) node.bits = line_->to_number<std::uint32_t>(line_->take("a number"));
        } else if (*op == VectorOp::constant) {
            node.bits = std::bit_cast<std::uint32_t>(line_->to_real(line_->take("a number")));
        } else if (*op == VectorOp::integer_constant) {
            const std::int64_t value = line_->to_integer(line_->take("an integer"));
            if (value < INT32_MIN || value > INT32_MAX) line_->fail("does not fit 32 bits");
            node.bits = static_cast<std::uint32_t>(static_cast<std::int32_t>(value));
        }
        kernel.nodes.push_back(node);
    }

    void read_output(VectorKernel& kernel) {
        VectorOutput output;
        output.node = line_->to_number<std::uint32_t>(line_->take("a node"));
        for (const Reduction reduction : {Reduction::lanes_sum, Reduction::lanes_maximum,
                                          Reduction::sublanes_sum, Reduction::sublanes_maximum}) {
            if (line_->take_mark(name_of(reduction))) output.reduction = reduction;
        }
        output.accumulate = line_->take_mark("accumulate");
        kernel.outputs.push_back(output);
    }

    void read_core() {
        CoreProgram core;
        std::size_t depth = 0;
        while (true) {
            if (!next()) throw Error("a core is not closed", {file_, number_, ""}, "add }");
            const std::string word = line_->take("an instruction");
            if (word == "}" && depth == 0) break;
            core.instructions.push_back(read_instruction(word));
            if (word == "}") --depth;
            if (word == "repeat") ++depth;
        }
        program_.cores.push_back(std::move(core));
    }

    Instruction read_instruction(const std::string& word) {
        const auto found = operations().find(word);
        if (found == operations().end()) {
            std::vector<std::string> names;
            for (const auto& [name, operation] : operations()) names.push_back(name);
            const std::string near = nearest_word(word, names.data(), names.size());
            line_->fail("is no instruction", word, near.empty() ? "" : "did you mean " + near + "?");
        }
        Instruction instruction{found->second, {}, {}, line_->number()};
        if (auto* vector = std::get_if<Vector>(&instruction.operation)) {
            const std::string name = line_->take("a kernel's name");
            const auto kernel = kernels_.find(name);
            if (kernel == kernels_.end()) line_->fail("is not a kernel defined above", name);
            vector->kernel = kernel->second;
        } else if (auto* repeat = std::get_if<Repeat>(&instruction.operation)) {
            repeat->count = line_->to_number<std::uint32_t>(line_->take("a count"));
            line_->expect("{");
        }
        Reader reader(*line_);
        std::visit([&](auto& operation) { visit_fields(operation, reader); }, instruction.operation);
        std::string value;
        while (line_->take_value("after", value)) instruction.waits.push_back(to_wait(value));
        while (line_->take_value("signals", value)) instruction.signals.push_back(to_signal(value));
        if (std::holds_alternative<Signal>(instruction.operation))
            while (line_->has_more()) instruction.signals.push_back(to_signal(line_->take("a flag")));
        if (std::holds_alternative<Wait>(instruction.operation)) {
            while (line_->has_more()) instruction.waits.push_back(to_wait(line_->take("a flag")));
        }
        line_->finish(reader.known);
        return instruction;
    }

    FlagWait to_wait(const std::string& word) const {
        const std::size_t colon = word.find(':');
        FlagWait wait;
        wait.flag = line_->to_number<std::uint16_t>(word.substr(0, colon));
        if (colon != std::string::npos) wait.count = line_->to_number<std::uint32_t>(word.substr(colon + 1));
        return wait;
    }
    FlagSignal to_signal(const std::string& word) const {
        const std::size_t dot = word.find('.');
        FlagSignal signal;
        if (dot != std::string::npos) signal.core = line_->to_number<std::int16_t>(word.substr(0, dot));
        signal.flag = line_->to_number<std::uint16_t>(dot == std::string::npos ? word : word.substr(dot + 1));
        return signal;
    }

    std::istringstream stream_;
    std::string file_;
    int number_ = 0;
    std::optional<Line> line_;
    std::map<std::string, std::shared_ptr<const VectorKernel>> kernels_;
    Program program_;
};

}  // namespace

Program assemble(const std::string& text, const std::string& file) {
    return Assembler(text, file).run();
}

}  // namespace heddle::tpu
