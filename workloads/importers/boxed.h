// A value that is rarely present, stored separately.
#pragma once

#include <memory>
#include <optional>
#include <utility>

namespace heddle::importers {

/// Holds a value or nothing, like std::optional, and takes only the space of a pointer. Copies are deep.
template <class T>
class Boxed {
  public:
    Boxed() = default;
    Boxed(const Boxed& other) : value_(other ? std::make_unique<T>(*other) : nullptr) {}
    Boxed(Boxed&&) noexcept = default;
    ~Boxed() = default;
    Boxed& operator=(const Boxed& other) { return *this = Boxed(other); }
    Boxed& operator=(Boxed&&) noexcept = default;
    Boxed& operator=(T value) {
        value_ = std::make_unique<T>(std::move(value));
        return *this;
    }
    Boxed& operator=(std::optional<T> value) {
        value_ = value ? std::make_unique<T>(*std::move(value)) : nullptr;
        return *this;
    }

    explicit operator bool() const { return value_ != nullptr; }
    T& operator*() { return *value_; }
    const T& operator*() const { return *value_; }
    T* operator->() { return value_.get(); }
    const T* operator->() const { return value_.get(); }
    void reset() { value_.reset(); }

  private:
    std::unique_ptr<T> value_;
};

}  // namespace heddle::importers
