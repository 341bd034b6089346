// Traces from and to files of every supported form.
#pragma once

#include <string>

#include "workloads/trace/trace.h"
#include "workloads/trace_files/chakra.h"

namespace heddle::trace {

/// The forms of trace files.
enum class FileKind : std::uint8_t { heddle_json, chakra_json, chakra, kineto, execution_trace };

/// Recognises uncompressed content by its first bytes (64 KiB are enough); throws heddle::Error for any other
/// content.
FileKind recognise(const std::string& bytes, const std::string& file);

/// Reads a Trace that Heddle wrote: .json or .et, plain, .gz or inside a .tar.gz, recognised by content.
/// Recordings of other tools are a heddle::Error here; importers::open_trace reads them as well.
Trace read_trace(const std::string& path);

/// Reads any Chakra graph (.et or its JSON form) as it was recorded.
ChakraGraph read_chakra(const std::string& path);

/// Writes a trace as ".json" or ".et", either with ".gz" after it. `device` is the device on which the step
/// was recorded.
void write_trace(const Trace& trace, const std::string& path, const RecordedDevice& device = {});

}  // namespace heddle::trace
