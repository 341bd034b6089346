// Workers on several computers through MPI: `mpirun -n 64 heddle explore ...`. Rank 0 schedules and is the
// only one that writes; every rank, including rank 0, evaluates in processes that were forked before MPI was
// initialised. When a rank is lost, the run ends (mpirun ends the others), and can be resumed from the store.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "sim/explore/workers.h"

namespace heddle::explore {

/// Whether Heddle was built with Boost.MPI.
bool mpi_is_built();
/// Whether mpirun, mpiexec or srun started this process as one of several ranks (Open MPI, MPICH, PMIx).
bool launched_by_mpi();

/// This process's part in a run with several ranks.
class MpiSession {
  public:
    /// Forks the workers of this rank and then initialises MPI. `count` is the number of concurrent
    /// evaluations on this rank. `make_function` is called in a worker process when the first task arrives;
    /// an exception that it throws is the answer to every task.
    MpiSession(unsigned count, const std::function<TaskFunction()>& make_function);
    ~MpiSession();
    MpiSession(const MpiSession&) = delete;
    MpiSession& operator=(const MpiSession&) = delete;

    int rank() const;
    int ranks() const;
    /// On rank 0: the workers of all ranks as one.
    Workers& workers();
    /// On the other ranks: evaluates tasks until rank 0 has ended.
    void serve();

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace heddle::explore
