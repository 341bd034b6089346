// What the stand-ins for vendors' libraries (driver/cublas, ...) ask of the driver beside its public interface.
#include <unistd.h>

#include <cstring>
#include <vector>

#include "driver/cuda/state.h"
#include "driver/protocol/blas.h"

using namespace heddle::driver;

/// Carries out a call of a BLAS library in a stream, or keeps it in the graph that the stream is being captured into. `bytes`: a
/// BlasHeader and what follows it; the stream's number is filled in here.
HEDDLE_API CUresult heddle_library_call(CUstream stream, const void* bytes, std::size_t count) {
    const std::lock_guard<std::recursive_mutex> lock(Client::get().mutex);
    if (const CUresult status = ready(); status != CUDA_SUCCESS) return status;
    const auto* const first = static_cast<const char*>(bytes);
    return submit(stream, 0, [content = std::vector<char>(first, first + count)](Stream& on) mutable {
        std::memcpy(content.data() + offsetof(BlasHeader, stream), &on.number, sizeof on.number);
        return Client::get().ask(Call::blas, Writer().put_bytes(content.data(), content.size())).status;
    });
}

/// A range that the program marked: 0 begins one within those of its thread, 1 ends that; 2 begins one that ends, by its id, with 3.
HEDDLE_API CUresult heddle_range(unsigned action, std::uint64_t id, const char* name) {
    const std::lock_guard<std::recursive_mutex> lock(Client::get().mutex);
    if (const CUresult status = ready(); status != CUDA_SUCCESS) return status;
    return Client::get().tell(Call::range, Writer().put(action).put(id).put(static_cast<std::uint32_t>(gettid())).put_text(name));
}
