// Programs come in here: a socket that they connect to, and a virtual GPU for each of them, until the program that was started has ended.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "driver/server/recording.h"
#include "driver/server/virtual_gpu.h"

namespace heddle::driver {

class Server {
  public:
    /// All arguments must outlive this. Throws heddle::Error when the system gives no socket.
    /// `workload`: what the run is called.
    /// `recording`: keeps what programs ask for; may be nullptr.
    Server(const sim::Hardware& hardware, const GpuOptions& options, std::string workload, RecordingWriter* recording = nullptr);
    ~Server();
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    /// What kSocketVariable says to programs.
    const std::string& path() const { return path_; }
    /// Serves until the process, a child of this one, has ended, and what it has sent is done. Returns its status, as waitpid() has it.
    int serve_until_end_of(pid_t child);
    /// Serves until nobody can write to the descriptor any more, a pipe or a terminal; what was sent until then is done.
    void serve_until_closed(int descriptor);
    /// Of each process that used a device, in the order in which they came.
    std::vector<sim::RunResult> results();

  private:
    struct Client;
    bool read_from(Client& client, bool& more);
    void serve_until_readable(int watched);
    void accept_client();
    void keep_results(Client& client);

    const sim::Hardware& hardware_;
    const GpuOptions& options_;
    const std::string workload_;
    RecordingWriter* const recording_;
    std::uint32_t processes_ = 0;
    TimingModel model_;
    std::string folder_, path_;
    int listener_ = -1;
    std::vector<std::unique_ptr<Client>> clients_;
    std::vector<sim::RunResult> results_;
};

}  // namespace heddle::driver
