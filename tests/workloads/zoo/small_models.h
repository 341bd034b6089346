// Models of the zoo in shapes that the double reference executes in moments, and what tests ask of their
// steps.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <vector>

#include "workloads/reference/execute.h"
#include "workloads/trace/trace.h"

namespace heddle::zoo::test {

using Options = std::map<std::string, std::string>;

/// A shape of every model that the double reference executes in moments; in f32, with plain SGD.
struct Small {
    const char* name;
    Options options;
};
std::vector<Small> small_models();
Options changed(Options options, const Options& more);

/// Operations of products of the given kinds.
double products(const trace::Trace& trace,
                std::initializer_list<trace::OpKind> kinds = {trace::OpKind::matmul});

/// The step without its last phase, so that parameters stay what they are.
trace::Trace without_updates(trace::Trace trace);
/// Away from the initial values, where all biases are 0 and all gammas 1; the same for the same names.
void disturb(const trace::Trace& trace, reference::TensorValues& values);
/// Gradients by the name of their parameter, and the loss as "loss".
std::map<std::string, std::vector<double>> gradients(const trace::Trace& whole);
/// `tolerance` 0: bit by bit.
void check_equal(const std::map<std::string, std::vector<double>>& a,
                 const std::map<std::string, std::vector<double>>& b, double tolerance);

}  // namespace heddle::zoo::test
