#include "gpu_test_bench.h"

#include <algorithm>
#include <cstring>

#include "isa/ptx/parser.h"

namespace heddle::models::gpu {

std::string kernel_text(const std::string& body, unsigned parameters, unsigned shared) {
    std::string text = ".version 8.0\n.target sm_80\n.address_size 64\n\n.visible .entry kernel(\n";
    for (unsigned i = 0; i < parameters; ++i) {
        text += "    .param .u64 p" + std::to_string(i) + (i + 1 < parameters ? ",\n" : "\n");
    }
    text +=
        ")\n{\n    .reg .b32 %r<64>;\n    .reg .b64 %rd<64>;\n    .reg .f32 %f<128>;\n    .reg .pred "
        "%p<8>;\n";
    if (shared != 0) text += "    .shared .align 16 .b8 smem[" + std::to_string(shared) + "];\n";
    return text + body + "    ret;\n}\n";
}

TestLaunch GpuTestBench::launch(const std::string& text, unsigned grid, unsigned block,
                                const std::vector<std::uint64_t>& arguments, ptx::Mode mode,
                                unsigned dynamic_shared, ptx::Assembly assembly) {
    TestLaunch result;
    result.kernel =
        std::make_shared<ptx::LoadedKernel>(ptx::parse_shared(text, "test.ptx"), "kernel", 0, assembly);
    std::vector<std::vector<std::byte>> values;
    for (const std::uint64_t argument : arguments) {
        values.emplace_back(sizeof argument);
        std::memcpy(values.back().data(), &argument, sizeof argument);
    }
    result.context.kernel = result.kernel.get();
    result.context.grid.x = grid;
    result.context.block.x = block;
    result.context.dynamic_shared_bytes = dynamic_shared;
    result.context.parameters = ptx::pack_parameters(*result.kernel, values);
    result.context.memory = &memory;
    result.context.mode = mode;
    // Kernels of these tests run on Hopper's tensor cores unless the machine is a later one.
    result.context.compute_capability = std::max(90u, gpu.config().compute_capability);
    return result;
}

double GpuTestBench::cycles_per_turn(const std::function<std::string(unsigned)>& text, unsigned grid,
                                     unsigned block, const std::vector<std::uint64_t>& arguments,
                                     unsigned few, unsigned many, const RunOptions& options) {
    const auto short_run = static_cast<double>(run(text(few), grid, block, arguments, options).cycles);
    const auto long_run = static_cast<double>(run(text(many), grid, block, arguments, options).cycles);
    return (long_run - short_run) / (many - few);
}

std::uint64_t GpuTestBench::pointer_ring(std::uint64_t elements, std::uint64_t stride) {
    const std::uint64_t base = memory.allocate("ring", elements * stride, true);
    std::vector<std::byte> bytes(elements * stride);
    for (std::uint64_t i = 0; i < elements; ++i) {
        const std::uint64_t next = base + (i + 1) % elements * stride;
        std::memcpy(bytes.data() + i * stride, &next, sizeof next);
    }
    memory.write(base, bytes);
    return base;
}

std::string pointer_chase(unsigned turns, const std::string& cache_operator) {
    return kernel_text(R"(    ld.param.u64 %rd1, [p0];
    ld.param.u64 %rd2, [p1];
    mov.u32 %r1, )" + std::to_string(turns) +
                           R"(;
loop:
    ld.global.)" + cache_operator +
                           R"(.u64 %rd1, [%rd1];
    add.s32 %r1, %r1, -1;
    setp.ne.s32 %p1, %r1, 0;
    @%p1 bra loop;
    st.global.u64 [%rd2], %rd1;
)",
                       2);
}

namespace {

const char* const kThreadAddress = R"(    ld.param.u64 %rd1, [p0];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.u32 %r4, %r1, %r2, %r3;
    mul.wide.u32 %rd2, %r4, 16;
    add.u64 %rd3, %rd1, %rd2;
)";

}  // namespace

std::string streaming_read(unsigned chunks, std::uint64_t threads, const std::string& cache_operator) {
    std::string body = kThreadAddress;
    for (unsigned i = 0; i < chunks; ++i) {
        const std::string first = std::to_string(4 * (i % 16));
        const auto f = [&](unsigned j) { return "%f" + std::to_string(4 * (i % 16) + j); };
        body += "    ld.global." + cache_operator + ".v4.f32 {" + f(0) + ", " + f(1) + ", " + f(2) + ", " +
                f(3) + "}, [%rd3+" + std::to_string(i * threads * 16) + "];\n";
    }
    return kernel_text(body, 1);
}

std::string streaming_write(unsigned chunks, std::uint64_t threads) {
    std::string body = kThreadAddress;
    for (unsigned i = 0; i < chunks; ++i) {
        body +=
            "    st.global.v4.f32 [%rd3+" + std::to_string(i * threads * 16) + "], {%f0, %f1, %f2, %f3};\n";
    }
    return kernel_text(
        "    mov.f32 %f0, 0f3F800000;\n    mov.f32 %f1, %f0;\n    mov.f32 %f2, %f0;\n    mov.f32 %f3, "
        "%f0;\n" +
            body,
        1);
}

std::string loop_of(const std::string& instructions, unsigned turns, unsigned shared) {
    std::string body = "    mov.u32 %r1, " + std::to_string(turns) + ";\n    mov.u32 %r10, %laneid;\n";
    for (unsigned i = 11; i < 48; ++i) body += "    mov.u32 %r" + std::to_string(i) + ", 1065353216;\n";
    for (unsigned i = 0; i < 64; ++i) body += "    mov.f32 %f" + std::to_string(i) + ", 0f3F800000;\n";
    body += "loop:\n" + instructions +
            "    add.s32 %r1, %r1, -1;\n    setp.ne.s32 %p1, %r1, 0;\n    @%p1 bra loop;\n";
    return kernel_text(body, 0, shared);
}

}  // namespace heddle::models::gpu
