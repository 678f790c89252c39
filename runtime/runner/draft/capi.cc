// The C ABI of draft.h.
// SPDX-License-Identifier: Apache-2.0
#include "runner/capi/first_version.h"
#include "runner/draft/decoder.h"
#include "runner/draft/writer.h"
#include "support/arguments.h"

using sidbeam::guarded;
using sidbeam::capi::read_struct;
using sidbeam::capi::require;

namespace {

using sidbeam::runner::DraftDecoder;
using sidbeam::runner::DraftHead;

DraftHead* object(sidbeam_draft_head* handle) { return reinterpret_cast<DraftHead*>(handle); }
const DraftHead* object(const sidbeam_draft_head* handle) { return reinterpret_cast<const DraftHead*>(handle); }
DraftDecoder* object(sidbeam_draft_decoder* handle) { return reinterpret_cast<DraftDecoder*>(handle); }

using Find = void (DraftDecoder::*)(const sidbeam_draft_args& args, const sidbeam_rows& hidden,
                                    sidbeam_draft_result& out);

void find_sids(sidbeam_draft_decoder* decoder, const sidbeam_draft_args* args, sidbeam_draft_result* out, Find find) {
  require(decoder, "decoder");
  sidbeam::capi::check_output(out, "out");
  const auto given = read_struct(args, "args");
  const auto hidden = read_struct(given.hidden, "args.hidden");
  sidbeam_draft_result result = SIDBEAM_DRAFT_RESULT_INIT;
  (object(decoder)->*find)(given, hidden, result);
  sidbeam::write_struct(result, out);
}

}  // namespace

extern "C" {

sidbeam_status sidbeam_draft_head_write(const char* path, const sidbeam_draft_weights* weights, sidbeam_error* err) {
  return guarded(err, [&] {
    require(path, "path");
    sidbeam::runner::write_draft_head(path, read_struct(weights, "weights"));
  });
}

sidbeam_status sidbeam_draft_head_open(const char* path, const sidbeam_draft_head_config* config,
                                       sidbeam_draft_head** out, sidbeam_error* err) {
  return guarded(err, [&] {
    require(path, "path");
    require(out, "out");
    const sidbeam_draft_head_config defaults = SIDBEAM_DRAFT_HEAD_CONFIG_INIT;
    const auto given = read_struct(config != nullptr ? config : &defaults, "config");
    const sidbeam::Allocator allocator = sidbeam::capi::read_allocator(given.allocator, "config.allocator");
    *out = reinterpret_cast<sidbeam_draft_head*>(sidbeam::runner::open_draft_head(path, allocator));
  });
}

sidbeam_status sidbeam_draft_head_get_info(const sidbeam_draft_head* head, sidbeam_draft_head_info* out,
                                           sidbeam_error* err) {
  return guarded(err, [&] {
    require(head, "head");
    sidbeam::capi::check_output(out, "out");
    sidbeam::write_struct(object(head)->info, out);
  });
}

void sidbeam_draft_head_retain(sidbeam_draft_head* head) {
  if (head != nullptr) object(head)->retain();
}

void sidbeam_draft_head_release(sidbeam_draft_head* head) {
  if (head != nullptr) object(head)->release();
}

sidbeam_status sidbeam_draft_decoder_create(sidbeam_runtime* runtime, const sidbeam_draft_config* config,
                                            sidbeam_draft_decoder** out, sidbeam_error* err) {
  return guarded(err, [&] {
    require(runtime, "runtime");
    require(out, "out");
    const auto given = read_struct(config, "config");
    *out = reinterpret_cast<sidbeam_draft_decoder*>(sidbeam::runner::make_draft_decoder(runtime, given).release());
  });
}

sidbeam_status sidbeam_draft_decoder_run(sidbeam_draft_decoder* decoder, const sidbeam_draft_args* args,
                                         sidbeam_draft_result* out, sidbeam_error* err) {
  return guarded(err, [&] { find_sids(decoder, args, out, &DraftDecoder::run); });
}

sidbeam_status sidbeam_draft_decoder_start(sidbeam_draft_decoder* decoder, const sidbeam_draft_args* args,
                                           sidbeam_error* err) {
  return guarded(err, [&] {
    require(decoder, "decoder");
    const auto given = read_struct(args, "args");
    object(decoder)->start(given, read_struct(given.hidden, "args.hidden"));
  });
}

sidbeam_status sidbeam_draft_decoder_decode(sidbeam_draft_decoder* decoder, const sidbeam_draft_args* args,
                                            sidbeam_draft_result* out, sidbeam_error* err) {
  return guarded(err, [&] { find_sids(decoder, args, out, &DraftDecoder::decode); });
}

void sidbeam_draft_decoder_destroy(sidbeam_draft_decoder* decoder) { delete object(decoder); }

}  // extern "C"
