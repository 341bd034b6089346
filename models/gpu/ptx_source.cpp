#include "models/gpu/ptx_source.h"

namespace heddle::models::gpu {
namespace {

class PtxWarp final : public WarpSource {
  public:
    explicit PtxWarp(ptx::Warp& warp) : WarpSource(warp.status), warp_(warp) {}
    ptx::StepResult step(std::uint64_t clock) override { return warp_.step(clock); }
    ptx::Warp* ptx_warp() override { return &warp_; }

  private:
    ptx::Warp& warp_;
};

class PtxBlock final : public BlockSource {
  public:
    PtxBlock(const ptx::LaunchContext& launch, ptx::StepScratch& scratch, ptx::CtaObserver& observer,
             std::uint32_t tag)
        : cta_(launch, &scratch) {
        cta_.set_observer(&observer, tag);
        warps_.reserve(cta_.warp_count());
        for (unsigned i = 0; i < cta_.warp_count(); ++i) warps_.emplace_back(cta_.warp(i));
    }
    void start(std::uint64_t index, std::uint32_t sm, ptx::Cluster* cluster) override {
        cta_.start(index, sm, cluster);
    }
    unsigned warp_count() const override { return static_cast<unsigned>(warps_.size()); }
    WarpSource& warp(unsigned index) override { return warps_[index]; }
    std::uint64_t linear_index() const override { return cta_.linear_index(); }
    std::span<ptx::AsyncOperation> started() override { return cta_.started(); }
    void complete(const ptx::AsyncOperation& operation) override { cta_.complete(operation); }
    std::uint32_t resume_stalled() override { return cta_.resume_stalled(); }
    std::uint64_t changes() const override { return cta_.changes(); }
    ptx::WarpFingerprint fingerprint(unsigned warp) const override { return cta_.fingerprint(warp); }
    std::string describe_waiting() const override { return cta_.describe_waiting(); }
    const ptx::Cta* ptx_cta() const override { return &cta_; }

  private:
    ptx::Cta cta_;
    std::vector<PtxWarp> warps_;
};

}  // namespace

PtxSource::PtxSource(const ptx::LaunchContext& launch) : launch_(launch) {
    std::uint64_t position = 0;
    positions_.reserve(launch.kernel->instructions().size());
    for (const ptx::InstructionInfo& info : launch.kernel->instructions()) {
        positions_.push_back(position);
        position += info.machine_operations;
    }
}

std::uint64_t PtxSource::shared_bytes() const {
    return launch_.kernel->static_shared_bytes() + std::uint64_t{launch_.dynamic_shared_bytes};
}

std::vector<RegisterReads> PtxSource::register_reads(const RegisterBanksConfig& config, std::size_t) const {
    return gpu::register_reads(*launch_.kernel, config);
}

SourceLocation PtxSource::place_of(const ptx::InstructionInfo& info) const {
    return {"PTX of kernel " + name(), info.line, ""};
}

// Blocks reach one another through global memory, but in timing mode the values that they leave there mostly
// steer nobody and are not computed.
bool PtxSource::divide(std::uint32_t groups) {
    if (groups > 1 && (launch_.mode != ptx::Mode::timing || launch_.kernel->steering_writes())) return false;
    scratches_.resize(groups);
    return true;
}

std::unique_ptr<BlockSource> PtxSource::make_block(ptx::CtaObserver& observer, std::uint32_t tag,
                                                   std::uint32_t group) {
    return std::make_unique<PtxBlock>(launch_, scratches_[group].of_steps, observer, tag);
}

}  // namespace heddle::models::gpu
