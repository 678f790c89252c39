// Files that are read, with Ctrl-C while a pipe keeps the command waiting.
// SPDX-License-Identifier: Apache-2.0
#ifndef SIDBEAM_CLI_FILES_H
#define SIDBEAM_CLI_FILES_H

#include <string>

#include "../import/files.h"
#include "interrupt.h"

namespace cli {

using importer::TextReader;

struct InputFile : importer::InputFile {
  explicit InputFile(const std::string& path) : importer::InputFile(path, throw_if_interrupted) {}
};

bool same_file(const std::string& a, const std::string& b);

}  // namespace cli

#endif
