// A training that a capture recorded: what validation/capture/training/training_record.cpp wrote.
#pragma once

#include "isa/target/target.h"
#include "validation/capture/training/training_run.h"
#include "validation/read/recorded_capture.h"

namespace heddle::validation {

struct CapturedTraining {
    std::string id;
    capture::TrainingItem item;
    target::GpuTarget target;  ///< that the kernels were written for
    capture::TrainingRun run;
};

/// Throws heddle::Error (file, line, key) for a record that is damaged or does not fit itself.
CapturedTraining training_of(const CapturedRecord& record);

}  // namespace heddle::validation
