// Destruction and printing of values, both with an explicit stack: data may be nested without bound.
#include "relay/value.h"

#include <set>

#include "relay/metadata.h"

namespace dlcc::relay {

namespace {

// Moves the values that a node refers to into `list`.
void take_parts(ValueNode& node, std::vector<Value>& list) {
  auto take = [&](std::vector<Value>& parts) {
    for (Value& part : parts)
      if (part) list.push_back(std::move(part));
    parts.clear();
  };
  if (auto* tuple = std::get_if<TupleValue>(&node.v)) take(tuple->fields);
  if (auto* data = std::get_if<DataValue>(&node.v)) take(data->fields);
  if (auto* closure = std::get_if<ClosureValue>(&node.v)) take(closure->captured);
  if (auto* ref = std::get_if<RefValue>(&node.v); ref && ref->contents) list.push_back(std::move(ref->contents));
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
  std::vector<Value> dying;
  take_parts(*this, dying);
  while (!dying.empty()) {
    Value value = std::move(dying.back());
    dying.pop_back();
    if (value.use_count() == 1) take_parts(*value, dying);
  }
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
