"""
The other side of scripts/judges/kafka.mjs, with librdkafka (PyPI confluent-kafka): `librdkafka.py <brokers> produce <topic> <codec>
<count>` publishes with keys and headers, `librdkafka.py <brokers> consume <topic> <count>` prints what it reads, `librdkafka.py <brokers>
member <topic> <group>` handles messages until it is ended. One JSON line for each message, with the partition that it is in.
"""
import json
import signal
import sys
import uuid

from confluent_kafka import Consumer, KafkaException, Producer

brokers, what, topic, *rest = sys.argv[1:]

if what == "produce":
    codec, count = rest[0], int(rest[1])
    producer = Producer({
        "bootstrap.servers": brokers,
        "compression.type": codec,
        "partitioner": "murmur2_random",
        "linger.ms": 50,
        "enable.idempotence": True,
    })

    def delivered(error, message):
        if error is not None:
            sys.exit(f"not delivered: {error}")
        key = message.key().decode() if message.key() else None
        print(json.dumps({"key": key, "partition": message.partition(), "value": message.value().decode()}))

    for number in range(count):
        value = json.dumps({"n": number, "text": "abc" * 50})
        producer.produce(topic, value=value, key=f"key-{number % 20}", headers={"tenant": "zürich", "n": str(number)},
                         on_delivery=delivered)
        producer.poll(0)
    producer.flush(30)
elif what == "member":
    # A member of a group, until it is ended. It commits what it has printed.
    signal.signal(signal.SIGTERM, lambda *_: ended.append(True))
    ended = []
    consumer = Consumer({
        "bootstrap.servers": brokers,
        "group.id": rest[0],
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "session.timeout.ms": 6000,
        "heartbeat.interval.ms": 300,
        "partition.assignment.strategy": "cooperative-sticky",
    })
    consumer.subscribe([topic])
    while not ended:
        message = consumer.poll(0.5)
        if message is None or message.error():
            continue
        print(json.dumps({"partition": message.partition(), "value": message.value().decode()}), flush=True)
        try:
            consumer.commit(message, asynchronous=False)
        except KafkaException:
            # The group is being shared: the next commit is for this message too.
            pass
    consumer.close()
else:
    count = int(rest[0])
    consumer = Consumer({
        "bootstrap.servers": brokers,
        "group.id": str(uuid.uuid4()),
        "auto.offset.reset": "earliest",
        "isolation.level": "read_committed",
    })
    consumer.subscribe([topic])
    seen = 0
    while seen < count:
        message = consumer.poll(30)
        if message is None:
            sys.exit(f"only {seen} of {count} messages")
        if message.error():
            sys.exit(str(message.error()))
        seen += 1
        headers = {name: value.decode() for name, value in message.headers() or []}
        key = message.key().decode() if message.key() else None
        print(json.dumps({"key": key, "partition": message.partition(), "value": message.value().decode(),
                          "headers": headers}))
    consumer.close()
