// What JEDEC calls the AC timing of a DRAM: least times between its commands.
#pragma once

#include <cstdint>

#include "models/common/parameter.h"

namespace heddle::models {

/// Times in seconds. The names are JEDEC's without the t. The defaults describe HBM3.
struct DramTiming {
    double rcd = 16e-9;         ///< activation to column command
    double rp = 16e-9;          ///< precharge to activation
    double cl = 16e-9;          ///< read command to data
    double cwl = 8e-9;          ///< write command to data
    double ras = 33e-9;         ///< activation to precharge
    double rc = 49e-9;          ///< activation to activation, one bank
    double rrd_s = 3e-9;        ///< activation to activation, other bank group
    double rrd_l = 4e-9;        ///< activation to activation, same bank group
    double faw = 16e-9;         ///< at most four activations begin within this time
    double wr = 16e-9;          ///< end of write data to precharge
    double wtr_s = 4e-9;        ///< end of write data to read command, other bank group
    double wtr_l = 8e-9;        ///< end of write data to read command, same bank group
    double rtw = 11e-9;         ///< read command to write command
    double rtp = 6e-9;          ///< read command to precharge
    std::uint32_t ccd_l = 2;    ///< bursts between two column commands of one bank group; other group: 1
    double refi = 3.9e-6;       ///< every bank is refreshed once in this time
    double hot_refi = 1.95e-6;  ///< ... above 85 degrees (JEDEC: half of it); 0: the same
    double rfc = 230e-9;        ///< duration of a refresh of all banks
    double rfc_pb = 200e-9;     ///< duration of a refresh of one bank
};
void describe(DramTiming& timing, ParameterList& list);

/// The same in bursts: the time that 32 bytes take on a pseudo channel's bus. A controller that works in
/// whole bursts rounds every time up.
struct DramBursts {
    /// The JEDEC parameters of DramTiming by the same names; tRCD is `rcd`.
    std::uint32_t rcd, rp, cl, cwl, ras, rc, rrd_s, rrd_l, faw, wr, wtr_s, wtr_l, rtw, rtp, ccd_l, rfc,
        rfc_pb;
    double refi;  ///< not rounded: its multiples are
};
DramBursts in_bursts(const DramTiming& timing, double bursts_per_second);

}  // namespace heddle::models
