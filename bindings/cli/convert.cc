// sidbeam convert: the arrays of STATIC (Su et al. 2026, github.com/youtube/static-constraint-decoding), for engines
// that read them. With V the largest number of codes of a level and d = --dense-levels:
//   start_mask          bool  [V]        codes that a SID may begin with
//   dense_mask          bool  [V] * d    prefixes of d codes
//   dense_states        int32 [V] * d    their states
//   packed_csr          int32 [E + V, 2] [code, next state] of every edge from a prefix of 1 .. L-1 codes, by state,
//                                        then V rows [V, 0], so that reading past the end stays inside
//   csr_indptr          int32 [S + 2]    first edge of each state; the last entry covers the V rows
//   layer_max_branches  int32 [L]        most children of a prefix of l codes
// State 0 is the end, 1 + t the prefix (t) whether or not it exists, then prefixes of 2 .. L-1 codes in order, one
// length after the other. The state after the last code is 0.
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <support/error.h>
#include <support/file_descriptor.h>
#include <support/output_file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>

#include "abi.h"
#include "commands.h"
#include "interrupt.h"
#include "json.h"
#include "npy.h"

namespace cli {
namespace {

struct Options {
  std::string index, directory;
  int32_t dense_levels = 2;
  bool allow_attribute_loss = false, json = false;
};

// STATIC's own numbering of the nodes of an index.
struct Numbering {
  int64_t levels, codes, states, edges;
  std::vector<int64_t> first_state;  // [l] of prefixes of l codes, 1 <= l < L
  std::vector<int64_t> first_edge;   // [l] of edges that leave prefixes of l codes, 1 <= l < L
};

Numbering number_nodes(const SoundIndex& index) {
  const sidbeam_index_info& info = index.info();
  Numbering n{info.levels, *std::max_element(info.codes, info.codes + info.levels), 0, 0, {0, 1}, {0}};
  n.states = n.codes + 1;
  for (int64_t l = 1; l < n.levels; ++l) {
    n.first_edge.push_back(n.edges);
    n.edges += info.nodes[l];
    if (l + 1 == n.levels) break;
    n.first_state.push_back(n.states);
    n.states += info.nodes[l];
  }
  return n;
}

void check(const Options& o, const SoundIndex& index, const Numbering& n) {
  const std::string place = "'" + o.index + "': ";
  const sidbeam_index_info& info = index.info();
  if (info.variable_length != 0) throw Failure(place + "SIDs of different lengths, which STATIC has no form for");
  if (o.dense_levels >= info.levels) {
    throw Failure("--dense-levels: " + std::to_string(o.dense_levels) + ", expected less than the " +
                  std::to_string(info.levels) + " levels of the index");
  }
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  if (n.edges + n.codes > kMost || n.states > kMost) {
    throw Failure(place + with_commas(n.edges) + " edges and " + with_commas(n.states) +
                  " states, expected fewer than 2^31, as STATIC's int32 can number");
  }
}

using Shapes = std::vector<std::pair<std::string, std::string>>;  // of files by their names

// One .npy file: its elements are zero, and take no memory, until they are set. The index's counts give its size; its
// SIDs give what is set. These agree in a SoundIndex.
template <class T>
class Array {
 public:
  Array(const Options& o, const char* name, const char* dtype, const std::vector<int64_t>& shape)
      : index_(o.index),
        name_(name),
        file_((o.directory + "/" + name + ".npy").c_str(), o.allow_attribute_loss),
        header_(npy_header(dtype, shape)),
        shape_(text_of(shape)) {
    for (const int64_t extent : shape) elements_ *= extent;
    file_.reserve(static_cast<int64_t>(header_.size()) + elements_ * int64_t{sizeof(T)});
    data_.reset(static_cast<T*>(std::calloc(static_cast<size_t>(elements_), sizeof(T))));
    if (data_ == nullptr) throw std::bad_alloc();
  }

  T& operator[](int64_t i) {
    if (i < 0 || i >= elements_) {
      throw Failure("'" + index_ + "': its SIDs need element " + std::to_string(i) + " of " + name_ +
                    ", its counts give " + std::to_string(elements_));
    }
    return data_[static_cast<size_t>(i)];
  }
  // Writes the file. Nothing can be set afterwards.
  void write() {
    file_.write(header_.data(), static_cast<int64_t>(header_.size()));
    file_.write(data_.get(), elements_ * int64_t{sizeof(T)});
    data_.reset();
    file_.sync();
  }
  void commit() { file_.commit(); }
  std::pair<std::string, std::string> shape() const { return {name_, shape_}; }
  // Adds the name of a file that is new in the place of an old one, and removes a file that replaced none.
  void withdraw(std::string& replaced) {
    if (file_.withdraw()) replaced += (replaced.empty() ? "" : ", ") + (name_ + std::string(".npy"));
  }

 private:
  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };

  const std::string& index_;
  const char* name_;
  sidbeam::OutputFile file_;
  std::string header_, shape_;
  int64_t elements_ = 1;
  std::unique_ptr<T[], Free> data_;
};

class Converter {
 public:
  Converter(const Options& o, const SoundIndex& index, const Numbering& n)
      : o_(o),
        index_(index),
        n_(n),
        dense_shape_(static_cast<size_t>(o.dense_levels), n.codes),
        start_mask_(o, "start_mask", "|b1", {n.codes}),
        dense_mask_(o, "dense_mask", "|b1", dense_shape_),
        dense_states_(o, "dense_states", "<i4", dense_shape_),
        packed_csr_(o, "packed_csr", "<i4", {n.edges + n.codes, 2}),
        indptr_(o, "csr_indptr", "<i4", {n.states + 2}),
        max_branches_(o, "layer_max_branches", "<i4", {n.levels}) {}

  // One pass over the SIDs in order: every new prefix is the next of its length.
  void fill() {
    Progress progress;
    const size_t levels = static_cast<size_t>(n_.levels);
    std::vector<int32_t> before(levels, -1), sid(levels);
    made_.assign(levels, -1);
    for (int64_t ordinal = 0; ordinal < index_.info().sids; ++ordinal) {
      int32_t length = 0;
      call(sidbeam_index_sid, index_.get(), ordinal, sid.data(), &length);
      if (length != n_.levels) {
        throw Failure("'" + o_.index + "': SID " + std::to_string(ordinal) + " has " + std::to_string(length) +
                      " codes, expected " + std::to_string(n_.levels));
      }
      const auto differs = std::mismatch(sid.begin(), sid.end(), before.begin()).first;
      for (auto l = differs - sid.begin(); l < n_.levels; ++l) add_node(l, sid);
      std::swap(sid, before);
      if (ordinal % 65536 == 0) {
        throw_if_interrupted();
        progress.show("converting", ordinal, index_.info().sids);
      }
    }
    finish();
  }

  Shapes commit() {
    each([](auto& array) {
      throw_if_interrupted();
      array.write();
    });
    throw_if_interrupted();
    Shapes shapes;
    each([&shapes](const auto& array) { shapes.push_back(array.shape()); });
    try {
      each([](auto& array) { array.commit(); });
    } catch (const sidbeam::Failure& failure) {
      withdraw(failure);
    }
    return shapes;
  }

 private:
  template <class Call>
  void each(const Call& call) {
    call(start_mask_), call(dense_mask_), call(dense_states_), call(packed_csr_), call(indptr_), call(max_branches_);
  }

  // Six files appear one after the other, and old ones are gone once they are replaced.
  [[noreturn]] void withdraw(const sidbeam::Failure& failure) {
    std::string replaced;
    each([&replaced](auto& array) { array.withdraw(replaced); });
    throw Failure(failure.message + (replaced.empty() ? std::string("; new files are removed again")
                                                      : "; new in the place of old ones: " + replaced));
  }

  // The prefix sid[0 .. l]: the edge that leads to it, its own state, and where its edges begin.
  void add_node(int64_t l, const std::vector<int32_t>& sid) {
    const int64_t number = ++made_[static_cast<size_t>(l)], code = sid[static_cast<size_t>(l)];
    const bool last = l + 1 == n_.levels;
    const int64_t state = last ? 0 : l == 0 ? 1 + code : n_.first_state[static_cast<size_t>(l + 1)] + number;
    if (l == 0) start_mask_[code] = 1;
    if (l + 1 == o_.dense_levels) {
      const int64_t cell = l == 0 ? code : sid[0] * n_.codes + code;
      dense_mask_[cell] = 1;
      dense_states_[cell] = static_cast<int32_t>(state);
    }
    if (l > 0) {
      const int64_t edge = n_.first_edge[static_cast<size_t>(l)] + number;
      packed_csr_[2 * edge] = static_cast<int32_t>(code);
      packed_csr_[2 * edge + 1] = static_cast<int32_t>(state);
    }
    if (last) return;
    const int64_t first_child = made_[static_cast<size_t>(l + 1)] + 1;
    begin_states(state, n_.first_edge[static_cast<size_t>(l + 1)] + first_child, l + 1);
  }

  // Row pointers up to `state`: states of a length come in rising order, and those in between, which no SID has, are
  // empty.
  void begin_states(int64_t state, int64_t edge, int64_t length) {
    int64_t& next = next_state_[static_cast<size_t>(length)];
    if (next == 0) next = n_.first_state[static_cast<size_t>(length)];
    while (next <= state) indptr_[next++] = static_cast<int32_t>(edge);
  }

  void finish() {
    const int64_t first_edge_of_2 = n_.levels > 2 ? n_.first_edge[2] : n_.edges;
    begin_states(n_.codes, first_edge_of_2, 1);
    indptr_[n_.states] = static_cast<int32_t>(n_.edges);
    indptr_[n_.states + 1] = static_cast<int32_t>(n_.edges + n_.codes);
    for (int64_t i = 0; i < n_.codes; ++i) packed_csr_[2 * (n_.edges + i)] = static_cast<int32_t>(n_.codes);
    for (int64_t l = 0; l < n_.levels; ++l) max_branches_[l] = index_.info().max_children[l];
  }

  const Options& o_;
  const SoundIndex& index_;
  const Numbering& n_;
  std::vector<int64_t> dense_shape_;
  Array<uint8_t> start_mask_, dense_mask_;
  Array<int32_t> dense_states_, packed_csr_, indptr_, max_branches_;
  std::vector<int64_t> made_;                     // [l] last node of l+1 codes
  int64_t next_state_[SIDBEAM_MAX_LEVELS + 1]{};  // [l] first state of l codes that has no row pointer yet
};

// The output folder, known to outlive a power failure; if it was made here and nothing came into it, it is removed
// again.
struct Folder {
  explicit Folder(const std::string& path) : path_(path), made_(::mkdir(path.c_str(), 0777) == 0) {
    if (!made_ && errno != EEXIST) throw Failure("'" + path + "': cannot create: " + std::strerror(errno));
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    if (made_) ::rmdir(path_.c_str());
  }
  void sync() const {
    if (!made_) return;
    const auto above = sidbeam::open_at(AT_FDCWD, (path_ + "/..").c_str(), O_RDONLY | O_DIRECTORY);
    if (above.get() < 0 && errno == EACCES) return;  // writable but not readable
    if (above.get() < 0) throw Failure("'" + path_ + "': cannot open the folder above: " + std::strerror(errno));
    // EINVAL and the like: the file system does not support syncing folders.
    if (TEMP_FAILURE_RETRY(::fsync(above.get())) == 0 || errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP)
      return;
    throw Failure("'" + path_ + "': cannot sync the folder above: " + std::strerror(errno));
  }

 private:
  const std::string& path_;
  bool made_;
};

void run(const Options& o) {
  const Stopwatch watch;
  const SoundIndex index(o.index);  // damage would be copied, too
  const Numbering numbering = number_nodes(index);
  check(o, index, numbering);
  catch_interrupts(o.directory);
  const Folder folder(o.directory);
  folder.sync();
  Converter converter(o, index, numbering);
  converter.fill();
  const Shapes shapes = converter.commit();
  if (o.json) {
    Json arrays;
    for (const auto& [name, shape] : shapes) arrays.add(name, shape);
    return print_json(Json{{"output_dir", o.directory},
                           {"vocab_size", numbering.codes},
                           {"dense_levels", o.dense_levels},
                           {"states", numbering.states},
                           {"edges", numbering.edges},
                           {"arrays", arrays},
                           {"seconds", watch.seconds()}});
  }
  Table table{2, {{"array", "shape"}}};
  for (const auto& [name, shape] : shapes) table.rows.push_back({o.directory + "/" + name + ".npy", shape});
  print(table.text());
}

}  // namespace

void add_convert(Command program) {
  const auto o = std::make_shared<Options>();
  const Command command =
      program.add_subcommand("convert", "Write an index as STATIC's arrays, in its numbering (.npy files)");
  add_index(command, o->index);
  command
      .add_option("--output-dir", o->directory,
                  "folder for start_mask.npy, dense_mask.npy, dense_states.npy, "
                  "packed_csr.npy, csr_indptr.npy, layer_max_branches.npy")
      .required()
      .type_name("DIR");
  command.add_option("--dense-levels", o->dense_levels, "STATIC's d: levels that are tables, 1 or 2, below L")
      .between(1, 2)
      .capture_default_str();
  add_attribute_loss(command, o->allow_attribute_loss);
  add_json(command, o->json);
  command.footer(
      "SIDs of one length only. Each file appears whole or not at all. If one cannot be put in its place, those that\n"
      "replaced no old file are removed again, and the error names those that did replace one.\n"
      "Example:\n  sidbeam convert office.sidx --output-dir office_static");
  command.callback([o] { run(*o); });
}

}  // namespace cli
