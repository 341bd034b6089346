#include "workloads/importers/kineto.h"

#include <algorithm>
#include <array>

#include "isa/target/launch_limits.h"
#include "workloads/importers/kineto_operands.h"
#include "workloads/importers/recorded_number.h"
#include "workloads/trace_files/json_stream.h"

namespace heddle::importers {
namespace {

using trace::JsonView;

enum class Kind : std::uint8_t { other, call, launch, kernel };

bool starts_with(std::string_view text, std::string_view start) {
    return text.substr(0, start.size()) == start;
}

/// What an event is, by its category in any case, or, where it has none, by what it carries.
Kind kind_of(const JsonView& event) {
    std::string category(event["cat"].text());
    std::transform(category.begin(), category.end(), category.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (category == "kernel" || category == "gpu_memcpy" || category == "gpu_memset" ||
        category == "memcpy" || category == "memset")
        return Kind::kernel;
    if (category == "cpu_op" || category == "operator" || category == "user_annotation") return Kind::call;
    if (category == "cuda_runtime" || category == "cuda_driver" || category == "runtime" ||
        category == "driver")
        return Kind::launch;
    if (!category.empty()) return Kind::other;
    const JsonView arguments = event["args"];
    const std::string_view name = event["name"].text();
    if (!arguments.is_object()) return Kind::other;
    if (arguments["stream"].exists() && arguments["correlation"].exists()) return Kind::kernel;
    if (arguments["correlation"].exists() && starts_with(name, "cu")) return Kind::launch;
    return arguments["External id"].exists() || arguments["Input Dims"].exists() ? Kind::call : Kind::other;
}

bool is_annotation(const JsonView& event) {
    constexpr std::string_view kCategory = "user_annotation";
    const std::string_view category = event["cat"].text();
    return category.size() == kCategory.size() &&
           std::equal(category.begin(), category.end(), kCategory.begin(),
                      [](unsigned char a, unsigned char b) { return std::tolower(a) == b; });
}

JsonView first_of(const JsonView& object, std::initializer_list<const char*> keys) {
    for (const char* key : keys) {
        if (const JsonView found = object[key]; found.exists()) return found;
    }
    return {};
}

/// A thread of a process, both of which may be named by texts.
std::size_t thread_of(const JsonView& event) {
    const auto code = [](const JsonView& value) {
        return value.is_text() ? std::hash<std::string_view>{}(value.text())
                               : static_cast<std::size_t>(value.integer(0));
    };
    return code(event["pid"]) * 0x9e3779b97f4a7c15ull + code(event["tid"]);
}

struct HostCall {
    Call call;
    double begin = 0, end = 0;
    std::size_t thread = 0;
    std::int64_t external = -1;
};
struct Launched {
    double at = 0;
    std::size_t thread = 0;
};
struct Kernel {
    Call call;
    std::int64_t external = -1, correlation = -1;
};

class KinetoReader {
  public:
    KinetoReader(const std::string& file, RecordedOperands* operands) : file_(file), operands_(operands) {}

    void member(std::string_view key, const JsonView& value, bool element) {
        if (key == "traceEvents" || (key.empty() && element)) {
            if (element) return event(value);
            if (!value.is_list())
                throw Error("traceEvents is not a list", {.file = file_, .key = "traceEvents"});
        } else if (key == "deviceProperties" && recording_.device.name.empty()) {
            recording_.device.name = value["name"].text();
            recording_.device.memory_bytes =
                static_cast<std::uint64_t>(recorded_count(value["totalGlobalMem"], gates::kBytes, 0, [this] {
                    return SourceLocation{.file = file_, .key = "deviceProperties.totalGlobalMem"};
                }));
        } else if (key == "distributedInfo" && value.is_object() && !element) {
            world_size_ = recorded_count(value["world_size"], gates::kThings, -1, [this] {
                return SourceLocation{.file = file_, .key = "distributedInfo.world_size"};
            });
        }
    }

    Recording finish() {
        if (calls_.empty() && kernels_.empty()) {
            throw Error("the recording has neither calls nor kernels", {.file = file_},
                        "record with the activities CPU and CUDA of the profiler");
        }
        check_operands();
        link_and_order();
        return std::move(recording_);
    }

  private:
    SourceLocation place(const std::string& member = "") const {
        return {
            .file = file_,
            .key = "traceEvents[" + std::to_string(events_ - 1) + "]" + (member.empty() ? "" : "." + member)};
    }
    [[noreturn]] void fail(const std::string& problem) const { throw Error(problem, place()); }
    /// A count among the event's arguments; -1: not recorded.
    std::int64_t count(const JsonView& arguments, const char* name, const Gate& gate) const {
        const JsonView value = arguments[name];
        return recorded_count(value, gate, -1, [&] { return place(std::string("args.") + name); });
    }

    void event(const JsonView& value) {
        ++events_;
        if (!value.is_object()) fail("an event is not an object");
        if (value["ph"].text() != "X") return;
        const Kind kind = kind_of(value);
        if (kind == Kind::other) return;
        const JsonView arguments = value["args"];
        // Since 1970, or since the machine was started.
        constexpr Gate kMoment{"a time in microseconds", -1e18, 1e18};
        if (!value["ts"].exists()) fail("the event has no time `ts`");
        const double at = recorded_number(value["ts"], kMoment, 0, [this] { return place("ts"); }),
                     duration = recorded_number(value["dur"], gates::kMicroseconds, 0,
                                                [this] { return place("dur"); });
        if (kind == Kind::launch) {
            const std::int64_t correlation = arguments["correlation"].integer(-1);
            if (correlation >= 0) launches_[correlation] = {at, thread_of(value)};
            if (value["name"].text().find("Synchronize") != std::string_view::npos)
                waits_.emplace_back(at, duration);
        } else if (kind == Kind::kernel) {
            kernel(value, arguments, at, duration);
        } else {
            call(value, arguments, at, duration);
        }
    }

    void call(const JsonView& value, const JsonView& arguments, double at, double duration) {
        HostCall host;
        host.call.full_name = recording_.names().of(value["name"].text());
        host.begin = at;
        host.end = at + duration;
        host.thread = thread_of(value);
        host.external = first_of(arguments, {"External id", "external id"}).integer(-1);
        host.call.duration_us = duration;
        host.call.is_annotation = is_annotation(value);
        host.call.launched_us = at;
        // Number 0 stands for calls that autograd does not follow in some versions, as -1 does.
        host.call.sequence = arguments["Sequence number"].integer(-1);
        const std::int64_t number = arguments["Record function id"].integer(-1);
        if (operands_ != nullptr) {
            take_operands(host.call, number);
        } else {
            host.call.inputs = inputs(arguments);
        }
        calls_.push_back(std::move(host));
    }

    std::vector<Argument> inputs(const JsonView& arguments) const {
        try {
            return kineto_inputs(arguments);
        } catch (const Error& error) {
            throw Error(error.problem(), place("args"), error.remedy());
        }
    }

    void take_operands(Call& call, std::int64_t number) {
        if (number <= 0) return;
        ++numbered_;
        const auto found = operands_->calls.find(number);
        if (found == operands_->calls.end() || found->second.name != call.full_name) return;
        ++matched_;
        call.inputs = std::move(found->second.inputs);
        call.outputs = std::move(found->second.outputs);
        call.has_results = true;
        call.collective_bytes = found->second.collective_bytes;
        call.ranks = found->second.ranks;
    }

    void check_operands() const {
        if (operands_ == nullptr) return;
        if (numbered_ == 0) {
            throw Error("calls have no `Record function id`, so no other recording can be joined",
                        {.file = file_}, "record with PyTorch 2.1 or later");
        }
        if (matched_ * 2 < numbered_) {
            throw Error("only " + std::to_string(matched_) + " of " + std::to_string(numbered_) +
                            " calls have the same number and name in " + operands_->file,
                        {.file = file_}, "join two recordings of the same run");
        }
    }

    /// Extents that are no numbers above 0 count as not recorded.
    void check_extents(std::string_view name, const Call& kernel) const {
        target::LaunchExtents launch;
        const auto take = [](const std::vector<std::int64_t>& from, std::array<std::uint64_t, 3>& to) {
            for (std::size_t i = 0; i < std::min(from.size(), to.size()); ++i)
                if (from[i] > 0) to[i] = static_cast<std::uint64_t>(from[i]);
        };
        take(kernel.grid, launch.grid);
        take(kernel.block, launch.block);
        if (const auto fault = target::fault_of(launch))
            fail("kernel " + std::string(name) + ": " + fault->problem);
    }

    void kernel(const JsonView& value, const JsonView& arguments, double at, double duration) {
        Kernel kernel;
        kernel.call.full_name = recording_.names().of(value["name"].text());
        kernel.call.on_gpu = true;
        kernel.call.start_us = at;
        kernel.call.duration_us = duration;
        kernel.call.stream =
            arguments["stream"].exists() ? arguments["stream"].integer(-1) : value["tid"].integer(-1);
        kernel.correlation = arguments["correlation"].integer(-1);
        kernel.external = first_of(arguments, {"External id", "external id"}).integer(-1);
        kernel.call.ranks = count(arguments, "Group size", gates::kThings);
        kernel.call.collective_bytes = collective_bytes(count(arguments, "In msg nelems", gates::kElements),
                                                        count(arguments, "Out msg nelems", gates::kElements),
                                                        std::string(arguments["dtype"].text()));
        kernel.call.copied_bytes = count(arguments, "bytes", gates::kBytes);
        const auto extents = [&](const char* name, std::vector<std::int64_t>& to) {
            for (const JsonView extent : arguments[name])
                to.push_back(recorded_count(extent, gates::kThings, 1,
                                            [&] { return place(std::string("args.") + name); }));
        };
        extents("grid", kernel.call.grid);
        extents("block", kernel.call.block);
        check_extents(value["name"].text(), kernel.call);
        kernels_.push_back(std::move(kernel));
    }

    /// In old traces every kernel's external id repeats its correlation.
    bool external_ids_name_calls() const {
        return std::any_of(kernels_.begin(), kernels_.end(), [](const Kernel& kernel) {
            return kernel.external >= 0 && kernel.external != kernel.correlation;
        });
    }

    struct Moment {
        double at, length;
        std::int64_t number;  ///< calls that begin together are recorded in the order in which they began
        bool kernel;
        std::size_t index;
        bool operator<(const Moment& other) const {
            if (at != other.at) return at < other.at;
            if (kernel != other.kernel) return other.kernel;
            if (length != other.length) return length > other.length;
            return number < other.number;
        }
    };

    void link_and_order() {
        std::unordered_map<std::int64_t, std::size_t> by_external;
        if (external_ids_name_calls()) {
            for (std::size_t i = 0; i < calls_.size(); ++i)
                if (calls_[i].external >= 0) by_external.emplace(calls_[i].external, i);
        }
        std::vector<Moment> moments;
        moments.reserve(calls_.size() + kernels_.size());
        for (std::size_t i = 0; i < calls_.size(); ++i) {
            calls_[i].call.id = i + 1;
            moments.push_back(
                {calls_[i].begin, calls_[i].end - calls_[i].begin, calls_[i].external, false, i});
        }
        for (std::size_t i = 0; i < kernels_.size(); ++i) {
            Kernel& kernel = kernels_[i];
            kernel.call.id = calls_.size() + i + 1;
            if (kernel.call.ranks < 0) kernel.call.ranks = world_size_;
            const auto launch = launches_.find(kernel.correlation);
            const auto caller = by_external.find(kernel.external);
            if (caller != by_external.end()) kernel.call.caller = caller->second + 1;
            kernel.call.launched_us = launch != launches_.end()     ? launch->second.at
                                      : caller != by_external.end() ? calls_[caller->second].end
                                                                    : kernel.call.start_us;
            moments.push_back({kernel.call.launched_us, 0, kernel.correlation, true, i});
        }
        std::sort(moments.begin(), moments.end());
        std::sort(waits_.begin(), waits_.end());
        walk(moments);
    }

    /// Kernels come in order of their launch; each is told what the host waited since the one before.
    double waited_until(double at) {
        double sum = 0;
        for (; next_wait_ < waits_.size() && waits_[next_wait_].first <= at; ++next_wait_)
            sum += waits_[next_wait_].second;
        return sum;
    }

    /// In order of time, with the stack of open calls of every thread.
    void walk(const std::vector<Moment>& moments) {
        std::unordered_map<std::size_t, std::vector<std::size_t>> stacks;
        // Times are rounded: what begins where a call ends is after it, unless both begin together.
        const auto closed = [](const HostCall& call, double at) {
            return call.end < at || (call.end == at && call.begin < at);
        };
        const auto innermost = [&](std::size_t thread, double at) -> std::uint64_t {
            std::vector<std::size_t>& stack = stacks[thread];
            while (!stack.empty() && closed(calls_[stack.back()], at)) stack.pop_back();
            return stack.empty() ? 0 : stack.back() + 1;
        };
        for (const Moment& moment : moments) {
            if (moment.kernel) {
                Kernel& kernel = kernels_[moment.index];
                const auto launch = launches_.find(kernel.correlation);
                if (kernel.call.caller == 0 && launch != launches_.end())
                    kernel.call.caller = innermost(launch->second.thread, launch->second.at);
                kernel.call.waited_us = waited_until(kernel.call.launched_us);
                recording_.add(std::move(kernel.call));
                continue;
            }
            HostCall& host = calls_[moment.index];
            host.call.caller = innermost(host.thread, host.begin);
            stacks[host.thread].push_back(moment.index);
            recording_.add(std::move(host.call));
        }
        recording_.finish();
        if (operands_ == nullptr) infer_results(recording_);
    }

    const std::string& file_;
    RecordedOperands* operands_;
    Recording recording_;
    std::vector<HostCall> calls_;
    std::vector<Kernel> kernels_;
    std::unordered_map<std::int64_t, Launched> launches_;
    std::vector<std::pair<double, double>> waits_;  ///< begin and length of waits for the device
    std::size_t next_wait_ = 0;
    std::size_t events_ = 0, numbered_ = 0, matched_ = 0;
    std::int64_t world_size_ = -1;  ///< of collectives whose group was not recorded
};

}  // namespace

Recording read_kineto(std::istream& text, const std::string& file, RecordedOperands* operands) {
    KinetoReader reader(file, operands);
    trace::read_json_members(text, file, [&reader](std::string_view key, JsonView value, bool element) {
        reader.member(key, value, element);
    });
    return reader.finish();
}

}  // namespace heddle::importers
