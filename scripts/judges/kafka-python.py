"""
The other side of scripts/judges/kafka.mjs, with kafka-python (PyPI kafka-python, python-snappy, lz4, zstandard): the arguments and lines
of librdkafka.py.
"""
import json
import signal
import sys
import uuid

from kafka import KafkaConsumer, KafkaProducer
from kafka.errors import KafkaError

brokers, what, topic, *rest = sys.argv[1:]


def line(message, value, key, **more):
    return json.dumps({"key": key, "partition": message.partition, "value": value, **more})


if what == "produce":
    codec, count = None if rest[0] == "none" else rest[0], int(rest[1])
    producer = KafkaProducer(bootstrap_servers=brokers, compression_type=codec, linger_ms=50)
    sent = []
    for number in range(count):
        value, key = json.dumps({"n": number, "text": "abc" * 50}), f"key-{number % 20}"
        headers = [("tenant", "zürich".encode()), ("n", str(number).encode())]
        sent.append((producer.send(topic, value=value.encode(), key=key.encode(), headers=headers), value, key))
    for future, value, key in sent:
        print(line(future.get(30), value, key))
elif what == "member":
    # A member of a group, until it is ended. It commits what it has printed. It knows range and roundrobin.
    signal.signal(signal.SIGTERM, lambda *_: ended.append(True))
    ended = []
    consumer = KafkaConsumer(topic, bootstrap_servers=brokers, group_id=rest[0], auto_offset_reset="earliest",
                             enable_auto_commit=False, session_timeout_ms=6000, heartbeat_interval_ms=300)
    while not ended:
        for records in consumer.poll(500, 20).values():
            for message in records:
                print(line(message, message.value.decode(), None), flush=True)
            try:
                consumer.commit()
            except KafkaError:
                # The group is being shared: the next commit is for these messages too.
                pass
    consumer.close()
else:
    count = int(rest[0])
    consumer = KafkaConsumer(topic, bootstrap_servers=brokers, group_id=str(uuid.uuid4()), auto_offset_reset="earliest",
                             isolation_level="read_committed", consumer_timeout_ms=30_000)
    seen = 0
    for message in consumer:
        seen += 1
        headers = {name: value.decode() for name, value in message.headers}
        print(line(message, message.value.decode(), message.key.decode() if message.key else None, headers=headers))
        if seen == count:
            break
    else:
        sys.exit(f"only {seen} of {count} messages")
    consumer.close()
