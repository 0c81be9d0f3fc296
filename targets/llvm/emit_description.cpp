#include "targets/llvm/emit_description.h"

#include "lower/steps.h"

namespace dlcc::targets {

namespace {

class DescriptionEmitter {
 public:
  DescriptionEmitter(llvm::Module& module, const ModelParts& parts)
      : module_(module), parts_(parts), b_(module.getContext()) {}

  void emit(llvm::Function* run_ctx, llvm::Function* plan) {
    const emit::Interface& interface = parts_.interface;
    emit::WeightsFile file = interface.weights_file.value_or(emit::WeightsFile{});
    std::vector<llvm::Constant*> fields = {
        b_.getInt32(1),
        b_.getInt32(static_cast<uint32_t>(interface.inputs.size())),
        b_.getInt32(static_cast<uint32_t>(interface.outputs.size())),
        b_.getInt32(static_cast<uint32_t>(lower::count_steps(parts_.program))),
        string_constant(module_, interface.prefix),
        string_constant(module_, interface.provenance),
        tensors(interface.inputs),
        tensors(interface.outputs),
        b_.getInt64(static_cast<uint64_t>(interface.arena_bytes.value_or(0))),
        b_.getInt64(static_cast<uint64_t>(interface.arena_alignment)),
        b_.getInt64(static_cast<uint64_t>(interface.weights_bytes)),
        run_ctx,
        b_.getInt64(static_cast<uint64_t>(file.bytes)),
        b_.getInt64(static_cast<uint64_t>(file.alignment)),
        b_.getInt64(file.hash),
        b_.getInt32(static_cast<uint32_t>(interface.dims.size())),
        b_.getInt32(0),
        dims(interface.dims),
        plan ? static_cast<llvm::Constant*>(plan) : null(),
    };
    auto* value = llvm::ConstantStruct::getAnon(fields);
    auto* model = new llvm::GlobalVariable(module_, value->getType(), true, llvm::GlobalValue::ExternalLinkage, value,
                                           parts_.interface.prefix + "_model");
    model->setAlignment(llvm::Align(8));
  }

 private:
  llvm::Constant* null() { return llvm::ConstantPointerNull::get(b_.getPtrTy()); }

  llvm::Constant* tensors(const std::vector<emit::TensorInterface>& list) {
    std::vector<llvm::Constant*> rows;
    for (const emit::TensorInterface& t : list) {
      std::vector<uint64_t> shape;
      for (const Dim& d : t.shape) shape.push_back(static_cast<uint64_t>(d.constant().value_or(-1)));
      if (shape.empty()) shape.push_back(1);  // LLVM has no symbol for data without bytes, which linkers then miss
      auto* extents = llvm::ConstantDataArray::get(module_.getContext(), shape);
      auto* where = new llvm::GlobalVariable(module_, extents->getType(), true, llvm::GlobalValue::PrivateLinkage,
                                             extents, "shape");
      int64_t bytes = storage_bytes(t.type, product(t.shape).constant().value_or(0));
      rows.push_back(llvm::ConstantStruct::getAnon(
          {string_constant(module_, t.name), string_constant(module_, std::string(name(t.type))), where,
           b_.getInt32(static_cast<uint32_t>(t.shape.size())), b_.getInt32(static_cast<uint32_t>(onnx_number(t.type))),
           b_.getInt64(static_cast<uint64_t>(bytes))}));
    }
    return table(rows, "tensors");
  }

  llvm::Constant* dims(const std::vector<emit::DimInterface>& list) {
    std::vector<llvm::Constant*> rows;
    for (const emit::DimInterface& d : list)
      rows.push_back(llvm::ConstantStruct::getAnon(
          {string_constant(module_, d.name), b_.getInt64(static_cast<uint64_t>(d.low())),
           b_.getInt64(static_cast<uint64_t>(d.high())), b_.getInt64(static_cast<uint64_t>(d.multiple))}));
    return table(rows, "dims");
  }

  llvm::Constant* table(const std::vector<llvm::Constant*>& rows, const char* name) {
    if (rows.empty()) return null();
    auto* type = llvm::ArrayType::get(rows.front()->getType(), rows.size());
    return new llvm::GlobalVariable(module_, type, true, llvm::GlobalValue::PrivateLinkage,
                                    llvm::ConstantArray::get(type, rows), name);
  }

  llvm::Module& module_;
  const ModelParts& parts_;
  llvm::IRBuilder<> b_;
};

}  // namespace

void emit_description(llvm::Module& module, const ModelParts& parts, llvm::Function* run_ctx, llvm::Function* plan) {
  DescriptionEmitter(module, parts).emit(run_ctx, plan);
}

}  // namespace dlcc::targets
