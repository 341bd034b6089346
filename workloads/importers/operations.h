// Ops of PyTorch by their schema: what a call computes, independently of the kernels that execute it. They
// are used where no kernels were recorded, and where kernels are not known by name; then all kernels of a
// call count as one op.
#pragma once

#include "workloads/importers/operands.h"

namespace heddle::importers {

/// Returns whether ops of this (plain) name can be understood from their operands.
bool is_operation(const std::string& name);
/// Returns whether a call only encloses others that do the work (linear, matmul), so that those are examined
/// first.
bool is_frame(const std::string& name);
/// Returns whether a call does no work on the device itself: views, allocations, queries, and calls that
/// return their operand when they call nothing.
bool does_nothing(const std::string& name);
/// Returns whether a call allocates memory, as ops do that then fill it themselves.
bool allocates(const std::string& name);
/// Whether a rule for `name` takes it for one that sets or moves values and computes none.
bool only_moves(const std::string& name);
/// Returns whether `name` maps elements to elements (with broadcasting) and its results are boolean.
bool is_pointwise_operation(const std::string& name);
bool makes_booleans(const std::string& name);
bool is_window_operation(const std::string& name);
bool is_list_operation(const std::string& name);
bool is_movement(const std::string& name);

/// Adds the op or ops of a call. `launch.kernel` is its first kernel, or the call itself; `launch.group` its
/// other kernels. Throws NotUnderstood when operands are missing.
void add_operation(Builder& builder, const Launch& launch, const Call& call);

/// The families of operations, each in its own file; they return false when the call belongs to another
/// family.
bool pointwise_operation(Builder& builder, const Launch& launch, const Call& call);
bool list_operation(Builder& builder, const Launch& launch, const Call& call);
bool window_operation(Builder& builder, const Launch& launch, const Call& call);
bool movement_operation(Builder& builder, const Launch& launch, const Call& call);

/// Families of few names, each with the function that adds its ops.
const OperationTable& reduction_operations();
const OperationTable& normalisation_operations();
const OperationTable& attention_operations();
const OperationTable& collective_operations();

}  // namespace heddle::importers
