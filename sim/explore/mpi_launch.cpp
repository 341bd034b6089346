// Whether MPI started this process: known from its environment, with or without Boost.MPI.
#include <cstdlib>
#include <string>

#include "sim/explore/mpi_workers.h"

namespace heddle::explore {

bool launched_by_mpi() {
    // Open MPI, MPICH and Intel MPI, PMIx (srun --mpi=pmix). Slurm alone sets SLURM_PROCID for plain jobs
    // too.
    for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK"})
        if (std::getenv(name) != nullptr) return true;
    return false;
}

}  // namespace heddle::explore
