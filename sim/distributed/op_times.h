// How long the ops of one device's part of a step take: in closed form, or simulated cycle by cycle.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "models/common/parameter.h"
#include "sim/machine/hardware.h"
#include "workloads/trace/trace.h"

namespace heddle::sim {

struct OpTime {
    double seconds = 0;     ///< of the device
    unsigned launches = 0;  ///< of the host: ops that it hands out
    double simulated = 0;   ///< of the seconds, those that were simulated cycle by cycle
};

class OpTimes {
  public:
    virtual ~OpTimes() = default;
    /// Of every op of the trace, by number. Collectives and views take nothing.
    virtual std::vector<OpTime> times_of(const trace::Trace& trace) = 0;
    /// Of moving so many bytes from and to the device's memory.
    virtual double streamed(double bytes) const = 0;
    virtual std::string name() const = 0;  ///< "closed form", "simulated, sampled"
};

/// What the closed form of everything but products knows of a GPU, as parts of the peaks.
struct ClosedFormConfig {
    /// Of the memory's rate. Between what the largest GELU and layer norm of PyTorch reach on an A100 (76 to
    /// 77 % of 2.04 TB/s, LLMCompass), streams of framework kernels on an H100-class GPU (72 to 81 %,
    /// MLCommons Chakra), and bare copies (89 %, RRZE gpu-benches).
    double memory = 0.80;
    /// Products of 16 bits of which a row begins at an odd element (a vocabulary of 50,257): a part of the
    /// rate that the closed form expects of kernels that copy single elements. Fitted to the first half of
    /// vTrain's steps on one node, with the figures of Megatron-LM's host
    /// (validation/compare/training_table_read.cpp) as they were fitted before. What is left of it has become
    /// less the more the closed form knows of these kernels: 0.455 before what they take of L1, 0.769 before
    /// their one alignment for A, B and D.
    double unaligned = 0.886;
    double attention = 0.55;           ///< of the tensor cores' rate, fused attention forward
    double attention_gradient = 0.45;  ///< the same, backward
    double optimizer_memory =
        0.80;  ///< of the memory's rate, optimizers that change all tensors in one launch
};

/// Products by the closed form that also chooses their kernels (docs/gemm.md); fused attention by its
/// operations over a part of the peak; everything else by bytes over a part of the memory's rate, and the
/// launch. Masks and scales between a product and a softmax are taken as part of the softmax's kernel, as
/// Megatron-LM has it.
class ClosedForm : public OpTimes {
  public:
    explicit ClosedForm(const Hardware& hardware, const ClosedFormConfig& config = {})
        : hardware_(hardware), config_(config) {}
    std::vector<OpTime> times_of(const trace::Trace& trace) override;
    double streamed(double bytes) const override;
    std::string name() const override { return "closed form"; }

  private:
    OpTime time_of(const trace::Trace& trace, const trace::Op& op);
    double product(const trace::Trace& trace, const trace::Op& op);

    const Hardware& hardware_;
    ClosedFormConfig config_;
    std::map<std::string, OpTime> known_;  ///< by content
};

/// Each distinct part of the trace simulated by the device's model (sim/run), with its cache on disk.
struct SimulatedOptions {
    bool sample = true;
    bool cache = true;
    unsigned jobs = 0;
};
class Simulated : public OpTimes {
  public:
    Simulated(const Hardware& hardware, const SimulatedOptions& options)
        : hardware_(hardware), options_(options) {}
    std::vector<OpTime> times_of(const trace::Trace& trace) override;
    double streamed(double bytes) const override { return ClosedForm(hardware_).streamed(bytes); }
    std::string name() const override {
        return options_.sample && hardware_.machine().can_sample() ? "simulated, sampled" : "simulated";
    }

  private:
    std::vector<OpTime> simulate_ops(const trace::Trace& trace, const std::vector<trace::OpId>& ids) const;

    const Hardware& hardware_;
    SimulatedOptions options_;
    std::map<std::string, OpTime> known_;  ///< by content of an op
    std::map<std::string, std::vector<OpTime>>
        parts_;  ///< by content of a part, where ops are fused, in the order of its ops
};

}  // namespace heddle::sim
