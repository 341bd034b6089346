#include "validation/compare/kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>

#include "isa/numerics/compare.h"
#include "validation/capture/sections/kernel_items.h"
#include "validation/capture/sections/sample_elements.h"
#include "validation/capture/simulator/simulator_device.h"
#include "validation/compare/capture_reference.h"
#include "validation/compare/captured_gemm.h"
#include "validation/compare/gemm_attributes.h"

namespace heddle::validation {
namespace {

using capture::KernelItem;
using kernels::ElementType;

/// The type as the captures' matrices have it; nothing for integers.
std::optional<capture::Type> number_type(ElementType type) {
    switch (type) {
        case ElementType::f64:
            return capture::Type::f64;
        case ElementType::f32:
            return capture::Type::f32;
        case ElementType::f16:
            return capture::Type::f16;
        case ElementType::bf16:
            return capture::Type::bf16;
        default:
            return std::nullopt;
    }
}

std::uint64_t bits_at(std::span<const std::byte> from, std::uint64_t index, unsigned bytes) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, from.data() + index * bytes, bytes);
    return bits;
}

/// Instructions whose result NVIDIA bounds but does not define.
bool is_approximate(const kernels::LibraryKernel& kernel) {
    const std::string& text = kernel.kernel.text;
    return text.find(".approx") != std::string::npos || text.find("div.full") != std::string::npos;
}

struct OutputRecord {
    std::uint64_t hash = 0, sample = 0, elements = 0;
};

OutputRecord output_of(const CapturedRecord& record, const nlohmann::json& outputs,
                       const std::string& buffer) {
    for (const nlohmann::json& output : outputs) {
        if (!output.is_object() || !output.contains("buffer") || output["buffer"] != buffer) continue;
        try {
            return {std::stoull(output.at("hash").get<std::string>(), nullptr, 16),
                    output.at("sample").get<std::uint64_t>(), output.at("elements").get<std::uint64_t>()};
        } catch (const std::exception&) {
            record.fail("outputs." + buffer, "lacks its hash, sample or elements");
        }
    }
    record.fail("outputs." + buffer, "is missing");
}

/// What came of one kernel.
struct KernelCheck {
    BitCount bits;
    std::uint64_t largest_ulp = 0;
    std::array<std::uint64_t, kUlpBins> ulps{};
    double error = 0, norm = 0;  ///< squares, of the samples
    std::string worst;
};

void compare_output(const CapturedRecord& record, const OutputRecord& captured,
                    const kernels::SampleBuffer& buffer, std::span<const std::byte> computed,
                    KernelCheck& check) {
    const unsigned size = kernels::bytes_of(buffer.type);
    const std::vector<std::uint64_t> places = capture::sample_elements(computed.size() / size);
    if (captured.elements != places.size() || captured.sample > record.binary.size() ||
        captured.elements * size > record.binary.size() - captured.sample)
        record.fail("outputs." + buffer.name, "has another sample than this program takes");
    const std::span<const std::byte> sample(record.binary.data() + captured.sample, captured.elements * size);
    const std::optional<capture::Type> type = number_type(buffer.type);
    std::uint64_t identical = 0;
    for (std::size_t i = 0; i < places.size(); ++i) {
        const std::uint64_t theirs = bits_at(sample, i, size), ours = bits_at(computed, places[i], size);
        identical += theirs == ours;
        std::uint64_t ulp = theirs == ours ? 0 : 1;
        if (type) {
            ulp = numerics::ulp_distance(numerics::format_of(element_of(*type)), theirs, ours);
            const double right = value_of(*type, theirs), wrong = value_of(*type, ours);
            if (std::isfinite(right) && std::isfinite(wrong)) {
                check.error += (wrong - right) * (wrong - right);
                check.norm += right * right;
            }
        }
        ++check.ulps[ulp_bin(ulp)];
        if (theirs != ours && (check.worst.empty() || ulp > check.largest_ulp))
            check.worst = fmt::format("{}[{}] is {:0{}X}, computed {:0{}X}", buffer.name, places[i], theirs,
                                      2 * size, ours, 2 * size);
        check.largest_ulp = std::max(check.largest_ulp, ulp);
    }
    if (numerics::hash_bits(computed) == captured.hash) {
        check.bits.identical += computed.size() / size;
        check.bits.total += computed.size() / size;
        return;
    }
    check.bits.identical += identical;
    check.bits.total += places.size() + (identical == places.size() ? 1 : 0);
    if (identical == places.size() && check.worst.empty())
        check.worst = buffer.name + ": the recorded elements are equal, the hash of all is not";
}

std::optional<double> median(const CapturedRecord& record, const std::string& key) {
    if (!record.values.contains(key)) return std::nullopt;
    auto times = record.get<std::vector<double>>(key);
    if (times.empty()) return std::nullopt;
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
}

class KernelComparison {
  public:
    KernelComparison(const RecordedCapture& capture, const CompareOptions& options)
        : capture_(capture), options_(options) {
        hardware_ = !options.hardware.empty() ? options.hardware : capture.preset();
        if (hardware_.empty())
            throw Error("no hardware file describes the GPU of this capture, " + capture.device_name(),
                        {capture.folder().string(), 0, ""}, "name one by --hardware");
        device_ = capture::make_simulator_device(hardware_);
    }

    Comparison run() {
        comparison_.title = "Kernels of the library";
        comparison_.reference = reference_of(capture_, hardware_);
        const std::vector<KernelItem> items = capture::kernel_items(capture_.compute_capability(), false);
        const CapturedSection& section = capture_.section("kernels");
        std::map<std::string, const KernelItem*> known;
        for (const KernelItem& item : items) known[item.id] = &item;
        for (std::size_t i = 0; i < section.records.size(); ++i) {
            const CapturedRecord& record = section.records[i];
            options_.progress(static_cast<double>(i) / static_cast<double>(section.records.size()),
                              record.id);
            if (!options_.selects(record.id, record.get_or<std::string>("category", ""))) continue;
            const auto item = known.find(record.id);
            if (item == known.end())
                comparison_.missing.push_back("left out: " + record.id + ": the library no longer has it");
            else
                add(record, *item->second);
        }
        finish();
        return std::move(comparison_);
    }

  private:
    void add(const CapturedRecord& record, const KernelItem& item) {
        if (record.values.contains("error")) {
            comparison_.missing.push_back("failed when recorded: " + record.id + ": " +
                                          record.get<std::string>("error"));
            return;
        }
        if (record.hexadecimal("fingerprint") != capture::fingerprint(item.kernel)) {
            comparison_.missing.push_back("left out: " + record.id +
                                          ": the library's kernel has changed since it was recorded");
            return;
        }
        ComparisonRow row;
        row.name = record.id;
        row.category = item.category;
        const bool approximate = is_approximate(item.kernel), stable = record.get<bool>("deterministic");
        if (approximate) row.category += ", approximated";
        if (!stable) row.category += ", not deterministic";
        try {
            capture::LoadedItem loaded(*device_, item.kernel);
            const KernelCheck check = check_outputs(record, item, loaded.run());
            row.bits = check.bits;
            row.largest_ulp = check.largest_ulp;
            row.frobenius = check.norm > 0 ? std::sqrt(check.error / check.norm) : 0;
            row.note = check.worst;
            if (!approximate && stable) {
                exact_.identical += check.bits.identical;
                exact_.total += check.bits.total;
            }
            for (std::size_t i = 0; i < kUlpBins; ++i) ulps_[i] += check.ulps[i];
            row.captured = median(record, "warm");
            row.unit = "us";
            if (row.captured)
                row.simulated = device_->time([&] { loaded.launch(); }, {2, 1, false, true}).front();
        } catch (const capture::DeviceError& error) {
            comparison_.missing.push_back("the simulator cannot run " + record.id + ": " + error.what());
            return;
        }
        comparison_.rows.push_back(std::move(row));
    }

    static KernelCheck check_outputs(const CapturedRecord& record, const KernelItem& item,
                                     const std::vector<std::vector<std::byte>>& computed) {
        const auto outputs = record.get<nlohmann::json>("outputs");
        KernelCheck check;
        for (std::size_t i = 0; i < computed.size(); ++i) {
            if (computed[i].empty()) continue;
            const kernels::SampleBuffer& buffer = item.kernel.buffers[i];
            compare_output(record, output_of(record, outputs, buffer.name), buffer, computed[i], check);
        }
        return check;
    }

    void finish() {
        const double per_cent = exact_.total == 0 ? std::nan("") : 100 * exact_.fraction();
        comparison_.bars.push_back(
            at_least("elements identical, of kernels without approximated functions", per_cent, 100));
        add_error_bars(comparison_, options_);
        Histogram histogram{"ULPs between recorded and computed elements", {}};
        for (std::size_t i = 0; i < kUlpBins; ++i) histogram.bins.push_back({kUlpLabels[i], ulps_[i]});
        comparison_.histograms.push_back(std::move(histogram));
        comparison_.notes.push_back("Times are medians with a warm L2 beside one simulated launch.");
    }

    const RecordedCapture& capture_;
    const CompareOptions& options_;
    std::string hardware_;
    std::unique_ptr<capture::Device> device_;
    Comparison comparison_;
    BitCount exact_;
    std::array<std::uint64_t, kUlpBins> ulps_{};
};

}  // namespace

std::vector<Comparison> compare_kernels(const RecordedCapture& capture, const CompareOptions& options) {
    return {KernelComparison(capture, options).run()};
}

}  // namespace heddle::validation
