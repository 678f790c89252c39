// Members of a zip file that are stored as they are, as numpy.savez writes them.
// SPDX-License-Identifier: Apache-2.0
#ifndef SIDBEAM_IMPORT_ZIP_H
#define SIDBEAM_IMPORT_ZIP_H

#include <cstdint>
#include <string>
#include <vector>

#include "files.h"

namespace importer {

struct ZipMember {
  std::string name;
  int64_t data_at, bytes;  // in the file
};

bool is_zip(const InputFile& file);
// Throws a Failure where the file is damaged or a member is compressed.
std::vector<ZipMember> zip_members(const InputFile& file);

}  // namespace importer

#endif
