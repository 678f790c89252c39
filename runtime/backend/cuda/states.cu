// The stateless forms. SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/states.cuh"

namespace sidbeam::cuda {
namespace {

constexpr int kThreads = kRowThreads;
// Blocks of a multiprocessor that a kernel leaves room for: left to itself, the compiler would use local memory.
[[maybe_unused]] constexpr int kBlocks = 5;

__device__ int64_t state_of_prefix(const IndexView& index, const int32_t* codes, int32_t length) {
  State state;
  return follow_prefix(index, codes, length, state) ? encode_state(state) : kDeadState;
}

__global__ void __launch_bounds__(kThreads, kBlocks)
    prefix_kernel(ConstraintTable table, PrefixArray prefixes, const int32_t* lengths, int64_t count, int64_t* out) {
  const int64_t i = int64_t{blockIdx.x} * kThreads + thread_id();
  if (i >= count) return;
  const Followed by = followed_by(table, i);
  const int32_t length = lengths[i];
  const bool fits = by.index != nullptr && length >= 0 && length <= by.index->levels && length <= prefixes.capacity;
  out[i] = fits ? allowed(by, state_of_prefix(*by.index, prefixes.of(i), length)) : kDeadState;
}

__device__ int64_t advanced(const IndexView& index, int64_t state, int32_t token) {
  if (!is_trie_state(index, state)) return kDeadState;
  if (is_ended(state)) return token == -1 ? state : kDeadState;
  if (token < 0 || decode_state(state).level >= index.levels) return kDeadState;
  return next_state(index, state, static_cast<uint32_t>(token));
}

__global__ void __launch_bounds__(kThreads)
    advance_kernel(ConstraintTable table, const int64_t* in, int64_t in_count, const int32_t* parents,
                   const int32_t* tokens, int64_t count, int64_t* out) {
  const int64_t i = int64_t{blockIdx.x} * kThreads + thread_id();
  if (i >= count) return;
  const Followed by = followed_by(table, i);
  const int64_t parent = parents != nullptr ? parents[i] : i;
  const bool there = by.index != nullptr && parent >= 0 && parent < in_count;
  out[i] = there ? allowed(by, advanced(*by.index, in[parent], tokens[i])) : kDeadState;
}

// The number of columns whose valid bits are held at a time.
constexpr int64_t kMaskedColumns = 65536;
struct MaskShared {
  Children children;  // of the row's state; in registers they spilt
  LevelColumns columns;
  uint32_t valid[kMaskedColumns / 32];
};
static_assert(sizeof(MaskShared) <= kSharedBytes);

// Finds the row's children, none if its state is dead or has ended.
__device__ void open_mask(const Followed& by, const LevelColumns* columns, int64_t state, MaskShared& shared) {
  if (thread_id() != 0) return;  // the next bits come after a barrier
  shared.children = {};
  if (!may_go_on(by, state)) return;
  const int32_t level = decode_state(state).level;
  shared.columns = columns[level];
  shared.children = children_of(*by.index, by.rules, SIDBEAM_STRATEGY_TRIE, level, shared.columns, state, 0);
}

// Calls visit(column) for the valid columns of a row, by all threads.
template <class Visit>
__device__ void for_each_valid_column(const MaskShared& shared, const Visit& visit) {
  const Children& children = shared.children;
  for (uint32_t i = static_cast<uint32_t>(thread_id()); i < children.count; i += kThreads) {
    uint32_t token = 0;
    if (children.at_number(i, token))
      visit(token == children.codes ? shared.columns.end_column : shared.columns.column(token));
  }
}

template <class Element>
__device__ void fill_unset(const MaskShared& shared, int64_t n, Element minus_infinity, Element* row) {
  for (int64_t c = thread_id(); c < n; c += kThreads)
    if ((shared.valid[c / 32] >> c % 32 & 1) == 0) row[c] = minus_infinity;
}

// The valid columns of [first, first + n) of a row as bits.
__device__ void set_valid(int64_t first, int64_t n, MaskShared& shared) {
  __syncthreads();  // all threads are done with the previous bits
  for (int64_t w = thread_id(); w < (n + 31) / 32; w += kThreads) shared.valid[w] = 0;
  __syncthreads();
  for_each_valid_column(shared, [&](int64_t column) {
    const int64_t c = column - first;
    if (c >= 0 && c < n) atomicOr(&shared.valid[c / 32], 1U << c % 32);
  });
  __syncthreads();
}

__global__ void __launch_bounds__(kThreads, kBlocks)
    mask_kernel(ConstraintTable table, const LevelColumns* columns, const int64_t* states, StepView rows) {
  auto& shared = shared_memory<MaskShared>();
  const int64_t i = blockIdx.x;
  open_mask(followed_by(table, i), columns, states[i], shared);
  char* data = static_cast<char*>(const_cast<void*>(rows.data)) + i * rows.row_stride * element_bytes(rows.dtype);
  for (int64_t first = 0; first < rows.columns; first += kMaskedColumns) {
    const int64_t n = std::min(int64_t{kMaskedColumns}, rows.columns - first);
    set_valid(first, n, shared);
    if (rows.dtype == SIDBEAM_DTYPE_F32) {
      fill_unset(shared, n, -kInfinity, reinterpret_cast<float*>(data) + first);
    } else {
      const uint16_t minus_infinity = rows.dtype == SIDBEAM_DTYPE_F16 ? 0xFC00 : 0xFF80;
      fill_unset(shared, n, minus_infinity, reinterpret_cast<uint16_t*>(data) + first);
    }
  }
}

__global__ void __launch_bounds__(kThreads, kBlocks)
    bitmask_kernel(ConstraintTable table, const LevelColumns* columns, const int64_t* states, uint32_t* words,
                   int64_t words_per_row) {
  auto& shared = shared_memory<MaskShared>();
  const int64_t i = blockIdx.x;
  open_mask(followed_by(table, i), columns, states[i], shared);
  for (int64_t first = 0; first < 32 * words_per_row; first += kMaskedColumns) {
    const int64_t n = std::min(int64_t{kMaskedColumns}, 32 * words_per_row - first);
    set_valid(first, n, shared);
    for (int64_t w = thread_id(); w < n / 32; w += kThreads)
      words[i * words_per_row + first / 32 + w] = shared.valid[w];
  }
}

// Top-k: the workspace holds the row's keys, one per child; those that reach the k-th are collected and sorted.
constexpr int kSorted = 2048;  // most keys sorted in shared memory
struct SortShared {
  SelectStorage select;
  uint64_t keys[kSorted];
  uint32_t count;
};
struct TopkShared {
  Children children;  // of the row; in registers they spilt
  union {
    RowShared<kThreads> row;  // the launch adds to its end
    SortShared sort;
  };
};
static_assert(sizeof(TopkShared) <= kSharedBytes);
static_assert(offsetof(TopkShared, row) + sizeof(RowShared<kThreads>) + kMostHeld * sizeof(float) <= kSharedBytes);

struct TopkOut {
  int32_t k;
  int32_t* tokens;
  float* log_probs;
  int64_t* next;
};

// A bitonic sort in global memory, for a k beyond what shared memory holds.
__device__ void sort_in_memory(uint64_t* keys, uint32_t padded) {
  for (uint32_t size = 2; size <= padded; size *= 2)
    for (uint32_t apart = size / 2; apart > 0; apart /= 2) {
      for (uint32_t pair = static_cast<uint32_t>(thread_id()); pair < padded / 2; pair += kThreads) {
        const uint32_t i = 2 * pair - (pair & (apart - 1)), j = i + apart;
        const uint64_t a = keys[i], b = keys[j];
        if ((a < b) == ((i & size) == 0)) {
          keys[i] = b;
          keys[j] = a;
        }
      }
      __syncthreads();
    }
}

SIDBEAM_HD inline uint32_t power_of_two_from(uint32_t n) {
  uint32_t power = 2 * kWarp;
  while (power < n) power *= 2;
  return power;
}

// Returns the best k of n keys, sorted; their number is in shared.sort.count.
__device__ const uint64_t* best_keys(const uint64_t* all, uint32_t n, uint32_t k, uint64_t* sorted,
                                     TopkShared& shared) {
  const auto keys = [&](const auto& visit) {
    for (uint32_t i = static_cast<uint32_t>(thread_id()); i < n; i += kThreads)
      if (all[i] != 0) visit(all[i]);
  };
  auto& sort = shared.sort;
  __syncthreads();  // all threads are done with the row's part of the union
  if (thread_id() == 0) sort.count = 0;
  __syncthreads();
  uint32_t own = 0;
  keys([&](uint64_t) { ++own; });
  atomicAdd(&sort.count, own);
  __syncthreads();
  const uint32_t count = std::min(sort.count, k);
  const uint64_t bound = sort.count > k ? select_bound<kThreads>(keys, k, k, sort.select) : 1;
  const uint32_t padded = power_of_two_from(count);
  uint64_t* out = padded <= kSorted ? sort.keys : sorted;
  __syncthreads();
  if (thread_id() == 0) sort.count = 0;
  for (uint32_t i = count + static_cast<uint32_t>(thread_id()); i < padded; i += kThreads) out[i] = 0;
  __syncthreads();
  keys([&](uint64_t key) {
    if (key < bound) return;
    const uint32_t at = atomicAdd(&sort.count, 1U);
    if (at < count) out[at] = key;
  });
  __syncthreads();
  if (padded <= kSorted) {
    sort_falling<kThreads>(out, static_cast<int>(padded));
  } else {
    sort_in_memory(out, padded);
  }
  return out;
}

__device__ void write_topk(const TopkOut& out, int64_t i, const Children& children, const uint64_t* keys,
                           uint32_t count, bool bad) {
  for (int32_t j = thread_id(); j < out.k; j += kThreads) {
    const int64_t at = i * out.k + j;
    const bool there = static_cast<uint32_t>(j) < count;
    uint32_t token = 0;
    const uint32_t number = there ? place_of_key(keys[j]) : 0;
    if (there) children.at_number(number, token);
    out.tokens[at] = there ? static_cast<int32_t>(token) : -1;
    out.log_probs[at] = there           ? score_of_key(keys[j])
                        : bad && j == 0 ? std::numeric_limits<float>::quiet_NaN()
                                        : -kInfinity;
    if (out.next != nullptr) out.next[at] = there ? children.next(number, token).state : kDeadState;
  }
}

// A row's keys: one for each number that a child may have, followed by room to sort the best k.
SIDBEAM_HD inline uint32_t most_children(uint32_t codes) { return codes < kMaxRun ? kMaxRun : codes + 1; }
SIDBEAM_HD inline int64_t topk_keys(int32_t k, uint32_t codes) {
  const uint32_t children = most_children(codes), wanted = static_cast<uint32_t>(k);
  return int64_t{children} + power_of_two_from(wanted < children ? wanted : children);
}

__global__ void __launch_bounds__(kThreads, 3)
    topk_kernel(ConstraintTable table, const LevelColumns* columns, const int64_t* states, StepView rows,
                int32_t normalization, TopkOut out, uint32_t codes, uint64_t* workspace, int64_t room) {
  auto& shared = shared_memory<TopkShared>();
  const int64_t i = blockIdx.x, state = states[i];
  const Followed by = followed_by(table, i);
  if (!may_go_on(by, state)) return write_topk(out, i, {}, nullptr, 0, false);
  const int32_t level = decode_state(state).level;
  if (thread_id() == 0) {
    open_state(by, columns[level], state, rows, i, normalization, shared.row);
    shared.row.keys = workspace + i * topk_keys(out.k, codes);
    shared.row.most_keys = most_children(codes);
  }
  __syncthreads();
  const Note note = scan_row<kThreads>(normalization, 0, room, shared.row);
  if (thread_id() == 0) shared.children = shared.row.children;  // the keys are sorted in the same memory
  __syncthreads();
  const bool good = note.found == RowFound::kCandidates;
  const uint64_t* best = nullptr;
  uint32_t count = 0;
  if (good) {
    uint64_t* keys = workspace + i * topk_keys(out.k, codes);
    best = best_keys(keys, note.count, static_cast<uint32_t>(out.k), keys + most_children(codes), shared);
    count = shared.sort.count;
  }
  write_topk(out, i, shared.children, best, count, note.found == RowFound::kBad);
}

int64_t blocks_for(int64_t count) { return (count + kThreads - 1) / kThreads; }

}  // namespace

cudaError_t warm_set_kernels(const void* memory, cudaStream_t stream) {
  const ConstraintTable none;  // so that a state, whatever it is, has no children
  const auto* states = static_cast<const int64_t*>(memory);
  StepView rows;
  cudaError_t error = launch(prefix_kernel, {1, kThreads}, stream, none, PrefixArray{}, nullptr, int64_t{0}, nullptr);
  if (error == cudaSuccess)
    error =
        launch(advance_kernel, {1, kThreads}, stream, none, nullptr, int64_t{0}, nullptr, nullptr, int64_t{0}, nullptr);
  rows.rows = 1;
  if (error == cudaSuccess) error = launch_mask(none, nullptr, states, rows, stream);
  if (error == cudaSuccess) error = launch_bitmask(none, nullptr, states, 1, nullptr, 0, stream);
  if (error == cudaSuccess)
    error = launch_topk(none, nullptr, states, rows, SIDBEAM_NORMALIZE_NONE, 0, 0, nullptr, nullptr, nullptr, nullptr,
                        stream);
  return error;
}

cudaError_t launch_prefix_states(const ConstraintTable& table, const PrefixArray& prefixes, const int32_t* lengths,
                                 int64_t count, int64_t* out, cudaStream_t stream) {
  return launch(prefix_kernel, {blocks_for(count), kThreads}, stream, table, prefixes, lengths, count, out);
}

cudaError_t launch_advance(const ConstraintTable& table, const int64_t* in, int64_t in_count, const int32_t* parents,
                           const int32_t* tokens, int64_t count, int64_t* out, cudaStream_t stream) {
  return launch(advance_kernel, {blocks_for(count), kThreads}, stream, table, in, in_count, parents, tokens, count,
                out);
}

cudaError_t launch_mask(const ConstraintTable& table, const LevelColumns* columns, const int64_t* states,
                        const StepView& rows, cudaStream_t stream) {
  return launch(mask_kernel, {rows.rows, kThreads, sizeof(MaskShared)}, stream, table, columns, states, rows);
}

cudaError_t launch_bitmask(const ConstraintTable& table, const LevelColumns* columns, const int64_t* states,
                           int64_t count, uint32_t* words, int64_t words_per_row, cudaStream_t stream) {
  return launch(bitmask_kernel, {count, kThreads, sizeof(MaskShared)}, stream, table, columns, states, words,
                words_per_row);
}

int64_t topk_workspace_bytes(int64_t rows, int32_t k, uint32_t codes) {
  return rows * topk_keys(k, codes) * static_cast<int64_t>(sizeof(uint64_t));
}

cudaError_t launch_topk(const ConstraintTable& table, const LevelColumns* columns, const int64_t* states,
                        const StepView& rows, int32_t normalization, int32_t k, uint32_t codes, int32_t* tokens,
                        float* log_probs, int64_t* next, void* workspace, cudaStream_t stream) {
  int64_t room = 0;
  if (normalization == SIDBEAM_NORMALIZE_FULL && rows.columns <= kMostHeld) room = rows.columns;
  if (normalization == SIDBEAM_NORMALIZE_LEVEL) room = std::min(rows.columns, kMostHeld);
  const size_t held =
      offsetof(TopkShared, row) + sizeof(RowShared<kThreads>) + static_cast<size_t>(room) * sizeof(float);
  const LaunchShape shape{rows.rows, kThreads, std::max(held, sizeof(TopkShared))};
  return launch(topk_kernel, shape, stream, table, columns, states, rows, normalization,
                TopkOut{k, tokens, log_probs, next}, codes, static_cast<uint64_t*>(workspace), room);
}

}  // namespace sidbeam::cuda
