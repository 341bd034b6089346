// mbarrier objects: phases, tokens, counts, waits. The numbers follow from the PTX manual, "mbarrier".
#include "async_launch.h"

namespace heddle::ptx::test {

TEST_CASE("A phase of an mbarrier ends with the last arrival", "[ptx][mbarrier]") {
    AsyncRun run;
    run.threads = 128;
    // 128 arrivals; thread 77 writes before it arrives, the others read after the phase.
    const AsyncOutcome outcome = run.run(
        "setp.eq.u32 %p, %t, 0; @%p mbarrier.init.shared::cta.b64 [bar], 128; bar.sync 0;\n"
        "setp.eq.u32 %p, %t, 77; @%p st.shared.b32 [box], 4711;\n"
        "mbarrier.arrive.shared::cta.b64 %s, [bar];\n"
        "wait: mbarrier.try_wait.shared::cta.b64 %q, [bar], %s; @!%q bra wait;\n"
        "ld.shared.b32 %v, [box];" +
        kStoreV);
    CHECK(outcome.error == "");
    for (unsigned t = 0; t < 128; ++t) CHECK(outcome.at<std::uint32_t>(t) == 4711);
}

}  // namespace heddle::ptx::test
