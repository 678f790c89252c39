// The command line of sidbeam draft.
// SPDX-License-Identifier: Apache-2.0
#include "draft_options.h"

#include <sidbeam/sidbeam.h>

#include <memory>

#include "commands.h"
#include "failure.h"
#include "search_input.h"

namespace cli {

void add_draft(Command program) {
  const auto o = std::make_shared<DraftOptions>();
  const Command command =
      program.add_subcommand("draft", "Beam search by a draft head over hidden states of one prefill (NEZHA)");
  command.add_option("head", o->head, "file of a draft head").required().type_name("HEAD");
  add_index(command, o->index);
  command
      .add_option("--hidden", o->hidden,
                  ".npy [L+1, D] or [B, L+1, D] of '<f4' or '<f2': the prompt's hidden state, then the placeholders'")
      .required()
      .type_name("FILE");
  command.add_option("--beams", o->beams, "M, beams of a request").required().between(1, SIDBEAM_MAX_BEAMS);
  add_widths(command, o->widths);
  add_distinct(command, o->distinct);
  command
      .add_option("--verify", o->verify,
                  "trie: exactly, at every level; hash: at the last level, so that fewer than M may come; none: not")
      .one_of(kVerifications)
      .capture_default_str();
  command
      .add_option("--normalize", o->normalize,
                  "log-softmax over the level's codes or, with --verify trie, the valid codes")
      .one_of({"full", "valid"})
      .capture_default_str();
  command.add_option("--top-k", o->top_k, "codes per beam that --verify hash looks up; default: M")
      .between(1, SIDBEAM_MAX_CODES);
  add_json(command, o->json);
  command.footer(
      "A request whose logits have NaN or +inf is 'error bad_row'; other requests go on.\n"
      "Example:\n"
      "  sidbeam draft office.sdraft office.sidx --hidden hidden.npy --beams 10 --json");
  command.callback([o] {
    if (o->normalize == "valid" && o->verify != "trie") {
      throw UsageError("--normalize: valid does not go with --verify " + o->verify + ", expected full");
    }
    if (o->top_k > 0 && o->verify != "hash") throw UsageError("--top-k: goes with --verify hash, not " + o->verify);
    run_draft(*o);
  });
}

}  // namespace cli
