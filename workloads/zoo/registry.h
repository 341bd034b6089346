// The models that can be selected by name.
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
    /// The published number of parameters of the model with its default options; 0 where none was published.
    std::int64_t parameters = 0;
};

/// Returns all models.
std::vector<Model> models();

/// Describes the options with which any model can be trained (type, optimizer, recompute, micro_batches, ...)
/// and their defaults. read_step_options() reads them from Options.
std::vector<OptionDescription> step_options(const StepOptions& defaults);
StepOptions read_step_options(const Options& options);

/// Builds one training step of the named model. Unknown names, options and values are a heddle::Error with
/// the nearest word.
trace::Trace build(const std::string& name, const std::map<std::string, std::string>& options);

}  // namespace heddle::zoo
