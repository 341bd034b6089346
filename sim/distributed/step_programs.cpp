#include "sim/distributed/step_programs.h"

#include "workloads/parallel/pipeline.h"

namespace heddle::sim {
namespace {

using parallel::ParallelPlan;
using parallel::Pass;
using parallel::PipelineWork;

Purpose purpose_of(Slot slot) {
    switch (slot) {
        case Slot::tensor:
            return Purpose::tensor;
        case Slot::expert:
            return Purpose::expert;
        case Slot::context:
            return Purpose::context;
        case Slot::data:
        case Slot::expert_data:
        case Slot::shared_weights:
            return Purpose::data;
        default:
            return Purpose::pipeline;
    }
}

/// Builds the program of one stage.
class Builder {
  public:
    Builder(const TimedStep& step, const ParallelPlan& plan, const HostConfig& host, std::int64_t stage)
        : step_(step), plan_(plan), host_(host), stage_(stage) {
        program_.name = "stage " + std::to_string(stage);
    }

    DeviceProgram run() {
        const std::vector<PipelineWork> order = parallel::pipeline_order(plan_, stage_);
        post_receives(order);
        plan_gathers(order);
        for (const PipelineWork& work : order) {
            switch (work.pass) {
                case Pass::forward:
                    forward(work);
                    break;
                case Pass::backward:
                    backward(work, plan_.schedule == parallel::PipelineSchedule::zero_bubble);
                    break;
                case Pass::weight_gradient:
                    weight_gradients(work);
                    break;
            }
        }
        finish_data();
        optimise();
        return std::move(program_);
    }

  private:
    using Key = std::pair<std::int64_t, std::int64_t>;  ///< micro-batch, virtual stage

    std::int64_t virtual_stage(std::int64_t chunk) const { return chunk * plan_.pipeline + stage_; }
    std::int64_t last_virtual_stage() const { return plan_.pipeline * plan_.chunks - 1; }
    const parallel::StageRange& range(std::int64_t chunk) const {
        return step_.chunks[static_cast<std::size_t>(virtual_stage(chunk))];
    }

    std::uint32_t add(Work work, std::vector<std::uint32_t> after = {}) {
        for (const std::uint32_t id : pending_) after.push_back(id);
        if (work.lane == Lane::compute) pending_.clear();
        work.after = std::move(after);
        program_.work.push_back(std::move(work));
        return static_cast<std::uint32_t>(program_.work.size() - 1);
    }
    Work message(Lane lane, Slot slot, double bytes) const {
        Work work;
        work.lane = lane;
        work.purpose = Purpose::pipeline;
        work.collective = true;
        work.kind = Exchange::send;
        work.slot = slot;
        work.bytes = bytes;
        return work;
    }
    /// Between virtual stage v and the next: of one device of a tensor group.
    double message_bytes(std::int64_t v) const {
        const auto& r = step_.chunks[static_cast<std::size_t>(v)];
        const double bytes = step_.parts[r.last - 1].result_bytes;
        const bool parted = plan_.tensor > 1 && plan_.scatter_gather && !plan_.sequence_parallel;
        return parted ? bytes / static_cast<double>(plan_.tensor) : bytes;
    }

    /// Receives are posted ahead, so that they wait for nothing but the sender, in the order in which they
    /// are needed.
    void post_receives(const std::vector<PipelineWork>& order) {
        for (const PipelineWork& work : order) {
            const std::int64_t v = virtual_stage(work.chunk);
            const Key key{work.micro_batch, v};
            if (work.pass == Pass::forward && v > 0)
                received_[key] = post(message(Lane::forward_receive, Slot::forward_in, message_bytes(v - 1)));
            if (work.pass == Pass::backward && v < last_virtual_stage())
                gradient_received_[key] =
                    post(message(Lane::backward_receive, Slot::backward_in, message_bytes(v)));
        }
    }
    std::uint32_t post(Work work) {
        program_.work.push_back(std::move(work));
        return static_cast<std::uint32_t>(program_.work.size() - 1);
    }

    void segments(const std::vector<TimedSegment>& list, bool inputs, bool weights) {
        std::vector<std::uint32_t> beside;  // messages on their way since the last work began
        for (const TimedSegment& segment : list) {
            if (segment.weights_only ? !weights : !inputs) continue;
            Work work;
            work.lane = Lane::compute;
            if (segment.collective) {
                work.collective = true;
                work.kind = segment.kind;
                work.slot = segment.slot;
                work.purpose = purpose_of(segment.slot);
                work.bytes = segment.bytes;
                if (segment.beside) {
                    work.lane = Lane::context;
                    if (last_ != kNoGroup) work.after = {last_};
                    program_.work.push_back(std::move(work));
                    beside.push_back(static_cast<std::uint32_t>(program_.work.size() - 1));
                    continue;
                }
            } else {
                work.seconds = segment.seconds;
            }
            last_ = add(std::move(work));
            pending_.insert(pending_.end(), beside.begin(), beside.end());
            beside.clear();
        }
    }

    /// ZeRO 3: the parts in the order in which passes use them.
    void plan_gathers(const std::vector<PipelineWork>& order) {
        if (plan_.zero < 3) return;
        for (const PipelineWork& work : order) {
            const parallel::StageRange& r = range(work.chunk);
            if (work.pass == Pass::forward)
                for (std::size_t i = r.first; i < r.last; ++i) uses_.push_back(i);
            if (work.pass == Pass::backward)
                for (std::size_t i = r.last; i-- > r.first;) uses_.push_back(i);
        }
        gathered_.resize(uses_.size());
    }
    /// ZeRO 3: before a part is used its weights are there, and those of the next `prefetch` uses are on
    /// their way, called before this part's gradients are sent (FSDP's backward prefetch). A gather begins
    /// when the part `prefetch` + 1 before is through, so no more than `prefetch` + 1 parts are held.
    void gather_weights() {
        if (plan_.zero < 3) return;
        const std::size_t use = begun_.size(), ahead = static_cast<std::size_t>(plan_.prefetch);
        for (; next_gather_ < uses_.size() && next_gather_ <= use + ahead; ++next_gather_) {
            const TimedPart& part = step_.parts[uses_[next_gather_]];
            gather(Slot::data, plan_.replicas(), part.parameters - part.expert_parameters);
            gather(Slot::expert_data, plan_.expert_replicas(), part.expert_parameters);
        }
        pending_.insert(pending_.end(), gathered_[use].begin(), gathered_[use].end());
    }
    void gather(Slot slot, std::int64_t replicas, double parameters) {
        if (replicas == 1 || parameters == 0) return;
        Work work;
        work.lane = Lane::data;
        work.purpose = Purpose::data;
        work.collective = true;
        work.kind = Exchange::all_gather;
        work.slot = slot;
        work.bytes = 2 * parameters;
        const auto ahead = static_cast<std::size_t>(plan_.prefetch);
        if (next_gather_ > ahead) work.after = {begun_[next_gather_ - 1 - ahead]};
        program_.work.push_back(std::move(work));
        gathered_[next_gather_].push_back(static_cast<std::uint32_t>(program_.work.size() - 1));
    }

    void forward(const PipelineWork& work) {
        const std::int64_t v = virtual_stage(work.chunk);
        if (const auto found = received_.find({work.micro_batch, v}); found != received_.end())
            arrive(found->second, v - 1);
        for (std::size_t i = range(work.chunk).first; i < range(work.chunk).last; ++i) {
            gather_weights();
            segments(step_.parts[i].forward, true, true);
            begun_.push_back(last_);
        }
        if (v < last_virtual_stage()) send(message(Lane::forward_send, Slot::forward_out, message_bytes(v)));
    }

    void send(Work work) {
        work.after = {last_};
        program_.work.push_back(std::move(work));
        if (plan_.blocking_sends) pending_.push_back(static_cast<std::uint32_t>(program_.work.size() - 1));
    }

    /// What came is first put together from the parts of a tensor group.
    void arrive(std::uint32_t message_id, std::int64_t v) {
        pending_.push_back(message_id);
        if (plan_.tensor == 1 || !plan_.scatter_gather || plan_.sequence_parallel) return;
        Work work;
        work.lane = Lane::compute;
        work.collective = true;
        work.kind = Exchange::all_gather;
        work.slot = Slot::tensor;
        work.purpose = Purpose::tensor;
        work.bytes = message_bytes(v) * static_cast<double>(plan_.tensor);
        last_ = add(std::move(work));
    }

    void backward(const PipelineWork& work, bool inputs_alone) {
        const std::int64_t v = virtual_stage(work.chunk);
        if (const auto found = gradient_received_.find({work.micro_batch, v});
            found != gradient_received_.end())
            arrive(found->second, v);
        const bool final = work.micro_batch == plan_.micro_batches - 1;
        for (std::size_t i = range(work.chunk).last; i-- > range(work.chunk).first;) {
            gather_weights();
            segments(step_.parts[i].backward, true, !inputs_alone);
            begun_.push_back(last_);
            if (!inputs_alone) gradients_of(step_.parts[i], final);
        }
        if (v > 0) send(message(Lane::backward_send, Slot::backward_out, message_bytes(v - 1)));
    }

    void weight_gradients(const PipelineWork& work) {
        const bool final = work.micro_batch == plan_.micro_batches - 1;
        for (std::size_t i = range(work.chunk).last; i-- > range(work.chunk).first;) {
            segments(step_.parts[i].backward, false, true);
            gradients_of(step_.parts[i], final);
        }
    }

    /// Gradients of a part are there: they are added up, and sent after the last micro-batch (ZeRO 3: after
    /// each).
    void gradients_of(const TimedPart& part, bool final) {
        if (part.accumulate > 0) {
            Work work;
            work.lane = Lane::compute;
            work.seconds = part.accumulate;
            last_ = add(std::move(work));
        }
        if (plan_.data_parallel == parallel::DataParallel::local_sgd) return;
        if (!final && plan_.zero < 3) return;
        waiting_ += part.parameters - part.expert_parameters;
        waiting_experts_ += part.expert_parameters;
        if (!plan_.overlap) return;
        const bool at_once = plan_.zero == 3;
        if (plan_.gradient_bytes * waiting_ >= plan_.bucket_bytes || at_once) send_gradients(Slot::data);
        if (plan_.gradient_bytes * waiting_experts_ >= plan_.bucket_bytes || at_once)
            send_gradients(Slot::expert_data);
    }

    void send_gradients(Slot slot) {
        const bool experts = slot == Slot::expert_data;
        double& waiting = experts ? waiting_experts_ : waiting_;
        const std::int64_t replicas = experts ? plan_.expert_replicas() : plan_.replicas();
        if (waiting == 0 || replicas == 1) return;
        const bool central = plan_.data_parallel == parallel::DataParallel::parameter_server;
        data_collective(central          ? Exchange::push
                        : plan_.zero > 0 ? Exchange::reduce_scatter
                                         : Exchange::all_reduce,
                        plan_.gradient_bytes * waiting, 1, slot);
        waiting = 0;
    }

    std::uint32_t data_collective(Exchange kind, double bytes, double repeats = 1, Slot slot = Slot::data) {
        Work work;
        work.lane = Lane::data;
        work.purpose = Purpose::data;
        work.collective = true;
        work.kind = kind;
        work.slot = slot;
        work.bytes = bytes;
        work.repeats = repeats;
        if (last_ != kNoGroup) work.after = {last_};
        program_.work.push_back(std::move(work));
        sent_.push_back(static_cast<std::uint32_t>(program_.work.size() - 1));
        return sent_.back();
    }

    double stage_parameters(bool experts = false) const {
        double sum = 0;
        for (std::int64_t c = 0; c < plan_.chunks; ++c)
            for (std::size_t i = range(c).first; i < range(c).last; ++i)
                sum += experts ? step_.parts[i].expert_parameters : step_.parts[i].parameters;
        return sum;
    }

    void finish_data() {
        send_gradients(Slot::data);
        send_gradients(Slot::expert_data);
        const bool ends = stage_ == 0 || stage_ == plan_.pipeline - 1;
        if (plan_.pipeline > 1 && ends && step_.shared_parameters > 0) {
            Work work;
            work.lane = Lane::data;
            work.purpose = Purpose::data;
            work.collective = true;
            work.slot = Slot::shared_weights;
            work.bytes = plan_.gradient_bytes * step_.shared_parameters;
            if (last_ != kNoGroup) work.after = {last_};
            program_.work.push_back(std::move(work));
            sent_.push_back(static_cast<std::uint32_t>(program_.work.size() - 1));
        }
        pending_.insert(pending_.end(), sent_.begin(), sent_.end());
    }

    void optimise() {
        double seconds = 0;
        for (std::int64_t c = 0; c < plan_.chunks; ++c)
            for (std::size_t i = range(c).first; i < range(c).last; ++i) seconds += step_.parts[i].update;
        const double own = plan_.zero > 0 ? 1 / static_cast<double>(plan_.replicas()) : 1;
        const double parameters = stage_parameters();
        if (plan_.offload_optimizer) {
            // Gradients down, an update at the rate of the host's memory (28 bytes for each weight), weights
            // up.
            std::uint32_t before = host_copy(plan_.gradient_bytes * parameters * own, {});
            Work update;
            update.lane = Lane::compute;
            update.purpose = Purpose::offload;
            update.seconds = 28 * parameters * own / host_.memory_bandwidth;
            before = add(std::move(update), {before});
            pending_.push_back(host_copy(2 * parameters * own, {before}));
            Work rest;
            rest.lane = Lane::compute;
            rest.purpose = Purpose::optimizer;
            last_ = add(std::move(rest));
        } else {
            Work work;
            work.lane = Lane::compute;
            work.purpose = Purpose::optimizer;
            work.seconds = seconds * own;
            last_ = add(std::move(work));
        }
        if (plan_.replicas() > 1 && (plan_.zero == 1 || plan_.zero == 2)) gather_updated();
        if (plan_.replicas() > 1 && plan_.data_parallel == parallel::DataParallel::local_sgd)
            data_collective(Exchange::all_reduce, 4 * (parameters - stage_parameters(true)),
                            1 / static_cast<double>(plan_.local_steps));
    }
    /// ZeRO 1 and 2: every device has changed its part of the weights.
    void gather_updated() {
        const double experts = stage_parameters(true), others = stage_parameters() - experts;
        data_collective(Exchange::all_gather, 2 * others);
        if (plan_.expert_replicas() > 1 && experts > 0)
            data_collective(Exchange::all_gather, 2 * experts, 1, Slot::expert_data);
    }
    std::uint32_t host_copy(double bytes, std::vector<std::uint32_t> after) {
        Work work;
        work.lane = Lane::host_link;
        work.purpose = Purpose::offload;
        work.seconds = bytes / host_.link;
        if (last_ != kNoGroup) after.push_back(last_);
        for (const std::uint32_t id : pending_) after.push_back(id);
        work.after = std::move(after);
        program_.work.push_back(std::move(work));
        return static_cast<std::uint32_t>(program_.work.size() - 1);
    }

    const TimedStep& step_;
    const ParallelPlan& plan_;
    const HostConfig& host_;
    std::int64_t stage_;
    DeviceProgram program_;
    std::map<Key, std::uint32_t> received_, gradient_received_;
    std::vector<std::uint32_t> pending_;                ///< that the next work of the compute lane waits for
    std::vector<std::uint32_t> begun_;                  ///< last work of each part's passes
    std::vector<std::size_t> uses_;                     ///< ZeRO 3: parts in the order of their passes
    std::vector<std::vector<std::uint32_t>> gathered_;  ///< the same: gathers of each use's weights
    std::size_t next_gather_ = 0;
    std::vector<std::uint32_t> sent_;
    std::uint32_t last_ = kNoGroup;
    double waiting_ = 0, waiting_experts_ = 0;  ///< gradients that were not sent yet
};

}  // namespace

DeviceProgram program_of(const TimedStep& step, const ParallelPlan& plan, const HostConfig& host,
                         std::int64_t stage) {
    return Builder(step, plan, host, stage).run();
}

ManyDevices machine_of(const TimedStep& step, const ParallelPlan& plan, const HostConfig& host) {
    ManyDevices machine;
    const std::int64_t p = plan.pipeline, d = plan.data, c = plan.context, t = plan.tensor;
    for (std::int64_t stage = 0; stage < p; ++stage) {
        machine.programs.push_back(std::make_shared<DeviceProgram>(program_of(step, plan, host, stage)));
        for (std::int64_t i = 0; i < d * c * t; ++i) machine.add_device(static_cast<std::uint32_t>(stage));
    }
    const auto device = [&](std::int64_t stage, std::int64_t data, std::int64_t context,
                            std::int64_t tensor) {
        return static_cast<std::uint32_t>(((stage * d + data) * c + context) * t + tensor);
    };
    using Members = std::vector<ManyDevices::Member>;
    for (std::int64_t s = 0; s < p; ++s) {
        for (std::int64_t x = 0; x < c; ++x) {
            for (std::int64_t i = 0; i < d; ++i) {
                Members members;
                for (std::int64_t k = 0; k < t; ++k) members.push_back({device(s, i, x, k), Slot::tensor});
                machine.add_group(members);
            }
            for (std::int64_t k = 0; k < t; ++k) {
                for (std::int64_t first = 0; plan.expert > 1 && first < d; first += plan.expert) {
                    Members members;
                    for (std::int64_t i = first; i < first + plan.expert; ++i)
                        members.push_back({device(s, i, x, k), Slot::expert});
                    machine.add_group(members);
                }
            }
        }
        for (std::int64_t k = 0; k < t && plan.expert > 1; ++k) {
            for (std::int64_t r = 0; r < plan.expert; ++r) {
                Members members;
                for (std::int64_t i = r; i < d; i += plan.expert)
                    for (std::int64_t x = 0; x < c; ++x)
                        members.push_back({device(s, i, x, k), Slot::expert_data});
                machine.add_group(members);
            }
        }
        for (std::int64_t k = 0; k < t; ++k) {
            Members same;
            for (std::int64_t i = 0; i < d; ++i) {
                Members members;
                for (std::int64_t x = 0; x < c; ++x) {
                    members.push_back({device(s, i, x, k), Slot::context});
                    same.push_back({device(s, i, x, k), Slot::data});
                }
                machine.add_group(members);
            }
            machine.add_group(same);
        }
    }
    for (std::int64_t rank = 0; p > 1 && rank < d * c * t; ++rank) {
        const auto at = [&](std::int64_t stage) {
            return static_cast<std::uint32_t>(stage * d * c * t + rank);
        };
        for (std::int64_t s = 0; s < p; ++s) {
            // From the last stage to the first only where devices have several chunks.
            if (s + 1 == p && plan.chunks == 1) break;
            const std::uint32_t next = at((s + 1) % p);
            machine.add_group({{at(s), Slot::forward_out}, {next, Slot::forward_in}});
            machine.add_group({{next, Slot::backward_out}, {at(s), Slot::backward_in}});
        }
        machine.add_group({{at(0), Slot::shared_weights}, {at(p - 1), Slot::shared_weights}});
    }
    return machine;
}

}  // namespace heddle::sim
