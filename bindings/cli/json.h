// JSON out: one document on standard output.
// SPDX-License-Identifier: Apache-2.0
#ifndef SIDBEAM_CLI_JSON_H
#define SIDBEAM_CLI_JSON_H

#include <nlohmann/json.hpp>
#include <string>

#include "terminal.h"

namespace cli {

using Json = nlohmann::ordered_json;

// Ids and metadata are arbitrary bytes of the caller; bytes that are not UTF-8 become U+FFFD instead of a failure.
std::string dump(const Json& document);

void print_json(const Json& document);

}  // namespace cli

#endif
