// From the import options to a builder that holds the catalogue: what build and plan share.
// SPDX-License-Identifier: Apache-2.0
#ifndef SIDBEAM_CLI_IMPORT_CATALOGUE_H
#define SIDBEAM_CLI_IMPORT_CATALOGUE_H

#include "../abi.h"
#include "../command_line.h"
#include "../terminal.h"
#include "source.h"

namespace cli {

// Options of a build that are not about the input.
struct BuildOptions {
  std::string kinds = "trie", collisions = "keep", memory_limit, codebook;
  std::vector<std::string> metadata;
  int32_t threads = 0;
  uint64_t hash_seed = 0;
  bool allow_attribute_loss = false;
};

void add_import_options(Command command, ImportOptions& options);
void add_build_options(Command command, BuildOptions& options);

// A builder with every row of the catalogue in it.
struct Catalogue {
  Builder builder;
  Shape shape;
  std::string format;
  int64_t rows = 0;
};

// `progress` must outlive the builder, which reports to it.
Catalogue load_catalogue(const ImportOptions& import, const BuildOptions& build, Progress& progress);

// The library's configuration of a build; `shape` must outlive it.
sidbeam_builder_config builder_config(const Shape& shape, const BuildOptions& build);

}  // namespace cli

#endif
