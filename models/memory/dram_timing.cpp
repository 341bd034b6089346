#include "models/memory/dram_timing.h"

#include <cmath>

namespace heddle::models {

void describe(DramTiming& t, ParameterList& list) {
    const auto add = [&list](const char* name, double& field, double maximum, const char* meaning) {
        list.add(std::string("hbm.timing.") + name, field, Quantity::time, 0, maximum, meaning);
    };
    add("rcd", t.rcd, 1e-6, "tRCD: from an activation to a column command of the row.");
    add("rp", t.rp, 1e-6, "tRP: from a precharge to the bank's next activation.");
    add("cl", t.cl, 1e-6, "tCL: from a read command to its data.");
    add("cwl", t.cwl, 1e-6, "tCWL: from a write command to its data.");
    add("ras", t.ras, 1e-6, "tRAS: from an activation to the bank's precharge.");
    add("rc", t.rc, 1e-6, "tRC: between two activations of one bank.");
    add("rrd_s", t.rrd_s, 1e-6, "tRRD_S: between activations in different bank groups.");
    add("rrd_l", t.rrd_l, 1e-6, "tRRD_L: between activations in one bank group.");
    add("faw", t.faw, 1e-6, "tFAW: four activations at most begin within this time.");
    add("wr", t.wr, 1e-6, "tWR: from the end of write data to the bank's precharge.");
    add("wtr_s", t.wtr_s, 1e-6, "tWTR_S: from the end of write data to a read in another bank group.");
    add("wtr_l", t.wtr_l, 1e-6, "tWTR_L: from the end of write data to a read in the same bank group.");
    add("rtw", t.rtw, 1e-6, "tRTW: from a read command to a write command.");
    add("rtp", t.rtp, 1e-6, "tRTP: from a read command to the bank's precharge.");
    list.add("hbm.timing.ccd_l", t.ccd_l, Quantity::count, 1, 8,
             "tCCD_L in bursts: between two column commands of one bank group.");
    list.add("hbm.timing.refi", t.refi, Quantity::time, 1e-8, 1,
             "tREFI: every bank is refreshed once in it.");
    list.add("hbm.timing.hot_refi", t.hot_refi, Quantity::time, 0, 1,
             "The same above 85 degrees, as where a product is repeated for long; 0: no difference.");
    add("rfc", t.rfc, 1e-4, "tRFC: duration of a refresh of all banks.");
    add("rfc_pb", t.rfc_pb, 1e-4, "tRFCpb: duration of a refresh of one bank.");
}

DramBursts in_bursts(const DramTiming& t, double bursts_per_second) {
    // A hair less, so that a time that is a whole number of bursts is not rounded to the next.
    const auto up = [bursts_per_second](double seconds) {
        return static_cast<std::uint32_t>(std::ceil(seconds * bursts_per_second - 1e-6));
    };
    DramBursts b{};
    b.rcd = up(t.rcd);
    b.rp = up(t.rp);
    b.cl = up(t.cl);
    b.cwl = up(t.cwl);
    b.ras = up(t.ras);
    b.rc = up(t.rc);
    b.rrd_s = up(t.rrd_s);
    b.rrd_l = up(t.rrd_l);
    b.faw = up(t.faw);
    b.wr = up(t.wr);
    b.wtr_s = up(t.wtr_s);
    b.wtr_l = up(t.wtr_l);
    b.rtw = up(t.rtw);
    b.rtp = up(t.rtp);
    b.ccd_l = t.ccd_l;
    b.rfc = up(t.rfc);
    b.rfc_pb = up(t.rfc_pb);
    b.refi = t.refi * bursts_per_second;
    return b;
}

}  // namespace heddle::models
