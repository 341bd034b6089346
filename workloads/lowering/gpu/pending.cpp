#include "workloads/lowering/gpu/builder.h"
namespace heddle::lowering {
namespace {
[[noreturn]] void none(const GpuProgramBuilder& b) { throw Unsupported{"no " + trace::name_of(b.op().kind) + " kernel"}; }
}
void lower_attention(GpuProgramBuilder& b) { none(b); }
void lower_attention_grad(GpuProgramBuilder& b) { none(b); }
}
