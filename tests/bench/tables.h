// The tables that bench_step can make. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "context.h"

namespace bench {

struct Table {
  const char* name;
  const char* about;
  void (*run)(Context& context);
};
std::span<const Table> all_tables();

void static_table(Context& context);
void vocabulary_table(Context& context);
void skew_table(Context& context);
void wide_table(Context& context);
void text_table(Context& context);
void nvidia442_table(Context& context);
void flashrec_table(Context& context);
void branching_table(Context& context);
void lse_table(Context& context);
void dtype_table(Context& context);
void threads_table(Context& context);
void xbeam_table(Context& context);
void rules_table(Context& context);
void live_table(Context& context);
void after_table(Context& context);
void floors_table(Context& context);
void draws_table(Context& context);
void disc_table(Context& context);
void quality_table(Context& context);
void bias_table(Context& context);
void titles_table(Context& context);

}  // namespace bench
