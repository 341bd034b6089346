// The times of the ops of one device's part of a step: by formulas, or simulated cycle by cycle.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "models/common/parameter.h"
#include "sim/machine/hardware.h"
#include "workloads/trace/trace.h"

namespace heddle::sim {

/// The time of one op.
struct OpTime {
    double seconds = 0;     ///< time on the device
    unsigned launches = 0;  ///< number of ops that the host launches
    double simulated = 0;   ///< part of `seconds` that was simulated cycle by cycle
};

/// A source of op times.
class OpTimes {
  public:
    virtual ~OpTimes() = default;
    /// Returns the time of every op of the trace, by number. Collectives and views take no time.
    virtual std::vector<OpTime> times_of(const trace::Trace& trace) = 0;
    /// Returns the seconds that reading or writing `bytes` bytes of the device's memory takes.
    virtual double streamed(double bytes) const = 0;
    virtual std::string name() const = 0;  ///< "closed form", "simulated, sampled"
};

/// The efficiencies that the formulas assume for everything except products on a GPU, as fractions of the
/// peaks.
struct ClosedFormConfig {
    /// Fraction of the memory's rate. The value lies between what the largest GELU and layer norm of PyTorch
    /// reach on an A100 (76 to 77 % of 2.04 TB/s, LLMCompass), streams of framework kernels on an H100-class
    /// GPU (72 to 81 %, MLCommons Chakra), and bare copies (89 %, RRZE gpu-benches).
    double memory = 0.80;
    /// For 16-bit products with rows that begin at odd elements (a vocabulary of 50,257): the fraction that
    /// is reached of the rate that the closed form predicts for kernels that copy single elements. It was
    /// fitted to the first half of vTrain's steps on one node, with the values for Megatron-LM's host
    /// (validation/compare/training_table_read.cpp) as fitted before. The factor has approached 1 as the
    /// closed form learned more about these kernels: it was 0.455 before their use of L1 was modelled, and
    /// 0.769 before their common alignment for A, B and D was.
    double unaligned = 0.886;
    double attention = 0.55;           ///< fraction of the tensor cores' rate for fused attention, forward
    double attention_gradient = 0.45;  ///< the same, backward
    double optimizer_memory =
        0.80;  ///< of the memory's rate, optimizers that change all tensors in one launch
};

/// Estimates times by formulas: products by the closed form that also chooses their kernels (docs/gemm.md);
/// fused attention by its operations over a fraction of the peak; everything else by bytes over a fraction of
/// the memory's rate, plus the launch. Masks and scales between a product and a softmax are counted as part
/// of the softmax's kernel, as in Megatron-LM. `hardware` must outlive the object.
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

/// Options of the cycle-level simulation of ops.
struct SimulatedOptions {
    bool sample = true;
    bool cache = true;
    unsigned jobs = 0;
};

/// Simulates each distinct part of a trace with the device's model (sim/run) and its cache on disk.
/// `hardware` must outlive the object.
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
