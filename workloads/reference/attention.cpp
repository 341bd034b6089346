// Scaled dot-product attention and its gradient, as written in Vaswani et al. 2017, one query row at a time.
#include <algorithm>
#include <cmath>
#include <limits>

#include "workloads/expression/expression.h"
#include "workloads/reference/kernels.h"

namespace heddle::reference {
namespace {

struct Sizes {
    std::size_t batch, heads, key_heads, queries, keys, dimension, value_dimension;
    bool causal;
    double scale;
    expression::WeightDropout dropout;

    Sizes(const Op& op, const Tensor& q, const Tensor& k, const Tensor& v)
        : batch(static_cast<std::size_t>(q.shape[0])),
          heads(static_cast<std::size_t>(q.shape[1])),
          key_heads(static_cast<std::size_t>(k.shape[1])),
          queries(static_cast<std::size_t>(q.shape[2])),
          keys(static_cast<std::size_t>(k.shape[2])),
          dimension(static_cast<std::size_t>(q.shape[3])),
          value_dimension(static_cast<std::size_t>(v.shape[3])),
          causal(op.get(keys::attention.causal) != 0),
          scale(op.get(keys::attention.scale, 1 / std::sqrt(static_cast<double>(q.shape[3])))),
          dropout(op.get(keys::attention.dropout),
                  static_cast<std::uint64_t>(op.get(keys::attention.stream))) {}

    std::size_t query_row(std::size_t b, std::size_t h, std::size_t i) const {
        return (b * heads + h) * queries + i;
    }
    /// Grouped queries: consecutive query heads share one key head.
    std::size_t key_row(std::size_t b, std::size_t h, std::size_t j) const {
        return (b * key_heads + h / (heads / key_heads)) * keys + j;
    }
    /// Keys that a query sees: with a causal mask the last query sees all keys.
    std::size_t visible(std::size_t i) const {
        return causal ? std::min(keys, i + 1 + (keys > queries ? keys - queries : 0)) : keys;
    }

    /// What dropout multiplies a weight by.
    double kept(std::size_t row, std::size_t j) const { return dropout.factor(row, keys, j); }

    template <class Visit>
    void for_each_row(Visit visit) const {
        for (std::size_t b = 0; b < batch; ++b) {
            for (std::size_t h = 0; h < heads; ++h) {
                for (std::size_t i = 0; i < queries; ++i) visit(b, h, i);
            }
        }
    }
};

double dot(const double* a, const double* b, std::size_t count) {
    double sum = 0;
    for (std::size_t i = 0; i < count; ++i) sum += a[i] * b[i];
    return sum;
}

}  // namespace

void run_attention(const Context& c) {
    const Sizes s(c.op, c.in(0), c.in(1), c.in(2));
    const std::vector<double> q = c.gathered_input(0), k = c.gathered_input(1), v = c.gathered_input(2);
    std::vector<double> out(static_cast<std::size_t>(c.out(0).elements()), 0.0);
    std::vector<double> log_sum(s.batch * s.heads * s.queries), weight(s.keys);
    s.for_each_row([&](std::size_t b, std::size_t h, std::size_t i) {
        const std::size_t row = s.query_row(b, h, i), seen = s.visible(i);
        double largest = -std::numeric_limits<double>::infinity(), sum = 0;
        for (std::size_t j = 0; j < seen; ++j) {
            weight[j] =
                s.scale * dot(&q[row * s.dimension], &k[s.key_row(b, h, j) * s.dimension], s.dimension);
            largest = std::max(largest, weight[j]);
        }
        for (std::size_t j = 0; j < seen; ++j) sum += weight[j] = std::exp(weight[j] - largest);
        log_sum[row] = largest + std::log(sum);
        for (std::size_t j = 0; j < seen; ++j) {
            const double* value = &v[s.key_row(b, h, j) * s.value_dimension];
            for (std::size_t d = 0; d < s.value_dimension; ++d)
                out[row * s.value_dimension + d] += weight[j] * s.kept(row, j) / sum * value[d];
        }
    });
    c.scatter_output(0, out);
    if (c.op.outputs.size() > 1) c.scatter_output(1, log_sum);
}

void run_attention_grad(const Context& c) {
    const Sizes s(c.op, c.in(1), c.in(2), c.in(3));
    const std::vector<double> d_out = c.gathered_input(0), q = c.gathered_input(1), k = c.gathered_input(2),
                              v = c.gathered_input(3), out = c.gathered_input(4),
                              log_sum = c.gathered_input(5);
    std::vector<double> dq(q.size(), 0.0), dk(k.size(), 0.0), dv(v.size(), 0.0);
    s.for_each_row([&](std::size_t b, std::size_t h, std::size_t i) {
        const std::size_t row = s.query_row(b, h, i);
        const double* g = &d_out[row * s.value_dimension];
        const double delta = dot(g, &out[row * s.value_dimension], s.value_dimension);
        for (std::size_t j = 0; j < s.visible(i); ++j) {
            const std::size_t key = s.key_row(b, h, j);
            const double score = s.scale * dot(&q[row * s.dimension], &k[key * s.dimension], s.dimension);
            const double p = std::exp(score - log_sum[row]);
            const double kept = s.kept(row, j);
            const double dp = kept * dot(g, &v[key * s.value_dimension], s.value_dimension);
            const double ds = p * (dp - delta) * s.scale;
            for (std::size_t d = 0; d < s.value_dimension; ++d)
                dv[key * s.value_dimension + d] += kept * p * g[d];
            for (std::size_t d = 0; d < s.dimension; ++d) {
                dq[row * s.dimension + d] += ds * k[key * s.dimension + d];
                dk[key * s.dimension + d] += ds * q[row * s.dimension + d];
            }
        }
    });
    c.scatter_output(0, dq);
    c.scatter_output(1, dk);
    c.scatter_output(2, dv);
}

}  // namespace heddle::reference
