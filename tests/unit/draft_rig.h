// Decoders of random draft heads, and their hidden states, for the tests. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <string>

#include "../random_head.h"
#include "../random_version.h"

namespace sidbeam::runner {

using heads::deep_head, heads::deep_sids, heads::elements_of, heads::HeadShape, heads::make_index, heads::random_head,
    heads::random_sids, heads::random_vector;
using DraftHeadHandle = heads::DraftHead;
using DraftDecoderHandle = heads::DraftDecoder;
using Sid = std::vector<int>;

inline handles::SidRows rows_of(const std::set<Sid>& sids) {
  handles::SidRows rows;
  for (const Sid& sid : sids) {
    rows.codes.insert(rows.codes.end(), sid.begin(), sid.end());
    rows.lengths.push_back(static_cast<int32_t>(sid.size()));
  }
  return rows;
}

inline void expect_ok(sidbeam_status status, const sidbeam_error& error) {
  ASSERT_EQ(status, SIDBEAM_OK) << error.message;
}

inline DraftHeadHandle make_head(const oracle::DraftModel& model, int32_t dtype = SIDBEAM_DTYPE_F32) {
  return heads::DraftFile(model, dtype).head();
}

inline handles::Runtime make_runtime(const char* cpu_target = nullptr) {
  sidbeam_runtime_config config = SIDBEAM_RUNTIME_CONFIG_INIT;
  config.threads = 1;
  config.cpu_target = cpu_target;
  sidbeam_runtime* runtime = nullptr;
  EXPECT_EQ(sidbeam_runtime_create(&config, &runtime, nullptr), SIDBEAM_OK);
  return handles::Runtime(runtime);
}

// h_0 .. h_L of each request, and the same as one array.
struct Hidden {
  std::vector<std::vector<oracle::Vector>> states;
  std::string bytes;

  Hidden(int requests, const oracle::DraftModel& model, std::mt19937_64& random, int32_t dtype = SIDBEAM_DTYPE_F32) {
    for (int i = 0; i < requests; ++i) {
      states.emplace_back();
      for (int l = 0; l <= model.levels(); ++l) {
        states.back().push_back(random_vector(random, model.hidden));
        bytes += elements_of(states.back().back(), dtype);
      }
    }
    rows = sidbeam_rows_dense(bytes.data(), dtype, requests, model.levels() + 1, model.hidden);
  }
  sidbeam_rows rows;
};

inline DraftDecoderHandle make_decoder(sidbeam_runtime* runtime, const sidbeam_draft_config& config) {
  sidbeam_error error = SIDBEAM_ERROR_INIT;
  sidbeam_draft_decoder* decoder = nullptr;
  expect_ok(sidbeam_draft_decoder_create(runtime, &config, &decoder, &error), error);
  return DraftDecoderHandle(decoder);
}

inline sidbeam_draft_result run_decoder(const DraftDecoderHandle& decoder, const sidbeam_rows& rows) {
  sidbeam_error error = SIDBEAM_ERROR_INIT;
  sidbeam_draft_args args = SIDBEAM_DRAFT_ARGS_INIT;
  sidbeam_draft_result result = SIDBEAM_DRAFT_RESULT_INIT;
  args.hidden = &rows;
  expect_ok(sidbeam_draft_decoder_run(decoder.get(), &args, &result, &error), error);
  return result;
}

inline Sid sid_of(const sidbeam_draft_result& result, int64_t beam) {
  return {result.sids + beam * result.levels, result.sids + (beam + 1) * result.levels};
}

}  // namespace sidbeam::runner
