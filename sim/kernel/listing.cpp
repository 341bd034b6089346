#include "sim/kernel/listing.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "isa/common/error.h"
#include "isa/ptx/parser.h"
#include "sim/kernel/report.h"
#include "sim/report/numbers.h"
#include "sim/report/text_table.h"

namespace heddle::kernel {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostProblems = 200, kProblemShownLines = 8;

/// Replaces an instruction that stands alone on its line by spaces; false when it does not.
bool take_out(std::string& text, std::int64_t line) {
    if (line < 1) return false;
    std::size_t first = 0;
    for (std::int64_t i = 1; i < line; ++i) {
        first = text.find('\n', first);
        if (first == std::string::npos) return false;
        ++first;
    }
    const std::size_t last = std::min(text.find('\n', first), text.size());
    const std::size_t begin = text.find_first_not_of(" \t", first), end = text.find(';', first);
    if (begin >= last || end >= last || text[begin] == '.') return false;
    std::fill(text.begin() + static_cast<std::ptrdiff_t>(begin),
              text.begin() + static_cast<std::ptrdiff_t>(end) + 1, ' ');
    return true;
}

/// Problems that differ only in their lines become one.
void remember(const std::string& key, const std::string& problem, std::int64_t line,
              std::vector<ModuleListing::Unsupported>& unsupported) {
    for (ModuleListing::Unsupported& known : unsupported) {
        if (known.key != key || known.problem != problem) continue;
        known.lines.push_back(line);
        return;
    }
    unsupported.push_back({key, problem, {line}});
}

/// Parses what is left after taking out what is not supported.
std::shared_ptr<const ptx::Module> parse_what_can_be(std::string text, const std::string& path,
                                                     std::vector<ModuleListing::Unsupported>& unsupported) {
    std::size_t taken_out = 0;
    while (true) {
        try {
            return ptx::parse_shared(text, path);
        } catch (const Error& failure) {
            remember(failure.where().key, failure.problem(), failure.where().line, unsupported);
            if (++taken_out >= kMostProblems || !take_out(text, failure.where().line)) return nullptr;
        }
    }
}

KernelListing list_kernel(const std::shared_ptr<const ptx::Module>& module, const ptx::Kernel& kernel,
                          unsigned compute_capability) {
    KernelListing listing;
    listing.name = kernel.name;
    for (const ptx::Parameter& parameter : kernel.parameters) {
        const std::string type = "." + std::string(ptx::name_of(parameter.type));
        listing.parameters.push_back(
            {parameter.name, parameter.pointer ? type + " pointer" : type, parameter.bytes});
    }
    listing.static_shared_bytes = kernel.shared_bytes;
    listing.instructions = kernel.instructions.size();
    try {
        const ptx::LoadedKernel loaded(module, kernel.name, compute_capability);
        listing.registers_per_thread = loaded.registers_per_thread();
        std::array<std::size_t, ptx::kPipelineCount> counts{};
        for (const ptx::InstructionInfo& info : loaded.instructions()) {
            ++counts[static_cast<std::size_t>(info.pipeline)];
        }
        for (std::size_t i = 0; i < counts.size(); ++i) {
            if (counts[i] == 0) continue;
            listing.by_pipeline.push_back({name_of(static_cast<ptx::Pipeline>(i)), counts[i]});
        }
    } catch (const Error& failure) {
        listing.problem = failure.what();
    }
    return listing;
}

}  // namespace

ModuleListing list_module(const std::string& text, const std::string& path, unsigned compute_capability) {
    ModuleListing listing;
    const std::shared_ptr<const ptx::Module> module = parse_what_can_be(text, path, listing.unsupported);
    if (!module) return listing;
    for (const ptx::UnsupportedInstruction& one : module->unsupported) {
        remember(one.token, one.problem, one.line, listing.unsupported);
    }
    for (const ptx::Kernel& kernel : module->kernels) {
        listing.kernels.push_back(list_kernel(module, kernel, compute_capability));
    }
    return listing;
}

std::string format_listing(const ModuleListing& listing, std::size_t width) {
    std::string text;
    for (const KernelListing& kernel : listing.kernels) {
        text += kernel.name + "\n";
        if (kernel.problem.empty()) {
            text +=
                fmt::format("  {} registers per thread, {} bytes of static shared memory, {} instructions:",
                            kernel.registers_per_thread, sim::format_count(kernel.static_shared_bytes),
                            sim::format_count(kernel.instructions));
            const char* separator = " ";
            for (const auto& [pipeline, count] : kernel.by_pipeline) {
                text += fmt::format("{}{} {}", separator, pipeline, count);
                separator = ", ";
            }
            text += "\n";
        } else {
            text += "  cannot be run: " + kernel.problem + "\n";
        }
        std::vector<std::vector<std::string>> rows;
        for (std::size_t i = 0; i < kernel.parameters.size(); ++i) {
            const KernelListing::Parameter& parameter = kernel.parameters[i];
            rows.push_back({fmt::format("  argument {}", i), parameter.type,
                            fmt::format("{} bytes", parameter.bytes), parameter.name});
        }
        text += sim::fit_columns(std::move(rows), {false, false, true}, width);
    }
    if (listing.kernels.empty()) text += "no kernels\n";
    if (!listing.unsupported.empty()) {
        text += fmt::format("not supported ({}):\n", listing.unsupported.size());
        for (const ModuleListing::Unsupported& one : listing.unsupported) {
            text += "  " + (one.key.empty() ? "" : one.key + ": ") + one.problem + " (line";
            text += one.lines.size() > 1 ? "s" : "";
            for (std::size_t i = 0; i < std::min(one.lines.size(), kProblemShownLines); ++i) {
                text += fmt::format("{} {}", i == 0 ? "" : ",", one.lines[i]);
            }
            text += one.lines.size() > kProblemShownLines ? ", ...)\n" : ")\n";
        }
    }
    return text;
}

std::string listing_json(const ModuleListing& listing) {
    Json json{{"kernels", Json::array()}, {"unsupported", Json::array()}};
    for (const ModuleListing::Unsupported& one : listing.unsupported) {
        json["unsupported"].push_back({{"token", one.key}, {"problem", one.problem}, {"lines", one.lines}});
    }
    for (const KernelListing& kernel : listing.kernels) {
        Json one{{"name", kernel.name}, {"parameters", Json::array()}};
        for (const KernelListing::Parameter& parameter : kernel.parameters) {
            one["parameters"].push_back(
                {{"name", parameter.name}, {"type", parameter.type}, {"bytes", parameter.bytes}});
        }
        one["registers_per_thread"] = kernel.registers_per_thread;
        one["static_shared_bytes"] = kernel.static_shared_bytes;
        one["instructions"] = kernel.instructions;
        one["by_pipeline"] = Json::object();
        for (const auto& [pipeline, count] : kernel.by_pipeline) one["by_pipeline"][pipeline] = count;
        one["problem"] = kernel.problem.empty() ? Json(nullptr) : Json(kernel.problem);
        json["kernels"].push_back(std::move(one));
    }
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace heddle::kernel
