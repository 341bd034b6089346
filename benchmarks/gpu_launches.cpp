#include "gpu_launches.h"

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "isa/ptx/parser.h"
#include "isa/ptx/tensor_map.h"
#include "workloads/expression/expression.h"
#include "workloads/kernels/elementwise.h"
#include "workloads/kernels/gemm_mma.h"
#include "workloads/kernels/gemm_simt.h"
#include "workloads/kernels/gemm_wgmma.h"
#include "workloads/kernels/library_builder.h"
#include "workloads/kernels/softmax.h"

namespace heddle::benchmarks {
namespace {

using kernels::ElementType;
using kernels::GeneratedKernel;
using kernels::LibraryKernel;
using kernels::SampleBuilder;

constexpr unsigned kComputeCapability = 90;

/// Numbers in [0.5, 1): no zeros, infinities or subnormals, which some code treats apart.
std::vector<std::byte> numbers(ElementType type, std::uint64_t bytes) {
    std::vector<std::byte> result(bytes);
    std::uint32_t state = 12345;
    const auto put = [&](auto one_half, auto mantissa_mask) {
        for (std::size_t at = 0; at + sizeof one_half <= bytes; at += sizeof one_half) {
            state = state * 1664525u + 1013904223u;
            const auto bits = static_cast<decltype(one_half)>(one_half | ((state >> 9) & mantissa_mask));
            std::memcpy(&result[at], &bits, sizeof bits);
        }
    };
    if (type == ElementType::bf16) {
        put(std::uint16_t{0x3f00}, 0x7fu);
    } else {
        put(std::uint32_t{0x3f000000}, 0x7fffffu);
    }
    return result;
}

SampleBuilder gemm(const std::string& name, GeneratedKernel kernel, kernels::Extent3 grid, ElementType type,
                   std::uint64_t m, std::uint64_t n, std::uint64_t k) {
    SampleBuilder builder(name, std::move(kernel), grid);
    builder.input("a", type, m * k).input("b", type, k * n).output("d", ElementType::f32, m * n);
    builder.integer("m", m).integer("n", n).integer("k", k);
    builder.integer("lda", k).integer("ldb", n).integer("ldc", n).integer("ldd", n);
    return builder.integer("splits", 1);
}

std::string ffma_loop_text() {
    constexpr unsigned accumulators = 8, unrolled = 4;
    std::string text =
        ".version 7.8\n.target sm_80\n.address_size 64\n"
        ".visible .entry ffma_loop(.param .u64 y, .param .u32 trips)\n{\n"
        ".reg .f32 %f<16>;\n.reg .b32 %r<8>;\n.reg .b64 %rd<4>;\n.reg .pred %p;\n"
        "ld.param.u64 %rd0, [y];\nld.param.u32 %r0, [trips];\n"
        "mov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\nmov.u32 %r3, %ntid.x;\n"
        "mad.lo.u32 %r4, %r2, %r3, %r1;\ncvt.rn.f32.u32 %f8, %r1;\nmov.f32 %f9, 0f3F000000;\n";
    for (unsigned i = 0; i < accumulators; ++i) {
        text += "mov.f32 %f" + std::to_string(i) + ", 0f3F800000;\n";
    }
    text += "loop:\n";
    for (unsigned i = 0; i < accumulators * unrolled; ++i) {
        const std::string sum = "%f" + std::to_string(i % accumulators);
        text += "fma.rn.f32 " + sum + ", " + sum + ", %f9, %f8;\n";
    }
    text += "sub.u32 %r0, %r0, 1;\nsetp.ne.u32 %p, %r0, 0;\n@%p bra loop;\n";
    for (unsigned i = 1; i < accumulators; ++i) {
        text += "add.f32 %f0, %f0, %f" + std::to_string(i) + ";\n";
    }
    return text + "mad.wide.u32 %rd1, %r4, 4, %rd0;\nst.global.f32 [%rd1], %f0;\nret;\n}\n";
}

constexpr std::uint32_t kBulkBytes = 32768;

std::string bulk_load_text() {
    const std::string bytes = std::to_string(kBulkBytes);
    return ".version 8.0\n.target sm_90\n.address_size 64\n"
           ".visible .entry bulk_load(.param .u64 x, .param .u32 trips, .param .u32 step, .param .u32 "
           "part)\n{\n"
           ".reg .b32 %r<8>;\n.reg .b64 %rd<4>;\n.reg .pred %p<2>;\n"
           ".shared .align 128 .b8 smem[" +
           std::to_string(kBulkBytes + 128) +
           "];\n"
           "ld.param.u64 %rd0, [x];\nld.param.u32 %r0, [trips];\nld.param.u32 %r6, [step];\n"
           "ld.param.u32 %r4, [part];\nmov.u32 %r1, smem;\nadd.u32 %r2, %r1, 128;\nmov.u32 %r3, %ctaid.x;\n"
           "mul.wide.u32 %rd1, %r3, %r4;\nadd.u64 %rd0, %rd0, %rd1;\ncvt.u64.u32 %rd3, %r6;\n"
           "mbarrier.init.shared.b64 [%r1], 1;\nmov.u32 %r5, 0;\n"
           "loop:\nmbarrier.arrive.expect_tx.shared.b64 %rd2, [%r1], " +
           bytes + ";\ncp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%rd0], " +
           bytes +
           ", [%r1];\n"
           "wait:\nmbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1], %r5;\n@!%p1 bra wait;\n"
           "xor.b32 %r5, %r5, 1;\nadd.u64 %rd0, %rd0, %rd3;\nsub.u32 %r0, %r0, 1;\n"
           "setp.ne.u32 %p0, %r0, 0;\n@%p0 bra loop;\nret;\n}\n";
}

}  // namespace

LibraryKernel bulk_load(std::uint32_t ctas, std::uint32_t trips, bool from_l2) {
    GeneratedKernel kernel;
    kernel.text = bulk_load_text();
    kernel.entry = "bulk_load";
    kernel.block = {1, 1, 1};
    kernel.parameters = {{"x", 8, true}, {"trips", 4, false}, {"step", 4, false}, {"part", 4, false}};
    const std::uint32_t part = from_l2 ? kBulkBytes : trips * kBulkBytes;
    return SampleBuilder("bulk load", std::move(kernel), {ctas, 1, 1})
        .input("x", ElementType::f32, std::uint64_t{ctas} * part / 4)
        .integer("trips", trips)
        .integer("step", from_l2 ? 0 : kBulkBytes)
        .integer("part", part)
        .finish();
}

LibraryKernel ffma_loop(std::uint32_t ctas, std::uint32_t trips) {
    constexpr std::uint32_t threads = 256;
    GeneratedKernel kernel;
    kernel.text = ffma_loop_text();
    kernel.entry = "ffma_loop";
    kernel.block = {threads, 1, 1};
    kernel.parameters = {{"y", 8, true}, {"trips", 4, false}};
    return SampleBuilder("ffma loop", std::move(kernel), {ctas, 1, 1})
        .output("y", ElementType::f32, std::uint64_t{ctas} * threads)
        .integer("trips", trips)
        .finish();
}

LibraryKernel gemm_simt(std::uint32_t m, std::uint32_t n, std::uint32_t k) {
    kernels::GemmSimtSpec spec;
    spec.compute_capability = kComputeCapability;
    spec.vector_a = spec.vector_b = spec.epilogue.vector_width = 4;
    spec.full_k = true;
    return gemm("gemm simt", kernels::generate_gemm_simt(spec), kernels::gemm_simt_grid(spec, m, n),
                spec.type, m, n, k)
        .finish();
}

LibraryKernel gemm_mma(std::uint32_t m, std::uint32_t n, std::uint32_t k) {
    kernels::GemmMmaSpec spec;
    spec.compute_capability = kComputeCapability;
    spec.tile = {128, 128, 32, 2, 2, 4};
    spec.epilogue.vector_width = 4;
    spec.full_k = true;
    return gemm("gemm mma", kernels::generate_gemm_mma(spec), kernels::gemm_mma_grid(spec, m, n), spec.type,
                m, n, k)
        .finish();
}

LibraryKernel gemm_mma_by_elements(std::uint32_t m, std::uint32_t n, std::uint32_t k) {
    kernels::GemmMmaSpec spec;
    spec.compute_capability = kComputeCapability;
    spec.tile = {64, 64, 64, 2, 2, 3};
    spec.copy_a = spec.copy_b = 1;
    spec.epilogue.vector_width = 4;
    spec.full_k = true;
    return gemm("gemm mma by elements", kernels::generate_gemm_mma(spec), kernels::gemm_mma_grid(spec, m, n),
                spec.type, m, n, k)
        .finish();
}

LibraryKernel gemm_wgmma_product(const kernels::GemmWgmmaSpec& spec, std::uint32_t m, std::uint32_t n,
                                 std::uint32_t k, unsigned sms) {
    kernels::GemmProblem p;
    p.m = m;
    p.n = n;
    p.k = p.lda = k;
    p.ldb = spec.transpose_b ? k : n;
    p.ldd = n;
    p.a = kernels::pointer_argument("a", 0);
    p.b = kernels::pointer_argument("b", 1);
    p.d = kernels::pointer_argument("d", 2);
    const kernels::GemmWgmmaLaunch launch = kernels::gemm_wgmma_launch(spec, p, sms);
    SampleBuilder builder("gemm wgmma", kernels::generate_gemm_wgmma(spec), launch.grid);
    builder.input("a", spec.type, std::uint64_t{m} * k).input("b", spec.type, std::uint64_t{k} * n);
    builder.output("d", spec.epilogue.output, std::uint64_t{m} * n);
    builder.arguments() = launch.arguments;
    return builder.finish();
}

LibraryKernel softmax_rows(unsigned capability, std::uint32_t rows, std::uint32_t columns) {
    kernels::SoftmaxSpec spec;
    spec.compute_capability = capability;
    spec.columns = columns;
    spec.vector_width = 4;
    const std::uint64_t elements = std::uint64_t{rows} * columns;
    return SampleBuilder("softmax", kernels::generate_softmax(spec), kernels::softmax_grid(spec, rows))
        .output("y", ElementType::f32, elements)
        .input("x", ElementType::f32, elements)
        .integer("rows", rows)
        .integer("row_stride", columns)
        .finish();
}

LibraryKernel gemm_wgmma(std::uint32_t m, std::uint32_t n, std::uint32_t k, unsigned sms) {
    kernels::GemmWgmmaSpec spec;
    spec.tile = {.m = 128, .n = 256, .stages = 4, .cluster_m = 2};
    spec.transpose_b = true;
    spec.epilogue.output = ElementType::bf16;
    spec.raster_log2 = kernels::choose_raster_log2(n, spec.tile.n);
    return gemm_wgmma_product(spec, m, n, k, sms);
}

LibraryKernel softmax(std::uint32_t rows, std::uint32_t columns) {
    return softmax_rows(kComputeCapability, rows, columns);
}

LibraryKernel copy(std::uint32_t elements) {
    kernels::ElementwiseSpec spec;
    spec.compute_capability = kComputeCapability;
    spec.expression = expression::parse("y0 = x0");
    spec.inputs.resize(1);
    spec.outputs = {ElementType::f32};
    spec.vector_width = spec.elements_per_thread = 4;
    return SampleBuilder("copy", kernels::generate_elementwise(spec),
                         kernels::elementwise_grid(spec, elements))
        .output("y0", ElementType::f32, elements)
        .input("x0", ElementType::f32, elements)
        .integer("elements", elements)
        .finish();
}

PreparedLaunch::PreparedLaunch(const LibraryKernel& kernel, ptx::Mode mode, unsigned compute_capability)
    : loaded_(ptx::parse_shared(kernel.kernel.text, kernel.name), kernel.kernel.entry, compute_capability) {
    const bool backed = mode == ptx::Mode::functional;
    std::vector<std::uint64_t> bases;
    for (const kernels::SampleBuffer& buffer : kernel.buffers) {
        bases.push_back(memory_.allocate(buffer.name, buffer.bytes, backed));
        if (backed && buffer.content == kernels::SampleBuffer::Content::random) {
            memory_.write(bases.back(), numbers(buffer.type, buffer.bytes));
        }
    }
    std::vector<std::vector<std::byte>> values;
    for (std::size_t i = 0; i < kernel.arguments.size(); ++i) {
        const kernels::KernelArgument& argument = kernel.arguments[i];
        if (argument.tensor_map) {
            const std::uint64_t address = bases[argument.buffer] + argument.byte_offset;
            const auto map = ptx::make_tensor_map(*argument.tensor_map, address).encode();
            values.emplace_back(map.begin(), map.end());
            continue;
        }
        std::uint64_t bits = argument.bits;
        if (argument.pointer) {
            bits = argument.buffer == kernels::kNoBuffer ? 0 : bases[argument.buffer] + argument.byte_offset;
        }
        std::vector<std::byte> bytes(kernel.kernel.parameters[i].bytes);
        std::memcpy(bytes.data(), &bits, bytes.size());
        values.push_back(std::move(bytes));
    }
    context_.kernel = &loaded_;
    context_.grid = {kernel.grid[0], kernel.grid[1], kernel.grid[2]};
    context_.block = {kernel.kernel.block[0], kernel.kernel.block[1], kernel.kernel.block[2]};
    context_.cluster = {kernel.kernel.cluster[0], kernel.kernel.cluster[1], kernel.kernel.cluster[2]};
    context_.dynamic_shared_bytes = kernel.kernel.dynamic_shared_bytes;
    context_.parameters = ptx::pack_parameters(loaded_, values);
    context_.memory = &memory_;
    context_.mode = mode;
    context_.compute_capability = compute_capability;
}

}  // namespace heddle::benchmarks
