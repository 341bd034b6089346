#include "validation/capture/cuda/cuda_timing.h"

#include <algorithm>
#include <cmath>

namespace heddle::capture {
namespace {

constexpr double kWantedMicroseconds = 200;
constexpr unsigned kMaximumCopies = 20;

/// Events, destroyed at the end of the scope.
class Events {
  public:
    Events(const CudaContext& context, std::size_t count) : context_(context), events_(count, nullptr) {
        for (CUevent& event : events_)
            context_.check(context_.api().cuEventCreate(&event, CU_EVENT_DEFAULT), "cuEventCreate");
    }
    ~Events() {
        for (CUevent event : events_)
            if (event != nullptr && !context_.lost()) context_.api().cuEventDestroy(event);
    }
    Events(const Events&) = delete;
    Events& operator=(const Events&) = delete;

    void record(std::size_t i) {
        context_.check(context_.api().cuEventRecord(events_[i], context_.stream()), "cuEventRecord");
    }
    /// Between two that have happened.
    double microseconds(std::size_t first, std::size_t second) const {
        float milliseconds = 0;
        context_.check(context_.api().cuEventElapsedTime(&milliseconds, events_[first], events_[second]),
                       "cuEventElapsedTime");
        return static_cast<double>(milliseconds) * 1000;
    }

  private:
    const CudaContext& context_;
    std::vector<CUevent> events_;
};

/// What `enqueue` does `copies` times, as one launch.
class Graph {
  public:
    Graph(const CudaContext& context, const std::function<void()>& enqueue, unsigned copies)
        : context_(context) {
        graph_ = context.capture([&] {
            for (unsigned i = 0; i < copies; ++i) enqueue();
        });
        const CUresult status = context.api().cuGraphInstantiate(&executable_, graph_, 0);
        if (status != CUDA_SUCCESS) {
            context.api().cuGraphDestroy(graph_);
            context.check(status, "cuGraphInstantiate");
        }
        context.api().cuGraphUpload(executable_, context.stream());
    }
    ~Graph() {
        if (context_.lost()) return;
        context_.api().cuGraphExecDestroy(executable_);
        context_.api().cuGraphDestroy(graph_);
    }
    Graph(const Graph&) = delete;
    Graph& operator=(const Graph&) = delete;

    void launch() const {
        context_.check(context_.api().cuGraphLaunch(executable_, context_.stream()), "cuGraphLaunch");
    }

  private:
    const CudaContext& context_;
    CUgraph graph_ = nullptr;
    CUgraphExec executable_ = nullptr;
};

/// Far below the resolution of events: more digits would only lengthen the records.
double to_tenths_of_nanoseconds(double microseconds) {
    return std::round(microseconds * 1e4) / 1e4;
}

/// Times `run`, which does the work `copies` times; `prepare` comes before, outside of the time.
std::vector<double> measure(const CudaContext& context, const std::function<void()>& run, unsigned copies,
                            unsigned repetitions, const std::function<void()>& prepare) {
    Events events(context, std::size_t{2} * repetitions);
    for (unsigned i = 0; i < repetitions; ++i) {
        prepare();
        events.record(std::size_t{2} * i);
        run();
        events.record(std::size_t{2} * i + 1);
    }
    context.wait();
    std::vector<double> times;
    for (unsigned i = 0; i < repetitions; ++i)
        times.push_back(to_tenths_of_nanoseconds(
            events.microseconds(std::size_t{2} * i, std::size_t{2} * i + 1) / copies));
    return times;
}

std::vector<double> time_graph(const CudaContext& context, const std::function<void()>& enqueue,
                               const TimingOptions& options, const std::function<void()>& prepare) {
    const Graph once(context, enqueue, 1);
    const auto run_once = [&] { once.launch(); };
    if (options.cold_l2) {
        for (unsigned i = 0; i < options.warm_up; ++i) once.launch();
        return measure(context, run_once, 1, options.repetitions, prepare);
    }
    const std::vector<double> first = measure(context, run_once, 1, std::max(options.warm_up, 1u), prepare);
    const double fastest = std::max(*std::min_element(first.begin(), first.end()), 0.1);
    const auto copies = static_cast<unsigned>(
        std::clamp(std::ceil(kWantedMicroseconds / fastest), 1.0, double{kMaximumCopies}));
    if (copies == 1) return measure(context, run_once, 1, options.repetitions, prepare);
    const Graph many(context, enqueue, copies);
    many.launch();
    return measure(
        context, [&] { many.launch(); }, copies, options.repetitions, prepare);
}

}  // namespace

std::vector<double> time_on(const CudaContext& context, const std::function<void()>& enqueue,
                            const TimingOptions& options, const std::function<void()>& flush_l2) {
    const std::function<void()> nothing = [] {};
    const std::function<void()>& prepare = options.cold_l2 ? flush_l2 : nothing;
    // Once outside of a capture: libraries load their kernels when they are first used.
    enqueue();
    context.wait();
    if (options.graph) return time_graph(context, enqueue, options, prepare);
    for (unsigned i = 0; i < options.warm_up; ++i) enqueue();
    return measure(context, enqueue, 1, options.repetitions, prepare);
}

}  // namespace heddle::capture
