// Launches, and the attributes of launches, streams and kernel nodes.
#include <algorithm>
#include <cstring>

#include "driver/cuda/launch.h"
#include "driver/cuda/per_thread.h"

using namespace heddle::driver;

#define HEDDLE_CALL                                                  \
    const std::lock_guard<std::recursive_mutex> lock(Client::get().mutex); \
    if (const CUresult status = ready(); status != CUDA_SUCCESS) return status

namespace heddle::driver {

/// Both sides are of one build: a launch travels as it is.
Work work_of(CUfunction function, const Shape& shape, std::vector<std::uint8_t> parameters) {
    return [=, parameters = std::move(parameters)](Stream& on) {
        LaunchRequest request{};
        request.function = function->description.function;
        request.stream = on.number;
        std::copy(std::begin(shape.grid), std::end(shape.grid), request.grid);
        std::copy(std::begin(shape.block), std::end(shape.block), request.block);
        std::copy(std::begin(shape.cluster), std::end(shape.cluster), request.cluster);
        request.shared_bytes = shape.shared_bytes;
        request.cooperative = shape.cooperative;
        request.programmatic = shape.programmatic;
        request.priority = shape.has_priority ? shape.priority : on.priority;
        request.window = shape.window.bytes != 0 ? shape.window : on.window;
        return Client::get().tell(Call::launch, Writer().put(request).put_bytes(parameters.data(), parameters.size()));
    };
}

namespace {

/// Launches since the last answer: errors of a launch come with the next call that waits, at the latest after so many.
unsigned launched = 0;

}  // namespace

CUresult arguments_of(CUfunction function, const Shape& shape, void** given, void** extra, std::vector<std::uint8_t>& parameters) {
    if (function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    const DeviceDescription& device = Client::get().devices()[0];
    std::uint64_t threads = 1;
    for (unsigned i = 0; i < 3; ++i) {
        if (shape.grid[i] == 0 || shape.block[i] == 0 || (i > 0 && shape.grid[i] > 65535)) return CUDA_ERROR_INVALID_VALUE;
        threads *= shape.block[i];
    }
    if (threads > 1024 || shape.block[2] > 64) return CUDA_ERROR_INVALID_VALUE;
    if (threads > function->description.maximum_threads) return 701;  // CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES
    if (static_cast<int>(shape.shared_bytes) > std::max(function->shared_limit, static_cast<int>(device.shared_per_block - function->description.shared_bytes)))
        return CUDA_ERROR_INVALID_VALUE;
    parameters.assign(function->description.parameter_bytes, 0);
    if (extra != nullptr) {
        const void* bytes = nullptr;
        std::size_t count = 0;
        for (; *extra != nullptr; extra += 2) {
            if (reinterpret_cast<std::uintptr_t>(extra[0]) == 1) bytes = extra[1];
            if (reinterpret_cast<std::uintptr_t>(extra[0]) == 2) std::memcpy(&count, extra[1], sizeof count);
        }
        if (bytes != nullptr) std::memcpy(parameters.data(), bytes, std::min(count, parameters.size()));
    } else if (!function->parameters.empty()) {
        if (given == nullptr) return CUDA_ERROR_INVALID_VALUE;
        for (std::size_t i = 0; i < function->parameters.size(); ++i)
            std::memcpy(parameters.data() + function->parameters[i].offset, given[i], function->parameters[i].bytes);
    }
    return CUDA_SUCCESS;
}

CUresult launch(CUfunction function, const Shape& shape, void** given, void** extra, CUstream stream) {
    std::vector<std::uint8_t> parameters;
    if (const CUresult status = arguments_of(function, shape, given, extra, parameters); status != CUDA_SUCCESS) return status;
    if (Stream& on = stream_of(stream); on.capture != nullptr) {
        submit(stream, 0, nullptr);
        return on.last.front()->set_kernel({function, shape, std::move(parameters), {}});
    }
    if (const CUresult status = submit(stream, 0, work_of(function, shape, std::move(parameters))); status != CUDA_SUCCESS) return status;
    // So that a program that never waits does not run ahead without bound.
    if (++launched % 1024 == 0) return Client::get().ask(Call::memory_info, Writer().put(std::uint32_t{0})).status;
    return CUDA_SUCCESS;
}

namespace {

CUresult read_window(const Value& value, AccessWindow& window) {
    const auto& given = value.window;
    if (!(given.hitRatio >= 0 && given.hitRatio <= 1) || given.hitProp > 2 || given.missProp > 1) return CUDA_ERROR_INVALID_VALUE;
    window = {reinterpret_cast<std::uintptr_t>(given.base_ptr), given.num_bytes, given.hitRatio, given.hitProp, given.missProp};
    return CUDA_SUCCESS;
}

void write_window(const AccessWindow& window, Value& value) {
    value.window = {reinterpret_cast<void*>(window.base), window.bytes, window.hit_ratio, window.hit, window.miss};
}

/// What says nothing about time in this model: it is named in the notes of the run.
const char* name_of_hint(unsigned attribute) {
    switch (attribute) {
        case 3: return "a policy of synchronization";
        case 5: return "a policy of placing clusters";
        case 9: case 10: return "domains of memory synchronization";
        case 11: return "a preferred size of clusters";
        case 14: return "a preferred size of shared memory";
        case 16: return "placement by NVLink";
        default: return nullptr;
    }
}

}  // namespace

CUresult set_attribute(Shape& shape, unsigned attribute, const Value& value) {
    switch (attribute) {
        case 0:
            return CUDA_SUCCESS;
        case kAttributeWindow:
            return read_window(value, shape.window);
        case kAttributeCooperative:
            shape.cooperative = value.cooperative != 0;
            return CUDA_SUCCESS;
        case kAttributeCluster:
            std::copy(std::begin(value.cluster), std::end(value.cluster), shape.cluster);
            return CUDA_SUCCESS;
        case kAttributeProgrammatic:
            shape.programmatic = value.programmatic != 0;
            return CUDA_SUCCESS;
        case kAttributePriority:
            shape.has_priority = true;
            shape.priority = value.priority;
            return CUDA_SUCCESS;
        default:
            if (const char* const hint = name_of_hint(attribute); hint != nullptr) return without_effect(hint);
            return missing(("attribute " + std::to_string(attribute) + " of a launch").c_str());
    }
}

CUresult get_attribute(const Shape& shape, unsigned attribute, Value& value) {
    std::memset(&value, 0, sizeof value);
    if (attribute == kAttributeWindow) write_window(shape.window, value);
    if (attribute == kAttributeCooperative) value.cooperative = shape.cooperative;
    if (attribute == kAttributeCluster) std::copy(std::begin(shape.cluster), std::end(shape.cluster), value.cluster);
    if (attribute == kAttributeProgrammatic) value.programmatic = shape.programmatic;
    if (attribute == kAttributePriority) value.priority = shape.priority;
    return CUDA_SUCCESS;
}

}  // namespace heddle::driver

HEDDLE_API CUresult cuLaunchKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, CUstream stream,
                                   void** parameters, void** extra) {
    HEDDLE_CALL;
    Shape shape{{gx, gy, gz}, {bx, by, bz}};
    shape.shared_bytes = shared;
    return launch(function, shape, parameters, extra, stream);
}
HEDDLE_API CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, CUstream stream,
                                              void** parameters) {
    HEDDLE_CALL;
    Shape shape{{gx, gy, gz}, {bx, by, bz}};
    shape.shared_bytes = shared;
    shape.cooperative = true;
    return launch(function, shape, parameters, nullptr, stream);
}
// Events of a launch are recorded when it has ended: also those that a kernel's blocks trigger earlier.
HEDDLE_API CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** parameters, void** extra) {
    HEDDLE_CALL;
    Shape shape{{config->gridDimX, config->gridDimY, config->gridDimZ}, {config->blockDimX, config->blockDimY, config->blockDimZ}};
    shape.shared_bytes = config->sharedMemBytes;
    std::vector<CUevent> events;
    for (unsigned i = 0; i < config->numAttrs; ++i) {
        const CUlaunchAttribute& attribute = config->attrs[i];
        if (attribute.id == kAttributeProgrammaticEvent || attribute.id == kAttributeCompletionEvent)
            events.push_back(attribute.value.event);
        else if (const CUresult status = set_attribute(shape, attribute.id, attribute.value); status != CUDA_SUCCESS)
            return status;
    }
    CUresult status = launch(function, shape, parameters, extra, config->hStream);
    for (const CUevent event : events) {
        if (status == CUDA_SUCCESS) status = without_effect("an event of a launch before its end");
        if (status == CUDA_SUCCESS) status = cuEventRecord(event, config->hStream);
    }
    return status;
}

// Attributes of streams: those of their launches.
HEDDLE_API CUresult cuStreamSetAttribute(CUstream stream, unsigned attribute, const Value* value) {
    HEDDLE_CALL;
    if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Stream& on = stream_of(stream);
    if (attribute == kAttributeWindow) return read_window(*value, on.window);
    if (attribute == kAttributePriority) {
        on.priority = std::min(0, std::max(-5, value->priority));
        return CUDA_SUCCESS;
    }
    const char* const hint = name_of_hint(attribute);
    return hint != nullptr ? without_effect(hint) : CUDA_ERROR_INVALID_VALUE;
}
HEDDLE_API CUresult cuStreamGetAttribute(CUstream stream, unsigned attribute, Value* value) {
    HEDDLE_CALL;
    if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
    std::memset(value, 0, sizeof *value);
    if (attribute == kAttributeWindow) write_window(stream_of(stream).window, *value);
    if (attribute == kAttributePriority) value->priority = stream_of(stream).priority;
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuStreamCopyAttributes(CUstream to, CUstream from) {
    HEDDLE_CALL;
    stream_of(to).window = stream_of(from).window;
    stream_of(to).priority = stream_of(from).priority;
    return CUDA_SUCCESS;
}

// Also for the default streams of threads.
HEDDLE_PER_THREAD(cuLaunchCooperativeKernel, _ptsz)
HEDDLE_PER_THREAD(cuLaunchKernel, _ptsz)
HEDDLE_PER_THREAD(cuLaunchKernelEx, _ptsz)
HEDDLE_PER_THREAD(cuStreamCopyAttributes, _ptsz)
HEDDLE_PER_THREAD(cuStreamGetAttribute, _ptsz)
HEDDLE_PER_THREAD(cuStreamSetAttribute, _ptsz)
