// Rows of a fixed number of bytes: .npy [N, L], raw int32 [N, L], and xLLM's records of an int64 id and three int32.
// Where lengths vary (--variable-length), a row of .npy or raw ends with -1 for codes that it does not have.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <optional>

#include "../failure.h"
#include "../npy.h"
#include "source.h"

namespace cli {
namespace {

// Rows of integers, whatever file they come from.
class MatrixSource final : public Source {
 public:
  MatrixSource(const CatalogueFiles& files, const Shape& shape, NpyArray array)
      : Source(shape), array_(std::move(array)), codes_(array_), rows_(array_.shape[0]), levels_(array_.shape[1]) {
    if (rows_ == 0 || levels_ == 0) {
      throw Failure("'" + array_.path + "': shape " + array_.shape_text() + ", expected at least one SID of one code");
    }
    if (files.ids) ids_.emplace(*files.ids, rows_, array_.path);
  }

  IdForm id_form() const override { return ids_ ? ids_->form() : IdForm::kNone; }
  int32_t levels() const override { return static_cast<int32_t>(std::min<int64_t>(levels_, INT32_MAX)); }
  int64_t done() const override { return row_; }
  int64_t total() const override { return rows_; }

 protected:
  bool read_row(Batch& batch) override {
    if (row_ == rows_) return false;
    const int64_t* const codes = codes_.next(levels_);
    int64_t length = levels_;
    const bool huge = array_.dtype == "<u8";
    while (shape().variable_length && !huge && length > 0 && codes[length - 1] == -1) --length;
    for (int64_t i = 0; i < length; ++i) {
      if (huge && codes[i] < 0) fail("code " + std::to_string(static_cast<uint64_t>(codes[i])) + " is too large");
      add_code(batch, codes[i]);
    }
    end_row(batch);
    if (ids_) ids_->next(batch);
    ++row_;
    return true;
  }

  std::string place() const override { return "'" + array_.path + "': row " + std::to_string(row_); }

 private:
  NpyArray array_;
  IntegerReader codes_;
  int64_t rows_, levels_, row_ = 0;
  std::optional<IdReader> ids_;
};

class XllmSource final : public Source {
 public:
  static constexpr int32_t kLevels = 3;
  static constexpr int64_t kRecord = 20;

  XllmSource(const CatalogueFiles& files, const Shape& shape)
      : Source(shape), file_(files.input), rows_(file_.size() / kRecord) {
    if (file_.size() % kRecord == 0) return;
    throw Failure("'" + file_.path() + "': " + std::to_string(file_.size()) +
                  " bytes, expected a multiple of 20 (int64 id, 3 x int32)");
  }

  IdForm id_form() const override { return IdForm::kSigned; }
  int32_t levels() const override { return kLevels; }
  int64_t done() const override { return row_; }
  int64_t total() const override { return rows_; }

 protected:
  bool read_row(Batch& batch) override {
    if (row_ == rows_) return false;
    if (row_ % kBlock == 0) {
      block_.resize(static_cast<size_t>(std::min(kBlock, rows_ - row_) * kRecord));
      file_.read(row_ * kRecord, block_.data(), static_cast<int64_t>(block_.size()));
    }
    const char* record = block_.data() + row_ % kBlock * kRecord;
    int64_t id;
    int32_t codes[kLevels];
    std::memcpy(&id, record, sizeof id);
    std::memcpy(codes, record + sizeof id, sizeof codes);
    for (const int32_t code : codes) add_code(batch, code);
    end_row(batch);
    batch.ids.push_back(id);
    ++row_;
    return true;
  }

  std::string place() const override { return "'" + file_.path() + "': row " + std::to_string(row_); }

 private:
  static constexpr int64_t kBlock = 1 << 14;  // records

  const InputFile& file_;
  int64_t rows_, row_ = 0;
  std::vector<char> block_;
};

}  // namespace

std::unique_ptr<Source> open_npy(const CatalogueFiles& files, const Shape& shape) {
  NpyArray array = read_npy(files.input);
  if (!array.is_integer()) throw Failure("'" + array.path + "': dtype '" + array.dtype + "', expected integer codes");
  if (array.shape.size() != 2) {
    throw Failure("'" + array.path + "': shape " + array.shape_text() + ", expected (N, L)");
  }
  return std::make_unique<MatrixSource>(files, shape, std::move(array));
}

std::unique_ptr<Source> open_raw(const CatalogueFiles& files, const Shape& shape) {
  if (shape.levels == 0) throw UsageError("--levels: raw rows need it, expected the number of codes of a row");
  const int64_t levels = shape.levels, row = levels * 4, bytes = files.input.size();
  if (bytes % row != 0) {
    throw Failure("'" + files.input.path() + "': " + std::to_string(bytes) + " bytes, expected a multiple of " +
                  std::to_string(row) + " (" + std::to_string(levels) + " codes of 4 bytes)");
  }
  return std::make_unique<MatrixSource>(files, shape,
                                        NpyArray{files.input.path(), "<i4", {bytes / row, levels}, &files.input, 0, 4});
}

std::unique_ptr<Source> open_xllm(const CatalogueFiles& files, const Shape& shape) {
  return std::make_unique<XllmSource>(files, shape);
}

}  // namespace cli
