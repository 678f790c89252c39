// A set of constraints and the vocabulary of their logits rows: the input of the stateless calls.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "backend/backend.h"
#include "decode/objects.h"
#include "decode/vocabulary.h"
#include "sidbeam/states.h"

struct sidbeam_constraint_set {
  sidbeam::Ref<sidbeam_runtime> runtime;
  std::vector<sidbeam::Ref<sidbeam_constraint>> constraints;
  std::vector<sidbeam::Constraint*> views;  // the same, for the backend
  sidbeam::Vocabulary vocabulary;
  int32_t levels = 0;  // the most of any constraint
  int32_t device_type = 0, device_id = 0;
  std::unique_ptr<sidbeam::SetBackend> backend;
};

namespace sidbeam {

std::unique_ptr<sidbeam_constraint_set> make_constraint_set(sidbeam_runtime* runtime,
                                                            const sidbeam_constraint_set_config& config);

// Checks that need no entry of an array; throw.
void check_count(int64_t count);
// `rows` [rows, columns] where the set is, with strides resolved.
void check_set_rows(const sidbeam_constraint_set& set, sidbeam_rows& rows);
void check_words(const sidbeam_constraint_set& set, int64_t count, int64_t words_per_row);
void check_normalization(int32_t normalization);
void check_topk(int32_t normalization, int32_t k);
void check_parents(const int32_t* parents, int64_t in_count, int64_t count);

}  // namespace sidbeam
