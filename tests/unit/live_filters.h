// Filters that are taken along from version to version, each against one that is made there anew.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>
#include <string>

#include "decode/rules.h"
#include "index/rules/row_bits.h"
#include "live_pairs.h"

namespace sidbeam::testing {

template <class T>
void expect_same_words(const T* found, const T* expected, uint64_t count, const char* what) {
  ASSERT_EQ(found == nullptr, expected == nullptr) << what;
  if (found == nullptr) return;
  ASSERT_EQ(std::memcmp(found, expected, static_cast<size_t>(count) * sizeof(T)), 0) << what;
}

inline void expect_same_level(const LevelRules& found, const LevelRules& expected, const LevelView& rows) {
  expect_same_words(found.edges.bits, expected.edges.bits, row_words(rows.edges), "edges");
  expect_same_words(found.masks, expected.masks, rows.dense_nodes * rows.mask_words(), "masks");
  expect_same_words(found.mask_counts, expected.mask_counts, rows.dense_nodes, "children");
}

// What filters leave of a trie, without merged rows.
inline void expect_same_trie(const RulesView& found, const RulesView& expected, const IndexView& trie) {
  expect_same_words(found.rows.bits, expected.rows.bits, row_words(trie.items), "rows");
  expect_same_words(found.sids.bits, expected.sids.bits, row_words(trie.sids), "SIDs");
  for (int32_t l = 0; l < trie.csr_levels; ++l) {
    SCOPED_TRACE("level " + std::to_string(l));
    expect_same_level(found.level[l], expected.level[l], trie.level[l]);
  }
}

inline void expect_same_filter(const sidbeam_filter& found, const sidbeam_filter& expected) {
  const IndexView& index = found.index->index.view;
  expect_same_words(found.rows.data(), expected.rows.data(), row_words(row_count(index)), "all rows");
  EXPECT_EQ(found.items, expected.items);
  EXPECT_EQ(found.prepare().sids(), expected.prepare().sids());
  const RulesView &view = found.prepare().view(), &other = expected.prepare().view();
  expect_same_trie(view, other, index);
  if (index.overlay == nullptr) return;
  expect_same_trie(*view.delta, *other.delta, *index.overlay->delta);
  for (int32_t l = 0; l < index.levels; ++l)
    expect_same_level(view.merged->level[l], other.merged->level[l], index.overlay->level[l].rows);
}

// A filter of terms and one of rows.
class CarriedFilters {
 public:
  explicit CarriedFilters(Random& random) : random_(random) {}

  // Takes them to a version. `text` is of terms that its attributes have.
  void carry(sidbeam_index& to, const std::string& text) {
    const Ref<sidbeam_filter> terms = parsed(to, terms_ ? text_ : text);
    if (terms_) expect_same_filter(*on(terms_, to), *terms);
    if (!terms_ || random_() % 8 == 0) {
      text_ = text;
      terms_ = parsed(to, text);
    } else {
      terms_ = on(terms_, to);
    }
    if (rows_ && &rows_->index->base() == &to.base()) {
      rows_ = on(rows_, to);
      Buffer<uint64_t> same = zero_bits(to.row_count(), default_allocator());
      std::copy(rows_->rows.begin(), rows_->rows.end(), same.begin());
      expect_same_filter(*rows_, *make_filter(to, std::move(same)));
    } else {
      if (rows_) expect_refused(to);
      rows_ = Ref<sidbeam_filter>::adopt(make_filter(to, random_live_rows(to.row_count(), random_)).release());
    }
    if (random_() % 4 != 0) rows_->prepare();
    if (random_() % 4 != 0) terms_->prepare();
  }

 private:
  static Ref<sidbeam_filter> parsed(sidbeam_index& index, const std::string& text) {
    sidbeam_filter* filter = nullptr;
    expect_ok([&](sidbeam_error* error) {
      return sidbeam_filter_parse(&index, text.data(), std::ssize(text), &filter, error);
    });
    return Ref<sidbeam_filter>::adopt(filter);
  }
  // One that was prepared is so there too.
  static Ref<sidbeam_filter> on(const Ref<sidbeam_filter>& filter, sidbeam_index& index) {
    auto out = Ref<sidbeam_filter>::adopt(filter_on(*filter, index).release());
    EXPECT_EQ(out->derived.known() != nullptr, filter->derived.known() != nullptr);
    return out;
  }
  void expect_refused(sidbeam_index& index) const {
    try {
      filter_on(*rows_, index);
      ADD_FAILURE() << "rows of another base were taken";
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.status, SIDBEAM_INVALID_ARGUMENT);
      EXPECT_STREQ(failure.message,
                   "the filter is a set of items of an index on another base, expected one on the same, or a filter of "
                   "terms");
    }
  }

  Random& random_;
  std::string text_;
  Ref<sidbeam_filter> terms_, rows_;
};

}  // namespace sidbeam::testing
