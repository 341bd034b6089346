#include "validation/capture/cuda/shared_library.h"

#include <dlfcn.h>

namespace heddle::capture {

SharedLibrary::SharedLibrary(const std::vector<std::string>& names) {
    for (const std::string& name : names) {
        handle_ = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (handle_ != nullptr) return;
        if (const char* why = ::dlerror(); why != nullptr && error_.empty()) error_ = why;
    }
}

void* SharedLibrary::find(const char* function) const {
    return handle_ == nullptr ? nullptr : ::dlsym(handle_, function);
}

}  // namespace heddle::capture
