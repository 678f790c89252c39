// What Python, Java and Go see of the C ABI: the flat functions of flat/, and the constants of the public headers. Each
// language adds its typemaps for the few types there are (arrays by value, handles, the error) and, over what comes
// out, a thin layer written by hand; no name of this file reaches a user. SPDX-License-Identifier: Apache-2.0
#if defined(SWIGJAVA)
%module Native
#else
%module native
#endif

%insert("header") "flat/arrays.h"
%insert("header") "flat/words.h"
%insert("header") "flat/runner_library.h"
%insert("header") "flat/import_library.h"
%insert("header") "flat/handle.h"
%insert("header") "flat/runtime.h"
%insert("header") "flat/builder.h"
%insert("header") "flat/arrow.h"
%insert("header") "flat/import.h"
%insert("header") "flat/index.h"
%insert("header") "flat/attributes.h"
%insert("header") "flat/plan.h"
%insert("header") "flat/filter.h"
%insert("header") "flat/catalog.h"
%insert("header") "flat/constraint.h"
%insert("header") "flat/items.h"
%insert("header") "flat/vocabulary.h"
%insert("header") "flat/sampling.h"
%insert("header") "flat/session.h"
%insert("header") "flat/constraint_set.h"
%insert("header") "flat/disc.h"
%insert("header") "flat/events.h"
%insert("header") "flat/model.h"
%insert("header") "flat/runner.h"
%insert("header") "flat/draft.h"
%insert("header") "flat/hidden.h"
%insert("header") "flat/speculate.h"

// SWIG does not know the widths: int32_t and int64_t are the same types in all three languages.
%include <stdint.i>

#if defined(SWIGPYTHON)
%include "python/typemaps.i"
#elif defined(SWIGJAVA)
%include "java/typemaps.i"
#elif defined(SWIGGO)
%include "go/typemaps.i"
#endif

// Of the public headers: constants and what takes no handle.
%rename($ignore, %$isfunction, regexmatch$name="^sidbeam_(?!version|abi_version|status_name|cpu_target)") "";
%rename($ignore, %$isclass, regexmatch$name="^sidbeam_") "";
%ignore sidbeam_api;
%include "sidbeam/base.h"
// SIDBEAM_BROADCAST, whose INT64_MIN SWIG does not know.
#if defined(SWIGJAVA)
%javaconstvalue("Long.MIN_VALUE") FLAT_BROADCAST;
#endif
%constant int64_t FLAT_BROADCAST = INT64_MIN;
%include "sidbeam/runtime.h"
%include "sidbeam/builder.h"
%include "sidbeam/import.h"
%include "sidbeam/index.h"
%include "sidbeam/filter.h"
%include "sidbeam/catalog.h"
%include "sidbeam/rows.h"
%include "sidbeam/sampling.h"
%include "sidbeam/session.h"
%include "sidbeam/runner.h"
%include "sidbeam/draft.h"
%include "sidbeam/hidden.h"
%include "sidbeam/speculate.h"

// Of the flat layer: flat_ is for languages, fl_ its own; the types have typemaps.
%rename($ignore, regexmatch$name="^fl_") "";
%rename($ignore, %$isclass, regexmatch$name="^flat_") "";
%include "flat/arrays.h"
%include "flat/words.h"
%include "flat/runner_library.h"
%include "flat/import_library.h"
%include "flat/handle.h"
%include "flat/runtime.h"
%include "flat/builder.h"
%include "flat/arrow.h"
%include "flat/import.h"
%include "flat/index.h"
%include "flat/attributes.h"
%include "flat/plan.h"
%include "flat/filter.h"
%include "flat/catalog.h"
%include "flat/constraint.h"
%include "flat/items.h"
%include "flat/vocabulary.h"
%include "flat/sampling.h"
%include "flat/session.h"
%include "flat/constraint_set.h"
%include "flat/disc.h"
%include "flat/events.h"
%include "flat/model.h"
%include "flat/runner.h"
%include "flat/draft.h"
%include "flat/hidden.h"
%include "flat/speculate.h"
