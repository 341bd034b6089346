#include "sim/learning/reference_device.h"

#include <algorithm>

#include "workloads/reference/execute.h"

namespace heddle::sim {
namespace {

class ReferenceDevice : public TrainingDevice {
  public:
    explicit ReferenceDevice(const trace::Trace& trace) : trace_(trace), values_(trace) {}

    void write(trace::TensorId id, const std::vector<double>& values) override {
        std::copy(values.begin(), values.end(), values_[id].begin());
    }
    std::vector<double> read(trace::TensorId id) override {
        const auto values = values_[id];
        return {values.begin(), values.end()};
    }
    void run_step() override { reference::execute(trace_, values_); }
    void run_passes() override { run(false); }
    void run_update() override { run(true); }
    std::vector<std::uint64_t> time_step() override { return {}; }  // it takes no time
    double input_roundoff(trace::ElementType) const override { return 0x1p-53; }

  private:
    void run(bool optimizer) {
        for (const trace::Op& op : trace_.ops)
            if ((op.phase == trace::Phase::optimizer) == optimizer)
                reference::execute_op(trace_, op, values_);
    }

    const trace::Trace& trace_;
    reference::TensorValues values_;
};

}  // namespace

std::unique_ptr<TrainingDevice> reference_device(const trace::Trace& trace) {
    return std::make_unique<ReferenceDevice>(trace);
}

}  // namespace heddle::sim
