"""Writes and reads values by Confluent's client: python registry-judge.py <url of the registry>, with a call in each line."""

import base64
import json
import sys

from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory

client = SchemaRegistryClient({"url": sys.argv[1]})


def message_class(schema):
    """The class of a message, from a file descriptor in base64 and the name of the message."""
    pool = descriptor_pool.DescriptorPool()
    pool.Add(descriptor_pb2.FileDescriptorProto.FromString(base64.b64decode(schema["file"])))
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(schema["name"]))


def write(kind, schema, value, context):
    if kind == "avro":
        return AvroSerializer(client, json.dumps(schema))(value, context)
    if kind == "json":
        return JSONSerializer(json.dumps(schema), client)(value, context)
    made = message_class(schema)
    serializer = ProtobufSerializer(made, client, {"use.deprecated.format": False})
    return serializer(json_format.ParseDict(value, made()), context)


def read(kind, schema, data, context):
    if kind == "avro":
        return AvroDeserializer(client, json.dumps(schema))(data, context)
    if kind == "json":
        return JSONDeserializer(json.dumps(schema), schema_registry_client=client)(data, context)
    deserializer = ProtobufDeserializer(message_class(schema), {"use.deprecated.format": False}, client)
    return json_format.MessageToDict(deserializer(data, context))


for line in sys.stdin:
    call = json.loads(line)
    where = SerializationContext(call["topic"], MessageField.VALUE)
    if "bytes" in call:
        result = read(call["kind"], call["schema"], base64.b64decode(call["bytes"]), where)
    else:
        result = base64.b64encode(write(call["kind"], call["schema"], call["value"], where)).decode()
    print(json.dumps(result), flush=True)
