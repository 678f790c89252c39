// The stateless forms of the C ABI on the emulated device (linked with --wrap).
// SPDX-License-Identifier: Apache-2.0
#include "decode/vocabulary.h"
#include "emulated_session.h"
#include "library.h"

using namespace sidbeam;
using gpu_test::DeviceArray;

namespace {

// A table of constraints on the device.
struct Table {
  DeviceArray<const IndexView*> indexes;
  DeviceArray<int32_t> which;
  cuda::ConstraintTable view;
  int32_t levels = 0;
  uint32_t codes = 0;

  Table(sidbeam_constraint* const* constraints, int32_t count, const int32_t* given, int64_t rows) {
    std::vector<const IndexView*> views;
    for (int32_t i = 0; i < count; ++i) {
      views.push_back(gpu_test::device_index(constraints[i]).view());
      levels = std::max(levels, constraints[i]->view().levels);
      codes = std::max(codes, widest_level(constraints[i]->view()));
    }
    indexes = DeviceArray<const IndexView*>(views);
    if (given != nullptr) which = DeviceArray<int32_t>(given, rows);
    view = {indexes.data(), count, which.data()};
  }
  gpu_test::DeviceColumns columns(const sidbeam_vocabulary* given) const {
    return gpu_test::DeviceColumns(make_vocabulary(given, levels, nullptr));
  }
};

template <class T>
void copy_out(const DeviceArray<T>& from, T* to) {
  std::ranges::copy(from.read(), to);
}

}  // namespace

extern "C" {

sidbeam_status __wrap_sidbeam_states_from_prefixes(sidbeam_constraint* const* constraints, int32_t constraint_count,
                                                   const int32_t* which, const int32_t* codes, int64_t stride,
                                                   const int32_t* lengths, int64_t count, sidbeam_state* out, void*,
                                                   sidbeam_error*) {
  const Table table(constraints, constraint_count, which, count);
  const DeviceArray<int32_t> device_codes(codes, codes != nullptr ? count * stride : 0), device_lengths(lengths, count);
  const DeviceArray<int64_t> states(count);
  gpu_test::check(cuda::launch_prefix_states(table.view, device_codes.data(), stride, device_lengths.data(), count,
                                             states.data(), nullptr),
                  "launch_prefix_states");
  copy_out(states, out);
  return SIDBEAM_OK;
}

sidbeam_status __wrap_sidbeam_states_advance(sidbeam_constraint* const* constraints, int32_t constraint_count,
                                             const int32_t* which, const sidbeam_state* in, int64_t in_count,
                                             const int64_t* parents, const int32_t* tokens, int64_t count,
                                             sidbeam_state* out, void*, sidbeam_error*) {
  const Table table(constraints, constraint_count, which, count);
  const DeviceArray<int64_t> device_in(in, in_count), states(count);
  const DeviceArray<int64_t> device_parents(parents, parents != nullptr ? count : 0);
  const DeviceArray<int32_t> device_tokens(tokens, count);
  gpu_test::check(cuda::launch_advance(table.view, device_in.data(), in_count, device_parents.data(),
                                       device_tokens.data(), count, states.data(), nullptr),
                  "launch_advance");
  copy_out(states, out);
  return SIDBEAM_OK;
}

sidbeam_status __wrap_sidbeam_rows_mask(sidbeam_constraint* const* constraints, int32_t constraint_count,
                                        const int32_t* which, const sidbeam_vocabulary* vocabulary,
                                        const sidbeam_state* states, const sidbeam_rows* logits, void*,
                                        sidbeam_error*) {
  const Table table(constraints, constraint_count, which, logits->rows);
  const auto columns = table.columns(vocabulary);
  const gpu_test::DeviceRows rows(*logits, 1);
  const DeviceArray<int64_t> device_states(states, logits->rows);
  gpu_test::check(cuda::launch_mask(table.view, columns.columns.data(), device_states.data(), rows.view, nullptr),
                  "launch_mask");
  rows.read_back(*logits);
  return SIDBEAM_OK;
}

sidbeam_status __wrap_sidbeam_rows_bitmask(sidbeam_constraint* const* constraints, int32_t constraint_count,
                                           const int32_t* which, const sidbeam_vocabulary* vocabulary,
                                           const sidbeam_state* states, int64_t count, uint32_t* words,
                                           int64_t words_per_row, void*, sidbeam_error*) {
  const Table table(constraints, constraint_count, which, count);
  const auto columns = table.columns(vocabulary);
  const DeviceArray<int64_t> device_states(states, count);
  const DeviceArray<uint32_t> device_words(count * words_per_row);
  gpu_test::check(cuda::launch_bitmask(table.view, columns.columns.data(), device_states.data(), count,
                                       device_words.data(), words_per_row, nullptr),
                  "launch_bitmask");
  copy_out(device_words, words);
  return SIDBEAM_OK;
}

sidbeam_status __wrap_sidbeam_rows_topk(sidbeam_constraint* const* constraints, int32_t constraint_count,
                                        const int32_t* which, const sidbeam_vocabulary* vocabulary,
                                        const sidbeam_state* states, const sidbeam_rows* logits, int32_t normalization,
                                        int32_t k, int32_t* tokens, float* log_probs, sidbeam_state* next, void*,
                                        sidbeam_error*) {
  const Table table(constraints, constraint_count, which, logits->rows);
  const auto columns = table.columns(vocabulary);
  const gpu_test::DeviceRows rows(*logits, 1);
  const int64_t n = logits->rows * k;
  const DeviceArray<int64_t> device_states(states, logits->rows), device_next(n);
  const DeviceArray<int32_t> device_tokens(n);
  const DeviceArray<float> device_log_probs(n);
  const DeviceArray<char> workspace(cuda::topk_workspace_bytes(logits->rows, k, table.codes));
  gpu_test::check(cuda::launch_topk(table.view, columns.columns.data(), device_states.data(), rows.view, normalization,
                                    k, table.codes, device_tokens.data(), device_log_probs.data(),
                                    next != nullptr ? device_next.data() : nullptr, workspace.data(), nullptr),
                  "launch_topk");
  copy_out(device_tokens, tokens);
  copy_out(device_log_probs, log_probs);
  if (next != nullptr) copy_out(device_next, next);
  return SIDBEAM_OK;
}

}  // extern "C"
