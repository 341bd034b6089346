// The interfaces that blocks of the memory system offer each other through sc_export and call through
// sc_port.
#pragma once

#include <systemc>

#include "models/common/clock_domain.h"
#include "models/memory/memory_request.h"

namespace heddle::models {

/// Accepts requests on their way to memory: an L2 slice, a memory channel.
class RequestInterface : public virtual sc_core::sc_interface {
  public:
    /// `arrival` is at least one cycle after the present one. Ownership passes to the receiver.
    virtual void send(MemoryRequest& request, Cycle arrival) = 0;
};

/// Accepts responses: an SM, a GPC or an L2 slice.
class ResponseInterface : public virtual sc_core::sc_interface {
  public:
    /// Data for a load or an atomic, or the end of a write-back. Ownership passes to the receiver.
    virtual void respond(MemoryRequest& request, Cycle arrival) = 0;
    /// Stores of so many lines (or an atomic without result) are performed in cycle `at`, in the future. The
    /// receiver counts them as performed in that cycle, not in the present one.
    virtual void acknowledge(Cycle at, unsigned lines) = 0;
};

/// The block behind a port, which is found when elaboration ends. Blocks of different groups reach one
/// another through this class.
template <class Interface>
class Peer {
  public:
    Peer() = default;
    explicit Peer(Interface* interface)
        : interface_(interface), block_(dynamic_cast<const Block*>(interface)) {}

    /// RequestInterface::send().
    void send(Block& sender, MemoryRequest& request, Cycle arrival) const {
        if (!sender.clock().apart()) return interface_->send(request, arrival);
        const auto deliver = [](void* receiver, void* what, Cycle at) {
            static_cast<Interface*>(receiver)->send(*static_cast<MemoryRequest*>(what), at);
        };
        sender.post(block_, deliver, interface_, &request, arrival);
    }
    /// ResponseInterface::respond().
    void respond(Block& sender, MemoryRequest& request, Cycle arrival) const {
        if (!sender.clock().apart()) return interface_->respond(request, arrival);
        const auto deliver = [](void* receiver, void* what, Cycle at) {
            static_cast<Interface*>(receiver)->respond(*static_cast<MemoryRequest*>(what), at);
        };
        sender.post(block_, deliver, interface_, &request, arrival);
    }

  private:
    Interface* interface_ = nullptr;
    const Block* block_ = nullptr;
};

}  // namespace heddle::models
