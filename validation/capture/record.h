// What a capture writes: one JSON object a line, and the bytes that belong to it in a file beside.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::capture {

/// One JSON object under construction; keys stay in the order in which they were added. Numbers that are not
/// finite become strings ("nan", "inf", "-inf"), which JSON cannot say otherwise.
class Record {
  public:
    Record& text(std::string_view key, std::string_view value);
    Record& integer(std::string_view key, std::int64_t value);
    Record& number(std::string_view key, double value);  ///< shortest text that reads back the same
    Record& flag(std::string_view key, bool value);
    Record& hexadecimal(std::string_view key, std::uint64_t value, unsigned digits = 16);  ///< a string
    Record& texts(std::string_view key, const std::vector<std::string>& values);
    Record& integers(std::string_view key, const std::vector<std::int64_t>& values);
    Record& numbers(std::string_view key, const std::vector<double>& values);
    Record& object(std::string_view key, const Record& value);
    Record& objects(std::string_view key, const std::vector<Record>& values);

    bool empty() const { return members_.empty(); }
    std::string json() const { return "{" + members_ + "}"; }

  private:
    void key(std::string_view key);
    std::string members_;
};

/// The records of one section: <folder>/<section>.jsonl and .bin. Each record has an id, which is unique in
/// the section and says what was asked; a section that was cut off goes on with the ids that are missing.
class Journal {
  public:
    /// Opens what is there, drops a last line that was not finished and bytes that belong to no record.
    Journal(const std::filesystem::path& folder, const std::string& section);
    ~Journal();
    Journal(const Journal&) = delete;
    Journal& operator=(const Journal&) = delete;

    bool has(std::string_view id) const;
    std::size_t size() const;
    /// Adds a line, {"id": ..., the members of `record`}; with `bytes`, also "binary": [offset, length] of
    /// where they lie in the .bin file. On disk when it returns.
    void add(std::string_view id, const Record& record, std::span<const std::byte> bytes = {});
    /// Nothing is missing: the .bin file is compressed (with gzip, where there is one) and can take no more.
    void finish();

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace heddle::capture
