// A memory of one's own behind the L2 of a GPU of Heddle's, in a program of one's own: every access takes a
// latency that the program chooses. One thread follows pointers through that memory, and the program says how
// long a load takes. Longer memory must show in full, nanosecond for nanosecond: that is checked at the end.
//
//   own_memory [NAME or file of a GPU]      h100-sxm when left out
#include <tlm_utils/simple_target_socket.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "isa/common/error.h"
#include "isa/ptx/execution.h"
#include "isa/ptx/global_memory.h"
#include "isa/ptx/parser.h"
#include "models/gpu/gpu.h"
#include "models/memory/dram_plugin.h"
#include "sim/gpu/gpu_machine.h"
#include "sim/hardware/load_hardware.h"

namespace {

/// The model: any number of accesses at once, each after the same time. models/memory/dram_plugin.h says what
/// is asked of it; examples/dram-model has one that also limits the bandwidth.
class DistantMemory : public heddle::DramModel {
  public:
    explicit DistantMemory(unsigned channels) {
        for (unsigned i = 0; i < channels; ++i) {
            sockets_.push_back(std::make_unique<Socket>(("distant_memory_" + std::to_string(i)).c_str()));
            sockets_.back()->register_b_transport(this, &DistantMemory::transport);
        }
    }
    tlm::tlm_target_socket<>& socket(unsigned channel) override { return *sockets_[channel]; }
    /// Between runs.
    void set_latency(double nanoseconds) { latency_ = sc_core::sc_time(nanoseconds, sc_core::SC_NS); }

  private:
    using Socket = tlm_utils::simple_target_socket<DistantMemory>;
    void transport(tlm::tlm_generic_payload& transaction, sc_core::sc_time& delay) {
        delay += latency_;
        transaction.set_response_status(tlm::TLM_OK_RESPONSE);
    }

    std::vector<std::unique_ptr<Socket>> sockets_;
    sc_core::sc_time latency_;
};

/// p0: the first pointer; p1: how many to follow; p2: where the last one goes.
const char* const kChase = R"(
.version 8.0
.target sm_80
.address_size 64
.visible .entry chase(.param .u64 p0, .param .u64 p1, .param .u64 p2)
{
    .reg .b64 %rd<4>;
    .reg .pred %p<2>;
    ld.param.u64 %rd0, [p0];
    ld.param.u64 %rd1, [p1];
    ld.param.u64 %rd2, [p2];
loop:
    ld.global.cg.u64 %rd0, [%rd0];
    add.s64 %rd1, %rd1, -1;
    setp.ne.s64 %p1, %rd1, 0;
    @%p1 bra loop;
    st.global.u64 [%rd2], %rd0;
    ret;
}
)";

constexpr unsigned kPointers = 1024;
constexpr std::uint64_t kStride = 16384;  // every load is the first of its line

std::vector<std::byte> bytes_of(std::uint64_t value) {
    std::vector<std::byte> bytes(sizeof value);
    std::memcpy(bytes.data(), &value, sizeof value);
    return bytes;
}

/// The GPU, its memory and the pointers in it.
class Experiment {
  public:
    explicit Experiment(const std::string& hardware)
        : config_(with_distant_memory(hardware)),
          gpu_("gpu", config_),
          kernel_(heddle::ptx::parse_shared(kChase, "chase.ptx"), "chase", 0,
                  heddle::ptx::Assembly::as_written) {
        ring_ = memory_.allocate("pointers", kPointers * kStride, true);
        last_ = memory_.allocate("last", 8, true);
        for (unsigned i = 0; i < kPointers; ++i)
            memory_.write(ring_ + i * kStride, bytes_of(ring_ + (i + 1) % kPointers * kStride));
    }

    /// Nanoseconds of one load, by two runs of different length.
    double load_time(double latency) {
        constexpr std::uint64_t kFew = 100, kMany = 900;
        distant_->set_latency(latency);
        const double cycles = static_cast<double>(cycles_of(kMany)) - static_cast<double>(cycles_of(kFew));
        return cycles / (kMany - kFew) / config_.clock * 1e9;
    }

  private:
    heddle::models::gpu::GpuConfig with_distant_memory(const std::string& hardware) {
        heddle::models::gpu::GpuConfig config = heddle::sim::gpu_config(heddle::sim::load_hardware(hardware));
        config.hbm.make_model = [this](const char*, const heddle::DramModelSettings& settings) {
            distant_ = std::make_shared<DistantMemory>(settings.channels);
            return distant_;
        };
        return config;
    }

    std::uint64_t cycles_of(std::uint64_t loads) {
        heddle::ptx::LaunchContext launch;
        launch.kernel = &kernel_;
        launch.memory = &memory_;
        launch.mode = heddle::ptx::Mode::functional;
        const std::vector<std::vector<std::byte>> values{bytes_of(ring_), bytes_of(loads), bytes_of(last_)};
        launch.parameters = heddle::ptx::pack_parameters(kernel_, values);
        return gpu_.run(launch).cycles;
    }

    std::shared_ptr<DistantMemory> distant_;  // made by the GPU
    heddle::models::gpu::GpuConfig config_;
    heddle::models::gpu::Gpu gpu_;
    heddle::ptx::LoadedKernel kernel_;
    heddle::ptx::GlobalMemory memory_;
    std::uint64_t ring_ = 0, last_ = 0;
};

}  // namespace

int main(int argument_count, char** arguments) {
    setenv("SYSTEMC_DISABLE_COPYRIGHT_MESSAGE", "1", 1);
    try {
        Experiment experiment(argument_count > 1 ? arguments[1] : "h100-sxm");
        std::printf("memory's latency   a load takes\n");
        const double first = experiment.load_time(100);
        bool exact = true;
        for (const double latency : {100.0, 200.0, 400.0}) {
            const double time = experiment.load_time(latency);
            std::printf("%10.0f ns   %10.1f ns\n", latency, time);
            exact = exact && std::abs(time - first - (latency - 100)) < 1;  // a cycle is half a nanosecond
        }
        if (!exact) std::fprintf(stderr, "own_memory: the memory's latency does not show in full\n");
        return exact ? 0 : 1;
    } catch (const heddle::Error& error) {
        std::fprintf(stderr, "own_memory: %s\n", error.what());
        return 2;
    }
}
