// SPDX-License-Identifier: Apache-2.0
#include "sidbeam/builder.h"

#include <memory>

#include "capi/guard.h"
#include "capi/log.h"
#include "capi/section.h"
#include "decode/objects.h"
#include "index/build/arrow.h"
#include "index/build/builder.h"

using namespace sidbeam;
using namespace sidbeam::capi;

struct sidbeam_plan {
  Plan plan;
};

struct sidbeam_builder {
  Ref<sidbeam_runtime> runtime;
  Builder builder;
};

namespace {

sidbeam_arrow_config arrow_config(const sidbeam_arrow_config* given) {
  const sidbeam_arrow_config defaults = SIDBEAM_ARROW_CONFIG_INIT;
  return read_struct(given != nullptr ? given : &defaults, "config");
}

}  // namespace

extern "C" {

sidbeam_status sidbeam_builder_create(sidbeam_runtime* runtime, const sidbeam_builder_config* config,
                                      sidbeam_builder** out, sidbeam_error* err) {
  return guarded(err, [&] {
    require(runtime, "runtime");
    require(out, "out");
    const sidbeam_builder_config copy = read_struct(config, "config");
    *out = new sidbeam_builder{Ref<sidbeam_runtime>::share(runtime),
                               Builder(copy, runtime->threads, runtime->allocator, runtime->target)};
  });
}

sidbeam_status sidbeam_builder_add(sidbeam_builder* builder, const int32_t* codes, const int32_t* lengths,
                                   int64_t count, const int64_t* ids, const int64_t* priorities, sidbeam_error* err) {
  return guarded(err, [&] {
    require(builder, "builder");
    builder->builder.add(codes, lengths, count, ids, priorities);
  });
}

sidbeam_status sidbeam_builder_add_named(sidbeam_builder* builder, const int32_t* codes, const int32_t* lengths,
                                         int64_t count, const char* id_bytes, const int64_t* id_offsets,
                                         const int64_t* priorities, sidbeam_error* err) {
  return guarded(err, [&] {
    require(builder, "builder");
    builder->builder.add_named(codes, lengths, count, id_bytes, id_offsets, priorities);
  });
}

sidbeam_status sidbeam_builder_add_arrow(sidbeam_builder* builder, ArrowArrayStream* stream,
                                         const sidbeam_arrow_config* config, int64_t* pairs, sidbeam_error* err) {
  return guarded(err, [&] {
    arrow::Stream taken(stream);
    require(builder, "builder");
    const int64_t added = builder->builder.add_arrow(taken, arrow_config(config));
    if (pairs != nullptr) *pairs = added;
  });
}

sidbeam_status sidbeam_arrow_inspect(ArrowArrayStream* stream, const sidbeam_arrow_config* config, int32_t* codes,
                                     sidbeam_arrow_info* out, sidbeam_error* err) {
  return guarded(err, [&] {
    arrow::Stream taken(stream);
    check_output(out, "out");
    write_struct(inspect_arrow(taken, arrow_config(config), codes), out);
  });
}

sidbeam_status sidbeam_builder_declare_attribute(sidbeam_builder* builder, const char* name, int32_t type,
                                                 sidbeam_error* err) {
  return guarded(err, [&] {
    require(builder, "builder");
    require(name, "name");
    builder->builder.declare_attribute(name, type);
  });
}

sidbeam_status sidbeam_builder_set_attribute(sidbeam_builder* builder, const sidbeam_attribute_column* column,
                                             int64_t count, sidbeam_error* err) {
  return guarded(err, [&] {
    require(builder, "builder");
    builder->builder.set_attribute(read_struct(column, "column"), count);
  });
}

sidbeam_status sidbeam_builder_set_metadata(sidbeam_builder* builder, const char* key, const char* value,
                                            sidbeam_error* err) {
  return guarded(err, [&] {
    require(builder, "builder");
    require(key, "key");
    require(value, "value");
    builder->builder.set_metadata(key, value);
  });
}

sidbeam_status sidbeam_builder_plan(sidbeam_builder* builder, sidbeam_plan** out, sidbeam_error* err) {
  return guarded(err, [&] {
    require(builder, "builder");
    require(out, "out");
    *out = new sidbeam_plan{builder->builder.plan()};
  });
}

sidbeam_status sidbeam_plan_estimate(const sidbeam_builder_config* config, int64_t sids, sidbeam_plan** out,
                                     sidbeam_error* err) {
  return guarded(err, [&] {
    const sidbeam_builder_config copy = read_struct(config, "config");
    require(out, "out");
    *out = new sidbeam_plan{estimate_plan(copy, sids)};
  });
}

sidbeam_status sidbeam_plan_get_info(const sidbeam_plan* plan, sidbeam_plan_info* out, sidbeam_error* err) {
  return guarded(err, [&] {
    require(plan, "plan");
    check_output(out, "out");
    sidbeam_plan_info info = plan->plan.info;
    info.nodes = plan->plan.nodes.data();
    write_struct(info, out);
  });
}

sidbeam_status sidbeam_plan_get_section(const sidbeam_plan* plan, int64_t i, sidbeam_section_info* out,
                                        sidbeam_error* err) {
  return guarded(err, [&] {
    require(plan, "plan");
    check_output(out, "out");
    write_struct(describe_section(plan->plan.sections, i), out);
  });
}

void sidbeam_plan_destroy(sidbeam_plan* plan) { delete plan; }

sidbeam_status sidbeam_builder_write(sidbeam_builder* builder, const char* path, sidbeam_error* err) {
  return guarded(err, [&] {
    require(builder, "builder");
    require(path, "path");
    builder->builder.write(path);
    log(*builder->runtime, SIDBEAM_LOG_INFO, "wrote index '%s'", path);
  });
}

sidbeam_status sidbeam_builder_finish(sidbeam_builder* builder, sidbeam_index** out, sidbeam_error* err) {
  return guarded(err, [&] {
    require(builder, "builder");
    require(out, "out");
    auto handle = std::make_unique<sidbeam_index>();
    handle->runtime = Ref<sidbeam_runtime>::share(builder->runtime.get());
    handle->index = builder->builder.finish();
    handle->verified = SIDBEAM_VERIFY_FULL;
    *out = handle.release();
  });
}

void sidbeam_builder_destroy(sidbeam_builder* builder) { delete builder; }

}  // extern "C"
