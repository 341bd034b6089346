// How PyTorch's block kernels walk along a row of any alignment: up to the first 16-byte boundary one element
// per thread, then vectors, then single elements (ilpReduce and WriteFpropResultsVectorized in SoftMax.cu).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "workloads/kernels/memory_access.h"
#include "workloads/kernels/ptx_writer.h"

namespace heddle::kernels {

/// The rows to walk along, and the threads that do it.
struct RowWalk {
    /// Addresses of the rows that are walked together, with the bytes of one element.
    std::vector<std::pair<Reg, unsigned>> rows;
    std::uint32_t columns = 0;
    unsigned threads = 0;  ///< of the CTA, a multiple of 32
    unsigned width = 1;    ///< elements of a vector
    Reg shift;  ///< elements between the 16-byte boundary before the rows and their first; "": none
};

/// Calls `body` for the code of one vector (`width` elements) and of one element, with the addresses in every
/// row.
void emit_row_walk(PtxWriter& w, const RowWalk& walk, const Reg& tid,
                   const std::function<void(const std::vector<Reg>& addresses, unsigned width)>& body);

/// Elements by which an address lies behind a boundary of 16 bytes.
Reg emit_shift(PtxWriter& w, const Reg& address, unsigned element_bytes);

}  // namespace heddle::kernels
