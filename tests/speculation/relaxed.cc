// SPDX-License-Identifier: Apache-2.0
#include "relaxed.h"

#include <algorithm>
#include <cmath>

#include "../handles.h"
#include "laws.h"

namespace speculation {
namespace {

using handles::check;

sidbeam_runtime* runtime() {
  static const auto shared =
      handles::made<handles::Runtime>([](auto out, auto err) { return sidbeam_runtime_create(nullptr, out, err); });
  return shared.get();
}

Relaxed verified(const Lists& lists, const Form& form, const Key& key, const std::vector<int64_t>& drafts) {
  Relaxed result;
  result.drafts = drafts;
  result.extensions.resize(static_cast<size_t>(form.beams));
  sidbeam_relaxed_verify_args args = SIDBEAM_RELAXED_VERIFY_ARGS_INIT;
  args.beams = form.beams;
  args.count = static_cast<int64_t>(lists.target.size());
  args.target = lists.target.data();
  args.draft = lists.draft.data();
  args.drafts = drafts.data();
  args.draft_count = static_cast<int64_t>(drafts.size());
  args.inverse_temperature = form.inverse_temperature;
  args.without_replacement = form.without_replacement ? 1 : 0;
  args.seed = key.seed;
  args.request = key.request;
  args.level = key.level;
  sidbeam_relaxed_beams out = SIDBEAM_RELAXED_BEAMS_INIT;
  out.extensions = result.extensions.data();
  check([&](sidbeam_error* err) { return sidbeam_relaxed_verify(runtime(), &args, &out, err); });
  result.live = out.live;
  result.goes_on = out.goes_on != 0;
  return result;
}

// The lists of the second level after the beams of the first.
Lists second_level(const TwoLevels& model, const std::vector<int64_t>& beams) {
  Lists lists{std::vector<float>(7, -INFINITY), std::vector<float>(7, -INFINITY)};
  for (const int64_t beam : beams) {
    if (beam == 3) lists.target[6] = model.first.target[3], lists.draft[6] = model.first.draft[3];
    for (int64_t code = 0; code < 2 && beam < 3; ++code) {
      const auto first = static_cast<size_t>(beam), at = static_cast<size_t>(beam * 2 + code);
      lists.target[at] = model.first.target[first] + model.second.target[at];
      lists.draft[at] = model.first.draft[first] + model.second.draft[at];
    }
  }
  return lists;
}

}  // namespace

std::vector<int64_t> drawn(const std::vector<float>& log_probs, const Form& form, const Key& key) {
  std::vector<int64_t> draws(static_cast<size_t>(form.drafts));
  sidbeam_relaxed_draw_args args = SIDBEAM_RELAXED_DRAW_ARGS_INIT;
  args.draws = form.drafts;
  args.count = static_cast<int64_t>(log_probs.size());
  args.log_probs = log_probs.data();
  args.inverse_temperature = form.inverse_temperature;
  args.without_replacement = form.without_replacement ? 1 : 0;
  args.seed = key.seed;
  args.request = key.request;
  args.level = key.level;
  check([&](sidbeam_error* err) { return sidbeam_relaxed_draw(runtime(), &args, draws.data(), err); });
  draws.erase(std::remove(draws.begin(), draws.end(), -1), draws.end());
  return draws;
}

Relaxed relaxed(const Lists& lists, const Form& form, const Key& key) {
  return verified(lists, form, key, drawn(lists.draft, form, key));
}

TwoLevels two_levels() {
  return {{{0, -1, -0.5F, -1.4F}, {-0.5F, -0.7F, 0, -1.1F}},
          {{-0.3F, -1.5F, -1, -0.5F, -0.7F, -0.7F}, {-0.5F, -1, -0.6F, -0.8F, -0.2F, -2}}};
}

Law two_level_law(const TwoLevels& model) {
  Law law(49);
  const std::vector<double> first = probabilities(model.first.target);
  for (int64_t a = 0; a < 4; ++a) {
    for (int64_t b = 0; b < 4; ++b) {
      const Law second = independent_draws(second_level(model, {a, b}), {2, 2});
      for (size_t i = 0; i < law.size(); ++i)
        law[i] += first[static_cast<size_t>(a)] * first[static_cast<size_t>(b)] * second[i];
    }
  }
  return law;
}

size_t two_level_outcome(const TwoLevels& model, const Key& key, int64_t& saved) {
  const Form form{2, 2, false};
  const Key second_key{key.seed, key.request, 1};
  const std::vector<int64_t> first_drafts = drawn(model.first.draft, form, key);
  const std::vector<int64_t> ahead = drawn(second_level(model, first_drafts).draft, form, second_key);
  const Relaxed first = verified(model.first, form, key, first_drafts);
  const Lists lists = second_level(model, first.extensions);
  saved += first.goes_on ? 1 : 0;
  // A second round draws again, with the numbers that the drafts which were thrown away have used.
  const std::vector<int64_t> drafts = first.goes_on ? ahead : drawn(lists.draft, form, second_key);
  return outcome_of(7, verified(lists, form, second_key, drafts).extensions);
}

}  // namespace speculation
