// xLLM's records of an int64 id and three int32.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <vector>

#include "failure.h"
#include "source.h"

namespace importer {
namespace {

class XllmSource final : public Source {
 public:
  static constexpr int32_t kLevels = 3;
  static constexpr int64_t kRecord = 20;

  XllmSource(const CatalogueFiles& files, const Shape& shape) : Source(files, shape), rows_(file_.size() / kRecord) {
    if (file_.size() % kRecord == 0) return;
    throw Failure("'" + file_.path() + "': " + std::to_string(file_.size()) +
                  " bytes, expected a multiple of 20 (int64 id, 3 x int32)");
  }

  IdForm id_form() const override { return IdForm::kSigned; }
  int32_t levels() const override { return kLevels; }
  int64_t done() const override { return record_; }
  int64_t total() const override { return rows_; }

 protected:
  bool read_record(Batch& batch) override {
    if (record_ == rows_) return false;
    if (record_ % kBlock == 0) {
      block_.resize(static_cast<size_t>(std::min(kBlock, rows_ - record_) * kRecord));
      file_.read(record_ * kRecord, block_.data(), static_cast<int64_t>(block_.size()));
    }
    const char* const bytes = block_.data() + record_ % kBlock * kRecord;
    int64_t id;
    int32_t codes[kLevels];
    std::memcpy(&id, bytes, sizeof id);
    std::memcpy(codes, bytes + sizeof id, sizeof codes);
    for (const int32_t code : codes) sids_.number(batch, code);
    sids_.end_sid(batch);
    sids_.end_record(batch);
    batch.ids.push_back(id);
    ++record_;
    return true;
  }

 private:
  static constexpr int64_t kBlock = 1 << 14;  // records

  int64_t rows_;
  std::vector<char> block_;
};

}  // namespace

std::unique_ptr<Source> open_xllm(const CatalogueFiles& files, const Shape& shape) {
  return std::make_unique<XllmSource>(files, shape);
}

}  // namespace importer
