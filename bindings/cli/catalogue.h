// From the import options to a builder that holds the catalogue, or to a live one: what build, plan and catalog share.
// SPDX-License-Identifier: Apache-2.0
#ifndef SIDBEAM_CLI_CATALOGUE_H
#define SIDBEAM_CLI_CATALOGUE_H

#include <sidbeam/import.h>

#include <string>
#include <vector>

#include "abi.h"
#include "command_line.h"
#include "interrupt.h"
#include "json.h"
#include "terminal.h"

namespace cli {

// Options of a catalogue file, as in sidbeam_import_config.
struct ImportOptions {
  std::string input, format = "auto", ids, codes, quotes = "auto";
  std::string item_column, sid_columns, priority_column, token_pattern, token_base, attributes;
  int32_t levels = 0;
  bool variable_length = false;
  bool text_ids = false;  // whatever they look like
};

// Options of a build that are not about the input.
struct BuildOptions {
  std::string kinds = "trie", collisions = "keep", memory_limit, codebook;
  std::vector<std::string> metadata;
  int32_t threads = 0;
  uint64_t hash_seed = 0;
  bool allow_attribute_loss = false, keep_priorities = false;
};

void add_import_options(Command command, ImportOptions& options);
// Those of them that say how the file is read, not what is built of it.
void add_file_options(Command command, ImportOptions& options);
void add_build_options(Command command, BuildOptions& options);
// What the index is to hold besides.
void add_kept_options(Command command, BuildOptions& options);

// The codes of every level.
struct Shape {
  std::vector<int32_t> codes;
  bool variable_length = false;

  int32_t levels() const { return static_cast<int32_t>(codes.size()); }
};

// A builder with every row of the catalogue in it, and what was seen of the file.
struct Catalogue {
  Builder builder;
  Shape shape;
  std::string format, summary, begin_tokens, end_tokens;
  std::vector<std::string> families;                            // [levels]
  std::vector<std::pair<std::string, std::string>> attributes;  // names and types
  int64_t rows = 0;
};

// What was seen, for --json.
Json seen_json(const Catalogue& catalogue);

// `progress` must outlive the builder, which reports to it.
Catalogue load_catalogue(const ImportOptions& import, const BuildOptions& build, Progress& progress);

// Adds every row to a live catalogue, for its next publish, and returns how many there are.
int64_t add_to_catalog(const ImportOptions& import, sidbeam_catalog* catalog, Progress& progress);

// Shows a phase of the library's on the Progress that the context is; 1, to cancel, after Ctrl-C.
int32_t show_progress(void* context, int32_t phase, int64_t done, int64_t total);
// Like call, for functions that show_progress may cancel.
template <class... Arguments>
void call_cancellable(Arguments... arguments) {
  try {
    call(arguments...);
  } catch (const LibraryFailure& failure) {
    if (failure.status == SIDBEAM_CANCELLED) throw_cancelled();
    throw;
  }
}

// The library's configuration of a build; `shape` must outlive it.
sidbeam_builder_config builder_config(const Shape& shape, const BuildOptions& build);

}  // namespace cli

#endif
