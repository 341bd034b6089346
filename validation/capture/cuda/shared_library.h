// A library that is opened at run time.
#pragma once

#include <string>
#include <vector>

namespace heddle::capture {

class SharedLibrary {
  public:
    /// Opens the first of `names` that there is. Nothing is open when none is; error() says why.
    explicit SharedLibrary(const std::vector<std::string>& names);

    explicit operator bool() const { return handle_ != nullptr; }
    const std::string& error() const { return error_; }
    /// nullptr when the library has no such function. Libraries stay open to the end of the process.
    void* find(const char* function) const;

    template <typename Function>
    Function find_as(const char* function) const {
        return reinterpret_cast<Function>(find(function));
    }

  private:
    void* handle_ = nullptr;
    std::string error_;
};

}  // namespace heddle::capture
