// A network of two layers, trained by products of cuBLAS and a few kernels beside them. The same training runs on the host in double
// precision, and the losses must agree step by step.
#include <cublas_v2.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "check.h"

constexpr int kBatch = 64, kIn = 32, kHidden = 96, kOut = 16, kSteps = 20;
constexpr float kRate = 0.05f;

static void blas(cublasStatus_t status, const char* what) {
    if (status == CUBLAS_STATUS_SUCCESS) return;
    std::fprintf(stderr, "%s: %s\n", what, cublasGetStatusString(status));
    std::exit(1);
}
#define BLAS(call) blas(call, #call)

__global__ void tanh_of(float* values, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) values[i] = tanhf(values[i]);
}
__global__ void through_tanh(float* gradient, const float* activation, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) gradient[i] *= 1 - activation[i] * activation[i];
}
__global__ void difference(float* result, const float* got, const float* wanted, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) result[i] = got[i] - wanted[i];
}

// Matrices have columns first: an example is a column.
template <class T>
struct Network {
    std::vector<T> x, wanted, w1, w2;
    Network() : x(kIn * kBatch), wanted(kOut * kBatch), w1(kHidden * kIn), w2(kOut * kHidden) {
        std::uint32_t seed = 3;
        const auto fill = [&](std::vector<T>& values, double size) {
            for (T& value : values) {
                seed = seed * 1664525u + 1013904223u;
                value = static_cast<T>(static_cast<float>(size * ((static_cast<int>(seed >> 16) - 32768) / 32768.0)));
            }
        };
        fill(x, 1);
        fill(wanted, 1);
        fill(w1, 0.3);
        fill(w2, 0.2);
    }
};

static std::vector<double> train_on_host() {
    Network<double> net;
    std::vector<double> losses, h(kHidden * kBatch), e(kOut * kBatch), g(kHidden * kBatch);
    for (int step = 0; step < kSteps; ++step) {
        double loss = 0;
        for (int b = 0; b < kBatch; ++b) {
            for (int i = 0; i < kHidden; ++i) {
                double sum = 0;
                for (int p = 0; p < kIn; ++p) sum += net.w1[i + p * kHidden] * net.x[p + b * kIn];
                h[i + b * kHidden] = std::tanh(sum);
            }
            for (int o = 0; o < kOut; ++o) {
                double sum = 0;
                for (int i = 0; i < kHidden; ++i) sum += net.w2[o + i * kOut] * h[i + b * kHidden];
                e[o + b * kOut] = sum - net.wanted[o + b * kOut];
                loss += e[o + b * kOut] * e[o + b * kOut];
            }
            for (int i = 0; i < kHidden; ++i) {
                double sum = 0;
                for (int o = 0; o < kOut; ++o) sum += net.w2[o + i * kOut] * e[o + b * kOut];
                g[i + b * kHidden] = sum * (1 - h[i + b * kHidden] * h[i + b * kHidden]);
            }
        }
        losses.push_back(loss / kBatch);
        for (int b = 0; b < kBatch; ++b) {
            for (int o = 0; o < kOut; ++o)
                for (int i = 0; i < kHidden; ++i) net.w2[o + i * kOut] -= kRate / kBatch * e[o + b * kOut] * h[i + b * kHidden];
            for (int i = 0; i < kHidden; ++i)
                for (int p = 0; p < kIn; ++p) net.w1[i + p * kHidden] -= kRate / kBatch * g[i + b * kHidden] * net.x[p + b * kIn];
        }
    }
    return losses;
}

static float* on_device(const std::vector<float>& values) {
    float* data = nullptr;
    CHECK(cudaMalloc(&data, values.size() * sizeof(float)));
    CHECK(cudaMemcpy(data, values.data(), values.size() * sizeof(float), cudaMemcpyHostToDevice));
    return data;
}

int main() {
    const Network<float> net;
    float *x = on_device(net.x), *wanted = on_device(net.wanted), *w1 = on_device(net.w1), *w2 = on_device(net.w2);
    float *h = on_device(std::vector<float>(kHidden * kBatch)), *y = on_device(std::vector<float>(kOut * kBatch));
    float *e = on_device(std::vector<float>(kOut * kBatch)), *g = on_device(std::vector<float>(kHidden * kBatch));
    cublasHandle_t handle;
    BLAS(cublasCreate(&handle));
    const float one = 1, zero = 0, step_size = -kRate / kBatch;
    const auto blocks = [](int count) { return (count + 255) / 256; };
    const std::vector<double> reference = train_on_host();
    bool good = true;
    double first = 0, last = 0;
    for (int step = 0; step < kSteps; ++step) {
        BLAS(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, kHidden, kBatch, kIn, &one, w1, kHidden, x, kIn, &zero, h, kHidden));
        tanh_of<<<blocks(kHidden * kBatch), 256>>>(h, kHidden * kBatch);
        BLAS(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, kOut, kBatch, kHidden, &one, w2, kOut, h, kHidden, &zero, y, kOut));
        difference<<<blocks(kOut * kBatch), 256>>>(e, y, wanted, kOut * kBatch);
        float norm = 0;
        BLAS(cublasSnrm2(handle, kOut * kBatch, e, 1, &norm));
        const double loss = double(norm) * norm / kBatch;
        if (step == 0) first = loss;
        last = loss;
        good = good && std::abs(loss - reference[step]) < 1e-4 * reference[step];
        BLAS(cublasSgemm(handle, CUBLAS_OP_T, CUBLAS_OP_N, kHidden, kBatch, kOut, &one, w2, kOut, e, kOut, &zero, g, kHidden));
        through_tanh<<<blocks(kHidden * kBatch), 256>>>(g, h, kHidden * kBatch);
        BLAS(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_T, kOut, kHidden, kBatch, &step_size, e, kOut, h, kHidden, &one, w2, kOut));
        BLAS(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_T, kHidden, kIn, kBatch, &step_size, g, kHidden, x, kIn, &one, w1, kHidden));
    }
    BLAS(cublasDestroy(handle));
    std::printf("loss %.4f after one step, %.4f after %d\n", first, last, kSteps);
    return verdict(good && last < 0.8 * first, "the losses of the host's training");
}
