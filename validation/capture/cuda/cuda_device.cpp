#include "validation/capture/cuda/cuda_device.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

#include "isa/common/error.h"
#include "validation/capture/cuda/cublaslt_blas.h"
#include "validation/capture/cuda/cuda_context.h"
#include "validation/capture/cuda/cuda_timing.h"
#include "validation/capture/cuda/nvml.h"

namespace heddle::capture {
namespace {

constexpr std::uint32_t kDefaultSharedBytes = 48u << 10;
constexpr std::uint32_t kPortableClusterSize = 8;
constexpr std::uint32_t kFlushThreads = 256;

struct Kernel {
    CUfunction function = nullptr;
    std::uint32_t shared_limit = 0;  ///< dynamic bytes asked for so far
    bool large_clusters = false;
};

/// Reads `count` vectors of 16 bytes; the sum goes nowhere, but the compiler cannot know.
constexpr const char* kFlushPtx = R"(.version 6.0
.target sm_70
.address_size 64
.visible .entry flush(.param .u64 base, .param .u64 count)
{
    .reg .pred %p;
    .reg .b32 %r<12>;
    .reg .b64 %rd<8>;
    ld.param.u64 %rd0, [base];
    ld.param.u64 %rd1, [count];
    mov.u32 %r0, %ctaid.x;
    mov.u32 %r1, %ntid.x;
    mov.u32 %r2, %tid.x;
    mad.lo.u32 %r3, %r0, %r1, %r2;
    cvt.u64.u32 %rd2, %r3;
    mov.u32 %r4, %nctaid.x;
    mul.lo.u32 %r5, %r4, %r1;
    cvt.u64.u32 %rd3, %r5;
    mov.u32 %r6, 0;
LOOP:
    setp.ge.u64 %p, %rd2, %rd1;
    @%p bra DONE;
    shl.b64 %rd4, %rd2, 4;
    add.u64 %rd5, %rd0, %rd4;
    ld.global.v4.u32 {%r7, %r8, %r9, %r10}, [%rd5];
    or.b32 %r6, %r6, %r7;
    or.b32 %r6, %r6, %r8;
    or.b32 %r6, %r6, %r9;
    or.b32 %r6, %r6, %r10;
    add.u64 %rd2, %rd2, %rd3;
    bra LOOP;
DONE:
    setp.ne.u32 %p, %r6, 1;
    @%p bra END;
    st.global.u32 [%rd0], %r6;
END:
    ret;
}
)";

constexpr const char* kEmptyPtx = R"(.version 6.0
.target sm_70
.address_size 64
.visible .entry empty()
{
    ret;
}
)";

std::string dimensions(const Extent3& extent) {
    return std::to_string(extent[0]) + "x" + std::to_string(extent[1]) + "x" + std::to_string(extent[2]);
}

class CudaDevice : public Device {
  public:
    explicit CudaDevice(unsigned ordinal) : context_(ordinal), api_(context_.api()), nvml_(pci_bus_id()) {
        try {
            blas_ = std::make_unique<CublasLtBlas>(context_);
        } catch (const DeviceError& error) {
            if (error.lost) throw;
            blas_error_ = error.what();
        }
        overhead_ = timing_overhead();
    }

    /// The tests put a virtual driver in the real one's place; what it gives must not pass for silicon.
    bool is_silicon() const override { return name().find("not silicon") == std::string::npos; }
    unsigned compute_capability() const override {
        return attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) * 10 +
               attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    }
    unsigned sm_count() const override { return attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT); }
    std::uint64_t l2_bytes() const override { return attribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE); }
    std::uint64_t free_bytes() const override {
        std::size_t free = 0, total = 0;
        context_.check(api_.cuMemGetInfo(&free, &total), "cuMemGetInfo");
        return free;
    }
    Record describe() const override;
    Record telemetry() const override { return nvml_.telemetry(); }

    Address allocate(std::uint64_t bytes) override {
        context_.require_alive();
        CUdeviceptr address = 0;
        context_.check(api_.cuMemAlloc(&address, std::max<std::uint64_t>(bytes, 256)),
                       [&] { return "cuMemAlloc(" + std::to_string(bytes) + " bytes)"; });
        return address;
    }
    void release(Address address) override {
        // The driver would wait by itself, but for ever.
        context_.wait();
        context_.check(api_.cuMemFree(address), "cuMemFree");
    }
    void write(Address to, std::span<const std::byte> bytes) override {
        if (bytes.empty()) return;
        context_.wait();
        context_.check(api_.cuMemcpyHtoDAsync(to, bytes.data(), bytes.size(), context_.stream()),
                       [&] { return "cuMemcpyHtoDAsync(" + std::to_string(bytes.size()) + " bytes)"; });
        context_.wait();
    }
    void read(Address from, std::span<std::byte> bytes) override {
        context_.wait();
        if (bytes.empty()) return;
        context_.check(api_.cuMemcpyDtoHAsync(bytes.data(), from, bytes.size(), context_.stream()),
                       [&] { return "cuMemcpyDtoHAsync(" + std::to_string(bytes.size()) + " bytes)"; });
        context_.wait();
    }
    void fill(Address to, std::uint8_t value, std::uint64_t bytes) override {
        context_.require_alive();
        if (bytes == 0) return;
        context_.check(api_.cuMemsetD8Async(to, value, bytes, context_.stream()),
                       [&] { return "cuMemsetD8Async(" + std::to_string(bytes) + " bytes)"; });
    }

    KernelHandle load(const std::string& ptx, const std::string& entry) override;
    KernelAttributes attributes(KernelHandle kernel) const override;
    void launch(const Launch& launch) override;
    void synchronise() override { context_.wait(); }
    std::array<std::byte, 128> encode_tensor_map(const TensorMapDescription& map) override;
    std::vector<double> time(const std::function<void()>& enqueue, const TimingOptions& options) override {
        if (options.cold_l2) prepare_flush();
        return time_on(context_, enqueue, options, [this] { launch(*flush_); });
    }
    Blas* blas() override { return blas_.get(); }

  private:
    unsigned attribute(CUdevice_attribute attribute) const {
        return static_cast<unsigned>(context_.attribute(attribute));
    }
    std::string name() const {
        char text[256] = {};
        context_.check(api_.cuDeviceGetName(text, sizeof text - 1, context_.device()), "cuDeviceGetName");
        return text;
    }
    std::string pci_bus_id() const {
        char text[32] = {};
        if (api_.cuDeviceGetPCIBusId == nullptr ||
            api_.cuDeviceGetPCIBusId(text, sizeof text - 1, context_.device()) != CUDA_SUCCESS)
            return {};
        return text;
    }
    CUmodule compile(const std::string& ptx, const std::string& entry) const;
    void allow(Kernel& kernel, const Launch& launch) const;
    void prepare_flush();
    double timing_overhead();

    CudaContext context_;
    const DriverApi& api_;
    Nvml nvml_;
    std::unique_ptr<CublasLtBlas> blas_;
    std::string blas_error_;
    double overhead_ = 0;
    std::vector<Kernel> kernels_;
    std::map<std::pair<std::string, std::string>, KernelHandle> loaded_;  ///< by text and entry
    std::optional<Launch> flush_;
};

Record CudaDevice::describe() const {
    std::size_t memory = 0;
    context_.check(api_.cuDeviceTotalMem(&memory, context_.device()), "cuDeviceTotalMem");
    int driver = 0;
    context_.check(api_.cuDriverGetVersion(&driver), "cuDriverGetVersion");
    Record record;
    record.text("name", name()).integer("compute_capability", compute_capability());
    const std::string installed = nvml_.driver_version();
    record.text("driver_version", installed.empty() ? "unknown" : installed);
    record.text("cuda_driver", std::to_string(driver / 1000) + "." + std::to_string(driver % 1000 / 10));
    record.integer("cuda_headers", CUDA_VERSION);
    if (blas_ != nullptr)
        record.text("cublaslt_version", blas_->version());
    else
        record.text("cublaslt_error", blas_error_);
    record.integer("memory_bytes", static_cast<std::int64_t>(memory));
    static constexpr std::pair<const char*, CUdevice_attribute> kAttributes[] = {
        {"sm_count", CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT},
        {"l2_bytes", CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE},
        {"persisting_l2_bytes", CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE},
        {"sm_clock_khz", CU_DEVICE_ATTRIBUTE_CLOCK_RATE},
        {"memory_clock_khz", CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE},
        {"memory_bus_bits", CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH},
        {"shared_bytes_per_sm", CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR},
        {"shared_bytes_per_block", CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN},
        {"registers_per_sm", CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR},
        {"threads_per_sm", CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR},
        {"blocks_per_sm", CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR},
        {"ecc", CU_DEVICE_ATTRIBUTE_ECC_ENABLED},
        {"cluster_launch", CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH},
        {"compute_mode", CU_DEVICE_ATTRIBUTE_COMPUTE_MODE}};
    for (const auto& [key, which] : kAttributes) {
        int value = 0;  // one that this driver does not know is left out
        if (api_.cuDeviceGetAttribute(&value, which, context_.device()) == CUDA_SUCCESS)
            record.integer(key, value);
    }
    record.number("timing_overhead_us", overhead_);
    return record;
}

CUmodule CudaDevice::compile(const std::string& ptx, const std::string& entry) const {
    std::vector<char> errors(16384, '\0');
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void* values[] = {errors.data(), reinterpret_cast<void*>(errors.size() - 1)};
    CUmodule module = nullptr;
    const CUresult status = api_.cuModuleLoadDataEx(&module, ptx.c_str(), 2, options, values);
    context_.check(status, [&] {
        const std::string log(errors.data());
        return "cuModuleLoadDataEx of kernel `" + entry + "`" + (log.empty() ? "" : ": " + log);
    });
    return module;
}

KernelHandle CudaDevice::load(const std::string& ptx, const std::string& entry) {
    context_.require_alive();
    const auto key = std::make_pair(ptx, entry);
    if (const auto known = loaded_.find(key); known != loaded_.end()) return known->second;
    CUmodule module = compile(ptx, entry);
    Kernel kernel;
    context_.check(api_.cuModuleGetFunction(&kernel.function, module, entry.c_str()),
                   [&] { return "cuModuleGetFunction(" + entry + ")"; });
    kernels_.push_back(kernel);
    const auto handle = static_cast<KernelHandle>(kernels_.size() - 1);
    loaded_.emplace(key, handle);
    return handle;
}

KernelAttributes CudaDevice::attributes(KernelHandle kernel) const {
    const auto get = [&](CUfunction_attribute attribute) {
        int value = 0;
        context_.check(api_.cuFuncGetAttribute(&value, attribute, kernels_.at(kernel).function),
                       "cuFuncGetAttribute");
        return static_cast<unsigned>(value);
    };
    return {get(CU_FUNC_ATTRIBUTE_NUM_REGS), get(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES),
            get(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES), get(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)};
}

void CudaDevice::allow(Kernel& kernel, const Launch& launch) const {
    const auto set = [&](CUfunction_attribute attribute, std::uint32_t value, const char* name) {
        context_.check(api_.cuFuncSetAttribute(kernel.function, attribute, static_cast<int>(value)), [&] {
            return std::string("cuFuncSetAttribute(") + name + ", " + std::to_string(value) + ")";
        });
    };
    const std::uint32_t wanted = launch.dynamic_shared_bytes;
    if (wanted > kernel.shared_limit) {
        // Static memory counts towards the 48 KiB too.
        const std::uint32_t fixed = attributes(launch.kernel).static_shared_bytes;
        if (wanted + fixed > kDefaultSharedBytes)
            set(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, wanted, "MAX_DYNAMIC_SHARED_SIZE_BYTES");
        kernel.shared_limit = wanted;
    }
    const std::uint32_t ctas = launch.cluster[0] * launch.cluster[1] * launch.cluster[2];
    if (ctas > kPortableClusterSize && !kernel.large_clusters) {
        set(CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1, "NON_PORTABLE_CLUSTER_SIZE_ALLOWED");
        kernel.large_clusters = true;
    }
}

void CudaDevice::launch(const Launch& launch) {
    context_.require_alive();
    Kernel& kernel = kernels_.at(launch.kernel);
    allow(kernel, launch);
    std::vector<void*> parameters;
    for (const ParameterBytes& bytes : launch.parameters)
        parameters.push_back(const_cast<std::byte*>(bytes.data()));
    CUlaunchAttribute cluster{};
    cluster.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    cluster.value.clusterDim.x = launch.cluster[0];
    cluster.value.clusterDim.y = launch.cluster[1];
    cluster.value.clusterDim.z = launch.cluster[2];
    CUlaunchConfig config{};
    config.gridDimX = launch.grid[0], config.gridDimY = launch.grid[1], config.gridDimZ = launch.grid[2];
    config.blockDimX = launch.block[0], config.blockDimY = launch.block[1],
    config.blockDimZ = launch.block[2];
    config.sharedMemBytes = launch.dynamic_shared_bytes;
    config.hStream = context_.stream();
    if (launch.cluster[0] * launch.cluster[1] * launch.cluster[2] > 1) {
        config.attrs = &cluster;
        config.numAttrs = 1;
    }
    context_.check(api_.cuLaunchKernelEx(&config, kernel.function, parameters.data(), nullptr), [&] {
        return "cuLaunchKernelEx(grid " + dimensions(launch.grid) + ", block " + dimensions(launch.block) +
               ", cluster " + dimensions(launch.cluster) + ", " +
               std::to_string(launch.dynamic_shared_bytes) + " bytes of dynamic shared memory)";
    });
}

std::array<std::byte, 128> CudaDevice::encode_tensor_map(const TensorMapDescription& map) {
    CUtensorMap encoded;  // cuda.h aligns it to 64 bytes
    static_assert(sizeof encoded == 128);
    const CUresult status = api_.cuTensorMapEncodeTiled(
        &encoded, static_cast<CUtensorMapDataType>(map.data_type), map.rank,
        reinterpret_cast<void*>(map.address), map.sizes.data(), map.strides.data(), map.box.data(),
        map.element_strides.data(), static_cast<CUtensorMapInterleave>(map.interleave),
        static_cast<CUtensorMapSwizzle>(map.swizzle), static_cast<CUtensorMapL2promotion>(map.l2_promotion),
        static_cast<CUtensorMapFloatOOBfill>(map.fill));
    context_.check(status, [&] {
        std::string text = "cuTensorMapEncodeTiled(type " + std::to_string(map.data_type) + ", swizzle " +
                           std::to_string(map.swizzle) + ", sizes";
        for (unsigned i = 0; i < map.rank && i < map.sizes.size(); ++i)
            text += " " + std::to_string(map.sizes[i]);
        text += ", box";
        for (unsigned i = 0; i < map.rank && i < map.box.size(); ++i)
            text += " " + std::to_string(map.box[i]);
        return text + ")";
    });
    std::array<std::byte, 128> bytes;
    std::memcpy(bytes.data(), &encoded, sizeof encoded);
    return bytes;
}

void CudaDevice::prepare_flush() {
    if (flush_) return;
    const std::uint64_t bytes = std::max<std::uint64_t>(2 * l2_bytes(), 1u << 20);
    Launch flush;
    flush.kernel = load(kFlushPtx, "flush");
    const Address buffer = allocate(bytes);  // kept to the end
    fill(buffer, 0, bytes);
    flush.grid = {sm_count() * 8, 1, 1};
    flush.block = {kFlushThreads, 1, 1};
    flush.parameters = {parameter(buffer), parameter(std::uint64_t{bytes / 16})};
    flush_ = flush;
}

double CudaDevice::timing_overhead() {
    try {
        Launch empty;
        empty.kernel = load(kEmptyPtx, "empty");
        TimingOptions options;
        options.cold_l2 = true;
        std::vector<double> times = time([&] { launch(empty); }, options);
        std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2),
                         times.end());
        return times[times.size() / 2];
    } catch (const DeviceError& error) {
        throw Error(std::string("the GPU cannot run a kernel: ") + error.what(), {},
                    "check the driver with nvidia-smi, and that nobody else uses the GPU");
    }
}

}  // namespace

std::unique_ptr<Device> make_cuda_device(unsigned ordinal) {
    try {
        return std::make_unique<CudaDevice>(ordinal);
    } catch (const DeviceError& error) {
        throw Error(std::string("cuda:") + std::to_string(ordinal) + " cannot be used: " + error.what(), {},
                    "check the driver with nvidia-smi, and that nobody else uses the GPU");
    }
}

}  // namespace heddle::capture
