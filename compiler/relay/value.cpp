// Destruction and printing of values, both with an explicit stack: data may be nested without bound.
#include "relay/value.h"

#include <set>
#include <utility>

#include "relay/metadata.h"

namespace dlcc::relay {

namespace {

// The list of values that a node refers to; null for a node without a list.
std::vector<Value>* list_of(ValueNode& node) {
  if (auto* tuple = std::get_if<TupleValue>(&node.v)) return &tuple->fields;
  if (auto* data = std::get_if<DataValue>(&node.v)) return &data->fields;
  if (auto* closure = std::get_if<ClosureValue>(&node.v)) return &closure->captured;
  return nullptr;
}

// The place of the last part that the node has; null without one.
Value* last_part(ValueNode& node) {
  if (auto* ref = std::get_if<RefValue>(&node.v)) return ref->contents ? &ref->contents : nullptr;
  std::vector<Value>* parts = list_of(node);
  while (parts && !parts->empty() && !parts->back()) parts->pop_back();
  return parts && !parts->empty() ? &parts->back() : nullptr;
}

// Takes the value out of the place that last_part() gave.
Value take_last_part(ValueNode& node) {
  if (auto* ref = std::get_if<RefValue>(&node.v)) return std::move(ref->contents);
  Value part = std::move(list_of(node)->back());
  list_of(node)->pop_back();
  return part;
}

// Destroys the value without recursion, and without memory, of which there may be none. The nodes around a part form a
// list: in place of the part each refers to the next node outwards.
void destroy(Value value) {
  Value outer;
  for (size_t depth = 0;;) {
    if (Value* part = value.use_count() == 1 ? last_part(*value) : nullptr) {
      Value inner = std::exchange(*part, std::move(outer));
      outer = std::exchange(value, std::move(inner));
      ++depth;
      continue;
    }
    if (depth-- == 0) return;
    value = std::exchange(outer, take_last_part(*outer));
  }
}

std::string element_text(const Constant& c, int64_t i) {
  if (is_float(c.dtype())) return fmt::format("{}", c.number_at(i));
  if (c.dtype() == dtype::u64) return fmt::format("{}", static_cast<uint64_t>(c.integer_at(i)));
  return fmt::format("{}", c.integer_at(i));
}

// The text as far as its first `most` characters need it.
std::string tensor_text(const Constant& c, size_t most) {
  std::string text = literal_text(c);
  if (!text.empty()) return text;
  text = str(tensor_type(c.shape(), c.dtype())) + "{";
  for (int64_t i = 0; i < c.count() && text.size() <= most; ++i) text += (i ? ", " : "") + element_text(c, i);
  return text + "}";
}

}  // namespace

ValueNode::~ValueNode() {
  while (last_part(*this)) destroy(take_last_part(*this));
}

std::span<const Value> parts_of(const ValueNode& node) {
  if (const auto* ref = std::get_if<RefValue>(&node.v)) return {&ref->contents, ref->contents ? 1u : 0u};
  if (const auto* tuple = std::get_if<TupleValue>(&node.v)) return tuple->fields;
  if (const auto* data = std::get_if<DataValue>(&node.v)) return data->fields;
  if (const auto* closure = std::get_if<ClosureValue>(&node.v)) return closure->captured;
  return {};
}

std::string str(const Value& value, size_t most) {
  std::string out;
  std::set<const ValueNode*> open;                                                 // references that are being written
  std::vector<std::variant<Value, std::string, const ValueNode*>> rest = {value};  // pending output, the next item last
  auto list = [&](const std::vector<Value>& parts, std::string close) {
    out += "(";
    rest.emplace_back(std::move(close));
    for (size_t k = parts.size(); k-- > 0;) {
      rest.emplace_back(parts[k]);
      if (k > 0) rest.emplace_back(", ");
    }
  };
  while (!rest.empty() && out.size() <= most) {
    auto next = std::move(rest.back());
    rest.pop_back();
    if (auto* text = std::get_if<std::string>(&next)) {
      out += *text;
      continue;
    }
    if (auto* reference = std::get_if<const ValueNode*>(&next)) {
      open.erase(*reference);
      continue;
    }
    const Value& v = std::get<Value>(next);
    std::visit(overloaded{[&](const Constant& c) { out += tensor_text(c, most - out.size()); },
                          [&](const TupleValue& t) { list(t.fields, t.fields.size() == 1 ? ",)" : ")"); },
                          [&](const DataValue& d) {
                            out += d.constructor->name;
                            if (!d.fields.empty()) list(d.fields, ")");
                          },
                          [&](const ClosureValue&) { out += "<function>"; },
                          [&](const ConstructorValue& c) { out += c.constructor->name; },
                          [&](const RefValue& r) {
                            out += "ref";
                            if (!open.insert(v.get()).second) {
                              out += "(...)";
                              return;
                            }
                            rest.emplace_back(v.get());
                            list({r.contents}, ")");
                          }},
               v->v);
  }
  if (out.size() > most) out.replace(most, std::string::npos, "...");
  return out;
}

}  // namespace dlcc::relay
