#include "validation/capture/sections/section_item.h"

namespace heddle::capture {
namespace {

// The item may have written its record before it failed.
void record_failure(SectionContext& context, const std::string& id, const char* key,
                    const std::string& what) {
    if (!context.journal.has(id)) context.journal.add(id, Record().text(key, what));
}

}  // namespace

bool run_items(SectionContext& context, const std::vector<SectionItem>& items) {
    for (std::size_t i = 0; i < items.size(); ++i) {
        const SectionItem& item = items[i];
        if (context.journal.has(item.id)) continue;
        if (context.stop()) return false;
        context.progress(static_cast<double>(i) / static_cast<double>(items.size()), item.id);
        try {
            item.run(context, item.id);
            context.device.synchronise();  // what goes wrong late is this item's, not the next one's
        } catch (const LeftOut& reason) {
            record_failure(context, item.id, "left_out", reason.what());
        } catch (const DeviceError& error) {
            record_failure(context, item.id, "error", error.what());
            if (error.lost) throw;  // recorded all the same, so that the next process leaves this item out
        } catch (const std::exception& error) {
            record_failure(context, item.id, "error", error.what());
        }
    }
    context.progress(1, "done");
    return true;
}

void record_item(SectionContext& context, const std::string& id, Record record,
                 const std::function<void(Record&, std::vector<std::byte>&)>& work) {
    std::vector<std::byte> bytes;
    try {
        work(record, bytes);
    } catch (const DeviceError& error) {
        record.text("error", error.what());
        if (error.lost) {
            context.journal.add(id, record, bytes);
            throw;
        }
    } catch (const std::exception& error) {
        record.text("error", error.what());
    }
    context.journal.add(id, record, bytes);
}

}  // namespace heddle::capture
