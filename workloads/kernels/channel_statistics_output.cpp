#include "workloads/kernels/channel_statistics_output.h"

namespace heddle::kernels {

ChannelStatisticsOutput::ChannelStatisticsOutput(PtxWriter& w, bool running)
    : w_(w), mean_(w.pointer_parameter("mean")), rstd_(w.pointer_parameter("rstd")) {
    if (!running) return;
    for (const char* name : {"running_mean", "running_variance", "new_mean", "new_variance"})
        running_.push_back(w.pointer_parameter(name));
}

void ChannelStatisticsOutput::declare_numbers() {
    epsilon_ = w_.f32_parameter("epsilon");
    momentum_ = w_.f32_parameter("momentum");
    unbias_ = w_.f32_parameter("unbias");
}

ChannelStatisticsOutput::Deviation ChannelStatisticsOutput::deviation(const Welford& all) {
    const Reg variance = w_.make_f32("div.rn.f32", all.squares, all.count);
    return {variance, w_.make_f32("rsqrt.approx.f32", w_.make_f32("add.rn.f32", variance, epsilon_))};
}

void ChannelStatisticsOutput::store(const Reg& mean, const Deviation& deviation, const Reg& channel) {
    const auto slot = [&](const Reg& base) { return at(w_.element_address(base, channel, 4)); };
    w_.op("st.global.f32", slot(mean_), mean);
    w_.op("st.global.f32", slot(rstd_), deviation.rstd);
    if (running_.empty()) return;
    const Reg kept = w_.make_f32("sub.rn.f32", f32_immediate(1), momentum_);
    const Reg fresh[] = {mean, w_.make_f32("mul.rn.f32", deviation.variance, unbias_)};
    for (unsigned i = 0; i < 2; ++i) {
        const Reg old = w_.make_f32("mul.rn.f32", kept, w_.make_f32("ld.global.f32", slot(running_[i])));
        w_.op("st.global.f32", slot(running_[2 + i]), w_.make_f32("fma.rn.f32", momentum_, fresh[i], old));
    }
}

}  // namespace heddle::kernels
