// What a DRAM model of your own must offer to stand behind Heddle's L2 in place of Heddle's DRAM.
//
// Give a hardware file `hbm.model: path/to/library.so`. The library exports the two C functions at the end of
// this file. It is loaded into the simulator's SystemC kernel before elaboration: link it to the same
// libsystemc and compile it as C++17 or later with SC_CPLUSPLUS=201703L. This header needs nothing but
// SystemC.
//
// Each of Heddle's memory channels has an initiator socket that is bound to the model's target socket of the
// same number. A transaction reads or writes whole multiples of 32 bytes within one 128-byte line; addresses
// count the bytes of the channel from 0. Data are not modelled: the data pointer leads to scratch memory.
#pragma once

#include <systemc>
#include <tlm>

namespace heddle {

/// Changes when something below changes.
inline constexpr unsigned kDramPluginVersion = 1;

/// What the hardware file says of the memory; given to the function that makes the model.
struct DramModelSettings {
    unsigned channels;        ///< sockets that will be asked for
    double bytes_per_second;  ///< hbm.bandwidth: of all channels together
    unsigned burst_bytes;     ///< hbm.burst_bytes: the smallest transaction
};

/// A model of DRAM that a shared library offers. Heddle owns it and connects to its sockets.
class DramModel {
  public:
    virtual ~DramModel() = default;
    /// The target socket of channel 0 .. channels - 1; it must live as long as the model.
    virtual tlm::tlm_target_socket<>& socket(unsigned channel) = 0;
    /// True: loosely timed, b_transport() with the transaction's whole time added to its delay; it should not
    /// call wait(), which would keep the next transaction of the channel from beginning. False: non-blocking,
    /// the four phases of TLM's base protocol; early completion is understood.
    virtual bool blocking() const { return true; }
    /// Before each kernel: back to the state after construction, so that a kernel's time depends on nothing
    /// before it. No transaction is under way, but after an error.
    virtual void reset() {}
};

}  // namespace heddle

extern "C" {
/// Returns heddle::kDramPluginVersion.
unsigned heddle_dram_version();
/// Makes the model, which may be one sc_module or several. Ownership passes to the caller. `name` is valid
/// during the call.
heddle::DramModel* heddle_make_dram(const char* name, const heddle::DramModelSettings* settings);
}
