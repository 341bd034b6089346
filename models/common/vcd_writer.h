// Signals as a value change dump (VCD, IEEE 1364-2005, section 18), which GTKWave and Surfer show. `vcd2fst`,
// which comes with GTKWave, makes a compressed FST file of it; Debian has no library that writes one.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "models/common/signal_trace.h"

namespace heddle::models {

/// A SignalWriter whose times are picoseconds. It owns the file and keeps to the order of calls that
/// SignalWriter requires.
class VcdWriter : public SignalWriter {
  public:
    /// Into the file `path`, which is made anew. Throws heddle::Error when it cannot be written, and with the
    /// cycle of the file's end when it would become larger than `most_bytes`.
    VcdWriter(const std::string& path, std::uint64_t most_bytes);
    ~VcdWriter() override;

    void declare(const std::vector<Signal>& signals) override;
    void change(std::uint64_t picoseconds, std::uint32_t signal, std::uint32_t value) override;
    void comment(const std::string& text) override;
    void pass(std::uint64_t picoseconds) override;
    /// Completes the file. Throws heddle::Error when the disk is full.
    void close();
    /// Bytes written so far.
    std::uint64_t bytes() const { return bytes_; }

  private:
    struct Variable {
        std::string code;
        unsigned bits;
    };
    void put(const std::string& text);
    void put_value(const Variable& variable, std::uint32_t value);

    std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
    const std::string path_;
    const std::uint64_t most_bytes_;
    std::uint64_t bytes_ = 0, time_ = 0;
    std::vector<Variable> variables_;
};

}  // namespace heddle::models
