// Drawing cases, and cases as lines.
// SPDX-License-Identifier: Apache-2.0
#include "case.h"

#include <algorithm>
#include <sstream>
#include <stdexcept>

#include <sidbeam/sidbeam.h>

namespace differential {

uint64_t mix(uint64_t a, uint64_t b) {  // SplitMix64's finaliser over a sum
  uint64_t z = a * 0x9e3779b97f4a7c15u + b + 0x632be59bd9b4e019u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

// Biggest savings first: shrinking goes through them in this order.
const std::vector<Knob>& knobs() {
  static const std::vector<Knob> all = {{"operations", &Case::operations},
                                        {"slots", &Case::slots},
                                        {"catalogues", &Case::catalogues},
                                        {"sids", &Case::sids},
                                        {"beams", &Case::beams},
                                        {"levels", &Case::levels},
                                        {"codes", &Case::codes},
                                        {"extra", &Case::extra},
                                        {"stateless", &Case::stateless},
                                        {"restarts", &Case::restarts},
                                        {"subsets", &Case::subsets},
                                        {"widths", &Case::widths},
                                        {"prefixes", &Case::prefixes},
                                        {"shorter", &Case::shorter},
                                        {"uneven", &Case::uneven},
                                        {"items", &Case::items},
                                        {"ids", &Case::ids},
                                        {"priorities", &Case::priorities},
                                        {"lean", &Case::lean},
                                        {"compact", &Case::compact},
                                        {"rules", &Case::rules},
                                        {"attributes", &Case::attributes},
                                        {"live", &Case::live},
                                        {"layout", &Case::layout},
                                        {"misalign", &Case::misalign},
                                        {"maps", &Case::maps},
                                        {"offsets", &Case::offsets},
                                        {"end_column", &Case::end_column},
                                        {"variable", &Case::variable},
                                        {"truncation", &Case::truncation},
                                        {"mode", &Case::mode},
                                        {"promised", &Case::promised},
                                        {"given_lse", &Case::given_lse},
                                        {"bad_rows", &Case::bad_rows},
                                        {"mask_rows", &Case::mask_rows},
                                        {"mask", &Case::mask},
                                        {"soft_cap", &Case::soft_cap},
                                        {"temperature", &Case::temperature},
                                        {"settings", &Case::settings},
                                        {"dtype", &Case::dtype},
                                        {"distribution", &Case::distribution},
                                        {"top_k", &Case::top_k},
                                        {"strategy", &Case::strategy},
                                        {"normalization", &Case::normalization},
                                        {"skew", &Case::skew},
                                        {"narrow", &Case::narrow},
                                        {"copy", &Case::copy},
                                        {"lone", &Case::lone},
                                        {"first", &Case::first},
                                        {"seed", &Case::seed}};
  return all;
}

namespace {

// One draw after another.
struct Dice {
  uint64_t seed;
  uint64_t drawn = 0;

  int64_t below(int64_t n) { return static_cast<int64_t>(mix(seed, kDrawCase, drawn++) % static_cast<uint64_t>(n)); }
  bool one_in(int64_t n) { return below(n) == 0; }
  int64_t among(std::initializer_list<int64_t> values) {
    return values.begin()[below(static_cast<int64_t>(values.size()))];
  }
};

void draw_catalogue(Dice& dice, Case* c) {
  c->levels = dice.one_in(40) ? 7 + dice.below(dice.among({58, 58, 58, SIDBEAM_MAX_LEVELS - 6})) : 1 + dice.below(6);
  c->codes = dice.among({1, 2, 3, 4, 5, 8, 13, 21, 40});
  c->sids = dice.one_in(20) ? 1 + dice.below(1000) : 1 + dice.below(dice.among({2, 10, 60}));
  if (c->levels > 6) c->sids = 1 + dice.below(8);
  if (dice.one_in(12)) c->codes = dice.among({63, 64, 65, 300});
  if (dice.one_in(150)) c->codes = dice.among({5000, 65534, 65535, 65536, 70000});
  c->uneven = dice.one_in(2);
  c->skew = dice.below(3);
  c->copy = dice.one_in(2);
  c->variable = dice.one_in(3);
  c->items = dice.one_in(2) ? 1 : 1 + dice.below(4);
  c->ids = dice.one_in(2);
  c->priorities = dice.one_in(2);
  c->lean = dice.one_in(3);
  c->catalogues = dice.one_in(2) ? 1 : 1 + dice.below(3);
  c->shorter = dice.one_in(4);
}

void draw_logits(Dice& dice, Case* c) {
  c->dtype = dice.below(3);
  c->distribution = dice.below(10);
  c->mask = dice.one_in(5) ? dice.among({20, 200, 700}) : 0;
  c->mask_rows = dice.one_in(6) ? dice.among({50, 300}) : 0;
  c->bad_rows = dice.one_in(4) ? dice.among({30, 200, 600}) : 0;
  c->soft_cap = dice.one_in(5) ? 1 + dice.below(3) : 0;
  c->temperature = dice.one_in(3) ? 1 + dice.below(6) : 0;
  c->offsets = dice.below(3);
  c->maps = dice.one_in(4) ? 1 + dice.below(2) : 0;
  c->end_column = dice.one_in(2);
  c->extra = dice.one_in(2) ? 0 : dice.below(dice.one_in(10) ? 3000 : 40);
  c->layout = dice.below(8);
  c->misalign = dice.below(5);
}

void draw_session(Dice& dice, Case* c) {
  c->strategy = dice.one_in(3) ? 0 : dice.below(5);
  c->normalization = dice.below(4);
  c->given_lse = dice.one_in(4) ? 1 + dice.below(3) : 0;
  c->promised = dice.one_in(2);
  c->beams = 1 + dice.below(dice.among({1, 4, 16, 80}));
  if (dice.one_in(60)) c->beams = SIDBEAM_MAX_BEAMS;
  c->top_k = dice.one_in(2) ? 0 : 1 + dice.below(dice.among({2, 8, 50}));
  c->slots = 1 + dice.below(5);
  c->widths = dice.one_in(3) ? 1 + dice.below(2) : 0;
  c->prefixes = dice.one_in(3) ? 1 + dice.below(2) : 0;
  c->subsets = dice.one_in(2);
  c->restarts = dice.one_in(3);
  c->operations = 1 + c->levels + dice.below(8);
  c->stateless = dice.one_in(3);
}

// Many candidates and steep logits: the selection's workspace fills, and rows fall below its threshold.
void widen(Dice& dice, Case* c) {
  c->levels = 1 + dice.below(3);
  c->codes = dice.among({64, 100, 300, 600});
  c->sids = 500 + dice.below(1500);
  c->skew = dice.below(2);
  if (dice.one_in(2)) {  // nodes with a dense mask, by which a row that is read whole is scanned
    c->strategy = SIDBEAM_STRATEGY_TRIE;
    c->normalization = dice.among({SIDBEAM_NORMALIZE_FULL, SIDBEAM_NORMALIZE_LEVEL});
    c->given_lse = 0;
  }
  c->catalogues = 1;
  c->distribution = dice.among({1, 1, 2, 6, 9});
  c->temperature = 0;
  c->soft_cap = 0;
  c->mask_rows = 0;
  c->beams = 2 + dice.below(40);
  c->slots = 1 + dice.below(2);
  c->operations = c->levels + 2;
  if (dice.one_in(3)) {  // plateaus: whole rows that tie with the threshold, some of them bad
    c->distribution = 5;
    c->normalization = SIDBEAM_NORMALIZE_NONE;
    c->promised = 1;
    c->bad_rows = 40;
    if (dice.one_in(2)) c->strategy = SIDBEAM_STRATEGY_NONE;
  }
}

// Nodes with a dense mask, scanned by blocks in the row itself: in rows of every dtype, some too wide for the maxima of
// their blocks to be kept, with more and fewer candidates than beams.
void thicken(Dice& dice, Case* c) {
  c->levels = dice.among({1, 2, 2, 2, 3});
  c->codes = dice.among({640, 640, 641, 703, 900, 1000, 1500});
  c->sids = 1500 + dice.below(2000);
  if (!dice.one_in(4)) c->uneven = 0;
  c->skew = dice.below(3);
  c->copy = 0;
  c->prefixes = dice.one_in(4) ? 1 : 0;
  c->restarts = 0;
  c->narrow = c->levels == 1 ? 0 : dice.among({0, 2, 5, 8});  // few first codes: the nodes of level 1 are dense
  c->catalogues = 1;
  c->items = 1;
  c->strategy = SIDBEAM_STRATEGY_TRIE;
  c->normalization = dice.among({SIDBEAM_NORMALIZE_FULL, SIDBEAM_NORMALIZE_LEVEL});
  c->given_lse = 0;
  c->distribution = dice.among({0, 1, 1, 2, 3, 5, 6, 9});
  c->mask = dice.among({0, 0, 20, 700, 970});
  c->mask_rows = 0;
  c->bad_rows = dice.among({0, 0, 40});
  c->soft_cap = 0;
  c->maps = dice.one_in(8) ? 1 : 0;
  if (!dice.one_in(4)) c->temperature = 0;
  c->extra = dice.among({0, 7, c->codes + 1200});
  c->beams = 1 + dice.below(dice.among({20, 80}));
  c->slots = 1 + dice.below(3);
  c->operations = c->levels + 2;
}

// Many SIDs below a prefix: the tail of a compact trie begins some levels down, and SIDs end above it.
void crowd(Dice& dice, Case* c) {
  c->levels = 5 + dice.below(4);
  c->codes = dice.among({2, 3, 4});
  c->uneven = 0;
  c->sids = 300 + dice.below(700);
  c->variable = dice.one_in(3) ? 0 : 1;
  c->lone = dice.one_in(2);
  c->beams = 1 + dice.below(40);
  c->slots = 1 + dice.below(3);
  c->operations = c->levels + 2;
}

// More beams than a vector, and below the first levels one child each: they are followed, and scored, a vector at a
// time.
void deepen(Dice& dice, Case* c) {
  c->levels = 3 + dice.below(4);
  c->codes = dice.among({60, 200, 500});
  c->sids = 40 + dice.below(300);
  c->uneven = 0;
  c->skew = 0;
  c->prefixes = 0;
  c->catalogues = 1;
  c->strategy = SIDBEAM_STRATEGY_TRIE;
  c->normalization = dice.among({SIDBEAM_NORMALIZE_FULL, SIDBEAM_NORMALIZE_LEVEL});
  c->given_lse = dice.one_in(4) ? 1 : 0;
  c->distribution = dice.among({0, 1, 2, 3, 6, 9});
  c->dtype = dice.one_in(4) ? c->dtype : 0;
  c->mask_rows = 0;
  c->bad_rows = dice.among({0, 0, 30});
  c->soft_cap = 0;
  c->temperature = 0;
  c->maps = 0;
  c->beams = 16 + dice.below(130);
  c->slots = 1 + dice.below(2);
  c->operations = c->levels + 2;
  c->compact = 0;
}

}  // namespace

Case draw_case(uint64_t seed) {
  Dice dice{seed};
  Case c;
  c.seed = static_cast<int64_t>(seed);
  draw_catalogue(dice, &c);
  draw_logits(dice, &c);
  draw_session(dice, &c);
  if (dice.one_in(15)) widen(dice, &c);
  if (dice.one_in(8)) thicken(dice, &c);
  c.compact = c.codes > 1000 || dice.one_in(2);  // wide codes are rare, and two forms of the tail need them
  if (c.compact != 0 && dice.one_in(40)) crowd(dice, &c);
  if (dice.one_in(25)) deepen(dice, &c);
  c.settings = dice.below(4);
  c.rules = dice.one_in(2) ? 0 : dice.among({1, 2, 3, 4, 5, 7});
  c.attributes = dice.one_in(2);
  c.live = dice.one_in(3);
  return repaired(c);
}

Case repaired(Case c) {
  const bool unconstrained = c.strategy == SIDBEAM_STRATEGY_HASH_FINAL || c.strategy == SIDBEAM_STRATEGY_NONE;
  if (unconstrained) {
    c.variable = 0;
    if (c.normalization == SIDBEAM_NORMALIZE_VALID) c.normalization = SIDBEAM_NORMALIZE_FULL;
  }
  if (c.normalization == SIDBEAM_NORMALIZE_NONE) c.given_lse = 0;
  if (c.normalization != SIDBEAM_NORMALIZE_NONE && c.given_lse == 0) c.promised = 0;
  if (c.promised != 0 && c.given_lse != 0) c.settings = 0;  // the normaliser belongs to the case's temperature
  if (c.codes > 1000) {                                     // wide rows: few of them
    c.levels = std::min<int64_t>(c.levels, 2);
    c.beams = std::min<int64_t>(c.beams, 4);
    c.slots = std::min<int64_t>(c.slots, 2);
    c.operations = std::min<int64_t>(c.operations, 5);
    c.soft_cap = 0;
  }
  if (c.mode != SIDBEAM_MODE_SEARCH) {  // in both exact forms, the unconstrained one apart
    c.strategy = c.strategy == SIDBEAM_STRATEGY_NONE && c.mode == SIDBEAM_MODE_SAMPLE ? SIDBEAM_STRATEGY_NONE
                                                                                      : SIDBEAM_STRATEGY_TRIE;
    c.catalogues = 1;
    c.lean = c.promised = 0;
    if (c.mode == SIDBEAM_MODE_STOCHASTIC) c.truncation = 0;
  }
  if (c.strategy != SIDBEAM_STRATEGY_TRIE) c.rules = c.live = 0;
  if (c.beams > 80) c.codes = std::min<int64_t>(c.codes, 40);
  c.operations = std::min<int64_t>(c.operations, c.levels + 8);
  return c;
}

std::string to_line(const Case& c) {
  const Case plain;
  std::ostringstream line;
  line << "seed=" << c.seed;
  for (const Knob& knob : knobs()) {
    if (knob.value != &Case::seed && c.*knob.value != plain.*knob.value) {
      line << ' ' << knob.name << '=' << c.*knob.value;
    }
  }
  return line.str();
}

Case from_line(const std::string& line) {
  Case c;
  std::istringstream words(line);
  for (std::string word; words >> word;) {
    const size_t equals = word.find('=');
    const auto knob = std::find_if(knobs().begin(), knobs().end(), [&](const Knob& k) {
      return equals != word.npos && word.substr(0, equals) == k.name;
    });
    if (knob == knobs().end()) throw std::invalid_argument("--case: expected name=number, got '" + word + "'");
    c.*knob->value = std::stoll(word.substr(equals + 1));
  }
  return repaired(c);
}

}  // namespace differential
