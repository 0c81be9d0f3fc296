// An object file linked into this process (JITLink).
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "dlcc/types.h"
#include "emit/interface.h"

namespace dlcc::targets {

// P_run_ctx(inputs, outputs, arena, arena_bytes, context).
using RunFunction = int (*)(const void* const*, void* const*, void*, size_t, const dlcc_context*);
// P_plan(inputs, shapes, arena_bytes).
using PlanFunction = int (*)(const void* const*, int64_t*, uint64_t*);

class LoadedObject {
 public:
  // The bytes must outlive the object.
  explicit LoadedObject(std::span<const std::byte> object);
  ~LoadedObject();

  // P_run_ctx and, for a model with symbolic sizes, P_plan; null if the object cannot be linked, see errors().
  RunFunction find_run(const emit::Interface&);
  PlanFunction find_plan(const emit::Interface&);
  const std::string& errors() const;

 private:
  template <class Function>
  Function find(const std::string& symbol);

  struct Linker;
  std::unique_ptr<Linker> linker_;
};

}  // namespace dlcc::targets
