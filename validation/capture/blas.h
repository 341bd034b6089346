// A matrix multiplication as cublasLt understands it, in row-major terms, and the attributes of the algorithm
// that carries it out: what decides the order in which it adds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace heddle::capture {

enum class Type : std::uint8_t { f64, f32, f16, bf16, e4m3, e5m2, i8, i32 };
unsigned bytes_of(Type type);
const char* name_of(Type type);
/// Throws std::invalid_argument.
Type type_of(const std::string& name);

/// CUBLAS_COMPUTE_64F, _32F, _32F_PEDANTIC, _32F_FAST_TF32, _16F, _32I.
enum class Compute : std::uint8_t { f64, f32, f32_pedantic, tf32, f16, i32 };
const char* name_of(Compute compute);

enum class Epilogue : std::uint8_t { none, bias, relu, relu_bias, gelu, gelu_bias };
const char* name_of(Epilogue epilogue);

/// D[m, n] = epilogue(alpha * op(A)[m, k] op(B)[k, n] + beta * C[m, n]), row-major. op(A): A is stored [m, k]
/// (transpose_a false) or [k, m]; op(B): B is stored [k, n] or, with transpose_b, [n, k], as the weight of a
/// linear layer is. cublasLt, which is column-major, gets D^T = op(B)^T op(A)^T: its "m" is our n, its A our
/// B.
struct GemmProblem {
    std::uint64_t m = 1, n = 1, k = 1, batch = 1;
    bool transpose_a = false, transpose_b = false;
    Type a = Type::f16, b = Type::f16, c = Type::f16, d = Type::f16;
    Compute compute = Compute::f32;
    Epilogue epilogue = Epilogue::none;
    Type bias = Type::f16;  ///< of the vector [n] that bias epilogues add
    double alpha = 1, beta = 0;
    bool fast_accumulation = false;                    ///< fp8
    bool in_place = false;                             ///< C is D
    std::uint64_t lda = 0, ldb = 0, ldc = 0, ldd = 0;  ///< elements; 0: dense
    std::uint64_t workspace_bytes = 32u << 20;
    bool allow_split_k = true;  ///< false: reduction scheme mask 0 and SPLITK_NUM 1

    /// Elements between rows, with 0 resolved.
    std::uint64_t row_a() const { return lda != 0 ? lda : (transpose_a ? m : k); }
    std::uint64_t row_b() const { return ldb != 0 ? ldb : (transpose_b ? k : n); }
    std::uint64_t row_c() const { return ldc != 0 ? ldc : n; }
    std::uint64_t row_d() const { return ldd != 0 ? ldd : n; }
    std::uint64_t elements_a() const { return row_a() * (transpose_a ? k : m) * batch; }
    std::uint64_t elements_b() const { return row_b() * (transpose_b ? n : k) * batch; }
    std::uint64_t elements_c() const { return row_c() * m * batch; }
    std::uint64_t elements_d() const { return row_d() * m * batch; }
    /// "1024x768x512 bf16 bf16->f32 nt", unique for the problem: a key.
    std::string name() const;
};

/// One algorithm for one problem: the attributes of cublasLtMatmulAlgo_t and what its launch looked like.
/// Numbers are those of cublasLt.h; -1: the library has no such attribute.
struct GemmAlgorithm {
    int id = -1, tile = -1, stages = -1, split_k = -1, reduction_scheme = -1, swizzle = -1,
        custom_option = -1;
    int inner_shape = -1, cluster_shape = -1;
    std::uint64_t numerical_flags = 0;  ///< CUBLASLT_ALGO_CAP_NUMERICAL_IMPL_FLAGS
    std::uint64_t workspace_bytes = 0;
    double waves = 0;
    std::string blob;  ///< 64 bytes in hexadecimal
    /// Seen when the launch was captured in a graph: every kernel, in order, separated by "; ".
    std::string kernels;
    std::uint32_t grid[3] = {0, 0, 0}, block[3] = {0, 0, 0};
    std::uint32_t shared_bytes = 0;
};

struct GemmOperands {
    std::uint64_t a = 0, b = 0, c = 0, d = 0, bias = 0;   ///< addresses; c, bias: 0 where not used
    std::uint64_t scale_a = 0, scale_b = 0, scale_d = 0;  ///< fp8: addresses of an f32; 0: one
};

class Blas {
  public:
    virtual ~Blas() = default;
    /// The heuristic's algorithms, the best first, at most `maximum`. Empty when it has none.
    virtual std::vector<GemmAlgorithm> algorithms(const GemmProblem& problem, unsigned maximum) = 0;
    /// Puts the product on the device's stream. `algorithm` came from algorithms() for this problem.
    virtual void run(const GemmProblem& problem, const GemmAlgorithm& algorithm,
                     const GemmOperands& operands) = 0;
    /// Fills in kernels, grid, block and shared_bytes, without computing anything that is kept.
    virtual void observe(const GemmProblem& problem, GemmAlgorithm& algorithm,
                         const GemmOperands& operands) = 0;
};

}  // namespace heddle::capture
