// A DRAM of one's own for Heddle: every channel answers after a fixed latency and moves one transaction after
// another at its share of the bandwidth. See README.md.
#include <tlm_utils/simple_target_socket.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "models/memory/dram_plugin.h"

namespace {

const sc_core::sc_time kLatency(100, sc_core::SC_NS);

class Channel : public sc_core::sc_module {
  public:
    tlm_utils::simple_target_socket<Channel> socket;

    Channel(const sc_core::sc_module_name& name, double bytes_per_second)
        : sc_module(name), socket("socket"), bytes_per_second_(bytes_per_second) {
        socket.register_b_transport(this, &Channel::transport);
    }
    void reset() { free_ = sc_core::SC_ZERO_TIME; }

  private:
    void transport(tlm::tlm_generic_payload& transaction, sc_core::sc_time& delay) {
        const sc_core::sc_time arrival = sc_core::sc_time_stamp() + delay;
        const sc_core::sc_time duration(transaction.get_data_length() / bytes_per_second_, sc_core::SC_SEC);
        const sc_core::sc_time begin = std::max(arrival, free_);
        free_ = begin + duration;
        delay = free_ + kLatency - sc_core::sc_time_stamp();
        transaction.set_response_status(tlm::TLM_OK_RESPONSE);
    }

    const double bytes_per_second_;
    sc_core::sc_time free_;  // when the data bus is free
};

class Model : public heddle::DramModel {
  public:
    explicit Model(const heddle::DramModelSettings& settings) {
        for (unsigned i = 0; i < settings.channels; ++i)
            channels_.push_back(std::make_unique<Channel>(("channel_" + std::to_string(i)).c_str(),
                                                          settings.bytes_per_second / settings.channels));
    }
    tlm::tlm_target_socket<>& socket(unsigned channel) override { return channels_[channel]->socket; }
    void reset() override {
        for (const auto& channel : channels_) channel->reset();
    }

  private:
    std::vector<std::unique_ptr<Channel>> channels_;
};

}  // namespace

extern "C" unsigned heddle_dram_version() {
    return heddle::kDramPluginVersion;
}

extern "C" heddle::DramModel* heddle_make_dram(const char*, const heddle::DramModelSettings* settings) {
    return new Model(*settings);
}
