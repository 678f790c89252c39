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
  uint32_t crc;            // CRC-32 of these bytes, by the directory
};

bool is_zip(const InputFile& file);
// Throws a Failure where the file is damaged or a member is compressed.
std::vector<ZipMember> zip_members(const InputFile& file);
// Reads the member and throws a Failure where its CRC-32 is another. `poll` is called now and then, and throws to give
// up.
void check_crc(const InputFile& file, const ZipMember& member, const InputFile::Poll& poll);

}  // namespace importer

#endif
