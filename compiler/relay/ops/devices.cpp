// on_device, device_copy: TVM's annotations of where values are computed. A program of dlcc runs on one device, so that
// both are the identity on values of every type, which simplify-inference removes.
#include "relay/op_support/elements.h"
#include "relay/op_support/gradients.h"
#include "relay/op_support/type_checks.h"

namespace dlcc::relay::ops {

namespace {

struct OnDeviceAttrs {
  AttrValue virtual_device;
  bool constrain_result = false, constrain_body = true;
};

struct DeviceCopyAttrs {
  AttrValue source, destination;
};

template <class Attrs>
TypeResult same_as_operand(const Attrs&, const Operands& in) {
  return tensor_result(in[0].shape, in[0].dtype);
}

template <class Attrs>
TensorFunction define_identity(const Attrs&, const Operands& in) {
  Definition d("identity");
  Tensor x = d.input("data", in[0].dtype, in[0].shape);
  d.result("result", x.type(), x.shape(), [&](Index i) { return stored(x, i); });
  return d.finish();
}

}  // namespace

void devices(OperatorTable& table) {
  table.add<OnDeviceAttrs>({
      .name = "on_device",
      .summary = "x; the attributes, which are kept, say on which device TVM computes it",
      .attributes = {{"virtual_device", &OnDeviceAttrs::virtual_device, "an object of the metadata section"},
                     {"constrain_result", &OnDeviceAttrs::constrain_result, "whether the result is on the device"},
                     {"constrain_body", &OnDeviceAttrs::constrain_body, "whether x is computed on the device"}},
      .arguments = {"data"},
      .type = same_as_operand<OnDeviceAttrs>,
      .compute = define_identity<OnDeviceAttrs>,
      .gradient = gradient_of_identity,
      .takes_any_value = true,
  });
  table.add<DeviceCopyAttrs>({
      .name = "device_copy",
      .summary = "x; the attributes, which are kept, say between which devices TVM copies it",
      .attributes = {{"src_virtual_device", &DeviceCopyAttrs::source, "an object of the metadata section"},
                     {"dst_virtual_device", &DeviceCopyAttrs::destination, "an object of the metadata section"}},
      .arguments = {"data"},
      .type = same_as_operand<DeviceCopyAttrs>,
      .compute = define_identity<DeviceCopyAttrs>,
      .gradient = gradient_of_identity,
      .takes_any_value = true,
  });
}

}  // namespace dlcc::relay::ops
