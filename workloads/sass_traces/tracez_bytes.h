// .tracez: a trace whose warps are compressed by themselves (zstd), with an index.
//
//     header lines, a byte 0
//     u32 bytes of the dictionary, u32 instructions of a chunk, the dictionary of zstd
//     for each warp: u32 instructions, u32 chunks, for each chunk u32 bytes and a zstd frame of instruction
//     lines index: u32 thread blocks, for each its place x y z, its cluster's x y z, its place in the cluster
//     x y z, its rank
//         there, its warps (u32 each), and for each warp u32 instructions, u32 chunks, u64 where it stands in
//         the file, u32 instructions for each chunk
//     u64 where the index stands
// Numbers are little-endian. It is read as the text of a .traceg, thread block by thread block in the index's
// order.
#pragma once

#include <memory>
#include <string>

#include "workloads/sass_traces/line_source.h"

namespace heddle::sass {

/// Throws heddle::Error, here and in read(), when the file is damaged.
std::unique_ptr<ByteSource> open_tracez(const std::string& path);

}  // namespace heddle::sass
