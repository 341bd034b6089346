#include "validation/capture/section.h"

namespace heddle::capture {

std::span<const Section> sections() {
    // The most valuable first: a capture that is cut short has the facts that nothing else can give.
    static constexpr Section kSections[] = {
        {"device", "properties, versions, clocks and power at rest and under load", capture_device},
        {"probes", "what one instruction computes: the open questions, random vectors, conversions",
         capture_probes},
        {"order", "the order in which cublasLt adds, revealed", capture_order},
        {"numerics", "products of matrices by cublasLt: hashes, samples, algorithms", capture_numerics},
        {"kernels", "the PTX kernels of Heddle's library: hashes of what they write, and times",
         capture_kernels},
        {"training", "steps of an MLP and of a GPT: losses, hashes of gradients and weights",
         capture_training},
        {"timing", "micro-benchmarks as PTX, and a sweep of GEMMs: how long things take", capture_timing},
    };
    return kSections;
}

}  // namespace heddle::capture
