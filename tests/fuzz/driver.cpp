// The main program of a fuzz target without libFuzzer. It calls the target with a corpus and with a fixed number of
// seeded mutations of the corpus, so that equal arguments run equal inputs.
//
//   fuzz_NAME [-runs=N] [-seed=N] [-max_len=N] [-dict=FILE] FILE_OR_FOLDER...
//
// An input on which the target crashes or aborts is written to the file crash-input of the working folder.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
// A target's own mutation of data[0, size), which has room for max_size bytes, and of a combination of two inputs; null
// if it has none. They return the size.
extern "C" [[gnu::weak]] size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed);
extern "C" [[gnu::weak]] size_t LLVMFuzzerCustomCrossOver(const uint8_t* a, size_t a_size, const uint8_t* b,
                                                          size_t b_size, uint8_t* out, size_t max_size, unsigned seed);
// Mutates bytes; for targets' own mutations.
extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace {

namespace fs = std::filesystem;

std::string current_input;

extern "C" void keep_input(int signal) {
  int file = open("crash-input", O_WRONLY | O_CREAT | O_TRUNC, 0644);
  bool written = file >= 0 && write(file, current_input.data(), current_input.size()) >= 0;
  const char* message = written ? "the input is in crash-input\n" : "crash-input could not be written\n";
  (void)!write(STDERR_FILENO, message, std::strlen(message));
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

struct Options {
  unsigned long runs = 0, seed = 1, max_len = 4096;
  std::string dictionary;
  std::vector<fs::path> corpus;
};

Options parse(int argc, char** argv) {
  Options o;
  for (int k = 1; k < argc; ++k) {
    std::string arg = argv[k], value = arg.substr(arg.find('=') + 1);
    if (arg.starts_with("-runs="))
      o.runs = std::stoul(value);
    else if (arg.starts_with("-seed="))
      o.seed = std::stoul(value);
    else if (arg.starts_with("-max_len="))
      o.max_len = std::stoul(value);
    else if (arg.starts_with("-dict="))
      o.dictionary = value;
    else
      o.corpus.emplace_back(arg);
  }
  return o;
}

std::string contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The files of the corpus, in order of their names, each cut to `max_len` bytes.
std::vector<std::string> read_corpus(const Options& o) {
  std::vector<fs::path> paths;
  for (const fs::path& path : o.corpus) {
    if (fs::is_regular_file(path)) paths.push_back(path);
    if (!fs::is_directory(path)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(path))
      if (entry.is_regular_file()) paths.push_back(entry.path());
  }
  std::ranges::sort(paths);
  std::vector<std::string> corpus;
  for (const fs::path& path : paths) corpus.push_back(contents(path).substr(0, o.max_len));
  return corpus;
}

// The words of a dictionary of libFuzzer: a quoted word on each line, \" and \\ as its only escapes.
std::vector<std::string> read_words(const std::string& path) {
  std::vector<std::string> words;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::string word;
    for (size_t k = 1; k + 1 < line.size(); ++k) {
      if (line[k] == '\\') ++k;
      word += line[k];
    }
    if (!word.empty() && line[0] == '"') words.push_back(word);
  }
  return words;
}

class Mutator {
 public:
  Mutator(const std::vector<std::string>& corpus, const std::vector<std::string>& words, const Options& o)
      : corpus_(corpus), words_(words), max_len_(o.max_len), random_(static_cast<unsigned>(o.seed)) {}

  std::string next() {
    std::string input = any_of(corpus_);
    if (LLVMFuzzerCustomCrossOver && draw(4) == 0) input = cross(input, any_of(corpus_));
    if (!LLVMFuzzerCustomMutator) return mutate_bytes(std::move(input));
    std::vector<uint8_t> data(input.begin(), input.end());
    data.resize(std::max(max_len_, input.size()));
    const size_t size = LLVMFuzzerCustomMutator(data.data(), input.size(), data.size(), random_());
    return {data.begin(), data.begin() + static_cast<std::ptrdiff_t>(size)};
  }

  std::string mutate_bytes(std::string input) {
    for (size_t count = 1 + draw(6); count > 0; --count) mutate(input);
    input.resize(std::min(input.size(), max_len_));
    return input;
  }

 private:
  size_t draw(size_t n) { return n ? random_() % n : 0; }
  const std::string& any_of(const std::vector<std::string>& list) { return list[draw(list.size())]; }
  char any_byte() { return static_cast<char>(random_()); }

  std::string cross(const std::string& a, const std::string& b) {
    std::vector<uint8_t> data(max_len_);
    const auto bytes = [](const std::string& s) { return reinterpret_cast<const uint8_t*>(s.data()); };
    const size_t size = LLVMFuzzerCustomCrossOver(bytes(a), a.size(), bytes(b), b.size(), data.data(), data.size(),
                                                  static_cast<unsigned>(random_()));
    return {data.begin(), data.begin() + static_cast<std::ptrdiff_t>(size)};
  }

  // A short piece of `text`.
  std::string piece(const std::string& text) {
    size_t from = draw(text.size());
    return text.substr(from, 1 + draw(32));
  }

  void mutate(std::string& input) {
    if (input.empty()) input.push_back(any_byte());
    size_t at = draw(input.size());
    switch (draw(8)) {
      case 0:
        input[at] = any_byte();
        break;
      case 1:
        input[at] = static_cast<char>(input[at] ^ (1 << draw(8)));
        break;
      case 2:
        input[at] = static_cast<char>(input[at] + (draw(2) ? 1 : -1));
        break;
      case 3:
        input.erase(at, 1 + draw(16));
        break;
      case 4:
        input.insert(at, piece(input));
        break;
      case 5:
        input.insert(at, piece(any_of(corpus_)));
        break;
      case 6:
        input.insert(at, words_.empty() ? std::string(1, any_byte()) : any_of(words_));
        break;
      default: {
        const std::string other = piece(any_of(corpus_));
        input.replace(at, other.size(), other);
      }
    }
  }

  const std::vector<std::string>& corpus_;
  const std::vector<std::string>& words_;
  size_t max_len_;
  std::mt19937 random_;
};

Mutator* mutator = nullptr;

void call_target(std::string input) {
  current_input = std::move(input);
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(current_input.data()), current_input.size());
}

}  // namespace

size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size) {
  std::string mutated = mutator->mutate_bytes({data, data + size});
  mutated.resize(std::min(mutated.size(), max_size));
  std::ranges::copy(mutated, data);
  return mutated.size();
}

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  const std::vector<std::string> corpus = read_corpus(options), words = read_words(options.dictionary);
  if (corpus.empty()) return std::fprintf(stderr, "the corpus is empty\n"), 2;
  for (int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP}) std::signal(signal, keep_input);
  for (const std::string& input : corpus) call_target(input);
  Mutator random_mutator(corpus, words, options);
  mutator = &random_mutator;
  for (unsigned long run = 0; run < options.runs; ++run) call_target(mutator->next());
  std::printf("%zu inputs of the corpus, %lu mutations with seed %lu: no crash\n", corpus.size(), options.runs,
              options.seed);
}
