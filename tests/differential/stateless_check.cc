// The stateless forms on rows of mixed constraints.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cmath>
#include <set>

#include "checks.h"

namespace differential {
namespace {

constexpr size_t kRows = 12;

// Rows of one call: each a beam of one of the constraints, perhaps of a prefix that no SID has.
struct Batch {
  const World& world;
  const Place& place;
  std::vector<sidbeam_constraint*> constraints;
  Vocabulary vocabulary;
  ConstraintSet set;
  std::vector<int32_t> which;
  std::vector<oracle::Beam> beams;
  std::vector<bool> exists;
  std::vector<sidbeam_state> states;

  const oracle::Catalogue& catalogue(size_t i) const { return world.catalogues[static_cast<size_t>(which[i])]; }
  std::vector<int> children(size_t i) const {
    if (!exists[i] || beams[i].ended) return {};
    return oracle::children(catalogue(i), beams[i].prefix);
  }
  uint64_t draw(uint64_t what, uint64_t i) const { return mix(world.seed(), kDrawStateless, what, i); }
};

// Prefixes lie apart, or dense; the longest constraint of the set has as many levels as the case.
std::vector<sidbeam_state> from_prefixes(const Batch& batch, const std::vector<int32_t>& which,
                                         const std::vector<oracle::Sid>& prefixes) {
  const bool dense = batch.draw(15, prefixes.size()) % 2 == 0;
  const size_t stride = static_cast<size_t>(batch.world.c.levels) + (dense ? 0 : 1);
  std::vector<int32_t> codes(prefixes.size() * stride, -7), lengths;
  for (size_t i = 0; i < prefixes.size(); ++i) {
    std::copy(prefixes[i].begin(), prefixes[i].end(), codes.begin() + static_cast<std::ptrdiff_t>(i * stride));
    lengths.push_back(static_cast<int32_t>(prefixes[i].size()));
  }
  const Array<int32_t> follow(batch.place, which), code(batch.place, codes), length(batch.place, lengths);
  Array<sidbeam_state> states(batch.place, prefixes.size(), -9);
  call("sidbeam_constraint_set_prefixes", sidbeam_constraint_set_prefixes, batch.set.get(), follow.data(), code.data(),
       dense ? int64_t{0} : static_cast<int64_t>(stride), length.data(), static_cast<int64_t>(prefixes.size()),
       states.data(), batch.place.stream());
  return states.fetch();
}

// The states of one prefix under each named constraint.
std::vector<sidbeam_state> from_one_prefix(const Batch& batch, const std::vector<int32_t>& which,
                                           const oracle::Sid& prefix) {
  const std::vector<int32_t> lengths(which.size(), static_cast<int32_t>(prefix.size()));
  std::vector<int32_t> codes(prefix.begin(), prefix.end());
  codes.resize(static_cast<size_t>(batch.world.c.levels), -7);
  const Array<int32_t> follow(batch.place, which), code(batch.place, codes), length(batch.place, lengths);
  Array<sidbeam_state> states(batch.place, which.size(), -9);
  call("sidbeam_constraint_set_prefixes", sidbeam_constraint_set_prefixes, batch.set.get(), follow.data(), code.data(),
       SIDBEAM_BROADCAST, length.data(), static_cast<int64_t>(which.size()), states.data(), batch.place.stream());
  return states.fetch();
}

std::vector<sidbeam_state> advanced(const Batch& batch, const std::vector<int32_t>& which,
                                    const std::vector<sidbeam_state>& in, const std::vector<int32_t>& parents,
                                    const std::vector<int32_t>& codes) {
  const Array<int32_t> follow(batch.place, which), code(batch.place, codes), parent(batch.place, parents);
  const Array<sidbeam_state> from(batch.place, in);
  Array<sidbeam_state> out(batch.place, codes.size(), -9);
  call("sidbeam_constraint_set_advance", sidbeam_constraint_set_advance, batch.set.get(), follow.data(), from.data(),
       static_cast<int64_t>(in.size()), parent.data(), code.data(), static_cast<int64_t>(codes.size()), out.data(),
       batch.place.stream());
  return out.fetch();
}

oracle::Sid draw_prefix(const Batch& batch, size_t i) {
  const oracle::Catalogue& catalogue = batch.world.wholes[static_cast<size_t>(batch.which[i])];
  oracle::Sid prefix = catalogue.sids[batch.draw(1, i) % catalogue.sids.size()];
  if (batch.draw(2, i) % 3 != 0) prefix.resize(batch.draw(3, i) % (prefix.size() + 1));
  if (!prefix.empty() && batch.draw(4, i) % 4 == 0) {  // another code, perhaps out of range
    const size_t l = batch.draw(5, i) % prefix.size();
    prefix[l] = static_cast<int>(batch.draw(6, i) % static_cast<uint64_t>(catalogue.codes[l] + 2)) - 1;
  }
  return prefix;
}

std::vector<sidbeam_constraint*> constraints_of(const std::vector<Loaded>& loaded) {
  std::vector<sidbeam_constraint*> constraints;
  for (const Loaded& one : loaded) constraints.push_back(one.constraint.get());
  return constraints;
}

void fill_batch(const std::vector<Loaded>& loaded, Batch& batch) {
  std::vector<oracle::Sid> prefixes;
  for (size_t i = 0; i < kRows; ++i) {
    batch.which.push_back(static_cast<int32_t>(batch.draw(7, i) % loaded.size()));
    prefixes.push_back(draw_prefix(batch, i));
    batch.beams.push_back({prefixes.back(), false, 0});
    batch.exists.push_back(oracle::has_prefix(batch.catalogue(i), prefixes.back()));
  }
  batch.states = from_prefixes(batch, batch.which, prefixes);
  for (size_t i = 0; i < kRows; ++i) {
    expect((batch.states[i] != -1) == batch.exists[i], "prefixes: state of ", text(prefixes[i]), " is ",
           batch.states[i]);
    expect(!prefixes[i].empty() || !batch.exists[i] || batch.states[i] == 0, "prefixes: the beginning is ",
           batch.states[i]);
    for (size_t j = 0; j < i; ++j) {
      if (!batch.exists[i] || !batch.exists[j] || batch.which[i] != batch.which[j]) continue;
      expect((batch.states[i] == batch.states[j]) == (prefixes[i] == prefixes[j]), "prefixes: states of ",
             text(prefixes[i]), " and ", text(prefixes[j]), " are ", batch.states[i], " and ", batch.states[j]);
    }
  }
}

void check_one_prefix(const Batch& batch) {
  for (size_t i = 0; i < kRows; i += 5) {
    const std::vector<oracle::Sid> copies(kRows, batch.beams[i].prefix);
    expect(from_one_prefix(batch, batch.which, copies[0]) == from_prefixes(batch, batch.which, copies),
           "prefixes: ", text(copies[0]), " for all entries has other states than named by each");
  }
}

// Each row after every kind of code, by parents in any order.
void check_advance(const Batch& batch, Coverage* coverage) {
  std::vector<int32_t> parents, which, codes;
  std::vector<oracle::Sid> prefixes;  // of the expected states; (-1) where nothing may follow
  for (size_t n = 0; n < 3 * kRows; ++n) {
    const size_t i = batch.draw(8, n) % kRows, level = batch.beams[i].prefix.size();
    const std::vector<int> children = batch.children(i);
    const int most = static_cast<int>(level) < batch.catalogue(i).levels() ? batch.catalogue(i).codes[level] : 3;
    int code = static_cast<int>(batch.draw(9, n) % static_cast<uint64_t>(most + 3)) - 1;
    if (!children.empty() && n % 2 == 0) code = children[batch.draw(10, n) % children.size()];
    const bool follows = std::find(children.begin(), children.end(), code) != children.end();
    if (code == most && follows) continue;                                               // the end: check_ends
    if (code == -1 && static_cast<int>(level) == batch.catalogue(i).levels()) continue;  // not defined
    parents.push_back(static_cast<int32_t>(i));
    if (n % 7 == 6) parents.back() = n % 2 == 0 ? -1 : static_cast<int32_t>(kRows);  // out of range
    which.push_back(batch.which[i]);
    codes.push_back(code);
    prefixes.push_back({-1});
    if (follows && n % 7 != 6) {
      prefixes.back() = batch.beams[i].prefix;
      prefixes.back().push_back(code);
      ++(*coverage)["states advanced"];
    }
  }
  const auto expected = from_prefixes(batch, which, prefixes);
  const auto came = advanced(batch, which, batch.states, parents, codes);
  for (size_t n = 0; n < came.size(); ++n) {
    expect(came[n] == expected[n], "advance: from row ", parents[n], " with code ", codes[n], " came ", came[n],
           ", expected ", expected[n]);
  }
}

// Turns every third row that may end into an ended one, in place.
void end_some(Batch* batch, Coverage* coverage) {
  std::vector<int32_t> codes;
  for (size_t i = 0; i < kRows; ++i) {
    const std::vector<int> children = batch->children(i);
    const size_t level = batch->beams[i].prefix.size();
    const bool may_end = !children.empty() && children.back() == batch->catalogue(i).codes[level];
    batch->beams[i].ended = may_end && batch->draw(11, i) % 3 == 0;
    codes.push_back(batch->beams[i].ended ? children.back() : -1);
  }
  const auto ended = advanced(*batch, batch->which, batch->states, {}, codes);
  const auto again = advanced(*batch, batch->which, ended, {}, std::vector<int32_t>(kRows, -1));
  const auto wrong = advanced(*batch, batch->which, ended, {}, std::vector<int32_t>(kRows, 0));
  for (size_t i = 0; i < kRows; ++i) {
    if (!batch->beams[i].ended) continue;
    ++(*coverage)["states ended"];
    expect(ended[i] != -1 && again[i] == ended[i] && wrong[i] == -1, "advance: the end of ",
           text(batch->beams[i].prefix), " is ", ended[i], ", kept ", again[i], ", with code 0 ", wrong[i]);
    batch->states[i] = ended[i];
  }
}

std::set<int> valid_columns(const Batch& batch, size_t i) {
  std::set<int> columns;
  const size_t level = batch.beams[i].prefix.size();
  for (int code : batch.children(i)) {
    const oracle::Rules& rules = batch.world.rules;
    columns.insert(code == batch.catalogue(i).codes[level] ? rules.end_column
                                                           : rules.columns[level][static_cast<size_t>(code)]);
  }
  return columns;
}

// Rows as one block, as elements in their own bits.
struct Block {
  Feed feed;
  std::vector<RawRow> rows;
};

Block make_block(const Batch& batch) {
  Block block;
  World world = batch.world;
  world.c.given_lse = 0;
  const int64_t columns = world.columns + static_cast<int64_t>(batch.draw(12, 0) % 3);
  for (size_t i = 0; i < kRows; ++i) block.rows.push_back(make_row(world, {1000000, 0, i}, columns));
  block.feed = plain_feed(world, block.rows, static_cast<int64_t>(kRows), world.c.misalign);
  block.feed.rows.slots = 0;
  return block;
}

void check_mask(const Batch& batch) {
  const Block block = make_block(batch);
  Delivery there(batch.place, block.feed);
  const Array<int32_t> follow(batch.place, batch.which);
  const Array<sidbeam_state> states(batch.place, batch.states);
  const sidbeam_rows* rows = &there.rows;
  call("sidbeam_constraint_set_mask", sidbeam_constraint_set_mask, batch.set.get(), follow.data(), states.data(), rows,
       there.data, batch.place.stream());
  const std::vector<float> wide = there.wide.fetch();
  const std::vector<uint16_t> narrow = there.narrow.fetch();
  const auto bits_at = [&](size_t at) { return wide.empty() ? narrow[at] : std::bit_cast<uint32_t>(wide[at]); };
  const uint32_t minus_infinity = oracle::encode(static_cast<oracle::Dtype>(batch.world.c.dtype), -HUGE_VALF);
  const size_t columns = block.rows[0].elements.size();
  for (size_t i = 0; i < kRows; ++i) {
    const std::set<int> valid = valid_columns(batch, i);
    for (size_t k = 0; k < columns; ++k) {
      const uint32_t came = bits_at(static_cast<size_t>(batch.world.c.misalign) + i * columns + k);
      const uint32_t expected = valid.count(static_cast<int>(k)) != 0 ? block.rows[i].elements[k] : minus_infinity;
      expect(came == expected, "mask: row ", i, " after ", text(batch.beams[i].prefix), ", column ", k, ": bits ", came,
             ", expected ", expected);
    }
  }
}

void check_bitmask(const Batch& batch) {
  const auto words = static_cast<size_t>(batch.world.columns + 31) / 32 + batch.draw(13, 0) % 2;
  Array<uint32_t> written(batch.place, kRows * words, 0xdeadbeef);
  const Array<int32_t> follow(batch.place, batch.which);
  const Array<sidbeam_state> states(batch.place, batch.states);
  call("sidbeam_constraint_set_bitmask", sidbeam_constraint_set_bitmask, batch.set.get(), follow.data(), states.data(),
       static_cast<int64_t>(kRows), static_cast<int64_t>(words), written.data(), batch.place.stream());
  const std::vector<uint32_t>& bits = written.fetch();
  for (size_t i = 0; i < kRows; ++i) {
    const std::set<int> valid = valid_columns(batch, i);
    for (size_t k = 0; k < words * 32; ++k) {
      const bool came = (bits[i * words + k / 32] >> k % 32 & 1) != 0;
      expect(came == (valid.count(static_cast<int>(k)) != 0), "bitmask: row ", i, " after ",
             text(batch.beams[i].prefix), ", column ", k, " is ", came);
    }
  }
}

// What topk wrote.
struct Best {
  std::vector<int32_t> codes;
  std::vector<float> log_probs;
  std::vector<sidbeam_state> next;
};

// Row i's part of what topk wrote, as a slot of one beam would have it.
Snapshot as_step(const Best& best, size_t i, size_t k) {
  const auto part = [&](const auto& all) {
    return std::vector(all.begin() + static_cast<std::ptrdiff_t>(i * k),
                       all.begin() + static_cast<std::ptrdiff_t>((i + 1) * k));
  };
  Snapshot after{{}, part(best.codes), part(best.log_probs), part(best.next), 0, 0, 0, 0};
  for (const int32_t code : after.codes) {
    after.parents.push_back(code == -1 ? -1 : 0);
    after.live += code == -1 ? 0 : 1;
  }
  if (std::isnan(after.scores[0])) {
    after.error = SIDBEAM_SLOT_BAD_ROW;
    after.scores[0] = -HUGE_VALF;
  }
  return after;
}

Best call_topk(const Batch& batch, const Block& block, size_t k) {
  const Delivery there(batch.place, block.feed);
  const Array<int32_t> follow(batch.place, batch.which);
  const Array<sidbeam_state> states(batch.place, batch.states);
  Array<int32_t> codes(batch.place, kRows * k, -9);
  Array<float> log_probs(batch.place, kRows * k, -9.0F);
  Array<sidbeam_state> next(batch.place, kRows * k, -9);
  const sidbeam_rows* rows = &there.rows;
  call("sidbeam_constraint_set_topk", sidbeam_constraint_set_topk, batch.set.get(), follow.data(), states.data(), rows,
       static_cast<int32_t>(batch.world.c.normalization), static_cast<int32_t>(k), codes.data(), log_probs.data(),
       next.data(), batch.place.stream());
  return {codes.fetch(), log_probs.fetch(), next.fetch()};
}

void check_topk(const Way& way, const Batch& batch, const std::vector<Loaded>& loaded, Coverage* coverage) {
  World world = batch.world;  // topk knows neither soft-cap nor temperature
  world.c.given_lse = 0;
  world.rules.strategy = oracle::Strategy::kExact;
  world.rules.soft_cap = 0;
  world.rules.inverse_temperature = 1;
  const Block block = make_block(batch);
  const size_t k = 1 + batch.draw(14, 0) % 10;
  const Best best = call_topk(batch, block, k);
  for (size_t i = 0; i < kRows; ++i) {
    const Snapshot after = as_step(best, i, k);
    std::vector<oracle::Beam> beams;  // none where nothing may follow
    if (!batch.children(i).empty()) beams.push_back(batch.beams[i]);
    int error = 0;
    Coverage of_steps;  // these are none
    try {
      check_step({world,
                  world.rules,
                  batch.catalogue(i),
                  static_cast<int>(batch.beams[i].prefix.size()),
                  static_cast<int>(k),
                  {block.rows[i]}},
                 after, &beams, &error, &of_steps);
      const auto states = states_of(way.runtime.get(), loaded[static_cast<size_t>(batch.which[i])].constraint.get(),
                                    batch.catalogue(i), beams);
      for (size_t n = 0; n < states.size(); ++n)
        expect(after.states[n] == states[n], "next state ", n, " is ", after.states[n], " and should be ", states[n]);
    } catch (const Mismatch& mistake) {
      mismatch("topk: row ", i, " after ", text(batch.beams[i].prefix), ": ", mistake.what());
    }
    ++(*coverage)["rows of topk"];
  }
}

}  // namespace

std::vector<sidbeam_state> states_of(sidbeam_runtime* runtime, sidbeam_constraint* constraint,
                                     const oracle::Catalogue& catalogue, const std::vector<oracle::Beam>& beams) {
  const size_t stride = catalogue.codes.size();
  std::vector<int32_t> codes(beams.size() * stride, -7), lengths, ends;
  for (size_t i = 0; i < beams.size(); ++i) {
    std::copy(beams[i].prefix.begin(), beams[i].prefix.end(), codes.begin() + static_cast<std::ptrdiff_t>(i * stride));
    lengths.push_back(static_cast<int32_t>(beams[i].prefix.size()));
    ends.push_back(beams[i].ended ? catalogue.codes[beams[i].prefix.size()] : -1);
  }
  std::vector<sidbeam_state> states(beams.size(), -9), ended(beams.size(), -9);
  sidbeam_vocabulary vocabulary = SIDBEAM_VOCABULARY_INIT;
  vocabulary.levels = catalogue.levels();
  vocabulary.end_column = 0;  // one is required; no logits row is read
  const ConstraintSet set = make_set(runtime, Place(), {constraint}, &vocabulary);
  const auto count = static_cast<int64_t>(beams.size());
  call("sidbeam_constraint_set_prefixes", sidbeam_constraint_set_prefixes, set.get(), nullptr, codes.data(), int64_t{0},
       lengths.data(), count, states.data(), nullptr);
  call("sidbeam_constraint_set_advance", sidbeam_constraint_set_advance, set.get(), nullptr, states.data(), count,
       nullptr, ends.data(), count, ended.data(), nullptr);
  for (size_t i = 0; i < beams.size(); ++i) {
    if (beams[i].ended) states[i] = ended[i];
  }
  return states;
}

void check_stateless(const Way& way, const World& world, const std::vector<Loaded>& loaded, Coverage* coverage) {
  Batch batch{world, *way.place, constraints_of(loaded), Vocabulary(world), {}, {}, {}, {}, {}};
  batch.set = make_set(way.runtime.get(), *way.place, batch.constraints, &batch.vocabulary.view);
  fill_batch(loaded, batch);
  check_one_prefix(batch);
  check_advance(batch, coverage);
  end_some(&batch, coverage);
  check_mask(batch);
  check_bitmask(batch);
  check_topk(way, batch, loaded, coverage);
}

}  // namespace differential
