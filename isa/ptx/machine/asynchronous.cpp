#include "isa/ptx/machine/asynchronous.h"

#include "isa/ptx/machine/reduction.h"

namespace heddle::ptx {
namespace {

bool stores_asynchronously(const Instruction& n) {
    return (n.opcode == Opcode::st || n.opcode == Opcode::red) && n.has(Modifier::async);
}

bool fills_in_bulk(const Instruction& n) {
    return n.opcode == Opcode::st && n.has(Modifier::bulk);
}

}  // namespace

bool is_bulk_copy(const Instruction& n) {
    return n.opcode == Opcode::cp && n.has(Modifier::bulk) && !n.has(Modifier::commit_group) &&
           !n.has(Modifier::wait_group);
}

bool is_tensor_copy(const Instruction& n) {
    return is_bulk_copy(n) && n.has(Modifier::tensor);
}

bool is_asynchronous(const Instruction& n) {
    return n.opcode == Opcode::mbarrier || n.opcode == Opcode::tensormap || is_bulk_copy(n) ||
           stores_asynchronously(n) || fills_in_bulk(n) || (n.opcode == Opcode::clusterlaunchcontrol && n.has(Modifier::try_cancel)) ||
           (n.opcode == Opcode::cp && n.has(Modifier::mbarrier));
}

AsyncDetails async_details(const Instruction& n) {
    AsyncDetails details;
    if (n.space != StateSpace::none) details.space = n.space;
    if (n.second_space != StateSpace::none) details.second_space = n.second_space;
    details.type = n.type();
    details.operation = static_cast<std::uint8_t>(reduction_operation(n));
    details.multicast = n.has(Modifier::multicast) || n.has(Modifier::multicast_all);
    details.parity = n.has(Modifier::parity);
    details.pair = n.has(Modifier::cta_group_2);
    details.elements = n.has(Modifier::gather4) || n.has(Modifier::scatter4) ? 4 : n.has(Modifier::v4) ? 4 : n.has(Modifier::v2) ? 2 : 1;
    return details;
}

Handler select_asynchronous(const Instruction& n, bool evaluate) {
    if (!is_asynchronous(n)) return nullptr;
    if (n.opcode == Opcode::tensormap) return select_tensor_map(n, evaluate);
    if (n.opcode == Opcode::clusterlaunchcontrol) return select_launch_control(n);
    if (fills_in_bulk(n)) return select_bulk_fill();
    if (is_tensor_copy(n)) return select_tensor_copy(n, evaluate);
    if (is_bulk_copy(n) || stores_asynchronously(n)) return select_bulk_copy(n, evaluate);
    return select_memory_barrier(n);
}

}  // namespace heddle::ptx
