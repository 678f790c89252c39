// sidbeam draft: hidden states in, items out, by a draft head.
// SPDX-License-Identifier: Apache-2.0
#include <sidbeam/draft.h>

#include <algorithm>

#include "beams.h"
#include "draft_options.h"
#include "npy.h"
#include "options.h"
#include "search_input.h"

namespace cli {
namespace {

using Head = std::unique_ptr<sidbeam_draft_head, Release<sidbeam_draft_head_release>>;
using Decoder = std::unique_ptr<sidbeam_draft_decoder, Release<sidbeam_draft_decoder_destroy>>;

Head open_head(const std::string& path) {
  sidbeam_draft_head* head = nullptr;
  call_about(path, sidbeam_draft_head_open, path.c_str(), nullptr, &head);
  return Head(head);
}

NpyArray open_hidden(const InputFile& file, const sidbeam_draft_head_info& head) {
  NpyArray array = read_npy(file);
  if (array.dtype != "<f4" && array.dtype != "<f2") {
    throw Failure("'" + array.path + "': dtype '" + array.dtype + "', expected '<f4' or '<f2'");
  }
  const size_t rank = array.shape.size();
  if ((rank != 2 && rank != 3) || array.shape[rank - 2] != head.levels + 1 || array.shape[rank - 1] != head.hidden) {
    const std::string rows = std::to_string(head.levels + 1) + ", " + std::to_string(head.hidden) + ")";
    throw Failure("'" + array.path + "': shape " + array.shape_text() + ", expected (" + rows + " or (B, " + rows +
                  ", as the head has " + std::to_string(head.levels) + " levels");
  }
  return array;
}

class Drafts {
 public:
  explicit Drafts(const DraftOptions& o)
      : o_(o),
        index_(open_index(o.index)),
        info_(index_info(index_.get())),
        head_(open_head(o.head)),
        file_(o.hidden),
        hidden_(open_hidden(file_, head_info())) {
    requests_ = hidden_.shape.size() == 3 ? hidden_.shape[0] : 1;
    batch_ = std::max<int64_t>(1, std::min<int64_t>({64, requests_, 16384 / o.beams}));
    make_decoder();
  }

  std::vector<std::string> run() {
    std::vector<std::string> texts;
    for (int64_t first = 0; first < requests_; first += batch_) {
      for (const Found& found : decode(first, std::min(batch_, requests_ - first)))
        texts.push_back(o_.json ? found_json(found).text() : found_table(found));
    }
    return texts;
  }

 private:
  sidbeam_draft_head_info head_info() const {
    sidbeam_draft_head_info info = SIDBEAM_DRAFT_HEAD_INFO_INIT;
    call(sidbeam_draft_head_get_info, head_.get(), &info);
    return info;
  }

  // If the verification cannot use the index, the library's message names neither the file nor the option.
  void make_decoder() {
    const Runtime runtime = make_runtime(1);
    const auto verification = std::find(kVerifications.begin(), kVerifications.end(), o_.verify);
    sidbeam_draft_config config = SIDBEAM_DRAFT_CONFIG_INIT;
    config.requests = static_cast<int32_t>(batch_);
    config.beams = o_.beams;
    config.verification = static_cast<int32_t>(verification - kVerifications.begin());
    config.normalization = normalization_of(o_.normalize);
    config.top_k = o_.top_k;
    config.head = head_.get();
    config.index = index_.get();
    sidbeam_draft_decoder* decoder = nullptr;
    try {
      call_about(o_.index, sidbeam_draft_decoder_create, runtime.get(), &config, &decoder);
    } catch (const LibraryFailure& failure) {
      if (failure.status != SIDBEAM_MISSING_SECTION) throw;
      const int32_t kind = o_.verify == "hash" ? SIDBEAM_KIND_HASH : SIDBEAM_KIND_TRIE;
      std::string kinds;
      for (const std::string& name : kind_names(info_.kinds | kind)) kinds += (kinds.empty() ? "" : ",") + name;
      throw Failure("--verify: '" + o_.index + "' was built without " + kind_names(kind)[0] +
                    ": build it with --kinds " + kinds);
    }
    decoder_.reset(decoder);
  }

  std::vector<Found> decode(int64_t first, int64_t count) {
    const sidbeam_draft_head_info head = head_info();
    const int64_t elements = int64_t{head.levels + 1} * head.hidden;
    std::vector<char> states(static_cast<size_t>(count * elements * hidden_.item_bytes));
    hidden_.read(first * elements, count * elements, states.data());
    const sidbeam_rows rows =
        sidbeam_rows_dense(states.data(), hidden_.dtype == "<f4" ? SIDBEAM_DTYPE_F32 : SIDBEAM_DTYPE_F16, count,
                           head.levels + 1, head.hidden);
    sidbeam_draft_args args = SIDBEAM_DRAFT_ARGS_INIT;
    sidbeam_draft_result result = SIDBEAM_DRAFT_RESULT_INIT;
    args.hidden = &rows;
    const std::vector<int32_t> widths = parse_widths(o_.widths, o_.beams, head.levels);
    std::vector<int32_t> of_requests;
    for (int64_t i = 0; i < count; ++i) of_requests.insert(of_requests.end(), widths.begin(), widths.end());
    args.widths = widths.empty() ? nullptr : of_requests.data();
    args.width_levels = static_cast<int32_t>(widths.size());
    call(sidbeam_draft_decoder_run, decoder_.get(), &args, &result);
    std::vector<Found> all;
    for (int32_t i = 0; i < result.requests; ++i) all.push_back(found_of(result, i, first + i));
    return all;
  }

  Found found_of(const sidbeam_draft_result& result, int32_t request, int64_t number) const {
    Found found{number, result.errors[request] != 0, {}};
    for (int32_t m = 0; m < result.live[request]; ++m) {
      const int64_t at = int64_t{request} * result.beams + m;
      const int32_t* sid = result.sids + at * result.levels;
      found.beams.push_back({{sid, sid + result.levels}, result.ordinals[at], result.scores[at], {}});
    }
    find_items(index_.get(), nullptr, info_.id_type, o_.distinct, {}, found);
    return found;
  }

  const DraftOptions& o_;
  Index index_;
  sidbeam_index_info info_;
  Head head_;
  InputFile file_;
  NpyArray hidden_;
  int64_t requests_ = 0, batch_ = 0;
  Decoder decoder_;
};

}  // namespace

void run_draft(const DraftOptions& o) { print(document(Drafts(o).run(), o.json)); }

}  // namespace cli
