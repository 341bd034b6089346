// A kernel of PTX that copies ahead of its use: a ring of stages in shared memory with an mbarrier each, a
// bulk copy that fills one while the others are read.
#pragma once

#include <string>

namespace heddle::tests {

struct PipelinedCopies {
    /// How threads learn that a stage has been filled: by the parity of its phase, which follows from the
    /// turn; or by the state that their own arrival at its mbarrier returned. That waits for its use in one
    /// register per stage, in a loop unrolled over the ring; or in registers that hand it on, turn by turn;
    /// or in that register of several which the stage's number selects.
    enum class Waits { parity, states, states_handed_on, states_selected };

    Waits waits = Waits::parity;
    unsigned stages = 2;
    unsigned turns = 64;  ///< fills that are waited for; a multiple of `stages` with Waits::states
    unsigned work = 0;    ///< dependent multiply-adds for each of them
    static constexpr unsigned kBytes = 256;  ///< of a stage

    /// Entry "kernel" with one parameter, the address of kBytes * (turns + stages + 1) bytes. Thread 0
    /// copies.
    std::string text(unsigned threads) const {
        std::string body = prologue(threads);
        for (unsigned s = 0; s < stages; ++s)
            body += at_stage(s) + fill("ahead", s) + keep(s, true) + next_piece();
        body += "mov.b32 %i, 0; mov.b32 %n, 0; mov.b32 %x, bar; mov.b32 %y, box; mov.b32 %k, 0;\nturn:\n";
        const bool unrolled = waits == Waits::states;
        for (unsigned s = 0; s < (unrolled ? stages : 1); ++s) {
            if (unrolled) body += at_stage(s);
            body +=
                wait(s) + use() + fill("again", s) + keep(s, false) + next_piece() + "add.u32 %i, %i, 1;\n";
        }
        if (!unrolled) body += next_stage();
        return header() + body + "setp.lt.u32 %q, %i, " + std::to_string(turns) +
               "; @%q bra turn;\nst.global.f32 [%in], %f;\nret;\n}\n";
    }

  private:
    static std::string number(unsigned n) { return std::to_string(n); }
    bool by_state() const { return waits != Waits::parity; }

    std::string header() const {
        return ".version 9.0\n.target sm_90a\n.address_size 64\n.visible .entry kernel(.param .u64 "
               "in)\n{\n"
               ".reg .pred %e, %q, %c; .reg .b32 %t, %i, %n, %k, %x, %y, %v, %z; .reg .f32 %f;\n"
               ".reg .b64 %in, %a, %s, %w, %state<8>;\n.shared .align 128 .b8 box[" +
               number(stages * kBytes) + "];\n.shared .align 8 .b64 bar[" + number(stages) + "];\n";
    }

    std::string prologue(unsigned threads) const {
        std::string text =
            "ld.param.u64 %in, [in]; mov.u32 %t, %tid.x; setp.eq.u32 %e, %t, 0; mov.f32 %f, 0f3f800000;\n"
            "@!%e bra made;\n";
        for (unsigned s = 0; s < stages; ++s)
            text += "mbarrier.init.shared::cta.b64 [bar+" + number(8 * s) + "], " +
                    number(by_state() ? threads : 1) + ";\n";
        return text + "fence.mbarrier_init.release.cluster;\nmade: bar.sync 0;\n";
    }

    static std::string at_stage(unsigned s) {
        return "mov.b32 %x, bar; add.u32 %x, %x, " + number(8 * s) + "; mov.b32 %y, box; add.u32 %y, %y, " +
               number(kBytes * s) + ";\n";
    }

    /// Of the stage at %x and %y; %s is the state of this thread's arrival.
    std::string fill(const std::string& name, unsigned s) const {
        const std::string label = name + number(s);
        return "@!%e bra others_" + label + ";\nmbarrier.arrive.expect_tx.shared::cta.b64 %s, [%x], " +
               number(kBytes) +
               ";\ncp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%y], [%in], " +
               number(kBytes) + ", [%x];\nbra filled_" + label + ";\nothers_" + label + ":\n" +
               (by_state() ? "mbarrier.arrive.shared::cta.b64 %s, [%x];\n" : "") + "filled_" + label + ":\n";
    }

    std::string keep(unsigned s, bool ahead) const {
        std::string text;
        switch (waits) {
            case Waits::parity:
                break;
            case Waits::states:
                text = "mov.b64 %state" + number(s) + ", %s;\n";
                break;
            case Waits::states_handed_on:
                for (unsigned k = 0; k + 1 < stages; ++k)
                    text += "mov.b64 %state" + number(k) + ", %state" + number(k + 1) + ";\n";
                text += "mov.b64 %state" + number(stages - 1) + ", %s;\n";
                break;
            case Waits::states_selected:
                if (ahead) return "mov.b64 %state" + number(s) + ", %s;\n";
                for (unsigned k = 0; k < stages; ++k)
                    text += "setp.eq.u32 %c, %n, " + number(k) + "; selp.b64 %state" + number(k) +
                            ", %s, %state" + number(k) + ", %c;\n";
                break;
        }
        return text;
    }

    std::string wait(unsigned s) const {
        const std::string label = "wait_" + number(s);
        std::string text, what = "%w";
        switch (waits) {
            case Waits::parity:
                what = "%k";
                break;
            case Waits::states:
                what = "%state" + number(s);
                break;
            case Waits::states_handed_on:
                what = "%state0";
                break;
            case Waits::states_selected:
                text = "mov.b64 %w, %state0;\n";
                for (unsigned k = 1; k < stages; ++k)
                    text += "setp.eq.u32 %c, %n, " + number(k) + "; selp.b64 %w, %state" + number(k) +
                            ", %w, %c;\n";
                break;
        }
        const std::string kind = by_state() ? "" : ".parity";
        return text + label + ": mbarrier.try_wait" + kind + ".shared::cta.b64 %q, [%x], " + what +
               "; @!%q bra " + label + ";\n";
    }

    /// All threads read what has come, and have read it before it is overwritten. The address has its
    /// register for a short while, as states have theirs at other times.
    std::string use() const {
        std::string text = "mad.wide.u32 %a, %t, 4, %in; ld.global.b32 %z, [%a]; ld.shared.b32 %z, [%y];\n";
        for (unsigned k = 0; k < work; ++k) text += "fma.rn.f32 %f, %f, %f, %f;\n";
        return text + "bar.sync 0;\n";
    }

    static std::string next_piece() { return "add.s64 %in, %in, " + number(kBytes) + ";\n"; }

    std::string next_stage() const {
        return "add.u32 %n, %n, 1; add.u32 %x, %x, 8; add.u32 %y, %y, " + number(kBytes) +
               "; setp.eq.u32 %c, %n, " + number(stages) +
               "; selp.b32 %n, 0, %n, %c; selp.b32 %v, 1, 0, %c; xor.b32 %k, %k, %v;\n"
               "mov.b32 %v, bar; selp.b32 %x, %v, %x, %c; mov.b32 %v, box; selp.b32 %y, %v, %y, %c;\n";
    }
};

}  // namespace heddle::tests
