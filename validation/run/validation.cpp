#include "validation/run/validation.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <new>
#include <set>
#include <stdexcept>
#include <utility>

#include "isa/common/error.h"
#include "sim/hardware/load_hardware.h"
#include "sim/tpu/tpu_machine.h"
#include "validation/compare/kernels.h"
#include "validation/compare/numerics.h"
#include "validation/compare/probes.h"
#include "validation/compare/recorded_gemms.h"
#include "validation/compare/recorded_rows.h"
#include "validation/compare/recorded_vectors.h"
#include "validation/compare/revealed_orders.h"
#include "validation/compare/timing.h"
#include "validation/compare/tpu.h"
#include "validation/compare/tpu_timing.h"
#include "validation/compare/training.h"
#include "validation/read/recorded_capture.h"
#include "validation/recorded/tensor_core_vectors.h"

namespace heddle::validation {
namespace {

namespace fs = std::filesystem;

using Captures = std::vector<std::unique_ptr<RecordedCapture>>;
using CompareCapture = std::vector<Comparison> (*)(const RecordedCapture&, const CompareOptions&);

/// What one section of a capture is good for.
struct SectionComparison {
    Subject subject;
    const char* section;
    const char* what;  ///< for "not yet recorded: ..."
    CompareCapture compare;
};

/// bf16 and int8 products once more, by the model of a TPU.
std::vector<Comparison> compare_with_tpu(const RecordedCapture& capture, const CompareOptions& options) {
    return compare_tpu(capture, sim::tpu_config(sim::load_hardware("tpu-v4")), options);
}

const std::vector<SectionComparison>& section_comparisons() {
    static const std::vector<SectionComparison> all{
        {Subject::numerics, "numerics", "GEMMs of cuBLASLt, bit for bit", compare_numerics},
        {Subject::numerics, "order", "the order in which cuBLASLt adds", compare_order},
        {Subject::numerics, "probes", "open questions about matrix instructions", compare_probes},
        {Subject::numerics, "numerics", "bf16 and int8 products on the TPU beside those of cuBLASLt",
         compare_with_tpu},
        {Subject::kernels, "kernels", "kernels of Heddle's library on a GPU, bit for bit", compare_kernels},
        {Subject::timing, "timing", "times of micro-benchmarks, GEMMs and kernels", compare_timing},
        {Subject::losses, "training", "losses and gradients of training steps", compare_training},
    };
    return all;
}

bool wanted(const ValidationOptions& options, Subject subject) {
    return std::find(options.subjects.begin(), options.subjects.end(), subject) != options.subjects.end();
}

void add(Validation& validation, std::vector<Comparison> comparisons) {
    for (Comparison& comparison : comparisons) validation.comparisons.push_back(std::move(comparison));
}

void compare_recordings(const ValidationOptions& options, Validation& validation) {
    const fs::path folder = options.data.empty() ? fs::path() : tensor_core_folder(options.data);
    if (folder.empty()) {
        validation.missing.push_back(
            "not here: recorded tensor-core vectors (git clone "
            "https://github.com/north-numerical-computing/MATLAB-tensor-core, then --data "
            "MATLAB-tensor-core)");
        return;
    }
    validation.comparisons.push_back(compare_recorded_vectors(folder, options.compare));
}

/// Compares one section. Values that no reader found fault with and that no calculation can be made with (a
/// matrix larger than the memory, an order that skips summands) are the capture's fault too, and named as
/// such.
std::vector<Comparison> compare_section(const SectionComparison& comparison, const RecordedCapture& capture,
                                        const CompareOptions& options) {
    std::string problem;
    try {
        return comparison.compare(capture, options);
    } catch (const nlohmann::json::exception& error) {
        problem = error.what();
    } catch (const std::logic_error& error) {
        problem = error.what();
    } catch (const std::bad_alloc&) {
        problem = "there is not enough memory for what it describes";
    }
    throw Error("the section cannot be compared: " + problem,
                {(capture.folder() / (std::string(comparison.section) + ".jsonl")).string()},
                "the capture is damaged, or made by another version: copy it again or capture again");
}

/// What one subject has to show.
Validation compare_subject(Subject subject, const ValidationOptions& options, const Captures& captures) {
    Validation found;
    if (subject == Subject::numerics) compare_recordings(options, found);
    for (const SectionComparison& comparison : section_comparisons()) {
        if (comparison.subject != subject) continue;
        bool recorded = false;
        for (const auto& capture : captures) {
            if (comparison.compare == nullptr || !capture->has(comparison.section)) continue;
            recorded = true;
            add(found, compare_section(comparison, *capture, options.compare));
        }
        found.looked_for.emplace_back(comparison.what);
        if (!recorded) found.missing.push_back("not yet recorded: " + std::string(comparison.what));
    }
    if (subject == Subject::tpu) add(found, compare_tpu_timing(options.data, options.compare));
    if (subject == Subject::timing) {
        add(found, compare_published_timing(options.compare));
        add(found, compare_recorded_gemms(options.data, options.compare));
        add(found, compare_recorded_rows(options.data, options.compare));
    }
    return found;
}

/// Sections that were stopped before their end, and records that are errors.
void tell_what_is_incomplete(const Captures& captures, Validation& validation) {
    for (const auto& capture : captures) {
        for (const std::string& name : capture->sections()) {
            const CapturedSection& section = capture->section(name);
            const auto errors =
                std::count_if(section.records.begin(), section.records.end(),
                              [](const auto& record) { return record.values.contains("error"); });
            const std::string where = "section `" + name + "` of " + capture->folder().string();
            if (!section.complete)
                validation.missing.push_back("incomplete: " + where + " was stopped before its end");
            if (errors > 0)
                validation.missing.push_back("failed when recorded: " + std::to_string(errors) + " of " +
                                             std::to_string(section.records.size()) + " records of " + where);
        }
    }
}

/// A bar that judges nothing would seem to hold: a category that was not compared is an error.
void check_error_bars(const CompareOptions& options, const Validation& validation) {
    std::vector<std::string> categories;
    for (const Comparison& comparison : validation.comparisons)
        for (const CategorySummary& summary : summarise(comparison.rows))
            if (summary.quantities > 0 &&
                std::find(categories.begin(), categories.end(), summary.category) == categories.end())
                categories.push_back(summary.category);
    for (const auto& [category, percent] : options.error_bars) {
        if (std::find(categories.begin(), categories.end(), category) != categories.end()) continue;
        std::string known;
        for (const std::string& name : categories)
            known += (known.empty() ? "with figures: `" : ", `") + name + "`";
        throw Error("no figures of the category `" + category + "` were compared", {"--bar", 0, ""},
                    known.empty() ? "name a capture with times: --capture DIR" : known);
    }
}

/// Where the user's own choice left nothing, that is the first reason.
void tell_why_nothing_was_compared(const CompareOptions& options, Validation& validation) {
    if (anything_compared(validation.comparisons)) return;
    if (!options.hardware.empty())
        validation.missing.insert(validation.missing.begin(), "nothing is here for " + options.hardware);
    if (!options.filter.empty())
        validation.missing.insert(validation.missing.begin(),
                                  "no row has `" + options.filter + "` in its name or its category");
}

/// Folders in the order in which they are looked in, each once.
void add_captures(std::vector<fs::path>& captures, std::set<fs::path>& known, const fs::path& folder) {
    for (const fs::path& capture : captures_in(folder)) {
        std::error_code ignored;
        if (known.insert(fs::weakly_canonical(capture, ignored)).second) captures.push_back(capture);
    }
}

}  // namespace

const char* name_of(Subject subject) {
    switch (subject) {
        case Subject::numerics:
            return "numerics";
        case Subject::kernels:
            return "kernels";
        case Subject::timing:
            return "timing";
        case Subject::losses:
            return "losses";
        case Subject::tpu:
            return "tpu";
    }
    return "";
}

const std::vector<Subject>& subjects() {
    static const std::vector<Subject> all{Subject::numerics, Subject::kernels, Subject::timing,
                                          Subject::losses, Subject::tpu};
    return all;
}

bool Validation::holds() const {
    return std::all_of(comparisons.begin(), comparisons.end(),
                       [](const Comparison& comparison) { return comparison.holds(); });
}

Validation validate(const ValidationOptions& options) {
    Captures captures;
    for (const fs::path& folder : options.captures)
        captures.push_back(std::make_unique<RecordedCapture>(folder, options.allow_simulator));
    // Times are simulated on worker processes, for several devices; that must come before a model is made in
    // this process, which can hold but one. They are shown in their place all the same.
    Validation timing, tpu;
    if (wanted(options, Subject::timing)) timing = compare_subject(Subject::timing, options, captures);
    if (wanted(options, Subject::tpu)) tpu = compare_subject(Subject::tpu, options, captures);
    Validation validation;
    for (const Subject subject : subjects()) {
        if (!wanted(options, subject)) continue;
        Validation* const before = subject == Subject::timing ? &timing
                                   : subject == Subject::tpu  ? &tpu
                                                              : nullptr;
        Validation found =
            before != nullptr ? std::exchange(*before, {}) : compare_subject(subject, options, captures);
        add(validation, std::move(found.comparisons));
        validation.missing.insert(validation.missing.end(), found.missing.begin(), found.missing.end());
        validation.looked_for.insert(validation.looked_for.end(), found.looked_for.begin(),
                                     found.looked_for.end());
    }
    check_error_bars(options.compare, validation);
    tell_what_is_incomplete(captures, validation);
    tell_why_nothing_was_compared(options.compare, validation);
    return validation;
}

std::vector<fs::path> installed_captures() {
    std::vector<fs::path> captures;
    std::set<fs::path> known;
    std::error_code failure;
    const fs::path executable = fs::read_symlink("/proc/self/exe", failure);
    if (!failure) {
        // <source>/build/sim/cli/heddle, so that a tree that was moved after building still finds its files.
        add_captures(captures, known, executable.parent_path() / "../../../validation/captures");
        add_captures(captures, known, executable.parent_path() / "../share/heddle/captures");
    }
    add_captures(captures, known, fs::path(HEDDLE_SOURCE_DIRECTORY) / "validation" / "captures");
    return captures;
}

fs::path data_folder() {
    if (const char* variable = std::getenv("HEDDLE_DATA")) return variable;
    std::error_code ignored;
    const fs::path beside = fs::path(HEDDLE_SOURCE_DIRECTORY) / ".." / "shared" / "data";
    return fs::is_directory(beside, ignored) ? fs::weakly_canonical(beside, ignored) : fs::path();
}

}  // namespace heddle::validation
