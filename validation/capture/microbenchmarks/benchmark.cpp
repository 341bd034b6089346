#include "validation/capture/microbenchmarks/benchmark.h"

namespace heddle::capture {

std::vector<Benchmark> microbenchmarks() {
    std::vector<Benchmark> list;
    add_launch_benchmarks(list);
    add_memory_latency_benchmarks(list);
    add_bandwidth_benchmarks(list);
    add_instruction_benchmarks(list);
    add_tensor_benchmarks(list);
    add_warpgroup_benchmarks(list);
    add_line_latency_benchmarks(list);
    add_asynchronous_benchmarks(list);
    add_bulk_latency_benchmarks(list);
    add_atomic_benchmarks(list);
    add_cluster_benchmarks(list);
    add_cache_policy_benchmarks(list);
    return list;
}

}  // namespace heddle::capture
