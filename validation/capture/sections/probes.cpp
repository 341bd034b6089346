// Section "probes": what one instruction computes. The open questions of the documentation of the numerics
// come first, then random vectors of every instruction.
#include "validation/capture/sections/probes_blas.h"
#include "validation/capture/sections/probes_matrix.h"
#include "validation/capture/sections/probes_scalar.h"
#include "validation/capture/sections/probes_tiles.h"

namespace heddle::capture {

bool capture_probes(SectionContext& context) {
    std::vector<SectionItem> items;
    add_matrix_questions(context, items);
    add_scalar_questions(context, items);
    add_blas_questions(context, items);
    add_wmma_questions(context, items);
    add_tensor_load_questions(context, items);
    add_matrix_vectors(context, items);
    add_scalar_vectors(context, items);
    return run_items(context, items);
}

}  // namespace heddle::capture
