#include "isa/common/out_of_memory.h"

#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <new>
#include <stdexcept>
#include <system_error>

#include "isa/common/activity.h"

namespace heddle {
namespace {

/// Takes no memory: there is none.
class OutOfMemory : public std::bad_alloc {
  public:
    OutOfMemory() { this_activity().copy_what(what_.data(), what_.size()); }
    const char* what() const noexcept override { return what_.data(); }

  private:
    std::array<char, 160> what_{};  // empty: nobody said what the process is about
};

/// What this process may have at most.
std::uint64_t memory_limit() {
    const auto pages = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES));
    std::uint64_t bytes = pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    rlimit limit{};
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur < bytes) bytes = limit.rlim_cur;
    return bytes;
}

const char* own_name = nullptr;  // of the program; none: it says nothing
int own_exit_code = 2;
std::terminate_handler own_default = nullptr;

/// Exceptions that nobody can catch any more: of memory, for instance where a library needs some in order to
/// give some back; any others are defects.
void end_without_memory() {
    const std::exception_ptr failure = std::current_exception();
    try {
        if (failure) std::rethrow_exception(failure);
    } catch (const std::bad_alloc& error) {
        if (own_name != nullptr)
            std::fprintf(stderr, "%s: %s\n", own_name, out_of_memory_text(error).c_str());
        _exit(own_exit_code);
    } catch (...) {
    }
    own_default();
}

}  // namespace

void name_what_takes_memory(const char* name, int exit_code) {
    own_name = name;
    own_exit_code = exit_code;
    own_default = std::set_terminate(end_without_memory);
    std::set_new_handler(throw_out_of_memory);
}

void leave_telling_to_parent() {
    own_name = nullptr;
}

void throw_out_of_memory() {
    throw OutOfMemory();
}

bool is_out_of_memory(const std::exception& failure) {
    if (const auto* of_system = dynamic_cast<const std::system_error*>(&failure)) {
        return of_system->code() == std::errc::resource_unavailable_try_again ||
               of_system->code() == std::errc::not_enough_memory;
    }
    return dynamic_cast<const std::bad_alloc*>(&failure) != nullptr ||
           dynamic_cast<const std::length_error*>(&failure) != nullptr;
}

std::string out_of_memory_text(const std::exception& failure, const std::string& otherwise) {
    std::string text = "there is not enough memory";
    const auto* named = dynamic_cast<const OutOfMemory*>(&failure);
    const std::string what = named != nullptr && *named->what() != 0 ? named->what() : otherwise;
    if (!what.empty()) text += " for " + what;
    std::array<char, 32> gibibytes{};
    std::snprintf(gibibytes.data(), gibibytes.size(), "%.3g",
                  static_cast<double>(memory_limit()) / (1 << 30));
    return text + ": this process may have " + gibibytes.data() +
           " GiB; is the size right that the input claims? Fewer --jobs, a smaller input or a larger machine "
           "help";
}

}  // namespace heddle
