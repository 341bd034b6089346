// Ops of PyTorch by their schema: what a call computes, whichever kernels carry it out. Used where no kernels
// were recorded, and where kernels are not known by name: all kernels of a call then count as one op.
#pragma once

#include "workloads/importers/operands.h"

namespace heddle::importers {

/// Whether ops of this (plain) name can be understood from their operands.
bool is_operation(const std::string& name);
/// Whether a call is only a frame around others that do the work (linear, matmul), so that those are looked
/// at first.
bool is_frame(const std::string& name);
/// Views, allocations, questions, and frames that hand on their operand where they call nothing: they do no
/// work on the device themselves.
bool does_nothing(const std::string& name);
/// Those that make memory, as ops that fill it themselves do.
bool allocates(const std::string& name);
/// Whether a rule for `name` takes it for one that sets or moves values and computes none.
bool only_moves(const std::string& name);
/// Whether `name` maps elements to elements (broadcasting), and its results have the type boolean.
bool is_pointwise_operation(const std::string& name);
bool makes_booleans(const std::string& name);
bool is_window_operation(const std::string& name);
bool is_list_operation(const std::string& name);
bool is_movement(const std::string& name);

/// Adds the op or ops of a call. `launch.kernel` is its first kernel, or the call itself; `launch.group` its
/// other kernels. Throws NotUnderstood when operands are missing.
void add_operation(Builder& builder, const Launch& launch, const Call& call);

/// Families, in files of their own; false when the call is of another one.
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
