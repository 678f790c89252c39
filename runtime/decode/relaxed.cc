// SPDX-License-Identifier: Apache-2.0
#include "decode/relaxed.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "backend/philox.h"
#include "support/error.h"
#include "support/portable_math.h"

namespace sidbeam {
namespace {

constexpr int64_t kMostExtensions = int64_t{1} << 32;
// Of an extension whose exp is 0: without replacement even the least likely one must be drawn when no other is left.
constexpr double kLeastWeight = 1e-290;

// Whose random numbers a call uses.
struct DrawKey {
  uint64_t seed;
  int64_t request;
  int32_t level;

  uint64_t bits(int64_t draw, RandomUse use) const { return draw_bits(seed, request, draw, use, level); }
  double unit(int64_t draw, RandomUse use) const { return unit_of(bits(draw, use)); }
};

float checked_temperature(float given) {
  if (!(given >= 0.0F && std::isfinite(given)))
    fail(SIDBEAM_INVALID_ARGUMENT, "args.inverse_temperature is %g, expected a finite number above 0, or 0 for 1",
         static_cast<double>(given));
  return given > 0.0F ? given : 1.0F;
}

// The largest log-probability; -inf: there is no extension.
float largest_of(const char* name, const float* log_probs, int64_t count) {
  float largest = -std::numeric_limits<float>::infinity();
  for (int64_t i = 0; i < count; ++i) {
    if (!(log_probs[i] < std::numeric_limits<float>::infinity()))
      fail(SIDBEAM_INVALID_ARGUMENT, "args.%s[%lld] is %g, expected a finite number or -inf", name,
           static_cast<long long>(i), static_cast<double>(log_probs[i]));
    largest = std::max(largest, log_probs[i]);
  }
  return largest;
}

double sum_of(const Buffer<double>& weights) {
  double sum = 0.0;
  for (const double weight : weights) sum += weight;
  return sum;
}

// The probabilities of a list, or only zeros.
Buffer<double> probabilities(const Allocator& allocator, const char* name, const float* log_probs, int64_t count,
                             float inverse_temperature) {
  const float largest = largest_of(name, log_probs, count);
  auto weights = Buffer<double>::zeroed(allocator, count);
  if (largest == -std::numeric_limits<float>::infinity()) return weights;
  for (int64_t i = 0; i < count; ++i) {
    if (log_probs[i] == -std::numeric_limits<float>::infinity()) continue;
    const double below = static_cast<double>(log_probs[i]) - static_cast<double>(largest);
    weights[i] = std::max(portable_exp(static_cast<double>(inverse_temperature) * below), kLeastWeight);
  }
  const double sum = sum_of(weights);
  for (double& weight : weights) weight /= sum;
  return weights;
}

// Weights to draw from, which need not sum to 1, and their sums in the order of the list.
class Urn {
 public:
  // Reads the weights and changes them, and writes the sums; both have an element per extension.
  Urn(Buffer<double>& weights, Buffer<double>& sums)
      : weights_(weights.data()), sums_(sums.data()), count_(weights.size()), last_(count_ - 1) {
    sum_up_from(0);
  }

  // The extension that a number in [0, 1) falls on; -1: all weights are 0.
  int64_t draw(double unit) const {
    const double* found = std::upper_bound(sums_, sums_ + count_, unit * sums_[count_ - 1]);
    if (found == sums_ + count_) return last_;  // rounding has made it the whole sum
    return found - sums_;
  }
  void remove(int64_t extension) {
    weights_[extension] = 0.0;
    sum_up_from(extension);
  }

 private:
  void sum_up_from(int64_t first) {
    double sum = first > 0 ? sums_[first - 1] : 0.0;
    for (int64_t i = first; i < count_; ++i) sums_[i] = sum += weights_[i];
    while (last_ >= 0 && weights_[last_] <= 0.0) --last_;
  }

  double *weights_, *sums_;
  int64_t count_;
  int64_t last_;  // that has a weight; -1: none
};

void check_counts(int64_t count, int32_t without_replacement, int32_t level) {
  check_range("args.count", count, 1, kMostExtensions);
  check_range("args.without_replacement", without_replacement, 0, 1);
  check_range("args.level", level, 0, SIDBEAM_MAX_LEVELS - 1);
}

// A call of verify().
struct Verification {
  const sidbeam_relaxed_verify_args& args;
  DrawKey key;
  Buffer<double> p;
  Buffer<double> q;  // once drafts have been accepted: max(0, p - q), what the others are replaced from
  Buffer<double> sums;
};

void check_drafts(const Verification& call) {
  const sidbeam_relaxed_verify_args& args = call.args;
  for (int64_t i = 0; i < args.draft_count; ++i) {
    const int64_t draft = args.drafts[i];
    if (draft < 0 || draft >= args.count)
      fail(SIDBEAM_INVALID_ARGUMENT, "args.drafts[%lld] is %lld, expected 0..%lld", static_cast<long long>(i),
           static_cast<long long>(draft), static_cast<long long>(args.count - 1));
    if (call.q[draft] == 0.0)
      fail(SIDBEAM_INVALID_ARGUMENT, "args.drafts[%lld] is %lld, which the draft gives no probability",
           static_cast<long long>(i), static_cast<long long>(draft));
    if (args.without_replacement != 0 && std::find(args.drafts, args.drafts + i, draft) != args.drafts + i)
      fail(SIDBEAM_INVALID_ARGUMENT, "args.drafts[%lld] is %lld, which comes before, expected different drafts",
           static_cast<long long>(i), static_cast<long long>(draft));
  }
}

bool accepts(const Verification& call, int64_t i) {
  const int64_t draft = call.args.drafts[i];
  return call.key.unit(i, RandomUse::kVerify) * call.q[draft] < call.p[draft];
}

// Draws what drafts that were rejected are replaced by: from norm(max(0, p - q)), and from p where that is empty, which
// is when nothing but rounding rejects, or when all of it is out.
class Replacements {
 public:
  // Afterwards no draft can be accepted or rejected any more. Those whose p is 0 are never drawn.
  explicit Replacements(Verification& call) : call_(call), urn_(residual(call), call.sums) {}

  int64_t draw(int64_t i) {
    const double unit = call_.key.unit(i, RandomUse::kReplace);
    const int64_t found = urn_.draw(unit);
    if (found >= 0 || from_p_) return found;
    from_p_ = true;
    urn_ = Urn(call_.p, call_.sums);
    return urn_.draw(unit);
  }
  // Never draws this one again.
  void remove(int64_t extension) {
    call_.p[extension] = 0.0;
    urn_.remove(extension);
  }

 private:
  static Buffer<double>& residual(Verification& call) {
    for (int64_t i = 0; i < call.args.count; ++i) call.q[i] = std::max(0.0, call.p[i] - call.q[i]);
    return call.q;
  }

  Verification& call_;
  Urn urn_;
  bool from_p_ = false;
};

void verify_with_replacement(Verification& call, sidbeam_relaxed_beams& out) {
  const int32_t beams = call.args.beams;
  for (int32_t i = 0; i < beams; ++i) {
    if (!accepts(call, i)) continue;
    out.extensions[i] = call.args.drafts[i];
    ++out.accepted;
  }
  out.live = out.accepted;
  out.goes_on = out.accepted == beams ? 1 : 0;
  if (out.accepted == beams) return;
  Replacements replacements(call);
  for (int32_t i = 0; i < beams; ++i) {
    if (out.extensions[i] >= 0) continue;
    out.extensions[i] = replacements.draw(i);
    out.live += out.extensions[i] >= 0 ? 1 : 0;  // else the target has no extension at all
  }
}

// Keeps `wanted` of the accepted drafts, each set of them as likely as any other.
void keep_some(const Verification& call, Buffer<int64_t>& accepted, int32_t count, int32_t wanted,
               sidbeam_relaxed_beams& out) {
  for (int32_t i = 0; i < wanted; ++i) {
    const auto left = static_cast<uint64_t>(count - i);
    const auto step = static_cast<int64_t>(static_cast<double>(left) * call.key.unit(i, RandomUse::kKeep));
    std::swap(accepted[i], accepted[i + std::min(step, static_cast<int64_t>(left) - 1)]);
    out.extensions[i] = accepted[i];
  }
  out.live = wanted;
  out.goes_on = wanted > 0 ? 1 : 0;  // without an extension of the target there is nothing to go on from
}

// Fills up with draws that are not out yet.
void replace_missing(Verification& call, const Buffer<int64_t>& accepted, int32_t count, sidbeam_relaxed_beams& out) {
  for (int32_t i = 0; i < count; ++i) {
    out.extensions[out.live++] = accepted[i];
    call.p[accepted[i]] = 0.0;
  }
  Replacements replacements(call);
  while (out.live < call.args.beams) {
    const int64_t found = replacements.draw(out.live);
    if (found < 0) return;
    out.extensions[out.live++] = found;
    replacements.remove(found);
  }
}

void verify_without_replacement(Verification& call, Buffer<int64_t>& accepted, sidbeam_relaxed_beams& out) {
  int32_t count = 0;
  for (int64_t i = 0; i < call.args.draft_count; ++i)
    if (accepts(call, i)) accepted[count++] = call.args.drafts[i];
  out.accepted = count;
  const auto candidates = std::count_if(call.p.begin(), call.p.end(), [](double weight) { return weight > 0.0; });
  const auto wanted = static_cast<int32_t>(std::min<int64_t>(call.args.beams, candidates));
  if (count >= wanted) return keep_some(call, accepted, count, wanted, out);
  replace_missing(call, accepted, count, out);
}

}  // namespace

void draw_extensions(const Allocator& allocator, const sidbeam_relaxed_draw_args& args, int64_t* drafts) {
  check_range("args.draws", args.draws, 1, SIDBEAM_MAX_BEAMS);
  check_counts(args.count, args.without_replacement, args.level);
  const DrawKey key{static_cast<uint64_t>(args.seed), args.request, args.level};
  Buffer<double> left =
      probabilities(allocator, "log_probs", args.log_probs, args.count, checked_temperature(args.inverse_temperature));
  Buffer<double> sums(allocator, args.count);
  Urn urn(left, sums);
  for (int32_t i = 0; i < args.draws; ++i) {
    drafts[i] = urn.draw(key.unit(i, RandomUse::kDraft));
    if (args.without_replacement != 0 && drafts[i] >= 0) urn.remove(drafts[i]);
  }
}

void verify_extensions(const Allocator& allocator, const sidbeam_relaxed_verify_args& args,
                       sidbeam_relaxed_beams& out) {
  check_range("args.beams", args.beams, 1, SIDBEAM_MAX_BEAMS);
  check_counts(args.count, args.without_replacement, args.level);
  check_range("args.draft_count", args.draft_count, 0, SIDBEAM_MAX_BEAMS);
  if (args.without_replacement == 0 && args.draft_count != args.beams)
    fail(SIDBEAM_INVALID_ARGUMENT, "args.draft_count is %lld, expected %d, as many as beams, with replacement",
         static_cast<long long>(args.draft_count), args.beams);
  const float temperature = checked_temperature(args.inverse_temperature);
  Verification call{args,
                    {static_cast<uint64_t>(args.seed), args.request, args.level},
                    probabilities(allocator, "target", args.target, args.count, temperature),
                    probabilities(allocator, "draft", args.draft, args.count, temperature),
                    Buffer<double>(allocator, args.count)};
  check_drafts(call);
  Buffer<int64_t> accepted(allocator, args.draft_count);
  out.live = out.accepted = out.goes_on = 0;
  std::fill_n(out.extensions, args.beams, int64_t{-1});
  if (args.without_replacement != 0)
    verify_without_replacement(call, accepted, out);
  else
    verify_with_replacement(call, out);
}

}  // namespace sidbeam
