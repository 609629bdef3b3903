// An upper bound on speed: the update of the `uniform` sampler with the logistic loss and the id tower, with negatives
// drawn in advance, compiled for the machine it runs on. Built and timed by benchmarks/speed/reference.py.
#include <cmath>
#include <cstdint>

namespace {
constexpr int kDimensions = DIMENSIONS;

void prefetch(const float* row) {
  for (int f = 0; f < kDimensions; f += 16) __builtin_prefetch(row + f);
}
}  // namespace

extern "C" double train(float* __restrict image_vectors, float* __restrict labels, float* __restrict bias,
                        const int64_t* __restrict indptr, const int32_t* __restrict indices,
                        const int64_t* __restrict images, int64_t visits, const int32_t* __restrict negatives,
                        float rate, float regularization, float bias_regularization) {
  const float shrink = 1.0f - rate * regularization;
  const float shrink_bias = 1.0f - rate * bias_regularization;
  double total = 0.0;
  int64_t draw = 0;
  alignas(64) float vector[kDimensions];
  for (int64_t visit = 0; visit < visits; ++visit) {
    float* row = image_vectors + images[visit] * kDimensions;
    if (visit + 1 < visits) prefetch(image_vectors + images[visit + 1] * kDimensions);
    for (int f = 0; f < kDimensions; ++f) vector[f] = row[f];
    const int64_t first = indptr[images[visit]], last = indptr[images[visit] + 1];
    for (int64_t ahead = 0; ahead < last - first; ++ahead) {
      prefetch(labels + int64_t{indices[first + ahead]} * kDimensions);
      prefetch(labels + int64_t{negatives[draw + ahead]} * kDimensions);
    }
    for (int64_t place = first; place < last; ++place) {
      float* p = labels + int64_t{indices[place]} * kDimensions;
      float* n = labels + int64_t{negatives[draw]} * kDimensions;
      float* bp = bias + indices[place];
      float* bn = bias + negatives[draw++];
      float difference = *bp - *bn;
      for (int f = 0; f < kDimensions; ++f) difference += vector[f] * (p[f] - n[f]);
      const float decay = std::exp(-std::fabs(difference));
      total += std::log1p(decay) + (difference < 0 ? -difference : 0.0f);
      const float step_scale = rate * (difference > 0 ? decay / (1.0f + decay) : 1.0f / (1.0f + decay));
#pragma GCC ivdep
      for (int f = 0; f < kDimensions; ++f) {
        const float v = vector[f], a = p[f], b = n[f];
        vector[f] = shrink * v + step_scale * (a - b);
        p[f] = shrink * a + step_scale * v;
        n[f] = shrink * b - step_scale * v;
      }
      *bp = shrink_bias * *bp + step_scale;
      *bn = shrink_bias * *bn - step_scale;
    }
    for (int f = 0; f < kDimensions; ++f) row[f] = vector[f];
  }
  return total;
}
