#include "sim/explore/evaluator.h"

#include <exception>
#include <nlohmann/json.hpp>

#include "isa/common/error.h"
#include "isa/common/out_of_memory.h"
#include "sim/hardware/load_hardware.h"
#include "sim/run/workers/worker_pool.h"

namespace heddle::explore {
namespace {

using Json = nlohmann::ordered_json;

/// Plays one workload in a process of its own: SystemC elaborates once in each.
class Player : public sim::JobRunner {
  public:
    Player(const ExploredWorkload& workload, const sim::Hardware& hardware) : workload_(workload), hardware_(hardware) {}
    std::string run(std::size_t) override {
        const sim::RunResult result = workload_.play(hardware_);
        Answer answer;
        answer.workloads.push_back({workload_.name, workload_.weight, statistics_of(result, hardware_), result.notes});
        return answer.to_text();
    }

  private:
    const ExploredWorkload& workload_;
    const sim::Hardware& hardware_;
};

WorkloadResult played(const ExploredWorkload& workload, const sim::Hardware& hardware) {
    WorkloadResult result;
    sim::run_jobs(1, 1, [&] { return std::make_unique<Player>(workload, hardware); },
                  [&](std::size_t, const std::string& text) { result = Answer::from_text(text).workloads.at(0); });
    return result;
}

class Simulator : public Evaluator {
  public:
    Simulator(const std::string& hardware, std::vector<std::string> overrides,
              std::vector<ExploredWorkload> workloads, const SimulationOptions& options)
        : text_(sim::read_hardware_file(sim::find_hardware_file(hardware))),
          overrides_(std::move(overrides)),
          workloads_(std::move(workloads)),
          options_(options) {}

    Answer evaluate(const Task& task) override {
        std::vector<std::string> settings = overrides_;
        settings.insert(settings.end(), task.settings.begin(), task.settings.end());
        const sim::Hardware hardware = sim::configure_hardware(text_, settings);
        sim::SimulateOptions options;
        options.jobs = task.jobs;
        // What cannot be sampled is quick, and is always simulated in full.
        options.sample = task.fidelity == Fidelity::sampled && hardware.machine().can_sample();
        options.fusion = options_.fusion;
        options.graph = options_.graph;
        options.cache = options_.cache;
        Answer answer;
        for (const ExploredWorkload& workload : workloads_) {
            if (workload.play) {
                answer.workloads.push_back(played(workload, hardware));
                continue;
            }
            try {
                const sim::RunResult result = sim::simulate(workload.trace, workload.name, hardware, options);
                answer.workloads.push_back(
                    {workload.name, workload.weight, statistics_of(result, hardware), result.notes});
            } catch (const sim::DoesNotFit& too_large) {
                answer.error = workload.name + " does not fit: " + too_large.memory.sentence();
                return answer;
            }
        }
        return answer;
    }

  private:
    sim::HardwareText text_;
    std::vector<std::string> overrides_;
    std::vector<ExploredWorkload> workloads_;
    SimulationOptions options_;
};

}  // namespace

std::string Task::to_text() const {
    return Json{{"settings", settings}, {"full", fidelity == Fidelity::full}, {"jobs", jobs}}.dump();
}

Task Task::from_text(const std::string& text) {
    const Json json = Json::parse(text);
    return {json.at("settings").get<std::vector<std::string>>(),
            json.at("full").get<bool>() ? Fidelity::full : Fidelity::sampled, json.value("jobs", 1u)};
}

std::string Answer::to_text() const {
    Json json;
    if (!error.empty()) {
        json["error"] = error;
    } else {
        json["workloads"] = Json::array();
        for (const WorkloadResult& workload : workloads) {
            Json statistics = Json::object();
            for (const auto& [name, value] : workload.statistics) statistics[name] = value;
            json["workloads"].push_back({{"workload", workload.workload},
                                         {"weight", workload.weight},
                                         {"statistics", std::move(statistics)},
                                         {"notes", workload.notes}});
        }
    }
    // What a library says may hold any byte.
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Answer Answer::from_text(const std::string& text) {
    const Json json = Json::parse(text);
    Answer answer;
    if (json.contains("error")) {
        answer.error = json["error"].get<std::string>();
        return answer;
    }
    for (const Json& workload : json.at("workloads")) {
        WorkloadResult result{
            workload.at("workload").get<std::string>(), workload.at("weight").get<double>(), {}, {}};
        for (const auto& [name, value] : workload.at("statistics").items())
            result.statistics[name] = value.get<double>();
        result.notes = workload.at("notes").get<std::vector<std::string>>();
        answer.workloads.push_back(std::move(result));
    }
    return answer;
}

std::string answer_text(Evaluator& evaluator, const std::string& task) {
    Answer answer;
    try {
        answer = evaluator.evaluate(Task::from_text(task));
    } catch (const Error& error) {
        answer.error = error.what();
    } catch (const std::exception& error) {
        answer.error =
            is_out_of_memory(error) ? out_of_memory_text(error) : std::string("internal error: ") + error.what();
    } catch (...) {
        answer.error = "internal error of an unknown kind";
    }
    return answer.to_text();
}

std::unique_ptr<Evaluator> make_simulator(const std::string& hardware, std::vector<std::string> overrides,
                                          std::vector<ExploredWorkload> workloads,
                                          const SimulationOptions& options) {
    return std::make_unique<Simulator>(hardware, std::move(overrides), std::move(workloads), options);
}

std::map<std::string, double> statistics_of(const sim::RunResult& result, const sim::Hardware& hardware) {
    std::map<std::string, double> s{
        {"step_time_us", result.step_time_us},
        {"device_busy_us", result.device_busy_us},
        {"launch_gap_us", result.launch_gap_us},
        {"communication_us", result.communication_us},
        {"waiting_for_host_us", result.division.host_us},
        {"overlapped_us", result.division.overlapped_us},
        {"coverage/cycle", result.coverage.cycle},
        {"coverage/estimated", result.coverage.estimated},
        {"coverage/unknown", result.coverage.unknown},
        {"simulated_fraction", result.simulated_fraction},
    };
    if (result.clock_hz > 0) s["clock_hz"] = result.clock_hz;
    if (result.sampling_error_us) s["sampling_error_us"] = *result.sampling_error_us;
    if (result.memory) {
        s["memory_peak_bytes"] = result.memory->peak();
        s["memory_capacity_bytes"] = result.memory->capacity;
    }
    for (const auto& [resource, part] : result.utilisation) s["utilisation/" + resource] = part;
    for (const auto& [part, joules] : result.energy) s["energy/" + part] = joules;
    if (const auto energy = hardware.machine().energy_of(result); energy && !result.energy.empty()) {
        s["energy_j"] = *energy;
        if (result.step_time_us > 0) s["mean_power_w"] = s["energy_j"] / (result.step_time_us * 1e-6);
    }
    for (const auto& [resource, throughput] : result.throughputs) s["amount/" + resource] = throughput.amount;
    double flops = 0, kernel_us = 0;
    std::map<std::string, double> reasons;
    for (const sim::OpSummary& op : result.ops) {
        s["kind/" + op.kind] += op.time_us;
        s["op/" + op.name] += op.time_us;
        flops += op.flops;
    }
    for (const sim::KernelResult& kernel : result.kernels) {
        kernel_us += kernel.time_us;
        for (const auto& [reason, part] : kernel.time_by_reason) reasons[reason] += part * kernel.time_us;
    }
    for (const auto& [reason, time] : reasons) s["reason/" + reason] = kernel_us > 0 ? time / kernel_us : 0;
    s["flops"] = flops;
    s["kernels"] = static_cast<double>(result.kernels.size());
    return s;
}

}  // namespace heddle::explore
