#include "models/network/chunk_network.h"

#include <algorithm>
#include <deque>

#include "isa/common/error.h"
#include "models/common/clock_domain.h"

namespace heddle::models::network {
namespace {

/// One cycle is a picosecond.
constexpr double kHertz = 1e12;

struct Message;

struct Chunk {
    Message* message = nullptr;
    std::uint32_t hop = 0;  ///< of the message's links
    double bytes = 0;
    Cycle head = 0, tail = 0;  ///< when it has come to this port
    bool last = false;
};

/// A message under way.
struct Message {
    std::uint32_t token = 0;
    const std::vector<LinkId>* links = nullptr;
    double left = 0, rate = 0;
    Cycle may_send = 0;  ///< by its sender's rate
    std::uint32_t under_way = 0;
};

/// Chunks by time, then in the order in which they came.
struct TimedChunk {
    Cycle at;
    std::uint64_t order;
    Chunk chunk;
    bool operator>(const TimedChunk& other) const {
        return at != other.at ? at > other.at : order > other.order;
    }
};
using TimedChunks = std::priority_queue<TimedChunk, std::vector<TimedChunk>, std::greater<>>;

class Sender;

/// The output of a link: a queue and a bandwidth.
class Port : public Block {
  public:
    Port(const sc_core::sc_module_name& name, ClockDomain& clock) : Block(name, clock) {}

    void connect(const std::vector<std::unique_ptr<Port>>* ports, Sender* sender) {
        ports_ = ports;
        sender_ = sender;
    }
    void push(const Chunk& chunk) {
        queue_.push({chunk.head, order_++, chunk});
        wake(std::max(chunk.head, free_));
    }
    /// When it should begin with a chunk, so as to end when the tail has come: a slow chunk does not keep
    /// others waiting.
    Cycle begin_of(const Chunk& chunk, Cycle earliest) const {
        const Cycle duration = picoseconds(chunk.bytes / bandwidth_);
        return chunk.tail > duration ? std::max(earliest, chunk.tail - duration) : earliest;
    }
    void set_bandwidth(double bandwidth) { bandwidth_ = bandwidth; }
    double carried() const { return carried_; }

    Cycle tick(Cycle now) override;
    bool can_act(Cycle now) const override {
        return !queue_.empty() && free_ <= now && queue_.top().at <= now;
    }
    void reset() override {
        queue_ = {};
        order_ = free_ = 0;
        carried_ = 0;
    }

  private:
    double bandwidth_ = 1;
    const std::vector<std::unique_ptr<Port>>* ports_ = nullptr;
    Sender* sender_ = nullptr;
    TimedChunks queue_;
    std::uint64_t order_ = 0;
    Cycle free_ = 0;
    double carried_ = 0;
};

/// All workers: cuts messages into chunks, at their rate and within their window, and runs the schedule.
class Sender : public Block, public Transport {
  public:
    Sender(const sc_core::sc_module_name& name, ClockDomain& clock) : Block(name, clock) {}

    void connect(const std::vector<std::unique_ptr<Port>>* ports) { ports_ = ports; }
    ScheduleRun& run() { return *run_; }
    void begin(const Schedule& schedule, const ChunkSettings& settings) {
        settings_ = settings;
        run_ = std::make_unique<ScheduleRun>(schedule, *this);
        run_->begin();
        wake(0);
    }

    void start(std::uint32_t token, const std::vector<LinkId>& links, double bytes, double rate,
               Cycle now) override {
        // Kept to the end, as what is planned names them.
        messages_.push_back({token, &links, bytes, rate, now, 0});
        plan(now, &messages_.back());
    }
    /// A chunk has left its last port.
    void delivered(const Chunk& chunk, Cycle at) {
        arrivals_.push({at, order_++, chunk});
        wake(at);
    }

    Cycle tick(Cycle now) override;
    bool can_act(Cycle now) const override { return due() <= now; }
    void reset() override {
        messages_.clear();
        ready_ = {};
        arrivals_ = {};
        order_ = 0;
    }

  private:
    struct Ready {
        Cycle at;
        std::uint64_t order;
        Message* message;
        bool operator>(const Ready& other) const {
            return at != other.at ? at > other.at : order > other.order;
        }
    };
    void plan(Cycle at, Message* message) { ready_.push({at, order_++, message}); }
    Cycle due() const {
        Cycle at = run_ ? run_->next() : kNever;
        if (!ready_.empty()) at = std::min(at, ready_.top().at);
        if (!arrivals_.empty()) at = std::min(at, arrivals_.top().at);
        return at;
    }
    void send(Message& message, Cycle now);
    void arrive(const Chunk& chunk, Cycle now);

    ChunkSettings settings_;
    std::unique_ptr<ScheduleRun> run_;
    const std::vector<std::unique_ptr<Port>>* ports_ = nullptr;
    std::deque<Message> messages_;
    std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready_;
    TimedChunks arrivals_;
    std::uint64_t order_ = 0;
};

Cycle Port::tick(Cycle now) {
    if (can_act(now)) {
        Chunk chunk = queue_.top().chunk;
        queue_.pop();
        carried_ += chunk.bytes;
        const Cycle duration = std::max<Cycle>(1, picoseconds(chunk.bytes / bandwidth_));
        free_ = std::max(now + duration, chunk.tail + 1);
        ++chunk.hop;
        chunk.tail = free_;
        if (chunk.hop == chunk.message->links->size()) {
            sender_->delivered(chunk, free_);
        } else {
            Port& next = *(*ports_)[(*chunk.message->links)[chunk.hop]];
            chunk.head = next.begin_of(chunk, now + 1);
            next.push(chunk);
        }
    }
    return queue_.empty() ? kNever : std::max({free_, queue_.top().at, now + 1});
}

void Sender::send(Message& message, Cycle now) {
    if (now < message.may_send || message.under_way >= settings_.window || message.left < 0) return;
    Chunk chunk;
    chunk.message = &message;
    chunk.bytes = std::min(settings_.chunk, message.left);
    message.left -= chunk.bytes;
    chunk.last = message.left <= 0;
    if (chunk.last) message.left = -1;
    // Its sender gives it out at its own rate.
    const Cycle duration = picoseconds(chunk.bytes / message.rate);
    chunk.tail = now + duration;
    message.may_send = now + duration;
    ++message.under_way;
    Port& port = *(*ports_)[message.links->front()];
    chunk.head = port.begin_of(chunk, now + 1);
    port.push(chunk);
    if (!chunk.last) plan(std::max(message.may_send, now), &message);
}

void Sender::arrive(const Chunk& chunk, Cycle now) {
    Message& message = *chunk.message;
    --message.under_way;
    if (!chunk.last) {
        plan(std::max(now, message.may_send), &message);
        return;
    }
    run_->sent(message.token, now);
}

Cycle Sender::tick(Cycle now) {
    while (due() <= now) {
        if (!arrivals_.empty() && arrivals_.top().at <= now) {
            const TimedChunk arrival = arrivals_.top();
            arrivals_.pop();
            arrive(arrival.chunk, now);
        } else if (!ready_.empty() && ready_.top().at <= now) {
            Message* message = ready_.top().message;
            ready_.pop();
            send(*message, now);
        } else {
            run_->act(now);
        }
    }
    return due();
}

}  // namespace

struct ChunkNetwork::Machine {
    explicit Machine(std::size_t most_links) : clock("network_clock", kHertz), sender("sender", clock) {
        for (std::size_t i = 0; i < most_links; ++i)
            ports.push_back(std::make_unique<Port>(("port" + std::to_string(i)).c_str(), clock));
        for (const auto& port : ports) port->connect(&ports, &sender);
        sender.connect(&ports);
    }
    ClockDomain clock;
    std::vector<std::unique_ptr<Port>> ports;
    Sender sender;
};

ChunkNetwork::ChunkNetwork(std::size_t most_links) : machine_(std::make_unique<Machine>(most_links)) {}
ChunkNetwork::~ChunkNetwork() = default;

RunOutcome ChunkNetwork::run(const Schedule& schedule, const std::vector<Link>& links,
                             const ChunkSettings& settings) {
    Machine& m = *machine_;
    if (links.size() > m.ports.size())
        throw Error("the network has " + std::to_string(m.ports.size()) + " links, the schedule needs " +
                    std::to_string(links.size()));
    m.clock.restart();
    m.sender.reset();
    for (std::size_t i = 0; i < m.ports.size(); ++i) {
        m.ports[i]->reset();
        if (i < links.size()) m.ports[i]->set_bandwidth(links[i].bandwidth);
    }
    const std::uint64_t before = m.clock.activations();
    m.sender.begin(schedule, settings);
    m.clock.run();
    if (!m.sender.run().finished()) throw Error("a schedule does not end: " + m.sender.run().stuck());
    RunOutcome outcome;
    outcome.seconds = static_cast<double>(m.sender.run().end()) * kPicosecond;
    outcome.events = m.clock.activations() - before;
    for (std::size_t i = 0; i < links.size(); ++i) outcome.carried.push_back(m.ports[i]->carried());
    return outcome;
}

}  // namespace heddle::models::network
