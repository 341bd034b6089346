// Products with epilogues by cublasLt, each compared with sums on the host in double precision.
#include <cublasLt.h>
#include <cuda_bf16.h>
#include <cuda_fp8.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <vector>

#include "check.h"

static int wrong = 0;
static void blas(cublasStatus_t status, const char* what) {
    if (status == CUBLAS_STATUS_SUCCESS) return;
    std::printf("%s: status %d\n", what, status);
    ++wrong;
}
#define BLAS(call) blas(call, #call)

static std::uint32_t seed = 7;
static float number() {
    seed = seed * 1664525u + 1013904223u;
    return static_cast<float>(static_cast<int>(seed >> 20) - 2048) / 1024.0f;
}

template <class T>
struct Device {
    std::vector<T> host;
    T* data = nullptr;
    explicit Device(std::size_t count) : host(count) {
        for (T& value : host) value = T(number());
        CHECK(cudaMalloc(&data, count * sizeof(T)));
        CHECK(cudaMemcpy(data, host.data(), count * sizeof(T), cudaMemcpyHostToDevice));
    }
    ~Device() { cudaFree(data); }
    void fetch() { CHECK(cudaMemcpy(host.data(), data, host.size() * sizeof(T), cudaMemcpyDeviceToHost)); }
    double at(std::size_t i) const { return static_cast<double>(static_cast<float>(host[i])); }
};

struct Setup {
    cublasLtMatmulDesc_t how;
    cublasLtMatrixLayout_t a, b, c;
    Setup(cudaDataType type, cudaDataType result, bool ta, bool tb, int m, int n, int k) {
        const cublasOperation_t opa = ta ? CUBLAS_OP_T : CUBLAS_OP_N, opb = tb ? CUBLAS_OP_T : CUBLAS_OP_N;
        BLAS(cublasLtMatmulDescCreate(&how, CUBLAS_COMPUTE_32F, CUDA_R_32F));
        set(CUBLASLT_MATMUL_DESC_TRANSA, opa);
        set(CUBLASLT_MATMUL_DESC_TRANSB, opb);
        BLAS(cublasLtMatrixLayoutCreate(&a, type, ta ? k : m, ta ? m : k, ta ? k : m));
        BLAS(cublasLtMatrixLayoutCreate(&b, type, tb ? n : k, tb ? k : n, tb ? n : k));
        BLAS(cublasLtMatrixLayoutCreate(&c, result, m, n, m));
    }
    ~Setup() {
        cublasLtMatrixLayoutDestroy(a);
        cublasLtMatrixLayoutDestroy(b);
        cublasLtMatrixLayoutDestroy(c);
        cublasLtMatmulDescDestroy(how);
    }
    template <class T>
    void set(cublasLtMatmulDescAttributes_t attribute, const T& value) {
        BLAS(cublasLtMatmulDescSetAttribute(how, attribute, &value, sizeof value));
    }
};

static double gelu(double x) { return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))); }
static double gelu_gradient(double x) { return (gelu(x + 1e-5) - gelu(x - 1e-5)) / 2e-5; }

int main() {
    cublasLtHandle_t handle;
    BLAS(cublasLtCreate(&handle));
    const int m = 64, n = 48, k = 80;
    using bf16 = __nv_bfloat16;
    Device<bf16> a(m * k), b(k * n), c(m * n), d(m * n), bias(m), auxiliary(m * n), gradient(n);
    for (auto* operand : {&a, &b}) {  // so that sums are near 1
        for (auto& value : operand->host) value = bf16(static_cast<float>(value) * 0.3f);
        CHECK(cudaMemcpy(operand->data, operand->host.data(), operand->host.size() * sizeof(bf16), cudaMemcpyHostToDevice));
    }
    const auto sum_at = [&](int i, int j) {  // A transposed, B not
        double sum = 0;
        for (int p = 0; p < k; ++p) sum += a.at(p + i * k) * b.at(p + j * k);
        return sum;
    };
    const auto compare = [&](const char* name, Device<bf16>& got, const std::function<double(int, int)>& wanted) {
        got.fetch();
        double worst = 0;
        for (int j = 0; j < n; ++j)
            for (int i = 0; i < m; ++i) worst = std::fmax(worst, std::abs(got.at(i + j * m) - wanted(i, j)) / (1 + std::abs(wanted(i, j))));
        if (worst < 0.006) return;
        std::printf("%s: WRONG by %g\n", name, worst);
        ++wrong;
    };
    const float one = 1, none = 0, half = 0.5f;
    const auto run = [&](Setup& setup, const float& beta) {
        cublasLtMatmulPreference_t preference;
        cublasLtMatmulHeuristicResult_t result{};
        int found = 0;
        BLAS(cublasLtMatmulPreferenceCreate(&preference));
        BLAS(cublasLtMatmulAlgoGetHeuristic(handle, setup.how, setup.a, setup.b, setup.c, setup.c, preference, 1, &result, &found));
        BLAS(cublasLtMatmul(handle, setup.how, &one, a.data, setup.a, b.data, setup.b, &beta, c.data, setup.c, d.data, setup.c, &result.algo, nullptr, 0, nullptr));
        BLAS(cublasLtMatmulPreferenceDestroy(preference));
    };
    const auto setup_with = [&](cublasLtEpilogue_t epilogue) {
        auto setup = std::make_unique<Setup>(CUDA_R_16BF, CUDA_R_16BF, true, false, m, n, k);
        setup->set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue);
        setup->set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, epilogue == CUBLASLT_EPILOGUE_BGRADB ? gradient.data : bias.data);
        setup->set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, auxiliary.data);
        setup->set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, std::int64_t{m});
        return setup;
    };
    run(*setup_with(CUBLASLT_EPILOGUE_DEFAULT), half);
    compare("beta", d, [&](int i, int j) { return sum_at(i, j) + 0.5 * c.at(i + j * m); });
    run(*setup_with(CUBLASLT_EPILOGUE_BIAS), none);
    compare("bias", d, [&](int i, int j) { return sum_at(i, j) + bias.at(i); });
    run(*setup_with(CUBLASLT_EPILOGUE_RELU_BIAS), none);
    compare("ReLU and bias", d, [&](int i, int j) { return std::fmax(0, sum_at(i, j) + bias.at(i)); });
    run(*setup_with(CUBLASLT_EPILOGUE_GELU_AUX_BIAS), none);
    compare("GELU and bias", d, [&](int i, int j) { return gelu(sum_at(i, j) + bias.at(i)); });
    compare("what GELU was given", auxiliary, [&](int i, int j) { return sum_at(i, j) + bias.at(i); });
    run(*setup_with(CUBLASLT_EPILOGUE_DGELU), none);
    compare("the gradient of GELU", d, [&](int i, int j) { return sum_at(i, j) * gelu_gradient(auxiliary.at(i + j * m)); });
    run(*setup_with(CUBLASLT_EPILOGUE_BGRADB), none);
    gradient.fetch();
    for (int j = 0; j < n; ++j) {
        double sum = 0;
        for (int p = 0; p < k; ++p) sum += b.at(p + j * k);
        if (std::abs(gradient.at(j) - sum) > 0.02 * (1 + std::abs(sum))) {
            std::printf("the gradient of a bias: WRONG\n");
            ++wrong;
            break;
        }
    }
    {  // The result in rows.
        Setup setup(CUDA_R_16BF, CUDA_R_16BF, true, false, m, n, k);
        const cublasLtOrder_t rows = CUBLASLT_ORDER_ROW;
        const std::int64_t leading = n;
        BLAS(cublasLtMatrixLayoutSetAttribute(setup.c, CUBLASLT_MATRIX_LAYOUT_ORDER, &rows, sizeof rows));
        BLAS(cublasLtMatrixLayoutSetAttribute(setup.c, CUBLASLT_MATRIX_LAYOUT_LD, &leading, sizeof leading));
        run(setup, none);
        d.fetch();
        bool right = true;
        for (int i = 0; i < m; ++i)
            for (int j = 0; j < n; ++j) right = right && std::abs(d.at(i * n + j) - sum_at(i, j)) < 0.006 * (1 + std::abs(sum_at(i, j)));
        if (!right) {
            std::printf("a result in rows: WRONG\n");
            ++wrong;
        }
    }
    {  // 8-bit floats with scales in device memory.
        Device<__nv_fp8_e4m3> x(m * k), y(k * n);
        Device<float> scales(2);
        const float values[] = {0.5f, 0.25f};
        CHECK(cudaMemcpy(scales.data, values, sizeof values, cudaMemcpyHostToDevice));
        Setup setup(CUDA_R_8F_E4M3, CUDA_R_16BF, true, false, m, n, k);
        setup.set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, scales.data);
        setup.set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, scales.data + 1);
        BLAS(cublasLtMatmul(handle, setup.how, &one, x.data, setup.a, y.data, setup.b, &none, d.data, setup.c, d.data, setup.c, nullptr, nullptr, 0, nullptr));
        compare("8-bit floats", d, [&](int i, int j) {
            double sum = 0;
            for (int p = 0; p < k; ++p) sum += x.at(p + i * k) * y.at(p + j * k);
            return sum / 8;
        });
    }
    BLAS(cublasLtDestroy(handle));
    std::printf(wrong == 0 ? "cublasLt: right\n" : "cublasLt: %d wrong\n", wrong);
    return wrong != 0;
}
