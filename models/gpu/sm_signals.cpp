#include "models/gpu/sm_signals.h"

#include <algorithm>
#include <string>

#include "models/gpu/sm.h"

namespace heddle::models::gpu {
namespace {

// In the order of the declarations: these for each sub-core, then those of the SM.
enum SubCoreSignal : std::uint8_t { kWarp, kInstruction, kLine, kState, kWarps, kSubCoreSignals };
enum SmSignal : std::uint8_t { kThreadBlocks, kMisses, kStores, kRequested, kReceived, kSharedWavefronts };

std::size_t number(unsigned sub_core, SubCoreSignal signal) {
    return std::size_t{sub_core} * kSubCoreSignals + signal;
}
std::size_t number(SmSignal signal) {
    return std::size_t{kSubCores} * kSubCoreSignals + signal;
}

std::string reasons() {
    std::string text;
    for (std::size_t i = 0; i < kCycleReasonCount; ++i)
        text += (i == 0 ? "" : ", ") + std::to_string(i) + " " + name_of(static_cast<CycleReason>(i));
    return text;
}

}  // namespace

std::vector<SignalDeclaration> SmSignals::declarations() {
    const auto not_launched = static_cast<std::uint32_t>(CycleReason::not_launched);
    std::vector<SignalDeclaration> list;
    for (unsigned i = 0; i < kSubCores; ++i) {
        const std::string path = "sub_core" + std::to_string(i) + ".";
        list.push_back({path + "issued_warp", 6, "", "Slot in the SM of the warp that issues.",
                        SignalKind::level, kNoValue});
        list.push_back({path + "issued_instruction", 32, "",
                        "Number of the instruction that it issues, in the kernel as it runs.",
                        SignalKind::level, kNoValue});
        list.push_back({path + "issued_line", 32, "", "Line of the kernel's text in which that stands.",
                        SignalKind::level, kNoValue});
        list.push_back({path + "state", 4, "", "What the cycle is spent on: " + reasons() + ".",
                        SignalKind::level, not_launched});
        list.push_back({path + "warps", 5, "warps", "Resident warps."});
    }
    list.push_back({"thread_blocks", 6, "thread blocks", "Resident thread blocks."});
    list.push_back({"misses", 16, "lines", "Lines that loads wait for, of l1.mshrs."});
    list.push_back({"stores", 16, "lines", "Stores that are not known to be performed."});
    list.push_back(
        {"requested", 16, "sectors", "Sectors of 32 B that loads ask L2 for.", SignalKind::amount});
    list.push_back(
        {"received", 16, "sectors", "Sectors of 32 B that come from L2 for loads.", SignalKind::amount});
    list.push_back({"shared_wavefronts", 16, "wavefronts",
                    "Wavefronts of shared memory that instructions begin, bank conflicts among them.",
                    SignalKind::amount});
    return list;
}

void SmSignals::issued(unsigned warp, std::uint32_t instruction, std::uint32_t line, unsigned slots,
                       Cycle now) {
    const unsigned sub_core = warp % kSubCores;
    last_[sub_core].issued = true;
    const auto one = [&](SubCoreSignal signal, std::uint32_t value) {
        probe_.set(number(sub_core, signal), now, value);
        probe_.set(number(sub_core, signal), now + slots, kNoValue);
    };
    one(kWarp, warp);
    one(kInstruction, instruction);
    one(kLine, line);
    probe_.set(number(sub_core, kState), now, static_cast<std::uint32_t>(CycleReason::issued));
    // Until the sub-core goes on: performed() tells from when on that is over.
    probe_.set(number(sub_core, kState), now + slots, static_cast<std::uint32_t>(CycleReason::register_read));
}

void SmSignals::performed(unsigned sub_core, const SubCore& state, Cycle now) {
    probe_.set(number(sub_core, kWarps), now, state.warps());
    const SubCore::Outlook outlook = state.outlook();
    // What is told holds until it is told otherwise, from whenever the sub-core may have counted.
    Last& last = last_[sub_core];
    const bool same = outlook.change == last.outlook.change && outlook.before == last.outlook.before &&
                      outlook.after == last.outlook.after;
    if (same && !last.issued) return;
    last = {outlook, false};
    const auto tell = [&](Cycle at, CycleReason reason) {
        probe_.set(number(sub_core, kState), at, static_cast<std::uint32_t>(reason));
    };
    if (outlook.change > outlook.from) tell(outlook.from, outlook.before);
    tell(std::max(outlook.from, outlook.change), outlook.after);
}

void SmSignals::performed(unsigned thread_blocks, const LoadStoreUnit& load_store, Cycle now) {
    const LoadStoreStatistics& done = load_store.statistics();
    probe_.set(number(kThreadBlocks), now, thread_blocks);
    probe_.set(number(kMisses), now, load_store.lines_waited_for());
    probe_.set(number(kStores), now, load_store.stores_under_way());
    probe_.add_to_total(number(kRequested), now, done.requested_sectors);
    probe_.add_to_total(number(kReceived), now, done.received_sectors);
    probe_.add_to_total(number(kSharedWavefronts), now, done.shared_wavefronts);
}

void Sm::set_probe(SignalProbe* probe) {
    Block::set_probe(probe);
    signals_ = probe != nullptr ? std::make_unique<SmSignals>(*probe) : nullptr;
}

void Sm::tell_issue(unsigned warp, const TimedInstruction& row, const ptx::StepResult& step, Cycle now) {
    if (launch_.audit) launch_.audit->issued(warp, row.info, step.info, now);
    if (signals_)
        signals_->issued(warp, state_.warps[warp].instruction, static_cast<std::uint32_t>(row.info->line),
                         row.slots, now);
}

void Sm::tell_signals(Cycle now) {
    for (unsigned i = 0; i < kSubCores; ++i) signals_->performed(i, sub_cores_[i], now);
    signals_->performed(state_.resident_ctas, load_store_, now);
}

}  // namespace heddle::models::gpu
