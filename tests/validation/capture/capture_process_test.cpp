// The program itself, as people start it, on the virtual driver: exit codes, a signal, a kill, and going on.
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <thread>
#include <vector>

using nlohmann::json;

namespace {

class Program {
  public:
    Program()
        : folder_(std::filesystem::temp_directory_path() / ("heddle-capture-" + std::to_string(::getpid()))) {
        std::filesystem::remove_all(folder_);
        std::filesystem::create_directories(folder_);
    }
    ~Program() { std::filesystem::remove_all(folder_); }

    std::filesystem::path capture() const { return folder_ / "capture"; }
    std::string messages() const {
        std::ifstream stream(folder_ / "messages");
        return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
    }
    json manifest() const {
        std::ifstream stream(capture() / "manifest.json");
        return json::parse(stream);
    }
    /// Ids of a section; every line must be JSON.
    std::set<std::string> ids(const std::string& section) const {
        std::ifstream stream(capture() / (section + ".jsonl"));
        std::set<std::string> found;
        for (std::string line; std::getline(stream, line);) found.insert(json::parse(line).at("id"));
        return found;
    }
    pid_t start(std::vector<std::string> words) const {
        words.insert(words.begin(), HEDDLE_CAPTURE_PROGRAM);
        std::vector<char*> arguments;
        for (std::string& word : words) arguments.push_back(word.data());
        arguments.push_back(nullptr);
        posix_spawn_file_actions_t actions;
        posix_spawn_file_actions_init(&actions);
        const std::string messages = folder_ / "messages";
        for (const int descriptor : {1, 2})
            posix_spawn_file_actions_addopen(&actions, descriptor, messages.c_str(),
                                             O_WRONLY | O_CREAT | O_APPEND, 0644);
        pid_t process = 0;
        REQUIRE(posix_spawn(&process, HEDDLE_CAPTURE_PROGRAM, &actions, nullptr, arguments.data(), environ) ==
                0);
        posix_spawn_file_actions_destroy(&actions);
        return process;
    }
    static int wait(pid_t process) {
        int status = 0;
        REQUIRE(waitpid(process, &status, 0) == process);
        return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    }
    int run(const std::vector<std::string>& words) const { return wait(start(words)); }
    /// Until the section has some records, or a minute is over.
    void wait_for_records(const std::string& section, std::uintmax_t bytes) const {
        for (int i = 0; i < 6000; ++i) {
            std::error_code missing;
            const auto size = std::filesystem::file_size(capture() / (section + ".jsonl"), missing);
            if (!missing && size > bytes) return;
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
        FAIL("no records");
    }

  private:
    std::filesystem::path folder_;
};

}  // namespace

TEST_CASE_METHOD(Program, "wrong usage and a missing device end with exit code 2 and one line") {
    CHECK(run({}) == 2);
    CHECK(run({"--output", capture(), "--device", "cuda:7"}) == 2);
    const std::string text = messages();
    CHECK_THAT(text, Catch::Contains("no folder for the capture") && Catch::Contains("cuda:7"));
    CHECK(std::count(text.begin(), text.end(), '\n') == 2);
    CHECK(run({"--help"}) == 0);
    CHECK_FALSE(std::filesystem::exists(capture()));
}

TEST_CASE_METHOD(Program,
                 "a capture that was stopped by a signal, and one that was killed, go on to the same end") {
    const std::vector<std::string> words = {"--output", capture(), "--quick", "--sections", "probes"};
    const pid_t stopped = start(words);
    wait_for_records("probes", 0);
    ::kill(stopped, SIGINT);
    const int code_of_stopped = wait(stopped);
    if (code_of_stopped == 0) {
        WARN("skipped: the capture was at its end before the signal came");
        return;
    }
    CHECK(code_of_stopped == 3);
    const auto after_stop = ids("probes");
    CHECK(manifest().at("runs").at(0).at("outcome") == "stopped");

    const pid_t killed = start(words);
    wait_for_records("probes", std::filesystem::file_size(capture() / "probes.jsonl"));
    ::kill(killed, SIGKILL);
    CHECK(wait(killed) == -SIGKILL);
    // The child that did the work ends after its item; until then it keeps others out.
    int code = run(words);
    for (int i = 0; code == 2 && i < 100; ++i) {
        CHECK_THAT(messages(), Catch::Contains("another process is writing a capture there"));
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        code = run(words);
    }
    CHECK(code == 0);
    const json done = manifest();
    CHECK(done.at("silicon") == false);
    CHECK(done.at("sections").at("probes").at("complete") == true);
    CHECK(std::filesystem::exists(capture() / "probes.jsonl"));
    const auto all = ids("probes");
    CHECK(all.size() > after_stop.size());

    std::filesystem::remove_all(capture());
    CHECK(run(words) == 0);
    CHECK(ids("probes") == all);
}
