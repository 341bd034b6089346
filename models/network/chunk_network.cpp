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
    Port(const sc_core::sc_module_name& name, ClockDomain& clock, double bandwidth)
        : Block(name, clock), bandwidth_(bandwidth) {}

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
    double carried() const { return carried_; }

    Cycle tick(Cycle now) override;
    bool can_act(Cycle now) const override {
        return !queue_.empty() && free_ <= now && queue_.top().at <= now;
    }
    void reset() override {
        queue_ = {};
        free_ = 0;
        carried_ = 0;
    }

  private:
    double bandwidth_;
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
    Sender(const sc_core::sc_module_name& name, ClockDomain& clock, const Schedule& schedule,
           const ChunkSettings& settings)
        : Block(name, clock), settings_(settings), run_(schedule, *this) {}

    void connect(const std::vector<std::unique_ptr<Port>>* ports) { ports_ = ports; }
    ScheduleRun& run() { return run_; }
    void begin() {
        run_.begin();
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
    void reset() override {}

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
        Cycle at = run_.next();
        if (!ready_.empty()) at = std::min(at, ready_.top().at);
        if (!arrivals_.empty()) at = std::min(at, arrivals_.top().at);
        return at;
    }
    void send(Message& message, Cycle now);
    void arrive(const Chunk& chunk, Cycle now);

    ChunkSettings settings_;
    ScheduleRun run_;
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
    run_.sent(message.token, now);
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
            run_.act(now);
        }
    }
    return due();
}

}  // namespace

RunOutcome run_chunks(const Schedule& schedule, const std::vector<Link>& links,
                      const ChunkSettings& settings) {
    ClockDomain clock("network_clock", kHertz);
    std::vector<std::unique_ptr<Port>> ports;
    for (std::size_t i = 0; i < links.size(); ++i)
        ports.push_back(
            std::make_unique<Port>(("port" + std::to_string(i)).c_str(), clock, links[i].bandwidth));
    Sender sender("sender", clock, schedule, settings);
    for (const auto& port : ports) port->connect(&ports, &sender);
    sender.connect(&ports);
    clock.restart();
    sender.begin();
    clock.run();
    if (!sender.run().finished()) throw Error("a schedule does not end: " + sender.run().stuck());
    RunOutcome outcome;
    outcome.seconds = static_cast<double>(sender.run().end()) * kPicosecond;
    outcome.events = clock.activations();
    for (const auto& port : ports) outcome.carried.push_back(port->carried());
    return outcome;
}

}  // namespace heddle::models::network
