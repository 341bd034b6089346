#include "models/common/vcd_writer.h"

#include <set>

#include "isa/common/error.h"

namespace heddle::models {
namespace {

/// Identifier codes are numbers to the base of the printable characters.
std::string code_of(std::size_t number) {
    constexpr std::size_t kFirst = '!', kCount = '~' - '!' + 1;
    std::string code;
    for (;; number = number / kCount - 1) {
        code += static_cast<char>(kFirst + number % kCount);
        if (number < kCount) return code;
    }
}

std::vector<std::string> parts_of(const std::string& name) {
    std::vector<std::string> parts(1);
    for (const char letter : name) {
        if (letter == '.')
            parts.emplace_back();
        else
            parts.back() += letter;
    }
    return parts;
}

/// The same for all blocks of a kind: `N` for the number of each.
std::string without_numbers(const std::string& name) {
    std::string text;
    for (const std::string& part : parts_of(name)) {
        const std::size_t end = part.find_last_not_of("0123456789") + 1;
        text += (text.empty() ? "" : ".") + part.substr(0, end) + (end < part.size() ? "N" : "");
    }
    return text;
}

}  // namespace

VcdWriter::VcdWriter(const std::string& path, std::uint64_t most_bytes)
    : file_(std::fopen(path.c_str(), "wb"), &std::fclose), path_(path), most_bytes_(most_bytes) {
    if (file_ == nullptr) throw Error("cannot write the file", {path, 0, ""}, "does the folder exist?");
}

VcdWriter::~VcdWriter() = default;

void VcdWriter::put(const std::string& text) {
    bytes_ += text.size();
    if (bytes_ > most_bytes_) {
        const std::uint64_t mebibytes = most_bytes_ >> 20;
        throw Error("the traced signals come to more than " +
                        (mebibytes != 0 ? std::to_string(mebibytes) + " MiB"
                                        : std::to_string(most_bytes_) + " bytes") +
                        " within " + std::to_string(time_ / 1000) + " ns of simulated time",
                    {"--trace-signals", 0, ""},
                    "trace fewer with --signals, trace a smaller kernel, or allow more with --signals-size");
    }
    if (std::fwrite(text.data(), 1, text.size(), file_.get()) != text.size())
        throw Error("cannot write the file", {path_, 0, ""}, "is there room?");
}

void VcdWriter::comment(const std::string& text) {
    put("$comment " + text + " $end\n");
}

void VcdWriter::declare(const std::vector<Signal>& signals) {
    put("$version Heddle $end\n$timescale 1ps $end\n");
    std::set<std::string> explained;
    for (const Signal& signal : signals) {
        const std::string kind = without_numbers(signal.name);
        if (!explained.insert(kind).second) continue;
        const std::string& unit = signal.declaration->unit;
        comment(kind + (unit.empty() ? "" : " [" + unit + "]") + ": " + signal.declaration->meaning);
    }
    std::vector<std::string> scopes;
    for (std::size_t i = 0; i < signals.size(); ++i) {
        std::vector<std::string> parts = parts_of(signals[i].name);
        const std::string last = parts.back();
        parts.pop_back();
        std::size_t common = 0;
        while (common < parts.size() && common < scopes.size() && parts[common] == scopes[common]) ++common;
        for (std::size_t depth = scopes.size(); depth > common; --depth) put("$upscope $end\n");
        for (std::size_t depth = common; depth < parts.size(); ++depth)
            put("$scope module " + parts[depth] + " $end\n");
        scopes = parts;
        variables_.push_back({code_of(i), signals[i].declaration->bits});
        put("$var wire " + std::to_string(variables_.back().bits) + " " + variables_.back().code + " " +
            last + " $end\n");
    }
    for (std::size_t depth = scopes.size(); depth > 0; --depth) put("$upscope $end\n");
    put("$enddefinitions $end\n#0\n$dumpvars\n");
    for (std::size_t i = 0; i < signals.size(); ++i) {
        const SignalDeclaration& declaration = *signals[i].declaration;
        put_value(variables_[i], declaration.kind == SignalKind::amount ? 0 : declaration.initial);
    }
    put("$end\n");
}

void VcdWriter::put_value(const Variable& variable, std::uint32_t value) {
    std::string text;
    if (value == kNoValue) {
        text = variable.bits == 1 ? "z" : "bz ";
    } else if (variable.bits == 1) {
        text = value != 0 ? "1" : "0";
    } else {
        text = "b";
        unsigned bit = 31;
        while (bit > 0 && (value >> bit & 1u) == 0) --bit;
        for (;; --bit) {
            text += (value >> bit & 1u) != 0 ? '1' : '0';
            if (bit == 0) break;
        }
        text += ' ';
    }
    put(text + variable.code + "\n");
}

void VcdWriter::change(std::uint64_t picoseconds, std::uint32_t signal, std::uint32_t value) {
    pass(picoseconds);
    put_value(variables_[signal], value);
}

void VcdWriter::pass(std::uint64_t picoseconds) {
    if (picoseconds <= time_) return;
    time_ = picoseconds;
    put("#" + std::to_string(picoseconds) + "\n");
}

void VcdWriter::close() {
    if (std::fclose(file_.release()) != 0)
        throw Error("cannot write the file", {path_, 0, ""}, "is there room?");
}

}  // namespace heddle::models
