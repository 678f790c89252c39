// SPDX-License-Identifier: Apache-2.0
#include "index/arrow/stream.h"

#include <cerrno>
#include <cstring>

#include "support/error.h"
#include "support/escape.h"

namespace sidbeam::arrow {

Stream::Stream(ArrowArrayStream* given) noexcept {
  if (given == nullptr) return;
  stream_.value = *given;
  given->release = nullptr;
}

void Stream::check(int error, const char* call) {
  if (error == 0) return;
  const char* said = stream_.value.get_last_error == nullptr ? nullptr : stream_.value.get_last_error(&stream_.value);
  char line[300];
  escape_into(said == nullptr ? "" : said, line, sizeof line);
  const char* const name = strerrordesc_np(error);
  fail(error == ENOMEM ? SIDBEAM_OUT_OF_MEMORY : SIDBEAM_IO_ERROR, "the stream's %s failed with %d (%s)%s%s", call,
       error, name == nullptr ? "unknown" : name, *line == '\0' ? "" : ": ", line);
}

void Stream::read_schema(Owned<ArrowSchema>& schema) {
  if (stream_.value.release == nullptr)
    fail(SIDBEAM_INVALID_ARGUMENT, "stream is NULL or has been released, expected an ArrowArrayStream");
  if (stream_.value.get_schema == nullptr || stream_.value.get_next == nullptr)
    fail(SIDBEAM_INVALID_ARGUMENT, "stream.%s is NULL, expected a function",
         stream_.value.get_schema == nullptr ? "get_schema" : "get_next");
  const int error = stream_.value.get_schema(&stream_.value, &schema.value);
  if (error != 0) schema.value.release = nullptr;  // it is not to be looked at
  check(error, "get_schema");
  if (schema.value.release == nullptr)
    fail(SIDBEAM_INVALID_ARGUMENT, "the stream's schema has been released, expected one");
}

bool Stream::next(Owned<ArrowArray>& batch) {
  batch.release();
  const int error = stream_.value.get_next(&stream_.value, &batch.value);
  if (error != 0) batch.value.release = nullptr;
  check(error, "get_next");
  return batch.value.release != nullptr;
}

}  // namespace sidbeam::arrow
