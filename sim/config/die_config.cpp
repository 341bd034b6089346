#include "sim/config/die_config.h"

namespace heddle::sim {

void describe(DieConfig& c, bool gpu, models::ParameterList& list) {
    using models::Quantity;
    list.add_choice("die.process", c.process, {"28nm", "16nm", "12nm", "8nm", "7nm", "5nm", "3nm"},
                    "Family of the process that the die is made in: 5nm stands for N5, 4N and N4.");
    list.add_choice("die.memory", c.memory, {"hbm", "gddr", "ddr"}, "Kind of the memory's interface.");
    list.add(
        "hbm.stacks", c.stacks, Quantity::count, 0, 64,
        "Stacks of HBM, chips of GDDR or channels of DDR that are used. Decides about area, not about time.");
    list.add("die.stacks_enabled", c.stacks_enabled, Quantity::ratio, 0.1, 1,
             "Of the memory interfaces on the die, the part that is used.");
    if (gpu) {
        list.add("die.count", c.dies, Quantity::count, 1, 4,
                 "Dies that make up the device; units and areas are those of all of them together.");
        list.add("die.sms_enabled", c.sms_enabled, Quantity::ratio, 0.1, 1,
                 "Of the SMs on the die, the part that is enabled: sm.count of them.");
        list.add("die.l2_enabled", c.l2_enabled, Quantity::ratio, 0.1, 1,
                 "Of the L2 on the die, the part that is enabled: l2.size of it.");
        list.add("die.links", c.links, Quantity::count, 0, 256, "Links to other chips on the die (NVLink).");
        list.add("die.graphics", c.graphics, Quantity::count, 0, 1,
                 "Whether there are units for graphics: raster, texture, ray tracing, display, video.");
    }
    list.add("price.hour", c.price_per_hour, Quantity::count, 0, 1e6,
             "US dollars for an hour of one device; 0: nobody rents it out.");
}

}  // namespace heddle::sim
