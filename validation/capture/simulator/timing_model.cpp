#include "validation/capture/simulator/timing_model.h"

#include <string>
#include <systemc>

#include "isa/common/error.h"
#include "models/common/parameter.h"

namespace heddle::capture {
namespace {

bool same(models::gpu::GpuConfig a, models::gpu::GpuConfig b) {
    models::ParameterList of_a, of_b;
    describe(a, of_a);
    describe(b, of_b);
    const auto &x = of_a.parameters(), &y = of_b.parameters();
    if (x.size() != y.size()) return false;
    for (std::size_t i = 0; i < x.size(); ++i) {
        if (x[i].get() != y[i].get()) return false;
        if (x[i].list != nullptr && *x[i].list != *y[i].list) return false;
        if (x[i].text != nullptr && *x[i].text != *y[i].text) return false;
    }
    return true;
}

models::gpu::Gpu* build(const models::gpu::GpuConfig& config) {
    try {
        return new models::gpu::Gpu("gpu", config);
    } catch (const sc_core::sc_report& report) {  // somebody else's simulation has begun
        throw Error(
            std::string("the GPU model cannot be built in this process any more: ") + report.get_msg(), {},
            "run it in a process of its own");
    }
}

}  // namespace

models::gpu::Gpu& timing_model(const models::gpu::GpuConfig& config) {
    // Part of SystemC's own state, which a process has once; like that, it is never taken down.
    static models::gpu::Gpu* const model = build(config);
    if (!same(model->config(), config))
        throw Error("this process holds the model of another GPU already", {},
                    "run each hardware in a process of its own");
    return *model;
}

}  // namespace heddle::capture
