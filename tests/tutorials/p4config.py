"""`p4.tmp.p4config_pb2`: the message around a program that controllers for BMv2 send. No package of PyPI has it."""

from google.protobuf import descriptor_pb2, descriptor_pool, reflection

_FIELD = descriptor_pb2.FieldDescriptorProto
_file = descriptor_pb2.FileDescriptorProto(name="p4/tmp/p4config.proto", package="p4.tmp", syntax="proto3")
_message = _file.message_type.add(name="P4DeviceConfig")
for _name, _number, _type in (("reassign", 1, _FIELD.TYPE_BOOL), ("device_data", 3, _FIELD.TYPE_BYTES)):
    _message.field.add(name=_name, number=_number, type=_type, label=_FIELD.LABEL_OPTIONAL)
_pool = descriptor_pool.Default()
_pool.Add(_file)
P4DeviceConfig = reflection.MakeClass(_pool.FindMessageTypeByName("p4.tmp.P4DeviceConfig"))
