// What a block of a random program declares ends with it.
#pragma once

#include <utility>

#include "program.h"

namespace dlcc::random_relay {

class Generator::Scope {
 public:
  explicit Scope(Generator& g)
      : g_(g),
        variables_(g.variables_.size()),
        signatures_(g.signatures_.size()),
        polymorphic_(g.polymorphic_.size()) {}
  ~Scope() { close(); }

  void close() {
    if (std::exchange(is_closed_, true)) return;
    g_.variables_.resize(variables_);
    g_.signatures_.resize(signatures_);
    g_.polymorphic_.resize(polymorphic_);
  }

 private:
  Generator& g_;
  size_t variables_, signatures_, polymorphic_;
  bool is_closed_ = false;
};

}  // namespace dlcc::random_relay
