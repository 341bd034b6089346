#include "sim/distributed/device_network.h"

#include <array>

#include "isa/common/error.h"

namespace heddle::sim {
namespace {

constexpr std::array<const char*, 8> kNames{"all_reduce", "all_gather", "reduce_scatter", "all_to_all",
                                            "broadcast",  "shift",      "send",           "push"};

}  // namespace

std::string name_of(Exchange kind) {
    return kNames[static_cast<std::size_t>(kind)];
}

Exchange exchange_from_name(const std::string& name) {
    for (std::size_t i = 0; i < kNames.size(); ++i)
        if (name == kNames[i]) return static_cast<Exchange>(i);
    throw Error("there is no collective `" + name + "`", {}, "all_reduce, all_gather, reduce_scatter, ...");
}

double bytes_sent(Exchange kind, double bytes, double n) {
    switch (kind) {
        case Exchange::all_reduce:
            return 2 * (n - 1) / n * bytes;
        case Exchange::send:
        case Exchange::shift:
        case Exchange::broadcast:
            return bytes;
        case Exchange::push:
            return 2 * bytes;
        default:
            return (n - 1) / n * bytes;
    }
}

}  // namespace heddle::sim
