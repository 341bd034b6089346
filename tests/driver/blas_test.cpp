// Calls of the stand-ins for cuBLAS, as the virtual GPU gets them: every routine is made of these four requests.
#include "driver/protocol/blas.h"

#include <sys/mman.h>

#include <catch2/catch.hpp>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "driver/server/virtual_gpu.h"
#include "sim/hardware/load_hardware.h"

namespace heddle::driver {
namespace {

/// A virtual GPU without a program: its memory is mapped here.
class BlasCalls {
  public:
    BlasCalls() : hardware_(sim::load_hardware("h100-sxm")), model_(sim::gpu_machine(hardware_)->config), gpu_(hardware_, options(), model_) {
        memory_ = static_cast<char*>(mmap(nullptr, kMapped, PROT_READ | PROT_WRITE, MAP_SHARED, gpu_.memory_descriptor(), 0));
        ask(Call::hello, Writer().put(kVersion).put(std::uint32_t{1}));
    }
    ~BlasCalls() { munmap(memory_, kMapped); }
    BlasCalls(const BlasCalls&) = delete;
    BlasCalls& operator=(const BlasCalls&) = delete;

    static const GpuOptions& options() {
        static const GpuOptions only_values = [] {
            GpuOptions options;
            options.timing = Timing::none;
            return options;
        }();
        return only_values;
    }
    Answer ask(Call call, const Writer& content) {
        const std::optional<Answer> answer = gpu_.handle(call, {content.bytes().data(), content.bytes().size()});
        return answer ? *answer : Answer{};
    }
    template <class T>
    std::uint64_t put(const std::vector<T>& values) {
        const Answer answer = ask(Call::allocate, Writer().put(std::uint32_t{0}).put(std::uint64_t{values.size() * sizeof(T)}).put(MemoryKind::device));
        const auto address = Reader(answer.content.bytes().data(), answer.content.bytes().size()).get<std::uint64_t>();
        std::memcpy(memory_ + (address - kMemoryBase), values.data(), values.size() * sizeof(T));
        return address;
    }
    template <class T>
    std::vector<T> get(std::uint64_t address, std::size_t count) const {
        std::vector<T> values(count);
        std::memcpy(values.data(), memory_ + (address - kMemoryBase), count * sizeof(T));
        return values;
    }
    template <class Request>
    Answer call(BlasKind kind, const Request& request, const std::string& first = "", const std::string& second = "", bool only_check = false) {
        BlasHeader header;
        header.kind = kind;
        header.only_check = only_check;
        std::strcpy(header.name, "routine");
        Writer content;
        content.put(header).put(request);
        if (kind == BlasKind::map || kind == BlasKind::reduce) content.put_text(first);
        if (kind == BlasKind::reduce) content.put_text(second);
        return ask(Call::blas, content);
    }

    static constexpr std::size_t kMapped = std::size_t{1} << 30;
    sim::Hardware hardware_;
    TimingModel model_;
    VirtualGpu gpu_;
    char* memory_ = nullptr;
};

/// Small whole numbers, whose sums are exact in every order.
std::vector<float> whole_numbers(std::size_t count) {
    std::vector<float> values;
    for (std::size_t i = 0; i < count; ++i) values.push_back(static_cast<float>(static_cast<int>(i * 7 % 11) - 5));
    return values;
}

TEST_CASE_METHOD(BlasCalls, "BLAS: a product of columns with a bias and C") {
    const std::uint32_t m = 19, n = 12, k = 23, lda = 31, ldb = 26, ldc = 21;
    const std::vector<float> a = whole_numbers(lda * k), b = whole_numbers(ldb * k), c = whole_numbers(ldc * n), bias = whole_numbers(m);
    ProductRequest request;
    request.m = m;
    request.n = n;
    request.k = k;
    request.a = {put(a), 0, lda, 0, Number::f32, 0};
    request.b = {put(b), 0, ldb, 0, Number::f32, 1};
    request.c = request.d = {put(c), 0, ldc, 0, Number::f32, 0};
    request.alpha.value = 2;
    request.beta.value = -1;
    request.bias = put(bias);
    REQUIRE(call(BlasKind::product, request).status == Status::success);
    const std::vector<float> d = get<float>(request.d.address, c.size());
    for (std::uint32_t j = 0; j < n; ++j) {
        for (std::uint32_t i = 0; i < ldc; ++i) {
            float wanted = c[i + j * ldc];
            if (i < m) {
                wanted = bias[i] - wanted;
                for (std::uint32_t p = 0; p < k; ++p) wanted += 2 * a[i + p * lda] * b[j + p * ldb];
            }
            CHECK(d[i + j * ldc] == wanted);
        }
    }
}

TEST_CASE_METHOD(BlasCalls, "BLAS: a batch whose entries lie anywhere") {
    const std::uint32_t size = 16, batch = 4, each = size * size;
    const std::vector<float> a = whole_numbers(each * batch);
    const std::uint64_t from = put(a), to = put(std::vector<float>(each * batch));
    // Entries 0 and 1 lie one after the other; 3 and 2 backwards.
    std::vector<std::uint64_t> places;
    for (const std::uint32_t place : {0u, 1u, 3u, 2u}) places.push_back(place * each * sizeof(float));
    std::vector<std::uint64_t> as, ds;
    for (const std::uint64_t place : places) {
        as.push_back(from + place);
        ds.push_back(to + place);
    }
    ProductRequest request;
    request.m = request.n = request.k = size;
    request.batch = batch;
    request.a = request.b = {0, put(as), size, 0, Number::f32, 0};
    request.c = request.d = {0, put(ds), size, 0, Number::f32, 0};
    request.beta.value = 0;
    REQUIRE(call(BlasKind::product, request).status == Status::success);
    const std::vector<float> d = get<float>(to, each * batch);
    for (std::uint32_t e = 0; e < batch; ++e) {
        for (std::uint32_t j = 0; j < size; ++j) {
            for (std::uint32_t i = 0; i < size; ++i) {
                float wanted = 0;
                for (std::uint32_t p = 0; p < size; ++p) wanted += a[e * each + i + p * size] * a[e * each + p + j * size];
                REQUIRE(d[e * each + i + j * size] == wanted);
            }
        }
    }
}

TEST_CASE_METHOD(BlasCalls, "BLAS: a map goes backwards and keeps to its part of the matrix") {
    const std::vector<float> x = whole_numbers(40), y(100, 1000.0f);
    MapRequest request;
    request.rows = request.columns = 10;
    request.part = Part::strictly_upper;
    request.outputs = request.inputs = request.factors = 1;
    request.output[0] = {put(y), 1, 10, 0, Number::f32};
    request.input[0] = {put(x) + 39 * sizeof(float), -2, -1, 0, Number::f32};
    request.factor[0].address = put(std::vector<double>{4});
    request.factor[0].type = Number::f64;
    REQUIRE(call(BlasKind::map, request, "y0 = s0 * x0").status == Status::success);
    const std::vector<float> got = get<float>(request.output[0].address, 100);
    for (int j = 0; j < 10; ++j)
        for (int i = 0; i < 10; ++i) CHECK(got[i + j * 10] == (i < j ? 4 * x[39 - 2 * i - j] : 1000.0f));
}

TEST_CASE_METHOD(BlasCalls, "BLAS: a sum is divided among thread blocks") {
    const std::uint32_t n = 100'003;
    const std::vector<float> x = whole_numbers(n);
    double sum = 0;
    for (const float value : x) sum += std::abs(value);
    ReduceRequest request;
    request.extent = n;
    request.inputs = 1;
    request.input[0] = {put(x), 0, 1, 0, Number::f32};
    request.output = {put(std::vector<float>{3}), 0, 0, 0, Number::f32};
    request.factors = 2;
    request.factor[0].value = 2;
    request.factor[1].value = 10;
    REQUIRE(call(BlasKind::reduce, request, "y0 = abs(x0)", "y0 = s0 * x0 + s1 * x1").status == Status::success);
    CHECK(get<float>(request.output.address, 1)[0] == static_cast<float>(2 * sum + 30));
}

TEST_CASE_METHOD(BlasCalls, "BLAS: the position is that of the first of equal values") {
    std::vector<float> x(5000, 1.0f);
    x[700] = x[1300] = -9;
    ReduceRequest request;
    request.extent = 5000;
    request.position = 1;
    request.inputs = 1;
    request.input[0] = {put(x), 0, 1, 0, Number::f32};
    request.output = {put(std::vector<std::int32_t>{0}), 0, 0, 0, Number::i32};
    REQUIRE(call(BlasKind::reduce, request, "y0 = abs(x0)").status == Status::success);
    CHECK(get<std::int32_t>(request.output.address, 1)[0] == 701);
}

TEST_CASE_METHOD(BlasCalls, "BLAS: a triangular system") {
    // L of ones: the solution is the differences of b.
    const std::uint32_t order = 300;
    const std::vector<double> l(std::size_t{order} * order, 1.0);
    std::vector<double> b;
    for (std::uint32_t i = 0; i < order; ++i) b.push_back(i * i);
    SolveRequest request;
    request.order = order;
    request.sides = 1;
    request.l = {put(l), 1, order, 0, Number::f64};
    request.x = {put(b), 1, order, 0, Number::f64};
    REQUIRE(call(BlasKind::solve, request).status == Status::success);
    const std::vector<double> x = get<double>(request.x.address, order);
    for (std::uint32_t i = 1; i < order; ++i) REQUIRE(x[i] == b[i] - b[i - 1]);
}

TEST_CASE_METHOD(BlasCalls, "BLAS: what no kernel does is refused by name") {
    ProductRequest request;
    request.m = request.n = request.k = 16;
    request.a = {kMemoryBase, 0, 16, 0, Number::bf16, 0};
    request.b = {kMemoryBase, 0, 16, 0, Number::f32, 0};
    request.c = request.d = {kMemoryBase, 0, 16, 0, Number::f32, 0};
    const Answer answer = call(BlasKind::product, request);
    CHECK(answer.status == Status::not_supported);
    CHECK(answer.message.find("routine: no matmul kernel for two input types") != std::string::npos);
    const Answer asked = call(BlasKind::product, request, "", "", true);
    CHECK(asked.status == Status::not_supported);
    CHECK(asked.message == "");
    request.b.type = Number::bf16;
    CHECK(call(BlasKind::product, request, "", "", true).status == Status::success);
    // A matrix where no memory is: the kernel fails, and so does everything after it.
    request.c = request.d = {0x1234, 0, 16, 0, Number::bf16, 0};
    request.beta.value = 0;
    CHECK(call(BlasKind::product, request).status == Status::illegal_address);
    CHECK(ask(Call::memory_info, Writer().put(std::uint32_t{0})).status == Status::illegal_address);
}

}  // namespace
}  // namespace heddle::driver
