// Handlers of XLA's typed FFI over the stateless forms, for sidbeam/jax.py, which compiles this file.
// SPDX-License-Identifier: Apache-2.0
//
// A state is two int32, the halves of its word: JAX has no int64 unless told to. An empty `which` means none.
#include <sidbeam/states.h>

#include <cstdint>
#include <initializer_list>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <utility>

#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

namespace {

// Compiled programs know constraint sets by number, and may outlive them.
std::shared_mutex mutex;
std::unordered_map<int64_t, sidbeam_constraint_set*> sets;

ffi::Error invalid(std::string message) { return ffi::Error::InvalidArgument("sidbeam: " + std::move(message)); }

template <class T>
T* data(ffi::AnyBuffer buffer) {
  return static_cast<T*>(buffer.untyped_data());
}

const int32_t* which_of(ffi::AnyBuffer which) {
  return which.element_count() == 0 ? nullptr : data<const int32_t>(which);
}

ffi::Error expect(ffi::AnyBuffer buffer, const char* name, ffi::DataType type, int64_t elements) {
  if (buffer.element_type() != type) return invalid(std::string(name) + " has another dtype than expected");
  if (static_cast<int64_t>(buffer.element_count()) == elements) return ffi::Error::Success();
  return invalid(std::string(name) + " has " + std::to_string(buffer.element_count()) + " elements, expected " +
                 std::to_string(elements));
}

// The first error of those given.
ffi::Error all(std::initializer_list<ffi::Error> errors) {
  for (const ffi::Error& error : errors) {
    if (error.failure()) return error;
  }
  return ffi::Error::Success();
}

ffi::Error expect_which(ffi::AnyBuffer which, int64_t rows) {
  return expect(which, "which", ffi::S32, which.element_count() == 0 ? 0 : rows);
}

// Logits [..., columns] as rows side by side.
ffi::Error read_rows(ffi::AnyBuffer logits, int32_t device, int32_t device_id, sidbeam_rows* rows) {
  const auto dimensions = logits.dimensions();
  if (dimensions.size() == 0) return invalid("logits have no dimension, expected [..., columns]");
  const int64_t columns = dimensions.back();
  const int64_t count = columns == 0 ? 0 : static_cast<int64_t>(logits.element_count()) / columns;
  const ffi::DataType type = logits.element_type();
  if (type != ffi::F32 && type != ffi::F16 && type != ffi::BF16)
    return invalid("logits have another dtype than float32, float16 or bfloat16");
  *rows = sidbeam_rows_dense(logits.untyped_data(),
                             type == ffi::F32   ? SIDBEAM_DTYPE_F32
                             : type == ffi::F16 ? SIDBEAM_DTYPE_F16
                                                : SIDBEAM_DTYPE_BF16,
                             0, count, columns);
  rows->device_type = device;
  rows->device_id = device_id;
  return ffi::Error::Success();
}

// Calls with the set of a number; the set stays open until the call returns.
template <class Call>
ffi::Error with_set(int64_t number, Call call) {
  const std::shared_lock lock(mutex);
  const auto found = sets.find(number);
  if (found == sets.end()) return invalid("constraint set " + std::to_string(number) + " is closed");
  sidbeam_error err = SIDBEAM_ERROR_INIT;
  if (call(found->second, &err) == SIDBEAM_OK) return ffi::Error::Success();
  return invalid(err.message);
}

struct Place {
  int32_t device_type, device_id;
  void* stream;
};

ffi::Error mask(Place place, int64_t set, ffi::AnyBuffer logits, ffi::AnyBuffer states, ffi::AnyBuffer which,
                ffi::Result<ffi::AnyBuffer> out) {
  sidbeam_rows rows;
  if (ffi::Error error = read_rows(logits, place.device_type, place.device_id, &rows); error.failure()) return error;
  if (ffi::Error error = all({expect(states, "states", ffi::S32, 2 * rows.rows), expect_which(which, rows.rows)});
      error.failure())
    return error;
  if (out->untyped_data() != logits.untyped_data())
    return invalid("mask: the result is not in the place of the logits");
  return with_set(set, [&](const sidbeam_constraint_set* s, sidbeam_error* err) {
    return sidbeam_constraint_set_mask(s, which_of(which), data<const sidbeam_state>(states), &rows,
                                       out->untyped_data(), place.stream, err);
  });
}

ffi::Error topk(Place place, int64_t set, int64_t normalization, ffi::AnyBuffer logits, ffi::AnyBuffer states,
                ffi::AnyBuffer which, ffi::Result<ffi::AnyBuffer> codes, ffi::Result<ffi::AnyBuffer> log_probs,
                ffi::Result<ffi::AnyBuffer> next) {
  sidbeam_rows rows;
  if (ffi::Error error = read_rows(logits, place.device_type, place.device_id, &rows); error.failure()) return error;
  const int64_t k = codes->dimensions().back(), found = rows.rows * k;
  if (ffi::Error error =
          all({expect(states, "states", ffi::S32, 2 * rows.rows), expect_which(which, rows.rows),
               expect(*codes, "codes", ffi::S32, found), expect(*log_probs, "log_probs", ffi::F32, found),
               expect(*next, "next", ffi::S32, 2 * found)});
      error.failure())
    return error;
  return with_set(set, [&](const sidbeam_constraint_set* s, sidbeam_error* err) {
    return sidbeam_constraint_set_topk(s, which_of(which), data<const sidbeam_state>(states), &rows,
                                       static_cast<int32_t>(normalization), static_cast<int32_t>(k),
                                       data<int32_t>(*codes), data<float>(*log_probs), data<sidbeam_state>(*next),
                                       place.stream, err);
  });
}

ffi::Error advance(Place place, int64_t set, ffi::AnyBuffer states, ffi::AnyBuffer codes, ffi::AnyBuffer which,
                   ffi::Result<ffi::AnyBuffer> out) {
  const int64_t count = static_cast<int64_t>(codes.element_count());
  if (ffi::Error error = all({expect(states, "states", ffi::S32, 2 * count), expect(codes, "codes", ffi::S32, count),
                              expect_which(which, count), expect(*out, "out", ffi::S32, 2 * count)});
      error.failure())
    return error;
  return with_set(set, [&](const sidbeam_constraint_set* s, sidbeam_error* err) {
    return sidbeam_constraint_set_advance(s, which_of(which), data<const sidbeam_state>(states), count, nullptr,
                                          data<const int32_t>(codes), count, data<sidbeam_state>(*out), place.stream,
                                          err);
  });
}

ffi::Error prefixes(Place place, int64_t set, ffi::AnyBuffer codes, ffi::AnyBuffer lengths, ffi::AnyBuffer which,
                    ffi::Result<ffi::AnyBuffer> out) {
  const int64_t count = static_cast<int64_t>(lengths.element_count());
  const int64_t stride = codes.dimensions().size() == 0 ? 0 : codes.dimensions().back();
  if (ffi::Error error =
          all({expect(codes, "codes", ffi::S32, count * stride), expect(lengths, "lengths", ffi::S32, count),
               expect_which(which, count), expect(*out, "out", ffi::S32, 2 * count)});
      error.failure())
    return error;
  return with_set(set, [&](const sidbeam_constraint_set* s, sidbeam_error* err) {
    return sidbeam_constraint_set_prefixes(s, which_of(which), stride == 0 ? nullptr : data<const int32_t>(codes),
                                           stride, data<const int32_t>(lengths), count, data<sidbeam_state>(*out),
                                           place.stream, err);
  });
}

}  // namespace

// Defines the handlers NAME over their function, for the CPU and for CUDA, where calls may be captured in a graph.
// DECODES: the attributes, arguments and results, which a handler gets after its context.
#define SIDBEAM_HANDLERS(NAME, DECODES)                                                                               \
  XLA_FFI_DEFINE_HANDLER_SYMBOL(                                                                                      \
      sidbeam_jax_##NAME##_cpu,                                                                                       \
      [](auto... arguments) {                                                                                         \
        return NAME({SIDBEAM_DEVICE_CPU, 0, nullptr}, arguments...);                                                  \
      },                                                                                                              \
      ffi::Ffi::Bind() DECODES);                                                                                      \
  XLA_FFI_DEFINE_HANDLER_SYMBOL(sidbeam_jax_##NAME##_cuda,                                                            \
                                [](void* stream, int32_t device, auto... arguments) {                                 \
                                  return NAME({SIDBEAM_DEVICE_CUDA, device, stream}, arguments...);                   \
                                },                                                                                    \
                                ffi::Ffi::Bind().Ctx<ffi::PlatformStream<void*>>().Ctx<ffi::DeviceOrdinal>() DECODES, \
                                {ffi::Traits::kCmdBufferCompatible})

#define SIDBEAM_NUMBER(NAME) .Attr<int64_t>(NAME)
#define SIDBEAM_IN .Arg<ffi::AnyBuffer>()
#define SIDBEAM_OUT .Ret<ffi::AnyBuffer>()
// clang-format off
SIDBEAM_HANDLERS(mask, SIDBEAM_NUMBER("set") SIDBEAM_IN SIDBEAM_IN SIDBEAM_IN SIDBEAM_OUT);
SIDBEAM_HANDLERS(topk, SIDBEAM_NUMBER("set") SIDBEAM_NUMBER("normalization") SIDBEAM_IN SIDBEAM_IN SIDBEAM_IN
                       SIDBEAM_OUT SIDBEAM_OUT SIDBEAM_OUT);
SIDBEAM_HANDLERS(advance, SIDBEAM_NUMBER("set") SIDBEAM_IN SIDBEAM_IN SIDBEAM_IN SIDBEAM_OUT);
SIDBEAM_HANDLERS(prefixes, SIDBEAM_NUMBER("set") SIDBEAM_IN SIDBEAM_IN SIDBEAM_IN SIDBEAM_OUT);
// clang-format on

extern "C" {

// Returns once no call is inside the set that the number had.
void sidbeam_jax_put(int64_t number, sidbeam_constraint_set* set) {
  const std::unique_lock lock(mutex);
  sets[number] = set;
}

// Returns once no call is inside.
void sidbeam_jax_drop(int64_t number) {
  const std::unique_lock lock(mutex);
  sets.erase(number);
}
}
