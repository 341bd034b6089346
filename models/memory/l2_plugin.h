// What a cache or network of your own must offer to stand between the GPCs' ports and memory, in place of
// Heddle's L2.
//
// Give a hardware file `l2.model: path/to/library.so`. The library exports the two C functions at the end of
// this file. It is loaded into the simulator's SystemC kernel before elaboration: link it to the same
// libsystemc and compile it as C++17 or later with SC_CPLUSPLUS=201703L. This header needs nothing but
// SystemC.
//
// Lines lie in slices by hash, chunks of l2.interleave bytes in one; each slice has two sockets of the model.
// Requests of SMs come to its target socket, in the phases of TLM's base protocol (a simple_target_socket
// with b_transport alone will do): one transaction for each 128-byte line, of whole sectors of 32 bytes, with
// an L2Extension. Addresses count the bytes of the slice from 0. Data are not modelled: the data pointer
// leads to scratch memory. What the model lacks it asks of memory through its initiator socket of the slice,
// with such addresses, each transaction within one line: reads, and writes of what it evicts.
//
// Between an SM and its slice lies crossbar.latency, each way; a model that is a network as well wants that
// small. There is one partition.
#pragma once

#include <systemc>
#include <tlm>

namespace heddle {

/// Changes when something below changes.
inline constexpr unsigned kL2PluginVersion = 1;

/// What the hardware file says of L2, for models that want to know. Cycles are those of the device's clock.
struct L2ModelSettings {
    unsigned slices;                               ///< sockets of each kind that will be asked for
    double hertz;                                  ///< of the clock; set_clock() may change it
    unsigned long long bytes;                      ///< l2.size: of all slices
    unsigned ways;                                 ///< l2.ways
    unsigned latency, miss_latency, fill_latency;  ///< l2.latency and so on, cycles
    double bytes_per_cycle;                        ///< l2.bytes_per_cycle: of one slice
    unsigned fill_bytes;                           ///< hbm.burst_bytes: the smallest read of memory
};

/// What TLM has no field for, on each transaction of an SM.
struct L2Extension : tlm::tlm_extension<L2Extension> {
    unsigned sm = 0, gpc = 0;  ///< who asks
    unsigned sectors =
        0;                ///< of the line: bit i is bytes 32 i to 32 i + 31; the address is that of the first
    bool atomic = false;  ///< a write that reads first: performed in the slice
    bool wants_data = false;        ///< an answer carries data: loads, and atomics whose old value is used
    unsigned atomic_conflicts = 0;  ///< operations on the most contended word

    tlm::tlm_extension_base* clone() const override { return new L2Extension(*this); }
    void copy_from(const tlm::tlm_extension_base& other) override {
        *this = static_cast<const L2Extension&>(other);
    }
};

/// A model of L2, or of L2 and the network in front of it, that a shared library offers. Heddle owns it and
/// connects to its sockets.
class L2Model {
  public:
    virtual ~L2Model() = default;
    /// The sockets of slice 0 .. slices - 1; they must live as long as the model.
    virtual tlm::tlm_target_socket<>& requests(unsigned slice) = 0;
    virtual tlm::tlm_initiator_socket<>& memory(unsigned slice) = 0;
    /// Before each kernel: back to the state after construction, so that a kernel's time depends on nothing
    /// before it. No transaction is under way, but after an error.
    virtual void reset() {}
    /// After reset(): kernels before this one have left the line at `address` of the slice there; `dirty`:
    /// memory does not have it.
    virtual void preload(unsigned /*slice*/, unsigned long long /*address*/, bool /*dirty*/) {}
    /// Called between kernels when the clock of the device changes.
    virtual void set_clock(double /*hertz*/) {}
};

}  // namespace heddle

extern "C" {
/// Returns heddle::kL2PluginVersion.
unsigned heddle_l2_version();
/// Makes the model, which may be one sc_module or several. Ownership passes to the caller. `name` is valid
/// during the call.
heddle::L2Model* heddle_make_l2(const char* name, const heddle::L2ModelSettings* settings);
}
