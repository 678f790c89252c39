// The stateless forms: over a list of constraints that a call brings, on the CPU, and over a table that was made before,
// on the CPU or a device. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "decode/objects.h"
#include "decode/vocabulary.h"
#include "sidbeam/states.h"

namespace sidbeam {

// At least one constraint, borrowed, each with a trie. Row i follows constraint which[i], or 0 where `which` is null.
struct ConstraintList {
  sidbeam_constraint* const* constraints = nullptr;
  int32_t count = 0;

  const IndexView& view(int32_t i) const { return constraints[i]->view(); }
  const sidbeam_runtime& runtime() const { return *constraints[0]->index->runtime; }
};

// Throws where a list is none, or a constraint has no trie.
ConstraintList check_constraints(sidbeam_constraint* const* constraints, int32_t count);
// A vocabulary for all of them; see make_vocabulary.
Vocabulary vocabulary_for(const ConstraintList& list, const sidbeam_vocabulary* given, const Allocator* allocator);

// What is the same wherever the rows are: throws where sizes do not fit.
void check_count(int64_t count);
void check_row_columns(const ConstraintList& list, const Vocabulary& vocabulary, const sidbeam_rows& rows);
void check_words(const ConstraintList& list, const Vocabulary& vocabulary, int64_t count, int64_t words_per_row);
void check_topk(int32_t normalization, int32_t k);
void check_parents(const int64_t* parents, int64_t in_count, int64_t count);

// On the CPU. All check what they read of `which`.
void prefix_states(const ConstraintList& list, const int32_t* which, const int32_t* codes, int64_t stride,
                   const int32_t* lengths, int64_t count, int64_t* out);
void advance_states(const ConstraintList& list, const int32_t* which, const int64_t* in, int64_t in_count,
                    const int64_t* parents, const int32_t* tokens, int64_t count, int64_t* out);
void mask_rows(const ConstraintList& list, const Vocabulary& vocabulary, const int32_t* which, const int64_t* states,
               const sidbeam_rows& rows);
void bitmask_rows(const ConstraintList& list, const Vocabulary& vocabulary, const int32_t* which, const int64_t* states,
                  int64_t count, uint32_t* words, int64_t words_per_row);
void topk_rows(const ConstraintList& list, const Vocabulary& vocabulary, const int32_t* which, const int64_t* states,
               const sidbeam_rows& rows, int32_t normalization, int32_t k, int32_t* tokens, float* log_probs,
               int64_t* next);

}  // namespace sidbeam

struct sidbeam_table {
  sidbeam_table(sidbeam_runtime* runtime, const sidbeam_table_config& config);
  sidbeam_table(const sidbeam_table&) = delete;
  sidbeam_table& operator=(const sidbeam_table&) = delete;
  ~sidbeam_table();

  sidbeam::ConstraintList list() const { return {constraints.data(), static_cast<int32_t>(constraints.size())}; }

  sidbeam::Ref<sidbeam_runtime> runtime;
  std::vector<sidbeam_constraint*> constraints;  // held
  sidbeam::Vocabulary vocabulary;
  sidbeam::Ref<sidbeam::Device> device;  // null: on the CPU
  std::vector<sidbeam::Ref<sidbeam::Upload>> uploads;
  sidbeam::DeviceTableHandle* handle = nullptr;

 private:
  void bring_to(int32_t device_id);
};
