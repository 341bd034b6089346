// The simulator as a device: values against host arithmetic, time against `heddle kernel` and the hardware
// file.
#include "sim/gpu/gpu_machine.h"
#include "validation/capture/simulator/simulator_device.h"

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <fstream>
#include <sstream>

#include "isa/ptx/tensor_map.h"
#include "sim/hardware/load_hardware.h"
#include "sim/kernel/launch_file.h"
#include "sim/kernel/run.h"

using namespace heddle;
using namespace heddle::capture;

namespace {

const std::string kSaxpyFolder = HEDDLE_SOURCE_DIR "/examples/kernels/saxpy/";

std::string file_text(const std::string& path) {
    std::ifstream stream(path);
    std::stringstream text;
    text << stream.rdbuf();
    return text.str();
}

template <typename T>
DeviceBuffer upload(Device& device, const std::vector<T>& values) {
    return DeviceBuffer(device, std::as_bytes(std::span(values)));
}

template <typename T>
std::vector<T> download(const DeviceBuffer& buffer) {
    const std::vector<std::byte> bytes = buffer.read();
    std::vector<T> values(bytes.size() / sizeof(T));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
}

std::string failure_of(const std::function<void()>& action) {
    try {
        action();
    } catch (const DeviceError& error) {
        return error.what();
    }
    return "(no error)";
}

Launch saxpy_launch(KernelHandle kernel, std::uint32_t count, const DeviceBuffer& x, const DeviceBuffer& y) {
    Launch launch;
    launch.kernel = kernel;
    launch.grid = {(count + 255) / 256, 1, 1};
    launch.block = {256, 1, 1};
    launch.parameters = {parameter(count), parameter(2.5f), parameter(x.address()), parameter(y.address())};
    return launch;
}

/// One thread times `links` dependent fused multiply-adds by %clock64.
std::string ffma_chain(unsigned links) {
    std::string text = R"(.version 7.0
.target sm_70
.address_size 64
.visible .entry chain(.param .u64 out) {
    .reg .b64 %rd<4>;
    .reg .f32 %f<3>;
    ld.param.u64 %rd0, [out];
    mov.f32 %f0, 0f3F800000;
    mov.f32 %f1, 0f3F000000;
    mov.u64 %rd1, %clock64;
)";
    for (unsigned i = 0; i < links; ++i) text += "    fma.rn.f32 %f0, %f0, %f1, %f1;\n";
    return text + R"(    mov.u64 %rd2, %clock64;
    sub.u64 %rd3, %rd2, %rd1;
    st.global.u64 [%rd0], %rd3;
    st.global.f32 [%rd0+8], %f0;
    ret;
}
)";
}

std::uint64_t chain_cycles(Device& device, unsigned links) {
    const DeviceBuffer out(device, 16);
    Launch launch;
    launch.kernel = device.load(ffma_chain(links), "chain");
    launch.parameters = {parameter(out.address())};
    device.launch(launch);
    CHECK(download<float>(out)[2] == 1.0f);  // 0.5 * 1 + 0.5, again and again
    return download<std::uint64_t>(out)[0];
}

/// Seconds that `heddle kernel` reports for a launch file, in a process of its own: SystemC elaborates once.
double reported_seconds(const std::string& path) {
    int ends[2] = {0, 0};
    REQUIRE(pipe(ends) == 0);
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        double seconds = -1;
        try {
            kernel::RunOptions options;
            options.device = sim::gpu_config(sim::load_hardware("h100-sxm"));
            seconds = kernel::run(kernel::read_launch_file(path), options).launches.front().timing.seconds;
        } catch (...) {
        }
        const bool written = write(ends[1], &seconds, sizeof seconds) == sizeof seconds;
        _exit(written ? 0 : 1);
    }
    double seconds = 0;
    REQUIRE(read(ends[0], &seconds, sizeof seconds) == sizeof seconds);
    close(ends[0]);
    close(ends[1]);
    waitpid(child, nullptr, 0);
    return seconds;
}

}  // namespace

TEST_CASE("the simulator says that it is no silicon") {
    const auto device = make_simulator_device();
    CHECK_FALSE(device->is_silicon());
    CHECK(device->compute_capability() == 90);
    CHECK(device->sm_count() == 132);
    CHECK(device->l2_bytes() == 50u << 20);
    CHECK(device->describe().json().find("\"silicon\":false") != std::string::npos);
    CHECK(device->telemetry().empty());
    CHECK_THROWS_WITH(make_simulator_device("tpu-v4"), Catch::Contains("tpu"));
    CHECK_THROWS_WITH(make_simulator_device("h100-smx"), Catch::Contains("h100-sxm"));
}

TEST_CASE("a kernel on the simulator gives the bits of host arithmetic") {
    const auto device = make_simulator_device();
    std::vector<float> x(5000), y(5000);
    for (std::size_t i = 0; i < x.size(); ++i) {
        x[i] = std::sin(static_cast<float>(i));
        y[i] = std::cos(static_cast<float>(3 * i));
    }
    const DeviceBuffer device_x = upload(*device, x), device_y = upload(*device, y);
    const KernelHandle kernel = device->load(file_text(kSaxpyFolder + "saxpy.ptx"), "saxpy");
    device->launch(saxpy_launch(kernel, 5000, device_x, device_y));
    device->synchronise();
    const std::vector<float> result = download<float>(device_y);
    for (std::size_t i = 0; i < x.size(); ++i) REQUIRE(result[i] == std::fma(2.5f, x[i], y[i]));
    CHECK(download<float>(device_x) == x);
    CHECK(device->attributes(kernel).registers_per_thread >= 8);
    CHECK(device->attributes(kernel).maximum_threads == 1024);
}

TEST_CASE("memory of the simulator is undefined until it is written, and is given back") {
    const auto device = make_simulator_device();
    const std::uint64_t free = device->free_bytes();
    {
        const DeviceBuffer buffer(*device, 1000);
        CHECK(buffer.address() % 256 == 0);
        CHECK(free - device->free_bytes() >= 1000);
        CHECK(std::isnan(download<float>(buffer)[7]));
        device->fill(buffer.address() + 4, 0x11, 4);
        CHECK(download<std::uint32_t>(buffer)[1] == 0x11111111u);
        CHECK(download<std::uint32_t>(buffer)[2] == 0xffffffffu);
        CHECK_THROWS_AS(device->fill(buffer.address() + 998, 0, 4), DeviceError);
        std::vector<std::byte> much(2000);
        CHECK_THROWS_AS(device->read(buffer.address(), much), DeviceError);
    }
    CHECK(device->free_bytes() == free);
    CHECK_THAT(failure_of([&] { device->allocate(free + 1); }), Catch::Contains("out of device memory"));
}

TEST_CASE("what a driver refuses the simulator refuses with the reason") {
    const auto device = make_simulator_device();
    const std::string saxpy = file_text(kSaxpyFolder + "saxpy.ptx");
    const auto load = [&](const std::string& text, const std::string& entry) {
        return failure_of([&] { device->load(text, entry); });
    };
    std::string wrong = ffma_chain(1);
    wrong.replace(wrong.find("fma.rn.f32"), 10, "fma.up.f32");
    CHECK_THAT(load(wrong, "chain"), Catch::Contains("chain.ptx:11") && Catch::Contains("fma"));
    CHECK_THAT(load(saxpy, "daxpy"), Catch::Contains("no kernel daxpy"));
    std::string newer = ffma_chain(1);
    newer.replace(newer.find("sm_70"), 5, "sm_100");
    CHECK_THAT(load(newer, "chain"), Catch::Contains("sm_100") && Catch::Contains("sm_90"));

    const DeviceBuffer buffer(*device, 400);
    Launch launch = saxpy_launch(device->load(saxpy, "saxpy"), 100, buffer, buffer);
    const auto failure = [&] { return failure_of([&] { device->launch(launch); }); };
    launch.block = {2048, 1, 1};
    CHECK_THAT(failure(), Catch::Contains("2048 threads"));
    launch.block = {256, 1, 1};
    launch.dynamic_shared_bytes = 228 << 10;
    CHECK_THAT(failure(), Catch::Contains("shared memory"));
    launch.dynamic_shared_bytes = 0;
    launch.cluster = {32, 1, 1};
    CHECK_THAT(failure(), Catch::Contains("clusters of 32"));
    launch.cluster = {1, 1, 1};
    launch.parameters[0] = parameter(std::uint32_t{101});  // one element beyond the end
    CHECK_THAT(failure(), Catch::Contains("out of bounds"));
    launch.parameters.pop_back();
    CHECK(failure() != "(no error)");
}

TEST_CASE("time is that of heddle kernel, and shorter when the operands lie in L2") {
    // The launch of the file: buffers at the same addresses, none of them in L2.
    const double reported = reported_seconds(kSaxpyFolder + "launch.yaml") * 1e6;
    REQUIRE(reported > 0);
    const auto device = make_simulator_device();
    const std::vector<float> values(5000, 1.0f);
    const DeviceBuffer x = upload(*device, values), y = upload(*device, values);
    const Launch launch =
        saxpy_launch(device->load(file_text(kSaxpyFolder + "saxpy.ptx"), "saxpy"), 5000, x, y);
    const auto time = [&](bool cold, unsigned launches = 1) {
        TimingOptions options;
        options.cold_l2 = cold;
        options.repetitions = 3;
        return device->time(
            [&] {
                for (unsigned i = 0; i < launches; ++i) device->launch(launch);
            },
            options);
    };
    const double cold = time(true).front(), warm = time(false).front();
    // A graph's node begins sooner after the one before than a kernel of the stream.
    const auto config = sim::gpu_config(sim::load_hardware("h100-sxm"));
    CHECK(cold ==
          Approx(reported - 1e6 * (config.launch.before - config.launch.graph_before)).epsilon(1e-12));
    CHECK(warm < cold);
    CHECK(time(true) == std::vector<double>(3, cold));  // nothing varies
    // The second launch finds what the first one left.
    CHECK(time(true, 2).front() == Approx(cold + warm));
    CHECK(time(false, 2).front() == Approx(2 * warm));
    // Seven launches, each carried out once, have added 2.5.
    CHECK(download<float>(y).front() == 1 + 7 * 2.5f);
}

TEST_CASE("a kernel that reads the clock sees the cycles of the hardware file") {
    const auto device = make_simulator_device();
    const unsigned latency =
        sim::gpu_config(sim::load_hardware("h100-sxm")).pipelines[heddle::ptx::Operation::fp32].latency;
    REQUIRE(latency == 4);
    const std::uint64_t shorter = chain_cycles(*device, 64), longer = chain_cycles(*device, 192);
    CHECK(longer - shorter == 128 * latency);
    CHECK(shorter >= 63 * latency);  // the second reading does not wait for the last sum
    CHECK(shorter < 64 * latency + 40);
}

TEST_CASE("the global timer counts nanoseconds") {
    const auto device = make_simulator_device();
    const auto elapsed = [&](const std::string& text) {
        const DeviceBuffer out(*device, 16);
        Launch launch;
        launch.kernel = device->load(text, "chain");
        launch.parameters = {parameter(out.address())};
        device->launch(launch);
        return static_cast<double>(download<std::uint64_t>(out)[0]);
    };
    const std::string cycles = ffma_chain(2000);
    std::string nanoseconds = cycles;
    for (std::size_t at = nanoseconds.find("%clock64"); at != std::string::npos;
         at = nanoseconds.find("%clock64"))
        nanoseconds.replace(at, 8, "%globaltimer");
    const double clock = sim::gpu_config(sim::load_hardware("h100-sxm")).clock;
    CHECK(elapsed(cycles) >= 8000);  // 2000 dependent sums of four cycles, and the misses of so long a code
    CHECK(elapsed(nanoseconds) == Approx(elapsed(cycles) / clock * 1e9).margin(20));
}

TEST_CASE("tensor maps are made from the driver's numbers") {
    const auto device = make_simulator_device();
    const DeviceBuffer buffer(*device, 1 << 16);
    TensorMapDescription description;
    description.data_type = 6;  // CU_TENSOR_MAP_DATA_TYPE_FLOAT16
    description.address = buffer.address();
    description.sizes = {128, 64};
    description.strides = {256};
    description.box = {64, 32};
    description.swizzle = 3;       // CU_TENSOR_MAP_SWIZZLE_128B
    description.l2_promotion = 2;  // CU_TENSOR_MAP_L2_PROMOTION_L2_128B
    const ptx::TensorMap map = ptx::TensorMap::decode(device->encode_tensor_map(description));
    CHECK(map.type == ptx::TensorMapType::float16);
    CHECK(map.rank == 2);
    CHECK(map.address == buffer.address());
    CHECK((map.sizes[0] == 128 && map.sizes[1] == 64 && map.strides[0] == 256));
    CHECK(map.box_bytes() == 64 * 32 * 2);
    CHECK(map.swizzle == ptx::TensorMapSwizzle::bytes_128);
    CHECK(map.promotion == ptx::TensorMapPromotion::bytes_128);
    description.box = {512, 1};  // the driver allows 256
    CHECK_THROWS_AS(device->encode_tensor_map(description), DeviceError);
    description.box = {64, 32};
    description.swizzle = 300;
    CHECK_THROWS_AS(device->encode_tensor_map(description), DeviceError);
}

TEST_CASE("a process holds the model of one GPU") {
    const auto hopper = make_simulator_device(), ampere = make_simulator_device("a100-sxm");
    chain_cycles(*hopper, 16);
    chain_cycles(*make_simulator_device(), 16);  // the same hardware again
    const DeviceBuffer out(*ampere, 16);
    Launch launch;
    launch.kernel = ampere->load(ffma_chain(16), "chain");
    launch.parameters = {parameter(out.address())};
    CHECK_THAT(failure_of([&] { ampere->launch(launch); }), Catch::Contains("another GPU"));
    // Values need no model.
    const DeviceBuffer x = upload(*ampere, std::vector<float>(256, 1.0f)),
                       y = upload(*ampere, std::vector<float>(256, 1.0f));
    ampere->launch(saxpy_launch(ampere->load(file_text(kSaxpyFolder + "saxpy.ptx"), "saxpy"), 256, x, y));
    CHECK(download<float>(y).back() == 3.5f);
}
