// The contents of a PTX file: `heddle kernel --list`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "isa/ptx/execution.h"

namespace heddle::kernel {

/// One kernel of a module.
struct KernelListing {
    std::string name;
    struct Parameter {
        std::string name, type;
        std::uint32_t bytes = 0;
    };
    std::vector<Parameter> parameters;
    std::uint32_t registers_per_thread = 0, static_shared_bytes = 0;
    std::size_t instructions = 0;
    /// Number of instructions by pipeline, in the order of ptx::Pipeline.
    std::vector<std::pair<std::string, std::size_t>> by_pipeline;
    std::string problem;  ///< why it cannot be run; empty when it can
};

/// The kernels of a module, and what in it is not supported.
struct ModuleListing {
    std::vector<KernelListing> kernels;
    /// Instructions and declarations that are not supported; equal ones are one entry.
    struct Unsupported {
        std::string key, problem;
        std::vector<std::int64_t> lines;
    };
    std::vector<Unsupported> unsupported;
};

/// Lists a module. Instructions that are not supported are removed line by line, so that the other kernels
/// can be listed. `compute_capability` is that of the device (90 for sm_90); 0: that of the module.
ModuleListing list_module(const std::string& text, const std::string& path, unsigned compute_capability = 0);

/// Format a listing for people, in lines of at most `width` columns (0: no limit), and as JSON.
std::string format_listing(const ModuleListing& listing, std::size_t width = 0);
std::string listing_json(const ModuleListing& listing);

}  // namespace heddle::kernel
