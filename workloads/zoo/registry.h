// The models that can be asked for by name.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "workloads/trace/trace.h"
#include "workloads/zoo/options.h"

namespace heddle::zoo {

struct Model {
    std::string name;
    std::string description;
    std::vector<OptionDescription> options;
    trace::Trace (*build)(const Options& options);
};

std::vector<Model> models();

/// One training step of the named model. Unknown names, options and values are heddle::Error with the nearest
/// word.
trace::Trace build(const std::string& name, const std::map<std::string, std::string>& options);

}  // namespace heddle::zoo
