// SPDX-License-Identifier: Apache-2.0
#include "backend/device_set.h"

#include <utility>
#include <vector>

#include "backend/constraint.h"
#include "sidbeam/builder.h"
#include "support/error.h"

namespace sidbeam {
namespace {

class DeviceSet final : public SetBackend {
 public:
  DeviceSet(Ref<Device> device, const SetShape& shape) : device_(std::move(device)), codes_(shape.codes) {
    std::vector<UploadHandle*> handles;
    std::vector<DeviceRules> rules;
    for (int32_t i = 0; i < shape.count; ++i) {
      uploads_.push_back(shape.constraints[i]->bring_upload(device_->id(), SIDBEAM_KIND_TRIE));
      handles.push_back(uploads_.back()->handle());
      filters_.push_back(shape.constraints[i]->bring_filter(device_->id()));
      rules.push_back(device_rules(*shape.constraints[i], filters_.back().get()));
    }
    call_plugin(plugin().set_create, device_->handle(), handles.data(), rules.data(), shape.count, &shape.vocabulary,
                &handle_);
  }
  DeviceSet(const DeviceSet&) = delete;
  DeviceSet& operator=(const DeviceSet&) = delete;
  ~DeviceSet() override {
    device_->let_go(&DevicePlugin::set_destroy, handle_);
    for (const Ref<Upload>& upload : uploads_) upload->outlive(*device_);
    for (const Ref<FilterCopy>& filter : filters_)
      if (filter) filter->upload().outlive(*device_);
  }

  void prefixes(const SetCall& call, const PrefixArray& prefixes, const int32_t* lengths, int64_t* out) const override {
    call_plugin(plugin().set_prefixes, handle_, &call, &prefixes, lengths, out);
  }
  void advance(const SetCall& call, const int64_t* in, int64_t in_count, const int32_t* parents, const int32_t* codes,
               int64_t* out) const override {
    call_plugin(plugin().set_advance, handle_, &call, in, in_count, parents, codes, out);
  }
  void mask(const SetCall& call, const int64_t* states, const sidbeam_rows& rows, void* /*data*/) const override {
    call_plugin(plugin().set_mask, handle_, &call, states, &rows);
  }
  void bitmask(const SetCall& call, const int64_t* states, int64_t words_per_row, uint32_t* words) const override {
    call_plugin(plugin().set_bitmask, handle_, &call, states, words_per_row, words);
  }
  void topk(const SetCall& call, const int64_t* states, const sidbeam_rows& rows, int32_t normalization, int32_t k,
            int32_t* codes, float* log_probs, int64_t* next) const override {
    call_plugin(plugin().set_topk, handle_, &call, states, &rows, normalization, k, codes_, codes, log_probs, next);
  }
  void sample(const SetCall& call, const int64_t* states, const sidbeam_rows& rows, const SetSampling& how,
              const sidbeam_sampled& out) const override {
    call_plugin(plugin().set_sample, handle_, &call, states, &rows, &how, &out);
  }

 private:
  const DevicePlugin& plugin() const { return device_->plugin(); }

  Ref<Device> device_;
  std::vector<Ref<Upload>> uploads_;
  std::vector<Ref<FilterCopy>> filters_;  // null: its constraint needs none
  uint32_t codes_;
  DeviceSetHandle* handle_ = nullptr;
};

}  // namespace

std::unique_ptr<SetBackend> make_device_set(Ref<Device> device, const SetShape& shape) {
  return std::make_unique<DeviceSet>(std::move(device), shape);
}

}  // namespace sidbeam
