// SPDX-License-Identifier: Apache-2.0
#include "run_options.h"

#include <sidbeam/sidbeam.h>

#include <memory>

#include "commands.h"
#include "draft_options.h"
#include "failure.h"
#include "search_input.h"

namespace cli {
namespace {

void check_head(const RunOptions& o) {
  if (o.head.empty()) throw UsageError("--head is empty");
  if (o.placeholders.empty()) throw UsageError("--placeholders: --head needs a token per level");
  check_rules(o.rules, "--verify", o.verify);
  if (o.verify != "trie" && o.normalize == "valid")
    throw UsageError("--normalize: valid does not go with --verify " + o.verify + ", expected full");
  if (o.top_k > 0 && o.verify != "hash") throw UsageError("--top-k: goes with --verify hash, not " + o.verify);
}

}  // namespace

void add_run(Command program) {
  const auto o = std::make_shared<RunOptions>();
  const Command command = program.add_subcommand("run", "Run a model on histories: only items of the index come out");
  command
      .add_option("model", o->model, "folder of a checkpoint: config.json and model.safetensors, or of a LoRA adapter")
      .required()
      .type_name("FOLDER");
  add_index(command, o->index);
  constexpr const char *kQuestions = "exactly one of", *kSpeculation = "speculation", *kHead = "draft head";
  const Option tokens = command.add_option("--tokens", o->tokens, "5,9,3: token ids").under(kQuestions);
  const Option history =
      command.add_option("--history", o->history, "ITEM,ITEM: ids of items, oldest first; their SIDs are the prompt")
          .under(kQuestions);
  const Option input =
      command.add_option("--input", o->input, R"(JSON lines, {"tokens": [...]} or {"history": [...]} each)")
          .type_name("FILE")
          .under(kQuestions);
  command.add_option("--beams", o->beams, "M, beams of a request").required().between(1, SIDBEAM_MAX_BEAMS);
  add_widths(command, o->widths);
  add_distinct(command, o->distinct);
  add_cap(command, o->cap);
  add_vocabulary_options(command, o->vocabulary);
  command.add_option("--group", o->group, "tokens per position, whose embeddings are summed; a SID then is a position")
      .between(1, SIDBEAM_MAX_LEVELS)
      .capture_default_str();
  command.add_option("--start-tokens", o->start_tokens, "t0,t1,..: before every history; -1 fills a position up")
      .type_name("LIST")
      .excludes(tokens);
  command.add_option("--begin-tokens", o->begin_tokens, "t0,t1,..: after every prompt; of a T5 the decoder's first")
      .type_name("LIST");
  command.add_option("--normalize", o->normalize, "log-softmax over all tokens, the level's codes or the valid codes")
      .one_of({"full", "level", "valid"})
      .capture_default_str();
  command.add_option("--weights", o->weights, "how they are held; int8 is approximate")
      .one_of(kWeights)
      .capture_default_str();
  command.add_option("--base", o->base, "folder of the model that an adapter changes; default: found beside it")
      .type_name("FOLDER");
  const Option draft = command.add_option("--draft", o->draft, "folder of a smaller model that writes levels ahead")
                           .type_name("FOLDER")
                           .under(kSpeculation);
  const Option draft_base =
      command.add_option("--draft-base", o->draft_base, "as --base, of a draft that is an adapter")
          .type_name("FOLDER")
          .needs(draft)
          .under(kSpeculation);
  command.add_option("--speculate", o->speculate, "strict: the items and scores of the model alone; relaxed: draws")
      .one_of({"strict", "relaxed"})
      .capture_default_str()
      .needs(draft)
      .under(kSpeculation);
  command.add_option("--draft-beams", o->draft_beams, "N, beams of its search, M or more; default: M")
      .between(1, SIDBEAM_MAX_BEAMS)
      .needs(draft)
      .under(kSpeculation);
  const Option seed = command.add_option("--seed", o->seed, "of relaxed draws, which it makes repeatable; default: 0")
                          .needs(draft)
                          .under(kSpeculation);
  const Option head =
      command.add_option("--head", o->head, "draft head of the model: one pass, and no decoding (NEZHA)")
          .type_name("FILE")
          .excludes(draft)
          .under(kHead);
  command.add_option("--placeholders", o->placeholders, "p1,..,pL: its tokens, behind the begin tokens")
      .type_name("LIST")
      .needs(head)
      .under(kHead);
  command
      .add_option("--verify", o->verify,
                  "trie: exactly, at every level; hash: at the last, so that fewer may come; none")
      .one_of(kVerifications)
      .capture_default_str()
      .needs(head)
      .under(kHead);
  command.add_option("--top-k", o->top_k, "codes per beam that --verify hash looks up; default: M")
      .between(1, SIDBEAM_MAX_CODES)
      .needs(head)
      .under(kHead);
  add_rule_options(command, o->rules);
  command.add_option("--threads", o->threads, "that requests run on, side by side; default: one per core")
      .between(1, 1024);
  add_json(command, o->json);
  command.footer(
      (kRulesHelp +
       "Relaxed beams are draws from the model's distribution, M of them with replacement: an item may come "
       "repeatedly.\n"
       "With more than M of --draft-beams they are different, and the law is only approximately the model's.\n"
       "Of an item with several SIDs the first is used. A request whose logits have NaN or +inf is 'error bad_row'.\n"
       "Example:\n"
       "  sidbeam run model office.sidx --history 17,301,8 --beams 10 --offsets 3,259,515")
          .c_str());
  command.callback([o, tokens, history, input, draft, draft_base, seed, head] {
    const int given = int{tokens.given()} + int{history.given()} + int{input.given()};
    if (given != 1) {
      throw UsageError("expected exactly one of --tokens, --history and --input, " + std::to_string(given) +
                       " were given");
    }
    if (o->tokens.empty() && o->history.empty() && o->input.empty()) {
      throw UsageError(std::string(tokens.given()    ? "--tokens"
                                   : history.given() ? "--history"
                                                     : "--input") +
                       " is empty");
    }
    if (draft.given() && o->draft.empty()) throw UsageError("--draft is empty");
    if (draft_base.given() && o->draft_base.empty()) throw UsageError("--draft-base is empty");
    if (seed.given() && o->speculate != "relaxed")
      throw UsageError("--seed: --speculate is " + o->speculate + ", expected relaxed: a search draws nothing");
    if (o->draft_beams > 0 && o->draft_beams < o->beams) {
      throw UsageError("--draft-beams: " + std::to_string(o->draft_beams) + ", expected at least " +
                       std::to_string(o->beams) + ", --beams");
    }
    if (!o->widths.empty() && o->speculate == "relaxed")
      throw UsageError("--widths: does not go with --speculate relaxed, which draws as many beams at every level");
    if (head.given()) check_head(*o);
    run_model(*o);
  });
}

}  // namespace cli
