// The CUDA side of the capture against the virtual driver and cublasLt (virtual_cuda/state.h), which check
// calls and compute with means of their own; and the names of functions against the toolkit's libraries.
#include "validation/capture/cuda/cuda_device.h"

#include <dlfcn.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "validation/capture/cuda/cublaslt_api.h"
#include "validation/capture/cuda/driver_api.h"
#include "validation/capture/device.h"

using namespace heddle::capture;

namespace {

template <typename T>
std::vector<std::byte> bytes_of_values(const std::vector<T>& values) {
    const auto* begin = reinterpret_cast<const std::byte*>(values.data());
    return {begin, begin + values.size() * sizeof(T)};
}

template <typename T>
std::vector<T> values_of(const DeviceBuffer& buffer) {
    const std::vector<std::byte> bytes = buffer.read();
    std::vector<T> values(bytes.size() / sizeof(T));
    std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
    return values;
}

/// out[i] = dynamic shared memory's address space is large enough to hold i, whatever its size.
constexpr const char* kDouble = R"(.version 7.8
.target sm_90
.address_size 64
.extern .shared .align 16 .b8 scratch[];
.visible .entry twice(.param .u64 data, .param .u32 last)
{
    .reg .b32 %r<6>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd0, [data];
    ld.param.u32 %r4, [last];
    mov.u32 %r0, %tid.x;
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mad.lo.u32 %r0, %r1, %r2, %r0;
    mul.wide.u32 %rd1, %r0, 4;
    add.u64 %rd2, %rd0, %rd1;
    ld.global.u32 %r3, [%rd2];
    mov.u32 %r5, scratch;
    add.u32 %r5, %r5, %r4;
    st.shared.u32 [%r5], %r3;
    ld.shared.u32 %r3, [%r5];
    add.u32 %r3, %r3, %r3;
    st.global.u32 [%rd2], %r3;
    ret;
}
)";

/// Small integers, so that every order of adding gives the same sum.
std::vector<float> integers(std::size_t count, unsigned seed) {
    std::vector<float> values(count);
    for (std::size_t i = 0; i < count; ++i)
        values[i] = static_cast<float>(static_cast<int>((i * 7 + seed * 13 + i * i % 11) % 9) - 4);
    return values;
}

/// D = alpha op(A) op(B) + beta C + bias, straight from the definition in blas.h.
std::vector<float> expected(const GemmProblem& p, const std::vector<float>& a, const std::vector<float>& b,
                            const std::vector<float>& c, const std::vector<float>& bias) {
    std::vector<float> d(p.elements_d(), -99.0f);
    for (std::uint64_t z = 0; z < p.batch; ++z)
        for (std::uint64_t i = 0; i < p.m; ++i)
            for (std::uint64_t j = 0; j < p.n; ++j) {
                double sum = 0;
                for (std::uint64_t l = 0; l < p.k; ++l) {
                    const std::uint64_t at_a = p.transpose_a ? l * p.row_a() + i : i * p.row_a() + l;
                    const std::uint64_t at_b = p.transpose_b ? j * p.row_b() + l : l * p.row_b() + j;
                    sum +=
                        a[z * (p.elements_a() / p.batch) + at_a] * b[z * (p.elements_b() / p.batch) + at_b];
                }
                double value = p.alpha * sum;
                if (p.beta != 0) value += p.beta * c[z * p.row_c() * p.m + i * p.row_c() + j];
                if (p.epilogue == Epilogue::bias) value += bias[j];
                d[z * p.row_d() * p.m + i * p.row_d() + j] = static_cast<float>(value);
            }
    return d;
}

void check_product(Device& device, const GemmProblem& problem) {
    INFO(problem.name());
    const auto a = integers(problem.elements_a(), 1), b = integers(problem.elements_b(), 2),
               c = integers(problem.elements_c(), 3), bias = integers(problem.n, 4);
    const DeviceBuffer on_a(device, bytes_of_values(a)), on_b(device, bytes_of_values(b)),
        on_c(device, bytes_of_values(c)), on_bias(device, bytes_of_values(bias)),
        on_d(device, bytes_of_values(std::vector<float>(problem.elements_d(), -99.0f)));
    Blas& blas = *device.blas();
    auto algorithms = blas.algorithms(problem, 3);
    REQUIRE_FALSE(algorithms.empty());
    const GemmOperands operands{.a = on_a.address(),
                                .b = on_b.address(),
                                .c = problem.beta != 0 ? on_c.address() : 0,
                                .d = on_d.address(),
                                .bias = on_bias.address()};
    blas.run(problem, algorithms[0], operands);
    CHECK(values_of<float>(on_d) == expected(problem, a, b, c, bias));
}

GemmProblem f32_problem() {
    GemmProblem problem{.m = 5, .n = 7, .k = 11};
    problem.a = problem.b = problem.c = problem.d = problem.bias = Type::f32;
    return problem;
}

}  // namespace

TEST_CASE("memory is written, filled and read back") {
    const auto device = make_cuda_device(0);
    CHECK(device->compute_capability() == 90);
    CHECK_FALSE(device->is_silicon());
    const DeviceBuffer buffer(*device, bytes_of_values(std::vector<std::uint32_t>{1, 2, 3}));
    CHECK(buffer.address() % 256 == 0);
    device->fill(buffer.address() + 4, 0xAB, 4);
    CHECK(values_of<std::uint32_t>(buffer) == std::vector<std::uint32_t>{1, 0xABABABAB, 3});
    CHECK_THROWS_WITH(device->allocate(std::uint64_t{1} << 50), Catch::Contains("cuMemAlloc("));
}

TEST_CASE("a device that is closed gives its memory back") {
    const std::uint64_t free = make_cuda_device(0)->free_bytes();
    {
        const auto device = make_cuda_device(0);
        device->allocate(1 << 20);
        device->load(kDouble, "twice");
        CHECK(device->free_bytes() < free);
    }
    CHECK(make_cuda_device(0)->free_bytes() == free);
}

TEST_CASE("a kernel runs, with more shared memory than 48 KiB, and in clusters above 8") {
    const auto device = make_cuda_device(0);
    const DeviceBuffer data(*device, bytes_of_values(std::vector<std::uint32_t>(32, 21)));
    Launch launch;
    launch.kernel = device->load(kDouble, "twice");
    CHECK(device->load(kDouble, "twice") == launch.kernel);
    launch.grid = {16, 1, 1};
    launch.block = {2, 1, 1};
    for (const std::uint32_t bytes : {16u, 100u << 10, 64u}) {
        launch.dynamic_shared_bytes = bytes;
        launch.parameters = {parameter(data.address()), parameter(bytes - 4)};
        device->launch(launch);
    }
    CHECK(values_of<std::uint32_t>(data) == std::vector<std::uint32_t>(32, 168));
    launch.cluster = {16, 1, 1};
    device->launch(launch);
    CHECK(values_of<std::uint32_t>(data)[31] == 336);
    launch.block = {2048, 1, 1};
    CHECK_THROWS_WITH(device->launch(launch),
                      Catch::Contains("cuLaunchKernelEx(grid 16x1x1, block 2048x1x1"));
}

TEST_CASE("PTX that does not compile gives the compiler's log, the device lives") {
    const auto device = make_cuda_device(0);
    try {
        device->load(".version 7.8\n.target sm_90\n.address_size 64\n.entry x() { nonsense.u32 %r1; ret; }\n",
                     "x");
        FAIL("accepted");
    } catch (const DeviceError& error) {
        CHECK_FALSE(error.lost);
        CHECK_THAT(error.what(), Catch::Contains("kernel `x`") && Catch::Contains("nonsense"));
    }
    CHECK_NOTHROW(device->synchronise());
    CHECK_THROWS_WITH(device->load(kDouble, "thrice"), Catch::Contains("cuModuleGetFunction(thrice)"));
}

TEST_CASE("time is that of one run, warm or cold, in a graph or not") {
    // The virtual driver takes a microsecond for every kernel.
    const auto device = make_cuda_device(0);
    const DeviceBuffer data(*device, bytes_of_values(std::vector<std::uint32_t>(1, 1)));
    Launch launch;
    launch.kernel = device->load(kDouble, "twice");
    launch.dynamic_shared_bytes = 4;
    launch.parameters = {parameter(data.address()), parameter(std::uint32_t{0})};
    const auto two_kernels = [&] {
        device->launch(launch);
        device->launch(launch);
    };
    for (const bool cold : {false, true})
        for (const bool graph : {false, true}) {
            TimingOptions options;
            options.repetitions = 4;
            options.cold_l2 = cold;
            options.graph = graph;
            const std::vector<double> times = device->time(two_kernels, options);
            REQUIRE(times.size() == 4);
            for (const double time : times) CHECK(time == Approx(2.0).epsilon(1e-3));
        }
}

TEST_CASE("products in every layout, with strides, batches, scalars and bias are those of the definition") {
    const auto device = make_cuda_device(0);
    REQUIRE(device->blas() != nullptr);
    for (const bool transpose_a : {false, true})
        for (const bool transpose_b : {false, true}) {
            GemmProblem problem = f32_problem();
            problem.transpose_a = transpose_a;
            problem.transpose_b = transpose_b;
            check_product(*device, problem);
            problem.batch = 3;
            problem.lda = 13, problem.ldb = 17, problem.ldc = 9, problem.ldd = 8;
            problem.alpha = 2, problem.beta = -1;
            check_product(*device, problem);
            problem.epilogue = Epilogue::bias;
            problem.batch = 1;
            check_product(*device, problem);
        }
}

TEST_CASE("algorithms have their attributes, without split-K there is none that splits") {
    const auto device = make_cuda_device(0);
    GemmProblem problem = f32_problem();
    const auto all = device->blas()->algorithms(problem, 8);
    REQUIRE(all.size() > 1);
    CHECK(all[1].split_k > 1);
    for (const GemmAlgorithm& algorithm : all) {
        CHECK(algorithm.id >= 0);
        CHECK(algorithm.cluster_shape >= 0);  // a read of 4 bytes would be refused
        CHECK(algorithm.inner_shape >= 0);
        CHECK(algorithm.blob.size() == 128);
        CHECK(algorithm.numerical_flags != 0);
    }
    problem.allow_split_k = false;
    for (const GemmAlgorithm& algorithm : device->blas()->algorithms(problem, 8))
        CHECK(algorithm.split_k <= 1);
    problem.a = Type::f64;  // no library multiplies these two
    CHECK(device->blas()->algorithms(problem, 8).empty());
}

TEST_CASE("observing names the kernels and computes nothing") {
    const auto device = make_cuda_device(0);
    const GemmProblem problem = f32_problem();
    auto algorithm = device->blas()->algorithms(problem, 1).at(0);
    const DeviceBuffer a(*device, problem.elements_a() * 4), b(*device, problem.elements_b() * 4);
    const DeviceBuffer d(*device, bytes_of_values(std::vector<float>(problem.elements_d(), 5)));
    device->blas()->observe(problem, algorithm, {.a = a.address(), .b = b.address(), .d = d.address()});
    CHECK_FALSE(algorithm.kernels.empty());
    CHECK(algorithm.kernels.find('?') == std::string::npos);
    CHECK(algorithm.grid[0] > 0);
    CHECK(algorithm.block[0] > 0);
    CHECK(values_of<float>(d) == std::vector<float>(problem.elements_d(), 5));
}

TEST_CASE("a kernel that fails loses the device: every later call says so at once") {
    const auto device = make_cuda_device(0);
    Launch launch;
    launch.kernel = device->load(kDouble, "twice");
    launch.parameters = {parameter(std::uint64_t{16}), parameter(std::uint32_t{0})};
    launch.dynamic_shared_bytes = 4;
    device->launch(launch);
    const auto is_lost = [](const DeviceError& error) { return error.lost; };
    CHECK_THROWS_MATCHES(device->synchronise(), DeviceError,
                         Catch::Predicate<DeviceError>(is_lost, "the device is lost"));
    CHECK_THROWS_MATCHES(device->allocate(16), DeviceError,
                         Catch::Predicate<DeviceError>(is_lost, "the device is lost"));
}

TEST_CASE("every function that is looked up exists in the toolkit's libraries") {
    const auto check_all = [](const std::string& file, const std::vector<std::string>& names) {
        if (!std::filesystem::exists(file)) {
            WARN("skipped: there is no " + file);
            return;
        }
        void* library = ::dlopen(file.c_str(), RTLD_LAZY | RTLD_LOCAL);
        REQUIRE(library != nullptr);
        for (const std::string& name : names) {
            INFO(name);
            CHECK(::dlsym(library, name.c_str()) != nullptr);
        }
    };
    check_all(std::string(HEDDLE_CUDA_LIBRARIES) + "/stubs/libcuda.so", required_driver_functions());
    check_all(std::string(HEDDLE_CUDA_LIBRARIES) + "/libcublasLt.so", required_cublaslt_functions());
}
