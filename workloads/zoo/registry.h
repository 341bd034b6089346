// The models that can be asked for by name.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "workloads/trace/trace.h"
#include "workloads/zoo/options.h"
#include "workloads/zoo/step.h"

namespace heddle::zoo {

/// A model that can be built by name.
struct Model {
    std::string name;
    std::string description;
    std::vector<OptionDescription> options;
    std::function<trace::Trace(const Options& options)> build;
    /// As published, of the model with its default options; 0 where nobody published any.
    std::int64_t parameters = 0;
};

/// Returns all models.
std::vector<Model> models();

/// Numbers that any model is trained with: type, optimizer, recompute, micro_batches, ... and what they mean
/// when nothing is said. read_step_options() takes them from Options that have them.
std::vector<OptionDescription> step_options(const StepOptions& defaults);
StepOptions read_step_options(const Options& options);

/// One training step of the named model. Unknown names, options and values are heddle::Error with the nearest
/// word.
trace::Trace build(const std::string& name, const std::map<std::string, std::string>& options);

}  // namespace heddle::zoo
