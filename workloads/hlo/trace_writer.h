// Writes the ops of a Trace while a program of XLA is read.
//
// Values of XLA never change, but memory does: an update of a part of a tensor is done in place, as XLA does
// it, unless a later op reads the former contents; then they are copied first.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "workloads/hlo/value.h"

namespace heddle::hlo {

/// Collects tensors and ops of one Trace.
class TraceWriter {
  public:
    /// The name of an op and the part of the step to which it belongs.
    struct Label {
        std::string name;
        trace::Phase phase = trace::Phase::forward;
    };
    struct Result {
        trace::ElementType type = trace::ElementType::f32;
        Dimensions shape;
    };
    using Attributes = trace::Attributes;

    explicit TraceWriter(std::string name) { trace_.name = std::move(name); }

    View new_tensor(const std::string& name, const Result& like,
                    trace::TensorRole role = trace::TensorRole::activation);
    /// Appends an op; its results are new tensors.
    std::vector<View> emit(const Label& label, trace::OpKind kind, const std::vector<View>& inputs,
                           Attributes attributes, const std::vector<Result>& results);
    View emit_one(const Label& label, trace::OpKind kind, const std::vector<View>& inputs,
                  Attributes attributes, const Result& result) {
        return emit(label, kind, inputs, std::move(attributes), {result})[0];
    }
    /// Returns the same elements contiguous in memory: the tensor itself, or a copy that is made once.
    View densely(const Label& label, const View& view);
    /// Returns the same elements in the same order with another shape: a view of them, or of a dense copy
    /// where a view is not possible. Throws heddle::Error when `to` has another number of elements.
    View reshaped(const Label& label, const View& view, const Dimensions& to);
    /// Writes an elementwise expression (or a fill, without inputs) to `place`, a part of a tensor.
    void write_into(const Label& label, const View& place, const std::string& expression,
                    const std::vector<View>& inputs);
    void fill_into(const Label& label, const View& place, double value, double step = 0);
    /// Returns the tensor behind `base`, a whole dense tensor, under a new name for its contents from the
    /// next op on.
    View overwritten(const View& base);
    /// Records that the program's results are read at the end.
    void result(const View& view) { read(view); }

    /// Declares the ops [first, last) to be an iteration of a loop that represents `turns` iterations.
    void hold_turn(std::size_t first, std::size_t last, double turns);
    /// Returns whether equally many ops after `a` and after `b` do the same, except for where their operands
    /// begin.
    bool are_alike(std::size_t a, std::size_t b, std::size_t count) const;
    /// Returns whether a later op overwrites these contents.
    bool is_overwritten(const View& view) const { return overwritten_.contains(view.tensor); }

    std::size_t ops() const { return trace_.ops.size(); }
    trace::TensorRole role(const View& view) const { return trace_.tensor(view.tensor).role; }
    bool is_whole(const View& view) const {
        return view.offset == 0 && view.is_dense() &&
               trace_.tensor(view.tensor).elements() == count_of(view.shape);
    }
    trace::Trace finish();

  private:
    void read(const View& view);
    trace::TensorId operand(trace::Op& op, const View& view, const std::string& name);
    trace::TensorId alias_of(trace::TensorId tensor, const Dimensions& shape);
    trace::TensorId storage_root(trace::TensorId tensor) const;

    struct Version {
        trace::TensorId tensor = 0;  ///< what it is called afterwards
        std::size_t op = 0;          ///< the first one that writes it
    };
    trace::Trace trace_;
    std::vector<trace::TensorId> parents_;            // alias -> tensor, itself where it is none
    std::map<trace::TensorId, Version> overwritten_;  // former contents -> present ones
    std::map<std::size_t, trace::TensorId> to_copy_;  // op -> former contents that it must not destroy
    std::vector<std::pair<View, View>> copies_;       // views and the dense copies of them
    std::set<trace::TensorId> own_storage_;           // present contents that got a place of their own
    std::int64_t held_turns_ = 0;
};

}  // namespace heddle::hlo
