// Runs a fuzz target without libFuzzer, whatever the compiler: a given number of damaged copies of sample
// files, always the same ones. What a target may not do ends the process.
//
//   PROGRAM NUMBER SAMPLE...
#include <fcntl.h>
#include <sys/time.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "support/text_mutation.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

constexpr unsigned kSeed = 20261122;
constexpr unsigned kSeconds = 60;  // of processor time for one input, however slow the build
constexpr const char* kKept = "heddle-damaged-input";

const std::string* input = nullptr;  // at hand

void keep_input() {
    const int file = ::open(kKept, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (file < 0 || input == nullptr) return;
    if (::write(file, input->data(), input->size()) >= 0)
        std::fprintf(stderr, "the input that ended it is in %s\n", kKept);
    ::close(file);
}

void end_by(int signal) {
    keep_input();
    std::signal(signal, SIG_DFL);
    std::raise(signal);
}

std::string text_of(const char* path) {
    std::ifstream stream(path, std::ios::binary);
    std::ostringstream text;
    text << stream.rdbuf();
    return text.str();
}

void take(const std::string& text) {
    input = &text;
    const itimerval limit{{}, {kSeconds, 0}};
    ::setitimer(ITIMER_PROF, &limit, nullptr);
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
}

}  // namespace

int main(int argument_count, char** arguments) {
    if (argument_count < 3) {
        std::fprintf(stderr, "usage: %s NUMBER SAMPLE...\n", arguments[0]);
        return 2;
    }
    // std::terminate() raises SIGABRT, the timer SIGPROF.
    for (const int signal : {SIGSEGV, SIGABRT, SIGFPE, SIGBUS, SIGPROF}) std::signal(signal, end_by);
    const unsigned long number = std::strtoul(arguments[1], nullptr, 10);
    std::vector<std::string> samples;
    for (int i = 2; i < argument_count; ++i) {
        samples.push_back(text_of(arguments[i]));
        if (samples.back().empty()) {
            std::fprintf(stderr, "%s is empty or missing\n", arguments[i]);
            return 2;
        }
        take(samples.back());
    }
    std::mt19937 random(kSeed);
    for (unsigned long i = 0; i < number; ++i) {
        const std::string& original = samples[i % samples.size()];
        const std::string damaged =
            heddle::test::damaged(original, samples[random() % samples.size()], random);
        take(damaged);
    }
    std::printf("%lu damaged inputs\n", number);
    return 0;
}
