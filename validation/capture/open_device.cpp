#include "validation/capture/open_device.h"

#include "isa/common/error.h"

#ifdef HEDDLE_CAPTURE_CUDA
#include "validation/capture/cuda/cuda_device.h"
#endif
#ifdef HEDDLE_CAPTURE_SIMULATOR
#include "validation/capture/simulator/simulator_device.h"
#endif

namespace heddle::capture {
namespace {

/// What follows the colon.
std::string detail_of(const std::string& name) {
    const std::size_t colon = name.find(':');
    return colon == std::string::npos ? "" : name.substr(colon + 1);
}

std::unique_ptr<Device> open_cuda(const std::string& detail) {
#ifdef HEDDLE_CAPTURE_CUDA
    if (detail.find_first_not_of("0123456789") != std::string::npos || detail.size() > 3)
        throw Error("`cuda:" + detail + "` names no GPU", {}, "use cuda:0, cuda:1, ...");
    return make_cuda_device(detail.empty() ? 0 : static_cast<unsigned>(std::stoul(detail)));
#else
    throw Error("this build of heddle-capture has no CUDA device" + (detail.empty() ? "" : " " + detail), {},
                "install the CUDA toolkit (cuda.h, cublasLt.h), configure again and build");
#endif
}

std::unique_ptr<Device> open_simulator(const std::string& detail) {
#ifdef HEDDLE_CAPTURE_SIMULATOR
    return make_simulator_device(detail.empty() ? "h100-sxm" : detail);
#else
    throw Error("this build of heddle-capture has no simulator" + (detail.empty() ? "" : " " + detail), {},
                "build all of Heddle for it");
#endif
}

}  // namespace

std::unique_ptr<Device> open_device(const std::string& name) {
    return name.rfind("simulator", 0) == 0 ? open_simulator(detail_of(name)) : open_cuda(detail_of(name));
}

}  // namespace heddle::capture
