// Builds a Trace from a recording: tensors follow from the places in memory that operands name, dependencies
// from what ops overwrite.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "workloads/importers/kernel_name.h"
#include "workloads/importers/recording.h"
#include "workloads/trace/trace.h"

namespace heddle::importers {

using trace::Op;
using trace::OpKind;
using trace::TensorId;

/// One recorded kernel with its parsed name.
struct Launch {
    const Recording& recording;
    const Call& kernel;  ///< or, where no kernels were recorded, the call that stands for them
    KernelName name;
    std::vector<const Call*> group;  ///< other kernels of the same op

    /// The nearest call around the kernel with one of these names (the call itself where there is no kernel).
    const Call* enclosing(const std::vector<std::string>& names) const;
    /// Microseconds of all kernels; nothing where none were recorded.
    std::optional<double> measured_us() const;
    /// Earlier (or all) launches of the same function under one call: which of them this one is, and how many
    /// there are.
    struct Turn {
        std::size_t index = 0, count = 0;
    };
    Turn turn_in(const Call& scope) const;
};

/// Thrown by a rule that recognises a kernel but lacks what it needs to say what the kernel did; the kernel
/// then becomes an op of kind unknown with this reason.
struct NotUnderstood {
    std::string reason;
};

/// Returns `pointer`, or throws NotUnderstood when it is null.
template <class T>
const T& need(const T* pointer, const std::string& what) {
    if (pointer == nullptr) throw NotUnderstood{"no " + what + " was recorded"};
    return *pointer;
}

/// Builds the trace of one recording. The recording must outlive it.
class Builder {
  public:
    explicit Builder(const Recording& recording) : recording_(recording) {}

    /// Appends an operand; strides and offset become attributes where the tensor is not dense from its
    /// storage's start.
    void input(Op& op, const RecordedTensor& tensor);
    void output(Op& op, const RecordedTensor& tensor);
    /// A tensor that the recording does not name; storage 0 makes it one of its own.
    RecordedTensor invented(ElementType type, Shape shape, std::uint64_t storage = 0);
    /// An invented tensor in one of four places in memory that ops with as many elements of this type use in
    /// turn, so that a step of inferred ops needs no more memory than a few of its tensors. `age` 0: the next
    /// place, to be written; 1: what was written last, and so on.
    RecordedTensor of_ring(ElementType type, Shape shape, std::size_t age = 0);

    /// Adds the op of a kernel: name of the subject call, phase, measured time, dependencies. When it does
    /// not pass Trace::check_op it is added as unknown, with the reason.
    void add(Op op, const Launch& launch, const Call* subject);
    void add_unknown(const Launch& launch, const std::string& reason);
    /// The last op that was added with this call as its subject, if any.
    std::optional<trace::OpId> last_op_of(const Call& subject) const;
    /// The number of slices of k of a product whose grid was recorded; 0: not known.
    std::int64_t slices_of(trace::OpId op) const { return trace_.ops[op].get(keys::any.slices); }
    /// Adds another kernel's time to an op.
    void join_kernel(trace::OpId op, const Call& kernel);
    std::size_t ops() const { return trace_.ops.size(); }
    bool has_op(const Call& kernel) const { return op_of_call_.contains(kernel.position); }
    const Op& op(trace::OpId id) const { return trace_.ops[id]; }

    /// Results that one kernel of `call` makes for the call's other kernels: the same tensor in another
    /// layout, or partial sums.
    void remember(const Call& call, const RecordedTensor& tensor, RecordedTensor made);
    const RecordedTensor* remembered(const Call& call, const RecordedTensor& tensor) const;

    trace::Trace finish(const std::string& name);

  private:
    struct Access {
        std::uint64_t begin, end;
        trace::OpId op;
        bool writes;
    };
    using Place = std::tuple<std::uint64_t, std::int64_t, ElementType, Shape>;

    TensorId tensor(const RecordedTensor& tensor);
    void operand(Op& op, std::vector<TensorId>& list, const std::string& prefix,
                 const RecordedTensor& tensor);
    void access(std::vector<trace::OpId>& dependencies, trace::OpId self, TensorId id, const Op& op,
                const std::string& operand, bool writes);
    void recorded_dependencies(std::vector<trace::OpId>& dependencies, const Call& kernel);
    const std::vector<trace::OpId>& nearest_kernels(const Call& call);
    void assign_phases();
    void assign_neighbours();
    void assign_roles();

    const Recording& recording_;
    trace::Trace trace_;
    std::map<Place, TensorId> tensors_;
    std::map<std::pair<std::size_t, Place>, RecordedTensor> remembered_;
    std::map<std::uint64_t, std::vector<Access>> accesses_;
    std::map<std::size_t, trace::OpId> op_of_call_;
    std::map<std::size_t, std::vector<trace::OpId>> nearest_;
    std::vector<std::size_t> call_of_op_;
    std::map<std::size_t, trace::OpId> op_of_subject_;
    std::map<std::int64_t, std::uint32_t> streams_;
    double last_launch_us_ = -1;
    double waited_us_ = 0;  ///< by the host since then, for kernels that became parts of ops
    static constexpr std::uint64_t first_invented = std::uint64_t{1} << 48;
    std::uint64_t next_storage_ = first_invented;
    std::vector<trace::OpId> wrote_unrecorded_;
    struct Ring {
        std::vector<std::uint64_t> storages;
        std::size_t next = 0;
    };
    std::map<std::pair<ElementType, std::int64_t>, Ring> rings_;
};

/// Formats a number so that an expression reads it back.
std::string number_text(double value);
/// Notes in attribute "assumed" what the recording did not say.
void assume(Op& op, const std::string& what);

}  // namespace heddle::importers
