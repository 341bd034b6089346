// Lookups: embedding, gather, scatter and the gradient of an embedding, by DMA that follows indices.
//
// The DMA engine reads row numbers from VMEM; adding to rows of HBM in fp32 is done by the engine too (as the
// SparseCores of later TPUs do it; that v3's engine could is our assumption).
#pragma once

#include "workloads/lowering/tpu/program_builder.h"

namespace heddle::lowering::on_tpu {

/// These functions add the program of an op of their kind to the builder. They throw Unsupported for what has
/// no program.
void lower_embedding(ProgramBuilder& program);
void lower_embedding_grad(ProgramBuilder& program);
void lower_gather(ProgramBuilder& program);
void lower_scatter(ProgramBuilder& program);

}  // namespace heddle::lowering::on_tpu
