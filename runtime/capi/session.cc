// SPDX-License-Identifier: Apache-2.0
#include "decode/session.h"

#include "capi/guard.h"

using namespace sidbeam;
using namespace sidbeam::capi;

extern "C" {

sidbeam_status sidbeam_session_create(sidbeam_runtime* runtime, const sidbeam_session_config* config,
                                      sidbeam_session** out, sidbeam_error* err) {
  return guarded(err, [&] {
    require(runtime, "runtime");
    require(out, "out");
    sidbeam_session_config copy = read_struct(config, "config");
    sidbeam_vocabulary vocabulary;
    if (copy.vocabulary != nullptr) {
      vocabulary = read_struct(copy.vocabulary, "config.vocabulary");
      copy.vocabulary = &vocabulary;
    }
    *out = create_session(runtime, copy).release();
  });
}

sidbeam_status sidbeam_session_start(sidbeam_session* session, const sidbeam_start_args* args, sidbeam_error* err) {
  return guarded(err, [&] {
    require(session, "session");
    sidbeam_start_args copy = read_struct(args, "args");
    sidbeam_sampling sampling;
    if (copy.sampling != nullptr) {
      sampling = read_struct(copy.sampling, "args.sampling");
      copy.sampling = &sampling;
    }
    start_slots(*session, copy);
  });
}

sidbeam_status sidbeam_session_step(sidbeam_session* session, const sidbeam_step_args* args, sidbeam_error* err) {
  return guarded(err, [&] {
    require(session, "session");
    sidbeam_step_args copy = read_struct(args, "args");
    sidbeam_rows rows = read_struct(copy.rows, "rows");
    copy.rows = &rows;
    step_session(*session, copy, rows);
  });
}

sidbeam_status sidbeam_session_children(const sidbeam_session* session, const int32_t* slots, int64_t count,
                                        int32_t lse_given, int64_t capacity, int64_t* offsets, int32_t* columns,
                                        void* stream, sidbeam_error* err) {
  return guarded(err, [&] {
    require(session, "session");
    require(offsets, "offsets");
    if (capacity > 0) require(columns, "columns");
    list_children(*session, slots, count, lse_given, {capacity, offsets, columns, stream});
  });
}

sidbeam_status sidbeam_session_get_beams(const sidbeam_session* session, sidbeam_beams* out, sidbeam_error* err) {
  return guarded(err, [&] {
    require(session, "session");
    check_output(out, "out");
    write_struct(session->backend->beams(), out);
  });
}

sidbeam_status sidbeam_session_fetch(sidbeam_session* session, sidbeam_beams* out, void* stream, sidbeam_error* err) {
  return guarded(err, [&] {
    require(session, "session");
    check_output(out, "out");
    write_struct(session->backend->fetch(stream), out);
  });
}

sidbeam_status sidbeam_session_get_items(const sidbeam_session* session, const int32_t* slots, int64_t count,
                                         sidbeam_items* out, sidbeam_error* err) {
  return guarded(err, [&] {
    require(session, "session");
    get_items(*session, slots, count, read_struct(out, "out"));
  });
}

sidbeam_status sidbeam_session_stop(sidbeam_session* session, const int32_t* slots, int64_t count, void* stream,
                                    sidbeam_error* err) {
  return guarded(err, [&] {
    require(session, "session");
    stop_slots(*session, slots, count, stream);
  });
}

sidbeam_status sidbeam_session_get_stats(const sidbeam_session* session, sidbeam_stats* out, sidbeam_error* err) {
  return guarded(err, [&] {
    require(session, "session");
    check_output(out, "out");
    write_struct(stats_of(*session), out);
  });
}

sidbeam_status sidbeam_session_get_counters(const sidbeam_session* session, int64_t capacity, const char** names,
                                            int64_t* values, int64_t* count, sidbeam_error* err) {
  return guarded(err, [&] {
    require(session, "session");
    require(count, "count");
    if (capacity < 0)
      fail(SIDBEAM_INVALID_ARGUMENT, "capacity is %lld, expected at least 0", static_cast<long long>(capacity));
    if (capacity > 0) require(values, "values");
    *count = get_counters(*session, capacity, names, values);
  });
}

void sidbeam_session_destroy(sidbeam_session* session) { delete session; }

}  // extern "C"
