// Section `training`: some steps of an MLP and of a GPT, with our kernels and with the vendor's matrix
// products.
#include <exception>

#include "validation/capture/training/training_run.h"

namespace heddle::capture {

bool capture_training(SectionContext& context) {
    Device& device = context.device;
    Blas* blas = device.blas();
    const target::GpuTarget target =
        training_target(device.compute_capability(), device.sm_count(), device.l2_bytes());
    TrainingMachine machine(device, blas, target);
    const std::vector<TrainingItem> items = training_items(context.extent);
    for (std::size_t i = 0; i < items.size(); ++i) {
        const std::string id = items[i].id();
        if (context.stop()) return false;
        context.progress(static_cast<double>(i) / static_cast<double>(items.size()), id);
        if (context.journal.has(id)) continue;
        Record record;
        try {
            const TrainingRun run = machine.run(items[i]);
            context.journal.add(id, record_of(items[i], target, run), samples_of(run));
            continue;
        } catch (const DeviceError& error) {
            record.text("error", error.what());
            if (error.lost) {  // recorded all the same, so that the next process leaves this item out
                context.journal.add(id, record);
                throw;
            }
        } catch (const std::exception& error) {
            record.text("error", error.what());
        }
        context.journal.add(id, record);
    }
    context.progress(1, "");
    return true;
}

}  // namespace heddle::capture
