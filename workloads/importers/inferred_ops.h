// What did a kernel do whose call or operands were not recorded? Its name, grid and block say part of it.
#pragma once

#include <string>

#include "workloads/importers/builder.h"

namespace heddle::importers {

/// Attribute "assumed" of an op whose operands were inferred begins with this.
inline constexpr const char* kInferred = "inferred: ";

/// Adds the op of a kernel that no rule understood: with operands of the size that its name, grid and block
/// give, and with attribute "assumed", which begins with kInferred and says how they were found. Kernels of a
/// family that has no lowering become ops of kind unknown with operands: a simulation estimates these from
/// their bytes and never counts them as simulated. Returns false, and adds nothing, where the grid was not
/// recorded or does not determine the size.
bool infer_op(Builder& builder, const Launch& launch);

/// Returns the family of kernels that a name is of, such as "FlashAttention" or "MoE routing"; empty when no
/// family is known.
std::string family_of(const std::string& kernel);

}  // namespace heddle::importers
