// Runs a Trace in double precision: the reference with which all devices are compared.
#pragma once

#include "workloads/reference/values.h"
#include "workloads/trace/trace.h"

namespace heddle::reference {

/// Executes every op in order. Nothing is rounded to the tensors' element types, except that casts to
/// integers and to boolean truncate. Throws heddle::Error for unknown ops, collectives over more than one
/// rank and out-of-range indices. Running it again on the same values is the next step of the training.
void execute(const trace::Trace& trace, TensorValues& values);

/// Executes one op on the values; throws as execute() does.
void execute_op(const trace::Trace& trace, const trace::Op& op, TensorValues& values);

}  // namespace heddle::reference
