#include "validation/compare/training_fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "isa/common/error.h"
#include "sim/hardware/load_hardware.h"

namespace heddle::validation {
namespace {

/// Steps of the rows with any figures; what does not depend on them is made once.
class Table {
  public:
    Table(const std::vector<TrainingRow>& rows, const std::string& cluster)
        : hardware_(sim::load_hardware(sim::cluster_for(cluster, 1).hardware)) {
        std::map<std::uint32_t, sim::ClusterModel> clusters;
        for (const TrainingRow& row : rows) {
            const auto devices = static_cast<std::uint32_t>(row.plan.devices());
            auto found = clusters.find(devices);
            if (found == clusters.end())
                found = clusters.emplace(devices, sim::cluster_for(cluster, 0, devices)).first;
            rows_.push_back({row, found->second, sim::trace_of("gpt2-small", row.options, row.plan)});
        }
    }

    double error(const FrameworkFigures& figures) const {
        sim::ClosedFormConfig config;
        config.unaligned = figures.unaligned;
        sim::ClosedForm times(hardware_, config);
        double sum = 0;
        for (const Row& row : rows_) {
            sim::HostConfig host = row.row.host;
            host.forward_op = figures.forward_op;
            host.backward_op = figures.backward_op;
            host.collective = figures.collective;
            const sim::TimedStep step = sim::time_parts(row.trace, row.row.plan, times, host);
            sim::ManyDevices machine = sim::machine_of(step, row.row.plan, host);
            sim::find_neighbours(machine, *row.cluster.network);
            machine = sim::fold(machine, *row.cluster.network);
            const double seconds = sim::simulate_devices(machine, *row.cluster.network).seconds;
            sum += std::abs(seconds / row.row.recorded - 1);
        }
        return sum / static_cast<double>(rows_.size());
    }

  private:
    struct Row {
        TrainingRow row;
        sim::ClusterModel cluster;
        trace::Trace trace;
    };
    sim::Hardware hardware_;
    std::vector<Row> rows_;
};

}  // namespace

FrameworkFigures fit_framework(const std::vector<TrainingRow>& rows, const std::string& cluster,
                               const FrameworkFigures& start,
                               const std::function<void(const FrameworkFigures&, double)>& tell) {
    if (rows.empty())
        throw Error("there is no row to fit to", {"--fit", 0, ""}, "give a table with more rows");
    const Table table(rows, cluster);
    const std::array<double FrameworkFigures::*, 4> figures{
        &FrameworkFigures::forward_op, &FrameworkFigures::backward_op, &FrameworkFigures::collective,
        &FrameworkFigures::unaligned};
    FrameworkFigures best = start;
    double least = table.error(best);
    tell(best, least);
    for (const double step : {0.1, 0.05, 0.025}) {
        for (bool moved = true; moved;) {
            moved = false;
            for (const auto figure : figures) {
                for (const double factor : {1 + step, 1 / (1 + step)}) {
                    for (;;) {
                        FrameworkFigures tried = best;
                        tried.*figure *= factor;
                        if (figure == &FrameworkFigures::unaligned && tried.*figure > 1) break;
                        const double error = table.error(tried);
                        // Less than a hundredth of a per cent is no improvement.
                        if (error >= least - 1e-4) break;
                        best = tried;
                        least = error;
                        moved = true;
                        tell(best, least);
                    }
                }
            }
        }
    }
    return best;
}

}  // namespace heddle::validation
