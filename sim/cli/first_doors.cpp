// The doors of the program that is built first: what they lead to is another program's.
#include "sim/cli/doors.h"
#include "sim/cli/hand_over.h"
#include "sim/cli/workload.h"
#include "sim/tpu/tpu_program.h"
#include "workloads/model_files/read_model.h"

namespace heddle::cli {

bool names_recorded_kernels(const std::string& workload) {
    const bool own = !names_a_file(workload) || model_files::is_model_file(workload) || sim::is_tpu_program(workload);
    if (!own) throw HandOver{"heddle-steps"};
    return false;
}

void simulate_recorded_kernels(const SimulateCommandOptions&) {
    throw HandOver{"heddle-steps"};
}

trace::Trace open_recorded_step(const std::string&, trace::RecordedDevice&) {
    throw HandOver{"heddle-steps"};
}

void simulate_spread(const SimulateCommandOptions&) {
    throw HandOver{"heddle-steps"};
}

}  // namespace heddle::cli
