/* The C ABI with flat arguments: what bindings/sidbeam.i wraps for Python, Java and Go.
 *
 * Struct fields become arguments, arrays come with their length and are checked against what the call needs, handles
 * can be closed while they are used, and there are no callbacks. Everything is static: a binding is one C file that
 * SWIG makes, with these headers inserted in this order (so that the Go package, which ships that file, stands alone;
 * therefore they do not include each other). flat_ is for languages, fl_ is the layer's own; nothing here is public.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SIDBEAM_FLAT_H
#define SIDBEAM_FLAT_H

#include "arrays.h"

#include "words.h"

#include "runner_library.h"

#include "import_library.h"

#include "handle.h"

#include "runtime.h"

#include "builder.h"

#include "arrow.h"

#include "import.h"

#include "index.h"

#include "attributes.h"

#include "plan.h"

#include "filter.h"

#include "catalog.h"

#include "constraint.h"

#include "items.h"

#include "vocabulary.h"

#include "sampling.h"

#include "session.h"

#include "constraint_set.h"

#include "disc.h"

#include "events.h"

#include "model.h"

#include "runner.h"

#include "draft.h"

#include "hidden.h"

#include "speculate.h"

#endif
