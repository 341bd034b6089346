// Parts that attention kernels share: the softmax that goes from block of keys to block of keys (Milakov and
// Gimelshein, arXiv 1805.02867), the mask, and dropout of its weights.
#pragma once

#include "workloads/kernels/swizzled_tile.h"

namespace heddle::kernels {

/// Which weights dropout keeps: see expression::WeightDropout. Integer arithmetic, the same on every device.
class AttentionDropout {
  public:
    /// Declares the parameters dropout_key, dropout_threshold (u32) and dropout_scale (f32). `narrow`: all
    /// elements of the generator that the kernel asks for are below 2^32.
    AttentionDropout(PtxWriter& w, bool narrow);

    /// Numbers of the generator from a 64-bit element onwards.
    struct Start {
        Reg low, key, next_key;
    };
    Start start(const Reg& element);
    /// 32 bits, of the element `offset` (below 2^16) after the start.
    Reg bits(const Start& start, unsigned offset);
    /// Predicate: the weight with this byte of the bits is kept.
    Reg kept(const Reg& bits, unsigned byte);
    /// `pair`: two 16-bit weights, those of bytes `byte` and `byte` + 1; what is not kept becomes 0.
    Reg keep_pair(const Reg& pair, const Reg& bits, unsigned byte);
    const Reg& scale() const { return scale_; }  ///< f32, 1 / (1 - probability)
    /// Elements per row of weights (b32).
    Reg row_elements(const Reg& keys);

  private:
    PtxWriter& w_;
    bool narrow_;
    Reg key_, threshold_, scale_, threshold_pair_;
};
/// Returns whether all elements of the generator for this many weights are below 2^32.
bool narrow_dropout(std::uint64_t rows, std::uint64_t keys);
/// Throws heddle::Error for a probability outside of [0, 1).
void add_dropout_arguments(std::vector<KernelArgument>& arguments, double probability, std::uint64_t stream);

/// Softmax of a warp's rows of scores as they come, in accumulators as mma and wgmma leave them: [16
/// rows][8 keys][4], a thread has two rows of each 16.
class OnlineSoftmax {
  public:
    /// Declares the parameter scale (f32), which multiplies the scores.
    explicit OnlineSoftmax(PtxWriter& w);
    void make_rows(unsigned rows);  ///< that a thread has
    void reset();                   ///< for new rows
    unsigned rows() const { return static_cast<unsigned>(maximum_.size()); }

    /// Scores after the last key that a row sees, limits[row] (s32), become -infinity. `column` (s32): key of
    /// the thread's first score.
    void hide(const AccumulatorTile& scores, const std::vector<Reg>& limits, const Reg& column);
    /// Maxima and sums go on; scores become weights; `output`, made of earlier blocks, is rescaled.
    void update(AccumulatorTile& scores, AccumulatorTile& output);
    /// Sets weights to 0 that dropout does not keep. `weights`: from pack_accumulators(). `elements` (b64):
    /// of the generator, for each row, of the thread's first weight.
    void drop(std::vector<std::vector<std::vector<Reg>>>& weights, AttentionDropout& dropout,
              const std::vector<Reg>& elements);
    /// Divides by the sums (and by the part that dropout keeps).
    void normalise(AccumulatorTile& output, const AttentionDropout* dropout);
    /// Log-sum-exp of a row; +infinity when it saw no key. After normalise().
    Reg log_sum_exp(unsigned row);

  private:
    void for_each_score(AccumulatorTile& scores, unsigned block,
                        const std::function<void(unsigned row, const Reg& score)>& visit);

    PtxWriter& w_;
    Reg scale_log2_, negative_scale_log2_;
    std::vector<Reg> maximum_, sum_, empty_;
};

}  // namespace heddle::kernels
