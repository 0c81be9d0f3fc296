#include "pipeline/model_contents.h"

#include <set>

#include "relay/operator.h"

namespace dlcc {
namespace {

class Counter {
 public:
  void add(const relay::Block& block) {
    for (const relay::Binding& b : block.bindings) {
      relay::for_each_atom(b.op, [&](const relay::Atom& a) { add(a); });
      relay::for_each_block(b.op, [&](const relay::Block& inner) { add(inner); });
    }
    add(block.result);
  }

  ModelContents contents;

 private:
  void add(const relay::Atom& atom) {
    if (const auto* o = std::get_if<relay::OperatorRef>(&atom)) ++contents.operators[o->op->name];
    if (const Constant* c = std::get_if<Constant>(&atom); c && constants_.insert(c->bytes().data()).second)
      contents.parameters += c->count();
  }

  std::set<const std::byte*> constants_;
};

}  // namespace

ModelContents contents_of(const relay::Module& module) {
  Counter counter;
  for (const auto& [name, f] : module.functions) counter.add(f.body);
  return std::move(counter.contents);
}

}  // namespace dlcc
