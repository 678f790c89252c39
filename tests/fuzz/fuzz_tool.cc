// The `sidbeam` command over mutated index files, draft heads, catalogues, logits and prompts: every subcommand, in
// this process. The last bytes of an input choose the command line; the rest is the file that it names.
//
// Set SIDBEAM_FUZZ_REACH=1 to fail if by the end of the run some command of the program has not done what it was asked
// for: one that this target knows nothing of. Options that were in no command line, except those drawn at random, are
// printed.
// SPDX-License-Identifier: Apache-2.0
#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "draft_specimens.h"
#include "equal_inputs.h"
#include "files/mutate.h"
#include "specimens.h"
#include "tool/arguments.h"
#include "tool/catalogues.h"
#include "tool/command.h"
#include "tool/live.h"
#include "tool/scratch.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t most);

namespace {

using Bytes = std::vector<uint8_t>;

constexpr const char* kOld = "the old file";

struct Script {
  uint8_t command, options, form;
  uint64_t seed;
};

Script read_script(const uint8_t* at) {
  Script script{at[0], at[1], at[2], 0};
  std::memcpy(&script.seed, at + 8, sizeof script.seed);
  return script;
}

bool is_index(const Bytes& bytes) { return bytes.size() > 8 && std::memcmp(bytes.data(), "SIDBEAM\n", 8) == 0; }

const fuzz::Scratch& scratch() {
  static const fuzz::Scratch folder;
  return folder;
}

// Options and values drawn at random, or the command for another kind of file.
bool is_random(const Script& script) { return script.options % 16 == 15; }
bool is_other(const Script& script) { return script.options % 32 == 14; }

fuzz::Arguments draw_arguments(const Script& script, const std::string& file, const Bytes& input,
                               fuzz::Random& random) {
  static const fuzz::Sound sound;
  const fuzz::Room room{scratch(), sound};
  if (is_random(script)) return fuzz::any_arguments(room, file, random);
  const bool other = is_other(script);
  fuzz::Arguments arguments;
  if (fuzz::is_draft_head(input) && !other)
    arguments = fuzz::on_draft_head(room, file, script.command, random);
  else if (is_index(input) != other)
    arguments = fuzz::on_index(room, file, script.command, random);
  else
    arguments = fuzz::on_catalogue(room, file, script.form, script.command, random);
  if ((script.options & 32) != 0) arguments.emplace_back("--json");
  fuzz::count_options(arguments);
  return arguments;
}

// A command that changes a catalogue, or fails to, leaves one.
void check_live(const std::string& path) {
  FUZZ_CHECK(fuzz::run_command({"catalog", "log", path}).status == 0);
  FUZZ_CHECK(fuzz::run_command({"verify", path, "--full", "--threads", "1"}).status == 0);
}

// An output is whole, and nothing else is left; a failed command has left what was there.
void check_files(const fuzz::Arguments& arguments, const fuzz::Ran& ran, const std::vector<std::string>& before,
                 const Bytes& input, const std::string& file, bool had_old) {
  std::vector<std::string> after = scratch().names();
  const bool output = std::binary_search(after.begin(), after.end(), fuzz::kOutput);
  if (output && !had_old) after.erase(std::find(after.begin(), after.end(), fuzz::kOutput));
  FUZZ_CHECK(after == before);
  FUZZ_CHECK(scratch().read(file) == input);
  if (had_old && ran.status != 0) FUZZ_CHECK(scratch().read(fuzz::kOutput) == Bytes(kOld, kOld + std::strlen(kOld)));
  if (!had_old && ran.status != 0) FUZZ_CHECK(!output);
  if (std::binary_search(after.begin(), after.end(), fuzz::kLive)) check_live(scratch().path(fuzz::kLive));
  if (ran.status != 0) return;
  const std::string path = scratch().path(fuzz::kOutput);
  if (arguments[0] == "catalog" && arguments[1] == "create") check_live(path);
  if (arguments[0] == "build") FUZZ_CHECK(fuzz::run_command({"verify", path, "--full", "--threads", "1"}).status == 0);
  if (arguments[0] == "synth") FUZZ_CHECK(fuzz::run_command({"plan", "--input", path, "--threads", "1"}).status == 0);
}

// A run that asks for much must not fill the machine.
void limit_files() {
  constexpr rlim_t kMostBytesOfFile = rlim_t{32} << 20;
  const rlimit limit{kMostBytesOfFile, kMostBytesOfFile};
  FUZZ_CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
}

void prepare(const Script& script) {
  scratch().clear();
  if ((script.options & 64) != 0) scratch().write(fuzz::kOutput, Bytes(kOld, kOld + std::strlen(kOld)));
}

void mutate_draft_head(Bytes& file, size_t most, fuzz::Random& random) {
  const size_t size = file.size();
  file.resize(std::max(size, most));
  file.resize(LLVMFuzzerMutate(file.data(), size, most));
  if (!random.one_in(16)) fuzz::repair_draft_head(file.data(), file.size());
}

}  // namespace

// Most of a run is the command's parsing of its options, and most of that is AddressSanitizer's book-keeping.
extern "C" const char* __asan_default_options() { return "malloc_context_size=2:quarantine_size_mb=16"; }

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  fuzz::weigh_inputs_equally(argc, argv);
  limit_files();
  const char* reach = std::getenv("SIDBEAM_FUZZ_REACH");
  if (reach != nullptr && reach[0] == '1') fuzz::require_every_command();
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < fuzz::kScriptBytes) return 0;
  size -= fuzz::kScriptBytes;
  const Script script = read_script(data + size);
  const Bytes input(data, data + size);
  fuzz::Random random{script.seed};
  prepare(script);
  // Names of files are in messages too.
  const std::string file = (script.options & 128) != 0 ? "x\x1b]0;title\x07\nsidbeam: forged" : "input";
  scratch().write(file, input);
  const bool had_old = (script.options & 64) != 0;
  const fuzz::Arguments arguments = draw_arguments(script, file, input, random);
  const std::vector<std::string> before = scratch().names();
  const fuzz::Ran ran = fuzz::run_command(arguments, {input.begin(), input.end()});
  // What is drawn at random may name any file as its output.
  if (!is_random(script)) check_files(arguments, ran, before, input, file, had_old);
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t most, unsigned int seed) {
  fuzz::Random random{seed};
  Bytes whole(data, data + size);
  if (whole.size() < fuzz::kScriptBytes || is_index(whole) || random.one_in(64)) {
    whole = fuzz::mutate_input(data, size, most, random, LLVMFuzzerMutate);
  } else {
    Bytes script(whole.end() - fuzz::kScriptBytes, whole.end());
    whole.resize(whole.size() - fuzz::kScriptBytes);
    for (uint64_t i = random.one_in(3) ? 1 + random.below(3) : 0; i > 0; --i)
      random.pick(script) = static_cast<uint8_t>(random.next());
    if (fuzz::is_draft_head(whole))
      mutate_draft_head(whole, most - fuzz::kScriptBytes, random);
    else
      fuzz::mutate_catalogue(whole, most - fuzz::kScriptBytes, random, LLVMFuzzerMutate);
    whole.insert(whole.end(), script.begin(), script.end());
  }
  std::copy(whole.begin(), whole.end(), data);
  return whole.size();
}
