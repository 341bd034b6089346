// Launches of small kernels with mbarriers and copies: functional, and in timing mode with buffers that hold
// no values; both must take the same steps.
#pragma once

#include <catch2/catch.hpp>
#include <functional>

#include "compare_modes.h"
#include "isa/common/error.h"
#include "isa/ptx/tensor_map.h"
#include "launch.h"

namespace heddle::ptx::test {

/// The kernel `test(out, in, map)` for sm_90a. Registers: predicates %p %q %r, 32 bits %t (the thread) %v %w
/// %n %m %x %y %b, 16 bits %h, 64 bits %out %in %a %s %map. `%b` is the address of `box`, 4096 bytes of
/// shared memory at a multiple of 1024, `bar` is 8 mbarriers.
inline std::string async_kernel(const std::string& body, const std::string& globals = "") {
    return ".version 9.0\n.target sm_90a\n.address_size 64\n.shared .align 1024 .b8 box[32768];\n"
           ".shared .align 8 .b64 bar[8];\n" +
           globals +
           "\n.visible .entry test(.param .u64 out, .param .u64 in, .param .align 64 .b8 map[128])\n{\n"
           ".reg .pred %p, %q, %r; .reg .b32 %t, %v, %w, %n, %m, %x, %y, %b; .reg .b16 %h;\n"
           ".reg .b64 %out, %in, %a, %s, %map;\n"
           "ld.param.u64 %out, [out]; ld.param.u64 %in, [in]; mov.b64 %map, map; cvta.param.u64 %map, %map;\n"
           "mov.u32 %t, %tid.x; mov.b32 %b, box;\n" +
           body + "\nret;\n}\n";
}

/// Thread t stores %v at out[t].
inline const std::string kStoreV = "mad.wide.u32 %a, %t, 4, %out; st.global.b32 [%a], %v;\n";
/// Thread 0 makes bar[0] for one arrival; all see it.
inline const std::string kInitialize =
    "setp.eq.u32 %p, %t, 0; @%p mbarrier.init.shared::cta.b64 [bar], 1; @%p "
    "fence.mbarrier_init.release.cluster;\n"
    "bar.sync 0;\n";
/// All wait for the first phase of bar[0].
inline const std::string kWait =
    "wait: mbarrier.try_wait.parity.shared::cta.b64 %q, [bar], 0; @!%q bra wait;\n";

struct AsyncOutcome {
    std::vector<std::byte> out;
    std::uint64_t steps = 0;  ///< warp instructions
    std::string error;
    template <class T>
    T at(std::size_t index) const {
        T value{};
        if ((index + 1) * sizeof(T) <= out.size())  // there is nothing after an error
            std::memcpy(&value, out.data() + index * sizeof(T), sizeof(T));
        return value;
    }
};

struct AsyncRun {
    unsigned threads = 32, ctas = 1, cluster = 1;
    std::vector<std::byte> in = std::vector<std::byte>(4096);
    std::vector<std::byte> out = std::vector<std::byte>(4096);  ///< before
    bool steers = false;                                        ///< `in` has values in timing mode
    /// Makes the map, given the address of `in` and of `out`.
    std::function<TensorMap(std::uint64_t, std::uint64_t)> map;
    std::string globals;

    AsyncOutcome run(const std::string& body) const {
        AsyncOutcome outcome;
        try {
            const Program program(async_kernel(body, globals), "test");
            Device functional, timing;
            LaunchContext launch = make(program, functional, Mode::functional);
            CheckLog log;
            launch.check = &log;
            outcome.steps = run_functionally(launch);
            CHECK((log.findings().empty() ? "" : log.findings()[0].text) == "");
            CHECK(run_functionally(make(program, timing, Mode::timing)) == outcome.steps);
            outcome.out = functional.download<std::byte>(out_address(functional), out.size());
            if (ctas == 1) {
                Device a, b;
                CHECK(compare_modes(make(program, a, Mode::functional), make(program, b, Mode::timing))
                          .differences == 0);
            }
        } catch (const Error& error) {
            outcome.error = error.what();
        }
        return outcome;
    }

  private:
    static std::uint64_t out_address(const Device& device) { return device.memory.allocations()[1].base; }
    LaunchContext make(const Program& program, Device& device, Mode mode) const {
        const bool values = mode == Mode::functional;
        const std::uint64_t from = device.upload("in", in, values || steers);
        const std::uint64_t to = device.upload("out", out, values);
        std::vector<std::byte> bytes(kTensorMapBytes);
        if (map) {
            const auto encoded = map(from, to).encode();
            bytes.assign(encoded.begin(), encoded.end());
        }
        LaunchContext launch =
            program.launch(device, {ctas}, {threads}, {argument(to), argument(from), bytes}, mode);
        launch.cluster = {cluster};
        return launch;
    }
};

template <class T>
std::vector<std::byte> bytes_from(const std::vector<T>& values) {
    std::vector<std::byte> bytes(values.size() * sizeof(T));
    std::memcpy(bytes.data(), values.data(), bytes.size());
    return bytes;
}

}  // namespace heddle::ptx::test
