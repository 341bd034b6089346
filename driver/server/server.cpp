#include "driver/server/server.h"

#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <thread>

#include "isa/common/error.h"
#include "isa/common/limits.h"

namespace heddle::driver {
namespace {

[[noreturn]] void fail(const std::string& what) {
    throw Error("cannot " + what + ": " + std::strerror(errno));
}

/// The bytes, and a descriptor with the first of them where there is one. False: the program is gone.
bool send_all(int socket, const char* bytes, std::size_t count, int descriptor) {
    while (count != 0) {
        iovec part{const_cast<char*>(bytes), count};
        msghdr message{};
        message.msg_iov = &part;
        message.msg_iovlen = 1;
        alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
        if (descriptor >= 0) {
            message.msg_control = control;
            message.msg_controllen = sizeof control;
            cmsghdr* const header = CMSG_FIRSTHDR(&message);
            header->cmsg_level = SOL_SOCKET;
            header->cmsg_type = SCM_RIGHTS;
            header->cmsg_len = CMSG_LEN(sizeof(int));
            std::memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
        }
        const ssize_t sent = sendmsg(socket, &message, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent <= 0) return false;
        descriptor = -1;
        bytes += sent;
        count -= static_cast<std::size_t>(sent);
    }
    return true;
}

/// A descriptor that is closed in the end.
struct Descriptor {
    explicit Descriptor(int of) : number(of) {}
    ~Descriptor() {
        if (number >= 0) close(number);
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    int number;
};

// What a signal that ends this process leaves nothing of.
char left_socket[sizeof(sockaddr_un::sun_path)], left_folder[sizeof(sockaddr_un::sun_path)];
constexpr int kEndings[] = {SIGTERM, SIGHUP};

void tidy_up(int signal_number) {
    unlink(left_socket);
    rmdir(left_folder);
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

/// While it lives: when a program is ended from outside, by a signal, kernels that still run for it are given up.
class EndWatch {
  public:
    explicit EndWatch(int program) : stop_(eventfd(0, EFD_CLOEXEC)) {
        if (stop_ < 0) fail("watch the program");
        thread_ = std::thread([this, program] {
            pollfd waits[] = {{program, POLLIN, 0}, {stop_, POLLIN, 0}};
            while (poll(waits, 2, -1) < 0 && errno == EINTR) {
            }
            if ((waits[0].revents & POLLIN) == 0) return;
            siginfo_t how{};
            const bool known = waitid(P_PIDFD, static_cast<id_t>(program), &how, WEXITED | WNOWAIT | WNOHANG) == 0;
            if (!known || (how.si_code != CLD_KILLED && how.si_code != CLD_DUMPED)) return;
            // A program that crashed has asked for what it asked for; one that somebody ended is not wanted any more.
            for (const int ending : {SIGKILL, SIGINT, SIGTERM, SIGHUP, SIGQUIT})
                if (how.si_status == ending) set_out_of_time();
        });
    }
    ~EndWatch() {
        const std::uint64_t one = 1;
        [[maybe_unused]] const ssize_t written = write(stop_, &one, sizeof one);
        thread_.join();
        close(stop_);
    }
    EndWatch(const EndWatch&) = delete;
    EndWatch& operator=(const EndWatch&) = delete;

  private:
    int stop_;
    std::thread thread_;
};

}  // namespace

struct Server::Client {
    int socket = -1;
    std::uint32_t process = 0;  ///< in a recording
    VirtualGpu gpu;
    std::vector<char> received;
    Client(int descriptor, std::uint32_t number, const sim::Hardware& hardware, const GpuOptions& options, TimingModel& model)
        : socket(descriptor), process(number), gpu(hardware, options, model) {}
    ~Client() { close(socket); }
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;
};

Server::Server(const sim::Hardware& hardware, const GpuOptions& options, std::string workload, RecordingWriter* recording)
    : hardware_(hardware), options_(options), workload_(std::move(workload)), recording_(recording), model_(sim::gpu_config(hardware)) {
    std::string pattern = (std::filesystem::temp_directory_path() / "heddle-gpu-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) fail("make a folder for a socket");
    folder_ = pattern;
    path_ = folder_ + "/socket";
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path_.size() >= sizeof address.sun_path) throw Error("the name of the temporary folder is too long for a socket", {"TMPDIR", 0, ""}, "use a shorter one");
    std::strncpy(address.sun_path, path_.c_str(), sizeof address.sun_path - 1);
    listener_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener_ < 0 || bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 || listen(listener_, 64) != 0)
        fail("listen at " + path_);
    std::strncpy(left_socket, path_.c_str(), sizeof left_socket - 1);
    std::strncpy(left_folder, folder_.c_str(), sizeof left_folder - 1);
    for (const int ending : kEndings) signal(ending, tidy_up);
}

Server::~Server() {
    for (const int ending : kEndings) signal(ending, SIG_DFL);
    close(listener_);
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
}

void Server::accept_client() {
    const int descriptor = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (descriptor < 0) return;
    clients_.push_back(std::make_unique<Client>(descriptor, processes_++, hardware_, options_, model_));
}

/// False: the program is gone. `more`: it has sent something.
bool Server::read_from(Client& client, bool& more) {
    char buffer[1 << 16];
    // The next message often comes at once: to look for a while costs less than to be woken.
    ssize_t count = -1;
    for (unsigned looks = 200; looks != 0; --looks) {
        count = recv(client.socket, buffer, sizeof buffer, MSG_DONTWAIT);
        if (count >= 0 || errno != EAGAIN) break;
        sched_yield();
    }
    more = count > 0;
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return true;
    if (count <= 0) return false;
    std::vector<char>& received = client.received;
    received.insert(received.end(), buffer, buffer + count);
    std::size_t at = 0;
    while (received.size() - at >= sizeof(Header)) {
        Header header;
        std::memcpy(&header, received.data() + at, sizeof header);
        if (received.size() - at - sizeof header < header.bytes) break;
        const Reader asked(received.data() + at + sizeof header, header.bytes);
        if (recording_ != nullptr) recording_->before(client.process, client.gpu, header.call, asked);
        const std::optional<Answer> answer = client.gpu.handle(header.call, asked, header.host_us);
        if (recording_ != nullptr) recording_->after(client.process, header.call, asked, answer ? &*answer : nullptr);
        at += sizeof header + header.bytes;
        if (!answer) continue;
        const std::vector<char>& content = answer->content.bytes();
        Writer whole;
        whole.put(AnswerHeader{answer->status, static_cast<std::uint32_t>(answer->printed.size()),
                               static_cast<std::uint32_t>(answer->message.size()), static_cast<std::uint32_t>(content.size())});
        whole.put_bytes(answer->printed.data(), answer->printed.size());
        whole.put_bytes(answer->message.data(), answer->message.size());
        whole.put_bytes(content.data(), content.size());
        const int descriptor = header.call == Call::hello ? client.gpu.memory_descriptor() : -1;
        if (!send_all(client.socket, whole.bytes().data(), whole.bytes().size(), descriptor)) return false;
    }
    received.erase(received.begin(), received.begin() + static_cast<std::ptrdiff_t>(at));
    return true;
}

int Server::serve_until_end_of(pid_t child) {
    const Descriptor program(static_cast<int>(syscall(SYS_pidfd_open, child, 0)));
    const int watched = program.number;
    if (watched < 0) fail("watch the program");
    const EndWatch watch(watched);
    serve_until_readable(watched);
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
}

void Server::serve_until_closed(int descriptor) {
    for (char word[256];;) {
        serve_until_readable(descriptor);
        const ssize_t count = read(descriptor, word, sizeof word);
        if (count == 0 || (count < 0 && errno != EINTR)) return;
    }
}

/// Serves until poll() says that there is something to read, or will never be.
void Server::serve_until_readable(int watched) {
    bool ended = false;
    while (!ended) {
        std::vector<pollfd> waits{{watched, POLLIN, 0}, {listener_, POLLIN, 0}};
        for (const auto& client : clients_) waits.push_back({client->socket, POLLIN, 0});
        if (poll(waits.data(), waits.size(), -1) < 0) {
            if (errno == EINTR) continue;
            fail("wait for the program");
        }
        // What it sent before its end is carried out first.
        for (std::size_t i = clients_.size(); i-- > 0;) {
            if (waits[i + 2].revents == 0) continue;
            bool more = true, there = true;
            for (unsigned rounds = 64; rounds != 0 && more && there; --rounds) there = read_from(*clients_[i], more);
            if (there) continue;
            keep_results(*clients_[i]);
            clients_.erase(clients_.begin() + static_cast<std::ptrdiff_t>(i));
        }
        if ((waits[1].revents & POLLIN) != 0) accept_client();
        bool quiet = true;
        for (std::size_t i = 1; i < waits.size(); ++i) quiet = quiet && waits[i].revents == 0;
        ended = quiet && (waits[0].revents & (POLLIN | POLLHUP)) != 0;
    }
}

void Server::keep_results(Client& client) {
    for (sim::RunResult& result : client.gpu.results(workload_)) results_.push_back(std::move(result));
}

std::vector<sim::RunResult> Server::results() {
    for (const auto& client : clients_) keep_results(*client);
    clients_.clear();
    return std::move(results_);
}

}  // namespace heddle::driver
