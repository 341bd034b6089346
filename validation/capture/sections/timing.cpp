// How long things take: micro-benchmarks as PTX, and the vendor's GEMMs.
//
// Records, by "kind":
//   microbenchmark  "group", "parameters", "cycles" or "microseconds" (every repetition), "value" and "unit",
//                   "sm_clock_mhz" (last measured); more by benchmark. Bytes: a distribution, 16-bit cycles.
//   gemm            "family", "problem", "algorithm" (the heuristic's first), "cold" and "warm" (L2):
//                   microseconds of every repetition in a CUDA graph; "value": median of cold, "unit": "us".
//   gemm_algorithms "problem", "algorithms": of up to six, "algorithm" with "cold".
//   sustained       one GEMM over and over for half a second: "value": microseconds of each, "telemetry".
//   telemetry       clocks, power, temperature and the SM clock as measured.
// Any of them may have "error" in place of what could not be measured, GEMMs "not_available" where the
// library has no algorithm.
#include <algorithm>
#include <chrono>
#include <optional>

#include "validation/capture/blas_record.h"
#include "validation/capture/microbenchmarks/benchmark.h"
#include "validation/capture/microbenchmarks/launching.h"
#include "validation/capture/section.h"
#include "validation/capture/sections/gemm_sweep.h"

namespace heddle::capture {
namespace {

/// One item of the journal.
struct Item {
    std::string id;
    std::function<void(Record&, std::vector<std::byte>&)> measure;
};

class TimingSection {
  public:
    explicit TimingSection(SectionContext& context) : context_(context), device_(context.device) {}

    bool run() {
        plan();
        for (std::size_t i = 0; i < items_.size(); ++i) {
            if (context_.journal.has(items_[i].id)) continue;
            if (context_.stop()) return false;
            context_.progress(static_cast<double>(i) / static_cast<double>(items_.size()), items_[i].id);
            measure(items_[i]);
        }
        return true;
    }

  private:
    bool quick() const { return context_.extent == Extent::quick; }

    /// What is most worth knowing first.
    void plan() {
        const std::vector<Benchmark> benchmarks = microbenchmarks();
        add_telemetry("begin");
        for (const Benchmark& benchmark : benchmarks)
            if (benchmark.quick) add_benchmark(benchmark);
        add_telemetry("before_gemms");
        add_gemms(0, 0);
        add_telemetry("after_gemms_0");
        if (!quick()) {
            add_gemms(1, 1);
            add_telemetry("after_gemms_1");
            for (std::size_t i = 0; i < benchmarks.size(); ++i) {
                if (!benchmarks[i].quick) add_benchmark(benchmarks[i]);
                if (i % 100 == 99) add_telemetry("after_benchmark_" + std::to_string(i));
            }
            add_algorithms();
            add_sustained();
            add_telemetry("after_sustained");
            add_gemms(2, 9);
        }
        add_telemetry("end");
    }

    void measure(const Item& item) {
        Record record;
        std::vector<std::byte> bytes;
        std::string error;
        bool lost = false;
        try {
            item.measure(record, bytes);
        } catch (const DeviceError& problem) {
            error = problem.what();
            lost = problem.lost;
        } catch (const std::bad_alloc&) {
            error = "not enough memory on the host";
        } catch (const std::exception& problem) {
            error = problem.what();
        }
        if (!error.empty()) record.text("error", error);
        context_.journal.add(item.id, record, bytes);
        // The item is marked, so that the next run does not begin with it.
        if (lost) throw DeviceError(item.id + ": " + error, true);
    }

    void add_telemetry(const std::string& when) {
        items_.push_back({"telemetry/" + when, [this](Record& record, std::vector<std::byte>&) {
                              record.text("kind", "telemetry");
                              record.object("telemetry", device_.telemetry());
                              sm_clock_ = measure_sm_clock(device_, device_.is_silicon() ? 5 : 1);
                              record.number("sm_clock_mhz", *sm_clock_);
                          }});
    }

    void add_benchmark(const Benchmark& benchmark) {
        if (!benchmark.runs_on(device_.compute_capability())) return;
        items_.push_back({benchmark.id, [this, benchmark](Record& record, std::vector<std::byte>& bytes) {
                              record.text("kind", "microbenchmark").text("group", benchmark.group);
                              Record parameters;
                              for (const BenchmarkParameter& parameter : benchmark.parameters)
                                  parameters.integer(parameter.name, parameter.value);
                              record.object("parameters", parameters);
                              MeasureSettings settings;
                              settings.repetitions = device_.is_silicon() ? 5 : 1;
                              Measurement found = benchmark.measure(device_, settings);
                              record.number("value", found.value).text("unit", found.unit);
                              if (!found.cycles.empty()) record.numbers("cycles", found.cycles);
                              if (!found.microseconds.empty())
                                  record.numbers("microseconds", found.microseconds);
                              if (!found.details.empty()) record.object("details", found.details);
                              if (sm_clock_) record.number("sm_clock_mhz", *sm_clock_);
                              bytes = std::move(found.bytes);
                          }});
    }

    // GEMMs.

    GemmOperandPool& pool() {
        if (!pool_) {
            std::uint64_t bytes = 1 << 20;
            for (const TimedGemm& gemm : gemms_)
                if (!quick() || gemm.quick) bytes = std::max(bytes, largest_operand(gemm.problem));
            const std::uint64_t room = device_.free_bytes() / 4;
            pool_.emplace(device_, std::min(bytes, room));
        }
        return *pool_;
    }

    Blas& blas() {
        Blas* blas = device_.blas();
        if (blas == nullptr) throw DeviceError("this device has no BLAS");
        return *blas;
    }

    /// The heuristic's algorithms, the first with what its launch looks like.
    std::vector<GemmAlgorithm> algorithms(const GemmProblem& problem, unsigned maximum,
                                          const GemmOperands& operands) {
        std::vector<GemmAlgorithm> found = blas().algorithms(problem, maximum);
        for (GemmAlgorithm& algorithm : found) {
            try {
                blas().observe(problem, algorithm, operands);
            } catch (const DeviceError& error) {
                if (error.lost) throw;  // else the times are worth having without the names
            }
        }
        return found;
    }

    void add_gemms(unsigned first_priority, unsigned last_priority) {
        unsigned added = 0;
        for (const TimedGemm& gemm : gemms_) {
            if (gemm.priority < first_priority || gemm.priority > last_priority) continue;
            if (quick() && (!gemm.quick || added >= kQuickGemms)) continue;
            ++added;
            items_.push_back({gemm.id(), [this, gemm](Record& record, std::vector<std::byte>&) {
                                  record.text("kind", "gemm").text("family", gemm.family);
                                  record.object("problem", record_of(gemm.problem));
                                  const GemmOperands operands = pool().operands(gemm.problem);
                                  const auto found = algorithms(gemm.problem, 1, operands);
                                  if (found.empty()) {
                                      record.text("not_available", "the library has no algorithm for it");
                                      return;
                                  }
                                  record.object("algorithm", record_of(found.front()));
                                  add_times(record, gemm.problem, found.front(), operands, true);
                              }});
        }
    }

    void add_times(Record& record, const GemmProblem& problem, const GemmAlgorithm& algorithm,
                   const GemmOperands& operands, bool warm_too) {
        const GemmTimes times = time_gemm(device_, problem, algorithm, operands, warm_too);
        record.numbers("cold", times.cold);
        if (!times.warm.empty()) record.numbers("warm", times.warm);
        record.number("value", median(times.cold)).text("unit", "us");
    }

    void add_algorithms() {
        for (const TimedGemm& gemm : gemms_) {
            if (!wants_all_algorithms(gemm)) continue;
            const GemmProblem problem = gemm.problem;
            items_.push_back(
                {"algorithms/" + problem.name(), [this, problem](Record& record, std::vector<std::byte>&) {
                     record.text("kind", "gemm_algorithms");
                     record.object("problem", record_of(problem));
                     const GemmOperands operands = pool().operands(problem);
                     std::vector<Record> all;
                     for (const GemmAlgorithm& algorithm : algorithms(problem, 6, operands)) {
                         Record one;
                         one.object("algorithm", record_of(algorithm));
                         add_times(one, problem, algorithm, operands, false);
                         all.push_back(one);
                     }
                     record.objects("algorithms", all);
                 }});
        }
    }

    /// Long enough for the power limit to set the clock.
    void add_sustained() {
        for (const char* name : {"cube bf16", "cube e4m3", "cube f16", "memory bf16"}) {
            for (const TimedGemm& gemm : gemms_) {
                const bool memory = std::string(name).rfind("memory", 0) == 0;
                const bool wanted =
                    memory ? gemm.family == "decode" && gemm.problem.m == 16 && gemm.problem.n == 28672
                           : gemm.family == "cube" && gemm.problem.m == 8192 &&
                                 gemm.problem.fast_accumulation == (gemm.problem.a == Type::e4m3) &&
                                 std::string(name) == std::string("cube ") + name_of(gemm.problem.a);
                if (!wanted) continue;
                items_.push_back({std::string("sustained/") + gemm.problem.name(),
                                  [this, problem = gemm.problem](Record& record, std::vector<std::byte>&) {
                                      sustain(record, problem);
                                  }});
                break;
            }
        }
    }

    void sustain(Record& record, const GemmProblem& problem) {
        record.text("kind", "sustained").object("problem", record_of(problem));
        const GemmOperands operands = pool().operands(problem);
        const auto found = algorithms(problem, 1, operands);
        if (found.empty()) throw DeviceError("the library has no algorithm for it");
        const GemmAlgorithm& algorithm = found.front();
        TimingOptions options;
        options.repetitions = 3;
        const auto once = [&] { blas().run(problem, algorithm, operands); };
        const double microseconds = std::max(1.0, median(device_.time(once, options)));
        // Half a second in batches of about 50 ms, so that the host can look at the clocks meanwhile.
        const auto batch = static_cast<unsigned>(std::max(1.0, 50'000 / microseconds));
        const auto run_batch = [&] {
            for (unsigned i = 0; i < batch; ++i) once();
        };
        std::vector<double> batches;
        std::vector<Record> seen;
        const auto begin = std::chrono::steady_clock::now();
        options.warm_up = 0;
        options.repetitions = 1;
        for (unsigned i = 0; std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(500); ++i) {
            batches.push_back(median(device_.time(run_batch, options)) / batch);
            if (i % 2 == 1) seen.push_back(device_.telemetry());
        }
        record.object("algorithm", record_of(algorithm)).number("microseconds_first", microseconds);
        record.numbers("microseconds", batches).integer("gemms_per_batch", batch);
        record.objects("telemetry", seen);
        record.number("value", batches.back()).text("unit", "us");
    }

    static constexpr unsigned kQuickGemms = 6;

    SectionContext& context_;
    Device& device_;
    std::vector<Item> items_;
    std::vector<TimedGemm> gemms_ = designed_gemms();
    std::optional<GemmOperandPool> pool_;
    std::optional<double> sm_clock_;
};

}  // namespace

bool capture_timing(SectionContext& context) {
    return TimingSection(context).run();
}

}  // namespace heddle::capture
