#include "workloads/lowering/tpu/common_memory.h"

#include <algorithm>
#include <map>
#include <optional>

namespace heddle::lowering {
namespace {

constexpr std::uint64_t kCommonMemoryAlignment = 1024;  // with the gap behind each tensor

struct Life {
    std::uint64_t storage = 0, bytes = 0;
    std::size_t first = 0;  ///< op that writes it first
    std::optional<std::size_t> last_read;
    bool external = false;  ///< read before it is written
};

std::vector<Life> lives_of(const trace::Trace& trace) {
    std::vector<Life> lives;
    std::map<std::uint64_t, std::size_t> known;
    const auto life = [&](trace::TensorId id, std::size_t op) -> Life& {
        const trace::Tensor& tensor = trace.tensor(id);
        const std::uint64_t storage = common_memory_storage(tensor, id);
        const auto [found, added] = known.try_emplace(storage, lives.size());
        if (added) {
            lives.push_back({storage, 0, op, std::nullopt, false});
        }
        Life& one = lives[found->second];
        // As wide as the device may keep it.
        one.bytes = std::max(one.bytes, static_cast<std::uint64_t>(tensor.elements()) *
                                            std::max(trace::bytes_of(tensor.type), 1u));
        return one;
    };
    for (std::size_t op = 0; op < trace.ops.size(); ++op) {
        for (const trace::TensorId id : trace.ops[op].inputs) {
            const std::size_t before = lives.size();
            Life& one = life(id, op);
            if (lives.size() > before) one.external = true;
            one.last_read = op;
        }
        for (const trace::TensorId id : trace.ops[op].outputs) life(id, op);
    }
    return lives;
}

}  // namespace

std::set<std::uint64_t> common_memory_storages(const trace::Trace& trace, std::uint64_t bytes) {
    std::set<std::uint64_t> chosen;
    if (bytes == 0) return chosen;
    std::multimap<std::size_t, std::uint64_t> ends;  // last reader -> bytes
    std::uint64_t used = 0;
    for (const Life& life : lives_of(trace)) {  // in the order of their first use
        if (life.external || !life.last_read || *life.last_read <= life.first) continue;
        while (!ends.empty() && ends.begin()->first < life.first) {
            used -= ends.begin()->second;
            ends.erase(ends.begin());
        }
        const std::uint64_t size = (life.bytes + 2 * kCommonMemoryAlignment - 1) / kCommonMemoryAlignment * kCommonMemoryAlignment;
        if (used + size > bytes) continue;
        used += size;
        ends.emplace(*life.last_read, size);
        chosen.insert(life.storage);
    }
    return chosen;
}

}  // namespace heddle::lowering
