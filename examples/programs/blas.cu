// Routines of cuBLAS, each compared with sums on the host in double precision.
#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <vector>

#include "check.h"

static int wrong = 0;

static void expect(bool right, const char* what) {
    if (right) return;
    std::printf("%s: WRONG\n", what);
    ++wrong;
}
static void blas(cublasStatus_t status, const char* what) {
    if (status == CUBLAS_STATUS_SUCCESS) return;
    std::printf("%s: %s\n", what, cublasGetStatusString(status));
    ++wrong;
}
#define BLAS(call) blas(call, #call)

static std::uint32_t seed = 1;
static double number() {
    seed = seed * 1664525u + 1013904223u;
    return (static_cast<int>(seed >> 20) - 2048) / 1024.0;
}

template <class T>
struct Device {
    std::vector<T> host;
    T* data = nullptr;
    explicit Device(std::size_t count, bool filled = true) : host(count) {
        for (T& value : host) value = filled ? T(float(number())) : T(0.0f);
        CHECK(cudaMalloc(&data, count * sizeof(T)));
        CHECK(cudaMemcpy(data, host.data(), count * sizeof(T), cudaMemcpyHostToDevice));
    }
    ~Device() { cudaFree(data); }
    std::vector<T> back() const {
        std::vector<T> result(host.size());
        CHECK(cudaMemcpy(result.data(), data, host.size() * sizeof(T), cudaMemcpyDeviceToHost));
        return result;
    }
    double at(std::size_t i) const { return static_cast<double>(static_cast<float>(host[i])); }
};
template <>
double Device<double>::at(std::size_t i) const { return host[i]; }

static double wide(double value) { return value; }
template <class T>
static double wide(T value) { return static_cast<double>(static_cast<float>(value)); }
static bool near(double got, double wanted, double magnitude, double unit) { return std::abs(got - wanted) <= unit * (magnitude + std::abs(wanted)); }

using Element = std::function<double(int, int)>;
/// C (columns first, at `c0` before) against alpha op(A) op(B) + beta C.
template <class T>
static bool is_product(const std::vector<T>& c, const Device<T>& c0, int m, int n, int k, int ldc, double alpha, double beta, const Element& a, const Element& b, double unit) {
    for (int j = 0; j < n; ++j)
        for (int i = 0; i < m; ++i) {
            double sum = 0, magnitude = 0;
            for (int p = 0; p < k; ++p) {
                sum += a(i, p) * b(p, j);
                magnitude += std::abs(a(i, p) * b(p, j));
            }
            const double wanted = alpha * sum + (beta == 0 ? 0 : beta * c0.at(i + std::size_t(j) * ldc));
            if (!near(wide(c[i + std::size_t(j) * ldc]), wanted, magnitude, unit)) return false;
        }
    return true;
}

template <class T, class Call>
static void gemm(const char* name, int m, int n, int k, double unit, Call call) {
    for (int form = 0; form < 4; ++form) {
        const bool ta = form & 1, tb = form & 2;
        const int lda = (ta ? k : m) + 8, ldb = (tb ? n : k) + 8, ldc = m + 8;
        Device<T> a(std::size_t(lda) * (ta ? m : k)), b(std::size_t(ldb) * (tb ? k : n)), c(std::size_t(ldc) * n);
        const double beta = form == 0 ? 0 : 0.5;
        call(ta ? CUBLAS_OP_T : CUBLAS_OP_N, tb ? CUBLAS_OP_T : CUBLAS_OP_N, m, n, k, 1.25, a.data, lda, b.data, ldb, beta, c.data, ldc);
        expect(is_product<T>(c.back(), c, m, n, k, ldc, 1.25, beta, [&](int i, int p) { return a.at(ta ? p + std::size_t(i) * lda : i + std::size_t(p) * lda); },
                             [&](int p, int j) { return b.at(tb ? j + std::size_t(p) * ldb : p + std::size_t(j) * ldb); }, unit),
               name);
    }
}

int main() {
    cublasHandle_t handle;
    BLAS(cublasCreate(&handle));

    // Products in four types and all transpositions, with leading dimensions beyond the rows.
    for (const int size : {64, 33}) {
        gemm<float>("Sgemm", size, 48, 40, 1e-5, [&](auto ta, auto tb, int m, int n, int k, float alpha, auto a, int lda, auto b, int ldb, float beta, auto c, int ldc) {
            BLAS(cublasSgemm(handle, ta, tb, m, n, k, &alpha, a, lda, b, ldb, &beta, c, ldc));
        });
        gemm<double>("Dgemm", size, 48, 40, 1e-13, [&](auto ta, auto tb, int m, int n, int k, double alpha, auto a, int lda, auto b, int ldb, double beta, auto c, int ldc) {
            BLAS(cublasDgemm(handle, ta, tb, m, n, k, &alpha, a, lda, b, ldb, &beta, c, ldc));
        });
        gemm<__nv_bfloat16>("GemmEx bf16", size, 48, 40, 0.01, [&](auto ta, auto tb, int m, int n, int k, float alpha, auto a, int lda, auto b, int ldb, float beta, auto c, int ldc) {
            BLAS(cublasGemmEx(handle, ta, tb, m, n, k, &alpha, a, CUDA_R_16BF, lda, b, CUDA_R_16BF, ldb, &beta, c, CUDA_R_16BF, ldc, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
        });
        gemm<__half>("Hgemm", size, 48, 40, 0.002, [&](auto ta, auto tb, int m, int n, int k, float alpha, auto a, int lda, auto b, int ldb, float beta, auto c, int ldc) {
            const __half ah(alpha), bh(beta);
            BLAS(cublasHgemm(handle, ta, tb, m, n, k, &ah, a, lda, b, ldb, &bh, c, ldc));
        });
    }
    {  // tf32, a batch at equal distances, one of addresses anywhere, scalars in device memory
        const int m = 32, n = 24, k = 16, batch = 5;
        Device<float> a(m * k * batch), b(k * n * batch), c(m * n * batch, false), scalars(2);
        const float alpha = 1, beta = 0;
        const auto verify = [&](const char* name, double factor, double unit) {
            const std::vector<float> got = c.back();
            bool right = true;
            for (int e = 0; e < batch; ++e)
                for (int j = 0; j < n; ++j)
                    for (int i = 0; i < m; ++i) {
                        double sum = 0, magnitude = 0;
                        for (int p = 0; p < k; ++p) {
                            const double term = a.at(e * m * k + i + p * m) * b.at(e * k * n + p + j * k);
                            sum += term;
                            magnitude += std::abs(term);
                        }
                        right = right && near(got[e * m * n + i + j * m], factor * sum, magnitude, unit);
                    }
            expect(right, name);
        };
        BLAS(cublasSgemmStridedBatched(handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &alpha, a.data, m, m * k, b.data, k, k * n, &beta, c.data, m, m * n, batch));
        verify("SgemmStridedBatched", 1, 1e-5);
        std::vector<float*> pa, pb, pc;
        for (int e = 0; e < batch; ++e) {
            const int place = e == 1 ? 3 : e == 3 ? 1 : e;  // out of order
            pa.push_back(a.data + place * m * k);
            pb.push_back(b.data + place * k * n);
            pc.push_back(c.data + place * m * n);
        }
        float **da, **db, **dc;
        for (auto [device, host] : {std::pair{&da, &pa}, std::pair{&db, &pb}, std::pair{&dc, &pc}}) {
            CHECK(cudaMalloc(device, batch * sizeof(float*)));
            CHECK(cudaMemcpy(*device, host->data(), batch * sizeof(float*), cudaMemcpyHostToDevice));
        }
        CHECK(cudaMemset(c.data, 0, c.host.size() * sizeof(float)));
        BLAS(cublasSgemmBatched(handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &alpha, da, m, db, k, &beta, dc, m, batch));
        verify("SgemmBatched", 1, 1e-5);
        const float on_device[] = {2, 0};
        CHECK(cudaMemcpy(scalars.data, on_device, sizeof on_device, cudaMemcpyHostToDevice));
        BLAS(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_DEVICE));
        BLAS(cublasSetMathMode(handle, CUBLAS_TF32_TENSOR_OP_MATH));
        BLAS(cublasSgemmStridedBatched(handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, scalars.data, a.data, m, m * k, b.data, k, k * n, scalars.data + 1, c.data, m, m * n, batch));
        verify("tf32 with scalars on the device", 2, 2e-3);
        BLAS(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_HOST));
        BLAS(cublasSetMathMode(handle, CUBLAS_DEFAULT_MATH));
        // A product in a graph, launched twice.
        cudaStream_t stream;
        CHECK(cudaStreamCreate(&stream));
        BLAS(cublasSetStream(handle, stream));
        CHECK(cudaMemset(c.data, 0, c.host.size() * sizeof(float)));
        cudaGraph_t graph;
        cudaGraphExec_t executable;
        const float one = 1;
        CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
        BLAS(cublasSgemmStridedBatched(handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &alpha, a.data, m, m * k, b.data, k, k * n, &one, c.data, m, m * n, batch));
        CHECK(cudaStreamEndCapture(stream, &graph));
        CHECK(cudaGraphInstantiate(&executable, graph, 0));
        CHECK(cudaGraphLaunch(executable, stream));
        CHECK(cudaGraphLaunch(executable, stream));
        CHECK(cudaStreamSynchronize(stream));
        verify("a product in a graph", 2, 1e-5);
        BLAS(cublasSetStream(handle, nullptr));
    }
    {  // integers
        const int m = 32, n = 16, k = 64;
        std::vector<std::int8_t> ha(m * k), hb(k * n);
        for (auto& v : ha) v = static_cast<std::int8_t>(number() * 50);
        for (auto& v : hb) v = static_cast<std::int8_t>(number() * 50);
        std::int8_t *a, *b;
        std::int32_t* c;
        CHECK(cudaMalloc(&a, ha.size()));
        CHECK(cudaMalloc(&b, hb.size()));
        CHECK(cudaMalloc(&c, m * n * 4));
        CHECK(cudaMemcpy(a, ha.data(), ha.size(), cudaMemcpyHostToDevice));
        CHECK(cudaMemcpy(b, hb.data(), hb.size(), cudaMemcpyHostToDevice));
        const std::int32_t one = 1, none = 0;
        BLAS(cublasGemmEx(handle, CUBLAS_OP_T, CUBLAS_OP_N, m, n, k, &one, a, CUDA_R_8I, k, b, CUDA_R_8I, k, &none, c, CUDA_R_32I, m, CUBLAS_COMPUTE_32I, CUBLAS_GEMM_DEFAULT));
        std::vector<std::int32_t> hc(m * n);
        CHECK(cudaMemcpy(hc.data(), c, hc.size() * 4, cudaMemcpyDeviceToHost));
        bool right = true;
        for (int i = 0; i < m; ++i)
            for (int j = 0; j < n; ++j) {
                int sum = 0;
                for (int p = 0; p < k; ++p) sum += ha[p + i * k] * hb[p + j * k];
                right = right && hc[i + j * m] == sum;
            }
        expect(right, "GemmEx of integers");
    }
    {  // vectors
        const int n = 20000;
        Device<float> x(2 * n), y(3 * n);
        const float alpha = 0.75f;
        float result = 0;
        double dot = 0, magnitude = 0, squares = 0;
        for (int i = 0; i < n; ++i) {
            dot += x.at(2 * i) * y.at(3 * (n - 1 - i));
            magnitude += std::abs(x.at(2 * i));
            squares += x.at(2 * i) * x.at(2 * i);
        }
        BLAS(cublasSdot(handle, n, x.data, 2, y.data, -3, &result));
        expect(near(result, dot, magnitude, 1e-5), "Sdot");
        BLAS(cublasSasum(handle, n, x.data, 2, &result));
        expect(near(result, magnitude, 0, 1e-5), "Sasum");
        BLAS(cublasSnrm2(handle, n, x.data, 2, &result));
        expect(near(result, std::sqrt(squares), 0, 1e-5), "Snrm2");
        int place = 0, largest = 0, smallest = 0;
        for (int i = 0; i < n; ++i) {
            if (std::abs(x.at(2 * i)) > std::abs(x.at(2 * largest))) largest = i;
            if (std::abs(x.at(2 * i)) < std::abs(x.at(2 * smallest))) smallest = i;
        }
        BLAS(cublasIsamax(handle, n, x.data, 2, &place));
        expect(place == largest + 1, "Isamax");
        BLAS(cublasIsamin(handle, n, x.data, 2, &place));
        expect(place == smallest + 1, "Isamin");
        BLAS(cublasSaxpy(handle, n, &alpha, x.data, 2, y.data, 3));
        std::vector<float> got = y.back();
        bool right = true;
        for (int i = 0; i < n; ++i) right = right && near(got[3 * i], alpha * x.at(2 * i) + y.at(3 * i), 1, 1e-6) && got[3 * i + 1] == y.host[3 * i + 1];
        expect(right, "Saxpy");
        const float c = 0.6f, s = 0.8f;
        BLAS(cublasSswap(handle, n, x.data, 2, y.data, 3));
        BLAS(cublasSrot(handle, n, x.data, 2, y.data, 3, &c, &s));
        const std::vector<float> gx = x.back(), gy = y.back();
        right = true;
        for (int i = 0; i < n; ++i)
            right = right && near(gx[2 * i], c * double(got[3 * i]) + s * x.at(2 * i), 1, 1e-6) && near(gy[3 * i], c * x.at(2 * i) - s * double(got[3 * i]), 1, 1e-6);
        expect(right, "Sswap and Srot");
    }
    {  // matrices with vectors, triangles, symmetric matrices
        const int m = 70, n = 50, lda = 80;
        Device<double> a(lda * lda), x(2 * lda), y(lda), c(lda * lda);
        for (int i = 0; i < lda; ++i) a.host[i + i * lda] += 20;  // so that systems are well-behaved
        CHECK(cudaMemcpy(a.data, a.host.data(), a.host.size() * 8, cudaMemcpyHostToDevice));
        const double alpha = 1.5, beta = -0.5;
        BLAS(cublasDgemv(handle, CUBLAS_OP_N, m, n, &alpha, a.data, lda, x.data, 2, &beta, y.data, 1));
        std::vector<double> got = y.back();
        bool right = true;
        for (int i = 0; i < m; ++i) {
            double sum = 0;
            for (int j = 0; j < n; ++j) sum += a.host[i + j * lda] * x.host[2 * j];
            right = right && near(got[i], alpha * sum + beta * y.host[i], 20, 1e-13);
        }
        expect(right, "Dgemv");
        BLAS(cublasDgemv(handle, CUBLAS_OP_T, m, n, &alpha, a.data, lda, x.data, 2, &beta, y.data, 1));
        std::vector<double> again = y.back();
        right = true;
        for (int j = 0; j < n; ++j) {
            double sum = 0;
            for (int i = 0; i < m; ++i) sum += a.host[i + j * lda] * x.host[2 * i];
            right = right && near(again[j], alpha * sum + beta * got[j], 20, 1e-13);
        }
        expect(right, "Dgemv of a transposed matrix");
        BLAS(cublasDger(handle, m, n, &alpha, x.data, 2, y.data, 1, c.data, lda));
        const std::vector<double> ranked = c.back();
        right = true;
        for (int i = 0; i < m; ++i)
            for (int j = 0; j < n; ++j) right = right && near(ranked[i + j * lda], c.host[i + j * lda] + alpha * x.host[2 * i] * again[j], 10, 1e-13);
        expect(right, "Dger");
        // Each way of a triangular system: op(A) X = alpha B, then trmm gives alpha B again.
        for (int way = 0; way < 16; ++way) {
            const auto side = way & 1 ? CUBLAS_SIDE_RIGHT : CUBLAS_SIDE_LEFT;
            const auto uplo = way & 2 ? CUBLAS_FILL_MODE_UPPER : CUBLAS_FILL_MODE_LOWER;
            const auto trans = way & 4 ? CUBLAS_OP_T : CUBLAS_OP_N;
            const auto diagonal = way & 8 ? CUBLAS_DIAG_UNIT : CUBLAS_DIAG_NON_UNIT;
            Device<double> b(lda * 30), small(lda * lda), product(lda * 30, false);
            for (auto& v : small.host) v *= 0.05;
            for (int i = 0; i < lda; ++i) small.host[i + i * lda] += 2;
            CHECK(cudaMemcpy(small.data, small.host.data(), small.host.size() * 8, cudaMemcpyHostToDevice));
            const int rows = 40, columns = 30;
            const double one = 1;
            BLAS(cublasDtrsm(handle, side, uplo, trans, diagonal, rows, columns, &alpha, small.data, lda, b.data, lda));
            BLAS(cublasDtrmm(handle, side, uplo, trans, diagonal, rows, columns, &one, small.data, lda, b.data, lda, product.data, lda));
            const std::vector<double> solved = b.back(), whole = product.back();
            right = true;
            const auto triangle = [&](int i, int j) {
                if (trans == CUBLAS_OP_T) std::swap(i, j);
                if (i == j) return diagonal == CUBLAS_DIAG_UNIT ? 1.0 : small.host[i + i * lda];
                return (i > j) == (uplo == CUBLAS_FILL_MODE_LOWER) ? small.host[i + j * lda] : 0.0;
            };
            for (int i = 0; i < rows; ++i)
                for (int j = 0; j < columns; ++j) {
                    double sum = 0;
                    if (side == CUBLAS_SIDE_LEFT)
                        for (int p = 0; p < rows; ++p) sum += triangle(i, p) * solved[p + j * lda];
                    else
                        for (int p = 0; p < columns; ++p) sum += solved[i + p * lda] * triangle(p, j);
                    right = right && near(sum, alpha * b.host[i + j * lda], 10, 1e-12) && near(whole[i + j * lda], sum, 10, 1e-12);
                }
            expect(right, "Dtrsm and Dtrmm");
        }
        Device<double> k(lda * lda), symmetric(lda * lda);
        BLAS(cublasDsyrk(handle, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, n, 30, &alpha, a.data, lda, &beta, k.data, lda));
        const std::vector<double> updated = k.back();
        right = true;
        for (int i = 0; i < n; ++i)
            for (int j = 0; j < n; ++j) {
                double sum = 0;
                for (int p = 0; p < 30; ++p) sum += a.host[i + p * lda] * a.host[j + p * lda];
                const double wanted = i >= j ? alpha * sum + beta * k.host[i + j * lda] : k.host[i + j * lda];
                right = right && near(updated[i + j * lda], wanted, 500, 1e-13);
            }
        expect(right, "Dsyrk");
        BLAS(cublasDsymm(handle, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_UPPER, 40, 20, &alpha, a.data, lda, c.data, lda, &beta, symmetric.data, lda));
        const std::vector<double> mirrored = symmetric.back();
        right = true;
        for (int i = 0; i < 40; ++i)
            for (int j = 0; j < 20; ++j) {
                double sum = 0;
                for (int p = 0; p < 40; ++p) sum += a.host[std::min(i, p) + std::max(i, p) * lda] * ranked[p + j * lda];
                right = right && near(mirrored[i + j * lda], alpha * sum + beta * symmetric.host[i + j * lda], 100, 1e-13);
            }
        expect(right, "Dsymm");
        Device<double> sum(lda * lda, false);
        BLAS(cublasDgeam(handle, CUBLAS_OP_T, CUBLAS_OP_N, n, n, &alpha, a.data, lda, &beta, c.data, lda, sum.data, lda));
        const std::vector<double> added = sum.back();
        right = true;
        for (int i = 0; i < n; ++i)
            for (int j = 0; j < n; ++j) right = right && near(added[i + j * lda], alpha * a.host[j + i * lda] + beta * ranked[i + j * lda], 1, 1e-14);
        expect(right, "Dgeam");
    }
    BLAS(cublasDestroy(handle));
    std::printf(wrong == 0 ? "cuBLAS: right\n" : "cuBLAS: %d wrong\n", wrong);
    return wrong != 0;
}
