// A host program for the kernels of this folder: a module that nvcc printed, memory, launches. Every launch
// is first run in both modes beside each other on copies of the memory, then functionally.
#pragma once

#include <map>
#include <type_traits>

#include "../compare_modes.h"
#include "../launch.h"

namespace heddle::ptx::test {

/// Runs `groups` clusters at a time (a CTA without clusters is one) in both modes beside each other.
class SideBySide {
  public:
    SideBySide(const LaunchContext& functional, const LaunchContext& timing, std::uint64_t groups)
        : left_(functional), right_(timing), groups_(groups) {}

    ModeComparison run() {
        const std::uint64_t count = left_.grid.count() / cluster_size(left_);
        for (std::uint64_t first = 0; first < count; first += groups_) {
            pairs_.clear();
            clusters_.clear();
            for (std::uint64_t g = first; g < count && g < first + groups_; ++g) start_group(g);
            while (!finished()) {
                const bool progress = play_round();
                if (comparison_.differences != 0 || comparison_.steps > 50'000'000) return failed();
                if (!progress && !resume()) return failed();
            }
        }
        return comparison_;
    }

  private:
    struct Pair {
        std::unique_ptr<Cta> left, right;
    };

    void start_group(std::uint64_t group) {
        Cluster *left = nullptr, *right = nullptr;
        if (cluster_size(left_) > 1) {
            left = clusters_.emplace_back(std::make_unique<Cluster>(left_)).get();
            right = clusters_.emplace_back(std::make_unique<Cluster>(right_)).get();
        }
        for (unsigned rank = 0; rank < cluster_size(left_); ++rank) {
            Pair& pair =
                pairs_.emplace_back(Pair{std::make_unique<Cta>(left_), std::make_unique<Cta>(right_)});
            pair.left->start(cta_of_cluster(left_, group, rank), rank, left);
            pair.right->start(cta_of_cluster(right_, group, rank), rank, right);
        }
    }

    bool finished() const {
        for (const Pair& pair : pairs_) {
            if (!pair.left->finished() || !pair.right->finished()) return false;
        }
        return true;
    }

    bool play_round() {
        bool progress = false;
        for (Pair& pair : pairs_) {
            for (unsigned w = 0; w < pair.left->warp_count(); ++w) {
                Warp &a = pair.left->warp(w), &b = pair.right->warp(w);
                for (unsigned turn = 0; turn < 16 && !a.finished() && !a.blocked(); ++turn) {
                    progress = true;
                    if (!step(pair, a, b)) return progress;
                }
            }
        }
        return progress;
    }

    bool step(Pair& pair, Warp& a, Warp& b) {
        bool same = !b.finished() && !b.blocked() && a.next() == b.next();
        if (same) {
            const StepResult x = a.step(comparison_.steps), y = b.step(comparison_.steps);
            ++comparison_.steps;
            comparison_.accesses += x.access != nullptr ? 1 : 0;
            same = x.info == y.info && x.active_lanes == y.active_lanes && x.finished == y.finished &&
                   x.released_warps == y.released_warps && same_access(x.access, y.access) &&
                   x.started_operations == y.started_operations;
            for (const AsyncOperation& operation : pair.left->started()) pair.left->complete(operation);
            for (const AsyncOperation& operation : pair.right->started()) pair.right->complete(operation);
        }
        comparison_.differences += same ? 0 : 1;
        return same;
    }

    bool resume() {
        bool released = false;
        for (Pair& pair : pairs_) {
            const std::uint32_t left = pair.left->resume_stalled(), right = pair.right->resume_stalled();
            if (left != right) return false;
            released = released || left != 0;
        }
        return released;
    }

    ModeComparison failed() {
        ++comparison_.differences;
        return comparison_;
    }

    const LaunchContext &left_, &right_;
    std::uint64_t groups_;
    std::vector<std::unique_ptr<Cluster>> clusters_;
    std::vector<Pair> pairs_;
    ModeComparison comparison_;
};

class CudaGpu : public Device {
  public:
    /// `file` lies in this folder.
    explicit CudaGpu(const std::string& file)
        : file_(file), text_(read_text(std::string(HEDDLE_SOURCE_DIR) + "/tests/isa/ptx/cuda/" + file)) {}

    template <class T>
    std::uint64_t upload(const std::vector<T>& values) {
        return Device::upload("buffer " + std::to_string(++buffers_), values);
    }
    template <class T>
    std::uint64_t zeros(std::size_t count) {
        return upload(std::vector<T>(count));
    }

    /// Buffers are arguments of type std::uint64_t; the others must have the kernel's own types.
    template <class... Arguments>
    void run(const std::string& entry, Dim3 grid, Dim3 block, Arguments... arguments) {
        const std::vector<std::vector<std::byte>> bytes = {argument(arguments)...};
        const Program& kernel = program(entry);
        INFO(file_ << ": " << entry);
        if (compares_modes) {
            Device functional = *this, timing = *this;
            const LaunchContext left = launch(kernel, functional, grid, block, bytes, Mode::functional);
            const LaunchContext right = launch(kernel, timing, grid, block, bytes, Mode::timing);
            const ModeComparison result = SideBySide(left, right, groups_at_once).run();
            CHECK(result.differences == 0);
            CHECK(result.steps > 0);
        }
        LaunchContext context = launch(kernel, *this, grid, block, bytes, Mode::functional);
        context.print = [this](std::string_view text) { printed += text; };
        CheckLog log;
        if (is_checked) context.check = &log;
        run_functionally(context);
        for (const CheckFinding& finding : log.findings()) FAIL_CHECK(finding.text);
    }

    const Program& program(const std::string& entry) {
        auto& kernel = programs_[entry];
        if (!kernel) kernel = std::make_unique<Program>(text_, entry, file_);
        return *kernel;
    }

    std::uint32_t dynamic_shared_bytes = 0;  ///< of the launches to come
    Dim3 cluster{};
    unsigned compute_capability = 90;
    std::uint64_t groups_at_once = 1;  ///< clusters or CTAs that need one another
    bool compares_modes = true;
    bool is_checked = true;  ///< correct kernels leave nothing to find
    std::string printed;  ///< by the kernels

  private:
    LaunchContext launch(const Program& kernel, Device& device, Dim3 grid, Dim3 block,
                         const std::vector<std::vector<std::byte>>& bytes, Mode mode) const {
        LaunchContext context = kernel.launch(device, grid, block, bytes, mode, dynamic_shared_bytes);
        context.cluster = cluster;
        context.compute_capability = compute_capability;
        context.print = [](std::string_view) {};
        return context;
    }

    std::string file_, text_;
    std::map<std::string, std::unique_ptr<Program>> programs_;
    unsigned buffers_ = 0;
};

/// Equally distributed integers of [low, high], as T.
template <class T>
std::vector<T> random_values(std::size_t count, long long low, long long high, unsigned seed) {
    std::mt19937_64 generator(seed);
    std::uniform_int_distribution<long long> distribution(low, high);
    std::vector<T> values(count);
    for (T& value : values) value = static_cast<T>(distribution(generator));
    return values;
}

inline std::vector<float> random_reals(std::size_t count, double low, double high, unsigned seed) {
    std::mt19937_64 generator(seed);
    std::uniform_real_distribution<double> distribution(low, high);
    std::vector<float> values(count);
    for (float& value : values) value = static_cast<float>(distribution(generator));
    return values;
}

}  // namespace heddle::ptx::test
