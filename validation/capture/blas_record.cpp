#include "validation/capture/blas_record.h"

namespace heddle::capture {

Record record_of(const GemmProblem& problem) {
    Record record;
    const auto number = [&](const char* key, std::uint64_t value) {
        record.integer(key, static_cast<std::int64_t>(value));
    };
    const auto optional = [&](const char* key, std::uint64_t value, std::uint64_t fallback) {
        if (value != fallback) number(key, value);
    };
    number("m", problem.m);
    number("n", problem.n);
    number("k", problem.k);
    optional("batch", problem.batch, 1);
    if (problem.transpose_a) record.flag("transpose_a", true);
    if (problem.transpose_b) record.flag("transpose_b", true);
    record.text("a", name_of(problem.a)).text("b", name_of(problem.b));
    record.text("c", name_of(problem.c)).text("d", name_of(problem.d));
    record.text("compute", name_of(problem.compute));
    if (problem.epilogue != Epilogue::none) {
        record.text("epilogue", name_of(problem.epilogue));
        record.text("bias", name_of(problem.bias));
    }
    if (problem.alpha != 1) record.number("alpha", problem.alpha);
    if (problem.beta != 0) record.number("beta", problem.beta);
    if (problem.fast_accumulation) record.flag("fast_accumulation", true);
    if (problem.in_place) record.flag("in_place", true);
    optional("lda", problem.lda, 0);
    optional("ldb", problem.ldb, 0);
    optional("ldc", problem.ldc, 0);
    optional("ldd", problem.ldd, 0);
    optional("workspace_bytes", problem.workspace_bytes, GemmProblem{}.workspace_bytes);
    if (!problem.allow_split_k) record.flag("allow_split_k", false);
    return record;
}

Record record_of(const GemmAlgorithm& algorithm) {
    Record record;
    record.integer("id", algorithm.id).integer("tile", algorithm.tile).integer("stages", algorithm.stages);
    record.integer("split_k", algorithm.split_k).integer("reduction_scheme", algorithm.reduction_scheme);
    record.integer("swizzle", algorithm.swizzle).integer("custom_option", algorithm.custom_option);
    record.integer("inner_shape", algorithm.inner_shape).integer("cluster_shape", algorithm.cluster_shape);
    record.hexadecimal("numerical_flags", algorithm.numerical_flags);
    record.integer("workspace_bytes", static_cast<std::int64_t>(algorithm.workspace_bytes));
    record.number("waves", algorithm.waves).text("blob", algorithm.blob).text("kernels", algorithm.kernels);
    const auto extent = [](const std::uint32_t(&size)[3]) {
        return std::vector<std::int64_t>{size[0], size[1], size[2]};
    };
    record.integers("grid", extent(algorithm.grid)).integers("block", extent(algorithm.block));
    record.integer("shared_bytes", algorithm.shared_bytes);
    return record;
}

}  // namespace heddle::capture
