// Files of JSON lines, and the ids of items in them: what run and the lists of --exclude and --allow are read from.
// SPDX-License-Identifier: Apache-2.0
#ifndef SIDBEAM_CLI_JSON_LINES_H
#define SIDBEAM_CLI_JSON_LINES_H

#include <simdjson.h>

#include <functional>
#include <string>

namespace cli {

// Takes the lines that are not blank, each with its place, "'requests.jsonl':7", in the way errors name it.
void each_json_line(const std::string& path,
                    const std::function<void(const std::string& place, simdjson::dom::element line)>& take);
// The id of an item, as text.
std::string json_item(const std::string& place, simdjson::dom::element value);

}  // namespace cli

#endif
