// Workers on other machines, over MPI: `mpirun -n 64 heddle explore ...`. Rank 0 schedules and alone writes;
// every rank, rank 0 too, evaluates in processes that were forked before MPI began. A rank that is lost ends
// the run (mpirun ends the others), and the store goes on from there.
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

class MpiSession {
  public:
    /// Forks the workers of this rank, then initialises MPI. `count`: evaluations at once on this rank.
    /// `make_function` is called in a worker process, when the first task comes; what it throws is the answer
    /// to every task.
    MpiSession(unsigned count, const std::function<TaskFunction()>& make_function);
    ~MpiSession();
    MpiSession(const MpiSession&) = delete;
    MpiSession& operator=(const MpiSession&) = delete;

    int rank() const;
    int ranks() const;
    /// Of rank 0: all ranks' workers as one.
    Workers& workers();
    /// Of the other ranks: evaluates until rank 0 has ended.
    void serve();

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace heddle::explore
