#include "validation/capture/program.h"

#include <algorithm>
#include <chrono>
#include <fstream>

#include "isa/common/error.h"
#include "validation/capture/files.h"
#include "validation/capture/json_value.h"
#include "validation/capture/manifest.h"

namespace heddle::capture {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

bool contains(const std::vector<std::string>& list, const std::string& word) {
    return std::find(list.begin(), list.end(), word) != list.end();
}

const char* name_of(Outcome outcome) {
    switch (outcome) {
        case Outcome::complete:
            return "complete";
        case Outcome::stopped:
            return "stopped";
        case Outcome::failed:
            return "failed";
        case Outcome::device_lost:
            return "device lost";
    }
    return "";
}

void make_folder(const std::filesystem::path& folder) {
    std::error_code failure;
    std::filesystem::create_directories(folder, failure);
    if (failure)
        throw Error("cannot make the folder: " + failure.message(), {folder.string()},
                    "choose another --output");
}

Manifest open_manifest(const Device& device, const CaptureRun& run) {
    Manifest now = manifest_of(device, run.extent);
    auto there = read_manifest(run.output);
    if (!there) return now;
    check_same_capture(*there, now, run.output);
    return std::move(*there);
}

/// Records that hold "error".
std::size_t count_errors(const std::filesystem::path& lines) {
    const std::string text = read_file(lines);
    std::size_t count = 0;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        const auto value = parse_json(std::string_view(text).substr(at, end - at));
        if (value && value->find("error") != nullptr) ++count;
        at = end + 1;
    }
    return count;
}

Record telemetry_of(const Device& device) {
    try {
        return device.telemetry();
    } catch (const DeviceError&) {
        return {};
    }
}

/// The item that is being measured, in the file SECTION.doing beside the records: a process that dies without
/// a word (a library that crashes, a call that never returns) leaves it there. It is tried once more; if that
/// ends the same way, it is recorded and passed over.
class ItemMark {
  public:
    ItemMark(const std::filesystem::path& folder, const std::string& section, Journal& journal)
        : path_(folder / (section + ".doing")) {
        if (std::ifstream there(path_); std::getline(there, before_) && before_.size() > 2) {
            const bool again = before_[0] == kAgain;
            before_.erase(0, 2);
            before_.erase(before_.find_last_not_of(' ') + 1);
            if (again && !journal.has(before_))
                journal.add(before_, Record().text("error", "the process ended in the midst of this, twice"));
        }
        file_.open(path_, std::ios::trunc);
    }
    ~ItemMark() {
        std::error_code ignored;
        std::filesystem::remove(path_, ignored);
    }
    ItemMark(const ItemMark&) = delete;
    ItemMark& operator=(const ItemMark&) = delete;

    void begin(const std::string& item) {
        // Always in the same place and never shortened: some file systems wait for the disk when a file is.
        std::string line = {item == before_ ? kAgain : kFirst, ' '};
        line += item;
        line.resize(std::max<std::size_t>(line.size(), 400), ' ');
        file_.seekp(0);
        file_ << line << '\n' << std::flush;
    }

  private:
    static constexpr char kFirst = '1', kAgain = '2';
    std::filesystem::path path_;
    std::ofstream file_;
    std::string before_;
};

/// One section of one run.
class SectionRun {
  public:
    SectionRun(Device& device, const Section& section, const CaptureRun& run, Progress& progress,
               std::function<bool()> stop)
        : device_(device), section_(section), run_(run), progress_(progress), stop_(std::move(stop)) {}

    /// Keeps `state` up to date. `grew`: records were added.
    Outcome run(SectionState& state, bool& grew) {
        const auto begin = Clock::now();
        Journal journal(run_.output, section_.name);
        const std::size_t before = journal.size();
        progress_.begin(section_.name, before);
        state.telemetry_before = telemetry_of(device_);
        state.failure.clear();
        const Outcome outcome = attempt(journal, state.failure);
        grew = journal.size() > before;
        state.complete = outcome == Outcome::complete;
        if (state.complete) journal.finish();
        if (outcome != Outcome::device_lost) state.telemetry_after = telemetry_of(device_);
        state.records = journal.size();
        state.errors = count_errors(run_.output / (std::string(section_.name) + ".jsonl"));
        state.seconds += seconds_since(begin);
        tell(state, outcome);
        return outcome;
    }

  private:
    Outcome attempt(Journal& journal, std::string& failure) {
        ItemMark mark(run_.output, section_.name, journal);
        SectionContext context{device_, journal, run_.extent, stop_,
                               [&](double fraction, const std::string& doing) {
                                   run_.beat();
                                   mark.begin(doing);
                                   progress_.update(fraction, doing);
                               }};
        try {
            return section_.run(context) ? Outcome::complete : Outcome::stopped;
        } catch (const DeviceError& error) {
            failure = error.what();
            return error.lost ? Outcome::device_lost : Outcome::failed;
        } catch (const std::exception& error) {
            // A defect of this section must not cost the others, which may run on a rented machine.
            failure = error.what();
            return Outcome::failed;
        }
    }

    void tell(const SectionState& state, Outcome outcome) {
        std::string line = std::string(section_.name) + ": " + name_of(outcome) + ", " +
                           std::to_string(state.records) + " records";
        if (state.errors > 0) line += " (" + std::to_string(state.errors) + " with an error)";
        line += ", " + duration_text(state.seconds);
        if (!state.failure.empty()) line += "; " + state.failure;
        progress_.say(line);
    }

    Device& device_;
    const Section& section_;
    const CaptureRun& run_;
    Progress& progress_;
    std::function<bool()> stop_;
};

/// The worse of two: what is said at the end.
Outcome worse(Outcome a, Outcome b) {
    return static_cast<int>(a) < static_cast<int>(b) ? b : a;
}

}  // namespace

Outcome run_capture(Device& device, std::span<const Section> sections, const CaptureRun& run,
                    Progress& progress, const std::vector<std::string>& left_out, std::string* stuck) {
    const auto begin = Clock::now();
    make_folder(run.output);
    const FolderLock lock(run.output);
    Manifest manifest = open_manifest(device, run);
    manifest.runs.push_back({date_now(), run.command_line, "running", 0});
    const auto stop = [&] {
        return run.interrupted() ||
               (run.limit_in_minutes && seconds_since(begin) >= *run.limit_in_minutes * 60);
    };
    const auto save = [&](const char* outcome) {
        manifest.runs.back().outcome = outcome;
        manifest.runs.back().seconds = seconds_since(begin);
        write_manifest(manifest, run.output);
    };
    Outcome outcome = Outcome::complete;
    for (const Section& section : sections) {
        const std::string name = section.name;
        if (!run.sections.empty() && !contains(run.sections, name)) continue;
        if (contains(left_out, name)) {
            outcome = worse(outcome, Outcome::failed);
            continue;
        }
        if (!manifest.sections.count(name)) manifest.order.push_back(name);
        SectionState& state = manifest.sections[name];
        if (state.complete) {
            progress.say(name + ": complete, nothing to do");
            continue;
        }
        if (stop()) {
            outcome = worse(outcome, Outcome::stopped);
            break;
        }
        save("running");
        bool grew = false;
        const Outcome of_section = SectionRun(device, section, run, progress, stop).run(state, grew);
        outcome = worse(outcome, of_section);
        if (of_section == Outcome::device_lost) {
            if (stuck != nullptr && !grew) *stuck = name;
            break;
        }
    }
    save(name_of(outcome));
    return outcome;
}

}  // namespace heddle::capture
