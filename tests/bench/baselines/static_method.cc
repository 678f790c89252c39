// SPDX-License-Identifier: Apache-2.0
#include "static_method.h"

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "vectorised.h"

namespace bench {
namespace {

// A dense row of bits as bytes.
BENCH_VECTORISED void expand_bits(const uint64_t* words, int64_t codes, uint8_t* mask) {
  for (int64_t i = 0; i < codes; ++i) mask[i] = static_cast<uint8_t>(words[i / 64] >> (i % 64) & 1);
}

// Keys of the `slots` slots that follow a node's first edge; slots past its `length` children are -inf, whatever they
// hold. place + i is slot i.
BENCH_VECTORISED void write_slot_keys(const RowScale& row, uint32_t place, const StaticTrie::Edge* edges,
                                      int32_t length, int32_t slots, const float* x, uint64_t* keys) {
  for (int32_t i = 0; i < slots; ++i) {
    const float score = i < length ? score_of(row, x[edges[i].code]) : -std::numeric_limits<float>::infinity();
    keys[i] = key_of(score, place + static_cast<uint32_t>(i));
  }
}

class StaticMethod final : public Method {
 public:
  StaticMethod(const StaticTrie* trie, const Shape& shape, StaticForm form)
      : trie_(*trie),
        shape_(shape),
        form_(form),
        beams_(shape),
        rows_(shape),
        selector_(make_nth_selector(shape.beams, shape.codes)),
        mask_(static_cast<size_t>(shape.codes)),
        keys_(int64_t{shape.beams} * shape.codes),
        best_(static_cast<size_t>(shape.beams)) {
    if (shape.columns != shape.codes) throw std::invalid_argument("static: rows are of the level's codes");
  }

  void start() override { beams_.start(trie_.root()); }

  void step(int32_t level, const Rows& rows) override {
    const bool masked = form_ == StaticForm::kPaper || level < trie_.dense_levels;
    for (int32_t slot = 0; slot < shape_.slots; ++slot) {
      if (masked) {
        step_masked(level, rows, slot);
      } else {
        step_slots(level, rows, slot);
      }
    }
  }

  BeamsView beams() const override { return beams_.view(); }

 private:
  RowScale scale(const Rows& rows, int32_t slot, int32_t m) {
    return scale_of(beams_.scores(slot)[m], normalizer_of(rows, shape_, slot, m));
  }

  // Algorithm 2: a slice of K_l slots, of which the node's children are set in the mask.
  void mask_slice(Place node, int32_t level) {
    const auto n = static_cast<int64_t>(node);
    const int32_t first = trie_.row_pointers[n], length = trie_.row_pointers[n + 1] - first;
    std::fill(mask_.begin(), mask_.end(), uint8_t{0});
    for (int32_t i = 0; i < trie_.largest_branching.data()[level]; ++i)
      if (i < length) mask_.data()[trie_.edges[first + i].code] = 1;
  }

  void step_masked(int32_t level, const Rows& rows, int32_t slot) {
    const bool dense = level < trie_.dense_levels;
    const auto dense_level = static_cast<size_t>(dense ? level : 0);
    selector_->begin();
    for (int32_t m = 0; m < beams_.live(slot); ++m) {
      const Place node = beams_.places(slot)[m];
      if (dense) {
        const int64_t row = trie_.dense_row(node, level);
        expand_bits(trie_.dense_masks[dense_level].data() + row * trie_.mask_words(), shape_.codes, mask_.data());
      } else {
        mask_slice(node, level);
      }
      selector_->add(m, scale(rows, slot, m), rows_.row(rows, slot, m), mask_.data());
    }
    const int32_t count = selector_->finish(best_.data());
    beams_.replace(slot, best_.data(), count, [&](Place node, const Candidate& candidate) {
      if (!dense) return trie_.find(node, level, static_cast<int32_t>(candidate.column)).value();
      const int64_t cell = trie_.dense_row(node, level) * shape_.codes + candidate.column;
      return static_cast<Place>(trie_.dense_states[dense_level][cell]);
    });
  }

  void step_slots(int32_t level, const Rows& rows, int32_t slot) {
    const int32_t slots = trie_.largest_branching.data()[level];
    const int32_t live = beams_.live(slot);
    for (int32_t m = 0; m < live; ++m) {
      const auto node = static_cast<int64_t>(beams_.places(slot)[m]);
      const int32_t first = trie_.row_pointers[node], length = trie_.row_pointers[node + 1] - first;
      write_slot_keys(scale(rows, slot, m), static_cast<uint32_t>(int64_t{m} * slots), trie_.edges.data() + first,
                      length, slots, rows_.row(rows, slot, m), keys_.data() + int64_t{m} * slots);
    }
    const int32_t count = take_best(keys_.data(), int64_t{live} * slots, shape_.beams, slots, best_.data());
    const Place* nodes = beams_.places(slot);
    next_.resize(static_cast<size_t>(count));
    for (int32_t i = 0; i < count; ++i) {
      const int64_t first = trie_.row_pointers[static_cast<int64_t>(nodes[best_.data()[i].beam])];
      const StaticTrie::Edge& edge = trie_.edges[first + best_.data()[i].column];
      best_.data()[i].column = edge.code;
      next_.data()[i] = static_cast<Place>(edge.next);
    }
    const Candidate* const first = best_.data();
    beams_.replace(slot, best_.data(), count,
                   [&](Place, const Candidate& candidate) { return next_.data()[&candidate - first]; });
  }

  const StaticTrie& trie_;
  Shape shape_;
  StaticForm form_;
  Beams beams_;
  FloatRows rows_;
  std::unique_ptr<Selector> selector_;
  std::vector<uint8_t> mask_;
  Pages<uint64_t> keys_;
  std::vector<Candidate> best_;
  std::vector<Place> next_;
};

}  // namespace

std::unique_ptr<Method> make_static_method(const StaticTrie* trie, const Shape& shape, StaticForm form) {
  return std::make_unique<StaticMethod>(trie, shape, form);
}

}  // namespace bench
