// Memory: allocations of every kind, copies and fills in every form.
#include <algorithm>
#include <cstring>

#include "driver/cuda/array.h"
#include "driver/cuda/per_thread.h"
#include "driver/cuda/state.h"

using namespace heddle::driver;

#define HEDDLE_CALL                                                  \
    const std::lock_guard<std::recursive_mutex> lock(Client::get().mutex); \
    if (const CUresult status = ready(); status != CUDA_SUCCESS) return status

namespace heddle::driver {

std::map<std::uint64_t, Range>& ranges() {
    static auto* const all = new std::map<std::uint64_t, Range>;
    return *all;
}

CUresult release(std::uint64_t address) {
    if (address == 0) return CUDA_SUCCESS;
    if (ranges().erase(address) == 0) return CUDA_ERROR_INVALID_VALUE;
    return Client::get().ask(Call::release, Writer().put(address)).status;
}

namespace {

bool is_device_memory(const void* address) {
    return is_shared(address) && range_of(reinterpret_cast<std::uintptr_t>(address)).kind == MemoryKind::device;
}

CopyKind kind_of(const void* to, const void* from) {
    const bool to_device = is_device_memory(to), from_device = is_device_memory(from);
    if (to_device && from_device)
        return range_of(reinterpret_cast<std::uintptr_t>(to)).device == range_of(reinterpret_cast<std::uintptr_t>(from)).device
                   ? CopyKind::device_to_device
                   : CopyKind::peer;
    if (to_device) return CopyKind::host_to_device;
    return from_device ? CopyKind::device_to_host : CopyKind::host_to_host;
}

std::uint64_t number(const void* address) {
    return reinterpret_cast<std::uintptr_t>(address);
}

}  // namespace

CUresult copy_rows(const Rows& rows, CUstream stream, bool wait) {
    if (rows.width == 0 || rows.height == 0) return CUDA_SUCCESS;
    if (rows.from_pitch == rows.width && rows.to_pitch == rows.width) return copy(rows.to, rows.from, rows.width * rows.height, stream, wait);
    if (Stream& on = stream_of(stream); on.capture != nullptr) {
        CUDA_MEMCPY3D plane{};
        plane.srcMemoryType = plane.dstMemoryType = 4;
        plane.srcDevice = number(rows.from);
        plane.dstDevice = number(rows.to);
        plane.srcPitch = rows.from_pitch;
        plane.dstPitch = rows.to_pitch;
        plane.WidthInBytes = rows.width;
        plane.Height = rows.height;
        plane.Depth = 1;
        submit(stream, 1, nullptr);
        return on.last.front()->set_copy(plane);
    }
    const bool held = holds(stream_of(stream));
    const CUresult submitted = submit(stream, 1, [rows, wait](Stream& on) {
        if (const CUresult status = Client::get().wait_for_order(on); status != CUDA_SUCCESS) return status;
        for (std::size_t y = 0; y < rows.height; ++y) std::memmove(rows.to + y * rows.to_pitch, rows.from + y * rows.from_pitch, rows.width);
        return Client::get().tell(Call::copy, Writer().put(CopyRequest{number(rows.to), number(rows.from), rows.width * rows.height, on.number,
                                                                       kind_of(rows.to, rows.from), 1, wait,
                                                                       (rows.height - 1) * rows.to_pitch + rows.width}));
    });
    return submitted == CUDA_SUCCESS && wait && held ? wait_for_held(&stream_of(stream)) : submitted;
}

CUresult fill(CUdeviceptr to, std::size_t pitch, unsigned value, unsigned bytes, std::size_t width, std::size_t height, CUstream stream) {
    if (width == 0 || height == 0) return CUDA_SUCCESS;
    if (const std::uint64_t registered = registered_address(reinterpret_cast<void*>(to)); registered != 0) to = registered;
    if (!is_shared(reinterpret_cast<void*>(to))) return CUDA_ERROR_INVALID_VALUE;
    if (Stream& on = stream_of(stream); on.capture != nullptr) {
        submit(stream, 2, nullptr);
        return on.last.front()->set_fill({to, pitch, value, bytes, width, height});
    }
    return submit(stream, 2, [=](Stream& on) {
        return Client::get().tell(Call::fill, Writer().put(FillRequest{to, pitch, width, height, value, bytes, on.number}));
    });
}

bool is_shared(const void* address, std::size_t) {
    return number(address) >= kMemoryBase && number(address) < kMemoryBase + kMemoryBytes;
}

Range range_of(std::uint64_t address) {
    auto after = ranges().upper_bound(address);
    if (after == ranges().begin()) return {};
    const Range& range = std::prev(after)->second;
    return address < range.base + range.bytes ? range : Range{};
}

std::uint64_t allocate(std::uint64_t bytes, MemoryKind kind, CUresult& status) {
    const CUdevice device = current_device();
    const Received received = Client::get().ask(Call::allocate, Writer().put(static_cast<std::uint32_t>(device)).put(bytes).put(kind));
    status = received.status;
    if (status != CUDA_SUCCESS) return 0;
    const auto base = received.reader().get<std::uint64_t>();
    ranges()[base] = {base, bytes, kind, device};
    return base;
}

// What both sides reach is copied by the GPU, in the order of its stream; the rest here, when everything before it is done.
CUresult copy(void* to, const void* from, std::size_t bytes, CUstream stream, bool wait) {
    if (bytes == 0) return CUDA_SUCCESS;
    if (to == nullptr || from == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (const std::uint64_t registered = registered_address(to); registered != 0) to = reinterpret_cast<void*>(registered);
    if (const std::uint64_t registered = registered_address(from); registered != 0) from = reinterpret_cast<void*>(registered);
    if (Stream& on = stream_of(stream); on.capture != nullptr) {
        CUDA_MEMCPY3D whole{};
        whole.srcMemoryType = whole.dstMemoryType = 4;
        whole.srcDevice = number(from);
        whole.dstDevice = number(to);
        whole.WidthInBytes = bytes;
        whole.Height = whole.Depth = 1;
        submit(stream, 1, nullptr);
        return on.last.front()->set_copy(whole);
    }
    // What the program may change before a stream goes on is kept until then.
    std::shared_ptr<std::vector<char>> kept;
    const bool held = holds(stream_of(stream));
    if (held && !wait && !is_shared(from)) {
        kept = std::make_shared<std::vector<char>>(static_cast<const char*>(from), static_cast<const char*>(from) + bytes);
        from = kept->data();
    }
    const CUresult submitted = submit(stream, 1, [=](Stream& on) {
        (void)kept;
        CopyRequest request{number(to), number(from), bytes, on.number, kind_of(to, from), 0, wait};
        if (!is_shared(to) || !is_shared(from)) {
            if (const CUresult status = Client::get().wait_for_order(on); status != CUDA_SUCCESS) return status;
            for (const void* end : {static_cast<const void*>(to), from})
                if (const Range range = range_of(number(end)); is_shared(end) && (range.base == 0 || number(end) + bytes > range.base + range.bytes)) {
                    // A variable of a module is no allocation of ours: the server knows its bounds.
                    if (range.base != 0) return CUDA_ERROR_INVALID_VALUE;
                }
            std::memmove(to, from, bytes);
            request.done = 1;
        }
        return Client::get().tell(Call::copy, Writer().put(request));
    });
    // What is copied here is copied now.
    const bool done = !is_shared(to) || !is_shared(from);
    if (submitted != CUDA_SUCCESS || !wait || (done && !held) || stream_of(stream).capture != nullptr) return submitted;
    return Client::get().synchronise(&stream_of(stream));
}

}  // namespace heddle::driver

namespace {
void* pointer(CUdeviceptr address) {
    return reinterpret_cast<void*>(address);
}
CUresult allocate_into(CUdeviceptr* address, std::size_t bytes, MemoryKind kind) {
    CUresult status = CUDA_SUCCESS;
    *address = allocate(bytes, kind, status);
    return status;
}
}  // namespace

HEDDLE_API CUresult cuMemGetInfo_v2(std::size_t* free_bytes, std::size_t* all) {
    HEDDLE_CALL;
    const Received received = Client::get().ask(Call::memory_info, Writer().put(static_cast<std::uint32_t>(current_device())));
    Reader reader = received.reader();
    *free_bytes = reader.get<std::uint64_t>();
    *all = reader.get<std::uint64_t>();
    return received.status;
}
HEDDLE_API CUresult cuMemAlloc_v2(CUdeviceptr* address, std::size_t bytes) {
    HEDDLE_CALL;
    if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
    return allocate_into(address, bytes, MemoryKind::device);
}
HEDDLE_API CUresult cuMemAllocPitch_v2(CUdeviceptr* address, std::size_t* pitch, std::size_t width, std::size_t height, unsigned) {
    HEDDLE_CALL;
    *pitch = (width + 511) / 512 * 512;
    return allocate_into(address, *pitch * height, MemoryKind::device);
}
HEDDLE_API CUresult cuMemFree_v2(CUdeviceptr address) {
    HEDDLE_CALL;
    const CUresult status = Client::get().synchronise();
    return status != CUDA_SUCCESS || is_of_graph(address) ? status : release(address);
}
HEDDLE_API CUresult cuMemAllocManaged(CUdeviceptr* address, std::size_t bytes, unsigned) {
    HEDDLE_CALL;
    return allocate_into(address, bytes, MemoryKind::managed);
}
HEDDLE_API CUresult cuMemHostAlloc(void** address, std::size_t bytes, unsigned) {
    HEDDLE_CALL;
    CUdeviceptr at = 0;
    const CUresult status = allocate_into(&at, bytes == 0 ? 1 : bytes, MemoryKind::host);
    *address = pointer(at);
    return status;
}
HEDDLE_API CUresult cuMemAllocHost_v2(void** address, std::size_t bytes) { return cuMemHostAlloc(address, bytes, 0); }
HEDDLE_API CUresult cuMemFreeHost(void* address) { return cuMemFree_v2(number(address)); }
HEDDLE_API CUresult cuMemGetAddressRange_v2(CUdeviceptr* base, std::size_t* bytes, CUdeviceptr address) {
    HEDDLE_CALL;
    const Range range = range_of(address);
    if (range.base == 0) return CUDA_ERROR_NOT_FOUND;
    if (base != nullptr) *base = range.base;
    if (bytes != nullptr) *bytes = range.bytes;
    return CUDA_SUCCESS;
}

// Pools: memory that is freed in stream order is free when all is done before, which is soon enough here.
struct Pool {
    CUdevice device;
    std::uint64_t threshold = 0;
};
HEDDLE_API CUresult cuDeviceGetDefaultMemPool(Pool** pool, CUdevice device) {
    static auto* const pools = new std::map<CUdevice, Pool>;
    *pool = &pools->emplace(device, Pool{device}).first->second;
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuDeviceGetMemPool(Pool** pool, CUdevice device) { return cuDeviceGetDefaultMemPool(pool, device); }
HEDDLE_API CUresult cuDeviceSetMemPool(CUdevice, Pool*) { return CUDA_SUCCESS; }
HEDDLE_API CUresult cuMemPoolCreate(Pool** pool, const void*) {
    *pool = new Pool{current_device()};
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuMemPoolDestroy(Pool* pool) {
    delete pool;
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuMemPoolSetAttribute(Pool* pool, int attribute, void* value) {
    if (attribute == 4) std::memcpy(&pool->threshold, value, sizeof pool->threshold);
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuMemPoolGetAttribute(Pool* pool, int attribute, void* value) {
    if (attribute >= 4) {
        std::memcpy(value, &pool->threshold, sizeof pool->threshold);
    } else {
        const int yes = 1;
        std::memcpy(value, &yes, sizeof yes);
    }
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuMemPoolTrimTo(Pool*, std::size_t) { return CUDA_SUCCESS; }
HEDDLE_API CUresult cuMemPoolSetAccess(Pool*, const void*, std::size_t) { return CUDA_SUCCESS; }
HEDDLE_API CUresult cuMemPoolGetAccess(unsigned* flags, Pool*, const CUmemLocation*) {
    *flags = 3;  // all devices read and write it
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuMemGetDefaultMemPool(Pool** pool, const CUmemLocation* location, int type) {
    if (location == nullptr || location->type != 1 || type != 1) return missing("cuMemGetDefaultMemPool of anything but memory of a device");
    return cuDeviceGetDefaultMemPool(pool, location->id);
}
HEDDLE_API CUresult cuMemGetMemPool(Pool** pool, const CUmemLocation* location, int type) { return cuMemGetDefaultMemPool(pool, location, type); }
HEDDLE_API CUresult cuMemAllocAsync(CUdeviceptr* address, std::size_t bytes, CUstream stream) {
    HEDDLE_CALL;
    Stream& on = stream_of(stream);
    return on.capture != nullptr ? capture_allocation(on, bytes, address) : cuMemAlloc_v2(address, bytes);
}
HEDDLE_API CUresult cuMemAllocFromPoolAsync(CUdeviceptr* address, std::size_t bytes, Pool*, CUstream stream) { return cuMemAllocAsync(address, bytes, stream); }
HEDDLE_API CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream) {
    HEDDLE_CALL;
    if (Stream& on = stream_of(stream); on.capture != nullptr) return capture_release(on, address);
    if (is_of_graph(address)) return CUDA_SUCCESS;  // the graph allocates it again when it is launched again
    return submit(stream, 5, [address](Stream&) { return release(address); });
}

HEDDLE_API CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, std::size_t bytes) {
    HEDDLE_CALL;
    return copy(pointer(to), pointer(from), bytes, nullptr, true);
}
HEDDLE_API CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
    HEDDLE_CALL;
    return copy(pointer(to), pointer(from), bytes, stream, false);
}
HEDDLE_API CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void* from, std::size_t bytes) { return cuMemcpy(to, number(from), bytes); }
HEDDLE_API CUresult cuMemcpyDtoH_v2(void* to, CUdeviceptr from, std::size_t bytes) { return cuMemcpy(number(to), from, bytes); }
HEDDLE_API CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, std::size_t bytes) { return cuMemcpyAsync(to, from, bytes, nullptr); }
HEDDLE_API CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, std::size_t bytes, CUstream stream) { return cuMemcpyAsync(to, number(from), bytes, stream); }
HEDDLE_API CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, std::size_t bytes, CUstream stream) { return cuMemcpyAsync(number(to), from, bytes, stream); }
HEDDLE_API CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream) { return cuMemcpyAsync(to, from, bytes, stream); }
HEDDLE_API CUresult cuMemcpyPeer(CUdeviceptr to, CUcontext, CUdeviceptr from, CUcontext, std::size_t bytes) { return cuMemcpy(to, from, bytes); }
HEDDLE_API CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext, CUdeviceptr from, CUcontext, std::size_t bytes, CUstream stream) { return cuMemcpyAsync(to, from, bytes, stream); }
// The attributes say when sources may be read, for which the order of the stream is enough.
HEDDLE_API CUresult cuMemcpyBatchAsync_v2(const CUdeviceptr* to, const CUdeviceptr* from, const std::size_t* bytes, std::size_t count, void*, std::size_t*, std::size_t, CUstream stream) {
    HEDDLE_CALL;
    for (std::size_t i = 0; i < count; ++i)
        if (const CUresult status = copy(pointer(to[i]), pointer(from[i]), bytes[i], stream, false); status != CUDA_SUCCESS) return status;
    return CUDA_SUCCESS;
}
namespace {
CUresult copy_2d(const CUDA_MEMCPY2D* c, CUstream stream, bool wait) {
    HEDDLE_CALL;
    CUDA_MEMCPY2D resolved = *c;
    if (const CUresult status = resolve_arrays(resolved); status != CUDA_SUCCESS) return status;
    c = &resolved;
    const char* from = c->srcMemoryType == 1 ? static_cast<const char*>(c->srcHost) : static_cast<const char*>(pointer(c->srcDevice));
    char* to = c->dstMemoryType == 1 ? static_cast<char*>(c->dstHost) : static_cast<char*>(pointer(c->dstDevice));
    const std::size_t from_pitch = c->srcPitch != 0 ? c->srcPitch : c->WidthInBytes, to_pitch = c->dstPitch != 0 ? c->dstPitch : c->WidthInBytes;
    return copy_rows({from + c->srcY * from_pitch + c->srcXInBytes, to + c->dstY * to_pitch + c->dstXInBytes, from_pitch, to_pitch, c->WidthInBytes, c->Height}, stream, wait);
}
}  // namespace
HEDDLE_API CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D* c) { return copy_2d(c, nullptr, true); }
HEDDLE_API CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D* c) { return copy_2d(c, nullptr, true); }
HEDDLE_API CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D* c, CUstream stream) { return copy_2d(c, stream, false); }

#define HEDDLE_FILLS(BITS, TYPE)                                                                                                                    \
    HEDDLE_API CUresult cuMemsetD##BITS##_v2(CUdeviceptr to, TYPE value, std::size_t count) {                                                       \
        HEDDLE_CALL;                                                                                                                                \
        return fill(to, 0, value, sizeof(TYPE), count, 1, nullptr);                                                                                 \
    }                                                                                                                                               \
    HEDDLE_API CUresult cuMemsetD##BITS##Async(CUdeviceptr to, TYPE value, std::size_t count, CUstream stream) {                                    \
        HEDDLE_CALL;                                                                                                                                \
        return fill(to, 0, value, sizeof(TYPE), count, 1, stream);                                                                                  \
    }                                                                                                                                               \
    HEDDLE_API CUresult cuMemsetD2D##BITS##_v2(CUdeviceptr to, std::size_t pitch, TYPE value, std::size_t width, std::size_t height) {              \
        HEDDLE_CALL;                                                                                                                                \
        return fill(to, pitch, value, sizeof(TYPE), width, height, nullptr);                                                                        \
    }                                                                                                                                               \
    HEDDLE_API CUresult cuMemsetD2D##BITS##Async(CUdeviceptr to, std::size_t pitch, TYPE value, std::size_t width, std::size_t height, CUstream stream) { \
        HEDDLE_CALL;                                                                                                                                \
        return fill(to, pitch, value, sizeof(TYPE), width, height, stream);                                                                         \
    }
HEDDLE_FILLS(8, unsigned char)
HEDDLE_FILLS(16, unsigned short)
HEDDLE_FILLS(32, unsigned)

HEDDLE_API CUresult cuTensorMapEncodeTiled(void* map, unsigned type, unsigned rank, void* address, const std::uint64_t* sizes, const std::uint64_t* strides,
                                           const std::uint32_t* box, const std::uint32_t* steps, unsigned interleave, unsigned swizzle, unsigned promotion, unsigned fill_with) {
    HEDDLE_CALL;
    if (map == nullptr || rank == 0 || rank > 5) return CUDA_ERROR_INVALID_VALUE;
    Writer content;
    content.put(type).put(rank).put(number(address)).put(interleave).put(swizzle).put(promotion).put(fill_with);
    for (unsigned i = 0; i < rank; ++i) content.put(sizes[i]).put(i + 1 < rank ? strides[i] : std::uint64_t{0}).put(box[i]).put(steps[i]);
    const Received received = Client::get().ask(Call::tensor_map, content);
    if (received.status == CUDA_SUCCESS) std::memcpy(map, received.content.data(), 128);
    return received.status;
}

// Also for the default streams of threads.
HEDDLE_PER_THREAD(cuMemAllocAsync, _ptsz)
HEDDLE_PER_THREAD(cuMemAllocFromPoolAsync, _ptsz)
HEDDLE_PER_THREAD(cuMemFreeAsync, _ptsz)
HEDDLE_PER_THREAD(cuMemcpy, _ptds)
HEDDLE_PER_THREAD(cuMemcpy2DAsync_v2, _ptsz)
HEDDLE_PER_THREAD(cuMemcpy2DUnaligned_v2, _ptds)
HEDDLE_PER_THREAD(cuMemcpy2D_v2, _ptds)
HEDDLE_PER_THREAD(cuMemcpyAsync, _ptsz)
HEDDLE_PER_THREAD(cuMemcpyBatchAsync_v2, _ptsz)
HEDDLE_PER_THREAD(cuMemcpyDtoDAsync_v2, _ptsz)
HEDDLE_PER_THREAD(cuMemcpyDtoD_v2, _ptds)
HEDDLE_PER_THREAD(cuMemcpyDtoHAsync_v2, _ptsz)
HEDDLE_PER_THREAD(cuMemcpyDtoH_v2, _ptds)
HEDDLE_PER_THREAD(cuMemcpyHtoDAsync_v2, _ptsz)
HEDDLE_PER_THREAD(cuMemcpyHtoD_v2, _ptds)
HEDDLE_PER_THREAD(cuMemcpyPeer, _ptds)
HEDDLE_PER_THREAD(cuMemcpyPeerAsync, _ptsz)
HEDDLE_PER_THREAD(cuMemsetD16Async, _ptsz)
HEDDLE_PER_THREAD(cuMemsetD16_v2, _ptds)
HEDDLE_PER_THREAD(cuMemsetD2D16Async, _ptsz)
HEDDLE_PER_THREAD(cuMemsetD2D16_v2, _ptds)
HEDDLE_PER_THREAD(cuMemsetD2D32Async, _ptsz)
HEDDLE_PER_THREAD(cuMemsetD2D32_v2, _ptds)
HEDDLE_PER_THREAD(cuMemsetD2D8Async, _ptsz)
HEDDLE_PER_THREAD(cuMemsetD2D8_v2, _ptds)
HEDDLE_PER_THREAD(cuMemsetD32Async, _ptsz)
HEDDLE_PER_THREAD(cuMemsetD32_v2, _ptds)
HEDDLE_PER_THREAD(cuMemsetD8Async, _ptsz)
HEDDLE_PER_THREAD(cuMemsetD8_v2, _ptds)
