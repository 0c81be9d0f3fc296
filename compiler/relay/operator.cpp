#include "relay/operator.h"

namespace dlcc::relay {

// One registration function per file in relay/ops, named after the file.
namespace ops {
#define OPERATOR_FILE(stem) void stem(OperatorTable&);
#include "relay/operator_files.def"
#undef OPERATOR_FILE
}  // namespace ops

const OperatorTable& operators() {
  static const OperatorTable table = [] {
    OperatorTable t;
#define OPERATOR_FILE(stem) ops::stem(t);
#include "relay/operator_files.def"
#undef OPERATOR_FILE
    return t;
  }();
  return table;
}

const Operator* OperatorTable::find(const std::string& name) const {
  auto it = operators_.find(name);
  return it == operators_.end() ? nullptr : it->second.get();
}

const Operator* op(const std::string& name) {
  const Operator* found = operators().find(name);
  DLCC_CHECK(found, "there is no operator {}", name);
  return found;
}

void OperatorTable::insert(Operator op) {
  std::string name = op.name;
  bool inserted = operators_.emplace(name, std::make_unique<const Operator>(std::move(op))).second;
  DLCC_CHECK(inserted, "operator {} is defined twice", name);
}

}  // namespace dlcc::relay
