// Names that a recording repeats millions of times, each stored once.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_set>

namespace heddle::importers {

/// A text in a pool (Names), which must outlive it; it can be used like a std::string.
class Name {
  public:
    Name() : text_(&nothing()) {}

    const std::string& text() const { return *text_; }
    operator const std::string&() const { return *text_; }  // NOLINT(google-explicit-constructor)
    std::size_t find(std::string_view part) const { return text_->find(part); }
    std::size_t rfind(std::string_view part, std::size_t at = std::string::npos) const {
        return text_->rfind(part, at);
    }
    bool ends_with(std::string_view end) const { return text_->ends_with(end); }
    std::string substr(std::size_t from, std::size_t count) const { return text_->substr(from, count); }

    friend bool operator==(const Name& a, const Name& b) { return *a.text_ == *b.text_; }
    friend bool operator==(const Name& a, std::string_view b) { return *a.text_ == b; }
    friend std::string operator+(const Name& a, std::string_view b) { return *a.text_ + std::string(b); }
    friend std::string operator+(std::string_view a, const Name& b) { return std::string(a) + *b.text_; }

  private:
    friend class Names;
    explicit Name(const std::string& text) : text_(&text) {}
    static const std::string& nothing() {
        static const std::string empty;
        return empty;
    }
    const std::string* text_;
};

/// Stores every text once. Names stay valid when the pool is moved.
class Names {
  public:
    Name of(std::string_view text) {
        auto found = texts_.find(text);
        if (found == texts_.end()) found = texts_.emplace(text).first;
        return Name(*found);
    }

  private:
    struct Hash {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
    };
    std::unordered_set<std::string, Hash, std::equal_to<>> texts_;
};

}  // namespace heddle::importers
