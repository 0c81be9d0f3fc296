// Random well-typed programs of the whole language, as Relay text: data types, closures, polymorphism, references,
// operators, control flow. Every program ends: recursion is over data, or counts down from a small number. Arithmetic
// is in integers, so that results are equal and not close.
#pragma once

#include <map>
#include <random>
#include <string>
#include <vector>

namespace dlcc::random_relay {

// A type: int32, small (an int32 literal from 0 to 3), bool, Tensor of int32 with one axis (its size is the argument),
// tuple, fn (the result is the last argument), ref, a data type, or a variable, whose head begins with '$'.
struct Ty {
  std::string head;
  std::vector<Ty> args = {};
  bool operator==(const Ty&) const = default;
};
std::string text_of(const Ty&);
Ty with_arguments(const Ty&, const std::map<std::string, Ty>& arguments);  // in place of variables

struct Signature {  // of a function that can be called by its name
  std::string name;
  std::vector<std::string> variables;
  std::vector<Ty> params;
  Ty result;
  bool is_self = false;  // the function that is being defined: its first argument must be smaller
};

struct DataType {
  std::string name;
  std::vector<std::string> params;
  struct Constructor {
    std::string name;
    std::vector<Ty> fields;
  };
  std::vector<Constructor> constructors;  // the first one has no field of the type
};

class Generator {
 public:
  explicit Generator(unsigned seed) : random_(seed) {}

  std::string program();  // the text of a module; @main takes an int32 and a Tensor[(2), int32]

 private:
  struct Variable {
    std::string name;
    Ty type;
  };
  struct Polymorphic {  // an expression that has a type for each use
    std::string constructor, name;
  };
  class Scope;

  // ---- definitions
  void define_types();
  void random_data_type(int number);
  void random_function(int number);
  std::string body(const Ty& type, int depth);  // statements and the result, in braces

  // ---- expressions; statements that they need are added to the current block
  std::string expr(const Ty&, int depth);
  std::string smallest(const Ty&);
  std::string made(const Ty&, int depth);
  std::string polymorphic(const std::string& constructor);
  std::string number(int depth);
  std::string truth(int depth);
  std::string tensor(const Ty&, int depth);
  std::string lambda(const Ty&, int depth);
  std::string branch(const Ty&, int depth);
  std::string match(const Ty&, int depth);
  std::string loop(const Ty&, int depth);
  std::string read_reference(const Ty&, int depth);
  std::string bound(const Ty&, int depth);      // by let or a graph variable
  std::string annotated(const Ty&, int depth);  // by let with its type
  std::string projection(const Ty&, int depth);
  std::string call(const Ty&, int depth);
  void local_generic();
  void effect(int depth);

  // ---- patterns
  std::string pattern(const Ty&, int depth);

  // ---- types
  Ty random_type(int depth, bool observable = false);
  std::vector<Ty> fields_of(const DataType&, const DataType::Constructor&, const Ty& instance) const;
  const DataType* data_type(const Ty&) const;

  int draw(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  bool chance(int percent) { return draw(100) < percent; }
  template <class T>
  const T& one_of(const std::vector<T>& list) {
    return list[static_cast<size_t>(draw(static_cast<int>(list.size())))];
  }
  std::string fresh(const char* stem) { return stem + std::string("v") + std::to_string(next_++); }
  std::string variable_of(const Ty&);

  std::mt19937 random_;
  int next_ = 0, graph_ = 0;
  int budget_ = 0;  // expressions that may still be made
  std::string definitions_;
  std::map<std::string, DataType> types_;
  std::vector<Signature> signatures_;  // of the functions so far, those of the prelude and local ones among them
  std::vector<Variable> variables_;
  std::vector<Polymorphic> polymorphic_;
  std::vector<std::string> type_variables_;
  std::vector<std::string>* statements_ = nullptr;
};

}  // namespace dlcc::random_relay
