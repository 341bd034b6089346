#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <set>

#include "driver/cuda/state.h"

namespace heddle::driver {

void complain(const std::string& text) {
    static auto* const said = new std::set<std::string>;
    if (said->insert(text).second) std::fprintf(stderr, "heddle: %s\n", text.c_str());
}

CUresult missing(const char* name) {
    Client& client = Client::get();
    const std::lock_guard<std::recursive_mutex> lock(client.mutex);
    complain(std::string(name) + " is not there yet: it returns an error");
    if (client.connect() == CUDA_SUCCESS) client.tell(Call::missing, Writer().put_text(name));
    return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult without_effect(const char* name) {
    static auto* const named = new std::set<std::string>;
    return named->insert(name).second ? Client::get().tell(Call::without_effect, Writer().put_text(name)) : CUDA_SUCCESS;
}

Client& Client::get() {
    static Client* const client = new Client;  // programs call until their very end
    return *client;
}

CUresult Client::connect() {
    if (socket_ >= 0 && process_ == getpid()) return failure_;
    if (socket_ >= 0) close(socket_);  // the parent's
    process_ = getpid();
    const bool mapped = !devices_.empty();
    failure_ = CUDA_ERROR_NO_DEVICE;
    socket_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const char* const path = std::getenv(kSocketVariable);
    if (path == nullptr) {
        complain("this libcuda.so.1 is that of a virtual GPU: start the program with `heddle run`");
        return failure_;
    }
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path, sizeof address.sun_path - 1);
    if (socket_ < 0 || ::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
        complain("the virtual GPU at " + std::string(path) + " does not answer: " + std::strerror(errno));
        return failure_;
    }
    Writer content;
    content.put(kVersion).put(static_cast<std::uint32_t>(process_));
    if (!send(Call::hello, content)) return failure_;
    // The descriptor of the memory comes with the first byte.
    AnswerHeader header{};
    iovec part{&header, sizeof header};
    msghdr message{};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    const ssize_t count = recvmsg(socket_, &message, MSG_CMSG_CLOEXEC | MSG_WAITALL);
    const cmsghdr* const sent = CMSG_FIRSTHDR(&message);
    if (count != static_cast<ssize_t>(sizeof header) || sent == nullptr) return failure_;
    int memory = -1;
    std::memcpy(&memory, CMSG_DATA(sent), sizeof memory);
    std::vector<char> texts(header.printed + header.message), bytes(header.bytes);
    if (!receive(texts.data(), texts.size()) || !receive(bytes.data(), bytes.size())) return failure_;
    if (header.status != Status::success) {
        complain(std::string(texts.data() + header.printed, header.message));
        close(memory);
        return failure_;
    }
    void* const wanted = reinterpret_cast<void*>(kMemoryBase);
    const int how = MAP_SHARED | MAP_NORESERVE | (mapped ? MAP_FIXED : MAP_FIXED_NOREPLACE);
    if (mmap(wanted, kMemoryBytes, PROT_READ | PROT_WRITE, how, memory, 0) != wanted) {
        complain(std::string("device memory cannot be mapped: ") + std::strerror(errno));
        close(memory);
        return failure_;
    }
    if (memory_ >= 0) close(memory_);
    memory_ = memory;
    Reader reader(bytes.data(), bytes.size());
    devices_.resize(reader.get<std::uint32_t>());
    for (DeviceDescription& device : devices_) device = reader.get<DeviceDescription>();
    failure_ = CUDA_SUCCESS;
    return failure_;
}

namespace {

double thread_us() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return 1e6 * static_cast<double>(now.tv_sec) + 1e-3 * static_cast<double>(now.tv_nsec);
}

/// What the thread has worked since the last call that it sent; 0 for its first.
float host_us() {
    static const bool measured = std::getenv(kHostTimeVariable) != nullptr;
    thread_local double before = 0;
    if (!measured) return 0;
    const double now = thread_us(), worked = before == 0 ? 0 : now - before;
    before = now;
    return static_cast<float>(worked);
}

}  // namespace

bool Client::send(Call call, const Writer& content) {
    const Header header{call, static_cast<std::uint32_t>(content.bytes().size()), host_us()};
    const auto* const first = reinterpret_cast<const char*>(&header);
    std::vector<char> whole;
    whole.reserve(sizeof header + content.bytes().size());
    whole.insert(whole.end(), first, first + sizeof header);
    whole.insert(whole.end(), content.bytes().begin(), content.bytes().end());
    for (std::size_t at = 0; at < whole.size();) {
        const ssize_t sent = ::send(socket_, whole.data() + at, whole.size() - at, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent <= 0) {
            failure_ = CUDA_ERROR_UNKNOWN;
            complain("the virtual GPU has ended");
            return false;
        }
        at += static_cast<std::size_t>(sent);
    }
    return true;
}

// Answers mostly come at once: to look for a while costs less than to be woken.
bool Client::receive(void* bytes, std::size_t count) {
    auto* at = static_cast<char*>(bytes);
    unsigned looks = 200;
    while (count != 0) {
        const ssize_t got = recv(socket_, at, count, looks != 0 ? MSG_DONTWAIT : 0);
        if (got < 0 && errno == EAGAIN && looks != 0) {
            --looks;
            sched_yield();
            continue;
        }
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) {
            failure_ = CUDA_ERROR_UNKNOWN;
            complain("the virtual GPU has ended");
            return false;
        }
        at += got;
        count -= static_cast<std::size_t>(got);
    }
    return true;
}

Received Client::ask(Call call, const Writer& content) {
    Received received;
    AnswerHeader header{};
    if (!send(call, content) || !receive(&header, sizeof header)) return received;
    std::vector<char> texts(header.printed + header.message);
    received.content.resize(header.bytes);
    if (!receive(texts.data(), texts.size()) || !receive(received.content.data(), received.content.size())) return received;
    if (header.printed != 0) {
        std::fwrite(texts.data(), 1, header.printed, stdout);
        std::fflush(stdout);
    }
    if (header.message != 0) complain(std::string(texts.data() + header.printed, header.message));
    received.status = static_cast<CUresult>(header.status);
    return received;
}

CUresult Client::tell(Call call, const Writer& content) {
    outstanding_ = true;
    return send(call, content) ? CUDA_SUCCESS : failure_;
}

bool Client::remap(void* address, std::size_t bytes, std::uint64_t from) {
    return mmap(address, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED, memory_, static_cast<off_t>(from - kMemoryBase)) == address;
}

bool Client::remap_file(void* address, std::size_t bytes, const std::string& path, std::uint64_t offset) {
    const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (file < 0) return false;
    const void* const mapped = mmap(address, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED, file, static_cast<off_t>(offset));
    close(file);
    return mapped == address;
}

CUresult Client::wait_for_order(const Stream& stream) {
    return outstanding_ ? synchronise(&stream) : CUDA_SUCCESS;
}

CUresult Client::synchronise(const Stream* stream) {
    if (const CUresult status = wait_for_held(stream); status != CUDA_SUCCESS) return status;
    outstanding_ = false;
    return ask(Call::synchronise, Writer().put(std::uint32_t{stream == nullptr}).put(stream == nullptr ? static_cast<std::uint32_t>(current_device()) << kDeviceShift : stream->number)).status;
}

CUresult Client::flush() {
    return outstanding_ ? ask(Call::memory_info, Writer().put(std::uint32_t{0})).status : CUDA_SUCCESS;
}

CUresult ready() {
    Client& client = Client::get();
    const CUresult status = client.connect();
    return status == CUDA_SUCCESS ? go_on_with_held() : status;
}

}  // namespace heddle::driver

HEDDLE_API unsigned heddle_missing(const char* name) {
    return heddle::driver::missing(name);
}
