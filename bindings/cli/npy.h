// NumPy's .npy files, as the importers read them.
// SPDX-License-Identifier: Apache-2.0
#ifndef SIDBEAM_CLI_NPY_H
#define SIDBEAM_CLI_NPY_H

#include "../import/npy.h"
#include "files.h"

namespace cli {

using importer::npy_header;
using importer::NpyArray;
using importer::read_npy;
using importer::text_of;

}  // namespace cli

#endif
