#include "targets/llvm/loaded_object.h"

#include <llvm/ExecutionEngine/Orc/Core.h>
#include <llvm/ExecutionEngine/Orc/ExecutorProcessControl.h>
#include <llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h>
#include <llvm/Support/MemoryBuffer.h>

#include <cstring>

#include "dlcc/dlcc.h"

namespace dlcc::targets {

struct LoadedObject::Linker {
  llvm::orc::ExecutionSession session;
  llvm::orc::ObjectLinkingLayer layer;
  llvm::orc::JITDylib& library;
  std::string errors;

  Linker()
      : session(llvm::cantFail(llvm::orc::SelfExecutorProcessControl::Create())),
        layer(session),
        library(session.createBareJITDylib("model")) {}
  ~Linker() { llvm::consumeError(session.endSession()); }

  template <class Function>
  void define(const char* name, Function* address) {
    llvm::orc::ExecutorSymbolDef symbol(llvm::orc::ExecutorAddr::fromPtr(address), llvm::JITSymbolFlags::Exported);
    llvm::cantFail(library.define(llvm::orc::absoluteSymbols({{session.intern(name), symbol}})));
  }
};

LoadedObject::LoadedObject(std::span<const std::byte> object) : linker_(std::make_unique<Linker>()) {
  linker_->define("memcpy", static_cast<void* (*)(void*, const void*, size_t)>(&std::memcpy));
  linker_->define("memset", static_cast<void* (*)(void*, int, size_t)>(&std::memset));
  linker_->define("dlcc_default_executor", &dlcc_default_executor);
  std::string& errors = linker_->errors;
  linker_->session.setErrorReporter([&](llvm::Error e) { errors += llvm::toString(std::move(e)) + "\n"; });
  llvm::StringRef bytes(reinterpret_cast<const char*>(object.data()), object.size());
  if (llvm::Error e = linker_->layer.add(linker_->library, llvm::MemoryBuffer::getMemBuffer(bytes, "model", false)))
    errors += llvm::toString(std::move(e));
}

LoadedObject::~LoadedObject() = default;

template <class Function>
Function LoadedObject::find(const std::string& symbol) {
  llvm::orc::ExecutionSession& session = linker_->session;
  auto found = session.lookup({&linker_->library}, session.intern(symbol));
  if (found) return found->getAddress().toPtr<Function>();
  linker_->errors += llvm::toString(found.takeError());
  return nullptr;
}

RunFunction LoadedObject::find_run(const emit::Interface& interface) {
  return find<RunFunction>(interface.prefix + "_run_ctx");
}

PlanFunction LoadedObject::find_plan(const emit::Interface& interface) {
  return find<PlanFunction>(interface.prefix + "_plan");
}

const std::string& LoadedObject::errors() const { return linker_->errors; }

}  // namespace dlcc::targets
