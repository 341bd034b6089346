#include "sim/distributed/many_devices.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "isa/common/error.h"

namespace heddle::sim {
namespace {

constexpr std::array<const char*, kPurposes> kPurposeNames{"compute", "tensor",   "expert",    "context",
                                                           "data",    "pipeline", "optimizer", "offload"};

/// A program with the edges the other way round.
struct Edges {
    std::vector<std::uint32_t> first, successors;  ///< of work i: successors[first[i] .. first[i + 1])
    std::vector<std::uint32_t> waits;              ///< for so many
};

Edges edges_of(const DeviceProgram& program) {
    const std::size_t count = program.work.size();
    std::vector<std::vector<std::uint32_t>> to(count);
    Edges edges;
    edges.waits.assign(count, 0);
    std::array<std::uint32_t, kLanes> last;
    last.fill(kNoGroup);
    for (std::uint32_t i = 0; i < count; ++i) {
        const Work& work = program.work[i];
        const auto add = [&](std::uint32_t from) {
            to[from].push_back(i);
            ++edges.waits[i];
        };
        std::uint32_t& before = last[static_cast<std::size_t>(work.lane)];
        if (before != kNoGroup) add(before);
        before = i;
        for (const std::uint32_t earlier : work.after) add(earlier);
    }
    for (const auto& list : to) {
        edges.first.push_back(static_cast<std::uint32_t>(edges.successors.size()));
        edges.successors.insert(edges.successors.end(), list.begin(), list.end());
    }
    edges.first.push_back(static_cast<std::uint32_t>(edges.successors.size()));
    return edges;
}

class Simulator {
  public:
    Simulator(const ManyDevices& machine, const DeviceNetwork& network) : machine_(machine), network_(network) {
        for (const auto& program : machine.programs) edges_.push_back(edges_of(*program));
        result_.spans.resize(machine.devices.size());
        for (std::uint32_t d = 0; d < machine.devices.size(); ++d) {
            waits_.push_back(edges_[machine.devices[d].program].waits);
            ready_.emplace_back(waits_.back().size(), 0.0);
            result_.spans[d].resize(waits_.back().size());
            result_.work_simulated += waits_.back().size();
        }
        calls_.resize(machine.groups.size());
        for (std::size_t g = 0; g < machine.groups.size(); ++g)
            calls_[g].made.assign(machine.groups[g].members.size(), 0);
    }

    ManyDevicesResult run() {
        for (std::uint32_t d = 0; d < machine_.devices.size(); ++d)
            for (std::uint32_t i = 0; i < waits_[d].size(); ++i)
                if (edges(d).waits[i] == 0) open_.push_back({d, i});
        while (!open_.empty()) {
            const auto [device, index] = open_.back();
            open_.pop_back();
            begin(device, index);
        }
        if (finished_ != result_.work_simulated) complain();
        for (const auto& spans : result_.spans)
            for (const WorkSpan& span : spans) result_.seconds = std::max(result_.seconds, span.end);
        for (std::uint32_t d = 0; d < machine_.devices.size(); ++d) result_.devices.push_back(account(d));
        return std::move(result_);
    }

  private:
    struct Call {
        double start = 0;
        std::vector<std::pair<std::uint32_t, std::uint32_t>> arrived;  ///< device, work
    };
    struct Calls {
        std::vector<std::size_t> made;  ///< by member
        std::map<std::size_t, Call> open;
    };

    const DeviceProgram& program(std::uint32_t d) const {
        return *machine_.programs[machine_.devices[d].program];
    }
    const Edges& edges(std::uint32_t d) const { return edges_[machine_.devices[d].program]; }

    void begin(std::uint32_t device, std::uint32_t index) {
        const Work& work = program(device).work[index];
        const double ready = ready_[device][index];
        const std::uint32_t group =
            work.collective ? machine_.devices[device].groups[static_cast<std::size_t>(work.slot)] : kNoGroup;
        if (group == kNoGroup) {
            finish(device, index, ready, ready + (work.collective ? 0 : work.seconds));
            return;
        }
        arrive(group, device, index, ready);
    }

    void arrive(std::uint32_t group, std::uint32_t device, std::uint32_t index, double ready) {
        const auto& members = machine_.groups[group].members;
        const Work& work = program(device).work[index];
        Calls& calls = calls_[group];
        const auto member = static_cast<std::size_t>(
            std::find(members.begin(), members.end(), ManyDevices::Member{device, work.slot}) - members.begin());
        const std::size_t number = calls.made[member]++;
        Call& call = calls.open[number];
        call.start = std::max(call.start, ready);
        call.arrived.push_back({device, index});
        if (call.arrived.size() < members.size()) return;
        const Call done = std::move(call);
        calls.open.erase(number);
        const double end = done.start + work.repeats * time_of(group, work.kind, work.bytes);
        for (const auto& [d, i] : done.arrived) finish(d, i, done.start, end);
    }

    double time_of(std::uint32_t group, Exchange kind, double bytes) {
        const auto [place, fresh] = times_.try_emplace(std::tuple{group, kind, bytes}, 0.0);
        if (fresh) place->second = network_.seconds(kind, bytes, machine_.groups[group].devices);
        return place->second;
    }

    void finish(std::uint32_t device, std::uint32_t index, double start, double end) {
        result_.spans[device][index] = {start, end};
        ++finished_;
        const Edges& e = edges(device);
        for (std::uint32_t k = e.first[index]; k < e.first[index + 1]; ++k) {
            const std::uint32_t next = e.successors[k];
            ready_[device][next] = std::max(ready_[device][next], end);
            if (--waits_[device][next] == 0) open_.push_back({device, next});
        }
    }

    [[noreturn]] void complain() const {
        for (std::uint32_t g = 0; g < calls_.size(); ++g)
            for (const auto& [number, call] : calls_[g].open) {
                const auto [device, index] = call.arrived.front();
                throw Error(
                    fmt::format("device {} ({}) waits for ever in {} number {}", device, program(device).name,
                                name_of(program(device).work[index].kind), number),
                    {}, "the members of a group make different calls");
            }
        throw Error("work waits for ever", {}, "dependencies go round in a circle");
    }

    /// Gaps of the compute lane are put down to what ended last before them.
    DeviceAccount account(std::uint32_t d) const {
        const DeviceProgram& p = program(d);
        const auto& spans = result_.spans[d];
        DeviceAccount a;
        double now = 0;
        std::uint32_t last = kNoGroup;
        for (std::uint32_t i = 0; i < p.work.size(); ++i) {
            const Work& work = p.work[i];
            const auto purpose = static_cast<std::size_t>(work.purpose);
            const double span = spans[i].end - spans[i].start;
            if (work.lane != Lane::compute) {
                a.hidden[purpose] += span;
                continue;
            }
            double waited = spans[i].start - now;
            // A collective on the compute lane starts when the last member comes.
            if (waited > 0) {
                std::uint32_t cause = kNoGroup;
                for (const std::uint32_t before : work.after)
                    if (spans[before].end > now &&
                        (cause == kNoGroup || spans[before].end > spans[cause].end))
                        cause = before;
                if (cause != kNoGroup) {
                    // What the other work itself took; the rest of the wait is for other devices.
                    const auto other = static_cast<std::size_t>(p.work[cause].purpose);
                    const double own = std::min(waited, spans[cause].end - spans[cause].start);
                    a.exposed[other] += own;
                    a.hidden[other] -= own;
                    waited -= own;
                }
                a.bubble += waited;
            }
            a.busy[purpose] += span;
            now = spans[i].end;
            last = i;
        }
        // After its last work a device waits for its own messages and then for others.
        double rest = result_.seconds - now;
        for (std::uint32_t i = 0; i < p.work.size() && rest > 0; ++i) {
            if (p.work[i].lane == Lane::compute || spans[i].end <= now) continue;
            const double own = std::min(rest, spans[i].end - std::max(now, spans[i].start));
            a.exposed[static_cast<std::size_t>(p.work[i].purpose)] += own;
            a.hidden[static_cast<std::size_t>(p.work[i].purpose)] -= own;
            rest -= own;
        }
        a.bubble += std::max(0.0, rest);
        static_cast<void>(last);
        return a;
    }

    const ManyDevices& machine_;
    const DeviceNetwork& network_;
    std::vector<Edges> edges_;
    std::vector<std::vector<std::uint32_t>> waits_;
    std::vector<std::vector<double>> ready_;
    std::vector<Calls> calls_;
    std::map<std::tuple<std::uint32_t, Exchange, double>, double> times_;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> open_;
    std::uint64_t finished_ = 0;
    ManyDevicesResult result_;
};

/// Numbers for equal things.
template <class Key>
class Numbering {
  public:
    std::uint32_t operator()(const Key& key) {
        return known_.try_emplace(key, static_cast<std::uint32_t>(known_.size())).first->second;
    }
    std::size_t size() const { return known_.size(); }

  private:
    std::map<Key, std::uint32_t> known_;
};

using GroupLook = std::pair<std::uint32_t, std::vector<std::pair<std::uint32_t, Slot>>>;

std::vector<std::uint32_t> look_of_groups(const ManyDevices& machine, const std::vector<std::uint32_t>& shapes,
                                          const std::vector<std::uint32_t>& classes) {
    Numbering<GroupLook> number;
    std::vector<std::uint32_t> looks;
    for (std::size_t g = 0; g < machine.groups.size(); ++g) {
        GroupLook look{shapes[g], {}};
        for (const ManyDevices::Member& member : machine.groups[g].members)
            look.second.push_back({classes[member.device], member.slot});
        std::sort(look.second.begin(), look.second.end());
        look.second.erase(std::unique(look.second.begin(), look.second.end()), look.second.end());
        looks.push_back(number(look));
    }
    return looks;
}

}  // namespace

std::string name_of(Purpose purpose) {
    return kPurposeNames[static_cast<std::size_t>(purpose)];
}

std::uint32_t ManyDevices::add_device(std::uint32_t program) {
    Device device;
    device.program = program;
    device.groups.fill(kNoGroup);
    devices.push_back(device);
    return static_cast<std::uint32_t>(devices.size() - 1);
}

void ManyDevices::add_group(const std::vector<Member>& members) {
    if (members.size() < 2) return;
    Group group;
    group.members = members;
    for (const Member& member : members) {
        group.devices.devices.push_back(member.device);
        devices[member.device].groups[static_cast<std::size_t>(member.slot)] =
            static_cast<std::uint32_t>(groups.size());
    }
    groups.push_back(std::move(group));
}

void find_neighbours(ManyDevices& machine, const DeviceNetwork& network) {
    // Groups by their slots and places; those that touch are joined (union-find over places).
    std::map<std::vector<Slot>, std::vector<std::uint32_t>> kinds;
    for (std::uint32_t g = 0; g < machine.groups.size(); ++g) {
        std::vector<Slot> slots;
        for (const ManyDevices::Member& member : machine.groups[g].members)
            if (slots.empty() || slots.back() != member.slot) slots.push_back(member.slot);
        kinds[slots].push_back(g);
    }
    for (const auto& [slots, groups] : kinds) {
        const bool pairs = slots.size() > 1 || slots.front() == Slot::shared_weights;
        std::map<std::uint32_t, std::uint32_t> parent;
        const auto root = [&](std::uint32_t place) {
            while (parent.try_emplace(place, place).first->second != place) place = parent[place];
            return place;
        };
        const auto places = [&](std::uint32_t g) {
            std::vector<std::uint32_t> list;
            for (const std::uint32_t device : machine.groups[g].devices.devices) {
                const std::uint32_t place = network.place_of(device);
                if (list.empty() || list.back() != place) list.push_back(place);
            }
            return list;
        };
        std::map<std::vector<std::uint32_t>, std::vector<std::uint32_t>> bundles;
        if (pairs) {
            for (const std::uint32_t g : groups) bundles[places(g)].push_back(g);
        } else {
            for (const std::uint32_t g : groups) {
                const std::vector<std::uint32_t> list = places(g);
                for (const std::uint32_t place : list) parent[root(place)] = root(list.front());
            }
            for (const std::uint32_t g : groups)
                bundles[{root(network.place_of(machine.groups[g].devices.devices.front()))}].push_back(g);
        }
        for (const auto& [place, members] : bundles) {
            std::shared_ptr<std::vector<DeviceList>> together;
            if (members.size() > 1) {
                together = std::make_shared<std::vector<DeviceList>>();
                for (const std::uint32_t g : members) together->push_back(machine.groups[g].devices.devices);
            }
            for (const std::uint32_t g : members) {
                machine.groups[g].devices.together = together;
                machine.groups[g].devices.shape = network.shape_of(machine.groups[g].devices);
            }
        }
    }
}

ManyDevices fold(const ManyDevices& machine, const DeviceNetwork& network) {
    Numbering<std::uint64_t> shape_number;
    std::vector<std::uint32_t> shapes;
    for (const ManyDevices::Group& group : machine.groups)
        shapes.push_back(
            shape_number(group.devices.shape != 0 ? group.devices.shape : network.shape_of(group.devices)));
    std::vector<std::uint32_t> classes;
    for (const ManyDevices::Device& device : machine.devices) classes.push_back(device.program);
    std::size_t count = 0;
    for (;;) {
        const std::vector<std::uint32_t> looks = look_of_groups(machine, shapes, classes);
        Numbering<std::vector<std::uint32_t>> number;
        std::vector<std::uint32_t> finer;
        for (std::size_t d = 0; d < machine.devices.size(); ++d) {
            std::vector<std::uint32_t> look{classes[d]};
            for (const std::uint32_t group : machine.devices[d].groups)
                look.push_back(group == kNoGroup ? kNoGroup : looks[group]);
            finer.push_back(number(look));
        }
        classes = std::move(finer);
        if (number.size() == count) break;
        count = number.size();
    }
    ManyDevices folded;
    folded.programs = machine.programs;
    folded.stands_for.assign(count, 0);
    std::vector<std::uint32_t> representative(count, kNoGroup);
    for (std::uint32_t d = 0; d < machine.devices.size(); ++d) {
        ++folded.stands_for[classes[d]];
        if (representative[classes[d]] == kNoGroup) representative[classes[d]] = d;
    }
    for (const std::uint32_t d : representative) folded.add_device(machine.devices[d].program);
    // Groups that look alike are one, in which each class takes part once.
    const std::vector<std::uint32_t> looks = look_of_groups(machine, shapes, classes);
    std::map<std::uint32_t, std::uint32_t> known;
    for (std::uint32_t g = 0; g < machine.groups.size(); ++g) {
        const auto [place, fresh] =
            known.try_emplace(looks[g], static_cast<std::uint32_t>(folded.groups.size()));
        if (!fresh) continue;
        ManyDevices::Group group;
        group.devices = machine.groups[g].devices;
        for (const ManyDevices::Member& member : machine.groups[g].members) {
            const ManyDevices::Member image{classes[member.device], member.slot};
            if (std::find(group.members.begin(), group.members.end(), image) != group.members.end()) continue;
            group.members.push_back(image);
            folded.devices[image.device].groups[static_cast<std::size_t>(image.slot)] = place->second;
        }
        folded.groups.push_back(std::move(group));
    }
    return folded;
}

ManyDevicesResult simulate_devices(const ManyDevices& machine, const DeviceNetwork& network) {
    return Simulator(machine, network).run();
}

}  // namespace heddle::sim
