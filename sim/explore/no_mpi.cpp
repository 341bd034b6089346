// In place of mpi_workers.cpp where there is no Boost.MPI.
#include "isa/common/error.h"
#include "sim/explore/mpi_workers.h"

namespace heddle::explore {

struct MpiSession::State {};

bool mpi_is_built() {
    return false;
}
MpiSession::MpiSession(unsigned, const std::function<TaskFunction()>&) {
    throw Error("this Heddle was built without MPI", {"heddle explore", 0, ""},
                "install libboost-mpi-dev and build again, or use -j on one machine");
}
MpiSession::~MpiSession() = default;
int MpiSession::rank() const {
    return 0;
}
int MpiSession::ranks() const {
    return 1;
}
Workers& MpiSession::workers() {
    throw Error("this Heddle was built without MPI");
}
void MpiSession::serve() {}

}  // namespace heddle::explore
