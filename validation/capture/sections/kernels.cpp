// Every kernel of Heddle's own library on this device: what it computes and how long it takes.
//
// One record for each: "category", "fingerprint" (of the text, the geometry and the arguments: a later
// version of the library may have another kernel of the same name), "registers", "static_shared",
// "local_bytes", "deterministic" (a second run gave the same bytes), "outputs": a list of "buffer", "type",
// "bytes", "hash" (FNV-1a), "sample" (offset in the record's bytes) and "elements" (at the places of
// sample_elements()); "warm" and "cold" (L2): microseconds of every repetition; or "error".
#include <algorithm>

#include "isa/numerics/compare.h"
#include "validation/capture/section.h"
#include "validation/capture/sections/kernel_items.h"
#include "validation/capture/sections/sample_elements.h"
#include "validation/capture/sections/section_item.h"

namespace heddle::capture {
namespace {

Record output_record(const kernels::SampleBuffer& buffer, const std::vector<std::byte>& bytes,
                     std::vector<std::byte>& samples) {
    const unsigned size = kernels::bytes_of(buffer.type);
    const std::vector<std::uint64_t> places = sample_elements(bytes.size() / size);
    Record record;
    record.text("buffer", buffer.name).text("type", kernels::name_of(buffer.type));
    record.integer("bytes", static_cast<std::int64_t>(bytes.size()));
    record.hexadecimal("hash", numerics::hash_bits(bytes));
    record.integer("sample", static_cast<std::int64_t>(samples.size()));
    record.integer("elements", static_cast<std::int64_t>(places.size()));
    for (const std::uint64_t place : places) {
        const auto element = bytes.begin() + static_cast<std::ptrdiff_t>(place * size);
        samples.insert(samples.end(), element, element + size);
    }
    return record;
}

void add_times(Record& record, const char* key, Device& device, LoadedItem& loaded, bool cold) {
    try {
        TimingOptions options;
        options.cold_l2 = cold;
        record.numbers(key, device.time([&] { loaded.launch(); }, options));
    } catch (const DeviceError& error) {
        if (error.lost) throw;
        record.text(std::string(key) + "_error", error.what());
    }
}

void capture_item(SectionContext& context, const KernelItem& item) {
    Record head;
    head.text("category", item.category).hexadecimal("fingerprint", fingerprint(item.kernel));
    record_item(context, item.id, head, [&](Record& record, std::vector<std::byte>& samples) {
        LoadedItem loaded(context.device, item.kernel);
        const KernelAttributes attributes = loaded.attributes();
        record.integer("registers", attributes.registers_per_thread);
        record.integer("static_shared", attributes.static_shared_bytes);
        record.integer("local_bytes", attributes.local_bytes);
        const std::vector<std::vector<std::byte>> first = loaded.run();
        record.flag("deterministic", loaded.run() == first);
        std::vector<Record> outputs;
        for (std::size_t i = 0; i < first.size(); ++i)
            if (!first[i].empty())
                outputs.push_back(output_record(item.kernel.buffers[i], first[i], samples));
        record.objects("outputs", outputs);
        add_times(record, "warm", context.device, loaded, false);
        add_times(record, "cold", context.device, loaded, true);
    });
}

}  // namespace

bool capture_kernels(SectionContext& context) {
    const std::vector<KernelItem> items =
        kernel_items(context.device.compute_capability(), context.extent == Extent::quick);
    for (std::size_t i = 0; i < items.size(); ++i) {
        if (context.journal.has(items[i].id)) continue;
        if (context.stop()) return false;
        context.progress(static_cast<double>(i) / static_cast<double>(items.size()), items[i].id);
        capture_item(context, items[i]);
    }
    return true;
}

}  // namespace heddle::capture
