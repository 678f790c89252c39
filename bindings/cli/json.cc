// SPDX-License-Identifier: Apache-2.0
#include "json.h"

namespace cli {

std::string dump(const Json& document) { return document.dump(-1, ' ', false, Json::error_handler_t::replace); }

void print_json(const Json& document) { print(dump(document) + '\n'); }

}  // namespace cli
