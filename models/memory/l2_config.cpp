#include "models/memory/l2_config.h"

namespace heddle::models {

void describe(L2Config& c, ParameterList& list) {
    list.add("l2.size", c.bytes, Quantity::bytes, 1 << 16, 1ull << 33, "Capacity of all slices.");
    list.add("l2.slices", c.slices, Quantity::count, 1, 512, "Slices; lines divide among them by hash.");
    list.add("l2.ways", c.ways, Quantity::count, 1, 16, "Associativity of a slice.");
    list.add(
        "l2.interleave", c.interleave_bytes, Quantity::bytes, 128, 65536,
        "Consecutive bytes that lie in one slice, and in one row of a bank of its memory; a power of two.");
    list.add("l2.bytes_per_cycle", c.bytes_per_cycle, Quantity::per_cycle, 1, 1024,
             "Effective data rate of one slice.");
    list.add("l2.write_cost", c.write_cost, Quantity::count, 1, 16,
             "Time of the data array for a sector written, by that for one read.");
    list.add("l2.latency", c.latency, Quantity::cycles, 1, 10000,
             "From arrival at the slice to the response leaving it, hit.");
    list.add("l2.miss_latency", c.miss_latency, Quantity::cycles, 1, 10000,
             "From arrival at the slice to the read leaving for memory, or for the line's home.");
    list.add("l2.fill_latency", c.fill_latency, Quantity::cycles, 1, 10000,
             "From the arrival of data from memory, or from the line's home, to the response leaving.");
    list.add("l2.mshrs", c.mshrs, Quantity::count, 1, 1024,
             "Lines of one slice that may wait for memory, and as many that may wait for another partition.");
    list.add("l2.write_backs", c.write_backs, Quantity::count, 1, 65536,
             "Evicted lines of one slice that may be on their way to memory.");
    list.add(
        "l2.partitions", c.partitions, Quantity::count, 1, 8,
        "Partitions; GPCs and slices divide among them. A partition keeps copies of lines of the others.");
    list.add("l2.link_latency", c.link_latency, Quantity::cycles, 1, 10000,
             "One way between two partitions.");
    list.add("l2.link_bytes_per_cycle", c.link_bytes_per_cycle, Quantity::per_cycle, 1, 1024,
             "Data that one slice sends to, or receives from, another partition.");
    list.add("l2.atomic_interval", c.atomic_interval, Quantity::cycles, 0, 1000,
             "Cycles per atomic operation on one word.");
    list.add("l2.persisting", c.persisting, Quantity::ratio, 0, 1,
             "Part of a set that lines with eviction policy evict_last may take.");
    list.add_text("l2.model", c.model,
                  "Shared library with a TLM-2.0 model that takes the place of the slices "
                  "(models/memory/l2_plugin.h); a path, relative to the file that names it.");
}

void describe(CrossbarConfig& c, ParameterList& list) {
    list.add("crossbar.latency", c.latency, Quantity::cycles, 2, 10000,
             "One way between an SM and an L2 slice of its partition.");
    list.add("crossbar.gpc_latency", c.gpc_latency, Quantity::cycles, 1, 10000,
             "The part of crossbar.latency between an SM and the port of its GPC.");
    list.add("crossbar.request_bytes", c.request_bytes, Quantity::per_cycle, 1, 1024,
             "Store data that one SM sends per cycle.");
    list.add("crossbar.response_bytes", c.response_bytes, Quantity::per_cycle, 1, 1024,
             "Data that one SM's L1 receives per cycle; bulk copies take load_store.wavefront_bytes.");
    list.add("crossbar.gpc_request_bytes", c.gpc_request_bytes, Quantity::per_cycle, 32, 65536,
             "Store data that the SMs of a GPC send per cycle together; a load counts as 32 bytes.");
    list.add("crossbar.gpc_response_bytes", c.gpc_response_bytes, Quantity::per_cycle, 32, 65536,
             "Data that the SMs of a GPC receive per cycle together.");
    list.add("crossbar.coalescer", c.coalescer, Quantity::count, 0, 65536,
             "Lines on their way to a GPC that its other SMs may join; 0: every SM asks L2 itself.");
}

}  // namespace heddle::models
