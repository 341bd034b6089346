// What is in a PTX file: `heddle kernel --list`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "isa/ptx/execution.h"

namespace heddle::kernel {

struct KernelListing {
    std::string name;
    struct Parameter {
        std::string name, type;
        std::uint32_t bytes = 0;
    };
    std::vector<Parameter> parameters;
    std::uint32_t registers_per_thread = 0, static_shared_bytes = 0;
    std::size_t instructions = 0;
    /// By pipeline, in the order of ptx::Pipeline.
    std::vector<std::pair<std::string, std::size_t>> by_pipeline;
    std::string problem;  ///< why it cannot be run; empty when it can
};

struct ModuleListing {
    std::vector<KernelListing> kernels;
    /// Instructions and declarations that are not supported, alike ones together.
    struct Unsupported {
        std::string key, problem;
        std::vector<std::int64_t> lines;
    };
    std::vector<Unsupported> unsupported;
};

/// Lists a module, also one with instructions that are not supported: those are taken out, line by line.
ModuleListing list_module(const std::string& text, const std::string& path, unsigned compute_capability = 0);

/// `width`: of the lines, 0: no limit.
std::string format_listing(const ModuleListing& listing, std::size_t width = 0);
std::string listing_json(const ModuleListing& listing);

}  // namespace heddle::kernel
