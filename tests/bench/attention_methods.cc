// SPDX-License-Identifier: Apache-2.0
#include "attention_methods.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "runner/attention/permute.h"
#include "sidbeam/base.h"

namespace bench {
namespace {

using namespace sidbeam::runner;  // NOLINT: the room that is measured
using sidbeam::Buffer;

constexpr int64_t kPage = 128;  // positions; with smaller pages there are more steps of the softmax

KvRows rows_of(const std::vector<float>& keys, const std::vector<float>& values, int64_t stride) {
  return {keys.data(), values.data(), stride, SIDBEAM_DTYPE_F32};
}

AttentionCall call_of(const StepData& data, std::vector<float>& output) {
  AttentionCall call;
  call.rows = data.step.beams;
  call.queries = data.queries.data();
  call.query_stride = call.output_stride = data.step.row();
  call.output = output.data();
  return call;
}

// Ours: the prompt once, and lists of ancestors.
class Shared : public AttentionMethod {
 public:
  explicit Shared(const StepData& data)
      : data_(data),
        kv_(sidbeam::default_allocator(), data.step.shape, data.step.prompt),
        plan_{data.step.shape, data.scale, data.step.beams, false, {sidbeam::best_cpu_target(), nullptr}},
        scratch_(sidbeam::default_allocator(), plan_.scratch_floats()),
        ancestors_(data.ancestors) {
    write_rows(kv_, plan_.workers.target, 0, data.step.prompt,
               rows_of(data.prompt_keys, data.prompt_values, data.step.kv_row()));
  }
  std::string name() const override { return "shared, ancestors"; }
  int64_t run(std::vector<float>& output) override {
    AttentionCall call = call_of(data_, output);
    call.shared = &kv_;
    call.depth = data_.step.depth;
    call.ancestors = ancestors_.data();
    call.unshared = unshared();
    return attend(plan_, {&call, 1}, scratch_.data());
  }

 protected:
  virtual KvRows unshared() const { return rows_of(data_.unshared_keys, data_.unshared_values, data_.step.kv_row()); }

  const StepData& data_;
  SharedKv kv_;
  AttentionPlan plan_;
  Buffer<float> scratch_;
  std::vector<int32_t> ancestors_;
};

// The same after the unshared KV was moved, so that every beam's own positions follow it.
class SharedInPlace : public Shared {
 public:
  explicit SharedInPlace(const StepData& data)
      : Shared(data), keys_(data.unshared_keys), values_(data.unshared_values) {
    const int64_t row = data.step.kv_row();
    for (int64_t i = 0; i < data.step.beams * data.step.depth; ++i) {
      const int64_t m = i / data.step.depth, to = i % data.step.depth * data.step.beams + m;
      const int64_t from = ancestors_[static_cast<size_t>(i)];
      std::copy_n(data.unshared_keys.begin() + from * row, row, keys_.begin() + to * row);
      std::copy_n(data.unshared_values.begin() + from * row, row, values_.begin() + to * row);
      ancestors_[static_cast<size_t>(i)] = static_cast<int32_t>(to);
    }
  }
  std::string name() const override { return "shared, moved in place"; }

 protected:
  KvRows unshared() const override { return rows_of(keys_, values_, data_.step.kv_row()); }

 private:
  std::vector<float> keys_, values_;
};

// That move: of all levels but the last, whose rows write after it.
class Permutation : public AttentionMethod {
 public:
  explicit Permutation(const StepData& data) : data_(data), keys_(data.unshared_keys), values_(data.unshared_values) {}
  std::string name() const override { return "the move in place"; }
  bool attends() const override { return false; }
  int64_t run(std::vector<float>&) override {
    const auto row = data_.step.kv_row() * static_cast<int64_t>(sizeof(float));
    int64_t copies = 0;
    for (std::vector<float>* rows : {&keys_, &values_}) {
      copies += permute_rows(
          {reinterpret_cast<char*>(rows->data()), row, static_cast<int32_t>(data_.step.beams), data_.step.depth},
          data_.parents.data());
    }
    return 2 * copies * row;
  }

 private:
  const StepData& data_;
  std::vector<float> keys_, values_;
};

// Kernels called for rows that each method arranges by itself.
class ByKernels : public AttentionMethod {
 public:
  ByKernels(const StepData& data, int64_t rows)
      : data_(data),
        dims_(data.step.shape.dims()),
        kernels_(attention_kernels_of(sidbeam::best_cpu_target())),
        scores_(sidbeam::default_allocator(), kTileRows * kKeyBlock),
        queries_(sidbeam::default_allocator(), kTileRows * dims_),
        row_(sidbeam::default_allocator(), dims_),
        output_(sidbeam::default_allocator(), rows * dims_),
        sum_(sidbeam::default_allocator(), rows),
        largest_(sidbeam::default_allocator(), rows) {}

 protected:
  HeadRows begin(const float* queries, int64_t stride, int64_t count) {
    std::fill_n(output_.data(), count * dims_, 0.0F);
    std::fill_n(sum_.data(), count, 0.0F);
    std::fill_n(largest_.data(), count, -std::numeric_limits<float>::infinity());
    return {count,          data_.step.shape.head_dim, dims_, data_.scale, queries, stride, output_.data(), sum_.data(),
            largest_.data()};
  }
  // A block of one KV head of `kv`, from position `from` on. Returns the bytes of it.
  int64_t attend_block(const HeadRows& rows, const SharedKv& kv, int32_t kv_head, int64_t from, int64_t count,
                       const float* mask = nullptr, int64_t mask_stride = 0) {
    KeyBlock block{};
    block.keys = kv.head_keys(kv_head) + from * rows.head_dim;
    block.values = kv.head_values(kv_head) + from * HeadShape::kPanel;
    block.value_stride = kv.capacity;
    block.count = count;
    block.row_bias = mask;
    block.row_bias_stride = mask_stride;
    kernels_.attend_shared(rows, block, {scores_.data(), queries_.data(), row_.data()});
    return 2 * count * rows.head_dim * static_cast<int64_t>(sizeof(float));
  }
  // The heads of one beam that read one KV head: rows that follow each other.
  HeadRows begin_group(int64_t beam, int32_t kv_head) {
    const HeadShape& shape = data_.step.shape;
    return begin(data_.queries.data() + group_offset(beam, kv_head), shape.head_dim, shape.group());
  }
  void finish_group(const HeadRows& rows, int64_t beam, int32_t kv_head, std::vector<float>& output) const {
    kernels_.finish(rows, output.data() + group_offset(beam, kv_head), data_.step.shape.head_dim);
  }
  int64_t group_offset(int64_t beam, int32_t kv_head) const {
    const HeadShape& shape = data_.step.shape;
    return beam * data_.step.row() + int64_t{kv_head} * shape.group() * shape.head_dim;
  }

  const StepData& data_;
  int64_t dims_;
  const AttentionKernels& kernels_;
  Buffer<float> scores_, queries_, row_, output_, sum_, largest_;
};

// Position i of a beam's own part.
KvRows own_row(const StepData& data, int64_t beam, int32_t i) {
  const int64_t at = data.ancestors[static_cast<size_t>(beam * data.step.depth + i)];
  return rows_of(data.unshared_keys, data.unshared_values, data.step.kv_row()).at(at, 0, data.step.shape.head_dim);
}

// A KV per beam: the prompt was copied for each, and each reads its own.
class Copied : public ByKernels {
 public:
  explicit Copied(const StepData& data) : ByKernels(data, data.step.shape.group()) {
    const sidbeam::CpuTarget target = sidbeam::best_cpu_target();
    const KvRows prompt = rows_of(data.prompt_keys, data.prompt_values, data.step.kv_row());
    for (int64_t m = 0; m < data.step.beams; ++m) {
      kvs_.emplace_back(sidbeam::default_allocator(), data.step.shape, data.step.prompt + data.step.depth);
      write_rows(kvs_.back(), target, 0, data.step.prompt, prompt);
      for (int32_t i = 0; i < data.step.depth; ++i) {
        write_rows(kvs_.back(), target, data.step.prompt + i, 1, own_row(data, m, i));
      }
    }
  }
  std::string name() const override { return "copied per beam"; }
  int64_t run(std::vector<float>& output) override {
    int64_t bytes = 0;
    for (int64_t m = 0; m < data_.step.beams; ++m) {
      const SharedKv& kv = kvs_[static_cast<size_t>(m)];
      for (int32_t head = 0; head < data_.step.shape.kv_heads; ++head) {
        const HeadRows rows = begin_group(m, head);
        for (int64_t from = 0; from < kv.length; from += kKeyBlock) {
          bytes += attend_block(rows, kv, head, from, std::min(kKeyBlock, kv.length - from));
        }
        finish_group(rows, m, head, output);
      }
    }
    return bytes;
  }

 private:
  std::vector<SharedKv> kvs_;
};

// What engines with a KV per beam do between steps: every beam's becomes a copy of its parent's, in a second buffer.
class CopiedReorder : public AttentionMethod {
 public:
  explicit CopiedReorder(const StepData& data)
      : data_(data),
        beam_((data.step.prompt + data.step.depth) * data.step.kv_row() * 2),
        from_(Buffer<float>::zeroed(sidbeam::default_allocator(), beam_ * data.step.beams)),
        to_(Buffer<float>::zeroed(sidbeam::default_allocator(), beam_ * data.step.beams)) {}
  std::string name() const override { return "copied per beam, reorder"; }
  bool attends() const override { return false; }
  int64_t run(std::vector<float>&) override {
    const int64_t bytes = beam_ * static_cast<int64_t>(sizeof(float));
    for (int64_t m = 0; m < data_.step.beams; ++m) {
      std::memcpy(to_.data() + m * beam_, from_.data() + data_.parents[static_cast<size_t>(m)] * beam_,
                  static_cast<size_t>(bytes));
    }
    return 2 * bytes * data_.step.beams;
  }

 private:
  const StepData& data_;
  int64_t beam_;  // floats
  Buffer<float> from_, to_;
};

// Pages of kPage positions and a table of them per beam. Full pages of the prompt are shared; its last, partial one is
// copied per beam, because each writes to it. Every beam attends on its own.
class Paged : public ByKernels {
 public:
  explicit Paged(const StepData& data) : ByKernels(data, data.step.shape.group()), target_(sidbeam::best_cpu_target()) {
    const int64_t full = data.step.prompt / kPage, length = data.step.prompt + data.step.depth;
    const int64_t per_beam = (length + kPage - 1) / kPage;
    const KvRows prompt = rows_of(data.prompt_keys, data.prompt_values, data.step.kv_row());
    for (int64_t i = 0; i < full; ++i) write_rows(add_page(), target_, 0, kPage, row(prompt, i * kPage));
    for (int64_t m = 0; m < data.step.beams; ++m) {
      for (int64_t i = 0; i < per_beam; ++i) {
        table_.push_back(static_cast<int32_t>(i < full ? i : static_cast<int64_t>(pages_.size())));
        if (i < full) continue;
        SharedKv& page = add_page();
        for (int64_t at = i * kPage; at < std::min((i + 1) * kPage, length); ++at) {
          const KvRows one =
              at < data.step.prompt ? row(prompt, at) : own_row(data, m, static_cast<int32_t>(at - data.step.prompt));
          write_rows(page, target_, at % kPage, 1, one);
        }
      }
    }
    per_beam_ = per_beam;
  }
  std::string name() const override { return "paged"; }
  int64_t run(std::vector<float>& output) override {
    int64_t bytes = 0;
    for (int64_t m = 0; m < data_.step.beams; ++m) {
      for (int32_t head = 0; head < data_.step.shape.kv_heads; ++head) {
        const HeadRows rows = begin_group(m, head);
        for (int64_t i = 0; i < per_beam_; ++i) {
          const SharedKv& page = pages_[static_cast<size_t>(table_[static_cast<size_t>(m * per_beam_ + i)])];
          bytes += attend_block(rows, page, head, 0, page.length);
        }
        finish_group(rows, m, head, output);
      }
    }
    return bytes;
  }

 private:
  KvRows row(const KvRows& rows, int64_t at) const { return rows.at(at, 0, data_.step.shape.head_dim); }
  SharedKv& add_page() { return pages_.emplace_back(sidbeam::default_allocator(), data_.step.shape, kPage); }

  sidbeam::CpuTarget target_;
  std::vector<SharedKv> pages_;
  std::vector<int32_t> table_;  // [M, per_beam_]
  int64_t per_beam_ = 0;
};

// What paging does between steps: the last page of every beam becomes a copy of its parent's.
class PagedFork : public AttentionMethod {
 public:
  explicit PagedFork(const StepData& data)
      : data_(data),
        page_(kPage * data.step.kv_row() * 2),
        from_(Buffer<float>::zeroed(sidbeam::default_allocator(), page_ * data.step.beams)),
        to_(Buffer<float>::zeroed(sidbeam::default_allocator(), page_ * data.step.beams)) {}
  std::string name() const override { return "paged, copies of the last page"; }
  bool attends() const override { return false; }
  int64_t run(std::vector<float>&) override {
    // Of a page only what has been written.
    const int64_t written = ((data_.step.prompt + data_.step.depth - 1) % kPage + 1) * data_.step.position_bytes();
    for (int64_t m = 0; m < data_.step.beams; ++m) {
      std::memcpy(to_.data() + m * page_, from_.data() + data_.parents[static_cast<size_t>(m)] * page_,
                  static_cast<size_t>(written));
    }
    return 2 * written * data_.step.beams;
  }

 private:
  const StepData& data_;
  int64_t page_;  // floats
  Buffer<float> from_, to_;
};

// All rows attend to the prompt and to everything that any beam has written, under a dense mask.
class Tree : public ByKernels {
 public:
  explicit Tree(const StepData& data)
      : ByKernels(data, data.step.beams),
        length_(data.step.prompt + data.step.beams * data.step.depth),
        kv_(sidbeam::default_allocator(), data.step.shape, length_),
        mask_(static_cast<size_t>(data.step.beams * length_), -std::numeric_limits<float>::infinity()) {
    const sidbeam::CpuTarget target = sidbeam::best_cpu_target();
    write_rows(kv_, target, 0, data.step.prompt, rows_of(data.prompt_keys, data.prompt_values, data.step.kv_row()));
    write_rows(kv_, target, data.step.prompt, data.step.beams * data.step.depth,
               rows_of(data.unshared_keys, data.unshared_values, data.step.kv_row()));
    for (int64_t m = 0; m < data.step.beams; ++m) {
      float* const row = mask_.data() + m * length_;
      std::fill_n(row, data.step.prompt, 0.0F);
      for (int32_t i = 0; i < data.step.depth; ++i) {
        row[data.step.prompt + data.ancestors[static_cast<size_t>(m * data.step.depth + i)]] = 0.0F;
      }
    }
  }
  std::string name() const override { return "tree, dense mask"; }
  int64_t run(std::vector<float>& output) override {
    const HeadShape& shape = data_.step.shape;
    int64_t bytes = 0;
    for (int32_t head = 0; head < shape.heads; ++head) {
      const int64_t from_head = int64_t{head} * shape.head_dim;
      const HeadRows rows = begin(data_.queries.data() + from_head, data_.step.row(), data_.step.beams);
      for (int64_t from = 0; from < length_; from += kKeyBlock) {
        const int64_t count = std::min(kKeyBlock, length_ - from);
        const int64_t read = attend_block(rows, kv_, head / shape.group(), from, count, mask_.data() + from, length_);
        if (head % shape.group() == 0) bytes += read;
      }
      bytes += static_cast<int64_t>(mask_.size() * sizeof(float));
      kernels_.finish(rows, output.data() + from_head, data_.step.row());
    }
    return bytes;
  }

 private:
  int64_t length_;
  SharedKv kv_;
  std::vector<float> mask_;  // [M, length_]
};

template <class Method>
std::unique_ptr<AttentionMethod> make(const StepData& data) {
  return std::make_unique<Method>(data);
}

int64_t once(const Step& step) { return (step.prompt + 2 * step.beams * step.depth) * step.position_bytes(); }
int64_t per_beam(const Step& step) { return step.beams * (step.prompt + step.depth) * step.position_bytes(); }
int64_t per_beam_twice(const Step& step) { return 2 * per_beam(step); }
int64_t pages(const Step& step) { return (step.prompt + 2 * kPage * step.beams) * step.position_bytes(); }
int64_t tree(const Step& step) {
  const int64_t length = step.prompt + step.beams * step.depth;
  return length * (step.position_bytes() + step.beams * static_cast<int64_t>(sizeof(float)));
}

}  // namespace

const std::vector<AttentionEntry> kAttentionMethods = {
    {"shared, ancestors", once, make<Shared>},
    {"shared, moved in place", once, make<SharedInPlace>},
    {"the move in place", once, make<Permutation>},
    {"paged", pages, make<Paged>},
    {"paged, copies of the last page", pages, make<PagedFork>},
    {"tree, dense mask", tree, make<Tree>},
    {"copied per beam", per_beam, make<Copied>},
    {"copied per beam, reorder", per_beam_twice, make<CopiedReorder>},
};

StepData::StepData(const Step& of) : step(of), scale(1.0F / std::sqrt(static_cast<float>(of.shape.head_dim))) {
  std::mt19937 random(16);
  std::normal_distribution<float> normal;
  const auto draw = [&](std::vector<float>& values, int64_t n) {
    values.resize(static_cast<size_t>(n));
    for (float& value : values) value = normal(random);
  };
  draw(queries, step.beams * step.row());
  draw(prompt_keys, step.prompt * step.kv_row());
  draw(prompt_values, step.prompt * step.kv_row());
  draw(unshared_keys, step.beams * step.depth * step.kv_row());
  draw(unshared_values, step.beams * step.depth * step.kv_row());
  std::uniform_real_distribution<double> uniform;
  const auto draw_parents = [&] {
    parents.clear();
    for (int64_t m = 0; m < step.beams; ++m) {
      const double u = uniform(random);
      parents.push_back(static_cast<int32_t>(static_cast<double>(step.beams) * u * u));
    }
  };
  // Level by level: a row's list is that of its parent's row, then its own position.
  for (int32_t level = 0; level < step.depth; ++level) {
    std::vector<int32_t> next;
    draw_parents();
    for (int64_t m = 0; m < step.beams; ++m) {
      const auto from = ancestors.begin() + parents[static_cast<size_t>(m)] * level;
      next.insert(next.end(), from, from + level);
      next.push_back(static_cast<int32_t>(level * step.beams + m));
    }
    ancestors = next;
  }
}

}  // namespace bench
